/* Which CPython is it, and where does it keep what?
 *
 * Everything comes from the target's memory, and is its own word. So the offsets that 3.13 and later tell are bounded here,
 * and whoever follows them checks types and back pointers: a wrong offset ends in a reason, not in a wrong line. */
#include "why/python_layout.h"

#include "why/python_offsets.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIRST_TELLING_MINOR = 13,     /* _Py_DebugOffsets */
	VERSION_EXPORTED_MINOR = 11,  /* Py_Version */
	DEBUG_WORDS = 96,             /* more than any known _Py_DebugOffsets needs */
	STATE_BYTES_MAX = 8 << 20,    /* _PyRuntimeState and PyInterpreterState are large: 0.4 MiB in 3.12 */
	OBJECT_BYTES_MAX = 4096,
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

/* A shared libpython first: the program that uses it may carry any name. */
static const struct why_map *find_module(const struct why_process *process, uint64_t *address)
{
	const char *prefixes[] = {"libpython", "python", base_name(process->executable)};
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const struct why_map *module;
		size_t index = 0;
		while (prefixes[i][0] && (module = why_module(process, prefixes[i], &index))) {
			*address = why_symbol(process, module, "_PyRuntime", NULL);
			if (*address)
				return module;
		}
	}
	return NULL;
}

bool python_layout_probe(const struct why_process *process)
{
	uint64_t address;
	return find_module(process, &address) != NULL;
}

/* "3.9" in `libpython3.9.so.1.0`, "39" in `_socket.cpython-39-x86_64-linux-gnu.so`: 9. 0 where there is neither. */
static uint32_t minor_of_name(const char *name)
{
	const char *tag = strstr(name, ".cpython-3");
	const char *dotted = strstr(name, "python3.");
	const char *digits = tag ? tag + strlen(".cpython-3") : dotted ? dotted + strlen("python3.") : "";
	unsigned long minor = strtoul(digits, NULL, 10);
	return minor < 100 ? (uint32_t)minor : 0;
}

/* Before 3.11 no symbol tells the version; the module's name does, or that of an extension module that was loaded. */
static uint32_t minor_of_files(const struct why_process *process, const struct why_map *module)
{
	uint32_t minor = minor_of_name(base_name(module->path));
	for (size_t i = 0; !minor && i < process->map_count; i++) {
		const char *name = base_name(process->maps[i].path);
		if (strstr(name, ".cpython-3"))
			minor = minor_of_name(name);
	}
	return minor;
}

/* 0 where it cannot be told. */
static uint32_t find_minor(const struct why_process *process, const struct why_map *module)
{
	uint64_t symbol = why_symbol(process, module, "Py_Version", NULL);
	uint32_t version;
	if (!symbol) {
		uint32_t minor = minor_of_files(process, module);
		return minor < VERSION_EXPORTED_MINOR ? minor : 0;
	}
	return why_read_u32(process, symbol, &version) && version >> 24 == 3 ? version >> 16 & 0xff : 0;
}

static const struct python_layout *row_of(const struct python_layout *rows, size_t count, uint32_t minor)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].minor == minor)
			return &rows[i];
	return NULL;
}

/* The fields before this one lie in the large structures. */
enum { FIELD_THREAD_NEXT = offsetof(struct python_layout, thread_next) / sizeof(uint32_t) };

/* Replaces the word numbers in `layout` by what the words hold. Every field is a uint32_t, and `minor` the first. */
static bool fill_told(struct python_layout *layout, const uint64_t *words)
{
	uint32_t fields[sizeof(*layout) / sizeof(uint32_t)];
	memcpy(fields, layout, sizeof(fields));
	for (size_t i = 1; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t told = fields[i] && fields[i] < DEBUG_WORDS ? words[fields[i]] : 0;
		if (told > (i < FIELD_THREAD_NEXT ? STATE_BYTES_MAX : OBJECT_BYTES_MAX))
			return false;
		fields[i] = (uint32_t)told;
	}
	memcpy(layout, fields, sizeof(fields));
	return true;
}

/* _Py_DebugOffsets stands at the start of _PyRuntime: a cookie, the version, whether there is no GIL, then the offsets. */
static const char *read_told(struct python *python, uint32_t minor)
{
	const struct python_layout *row = row_of(python_words, sizeof(python_words) / sizeof(python_words[0]), minor);
	uint64_t words[DEBUG_WORDS];
	if (!row)
		return "this version of CPython is not known";
	if (!why_read(python->process, python->address, words, sizeof(words)))
		return "CPython's offsets cannot be read";
	if (memcmp(words, "xdebugpy", 8) != 0 || words[1] >> 24 != 3 || (words[1] >> 16 & 0xff) != minor)
		return "CPython's offsets do not look like what they should be";
	if (words[2])
		return "frames of a CPython without GIL are not read";
	python->layout = *row;
	return fill_told(&python->layout, words) ? NULL : "CPython's offsets are out of bounds";
}

static const char *find_layout(struct python *python, uint32_t minor)
{
	if (minor >= FIRST_TELLING_MINOR)
		return read_told(python, minor);
	const struct python_layout *row = row_of(python_offsets, sizeof(python_offsets) / sizeof(python_offsets[0]), minor);
	if (!row)
		return minor ? "this version of CPython is not known" : "the version of CPython cannot be told";
	python->layout = *row;
	return NULL;
}

const char *python_layout_find(const struct why_process *process, struct python *python)
{
	python->process = process;
	const struct why_map *module = find_module(process, &python->address);
	if (!module)
		return "CPython's _PyRuntime is not exported";
	const char *reason = find_layout(python, find_minor(process, module));
	if (reason)
		return reason;
	python->code_type = why_symbol(process, module, "PyCode_Type", NULL);
	python->text_type = why_symbol(process, module, "PyUnicode_Type", NULL);
	python->bytes_type = why_symbol(process, module, "PyBytes_Type", NULL);
	if (!python->code_type || !python->text_type || !python->bytes_type)
		return "CPython's types are not exported";
	return NULL;
}
