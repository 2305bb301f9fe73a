/* Landlock (Linux 5.13): a second line behind every decision, made from the same policy.
 *
 * It is never the policy. Whatever a decision allows, the ruleset allows as well, so that decisions, stops and answers are
 * the same with it and without it; what it adds is that a thread which got round a decision still meets the kernel. What
 * Landlock cannot say (a deny within an allow, a pattern, metadata, unix sockets by path, UDP, addresses) stays with the
 * supervisor alone. Names are made, moved and removed by the supervisor, which is under no ruleset: the threads of the run
 * only open, execute, connect and bind by themselves. */
#ifndef ENGINE_LANDLOCK_H
#define ENGINE_LANDLOCK_H

#include "base/error.h"
#include "policy/policy.h"
#include "verdict/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum landlock_mode { LANDLOCK_AUTO, LANDLOCK_REQUIRE, LANDLOCK_OFF };

/* The newest ABI whose rights are used. The headers of a build host may be older than its kernel, so the numbers stand here
 * (uapi/linux/landlock.h). */
enum { LANDLOCK_NEWEST_ABI = 7 };

enum landlock_right {
	LANDLOCK_EXECUTE = 1 << 0,
	LANDLOCK_WRITE_FILE = 1 << 1,
	LANDLOCK_READ_FILE = 1 << 2,
	LANDLOCK_READ_DIR = 1 << 3,
	LANDLOCK_REMOVE_DIR = 1 << 4,
	LANDLOCK_REMOVE_FILE = 1 << 5,
	LANDLOCK_MAKE_CHAR = 1 << 6,
	LANDLOCK_MAKE_DIR = 1 << 7,
	LANDLOCK_MAKE_REG = 1 << 8,
	LANDLOCK_MAKE_SOCK = 1 << 9,
	LANDLOCK_MAKE_FIFO = 1 << 10,
	LANDLOCK_MAKE_BLOCK = 1 << 11,
	LANDLOCK_MAKE_SYM = 1 << 12,
	LANDLOCK_REFER = 1 << 13,    /* ABI 2 */
	LANDLOCK_TRUNCATE = 1 << 14, /* ABI 3 */
};

enum landlock_port_right { LANDLOCK_BIND_TCP = 1 << 0, LANDLOCK_CONNECT_TCP = 1 << 1 }; /* ABI 4 */
enum landlock_scope { LANDLOCK_ABSTRACT_SOCKETS = 1 << 0, LANDLOCK_SIGNALS = 1 << 1 };  /* ABI 6 */

/* A folder with everything below it, or one object that is no folder. */
struct landlock_rule {
	char *path; /* absolute; a link on the way is followed */
	uint64_t rights;
};

struct landlock_port {
	uint16_t port;
	uint64_t rights;
};

/* What is not handled is not restricted; what is handled is refused but for the rules. All owned; landlock_ruleset_free. */
struct landlock_ruleset {
	uint64_t handled_files, handled_ports, scoped;
	struct landlock_rule *rules; /* by path; none repeats what a rule above it gives */
	size_t rule_count;
	struct landlock_port *ports;
	size_t port_count;
};

/* What about the policy rules Landlock out, in words for a note; NULL where nothing does. Static storage. */
const char *landlock_objection(const struct policy *policy);

/* The ruleset that contains everything the bound `policy` allows, for a kernel of that ABI. Looks at which files exist.
 * `keeps_descriptors`: the run inherits descriptors whose use names nothing (--fd). */
void landlock_compile(const struct policy *policy, int abi, bool keeps_descriptors, struct landlock_ruleset *ruleset);
void landlock_ruleset_free(struct landlock_ruleset *ruleset);

/* What the running kernel offers, however new; 0 for none. */
int landlock_kernel_abi(void);

/* The ruleset as the kernel has it: a close-on-exec descriptor, or -errno with the error filled. */
int landlock_load(const struct landlock_ruleset *ruleset, struct error *error);

/* The calling thread and its children come under the ruleset, for good; after no_new_privs. 0 or -errno. */
int landlock_restrict(int ruleset);

/* A ruleset on its way to the child. */
struct landlock {
	int ruleset; /* descriptor, owned by whoever prepared it; -1: nothing to apply */
	int abi;     /* whose rights are used */
	bool required;
	struct run_record *record;
};

/* Before the forks. Under LANDLOCK_AUTO what cannot be had is left out, with a note where the policy or an error is the
 * reason; under LANDLOCK_REQUIRE it is an error. 0 or -errno. */
int landlock_prepare(const struct policy *policy, enum landlock_mode mode, bool keeps_descriptors, struct run_record *record,
		     struct landlock *landlock, struct error *error);

/* In the child, after no_new_privs: from here on the thread and all its children are under the ruleset, for good; the
 * record then holds the ABI. 0, or a positive errno where it is required and cannot be had. */
int landlock_apply(const struct landlock *landlock);

#endif
