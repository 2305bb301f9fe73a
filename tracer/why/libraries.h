/* libelf, libdw and libunwind, loaded at run time by the helper process alone: bailiff itself starts without them, and runs
 * where they are not installed. Each function is reached under its own name: libraries.dwfl_begin(…). */
#ifndef WHY_LIBRARIES_H
#define WHY_LIBRARIES_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <libelf.h>
#include <libunwind.h>
#include <stdbool.h>

/* Exported by libunwind for users with accessors of their own, and declared in none of its installed headers. */
#define dwarf_search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int dwarf_search_unwind_table(unw_addr_space_t space, unw_word_t ip, unw_dyn_info_t *info, unw_proc_info_t *found,
				     int need_unwind_info, void *data);

#define LIBRARY_ELF(X) \
	X(elf_version) X(elf_begin) X(elf_memory) X(elf_end) X(elf_kind) X(elf_nextscn) X(elf_getscn) X(elf_getdata) \
	X(elf_rawdata) X(elf_strptr) \
	X(elf_getphdrnum) X(elf_getshdrstrndx) X(gelf_getphdr) X(gelf_getshdr) X(gelf_getehdr)
#define LIBRARY_DW(X) \
	X(dwfl_begin) X(dwfl_end) X(dwfl_report_begin) X(dwfl_report_module) X(dwfl_report_end) X(dwfl_module_info) X(dwfl_attach_state) \
	X(dwfl_thread_state_registers) X(dwfl_getthread_frames) X(dwfl_frame_pc) X(dwfl_errmsg) X(dwelf_elf_gnu_build_id) \
	X(dwarf_begin_elf) X(dwarf_end) X(dwarf_nextcu) X(dwarf_offdie) X(dwarf_haspc) X(dwarf_getsrc_die) X(dwarf_addrdie) \
	X(dwarf_linesrc) X(dwarf_lineno) X(dwarf_attr) X(dwarf_formstring) X(dwarf_dieoffset) X(dwarf_child) X(dwarf_siblingof) X(dwarf_tag) \
	X(dwarf_attr_integrate) X(dwarf_diename) X(dwarf_formudata) X(dwarf_getsrcfiles) X(dwarf_filesrc)
#define LIBRARY_UNWIND(X) \
	X(unw_create_addr_space) X(unw_destroy_addr_space) X(unw_init_remote) X(unw_step) X(unw_get_reg) X(unw_is_signal_frame) \
	X(dwarf_search_unwind_table)

#define LIBRARY_FIELD(name) __typeof__(&name) name;
struct libraries {
	LIBRARY_ELF(LIBRARY_FIELD)
	LIBRARY_DW(LIBRARY_FIELD)
	LIBRARY_UNWIND(LIBRARY_FIELD)
};

/* The functions that were found. */
extern struct libraries libraries;

/* Load them: false where the library is not installed or lacks a function. Loaded once; never given back. */
bool libraries_load_elf(void);
bool libraries_load_dw(void);
bool libraries_load_unwind(void);

#endif
