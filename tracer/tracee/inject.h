/* Calls of ours in a tracee: giving it a descriptor, and mapping the sealed page into a new image. */
#ifndef TRACEE_INJECT_H
#define TRACEE_INJECT_H

#include "tracee/page.h"
#include "tracee/wait.h"

#include <stdint.h>
#include <sys/types.h>

/* How descriptors get into the tree: one call number that no program uses is handed to the base filter's listener, and the
 * supervisor answers it with a descriptor. A descriptor that is merely inherited would be closed by programs that close
 * everything, or be replaced by dup2. `nonce` is that call's first argument; without it the number is ENOSYS.
 *
 * A process with a filter of its own may have shut the unused number, as every filter does that lists what it allows, and an
 * errno outranks our listener. There the call is an mmap, which no program can do without: the nonce is no address. */
struct injector {
	int listener;
	uint64_t nonce;          /* the highest bit is set */
	uint64_t syscall_offset; /* of a `syscall` instruction in the vdso; 0 until it was found */
};

/* The number of the injection call in a process that has, or has not, a filter of its own. */
uint64_t inject_number(bool filtered);

/* At PTRACE_EVENT_EXEC: maps the page, before the image's first instruction runs. Afterwards the thread is at the exit stop
 * of its execve. 0; -ESRCH when something else happened to the thread (*other tells, other->tid is 0 where it is just
 * gone); or -errno: the image cannot have the page, and must not run. */
int inject_page(struct injector *injector, struct page *page, pid_t tid, bool filtered, struct wait_event *other);

/* Answers the injection call that the thread is making with a copy of `fd`: the tracee's number for it, or -errno. Answers
 * others, who guessed the call, with ENOSYS. */
int inject_answer(struct injector *injector, pid_t tid, int fd, int fd_flags);

#endif
