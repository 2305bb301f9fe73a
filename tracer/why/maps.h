/* The lines of /proc/PID/maps, which are the same for a stopped process and for a copy of the text. */
#ifndef WHY_MAPS_H
#define WHY_MAPS_H

#include "why/process.h"

/* Which file a mapping shows, as the kernel names it. */
struct maps_file {
	unsigned major, minor;
	uint64_t inode;   /* 0: no file */
	const char *path; /* whole, within the line */
	size_t path_bytes;
};

/* Parses one line of `length` bytes, without its newline. False for anything that is no such line. `file` may be NULL. In
 * `map` a path that does not fit is cut and ends in "...". */
bool maps_parse_line(const char *line, size_t length, struct why_map *map, struct maps_file *file);

/* Parses whole lines until `most` are known; a cut last line is left out. Returns how many there are. */
size_t maps_parse(const char *text, size_t length, struct why_map *maps, size_t most);

/* The mapping that holds the address, by a search in maps sorted by address as the kernel lists them; NULL for none. */
const struct why_map *maps_find(const struct why_map *maps, size_t count, uint64_t address);

#endif
