#include "cli/commands.h"

#include "base/outcome.h"
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int command_failed(const struct error *error)
{
	struct text line = { 0 };
	text_append(&line, "bailiff: ");
	text_append_visible(&line, error->message, strlen(error->message));
	text_append(&line, "\n");
	fwrite(line.bytes, 1, line.length, stderr);
	text_free(&line);
	return EXIT_BAILIFF_FAILED;
}

int command_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	struct error error;
	error_system(&error, errno ? errno : EIO, "standard output");
	return command_failed(&error);
}
