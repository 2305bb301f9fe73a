#include "policy/limits.h"

#include <errno.h>

const struct limit_row limit_rows[LIMIT_COUNT] = {
	[LIMIT_WALL] = { "wall", "wall", UNIT_DURATION_MS, "time from start to end" },
	[LIMIT_CPU] = { "cpu", "cpu", UNIT_DURATION_MS, "CPU time of the whole tree, user and system" },
	[LIMIT_MEMORY] = { "memory", "memory", UNIT_SIZE_BYTES, "memory of the whole tree" },
	[LIMIT_OUTPUT] = { "output", "output", UNIT_SIZE_BYTES,
			   "bytes written to standard output and standard error together" },
	[LIMIT_FILE_SIZE] = { "file_size", "file-size", UNIT_SIZE_BYTES, "size of each file written" },
	[LIMIT_WORKSPACE] = { "workspace", NULL, UNIT_SIZE_BYTES, "bytes that the private folder takes on its disk" },
	[LIMIT_ARTIFACT] = { "artifact", NULL, UNIT_SIZE_BYTES, "size of each file copied out" },
	[LIMIT_PROCESSES] = { "processes", "processes", UNIT_COUNT, "processes at one time" },
	[LIMIT_THREADS] = { "threads", "threads", UNIT_COUNT, "threads at one time, over all processes" },
	[LIMIT_OPEN_FILES] = { "open_files", "open-files", UNIT_COUNT, "open descriptors of each process" },
};

int limit_parse(enum limit_id id, const char *text, uint64_t *value, struct error *error)
{
	const char *(*const parse[])(const char *, uint64_t *) = {
		[UNIT_DURATION_MS] = units_parse_duration_ms,
		[UNIT_SIZE_BYTES] = units_parse_size_bytes,
		[UNIT_COUNT] = units_parse_count,
	};
	const char *wrong = parse[limit_rows[id].unit](text, value);
	if (wrong)
		return error_set(error, EINVAL, "limits.%s: \"%.40s\": %s", limit_rows[id].key, text, wrong);
	return 0;
}

void limit_format(enum limit_id id, uint64_t value, char target[static UNITS_TEXT])
{
	void (*const format[])(char *, uint64_t) = {
		[UNIT_DURATION_MS] = units_format_duration,
		[UNIT_SIZE_BYTES] = units_format_size,
		[UNIT_COUNT] = units_format_count,
	};
	format[limit_rows[id].unit](target, value);
}
