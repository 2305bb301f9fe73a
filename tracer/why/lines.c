/* From an address to a source line, by the debug information in the module itself. */
#include "why/libraries.h"
#include "why/unwind.h"

#include "base/text.h"
#include "why/gopclntab.h"

#include <stdio.h>

static Dwarf *dwarf_of(struct image_module *module)
{
	if (!module->dwarf_tried) {
		module->dwarf_tried = true;
		module->dwarf = libraries.dwarf_begin_elf(module->elf, DWARF_C_READ, NULL);
	}
	return module->dwarf;
}

void symbolise_set_file(void *unit, const char *name, struct record_stack_frame *frame)
{
	Dwarf_Attribute attribute;
	const char *folder = NULL;
	if (name[0] != '/' && libraries.dwarf_attr(unit, DW_AT_comp_dir, &attribute))
		folder = libraries.dwarf_formstring(&attribute);
	if (!folder || snprintf(frame->file, sizeof(frame->file), "%s/%s", folder, name) >= (int)sizeof(frame->file))
		text_copy(frame->file, sizeof(frame->file), name);
}

static bool line_in_unit(Dwarf_Die *unit, uint64_t place, struct unwind_frame *where, struct record_stack_frame *frame)
{
	int number;
	Dwarf_Line *line = libraries.dwarf_getsrc_die(unit, place);
	const char *name = line ? libraries.dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!name || libraries.dwarf_lineno(line, &number) != 0 || number <= 0)
		return false;
	symbolise_set_file(unit, name, frame);
	frame->line = (uint32_t)number;
	where->unit = libraries.dwarf_dieoffset(unit);
	return true;
}

/* Compilers other than gcc leave out .debug_aranges, and linked objects of both kinds leave it incomplete: what it does not
 * know is looked for in every unit. Front's deadline bounds this. */
static void walk_units(Dwarf *dwarf, const uint64_t *places, struct unwind_frame *frames, size_t count, struct record_stack_frame *out)
{
	Dwarf_Off offset = 0, next;
	size_t header_bytes;
	while (libraries.dwarf_nextcu(dwarf, offset, &next, &header_bytes, NULL, NULL, NULL) == 0 && next > offset) {
		Dwarf_Die unit;
		if (libraries.dwarf_offdie(dwarf, offset + header_bytes, &unit))
			for (size_t i = 0; i < count; i++)
				if (places[i] && out[i].line == 0 && libraries.dwarf_haspc(&unit, places[i]) == 1)
					line_in_unit(&unit, places[i], &frames[i], &out[i]);
		offset = next;
	}
}

static void lines_of_module(struct image *image, struct image_module *module, struct unwind_frame *frames, size_t count,
			    struct record_stack_frame *out)
{
	uint64_t places[RECORD_STACK_FRAME_MAX] = { 0 };
	Dwarf *dwarf = dwarf_of(module);
	bool any_left = false;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die unit;
		if (out[i].line || image_module_at(image, frames[i].address) != module)
			continue;
		places[i] = unwind_lookup(&frames[i]) - module->bias;
		if (dwarf && libraries.dwarf_addrdie(dwarf, places[i], &unit))
			line_in_unit(&unit, places[i], &frames[i], &out[i]);
		any_left = any_left || out[i].line == 0;
	}
	if (dwarf && any_left)
		walk_units(dwarf, places, frames, count, out);
	for (size_t i = 0; i < count; i++)
		if (places[i] && out[i].line == 0)
			gopclntab_line(module, places[i], &out[i]);
}

void symbolise_lines(struct image *image, struct unwind_frame *frames, size_t count, struct record_stack_frame *out)
{
	if (!libraries_load_dw())
		return;
	for (size_t i = 0; i < count; i++) {
		struct image_module *module = image_module_at(image, frames[i].address);
		bool is_first = module && module->elf;
		for (size_t before = 0; is_first && before < i; before++)
			is_first = image_module_at(image, frames[before].address) != module;
		if (is_first)
			lines_of_module(image, module, frames, count, out);
	}
}
