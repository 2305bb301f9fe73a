/* Checks that a text is JSON (RFC 8259, for a policy plus comments in the two C forms) and remembers where each value stands.
 *
 * Stricter than most parsers on purpose: valid UTF-8 throughout, no zero byte (but see JSON_PLAIN), no lone surrogate, no
 * number that a double cannot hold, at most JSON_MAX_DEPTH levels, nothing behind the value. What passes can be handed to any
 * JSON library, and a position in an error is exact. */
#ifndef POLICY_JSON_SCAN_H
#define POLICY_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

enum { JSON_MAX_DEPTH = 64, JSON_MAX_BYTES = 1 << 20 };

struct json_fault {
	unsigned line, column; /* from 1; columns in bytes */
	char what[224];
};

/* Values in document order: the first element of a list or object, where there is one, follows it at once. */
struct json_place {
	unsigned line, column;
	unsigned key_line, key_column; /* of its key; 0 in lists and at the top */
	size_t next;                   /* index of the next value of the same list or object, 0 for none */
	bool zero;                     /* a string that holds \u0000: a C string ends there; JSON_PLAIN only */
};

struct json_scan {
	char *blanked; /* the text with its comments blanked out, NUL-terminated */
	struct json_place *places;
	size_t count, capacity;
};

enum json_form {
	JSON_POLICY, /* comments are blanked out; at most JSON_MAX_BYTES */
	JSON_PLAIN,  /* no comments; the caller has bounded its size, and looks at `zero` before it uses a string */
};

/* 0, or -EINVAL with `fault` filled and nothing to free. */
int json_scan(const char *text, size_t length, enum json_form form, struct json_scan *scan, struct json_fault *fault);
void json_scan_free(struct json_scan *scan);

#endif
