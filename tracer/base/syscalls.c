#include "base/syscalls.h"

#include <string.h>

#define ARG(index)   (1 + (index))
#define NO_ARGUMENTS .dirfd = 0

static const struct syscall_row rows[] = {
#define SYSCALL(number_, name_, disposition_, handler_, ...) \
	{ .number = (number_), .name = #name_, .disposition = CALL_##disposition_, .handler = HANDLER_##handler_, .roles = { __VA_ARGS__ } },
#include "base/syscalls.def"
#undef SYSCALL
};

enum row_index {
#define SYSCALL(number_, name_, ...) ROW_##name_,
#include "base/syscalls.def"
#undef SYSCALL
	ROW_COUNT
};

/* Row index + 1 by call number: a look-up in the hot path is one load. */
static const short row_by_number[] = {
#define SYSCALL(number_, name_, ...) [number_] = 1 + (short)ROW_##name_,
#include "base/syscalls.def"
#undef SYSCALL
};

const struct syscall_row *syscall_by_number(long number)
{
	const long limit = sizeof(row_by_number) / sizeof(row_by_number[0]);
	if (number < 0 || number >= limit || row_by_number[number] == 0)
		return NULL;
	return &rows[row_by_number[number] - 1];
}

const struct syscall_row *syscall_by_name(const char *name)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const struct syscall_row *syscall_rows(size_t *count)
{
	*count = ROW_COUNT;
	return rows;
}
