/* Names of C++ and of Rust as their authors wrote them. */
#include "tap.h"

#include "base/text.h"
#include "why/unwind.h"

#include <dlfcn.h>
#include <string.h>

static const struct {
	const char *linked, *written;
} names[] = {
	{ "_ZNK3job6Reader6memberEPKc", "job::Reader::member(char const*) const" },
	{ "_ZN4ways7genericE", "ways::generic" },
	{ "_ZN4ways7generic17h0123456789abcdefE", "ways::generic" },
	{ "_ZN50_$LT$ways..Named$u20$as$u20$core..fmt..Display$GT$3fmt17h0123456789abcdefE", "<ways::Named as core::fmt::Display>::fmt" },
	{ "_ZN4ways3job28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE", "ways::job::{{closure}}" },
	{ "_ZN17_$RF$$u5b$u8$u5d$3run17h0123456789abcdefE", "&[u8]::run" },
	{ "_ZN3a$b3run17h0123456789abcdefE", "a$b::run" },      /* no escape */
	{ "_ZN8_$unknow3run17h0123456789abcdefE", "$unknow::run" }, /* nor this one */
	{ "main", "main" },
	{ "_Zwhatever", "_Zwhatever" },
	{ "", "" },
};

int main(void)
{
	enum { COUNT = sizeof(names) / sizeof(*names) };
	static struct record_stack_frame frames[COUNT + 1];
	bool available = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL) != NULL;
	for (size_t i = 0; i < COUNT; i++)
		text_copy(frames[i].function, sizeof(frames[i].function), names[i].linked);
	/* A name that was cut is none: what is left of it could mean something else. */
	memset(frames[COUNT].function, 'x', sizeof(frames[COUNT].function) - 1);
	memcpy(frames[COUNT].function, "_ZN300", 6);
	symbolise_demangle(frames, COUNT + 1);
	for (size_t i = 0; i < COUNT; i++)
		tap_string(frames[i].function, available ? names[i].written : names[i].linked, "%s", names[i].linked);
	tap_ok(strncmp(frames[COUNT].function, "_ZN300xx", 8) == 0, "a name that was cut stays as it is");
	return tap_done();
}
