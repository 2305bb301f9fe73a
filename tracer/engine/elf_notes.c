#include "engine/elf_notes.h"

#include "base/text.h"
#include "verdict/json.h"

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PROGRAM_HEADER_MAX = 128,
	SEGMENT_MOST = 4096, /* notes are short: what is longer is not looked at behind that */
};

static void take_build_id(const unsigned char *bytes, size_t length, struct elf_notes *notes)
{
	if (2 * length >= sizeof(notes->build_id))
		return;
	for (size_t i = 0; i < length; i++)
		snprintf(notes->build_id + 2 * i, 3, "%02x", bytes[i]);
}

/* {"type": "deb", "name": "coreutils", "version": "9.1-1"}, a NUL behind it: https://systemd.io/ELF_PACKAGE_METADATA/ */
static void take_package(const char *bytes, size_t length, struct elf_notes *notes)
{
	cJSON *package = cJSON_ParseWithLength(bytes, strnlen(bytes, length));
	const char *version = json_string(package, "version");
	if (version && strlen(version) < sizeof(notes->version) && utf8_valid(version, strlen(version)))
		text_copy(notes->version, sizeof(notes->version), version);
	cJSON_Delete(package);
}

static bool is_named(const unsigned char *name, size_t length, const char *wanted)
{
	return length == strlen(wanted) + 1 && memcmp(name, wanted, length) == 0;
}

static size_t aligned(size_t offset, size_t alignment)
{
	return (offset + alignment - 1) / alignment * alignment;
}

void elf_notes_parse(const unsigned char *bytes, size_t length, size_t alignment, struct elf_notes *notes)
{
	size_t at = 0;
	while (length - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header;
		memcpy(&header, bytes + at, sizeof(header));
		size_t name = at + sizeof(header), text = aligned(name + header.n_namesz, alignment);
		size_t next = aligned(text + header.n_descsz, alignment);
		if (text > length || header.n_descsz > length - text)
			return;
		if (header.n_type == NT_GNU_BUILD_ID && is_named(bytes + name, header.n_namesz, "GNU"))
			take_build_id(bytes + text, header.n_descsz, notes);
		if (header.n_type == NT_FDO_PACKAGING_METADATA && is_named(bytes + name, header.n_namesz, "FDO"))
			take_package((const char *)bytes + text, header.n_descsz, notes);
		if (next > length)
			return;
		at = next;
	}
}

static void read_segment(int fd, const Elf64_Phdr *row, struct elf_notes *notes)
{
	unsigned char bytes[SEGMENT_MOST];
	size_t length = row->p_filesz < sizeof(bytes) ? row->p_filesz : sizeof(bytes);
	if (row->p_offset > INT64_MAX)
		return;
	ssize_t count = pread(fd, bytes, length, (off_t)row->p_offset);
	if (count > 0)
		elf_notes_parse(bytes, (size_t)count, row->p_align == 8 ? 8 : 4, notes);
}

void elf_notes_read(int fd, struct elf_notes *notes)
{
	Elf64_Ehdr header;
	Elf64_Phdr rows[PROGRAM_HEADER_MAX];
	*notes = (struct elf_notes){ 0 };
	if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    header.e_phentsize != sizeof(rows[0]) || header.e_phnum > PROGRAM_HEADER_MAX || header.e_phoff > INT64_MAX)
		return;
	size_t bytes = header.e_phnum * sizeof(rows[0]);
	if (pread(fd, rows, bytes, (off_t)header.e_phoff) != (ssize_t)bytes)
		return;
	for (unsigned i = 0; i < header.e_phnum; i++)
		if (rows[i].p_type == PT_NOTE)
			read_segment(fd, &rows[i], notes);
}
