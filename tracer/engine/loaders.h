/* Where systems keep their ELF loaders: these need no entry to be loaded as the PT_INTERP of a listed program. */
#ifndef ENGINE_LOADERS_H
#define ENGINE_LOADERS_H

#include <stddef.h>

static const char *const system_loader_names[] = {
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/ld-linux-x86-64.so.2",
	"/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
	"/lib/ld-musl-x86_64.so.1",
	"/usr/lib/ld-musl-x86_64.so.1",
	NULL,
};

#endif
