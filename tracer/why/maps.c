#include "why/maps.h"

#include <string.h>

static bool hexadecimal(const char **at, const char *end, char after, uint64_t *value)
{
	uint64_t result = 0;
	const char *start = *at, *now = start;
	for (; now < end && *now != after; now++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = *now ? strchr(digits, *now) : NULL;
		if (!digit || now - start >= 16)
			return false;
		result = result << 4 | (uint64_t)(digit - digits);
	}
	if (now == start || now == end)
		return false;
	*at = now + 1;
	*value = result;
	return true;
}

static bool decimal(const char **at, const char *end, uint64_t *value)
{
	const char *now = *at;
	*value = 0;
	for (; now < end && *now >= '0' && *now <= '9'; now++)
		if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, (uint64_t)(*now - '0'), value))
			return false;
	bool any = now > *at;
	*at = now;
	return any;
}

static void set_path(struct why_map *map, const char *path, size_t length)
{
	static const char cut[] = "...";
	bool fits = length < sizeof(map->path);
	size_t kept = fits ? length : sizeof(map->path) - sizeof(cut);
	memcpy(map->path, path, kept);
	memcpy(map->path + kept, fits ? "" : cut, fits ? 1 : sizeof(cut));
}

/* "start-end rwxp offset major:minor inode      path" */
bool maps_parse_line(const char *line, size_t length, struct why_map *map, struct maps_file *file)
{
	const char *at = line, *end = line + length;
	uint64_t major, minor, inode;
	if (memchr(line, '\0', length) || !hexadecimal(&at, end, '-', &map->start) || !hexadecimal(&at, end, ' ', &map->end))
		return false;
	if (map->start >= map->end || end - at < 5 || at[4] != ' ')
		return false;
	map->readable = at[0] == 'r';
	map->writable = at[1] == 'w';
	map->executable = at[2] == 'x';
	at += 5;
	if (!hexadecimal(&at, end, ' ', &map->offset) || !hexadecimal(&at, end, ':', &major) || !hexadecimal(&at, end, ' ', &minor) ||
	    !decimal(&at, end, &inode))
		return false;
	while (at < end && *at == ' ')
		at++;
	set_path(map, at, (size_t)(end - at));
	if (file)
		*file = (struct maps_file){ (unsigned)major, (unsigned)minor, inode, at, (size_t)(end - at) };
	return true;
}

size_t maps_parse(const char *text, size_t length, struct why_map *maps, size_t most)
{
	size_t count = 0;
	const char *end = text + length;
	while (count < most && text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		if (!newline)
			break;
		count += maps_parse_line(text, (size_t)(newline - text), &maps[count], NULL);
		text = newline + 1;
	}
	return count;
}

const struct why_map *maps_find(const struct why_map *maps, size_t count, uint64_t address)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (maps[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && maps[low].start <= address ? &maps[low] : NULL;
}
