#include "why/libraries.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

struct libraries libraries;

struct function {
	const char *name;
	size_t field; /* offset in struct libraries */
};

#define NAME_OF(name) #name
#define FUNCTION(name) { NAME_OF(name), offsetof(struct libraries, name) },

static const struct function elf_functions[] = { LIBRARY_ELF(FUNCTION) };
static const struct function dw_functions[] = { LIBRARY_DW(FUNCTION) };
static const struct function unwind_functions[] = { LIBRARY_UNWIND(FUNCTION) };

/* All of them or none: the first one tells whether the library is there. */
static bool load(const char *file, const struct function *functions, size_t count)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library && i < count; i++)
		if (!dlsym(library, functions[i].name))
			return false;
	for (size_t i = 0; library && i < count; i++) {
		void *address = dlsym(library, functions[i].name);
		memcpy((char *)&libraries + functions[i].field, &address, sizeof(address));
	}
	return library != NULL;
}

#define LOAD(file, functions) load(file, functions, sizeof(functions) / sizeof(*(functions)))

bool libraries_load_elf(void)
{
	return libraries.elf_begin || (LOAD("libelf.so.1", elf_functions) && libraries.elf_version(EV_CURRENT) != EV_NONE);
}

bool libraries_load_dw(void)
{
	return libraries_load_elf() && (libraries.dwfl_begin || LOAD("libdw.so.1", dw_functions));
}

bool libraries_load_unwind(void)
{
	return libraries.unw_step || LOAD("libunwind-x86_64.so.8", unwind_functions);
}
