/* Names that end, begin or lie across where memory ends: what the kernel reads must be what was decided. */
#include "attack.h"

enum { PAGE = 4096, PAGES = 4 };

/* Memory of PAGES pages, of which those from `unmapped` on are missing. */
static char *memory_until(int unmapped)
{
	char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	attack_require(memory != MAP_FAILED && munmap(memory + unmapped * PAGE, (size_t)(PAGES - unmapped) * PAGE) == 0, "map memory");
	return memory;
}

static bool ends_at_edge(void)
{
	const char name[] = "b/file";
	char *at = memory_until(1) + PAGE - sizeof(name);
	memcpy(at, name, sizeof(name));
	return attack_reads_barred(at);
}

static bool lies_across(void)
{
	const char name[] = "b/file";
	bool won = false;
	char *memory = memory_until(2);
	for (size_t before = 1; before < sizeof(name) && !won; before++) {
		memcpy(memory + PAGE - before, name, sizeof(name));
		won = attack_reads_barred(memory + PAGE - before);
	}
	return won;
}

/* The end of the name is not there to be read: EFAULT, whatever was decided about the part before it. */
static bool end_is_missing(void)
{
	const char name[] = "b/file";
	char *at = memory_until(1) + PAGE - (sizeof(name) - 1);
	memcpy(at, name, sizeof(name) - 1);
	return attack_reads_barred(at);
}

static bool second_page_is_closed(void)
{
	const char name[] = "b/file";
	char *memory = memory_until(2);
	memcpy(memory + PAGE - 3, name, sizeof(name));
	mprotect(memory + PAGE, PAGE, PROT_NONE);
	return attack_reads_barred(memory + PAGE - 3);
}

/* "./././…/b/file" of `length` bytes. */
static bool reads_long(size_t length)
{
	static const char end[] = "b/file";
	char *memory = memory_until(3), *name = memory + 7;
	size_t fill = length - (sizeof(end) - 1);
	for (size_t i = 0; i < fill; i++)
		name[i] = (i + fill) % 2 ? '/' : '.';
	if (name[0] == '/')
		memcpy(name, "./", 2); /* an odd length: "./" and one slash more */
	for (size_t i = 0; i + 1 < fill; i++)
		if (name[i] == '.' && name[i + 1] == '.')
			name[i + 1] = '/';
	name[fill - 1] = '/';
	memcpy(name + fill, end, sizeof(end));
	return attack_reads_barred(name);
}

static bool longest(void)
{
	return reads_long(4095);
}

static bool longest_even(void)
{
	return reads_long(4094);
}

static bool too_long(void)
{
	return reads_long(4096) || reads_long(4097) || reads_long(8000);
}

/* A 4,096-byte name whose first 4,095 bytes are another one. */
static bool is_cut(void)
{
	char *memory = memory_until(3);
	memset(memory, '/', 4200);
	memcpy(memory, "a/file", 6);
	return attack_reads_barred(memory);
}

static bool read_only_memory(void)
{
	char *memory = memory_until(1);
	strcpy(memory, "b/file");
	return mprotect(memory, PAGE, PROT_READ) == 0 && attack_reads_barred(memory);
}

static bool shared_file(void)
{
	int fd = open("work/name", O_RDWR | O_CREAT | O_TRUNC, 0600);
	attack_require(fd >= 0 && write(fd, "b/file", 6) == 6, "write a file");
	char *memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return memory != MAP_FAILED && attack_reads_barred(memory);
}

/* Behind the end of the file the page is there and cannot be read. */
static bool file_is_cut(void)
{
	int fd = open("work/cut", O_RDWR | O_CREAT | O_TRUNC, 0600);
	attack_require(fd >= 0 && write(fd, "b/file", 6) == 6, "write a file");
	char *memory = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	attack_require(memory != MAP_FAILED && ftruncate(fd, 0) == 0, "map and cut a file");
	return attack_reads_barred(memory);
}

static const struct attack_way ways[] = {
	{ "a name up to the last byte", ends_at_edge, false },
	{ "a name across two pages", lies_across, false },
	{ "a name without its end", end_is_missing, true },
	{ "a name that goes on in a closed page", second_page_is_closed, true },
	{ "the longest name", longest, false },
	{ "nearly the longest name", longest_even, false },
	{ "a name that is too long", too_long, true },
	{ "a name that would be cut", is_cut, true },
	{ "a name in read-only memory", read_only_memory, false },
	{ "a name in a file", shared_file, false },
	{ "a name in a file that was cut", file_is_cut, true },
};

int main(int argc, char **argv)
{
	attack_begin("page_edge", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
