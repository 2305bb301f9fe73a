/* libunwind with accessors of its user's own: a second opinion where libdw did not reach the end of a stack. A broken file can
 * crash it, which ends the helper; what libdw found has been sent by then. */
#include "why/libraries.h"
#include "why/unwind.h"

#include <stdio.h>
#include <string.h>

enum { HEADER_BYTES = 4, ENTRY_BYTES = 8, POINTER_ENCODING_MASK = 0x0f, BASE_ENCODING_MASK = 0x70 };

/* One pointer of .eh_frame_hdr, in the two sizes and two bases that linkers write there. */
static bool read_encoded(struct image *image, unsigned char encoding, uint64_t table, uint64_t *at, uint64_t *value)
{
	int32_t small;
	unsigned form = encoding & POINTER_ENCODING_MASK;
	if ((form != DW_EH_PE_sdata4 && form != DW_EH_PE_udata4) || !image_read(image, *at, &small, sizeof(small)))
		return false;
	*value = form == DW_EH_PE_sdata4 ? (uint64_t)(int64_t)small : (uint32_t)small;
	if ((encoding & BASE_ENCODING_MASK) == DW_EH_PE_pcrel)
		*value += *at;
	else if ((encoding & BASE_ENCODING_MASK) == DW_EH_PE_datarel)
		*value += table;
	*at += sizeof(small);
	return true;
}

static bool find_table(const struct image_module *module, uint64_t *table)
{
	size_t count;
	GElf_Phdr segment;
	if (libraries.elf_getphdrnum(module->elf, &count) != 0)
		return false;
	for (size_t i = 0; i < count && i < IMAGE_SEGMENT_MAX; i++) {
		if (libraries.gelf_getphdr(module->elf, (int)i, &segment) && segment.p_type == PT_GNU_EH_FRAME) {
			*table = module->bias + segment.p_vaddr;
			return true;
		}
	}
	return false;
}

static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *found, int need_info, void *data)
{
	struct image *image = data;
	const struct image_module *module = image_module_at(image, ip);
	unsigned char header[HEADER_BYTES];
	uint64_t table, at, frames, entries;
	if (!module || !module->elf || !find_table(module, &table) || !image_read(image, table, header, sizeof(header)) || header[0] != 1)
		return -UNW_ENOINFO;
	at = table + sizeof(header);
	if (!read_encoded(image, header[1], table, &at, &frames) || !read_encoded(image, header[2], table, &at, &entries) ||
	    entries > UINT32_MAX || header[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
		return -UNW_ENOINFO;
	unw_dyn_info_t info = { .start_ip = module->start, .end_ip = module->end, .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	info.u.rti.segbase = table;
	info.u.rti.table_data = at;
	info.u.rti.table_len = entries * ENTRY_BYTES / sizeof(unw_word_t);
	return libraries.dwarf_search_unwind_table(space, ip, &info, found, need_info, data);
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *data)
{
	(void)space;
	(void)info;
	(void)data;
}

static int no_dynamic_list(unw_addr_space_t space, unw_word_t *address, void *data)
{
	(void)space;
	(void)address;
	(void)data;
	return -UNW_ENOINFO;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *data)
{
	(void)space;
	struct image *image = data;
	return !write && image_read(image, address, value, sizeof(*value)) ? 0 : -UNW_EINVAL;
}

/* libunwind numbers the registers of x86_64 as DWARF does. */
static int access_register(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write, void *data)
{
	(void)space;
	const struct image *image = data;
	if (write || number < 0 || number >= IMAGE_REGISTER_COUNT)
		return -UNW_EBADREG;
	*value = image->registers[number];
	return 0;
}

static int no_float(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write, void *data)
{
	(void)space;
	(void)number;
	(void)value;
	(void)write;
	(void)data;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *data)
{
	(void)space;
	(void)cursor;
	(void)data;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *name, size_t capacity, unw_word_t *offset, void *data)
{
	(void)space;
	(void)address;
	(void)name;
	(void)capacity;
	(void)offset;
	(void)data;
	return -UNW_ENOINFO;
}

static void walk_cursor(struct image *image, unw_cursor_t *cursor, struct unwind_walk *walk)
{
	unw_word_t address, stack, before = 0;
	int step = 1;
	bool is_exact = true;
	while (step > 0) {
		if (libraries.unw_get_reg(cursor, UNW_REG_IP, &address) != 0 ||
		    libraries.unw_get_reg(cursor, UNW_REG_SP, &stack) != 0 || address == 0)
			break;
		/* A caller's frame lies above; where it does not, what follows would be made up. */
		if (walk->count > 1 && stack <= before && !is_exact) { /* a handler may have a stack of its own */
			snprintf(walk->reason, sizeof(walk->reason), "libunwind: the stack does not grow");
			return;
		}
		if (!unwind_add(image, walk, address, is_exact))
			return;
		before = stack;
		is_exact = libraries.unw_is_signal_frame(cursor) > 0;
		step = libraries.unw_step(cursor);
	}
	walk->whole = step == 0;
	if (!walk->whole)
		snprintf(walk->reason, sizeof(walk->reason), "libunwind: error %d", -step);
}

static void walk_libunwind(struct image *image, struct unwind_walk *walk)
{
	unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_dynamic_list,
		.access_mem = access_memory,
		.access_reg = access_register,
		.access_fpreg = no_float,
		.resume = no_resume,
		.get_proc_name = no_name,
	};
	unw_cursor_t cursor;
	if (!libraries_load_elf() || !libraries_load_unwind()) {
		snprintf(walk->reason, sizeof(walk->reason), "libunwind is not installed");
		return;
	}
	unw_addr_space_t space = libraries.unw_create_addr_space(&accessors, 0);
	if (!space)
		return;
	if (libraries.unw_init_remote(&cursor, space, image) == 0)
		walk_cursor(image, &cursor, walk);
	libraries.unw_destroy_addr_space(space);
}

const struct unwinder unwinder_libunwind = { "libunwind", walk_libunwind };
