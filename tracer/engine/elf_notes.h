/* What an ELF file says of itself in its notes. */
#ifndef ENGINE_ELF_NOTES_H
#define ENGINE_ELF_NOTES_H

#include <stddef.h>

struct elf_notes {
	char build_id[129]; /* NT_GNU_BUILD_ID, hexadecimal */
	char version[64];   /* of the package that it is from, by the package metadata note */
};

/* Both stay "" where the file is no ELF of 64 bits, is broken or has no such note. Nothing outside of the file's own bounds is
 * believed. */
void elf_notes_read(int fd, struct elf_notes *notes);

/* The notes of one segment: `bytes` may hold anything. */
void elf_notes_parse(const unsigned char *bytes, size_t length, size_t alignment, struct elf_notes *notes);

#endif
