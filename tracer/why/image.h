/* A stopped thread's memory as far as it is known without the thread: its stack as it was copied, and the files that were
 * mapped. Only the helper process opens these files. */
#ifndef WHY_IMAGE_H
#define WHY_IMAGE_H

#include "verdict/record.h"
#include "why/maps.h"

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

enum { IMAGE_MAP_MAX = 8192, IMAGE_SEGMENT_MAX = 32 };

/* A file with code in it, mapped in one place. */
struct image_module {
	uint64_t start, end;           /* of all its mappings */
	struct maps_file file;         /* path borrowed from the snapshot */
	char path[1024];               /* as the verdict names it, NUL-terminated */
	bool is_vdso;
	bool tried;                    /* to open it */
	int fd;                        /* -1: not open, or not to be opened */
	Elf *elf;                      /* NULL: none */
	uint64_t bias;                 /* address = bias + what the file says */
	void *dwarf;                   /* Dwarf *, for lines; NULL: none */
	bool dwarf_tried;
};

struct image_map {
	uint64_t start, end, offset;
	bool executable;
	int module; /* index, -1 for none */
};

/* Registers by their numbers in DWARF for x86_64: rax rdx rcx rbx rsi rdi rbp rsp r8…r15 rip. */
enum { IMAGE_REGISTER_RBP = 6, IMAGE_REGISTER_RSP = 7, IMAGE_REGISTER_RIP = 16, IMAGE_REGISTER_COUNT = 17 };

struct image {
	const struct record_snapshot *snapshot;
	uint64_t registers[IMAGE_REGISTER_COUNT];
	struct image_map *maps;       /* sorted by address */
	size_t map_count;
	struct image_module *modules; /* sorted by address */
	size_t module_count;
	bool missed;                  /* something was asked for that no copy and no file holds */
};

/* The snapshot is borrowed, and every length in it has been checked by the caller. */
void image_open(struct image *image, const struct record_snapshot *snapshot);
void image_close(struct image *image);

/* Reads exactly that: from the copied stack, or from the file behind a mapping that is not writable. */
bool image_read(struct image *image, uint64_t address, void *to, size_t length);

const struct image_map *image_find(const struct image *image, uint64_t address);
bool image_is_code(const struct image *image, uint64_t address);

/* The module at the address with its file open, or NULL. `elf` may be NULL where the file could not be had. */
struct image_module *image_module_at(struct image *image, uint64_t address);
void image_module_open(struct image *image, struct image_module *module);

/* A descriptor of its own for the module's file, or -1. The caller's to close. */
int image_module_descriptor(struct image *image, struct image_module *module);

#endif
