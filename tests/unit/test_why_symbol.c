/* Reading a process from outside: its mappings, and its symbols in memory. The process is this one, and the modules are its own
 * C library and copies of it that were broken on purpose. */
#include "tap.h"

#include "base/clock.h"
#include "base/text.h"
#include "why/maps.h"
#include "why/process.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MUTATION_COUNT = 1500, NS_PER_S = 1000000000 };

/* xorshift: the same sequence in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- lines of /proc/PID/maps ---- */

static bool parses(const char *line, struct why_map *map, struct maps_file *file)
{
	return maps_parse_line(line, strlen(line), map, file);
}

static void test_lines(void)
{
	struct why_map map;
	struct maps_file file;
	tap_ok(parses("7f12a000-7f12c000 r-xp 00002000 fd:01 1234                       /usr/lib/a b.so (deleted)", &map, &file),
	       "a line is understood");
	tap_ok(map.start == 0x7f12a000 && map.end == 0x7f12c000 && map.offset == 0x2000, "its addresses");
	tap_ok(map.readable && !map.writable && map.executable, "its rights");
	tap_string(map.path, "/usr/lib/a b.so (deleted)", "its path, blanks included");
	tap_ok(file.major == 0xfd && file.minor == 1 && file.inode == 1234 && file.path_bytes == strlen(map.path), "its file");
	tap_ok(parses("1000-2000 ---p 00000000 00:00 0 ", &map, &file) && !map.path[0] && !file.inode, "a mapping of no file");
	static const char *const broken[] = {
		"", "-", "1000", "1000-", "1000-2000", "2000-1000 r--p 0 0:0 0", "1000-1000 r--p 0 0:0 0", "xyz-2000 r--p 0 0:0 0",
		"1000-2000 r--p", "1000-2000 r--p 0 0 0", "1000-2000 r--p 0 0:0 ", "11112222333344445-2 r--p 0 0:0 0",
		"1000-2000 r--p 0 0:0 99999999999999999999999", "1000-2000 r--p0 0:0 0 /a",
	};
	for (size_t i = 0; i < sizeof(broken) / sizeof(*broken); i++)
		tap_ok(!parses(broken[i], &map, &file), "no line: \"%s\"", broken[i]);
	tap_ok(!maps_parse_line("1000-2000 r--p 0 0:0 0 /a\0b", 27, &map, &file), "no line: a NUL in it");
}

static void test_long_path(void)
{
	struct why_map map;
	struct maps_file file;
	char line[1024] = "1000-2000 r--p 0 0:0 5 /";
	memset(line + strlen(line), 'x', 600);
	tap_ok(parses(line, &map, &file), "a long path is no mistake");
	tap_number((long long)strlen(map.path), sizeof(map.path) - 1, "it is cut to its room");
	tap_ok(strcmp(map.path + strlen(map.path) - 3, "...") == 0, "and says so");
	tap_number((long long)file.path_bytes, 601, "the whole of it is still there");
}

static void test_many(void)
{
	static const char text[] = "1000-2000 r--p 0 0:0 0 \nnonsense\n3000-5000 rw-p 0 0:0 0 [heap]\n6000-7000 r--p 0 0:0 0 cut";
	struct why_map maps[4];
	tap_number((long long)maps_parse(text, strlen(text), maps, 4), 2, "whole lines that make sense are kept");
	tap_ok(maps_find(maps, 2, 0x4fff) == &maps[1] && maps_find(maps, 2, 0x1000) == &maps[0], "an address is found in its mapping");
	tap_ok(!maps_find(maps, 2, 0xfff) && !maps_find(maps, 2, 0x2000) && !maps_find(maps, 2, 0x5000) && !maps_find(maps, 0, 1),
	       "and none between them");
	tap_number((long long)maps_parse(text, strlen(text), maps, 1), 1, "never more than there is room for");
}

/* ---- symbols ---- */

static struct why_process *self(void)
{
	struct why_process *process = memory_zeroed(1, sizeof(*process));
	char *text = memory_zeroed(1, 1 << 18);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	for (ssize_t count; (count = read(fd, text + length, (1 << 18) - length)) > 0; length += (size_t)count)
		;
	close(fd);
	process->tid = getpid();
	process->deadline_ns = clock_now_ns() + UINT64_C(600) * NS_PER_S;
	process->map_count = maps_parse(text, length, process->maps, WHY_MAP_MAX);
	free(text);
	return process;
}

static const struct why_map *libc_of(const struct why_process *process)
{
	size_t index = 0;
	return why_module(process, "libc.so", &index);
}

static void test_symbols(const struct why_process *process)
{
	const struct why_map *libc = libc_of(process);
	uint64_t size = 0;
	if (!tap_ok(libc, "the C library is among the modules"))
		return;
	tap_ok(why_symbol(process, libc, "getppid", &size) == (uint64_t)(uintptr_t)&getppid && size > 0, "getppid is where it is");
	tap_ok(why_symbol(process, libc, "environ", NULL) != 0, "data has symbols too");
	tap_ok(why_symbol(process, libc, "errno", NULL) == 0, "a thread's own variable has no address");
	tap_ok(why_symbol(process, libc, "no_such_symbol_at_all", NULL) == 0, "what there is not is not found");
	tap_ok(why_symbol(process, libc, "", NULL) == 0, "neither is no name");
	size_t index = process->map_count;
	tap_ok(!why_module(process, "libc.so", &index), "behind the last mapping there is no module");
	struct why_map nowhere = { .start = 8, .end = 4096 };
	tap_ok(why_symbol(process, &nowhere, "getppid", NULL) == 0, "a module that cannot be read has none");
}

static void test_time(struct why_process *process)
{
	uint64_t word, deadline = process->deadline_ns;
	process->deadline_ns = 1;
	tap_ok(why_time_is_over(process) && !why_read_u64(process, (uint64_t)(uintptr_t)&word, &word), "nothing is read when the time is over");
	tap_ok(why_symbol(process, libc_of(process), "getppid", NULL) == 0, "and nothing found");
	process->deadline_ns = deadline;
}

static void test_strings(const struct why_process *process)
{
	char text[8];
	tap_ok(why_read_string(process, (uint64_t)(uintptr_t)"seven77", text, sizeof(text)), "a string that fits is read");
	tap_string(text, "seven77", "as it is");
	tap_ok(!why_read_string(process, (uint64_t)(uintptr_t)"eight888", text, sizeof(text)), "one that does not is refused");
	tap_ok(!why_read_string(process, 16, text, sizeof(text)), "so is one that is not there");
}

/* A copy of a loaded module. What glibc has turned into addresses in its dynamic section becomes what the file says again, as
 * other loaders leave it. */
struct copy {
	unsigned char *bytes;
	size_t length;
	uint64_t original;
	size_t dynamic; /* offset */
	struct why_map map;
};

static void copy_module(const struct why_process *process, const struct why_map *first, struct copy *copy)
{
	uint64_t end = first->end;
	for (const struct why_map *map = first; map < process->maps + process->map_count && strcmp(map->path, first->path) == 0; map++)
		end = map->end;
	copy->length = (size_t)(end - first->start) + 65536;
	copy->bytes = mmap(NULL, copy->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	copy->original = first->start;
	for (const struct why_map *map = first; map < process->maps + process->map_count && map->end <= end; map++)
		if (map->readable)
			why_read(process, map->start, copy->bytes + (map->start - first->start), (size_t)(map->end - map->start));
	copy->map = *first;
	copy->map.start = (uint64_t)(uintptr_t)copy->bytes;

	const Elf64_Ehdr *header = (const void *)copy->bytes;
	const Elf64_Phdr *segments = (const void *)(copy->bytes + header->e_phoff);
	for (unsigned i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_DYNAMIC)
			copy->dynamic = segments[i].p_vaddr;
	for (Elf64_Dyn *entry = (void *)(copy->bytes + copy->dynamic); entry->d_tag != DT_NULL; entry++)
		if (entry->d_un.d_ptr >= first->start && entry->d_un.d_ptr < end)
			entry->d_un.d_ptr -= first->start;
}

static Elf64_Dyn *dynamic_entry(const struct copy *copy, Elf64_Sxword tag)
{
	for (Elf64_Dyn *entry = (void *)(copy->bytes + copy->dynamic); entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == tag)
			return entry;
	return NULL;
}

static uint64_t found_offset(const struct why_process *process, const struct copy *copy, const char *name)
{
	uint64_t address = why_symbol(process, &copy->map, name, NULL);
	return address ? address - copy->map.start : 0;
}

static void test_copy(const struct why_process *process, const struct copy *copy)
{
	const uint64_t expected = (uint64_t)(uintptr_t)&getppid - copy->original;
	tap_ok(found_offset(process, copy, "getppid") == expected, "found where the dynamic section holds what the file says");
	Elf64_Dyn *gnu = dynamic_entry(copy, DT_GNU_HASH), *old = dynamic_entry(copy, DT_HASH);
	if (!gnu || !old)
		return; /* a C library with one of the two tables alone */
	gnu->d_tag = DT_DEBUG;
	tap_ok(found_offset(process, copy, "getppid") == expected, "found through the older hash table");
	tap_ok(found_offset(process, copy, "no_such_symbol_at_all") == 0, "or not");
	gnu->d_tag = DT_GNU_HASH;
}

/* Where a lie would hurt most: headers, the dynamic section, the head of each table, and anywhere. */
static size_t place_of(const struct copy *copy, uint64_t *state)
{
	static const Elf64_Sxword tags[] = { DT_GNU_HASH, DT_HASH, DT_SYMTAB, DT_STRTAB };
	uint64_t choice = next_random(state) % 8;
	const Elf64_Dyn *entry = choice < 4 ? dynamic_entry(copy, tags[choice]) : NULL;
	if (entry && entry->d_un.d_ptr < copy->length - 4096)
		return entry->d_un.d_ptr + next_random(state) % (choice == 1 ? 4096 : 256);
	if (choice == 4)
		return next_random(state) % 1024;
	return choice < 7 ? copy->dynamic + next_random(state) % 512 : next_random(state) % (copy->length - 64);
}

/* What is not changed on purpose is put back, so that each mutation is of the sound module. */
static void test_mutations(const struct why_process *process, struct copy *copy)
{
	static const char *const names[] = { "getppid", "_PyRuntime", "environ" };
	uint64_t state = 20240229, begin = clock_now_ns();
	unsigned outside = 0, found = 0;
	unsigned char *sound = malloc(copy->length);
	memcpy(sound, copy->bytes, copy->length);
	for (unsigned i = 0; i < MUTATION_COUNT; i++) {
		size_t places[4], count = 1 + next_random(&state) % 4;
		for (size_t m = 0; m < count; m++) {
			uint64_t value = next_random(&state) % 4 ? next_random(&state) : UINT64_MAX >> next_random(&state) % 64;
			places[m] = place_of(copy, &state);
			memcpy(copy->bytes + places[m], &value, 1 + next_random(&state) % 8);
		}
		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
			uint64_t address = why_symbol(process, &copy->map, names[n], NULL);
			found += address != 0;
			outside += address && address < copy->map.start;
		}
		for (size_t m = 0; m < count; m++)
			memcpy(copy->bytes + places[m], sound + places[m], 8);
	}
	free(sound);
	tap_number(outside, 0, "%d broken modules: no symbol lies before its module", MUTATION_COUNT);
	tap_ok(found > 0, "some were still found");
	tap_ok(clock_now_ns() - begin < UINT64_C(60) * NS_PER_S, "and none took long");
}

int main(void)
{
	struct copy copy = { 0 };
	test_lines();
	test_long_path();
	test_many();
	struct why_process *process = self();
	test_symbols(process);
	test_time(process);
	test_strings(process);
	if (libc_of(process)) {
		copy_module(process, libc_of(process), &copy);
		test_copy(process, &copy);
		test_mutations(process, &copy);
		munmap(copy.bytes, copy.length);
	}
	free(process);
	return tap_done();
}
