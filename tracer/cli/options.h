/* Command lines as tables: one row per option drives the parser, the help text and the refusals by name.
 *
 * Exact long names (`--opt VALUE`, `--opt=VALUE`), one-letter forms (`-p VALUE`, `-pVALUE`), `--` ends the options, `-` alone
 * is an operand. argv is never changed, and all results borrow from it. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* One option as it was given. */
struct option_use {
	const struct option_row *row;
	const char *value;   /* NULL where the row takes none */
	unsigned argv_index; /* of the word that holds the value, or the option itself */
};

/* What an option does to the command's own settings. 0 or -errno. */
typedef int option_apply(void *settings, const struct option_use *use, struct error *error);

struct option_row {
	const char *name;     /* without the dashes; NULL ends a table */
	char letter;          /* 0 for none */
	const char *argument; /* "FILE"; NULL takes none */
	const char *help;     /* NULL: known, and refused by name as not available in this version */
	option_apply *apply;
	int id;               /* for `apply` */
};

/* A sub-command. `run` gets main's argc and argv unchanged: argv[1] is the command's name, its options start at 2. */
struct command {
	const char *name;
	const char *const *synopsis; /* NULL-terminated lines, without "bailiff " */
	const char *summary;
	const char *details; /* further lines for its help, NULL for none */
	const struct option_row *options;
	bool stop_at_operand; /* what follows the first operand belongs to someone else */
	int (*run)(int argc, char **argv);
};

/* The operands that were found; borrowed from argv but for the array. */
struct operands {
	char **items; /* owned, NULL-terminated */
	size_t count;
	size_t first; /* index in argv of the first one, argc where there is none */
};

/* Walks argv from index 2 and calls each row's `apply`. On failure the error's text is one line, ready for
 * "bailiff: TEXT"; the operands are then empty. */
int options_parse(const struct command *command, int argc, char **argv, void *settings, struct operands *operands,
		  struct error *error);
void operands_free(struct operands *operands);

/* "--NAME: "VALUE": WRONG", for `apply`; one line, safe for a terminal. Returns -EINVAL. */
int options_refuse_value(const struct option_use *use, const char *wrong, struct error *error);

/* Is --help or -h among the options, before anything that is wrong? */
bool options_ask_help(const struct command *command, int argc, char **argv);

void options_print_help(const struct command *command);

/* `count` candidates through `candidate(context, index)`; the nearest by spelling, or NULL when none is near. */
const char *options_nearest(const char *word, size_t count, const char *(*candidate)(const void *context, size_t index),
			    const void *context);

#endif
