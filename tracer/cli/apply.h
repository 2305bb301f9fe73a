/* A suggestion of a verdict, written into a policy. */
#ifndef CLI_APPLY_H
#define CLI_APPLY_H

#include "base/error.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdint.h>

/* Appends the text of `policy` (a file or a shipped name) with suggestion `number`, counted from 1, of the verdict's first
 * failure to `out`: comments and layout stay, and what comes out loads as a policy. Nothing is written anywhere. */
int apply_suggestion(const cJSON *verdict, uint64_t number, const char *policy, struct text *out, struct error *error);

#endif
