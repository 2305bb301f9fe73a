/* The verdict: one JSON object, schema "bailiff.verdict/1". Pure: everything it says is handed in. */
#ifndef VERDICT_VERDICT_H
#define VERDICT_VERDICT_H

#include "base/text.h"
#include "policy/policy.h"
#include "verdict/record.h"

#include <cjson/cJSON.h>

/* What doctor found and which layers were on. */
struct verdict_host {
	char kernel[256];  /* uname -r */
	char machine[65];
	int landlock_abi;  /* what the kernel offers; 0 for none */
	int landlock_used; /* ABI that was applied to this run; 0 for off */
	unsigned cgroup;   /* controllers that limited this run in a cgroup of its own, RECORD_CGROUP_*; 0 for none */
	bool seccomp, pinning;
	bool root;         /* the target ran as root */
};

struct verdict_captured {
	const void *bytes; /* NULL without --capture */
	size_t length;
};

struct verdict_artifact {
	const char *name, *sha256, *saved_as, *refused; /* NULL where it does not apply */
	uint64_t bytes;
};

/* A file that --put copied in. */
struct verdict_copy {
	const char *name, *source, *sha256;
	uint64_t bytes;
};

/* The text of the program that was run, where it was one. */
struct verdict_source {
	const char *path;       /* NULL: it came in an argument or on standard input */
	int argument;           /* index in the command of the argument that holds it, 0 for none */
	uint64_t bytes;
	const char *sha256;     /* NULL where it could not be had whole */
	const char *not_hashed; /* why */
	const void *text;       /* --show-source; NULL: not to be shown */
	size_t text_length;
};

/* What else shaped the run, besides command, policy and environment. */
struct verdict_settings {
	const char *start;      /* where relative paths of the command line start */
	const char *home;       /* ${HOME}; NULL: it has no value */
	const char *script;     /* --script, as given; NULL: ${SCRIPT} was found in the command */
	const char *stdin_file; /* --stdin, as given; NULL: inherited, or empty */
	bool workspace;         /* its current directory was the private folder */
	bool capture;           /* standard input was empty, without --stdin */
	const int *descriptors; /* --fd */
	size_t descriptor_count;
};

/* The verdict that this run repeats. */
struct verdict_replay {
	const char *status, *rule; /* as it has them; NULL for null */
	unsigned differences;      /* files and names that are not what they were */
};

/* All borrowed. */
struct verdict_context {
	const struct policy *policy; /* NULL when a run never got that far */
	const struct policy_variables *variables;
	char *const *command;        /* NULL-terminated */
	const char *cwd;
	char *const *environment;    /* NAME=VALUE as the target got it */
	const struct verdict_host *host;
	struct verdict_captured captured[2];
	const struct verdict_artifact *artifacts;
	size_t artifact_count;
	const struct verdict_copy *copies;
	size_t copy_count;
	const struct verdict_source *source;     /* NULL: the run had none */
	const struct verdict_settings *settings; /* NULL: not known */
	const struct verdict_replay *replay;     /* NULL: it repeats none */
};

/* Owned by the caller (cJSON_Delete). Every key of the contract is there; every string is valid UTF-8. */
cJSON *verdict_build(const struct run_record *record, const struct verdict_context *context);

/* One line of JSON, newline behind it. Owned by the caller (free). */
char *verdict_print(const cJSON *verdict);

/* The sentence under "summary". Owned by the caller. */
char *verdict_summary(const struct run_record *record, const struct verdict_context *context);

/* A verdict in plain words, from its JSON alone: `run` on a terminal and `explain` say the same. `colour` uses ANSI
 * sequences; everything taken from the verdict is made safe for a terminal first. */
void explain_words(const cJSON *verdict, bool colour, struct text *out);

/* The same words laid out for an issue or a chat, and as one JSON object with its sentences for a program. */
void explain_markdown(const cJSON *verdict, struct text *out);
void explain_json(const cJSON *verdict, struct text *out);

/* Why a first failure comes without a suggestion, as a sentence; NULL where there is nothing to say. Static storage. */
const char *explain_unopened(const cJSON *failure);

/* Parses and checks that it is a verdict that this version can read. Owned by the caller. */
int verdict_parse(const char *text, size_t length, cJSON **verdict, struct error *error);

/* "SIGKILL" for 9, "SIGRTMIN+3", "signal 77". Static or thread-local storage. */
const char *signal_text(int number);
/* "EACCES" for 13; "errno 999". */
const char *errno_text(int number);

#endif
