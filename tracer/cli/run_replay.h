/* --replay: running again what a verdict tells of.
 *
 * Command, directories, policy and options come from its envelope. What the run read and executed is compared with the hashes
 * that stand there before anything runs: a difference is told, and refused unless --allow-changes is given. A policy that
 * differs is always refused, since another one would decide. */
#ifndef CLI_RUN_REPLAY_H
#define CLI_RUN_REPLAY_H

#include "cli/run_options.h"
#include "cli/run_source.h"
#include "verdict/verdict.h"

#include <cjson/cJSON.h>

struct replay {
	cJSON *verdict;          /* owned; the options borrow from it */
	const cJSON *envelope, *settings;
	char **command;          /* owned array */
	char *policy, *stdin_file, *script; /* owned */
	unsigned differences;    /* told so far */
	bool policy_differs;
};

/* Reads the verdict and fills what the command line left open. 0, or -errno with an error ready for "bailiff: TEXT"; either way
 * replay_free releases it. */
int replay_read(struct replay *replay, struct run_options *options, struct error *error);
void replay_free(struct replay *replay);

/* Where relative paths of the recorded command line started, and ${HOME} then; NULL where it had no value. */
const char *replay_start(const struct replay *replay);
const char *replay_home(const struct replay *replay);

/* What this run is made of, to be held against the verdict. */
struct replay_now {
	const struct run_options *options;
	const struct policy *policy;
	const struct copies *copies;
	const struct run_source *source;
	char *const *environment;
	const char *kernel;
};

/* Says each difference on standard error, one line each. 0, or -errno where the run must not begin. */
int replay_check(struct replay *replay, const struct replay_now *now, struct error *error);

/* For the new verdict; borrows from the recorded one. */
struct verdict_replay replay_describe(const struct replay *replay);

/* When the new verdict is there: in one line, whether it ended alike. */
void replay_tell_result(const struct replay *replay, const cJSON *verdict);

#endif
