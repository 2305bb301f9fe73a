/* Functions that a compiler has put into their callers: no frame of the stack is theirs, and without them a line of one
 * function would stand beside the name of another. */
#include "why/libraries.h"
#include "why/unwind.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum { SCOPE_MAX = 64, ENTRY_MAX = 1 << 20 };

/* The list that grows from the innermost frame on. */
struct expansion {
	struct record_stack_frame *frames;
	size_t count, most;
};

static void add(struct expansion *expansion, const struct record_stack_frame *frame)
{
	if (expansion->count < expansion->most)
		expansion->frames[expansion->count++] = *frame;
}

/* As the linker calls it where that can be written out with its namespaces: Rust's newer names ("_R…") cannot, by libstdc++. */
static void set_name(Dwarf_Die *scope, struct record_stack_frame *frame)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;
	if (libraries.dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute))
		name = libraries.dwarf_formstring(&attribute);
	if (!name || strncmp(name, "_R", 2) == 0)
		name = libraries.dwarf_diename(scope);
	if (name)
		text_copy(frame->function, sizeof(frame->function), name);
}

/* Where the caller calls it: the line of the frame around it. */
static void set_call_place(Dwarf_Die *unit, Dwarf_Die *scope, struct record_stack_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word line = 0, file = 0;
	Dwarf_Files *files;
	size_t count;
	if (libraries.dwarf_attr(scope, DW_AT_call_line, &attribute))
		libraries.dwarf_formudata(&attribute, &line);
	if (libraries.dwarf_attr(scope, DW_AT_call_file, &attribute))
		libraries.dwarf_formudata(&attribute, &file);
	frame->line = line <= UINT32_MAX ? (uint32_t)line : 0;
	frame->file[0] = '\0';
	if (libraries.dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count)
		return;
	const char *name = libraries.dwarf_filesrc(files, file, NULL, NULL);
	if (name)
		symbolise_set_file(unit, name, frame);
}

/* What a search through the entries of a unit may still cost. */
struct search {
	uint64_t place;
	unsigned entries_left;
	Dwarf_Die *scopes; /* functions and inlined ones that hold the place, outermost first */
	size_t count;
};

enum holding { HOLDS_NOTHING, HOLDS_OTHERS, HOLDS_CODE };

/* A namespace or a type has no addresses of its own, but functions with some in it (Rust nests all of them so, which is why
 * dwarf_getscopes does not find them). */
static enum holding holding_of(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: return HOLDS_OTHERS;
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block: return HOLDS_CODE;
	default: return HOLDS_NOTHING;
	}
}

static void search_in(struct search *search, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die child;
	int missing = depth < SCOPE_MAX ? libraries.dwarf_child(parent, &child) : 1;
	const size_t before = search->count;
	for (; missing == 0 && search->entries_left > 0; missing = libraries.dwarf_siblingof(&child, &child)) {
		int tag = libraries.dwarf_tag(&child);
		enum holding holding = holding_of(tag);
		search->entries_left--;
		if (holding == HOLDS_CODE && libraries.dwarf_haspc(&child, search->place) == 1) {
			if ((tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) && search->count < SCOPE_MAX)
				search->scopes[search->count++] = child;
			search_in(search, &child, depth + 1);
			return;
		}
		if (holding == HOLDS_OTHERS)
			search_in(search, &child, depth + 1);
		if (search->count > before)
			return;
	}
}

/* `frame` is the physical one, with the line of the innermost inlined function. */
static void expand_frame(struct image_module *module, const struct unwind_frame *place, const struct record_stack_frame *frame,
			 struct expansion *expansion)
{
	Dwarf_Die unit, scopes[SCOPE_MAX];
	struct search search = { .place = unwind_lookup(place) - module->bias, .entries_left = ENTRY_MAX, .scopes = scopes };
	struct record_stack_frame outer = *frame;
	if (libraries.dwarf_offdie(module->dwarf, place->unit, &unit))
		search_in(&search, &unit, 0);
	while (search.count > 0 && libraries.dwarf_tag(&scopes[search.count - 1]) == DW_TAG_inlined_subroutine) {
		Dwarf_Die *scope = &scopes[--search.count];
		struct record_stack_frame inner = outer;
		inner.function[0] = '\0';
		set_name(scope, &inner);
		inner.inlined = true;
		if (inner.function[0])
			add(expansion, &inner);
		set_call_place(&unit, scope, &outer);
	}
	if (search.count > 0 && strncmp(outer.function, "_R", 2) == 0)
		set_name(&scopes[search.count - 1], &outer);
	add(expansion, &outer);
}

size_t symbolise_inlined(struct image *image, const struct unwind_frame *places, size_t count, struct record_stack_frame *frames, size_t most)
{
	struct expansion expansion = { .frames = memory_zeroed(most, sizeof(*frames)), .most = most };
	for (size_t i = 0; i < count; i++) {
		struct image_module *module = places[i].unit ? image_module_at(image, places[i].address) : NULL;
		if (module && module->dwarf)
			expand_frame(module, &places[i], &frames[i], &expansion);
		else
			add(&expansion, &frames[i]);
	}
	memcpy(frames, expansion.frames, expansion.count * sizeof(*frames));
	free(expansion.frames);
	return expansion.count;
}
