/* A JSON Patch "add" on the text of a policy: comments, order and layout stay as they are, and what is added takes the
 * indentation of its neighbours.
 *
 * Nothing is lost by adding: where the key is there already, the entries of a list and the members of an object join those
 * that stand there, and only a single value gives way to the new one. */
#ifndef POLICY_PATCH_H
#define POLICY_PATCH_H

#include "base/error.h"
#include "base/text.h"

#include <cjson/cJSON.h>

/* `pointer` is RFC 6901; "/list/-" is the end of a list, and what is missing on the way is made. Appends the patched text to
 * `out`. 0, or -EINVAL where the text is no JSON, or the pointer leads through something that holds no values. */
int patch_add(const char *text, const char *pointer, const cJSON *value, struct text *out, struct error *error);

#endif
