/* The seccomp filters: who stops, and who is refused without a stop. */
#ifndef ENGINE_FILTER_H
#define ENGINE_FILTER_H

#include "base/error.h"
#include "policy/policy.h"
#include "tracee/page.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Three programs, installed one after the other; the kernel takes the most restrictive answer of all (an errno before a stop):
 *     gate      allowlist: a number without a row in syscalls.def answers ENOSYS
 *     answers   everything passes but what is refused by its arguments without a stop: above all, reaching the sealed page
 *     stops     everything passes but what must stop
 * Apart, because libseccomp cannot say "stop unless an argument is one of these" inside an allowlist, and because of two rules
 * of one program that match the same call the first one counts, whatever it says: an mremap of the sealed page that was large
 * as well stopped, and was let go on. */
struct filter {
	struct sock_fprog gate, answers, stops; /* instructions owned; filter_free */
};

struct filter_needs {
	bool metadata;  /* calls that read metadata by name stop as well */
	bool identity;  /* set*id calls stop: the target runs as root and may change who it is */
	uint64_t nonce; /* first argument of the injection call (tracee/inject.h) */
};

/* Where a mapping would begin that could reach the sealed page: none of these bits is set. The highest ones do not count, since
 * a tagged address may carry anything there. */
#define FILTER_PAGE_MASK (UINT64_C(0x01ffffffffffffff) & ~(uint64_t)(PAGE_END - 1))

int filter_build(const struct policy *policy, struct filter_needs needs, struct filter *filter, struct error *error);
void filter_free(struct filter *filter);

/* In the child, after no_new_privs: installs them. The first one's listener is returned in *listener: while it exists the
 * kernel answers EBUSY to any other listener in the tree, whose CONTINUE would outrank our stops. 0 or -errno. */
int filter_install(const struct filter *filter, int *listener);

#endif
