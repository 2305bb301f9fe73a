/* A policy: what one run may touch, as merged from its file, what that extends, and the command line.
 *
 * Two steps, because the private workspace is made only where the merged policy names it:
 *     policy_load   reads, checks and merges the text                        (nothing is resolved yet)
 *     policy_bind   inserts the variables, resolves leading literal folders, compiles patterns and addresses
 * After policy_bind a policy never changes. All strings in it belong to it. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "base/error.h"
#include "base/hash.h"
#include "base/outcome.h"
#include "policy/address.h"
#include "policy/pattern.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a value stands, as the verdict shows it. `file` is the path as given or found through "extends", "policy:NAME"
 * for a shipped policy, or "command line" with column = index in argv and line 0. */
struct position {
	const char *file;
	char *pointer;   /* RFC 6901, such as /paths/read/0; "" for the whole document */
	unsigned line;   /* from 1 */
	unsigned column; /* from 1, in bytes */
};

enum rule_list {
	LIST_READ, LIST_WRITE, LIST_EXECUTE, LIST_DENY, LIST_HIDE, /* paths */
	LIST_CONNECT, LIST_BIND,                                   /* network */
	LIST_SYSCALL_ALLOW, LIST_SYSCALL_DENY,                     /* syscalls */
	LIST_COUNT
};

/* "/paths/read", "/network/connect", … */
const char *rule_list_pointer(enum rule_list list);

struct rule {
	char *text;               /* as written: "${WORKSPACE}/input.csv" */
	struct position position;
	bool dropped;             /* its variable has no value: matches nothing */
	bool folders_only;        /* read entries that end in a slash: the listing of what matches, never a file */
	char sha256[HASH_TEXT];   /* execute entries may carry one; "" otherwise */

	/* set by policy_bind, by kind of list */
	struct path_pattern **patterns; /* one; more where other spellings of a linked folder or of a link count too. For a
					 * unix: address the further spellings alone: address.path is the first */
	size_t pattern_count;
	struct address_pattern address;
	int syscall_number;
};

struct rules {
	struct rule *items;
	size_t count;
};

enum limit_id {
	LIMIT_WALL, LIMIT_CPU,                                            /* milliseconds */
	LIMIT_MEMORY, LIMIT_OUTPUT, LIMIT_FILE_SIZE, LIMIT_WORKSPACE, LIMIT_ARTIFACT, /* bytes */
	LIMIT_PROCESSES, LIMIT_THREADS, LIMIT_OPEN_FILES,                 /* counts */
	LIMIT_COUNT
};

enum limit_unit { UNIT_DURATION_MS, UNIT_SIZE_BYTES, UNIT_COUNT };

/* One row per limit: the key under "limits", the option, the unit. */
struct limit_row {
	const char *key;    /* "file_size" */
	const char *option; /* "file-size"; NULL where there is none */
	enum limit_unit unit;
	const char *summary;
};
extern const struct limit_row limit_rows[LIMIT_COUNT];

struct limit {
	bool set; /* in this policy or one that it extends; after policy_load always true */
	uint64_t value; /* UNITS_NONE: lifted */
	struct position position;
};

enum on_violation { ON_VIOLATION_KILL, ON_VIOLATION_DENY, ON_VIOLATION_LOG };
const char *on_violation_name(enum on_violation mode);
bool on_violation_parse(const char *name, enum on_violation *mode);

struct environment_entry {
	char *name;  /* for "pass" a name that may end in `*` (LC_*) */
	char *value; /* NULL for "pass"; for "set" the text, variables not yet inserted */
	struct position position;
};

struct policy_file {
	char *file; /* as in struct position */
	char sha256[HASH_TEXT];
	bool embedded;
};

struct policy {
	char *name;        /* NULL where no file gives one */
	char *description;
	struct rules lists[LIST_COUNT];
	bool stat_listed;  /* "stat": "listed"; also implied for the engine by a non-empty hide list */
	struct position stat_position; /* of the "stat" that counts; file NULL where no file has one */
	struct limit limits[LIMIT_COUNT];
	enum on_violation on_violation;
	struct environment_entry *environment;
	size_t environment_count;

	struct policy_file *files; /* the chain, base first, the file given with -p last */
	size_t file_count;

	/* What a denial points to where nothing matched: the list itself, by the contract's order. */
	struct position missing[LIST_COUNT];

	/* Which keys the file given with -p has itself: where a suggestion can add. */
	struct policy_keys {
		bool paths, network, syscalls, limits;
		bool lists[LIST_COUNT];
	} has;
};

/* One setting from the command line: it adds to a list or replaces a limit. */
struct policy_override {
	enum { OVERRIDE_LIST, OVERRIDE_LIMIT, OVERRIDE_ENVIRONMENT, OVERRIDE_ON_VIOLATION } kind;
	int id;              /* enum rule_list or enum limit_id */
	const char *text;    /* borrowed until policy_load returns */
	unsigned argv_index; /* position shown: file "command line", column = this */
};

/* `name` is a file when it holds a `/` or ends in .json, else a shipped policy. NULL means "default".
 * On failure the error's text starts with FILE:LINE:COLUMN where there is one, and *policy stays NULL. */
int policy_load(const char *name, const struct policy_override *overrides, size_t override_count,
		struct policy **policy, struct error *error);

/* The same for a text in memory that stands for the file `file_name`; "extends" is looked up relative to that name. */
int policy_load_text(const char *file_name, const char *text, size_t length, const struct policy_override *overrides,
		     size_t override_count, struct policy **policy, struct error *error);

/* The text that policy_load(name) would read first, and the name of its file as a position shows it. Both are the caller's. */
int policy_read_text(const char *name, char **file, char **text, size_t *length, struct error *error);

/* Values for ${…}: absolute paths without `.` and `..`. NULL: the variable has no value, and entries that use it are
 * dropped (rule.dropped). */
struct policy_variables {
	const char *workspace;
	const char *cwd;
	const char *home;
	const char *script;
	const char *script_dir;
	const char *start; /* where relative paths of the command line start; NULL: at cwd */
};

int policy_bind(struct policy *policy, const struct policy_variables *variables, struct error *error);

/* Does any list or environment value of the merged policy name ${WORKSPACE}? Usable before policy_bind. */
bool policy_uses_workspace(const struct policy *policy);

/* Puts ${NAME} values in, without quoting (for environment values); `$$` is a dollar sign. NULL where a variable has no
 * value. Owned by caller. */
char *policy_expand(const char *text, const struct policy_variables *variables);

/* The inverse, for suggestions: the pattern that names `path` alone. What varies from run to run is written with its
 * variable (the private folder), the rest quoted. Owned by caller. */
char *policy_unexpand(const char *path, const struct policy_variables *variables);

/* Does decide_path have to see metadata calls? */
static inline bool policy_inspects_metadata(const struct policy *policy)
{
	return policy->stat_listed || policy->lists[LIST_HIDE].count > 0;
}

void policy_free(struct policy *policy);

/* The policy as JSON, as `bailiff policy show` prints it: merged, each entry with where it came from. Owned by caller. */
char *policy_to_json(const struct policy *policy);

/* The shipped policies, embedded at build time from policies/NAME.json. */
struct shipped_policy {
	const char *name;
	const char *text; /* the file, byte for byte */
	size_t length;
};
extern const struct shipped_policy shipped_policies[];
extern const size_t shipped_policy_count;
const struct shipped_policy *shipped_policy_find(const char *name);

#endif
