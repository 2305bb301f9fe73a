/* The text of the program that a run is about: a script, the argument of -c or -e, or standard input. */
#ifndef CLI_RUN_SOURCE_H
#define CLI_RUN_SOURCE_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

struct run_source {
	bool found;
	char *path;             /* NULL where it is no file that has a name; owned */
	int argument;           /* index in the command, 0 where it stands in no argument */
	uint64_t bytes;
	char sha256[HASH_TEXT]; /* "" where it could not be had whole */
	const char *not_hashed; /* why */
	char *text;             /* owned; NULL where it could not be had whole */
};

struct run_source_query {
	char *const *command;
	const char *cwd;        /* of the run, absolute */
	const char *script;     /* what ${SCRIPT} means, NULL for nothing */
	bool script_given;      /* by --script */
	const char *stdin_file; /* --stdin */
	bool inherits_input;    /* standard input of the run is bailiff's own */
};

/* Before the run: nothing of standard input is taken away. */
void run_source_find(const struct run_source_query *query, struct run_source *source);
void run_source_free(struct run_source *source);

/* Options of interpreters behind which the program text comes from elsewhere: what follows is no script. */
bool run_source_is_elsewhere(const char *argument);

#endif
