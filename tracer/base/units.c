#include "base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit duration_units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60 * 1000 } };
static const struct unit size_units[] = { { "", 1 }, { "K", 1 << 10 }, { "M", 1 << 20 }, { "G", 1 << 30 } };
static const struct unit count_units[] = { { "", 1 } };

static const char not_zero[] = "0 is no limit; write \"none\" to lift it";
static const char out_of_range[] = "the number is out of range";

static const char *parse(const char *text, const struct unit *units, size_t count, const char *wrong, uint64_t *result)
{
	if (strcmp(text, "none") == 0) {
		*result = UNITS_NONE;
		return NULL;
	}
	if (*text < '0' || *text > '9')
		return wrong;

	const uint64_t most = INT64_MAX / 1024;
	uint64_t number = 0;
	for (; *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > most)
			return out_of_range;
	}
	for (size_t i = 0; i < count; i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (number == 0)
			return not_zero;
		if (number > most / units[i].factor)
			return out_of_range;
		*result = number * units[i].factor;
		return NULL;
	}
	return wrong;
}

const char *units_parse_duration_ms(const char *text, uint64_t *duration_ms)
{
	return parse(text, duration_units, sizeof(duration_units) / sizeof(*duration_units),
		     "not a duration; write it like 500ms, 3s, 2m or none", duration_ms);
}

const char *units_parse_size_bytes(const char *text, uint64_t *size_bytes)
{
	return parse(text, size_units, sizeof(size_units) / sizeof(*size_units),
		     "not a size; write it like 2000, 64K, 512M, 2G or none", size_bytes);
}

const char *units_parse_count(const char *text, uint64_t *count)
{
	return parse(text, count_units, 1, "not a count; write it like 64 or none", count);
}

static void format(char *target, const struct unit *units, size_t count, uint64_t value)
{
	if (value == UNITS_NONE) {
		strcpy(target, "none");
		return;
	}
	const struct unit *best = &units[0];
	for (size_t i = 1; i < count; i++)
		if (value != 0 && value % units[i].factor == 0)
			best = &units[i];
	snprintf(target, UNITS_TEXT, "%" PRIu64 "%s", value / best->factor, best->name);
}

void units_format_duration(char *target, uint64_t duration_ms)
{
	format(target, duration_units, sizeof(duration_units) / sizeof(*duration_units), duration_ms);
}

void units_format_size(char *target, uint64_t size_bytes)
{
	format(target, size_units, sizeof(size_units) / sizeof(*size_units), size_bytes);
}

void units_format_count(char *target, uint64_t count)
{
	format(target, count_units, 1, count);
}
