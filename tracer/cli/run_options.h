/* The options of `run`, checked before anything is started. */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include "base/error.h"
#include "cli/copies.h"
#include "cli/overrides.h"
#include "engine/landlock.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

struct run_options {
	const char *policy;     /* -p FILE|NAME; NULL: the policy `default` */
	const char *verdict;    /* -o FILE|fd:N|-, for verdict_output_open; NULL: standard error */
	bool json;
	bool capture;
	const char *events;     /* --events FILE|fd:N; NULL: none. An fd:N is open for writing */
	struct overrides overrides; /* for policy_load, in the order given */
	const char *cwd;        /* --cwd DIR as given, an existing directory; NULL: bailiff's own */
	const char *stdin_file;
	const char *script;     /* --script FILE as given, a regular file; NULL: find it in the command */
	int *keep_fds;          /* --fd: open, above 2, no socket, each once; owned */
	size_t keep_fd_count;
	const char *user;       /* --user NAME|UID as given; NULL: whoever started bailiff */
	enum landlock_mode landlock;
	bool workspace;         /* the private folder is also the cwd of the run; --put and --get imply it */
	bool keep_workspace;
	const char *replay;     /* --replay VERDICT: what is run again; NULL: nothing, and there is a command */
	bool allow_changes;     /* with it: also where a file differs */
	bool show_source;       /* the text of the program is part of the verdict */
	struct copy_wishes put, get;
	char *const *command;   /* NULL-terminated, at least one word; borrowed from argv. NULL with `replay` */
};

/* argc and argv as main has them. 0, or -errno with an error that is ready for "bailiff: TEXT". */
int run_options_parse(int argc, char **argv, struct run_options *options, struct error *error);
void run_options_free(struct run_options *options);

#endif
