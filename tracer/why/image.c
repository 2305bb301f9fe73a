#include "why/image.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "tracee/proc.h"
#include "why/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/user.h>
#include <unistd.h>

static void read_registers(struct image *image)
{
	struct user_regs_struct user;
	memcpy(&user, image->snapshot->registers, sizeof(user));
	const uint64_t in_order[IMAGE_REGISTER_COUNT] = {
		user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
		user.r9,  user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip,
	};
	memcpy(image->registers, in_order, sizeof(in_order));
}

/* ---- mappings and modules ----------------------------------------------------------------------------------------- */

static bool same_file(const struct maps_file *left, const struct maps_file *right)
{
	return left->inode == right->inode && left->major == right->major && left->minor == right->minor;
}

static bool is_vdso(const struct maps_file *file)
{
	static const char name[] = "[vdso]";
	return file->inode == 0 && file->path_bytes == sizeof(name) - 1 && memcmp(file->path, name, sizeof(name) - 1) == 0;
}

static void begin_module(struct image *image, const struct why_map *map, const struct maps_file *file)
{
	struct image_module *module = &image->modules[image->module_count++];
	*module = (struct image_module){ .start = map->start, .end = map->end, .file = *file, .fd = -1, .is_vdso = is_vdso(file) };
	snprintf(module->path, sizeof(module->path), "%.*s", (int)(file->path_bytes < 4096 ? file->path_bytes : 4096), file->path);
}

/* A loader maps a file once, in ascending order, its first page first; the same file mapped again is another module. */
static void add_map(struct image *image, const struct why_map *map, const struct maps_file *file)
{
	struct image_module *last = image->module_count ? &image->modules[image->module_count - 1] : NULL;
	int module = -1;
	if (file->inode != 0 || is_vdso(file)) {
		if (!last || !same_file(&last->file, file) || map->offset == 0)
			begin_module(image, map, file);
		module = (int)image->module_count - 1;
		image->modules[module].end = map->end;
	}
	image->maps[image->map_count++] = (struct image_map){ map->start, map->end, map->offset, map->executable, module };
}

void image_open(struct image *image, const struct record_snapshot *snapshot)
{
	*image = (struct image){ .snapshot = snapshot };
	read_registers(image);
	image->maps = memory_zeroed(IMAGE_MAP_MAX, sizeof(*image->maps));
	image->modules = memory_zeroed(IMAGE_MAP_MAX, sizeof(*image->modules));
	const char *at = snapshot->maps, *end = at + snapshot->maps_length;
	uint64_t before = 0;
	while (at < end && image->map_count < IMAGE_MAP_MAX) {
		struct why_map map;
		struct maps_file file;
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			break;
		if (maps_parse_line(at, (size_t)(newline - at), &map, &file) && map.start >= before) {
			add_map(image, &map, &file);
			before = map.end;
		}
		at = newline + 1;
	}
}

void image_close(struct image *image)
{
	for (size_t i = 0; i < image->module_count; i++) {
		struct image_module *module = &image->modules[i];
		if (module->dwarf)
			libraries.dwarf_end(module->dwarf);
		if (module->elf)
			libraries.elf_end(module->elf);
		if (module->fd >= 0)
			close(module->fd);
	}
	free(image->maps);
	free(image->modules);
}

const struct image_map *image_find(const struct image *image, uint64_t address)
{
	size_t low = 0, high = image->map_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (image->maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < image->map_count && image->maps[low].start <= address ? &image->maps[low] : NULL;
}

bool image_is_code(const struct image *image, uint64_t address)
{
	const struct image_map *map = image_find(image, address);
	return map && map->executable;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

/* The path is the target's choice, and anything may stand there by now. It is looked at through O_PATH, which opens no device
 * and waits for no FIFO; only the very file that was mapped, and only a regular one, is then opened for reading. On file
 * systems with devices of their own making (major 0: btrfs, overlay) a mapping and a stat may name different ones; there
 * the inode decides. A wrong file gives wrong names in an explanation, nothing else. */
static int open_mapped(const struct image_module *module)
{
	char path[4096];
	struct stat status;
	if (module->file.path_bytes >= sizeof(path) || module->file.path_bytes == 0 || module->file.path[0] != '/')
		return -1;
	memcpy(path, module->file.path, module->file.path_bytes);
	path[module->file.path_bytes] = '\0';
	auto_fd int found = open(path, O_PATH | O_CLOEXEC);
	if (found < 0 || fstat(found, &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != module->file.inode)
		return -1;
	bool same_device = major(status.st_dev) == module->file.major && minor(status.st_dev) == module->file.minor;
	if (!same_device && (module->file.major != 0 || major(status.st_dev) != 0))
		return -1;
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	return open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Every process of a host has the same vdso: the helper's own stands for the target's. */
static Elf *own_vdso(void)
{
	enum { OWN_MAPS_BYTES = 64 * 1024 };
	auto_free char *text = memory_zeroed(1, OWN_MAPS_BYTES);
	ssize_t length = proc_read_file(getpid(), "maps", text, OWN_MAPS_BYTES);
	const char *at = text, *end = text + (length > 0 ? length : 0);
	for (const char *newline; at < end && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1) {
		struct why_map map;
		struct maps_file file;
		if (maps_parse_line(at, (size_t)(newline - at), &map, &file) && is_vdso(&file) && map.start == getauxval(AT_SYSINFO_EHDR))
			return libraries.elf_memory((char *)map.start, (size_t)(map.end - map.start));
	}
	return NULL;
}

static bool is_mapped_from(const struct image_map *map, const GElf_Phdr *segment)
{
	uint64_t first_page = segment->p_offset & ~UINT64_C(4095);
	return segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && first_page <= map->offset &&
	       map->offset - first_page <= segment->p_filesz;
}

/* The segment that the module's code was mapped from tells where the file's addresses lie. */
static bool find_bias(const struct image *image, struct image_module *module)
{
	size_t count;
	const int index = (int)(module - image->modules);
	if (libraries.elf_getphdrnum(module->elf, &count) != 0 || count > IMAGE_SEGMENT_MAX)
		return false;
	for (size_t m = 0; m < image->map_count; m++) {
		const struct image_map *map = &image->maps[m];
		if (map->module != index || !map->executable)
			continue;
		for (size_t i = 0; i < count; i++) {
			GElf_Phdr segment;
			if (!libraries.gelf_getphdr(module->elf, (int)i, &segment) || !is_mapped_from(map, &segment))
				continue;
			module->bias = map->start - map->offset + segment.p_offset - segment.p_vaddr;
			return true;
		}
	}
	return false;
}

static bool is_usable(Elf *elf)
{
	GElf_Ehdr header;
	return libraries.elf_kind(elf) == ELF_K_ELF && libraries.gelf_getehdr(elf, &header) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_machine == EM_X86_64;
}

void image_module_open(struct image *image, struct image_module *module)
{
	if (module->tried)
		return;
	module->tried = true;
	module->fd = module->is_vdso ? -1 : open_mapped(module);
	if (!libraries_load_elf())
		return;
	if (module->is_vdso)
		module->elf = own_vdso();
	else if (module->fd >= 0)
		module->elf = libraries.elf_begin(module->fd, ELF_C_READ_MMAP, NULL);
	if (module->elf && is_usable(module->elf) && find_bias(image, module))
		return;
	if (module->elf)
		libraries.elf_end(module->elf);
	module->elf = NULL;
}

struct image_module *image_module_at(struct image *image, uint64_t address)
{
	const struct image_map *map = image_find(image, address);
	if (!map || map->module < 0)
		return NULL;
	struct image_module *module = &image->modules[map->module];
	image_module_open(image, module);
	return module;
}

int image_module_descriptor(struct image *image, struct image_module *module)
{
	image_module_open(image, module);
	return module->fd >= 0 ? fcntl(module->fd, F_DUPFD_CLOEXEC, 3) : -1;
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static bool read_copy(const unsigned char *bytes, uint64_t begin, uint32_t bytes_length, uint64_t address, void *to, size_t length)
{
	uint64_t from = address - begin;
	if (address < begin || from > bytes_length || length > bytes_length - from)
		return false;
	memcpy(to, bytes + from, length);
	return true;
}

static bool read_stack(const struct record_snapshot *snapshot, uint64_t address, void *to, size_t length)
{
	return read_copy(snapshot->stack, snapshot->stack_address, snapshot->stack_length, address, to, length) ||
	       read_copy(snapshot->stack + snapshot->stack_length, snapshot->interrupted_address, snapshot->interrupted_length,
			 address, to, length);
}

static bool read_file(struct image *image, uint64_t address, void *to, size_t length)
{
	const struct image_map *map = image_find(image, address);
	if (!map || length > map->end - address)
		return false;
	const struct image_module *module = image_module_at(image, address);
	if (!module || module->fd < 0)
		return false;
	return pread(module->fd, to, length, (off_t)(map->offset + (address - map->start))) == (ssize_t)length;
}

bool image_read(struct image *image, uint64_t address, void *to, size_t length)
{
	bool known = read_stack(image->snapshot, address, to, length) || read_file(image, address, to, length);
	image->missed = image->missed || !known;
	return known;
}
