/* From an address to a function: one pass over a module's symbols serves all frames that lie in it, which is less than sorting
 * them would be, and far less than a linear search for each frame. */
#include "why/libraries.h"
#include "why/unwind.h"

#include "base/text.h"
#include "why/gopclntab.h"

#include <string.h>

enum { SECTION_MAX = 4096, BUILD_ID_MAX_BYTES = 20 };

/* The best symbol so far for one frame. */
struct candidate {
	uint64_t value;
	unsigned rank;    /* 0: none, 1: begins before, 2: covers */
	const char *name; /* borrowed from the file's string table */
};

struct lookup {
	struct image_module *module;
	const uint64_t *places; /* as the file has them; 0: not in this module */
	size_t count;
	struct candidate *candidates;
};

/* Of names for the same place the one that people know: "open", not "__open64" or a local alias. */
static bool is_better_name(const char *name, const char *known)
{
	size_t underscores = strspn(name, "_"), known_underscores = strspn(known, "_");
	return underscores != known_underscores ? underscores < known_underscores : strlen(name) < strlen(known);
}

/* A symbol with a size that covers the place is sure. One without a size (written in assembler) holds as long as no other
 * begins after it. */
static unsigned rank_of(const Elf64_Sym *symbol, uint64_t place)
{
	unsigned type = ELF64_ST_TYPE(symbol->st_info);
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || symbol->st_value > place ||
	    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return 0;
	if (symbol->st_size == 0)
		return 1;
	return place - symbol->st_value < symbol->st_size ? 2 : 0;
}

static void consider(struct lookup *lookup, const Elf64_Sym *symbol, const char *name)
{
	for (size_t i = 0; i < lookup->count; i++) {
		struct candidate *candidate = &lookup->candidates[i];
		unsigned rank = lookup->places[i] ? rank_of(symbol, lookup->places[i]) : 0;
		if (rank == 0 || rank < candidate->rank)
			continue;
		/* Of several the innermost counts: a part of a function may have a symbol of its own. */
		bool same = rank == candidate->rank && symbol->st_value == candidate->value;
		if (rank == candidate->rank && (symbol->st_value < candidate->value || (same && !is_better_name(name, candidate->name))))
			continue;
		*candidate = (struct candidate){ symbol->st_value, rank, name };
	}
}

/* Most symbols cover no frame: two comparisons rule them out. */
static void pass_over(struct lookup *lookup, const Elf64_Sym *symbols, size_t count, const char *strings, size_t strings_bytes)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < lookup->count; i++) {
		if (lookup->places[i] && lookup->places[i] < low)
			low = lookup->places[i];
		if (lookup->places[i] > high)
			high = lookup->places[i];
	}
	for (size_t i = 0; i < count; i++) {
		const Elf64_Sym *symbol = &symbols[i];
		bool ends_before = symbol->st_size && symbol->st_value + symbol->st_size <= low;
		if (symbol->st_value > high || ends_before || symbol->st_name == 0 || symbol->st_name >= strings_bytes)
			continue;
		const char *name = strings + symbol->st_name;
		if (*name && memchr(name, '\0', strings_bytes - symbol->st_name))
			consider(lookup, symbol, name);
	}
}

static void look_in_section(struct lookup *lookup, Elf_Scn *section, const GElf_Shdr *header)
{
	GElf_Shdr strings_header;
	Elf_Scn *strings_section = libraries.elf_getscn(lookup->module->elf, header->sh_link);
	if (!strings_section || !libraries.gelf_getshdr(strings_section, &strings_header) || strings_header.sh_type != SHT_STRTAB)
		return;
	const Elf_Data *data = libraries.elf_getdata(section, NULL), *strings = libraries.elf_rawdata(strings_section, NULL);
	if (!data || !data->d_buf || !strings || !strings->d_buf)
		return;
	pass_over(lookup, data->d_buf, data->d_size / sizeof(Elf64_Sym), strings->d_buf, strings->d_size);
}

/* .symtab holds what .dynsym does and more; a stripped file has the second alone. */
static void look_up(struct lookup *lookup)
{
	GElf_Shdr header;
	Elf_Scn *section = NULL, *dynamic = NULL;
	GElf_Shdr dynamic_header = { 0 };
	for (unsigned i = 0; i < SECTION_MAX && (section = libraries.elf_nextscn(lookup->module->elf, section)); i++) {
		if (!libraries.gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB) {
			look_in_section(lookup, section, &header);
			return;
		}
		if (header.sh_type == SHT_DYNSYM && !dynamic) {
			dynamic = section;
			dynamic_header = header;
		}
	}
	if (dynamic)
		look_in_section(lookup, dynamic, &dynamic_header);
}

static void build_id_of(const struct image_module *module, char text[static 2 * BUILD_ID_MAX_BYTES + 1])
{
	static const char digits[] = "0123456789abcdef";
	const void *bytes = NULL;
	ssize_t length = module->elf && libraries_load_dw() ? libraries.dwelf_elf_gnu_build_id(module->elf, &bytes) : 0;
	text[0] = '\0';
	if (length <= 0 || length > BUILD_ID_MAX_BYTES)
		return;
	for (ssize_t i = 0; i < length; i++) {
		text[2 * i] = digits[((const unsigned char *)bytes)[i] >> 4];
		text[2 * i + 1] = digits[((const unsigned char *)bytes)[i] & 15];
	}
	text[2 * length] = '\0';
}

static void name_frames(struct image *image, struct image_module *module, const struct unwind_frame *frames, size_t count,
			struct record_stack_frame *out)
{
	uint64_t places[RECORD_STACK_FRAME_MAX] = { 0 };
	struct candidate candidates[RECORD_STACK_FRAME_MAX] = { { 0 } };
	struct lookup lookup = { module, places, count, candidates };
	char build_id[2 * BUILD_ID_MAX_BYTES + 1];
	build_id_of(module, build_id);
	for (size_t i = 0; i < count; i++)
		if (image_module_at(image, frames[i].address) == module)
			places[i] = unwind_lookup(&frames[i]) - module->bias;
	if (module->elf)
		look_up(&lookup);
	for (size_t i = 0; i < count; i++) {
		if (!places[i])
			continue;
		memcpy(out[i].build_id, build_id, sizeof(build_id));
		if (candidates[i].rank) {
			text_copy(out[i].function, sizeof(out[i].function), candidates[i].name);
			out[i].offset = frames[i].address - module->bias - candidates[i].value;
		} else if (module->elf) {
			gopclntab_function(module, places[i], &out[i]);
		}
	}
}

void symbolise_functions(struct image *image, const struct unwind_frame *frames, size_t count, struct record_stack_frame *out)
{
	for (size_t i = 0; i < count; i++) {
		struct image_module *module = image_module_at(image, frames[i].address);
		bool is_first = module != NULL;
		for (size_t before = 0; is_first && before < i; before++)
			is_first = image_module_at(image, frames[before].address) != module;
		if (is_first)
			name_frames(image, module, frames, count, out);
	}
}
