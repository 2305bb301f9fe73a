#include "cli/options.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_OPTION = 2, HELP_COLUMN = 30, SHOWN_BYTES = 200 };

static const struct option_row help_row = { .name = "help", .letter = 'h', .help = "print this text" };

/* One step along argv. */
struct walk {
	const struct command *command;
	int argc;
	char **argv;
	int at;
	bool only_operands; /* behind `--`, or behind the operand that ends the options */
};

enum step { STEP_END, STEP_OPTION, STEP_OPERAND, STEP_ERROR };

/* What was typed, on one line and safe for a terminal. */
static void append_typed(struct text *text, const char *typed, size_t length)
{
	text_append(text, "\"");
	text_append_visible(text, typed, length < SHOWN_BYTES ? length : SHOWN_BYTES);
	text_append(text, "\"");
}

/* The table's last row has no name: "help", which every command has, takes its place. */
static const char *row_name(const void *rows, size_t index)
{
	const char *name = ((const struct option_row *)rows)[index].name;
	return name ? name : help_row.name;
}

static size_t row_count(const struct option_row *rows)
{
	size_t count = 0;
	while (rows[count].name)
		count++;
	return count;
}

const char *options_nearest(const char *word, size_t count, const char *(*candidate)(const void *context, size_t index),
			    const void *context)
{
	const char *nearest = NULL;
	unsigned length = (unsigned)strlen(word);
	unsigned limit = length < 4 ? 2 : length < 6 ? 3 : 4; /* as far away as that is another word */
	for (size_t i = 0; i < count; i++) {
		unsigned distance = text_distance(word, candidate(context, i));
		if (distance < limit && distance < length) {
			nearest = candidate(context, i);
			limit = distance;
		}
	}
	return nearest;
}

static int unknown_option(const struct walk *walk, const char *word, size_t length, struct error *error)
{
	struct text text = { 0 };
	append_typed(&text, word, length);
	char *name = text_duplicate_bytes(word + 2, length > 2 ? length - 2 : 0);
	const struct option_row *rows = walk->command->options;
	const char *nearest = word[1] == '-' ? options_nearest(name, row_count(rows) + 1, row_name, rows) : NULL;
	if (nearest)
		error_set(error, EINVAL, "unknown option %s; did you mean \"--%s\"?", text_string(&text), nearest);
	else
		error_set(error, EINVAL, "unknown option %s; see \"bailiff help %s\"", text_string(&text), walk->command->name);
	free(name);
	text_free(&text);
	return -EINVAL;
}

static const struct option_row *find_long(const struct option_row *rows, const char *name, size_t length)
{
	if (length == strlen(help_row.name) && memcmp(name, help_row.name, length) == 0)
		return &help_row;
	for (; rows->name; rows++)
		if (strlen(rows->name) == length && memcmp(rows->name, name, length) == 0)
			return rows;
	return NULL;
}

static const struct option_row *find_letter(const struct option_row *rows, char letter)
{
	if (letter == help_row.letter)
		return &help_row;
	for (; rows->name; rows++)
		if (rows->letter && rows->letter == letter)
			return rows;
	return NULL;
}

/* The value of an option: glued to it, or the next word. */
static int take_value(struct walk *walk, const char *glued, struct option_use *use, struct error *error)
{
	const struct option_row *row = use->row;
	if (!row->argument)
		return glued ? error_set(error, EINVAL, "--%s takes no value", row->name) : 0;
	if (!glued && walk->at >= walk->argc)
		return error_set(error, EINVAL, "--%s needs a value: --%s %s", row->name, row->name, row->argument);
	if (!glued)
		use->argv_index = (unsigned)walk->at;
	use->value = glued ? glued : walk->argv[walk->at++];
	if (*use->value == '\0')
		return error_set(error, EINVAL, "--%s: the value is empty", row->name);
	return 0;
}

static int read_option(struct walk *walk, const char *word, struct option_use *use, struct error *error)
{
	const struct option_row *rows = walk->command->options;
	bool is_long = word[1] == '-';
	size_t name_length = is_long ? strcspn(word, "=") : strlen(word);
	const char *glued = is_long && word[name_length] ? word + name_length + 1 : NULL;

	use->row = is_long ? find_long(rows, word + 2, name_length - 2) : find_letter(rows, word[1]);
	if (!use->row)
		return unknown_option(walk, word, name_length, error);
	if (!is_long && word[2])
		glued = word + 2;
	/* A letter that takes no value and has more behind it is a cluster, which no command has. */
	if (!is_long && glued && !use->row->argument)
		return unknown_option(walk, word, name_length, error);
	if (!use->row->help)
		return error_set(error, ENOSYS, "--%s is not available in this version", use->row->name);
	return take_value(walk, glued, use, error);
}

/* `use` is filled for an option; for an operand `use->value` is the word. */
static enum step next_step(struct walk *walk, struct option_use *use, struct error *error)
{
	if (walk->at >= walk->argc)
		return STEP_END;

	const char *word = walk->argv[walk->at];
	*use = (struct option_use){ .value = word, .argv_index = (unsigned)walk->at };
	if (!walk->only_operands && strcmp(word, "--") == 0) {
		walk->only_operands = true;
		walk->at++;
		return next_step(walk, use, error);
	}
	walk->at++;
	if (walk->only_operands || word[0] != '-' || word[1] == '\0') {
		walk->only_operands = walk->only_operands || walk->command->stop_at_operand;
		return STEP_OPERAND;
	}
	use->value = NULL;
	return read_option(walk, word, use, error) == 0 ? STEP_OPTION : STEP_ERROR;
}

static void add_operand(struct operands *operands, const struct option_use *use)
{
	if (operands->count == 0)
		operands->first = use->argv_index;
	operands->items = memory_resized(operands->items, operands->count + 2, sizeof(*operands->items));
	operands->items[operands->count++] = (char *)use->value;
	operands->items[operands->count] = NULL;
}

int options_parse(const struct command *command, int argc, char **argv, void *settings, struct operands *operands,
		  struct error *error)
{
	struct walk walk = { .command = command, .argc = argc, .argv = argv, .at = FIRST_OPTION };
	struct option_use use;
	enum step step;
	*operands = (struct operands){ .items = memory_zeroed(1, sizeof(char *)), .first = (size_t)argc };

	int result = 0;
	while (result == 0 && (step = next_step(&walk, &use, error)) != STEP_END) {
		if (step == STEP_ERROR)
			result = -EINVAL;
		else if (step == STEP_OPERAND)
			add_operand(operands, &use);
		else if (use.row->apply)
			result = use.row->apply(settings, &use, error);
	}
	if (result < 0)
		operands_free(operands);
	return result;
}

int options_refuse_value(const struct option_use *use, const char *wrong, struct error *error)
{
	struct text text = { 0 };
	append_typed(&text, use->value, strlen(use->value));
	error_set(error, EINVAL, "--%s: %s: %s", use->row->name, text_string(&text), wrong);
	text_free(&text);
	return -EINVAL;
}

void operands_free(struct operands *operands)
{
	free(operands->items);
	*operands = (struct operands){ 0 };
}

bool options_ask_help(const struct command *command, int argc, char **argv)
{
	struct walk walk = { .command = command, .argc = argc, .argv = argv, .at = FIRST_OPTION };
	struct option_use use;
	enum step step;
	while ((step = next_step(&walk, &use, NULL)) == STEP_OPTION || step == STEP_OPERAND)
		if (step == STEP_OPTION && use.row == &help_row)
			return true;
	return false;
}

static void print_row(const struct option_row *row)
{
	if (!row->help)
		return;
	printf("  %c%c%s --%s", row->letter ? '-' : ' ', row->letter ? row->letter : ' ', row->letter ? "," : " ", row->name);
	int width = 8 + (int)strlen(row->name);
	if (row->argument)
		width += printf(" %s", row->argument);
	if (width >= HELP_COLUMN - 1)
		printf("\n%*s%s\n", HELP_COLUMN, "", row->help);
	else
		printf("%*s%s\n", HELP_COLUMN - width, "", row->help);
}

void options_print_help(const struct command *command)
{
	for (const char *const *line = command->synopsis; *line; line++)
		printf("%s bailiff %s\n", line == command->synopsis ? "usage:" : "      ", *line);
	printf("\n%s\n\n", command->summary);
	for (const struct option_row *row = command->options; row->name; row++)
		print_row(row);
	print_row(&help_row);
	if (command->details)
		printf("\n%s", command->details);
}
