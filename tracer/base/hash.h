/* SHA-256 by nettle: as fast as libcrypto and an order of magnitude cheaper to load (0.13 ms against 1.6 ms measured). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { HASH_TEXT = 65 }; /* 64 lower-case hexadecimal digits and a NUL */

void hash_bytes(const void *bytes, size_t length, char text[static HASH_TEXT]);

/* Reads the descriptor from offset 0 with pread (its own offset does not move) to its end; `size` may be NULL. */
int hash_fd(int fd, char text[static HASH_TEXT], uint64_t *size, struct error *error);

#endif
