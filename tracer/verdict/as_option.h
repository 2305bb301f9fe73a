/* A suggestion as the option of `run` that does the same for one run, for somebody who wants to go on at once. */
#ifndef VERDICT_AS_OPTION_H
#define VERDICT_AS_OPTION_H

#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Appends "--read /a/b", quoted for a shell where it has to be. False where no option says it, or where it cannot be typed. */
bool as_option(const cJSON *suggestion, struct text *out);

#endif
