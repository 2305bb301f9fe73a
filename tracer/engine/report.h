/* What a decision leads to: the record, the events, and how the stopped thread goes on. */
#ifndef ENGINE_REPORT_H
#define ENGINE_REPORT_H

#include "engine/resolve.h"
#include "engine/supervisor.h"

/* One operation as the verdict tells it. All strings borrowed; zero where not applicable. */
struct operation {
	enum rule_id rule;              /* what blocks it */
	const struct position *position; /* the entry or list that decided; NULL: no policy key is involved */
	unsigned access;                /* enum access bits, for paths */
	const char *access_text;        /* for everything else: "connect", "signal", … */
	const char *flags;              /* "O_RDONLY|O_CLOEXEC" */
	const char *target;             /* what was named, for people; a path's own text where NULL */
	const char *given, *resolved;   /* paths: as the program wrote it, canonical */
	const struct address *address;  /* network operations */
	enum rule_list list;            /* the list that would open it, for suggestions; LIST_COUNT for none */
	const char *const *chain;       /* script chain, program first */
	size_t chain_count;
	int answer;                     /* errno that the program gets under `deny` */
	int kernel_would;               /* errno that the kernel itself would have given, 0 */
};

/* The policy refuses it: latches, records, and answers by the policy's mode. */
struct resume report_blocked(struct stop *stop, const struct operation *operation);

/* As report_blocked, where no thread waits for an answer (a check after the fact): true when the tree is being killed. */
bool report_blocked_after(struct stop *stop, const struct operation *operation);

/* It is allowed, or the kernel's own errno was given (`answered` other than 0): an event, nothing else. */
void report_allowed(struct stop *stop, const struct operation *operation, int answered);

/* A refusal that is no violation: a note, an event, and the errno. */
struct resume report_refused_quietly(struct stop *stop, const struct operation *operation, int answer, const char *why);

#endif
