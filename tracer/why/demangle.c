/* Names of C++ and Rust as their authors wrote them, where the C++ library is installed to tell. */
#include "why/unwind.h"

#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_function(const char *mangled, char *buffer, size_t *length, int *status);

/* Rust's older scheme is C++'s with a hash as the last part: "::h" and 16 digits, which differ from build to build. */
static void cut_hash(char *name)
{
	enum { HASH_CHARACTERS = 19 };
	size_t length = strlen(name);
	if (length <= HASH_CHARACTERS)
		return;
	char *hash = name + length - HASH_CHARACTERS;
	if (strncmp(hash, "::h", 3) == 0 && strspn(hash + 3, "0123456789abcdef") == HASH_CHARACTERS - 3)
		*hash = '\0';
}

void symbolise_demangle(struct record_stack_frame *frames, size_t count)
{
	void *library = NULL;
	demangle_function *demangle = NULL;
	for (size_t i = 0; i < count; i++) {
		if (strncmp(frames[i].function, "_Z", 2) != 0 || strlen(frames[i].function) + 1 == sizeof(frames[i].function))
			continue;
		if (!library) {
			library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
			void *address = library ? dlsym(library, "__cxa_demangle") : NULL;
			memcpy(&demangle, &address, sizeof(address));
		}
		if (!demangle)
			return;
		int status;
		char *name = demangle(frames[i].function, NULL, NULL, &status);
		if (name && status == 0) {
			cut_hash(name);
			text_copy(frames[i].function, sizeof(frames[i].function), name);
		}
		free(name);
	}
}
