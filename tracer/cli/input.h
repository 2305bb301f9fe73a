/* A verdict as a command reads it: from a file or from standard input. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "base/error.h"

#include <cjson/cJSON.h>

/* `path` "-" is standard input. At most 64 MiB are read. The error's text is ready for "bailiff: TEXT" and starts with
 * FILE:LINE:COLUMN where the fault is in the text. Owned by the caller. */
int input_read_verdict(const char *path, cJSON **verdict, struct error *error);

#endif
