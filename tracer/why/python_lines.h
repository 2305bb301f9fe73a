/* The line that belongs to an instruction, by the tables that CPython keeps with its code. Pure: bytes in, a number out.
 *
 * `offset` counts bytes of instructions from the start of the code; `first_line` is co_firstlineno. 0 where the table gives
 * no line, or is no such table. Sources: Objects/lnotab_notes.txt (to 3.10), Objects/locations.md (from 3.11). */
#ifndef WHY_PYTHON_LINES_H
#define WHY_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

uint32_t python_line_lnotab(const uint8_t *table, size_t length, uint32_t first_line, uint32_t offset);    /* 3.7 to 3.9 */
uint32_t python_line_pairs(const uint8_t *table, size_t length, uint32_t first_line, uint32_t offset);     /* 3.10 */
uint32_t python_line_locations(const uint8_t *table, size_t length, uint32_t first_line, uint32_t offset); /* 3.11 and later */

#endif
