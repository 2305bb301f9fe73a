/* `explain`: a verdict in plain words. */
#include "cli/caller.h"
#include "cli/commands.h"
#include "cli/input.h"

#include "base/text.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static const struct option_row rows[] = {
	/* Refused by name. */
	{ "apply", 0, "FILE", NULL, NULL, 0 },
	{ "format", 0, "NAME", NULL, NULL, 0 },
	{ 0 },
};

static const char *const synopsis[] = { "explain [VERDICT.json]", NULL };

const struct command explain_command = {
	.name = "explain",
	.synopsis = synopsis,
	.summary = "Tell a verdict (default: standard input) in plain words.",
	.options = rows,
	.run = command_explain,
};

static int explain(const char *path)
{
	struct error error;
	cJSON *verdict;
	if (input_read_verdict(path, &verdict, &error) < 0)
		return command_failed(&error);

	struct text words = { 0 };
	explain_words(verdict, caller_wants_colour(STDOUT_FILENO), &words);
	fwrite(text_string(&words), 1, words.length, stdout);
	text_free(&words);
	cJSON_Delete(verdict);
	return command_finish(0);
}

int command_explain(int argc, char **argv)
{
	struct operands operands;
	struct error error;
	if (options_parse(&explain_command, argc, argv, NULL, &operands, &error) < 0)
		return command_failed(&error);

	int status;
	if (operands.count > 1) {
		error_set(&error, EINVAL, "explain takes one verdict; see \"bailiff help explain\"");
		status = command_failed(&error);
	} else {
		status = explain(operands.count ? operands.items[0] : "-");
	}
	operands_free(&operands);
	return status;
}
