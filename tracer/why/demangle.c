/* Names of C++ and Rust as their authors wrote them, where the C++ library is installed to tell. */
#include "why/unwind.h"

#include "base/text.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *demangle_function(const char *mangled, char *buffer, size_t *length, int *status);

/* Rust's older scheme is C++'s with a hash as the last part: "::h" and 16 digits, which differ from build to build. */
static bool cut_hash(char *name)
{
	enum { HASH_CHARACTERS = 19 };
	size_t length = strlen(name);
	if (length <= HASH_CHARACTERS)
		return false;
	char *hash = name + length - HASH_CHARACTERS;
	if (strncmp(hash, "::h", 3) != 0 || strspn(hash + 3, "0123456789abcdef") != HASH_CHARACTERS - 3)
		return false;
	*hash = '\0';
	return true;
}

/* One escape at `at`; its character and length, or 0. */
static size_t rust_escape(const char *at, char *character)
{
	static const struct {
		const char *escape;
		char character;
	} escapes[] = {
		{ "$SP$", '@' }, { "$BP$", '*' }, { "$RF$", '&' }, { "$LT$", '<' }, { "$GT$", '>' }, { "$LP$", '(' },
		{ "$RP$", ')' }, { "$C$", ',' }, { "$u20$", ' ' }, { "$u27$", '\'' }, { "$u5b$", '[' }, { "$u5d$", ']' },
		{ "$u7b$", '{' }, { "$u7d$", '}' }, { "$u3b$", ';' }, { "$u2b$", '+' }, { "$u22$", '"' },
	};
	for (size_t i = 0; i < sizeof(escapes) / sizeof(*escapes); i++) {
		size_t length = strlen(escapes[i].escape);
		if (strncmp(at, escapes[i].escape, length) == 0) {
			*character = escapes[i].character;
			return length;
		}
	}
	return 0;
}

/* What C++ has no letter for, that scheme writes as $LT$ and the like, "::" within a part as "..", and an underscore before a
 * part that begins with an escape (library/std in the compiler's source: legacy symbol names). */
static void unescape_rust(char *name)
{
	char *to = name;
	for (const char *at = name; *at; to++) {
		bool begins = at == name || at[-1] == ':';
		at += begins && at[0] == '_' && at[1] == '$';
		size_t length = rust_escape(at, to);
		if (length > 0) {
			at += length;
		} else if (at[0] == '.' && at[1] == '.') {
			*to++ = ':';
			*to = ':';
			at += 2;
		} else {
			*to = *at++;
		}
	}
	*to = '\0';
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
			if (cut_hash(name))
				unescape_rust(name);
			text_copy(frames[i].function, sizeof(frames[i].function), name);
		}
		free(name);
	}
}
