/* The notes of ELF files: what linkers write, and what nobody should. */
#include "engine/elf_notes.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "tap.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Appends one note; sizes may be lies. */
static void add_note(struct text *notes, uint32_t type, const char *name, size_t name_bytes, const void *text, size_t bytes, size_t alignment)
{
	static const char zeros[8];
	const Elf64_Nhdr header = { .n_namesz = (uint32_t)name_bytes, .n_descsz = (uint32_t)bytes, .n_type = type };
	text_append_bytes(notes, &header, sizeof(header));
	text_append_bytes(notes, name, name_bytes);
	text_append_bytes(notes, zeros, (alignment - notes->length % alignment) % alignment);
	text_append_bytes(notes, text, bytes);
	text_append_bytes(notes, zeros, (alignment - notes->length % alignment) % alignment);
}

static struct elf_notes parsed(const struct text *notes, size_t length, size_t alignment)
{
	struct elf_notes found = { .build_id = "" };
	/* A copy that ends where the notes do: valgrind and asan see each byte too many. */
	auto_free unsigned char *bytes = memory_zeroed(length + !length, 1);
	if (length)
		memcpy(bytes, notes->bytes, length);
	elf_notes_parse(bytes, length, alignment, &found);
	return found;
}

static void add_usual(struct text *notes, size_t alignment)
{
	static const char package[] = "{\"type\":\"deb\",\"name\":\"tool\",\"version\":\"1:2.3-4\"}";
	add_note(notes, NT_GNU_ABI_TAG, "GNU", 4, "abcd", 4, alignment);
	add_note(notes, NT_GNU_BUILD_ID, "Other", 6, "\x11\x22", 2, alignment);
	add_note(notes, NT_GNU_BUILD_ID, "GNU", 4, "\x01\xab\xff", 3, alignment);
	add_note(notes, NT_FDO_PACKAGING_METADATA, "FDO", 4, package, sizeof(package), alignment);
}

static void test_usual(void)
{
	for (size_t alignment = 4; alignment <= 8; alignment += 4) {
		struct text notes = { 0 };
		add_usual(&notes, alignment);
		struct elf_notes found = parsed(&notes, notes.length, alignment);
		tap_string(found.build_id, "01abff", "the build id of GNU, aligned to %zu", alignment);
		tap_string(found.version, "1:2.3-4", "the version of its package, aligned to %zu", alignment);
		text_free(&notes);
	}
}

static void test_cut(void)
{
	struct text notes = { 0 };
	add_usual(&notes, 4);
	bool wrong = false;
	for (size_t length = 0; length < notes.length; length++) {
		struct elf_notes found = parsed(&notes, length, 4);
		wrong |= found.build_id[0] && strcmp(found.build_id, "01abff") != 0;
		wrong |= found.version[0] != '\0' && length + 4 < notes.length;
	}
	tap_ok(!wrong, "cut anywhere, nothing that is not whole is believed");
	text_free(&notes);
}

static void test_changed(void)
{
	struct text notes = { 0 };
	add_usual(&notes, 4);
	uint32_t seed = 1;
	size_t longest = 0;
	for (int round = 0; round < 20000; round++) {
		struct text other = { 0 };
		text_append_bytes(&other, notes.bytes, notes.length);
		for (int i = 0; i < 3; i++) {
			seed = seed * 1664525 + 1013904223;
			other.bytes[(seed >> 8) % other.length] = (char)(seed >> 24);
		}
		struct elf_notes found = parsed(&other, other.length, 4);
		size_t length = strlen(found.build_id);
		longest = length > longest ? length : longest;
		text_free(&other);
	}
	tap_ok(longest < sizeof(((struct elf_notes *)NULL)->build_id), "20000 changed notes: each is read within its bounds");
	text_free(&notes);
}

static void test_odd(void)
{
	char large[64] = "", version[96] = "{\"version\":\"";
	struct text notes = { 0 };
	memset(version + strlen(version), 'v', 64);
	strcat(version, "\"}");
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, large, sizeof(large), 4);
	add_note(&notes, NT_FDO_PACKAGING_METADATA, "FDO", 4, version, sizeof(version), 4);
	add_note(&notes, NT_FDO_PACKAGING_METADATA, "FDO", 4, "[1]", 3, 4);
	add_note(&notes, NT_FDO_PACKAGING_METADATA, "FDO", 4, "{\"version\":7}", 13, 4);
	add_note(&notes, NT_FDO_PACKAGING_METADATA, "FDO", 4, "{\"version\":\"\xff\"}", 15, 4);
	add_note(&notes, NT_FDO_PACKAGING_METADATA, "FDO", 4, "", 0, 4);
	struct elf_notes found = parsed(&notes, notes.length, 4);
	tap_number((long long)strlen(found.build_id), 128, "as long a build id as there is room for");
	tap_string(found.version, "", "no version that is too long, a number, or no text");
	add_note(&notes, NT_GNU_BUILD_ID, "GNU", 4, version, 65, 4);
	found = parsed(&notes, notes.length, 4);
	tap_number((long long)strlen(found.build_id), 128, "a longer one is left out");
	text_free(&notes);
}

static void test_files(void)
{
	struct elf_notes found;
	auto_fd int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), none = open("/dev/null", O_RDONLY | O_CLOEXEC);
	elf_notes_read(self, &found);
	tap_ok(strlen(found.build_id) >= 16, "this program has a build id: %s", found.build_id);
	tap_string(found.version, "", "and no package");
	elf_notes_read(none, &found);
	tap_string(found.build_id, "", "an empty file has none");
}

int main(void)
{
	test_usual();
	test_cut();
	test_changed();
	test_odd();
	test_files();
	return tap_done();
}
