/* What is wrong with a policy, as one line that is safe to print. */
#ifndef POLICY_COMPLAIN_H
#define POLICY_COMPLAIN_H

#include "policy/policy.h"

/* "FILE:LINE:COLUMN: what", or "command line, argument N: what" where the position's line is 0. Names taken from a policy
 * may hold control characters: they are shown as \xNN. Returns -EINVAL. */
int complain_at(struct error *error, const struct position *position, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Looks for what a word was meant to be. Fill `word` and offer the candidates. */
struct nearest {
	const char *word;
	const char *best; /* NULL while nothing is near enough to be worth a question */
	unsigned distance;
};
void nearest_offer(struct nearest *nearest, const char *candidate);

/* `; did you mean "read"?` or "" */
enum { NEAREST_TEXT = 120 };
void nearest_format(const struct nearest *nearest, char target[static NEAREST_TEXT]);

#endif
