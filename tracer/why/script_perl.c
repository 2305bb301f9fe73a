/* Frames of perl 5.36 and later, built with threads: the statement that runs is PL_curcop; the calls around it are the
 * contexts on the stacks that begin at PL_curstackinfo. Structures: intrpvar.h, cop.h, sv.h, cv.h, gv.h, hv.h of perl. */
#include "why/perl_offsets.h"
#include "why/script.h"

#include "base/text.h"

#include <elf.h>
#include <string.h>

enum {
	STACK_MAX = 64,
	CONTEXT_MAX = 4096,
	CONTEXT_BYTES_MAX = 256,
	HEADERS_MAX = 32,
	NAME_BYTES = 256,
	OP_BYTES = 64,
	OP_MAX = 1024,
	OP_DEPTH_MAX = 48,
};

struct perl {
	const struct why_process *process;
	const struct perl_layout *layout;
	uint64_t interpreter;
};

/* Where a statement stands. */
struct perl_place {
	char file[RECORD_PATH_BYTES + 1];
	uint32_t line;
};

struct perl_walk {
	struct record_script_frame *frames;
	size_t most, count;
	struct perl_place place; /* of the frame that comes next */
	bool evaluated;          /* the frame before is text that this one evaluates */
};

static const struct why_map *perl_module(const struct why_process *process, uint64_t *size_symbol)
{
	const char *const prefixes[] = {"perl", "libperl"};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct why_map *module;
		size_t index = 0;
		while ((module = why_module(process, prefixes[i], &index)))
			if ((*size_symbol = why_symbol(process, module, "PL_interp_size", NULL)))
				return module;
	}
	return NULL;
}

static bool perl_probe(const struct why_process *process)
{
	uint64_t size_symbol;
	return perl_module(process, &size_symbol) != NULL;
}

static const struct perl_layout *find_layout(const struct why_process *process, const struct why_map *module, uint64_t size_symbol)
{
	uint64_t version_symbol = why_symbol(process, module, "PL_version", NULL);
	uint8_t version;
	uint16_t size;
	if (!version_symbol || !why_read(process, version_symbol, &version, sizeof(version)) ||
	    !why_read(process, size_symbol, &size, sizeof(size)))
		return NULL;
	for (size_t i = 0; i < sizeof(perl_offsets) / sizeof(perl_offsets[0]); i++)
		if (perl_offsets[i].version == version && perl_offsets[i].interpreter_bytes == size)
			return &perl_offsets[i];
	return NULL;
}

/* Each thread runs an interpreter of its own and keeps its address in PL_current_context, the one thread-local variable of
 * the program perl. On x86_64 a program's thread-local block ends where fs_base points. */
static bool find_interpreter(const struct why_process *process, const struct why_map *module, uint64_t *interpreter)
{
	Elf64_Ehdr header;
	Elf64_Phdr headers[HEADERS_MAX];
	if (!why_read(process, module->start, &header, sizeof(header)) || header.e_phnum > HEADERS_MAX ||
	    header.e_phentsize != sizeof(headers[0]) || header.e_type == ET_NONE ||
	    strcmp(module->path, process->executable) != 0 ||
	    !why_read(process, module->start + header.e_phoff, headers, header.e_phnum * sizeof(headers[0])))
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++)
		if (headers[i].p_type == PT_TLS)
			return headers[i].p_memsz == sizeof(*interpreter) &&
			       why_read_u64(process, process->fs_base - sizeof(*interpreter), interpreter) && *interpreter;
	return false;
}

/* A search through the ops of one statement: for `op`, or for the calls that return to `back`. */
struct perl_search {
	const struct perl *perl;
	uint64_t op, back;
	unsigned seen;
	uint64_t cop;   /* the innermost statement around what was found, 0 while nothing was */
	bool ambiguous; /* calls in different statements return to `back` */
};

static uint64_t word_of(const unsigned char *op, uint32_t offset)
{
	uint64_t word;
	memcpy(&word, op + offset, sizeof(word));
	return word;
}

static uint16_t op_bits(const struct perl *perl, const unsigned char *op)
{
	uint16_t bits;
	memcpy(&bits, op + perl->layout->op_bits, sizeof(bits));
	return bits;
}

static bool is_call(const struct perl_layout *layout, uint32_t type)
{
	return type == layout->op_call || type == layout->op_eval || type == layout->op_require || type == layout->op_do_file;
}

static void search_op(struct perl_search *search, uint64_t address, uint64_t cop, unsigned depth)
{
	const struct perl *perl = search->perl;
	const struct perl_layout *layout = perl->layout;
	unsigned char op[OP_BYTES];
	if (depth == OP_DEPTH_MAX || search->seen++ == OP_MAX || !why_read(perl->process, address, op, sizeof(op)))
		return;
	uint32_t type = op_bits(perl, op) & layout->op_type_mask;
	if (address == search->op || (search->back && word_of(op, layout->op_next) == search->back && is_call(layout, type))) {
		search->ambiguous |= search->cop && search->cop != cop;
		search->cop = cop;
	}
	uint64_t kid = op[layout->op_flags] & layout->op_has_kids ? word_of(op, layout->op_first) : 0;
	while (kid && search->seen < OP_MAX && why_read(perl->process, kid, op, sizeof(op))) {
		uint32_t bits = op_bits(perl, op);
		if ((bits & layout->op_type_mask) == layout->op_null && word_of(op, layout->op_target) == layout->op_nextstate)
			cop = kid;
		uint64_t next = bits & layout->op_has_sibling ? word_of(op, layout->op_sibling) : 0;
		search_op(search, kid, cop, depth + 1);
		kid = next;
	}
}

/* perl drops the statement op of a block with one statement, so that its line never becomes the current one, but leaves it
 * in the tree of ops: between the last statement that was begun, `cop`, and the op that runs. perl's own warn and die look
 * there (Perl_closest_cop in util.c). False where it cannot be told which of several statements it is. */
static bool closest_cop(const struct perl *perl, uint64_t *cop, uint64_t op, uint64_t back)
{
	struct perl_search search = {.perl = perl, .op = op, .back = back};
	unsigned char begun[OP_BYTES];
	if ((!op && !back) || !why_read(perl->process, *cop, begun, sizeof(begun)) ||
	    !(op_bits(perl, begun) & perl->layout->op_has_sibling))
		return true;
	search_op(&search, word_of(begun, perl->layout->op_sibling), *cop, 0);
	if (search.cop)
		*cop = search.cop;
	return !search.ambiguous && search.seen < OP_MAX;
}

static bool read_place(const struct perl *perl, uint64_t cop, struct perl_place *place)
{
	uint64_t file;
	return why_read_u32(perl->process, cop + perl->layout->cop_line, &place->line) &&
	       why_read_u64(perl->process, cop + perl->layout->cop_file, &file) &&
	       why_read_string(perl->process, file, place->file, sizeof(place->file)) && place->file[0];
}

/* The body of a scalar, which must be of the type that it is taken for. */
static bool read_body(const struct perl *perl, uint64_t scalar, uint32_t type, uint64_t *body, uint32_t *flags)
{
	return why_read_u32(perl->process, scalar + perl->layout->sv_flags, flags) && (*flags & perl->layout->sv_type_mask) == type &&
	       why_read_u64(perl->process, scalar + perl->layout->sv_body, body);
}

/* perl keeps a name in Latin-1 where that is enough, and otherwise in UTF-8: here it is UTF-8 in both cases. */
static bool read_key(const struct perl *perl, uint64_t key, char *name)
{
	char bytes[NAME_BYTES / 2];
	uint32_t length;
	if (!key || !why_read_u32(perl->process, key + perl->layout->key_length, &length) || length >= sizeof(bytes) ||
	    !why_read(perl->process, key + perl->layout->key_bytes, bytes, length))
		return false;
	bool utf8 = utf8_valid(bytes, length);
	size_t used = 0;
	for (uint32_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		if (!utf8 && byte >= 0x80)
			name[used++] = (char)(0xc0 | byte >> 6);
		name[used++] = !utf8 && byte >= 0x80 ? (char)(0x80 | (byte & 0x3f)) : bytes[i];
	}
	name[used] = '\0';
	return true;
}

static bool read_package(const struct perl *perl, uint64_t stash, char *name)
{
	uint64_t body, key;
	uint32_t flags, count;
	if (!stash || !read_body(perl, stash, perl->layout->sv_type_hash, &body, &flags) || !(flags & perl->layout->hash_has_name) ||
	    !why_read_u64(perl->process, body + perl->layout->hash_name, &key) ||
	    !why_read_u32(perl->process, body + perl->layout->hash_name_count, &count))
		return false;
	/* A package with several names keeps a list of them. */
	if (count && !why_read_u64(perl->process, key, &key))
		return false;
	return read_key(perl, key, name);
}

/* Package::name, as caller() has it. */
static bool read_sub(const struct perl *perl, uint64_t code, char *function, size_t capacity)
{
	const struct perl_layout *layout = perl->layout;
	char package[NAME_BYTES], name[NAME_BYTES];
	uint64_t body, stash, key;
	uint32_t flags, code_flags;
	if (!read_body(perl, code, layout->sv_type_code, &body, &flags) ||
	    !why_read_u32(perl->process, body + layout->code_flags, &code_flags) ||
	    !why_read_u64(perl->process, body + layout->code_stash, &stash) ||
	    !why_read_u64(perl->process, body + layout->code_name, &key))
		return false;
	if (!(code_flags & layout->code_is_named)) {
		uint64_t glob;
		if (!read_body(perl, key, layout->sv_type_glob, &glob, &flags) ||
		    !why_read_u64(perl->process, glob + layout->glob_stash, &stash) ||
		    !why_read_u64(perl->process, glob + layout->glob_name, &key))
			return false;
	}
	if (!read_key(perl, key, name) || !read_package(perl, stash, package))
		return false;
	return text_copy(function, capacity, package) && text_copy(function + strlen(package), capacity - strlen(package), "::") &&
	       text_copy(function + strlen(package) + 2, capacity - strlen(package) - 2, name);
}

/* Not below one of perl's own folders: …/share/perl, …/lib/perl5, …/lib/x86_64-linux-gnu/perl and the like. */
static bool is_own(const char *file)
{
	const char *library = strstr(file, "/lib/");
	const char *shared = strstr(file, "/share/perl");
	if (shared || strncmp(file, "/etc/perl/", 10) == 0)
		return false;
	for (const char *at = library; at && (at = strstr(at, "/perl")); at++)
		if (at[5] == '/' || strncmp(at + 5, "5/", 2) == 0 || strncmp(at + 5, "-base/", 6) == 0)
			return false;
	return true;
}

/* One more frame: `function` at the place that was reached. Text that is evaluated belongs to whoever evaluates it. */
static bool add_frame(struct perl_walk *walk, const char *function)
{
	if (walk->count == walk->most)
		return false;
	struct record_script_frame *frame = &walk->frames[walk->count++];
	*frame = (struct record_script_frame){.language = "perl", .line = walk->place.line, .own_code = is_own(walk->place.file)};
	text_copy(frame->function, sizeof(frame->function), function);
	record_bytes_set(&frame->file, walk->place.file, strlen(walk->place.file));
	if (walk->evaluated)
		frame[-1].own_code = frame->own_code;
	walk->evaluated = strncmp(walk->place.file, "(eval ", 6) == 0;
	return true;
}

/* A call ends a frame; so does the evaluation of text or of another file. eval { } is part of the code around it. */
static const char *add_context(const struct perl *perl, struct perl_walk *walk, const unsigned char *context)
{
	const struct perl_layout *layout = perl->layout;
	uint32_t type = context[0] & layout->type_mask;
	char function[sizeof(walk->frames->function)] = "";
	struct perl_place caller;
	uint64_t cop, code, back;
	bool sub = type == layout->type_sub || type == layout->type_format;
	if (!sub && type != layout->type_eval)
		return NULL;
	memcpy(&cop, context + layout->context_cop, sizeof(cop));
	memcpy(&code, context + layout->context_sub, sizeof(code));
	memcpy(&back, context + (sub ? layout->context_return : layout->context_eval_return), sizeof(back));
	bool told = closest_cop(perl, &cop, 0, back);
	if (!read_place(perl, cop, &caller))
		return "a perl statement cannot be read";
	if (!told)
		caller.line = 0;
	if (sub && !read_sub(perl, code, function, sizeof(function)))
		return "the name of a perl sub cannot be read";
	if (!sub && strcmp(caller.file, walk->place.file) == 0)
		return NULL;
	if (!add_frame(walk, function))
		return "there are more calls than are kept";
	walk->place = caller;
	return NULL;
}

static const char *walk_stack(const struct perl *perl, struct perl_walk *walk, uint64_t stack)
{
	const struct perl_layout *layout = perl->layout;
	unsigned char context[CONTEXT_BYTES_MAX];
	uint64_t contexts;
	uint32_t top;
	if (!why_read_u64(perl->process, stack + layout->stack_contexts, &contexts) ||
	    !why_read_u32(perl->process, stack + layout->stack_top, &top))
		return "perl's call stack cannot be read";
	if ((int32_t)top >= CONTEXT_MAX)
		return "perl's call stack is too deep";
	for (int32_t i = (int32_t)top; i >= 0; i--) {
		if (!why_read(perl->process, contexts + (uint64_t)i * layout->context_bytes, context, layout->context_bytes))
			return "perl's call stack cannot be read";
		const char *why = add_context(perl, walk, context);
		if (why)
			return why;
	}
	return NULL;
}

static const char *perl_walk(const struct perl *perl, struct perl_walk *walk)
{
	uint64_t cop, stack, op;
	if (!why_read_u64(perl->process, perl->interpreter + perl->layout->current_cop, &cop) ||
	    !why_read_u64(perl->process, perl->interpreter + perl->layout->current_op, &op) ||
	    !why_read_u64(perl->process, perl->interpreter + perl->layout->current_stack, &stack))
		return "perl's state cannot be read";
	bool told = closest_cop(perl, &cop, op, 0);
	if (!read_place(perl, cop, &walk->place))
		return "perl executes no statement";
	if (!told)
		walk->place.line = 0;
	for (unsigned i = 0; stack; i++) {
		const char *why = i < STACK_MAX ? walk_stack(perl, walk, stack) : "perl has too many stacks";
		if (why)
			return why;
		if (!why_read_u64(perl->process, stack + perl->layout->stack_previous, &stack))
			return "perl's call stack cannot be read";
	}
	return add_frame(walk, "") ? NULL : "there are more calls than are kept";
}

static const char *perl_open(const struct why_process *process, struct perl *perl)
{
	uint64_t size_symbol;
	const struct why_map *module = perl_module(process, &size_symbol);
	perl->process = process;
	if (!module || !(perl->layout = find_layout(process, module, size_symbol)))
		return "this version or build of perl is not known";
	if (!find_interpreter(process, module, &perl->interpreter))
		return "it cannot be told which perl interpreter this thread runs";
	return NULL;
}

static size_t script_perl_frames(const struct why_process *process, struct record_script_frame *frames, size_t most, char *reason,
				 size_t reason_bytes)
{
	struct perl_walk walk = {.frames = frames, .most = most};
	struct perl perl;
	const char *why = perl_open(process, &perl);
	if (!why)
		why = perl_walk(&perl, &walk);
	if (why && why_time_is_over(process))
		why = "reading perl's call stack took too long";
	text_copy(reason, reason_bytes, why ? why : "");
	return walk.count;
}

const struct script_reader script_perl = {"perl", perl_probe, script_perl_frames, NULL};
