/* `explain`: a verdict in plain words. */
#include "cli/apply.h"
#include "cli/caller.h"
#include "cli/commands.h"
#include "cli/input.h"

#include "base/text.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_JSON };

struct settings {
	uint64_t apply; /* 0: not asked for */
	enum format format;
	bool format_given;
};

static int apply_number(void *settings, const struct option_use *use, struct error *error)
{
	const char *digits = use->value;
	uint64_t number = strtoull(digits, NULL, 10);
	if (digits[strspn(digits, "0123456789")] != '\0' || strlen(digits) > 9 || number == 0)
		return options_refuse_value(use, "write the number of a suggestion, counted from 1", error);
	((struct settings *)settings)->apply = number;
	return 0;
}

static int apply_format(void *settings, const struct option_use *use, struct error *error)
{
	static const char *const names[] = { [FORMAT_TEXT] = "text", [FORMAT_MARKDOWN] = "markdown", [FORMAT_JSON] = "json" };
	struct settings *target = settings;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(use->value, names[i]) != 0)
			continue;
		target->format = (enum format)i;
		target->format_given = true;
		return 0;
	}
	return options_refuse_value(use, "write text, markdown or json", error);
}

static const struct option_row rows[] = {
	{ "apply", 0, "N", "write POLICY with suggestion N (from 1) added to standard output; no file is changed", apply_number,
	  0 },
	{ "format", 0, "NAME", "text [default], markdown (for an issue or a chat) or json", apply_format, 0 },
	{ 0 },
};

static const char *const synopsis[] = { "explain [--format text|markdown|json] [VERDICT.json]",
					"explain --apply N POLICY [VERDICT.json]", NULL };

const struct command explain_command = {
	.name = "explain",
	.synopsis = synopsis,
	.summary = "Tell a verdict (default: standard input) in plain words, or write what it suggests into a policy.",
	.options = rows,
	.run = command_explain,
};

static void append_explanation(const cJSON *verdict, enum format format, struct text *out)
{
	if (format == FORMAT_MARKDOWN)
		explain_markdown(verdict, out);
	else if (format == FORMAT_JSON)
		explain_json(verdict, out);
	else
		explain_words(verdict, caller_wants_colour(STDOUT_FILENO), out);
}

/* POLICY comes before the verdict, which may be left out. Nothing is printed where anything failed. */
static int explain(const struct settings *settings, const struct operands *operands, struct text *out,
		   struct error *error)
{
	size_t policies = settings->apply ? 1 : 0;
	cJSON *verdict;
	if (operands->count < policies)
		return error_set(error, EINVAL, "--apply needs a policy; see \"bailiff help explain\"");
	if (operands->count > policies + 1)
		return error_set(error, EINVAL, "explain takes one verdict; see \"bailiff help explain\"");
	if (settings->apply && settings->format_given)
		return error_set(error, EINVAL, "--apply prints a policy: --format does not go with it");
	int result = input_read_verdict(operands->count > policies ? operands->items[policies] : "-", &verdict, error);
	if (result < 0)
		return result;
	if (settings->apply)
		result = apply_suggestion(verdict, settings->apply, operands->items[0], out, error);
	else
		append_explanation(verdict, settings->format, out);
	cJSON_Delete(verdict);
	return result;
}

int command_explain(int argc, char **argv)
{
	struct settings settings = { 0 };
	struct operands operands;
	struct error error;
	struct text out = { 0 };
	if (options_parse(&explain_command, argc, argv, &settings, &operands, &error) < 0)
		return command_failed(&error);

	int result = explain(&settings, &operands, &out, &error);
	if (result == 0)
		fwrite(text_string(&out), 1, out.length, stdout);
	text_free(&out);
	operands_free(&operands);
	return result < 0 ? command_failed(&error) : command_finish(0);
}
