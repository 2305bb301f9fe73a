/* What this host can enforce, found by trying. */
#ifndef ENGINE_HOST_H
#define ENGINE_HOST_H

#include "verdict/record.h"

#include <stdbool.h>
#include <stddef.h>

struct host_layer {
	const char *name;     /* "ptrace", "seccomp-trace", "user notification", "openat2", "pidfd_getfd", "landlock", "yama", … */
	bool required;        /* bailiff does not run without it */
	bool available;
	char detail[256];     /* "ABI 7", "EPERM: kernel.yama.ptrace_scope is 3", … and what follows from it */
};

enum { HOST_LAYER_MAX = 16 };

struct host_report {
	char kernel[256];
	char machine[65];
	int landlock_abi;     /* 0 for none */
	int yama_scope;       /* -1 where there is no Yama */
	unsigned cgroup_controllers; /* RECORD_CGROUP_*, of a delegated cgroup; 0 for none; by host_probe alone */
	bool root;
	size_t layer_count;
	struct host_layer layers[HOST_LAYER_MAX];
};

/* Probes in throw-away children: the caller's own state does not change. */
void host_probe(struct host_report *report);

/* Only what needs no child: kernel, machine, Landlock ABI, Yama, root. For the verdict. */
void host_describe(struct host_report *report);

/* Can runs be enforced here: every required layer available? */
bool host_enforceable(const struct host_report *report);

/* A run could not begin: where a required layer is missing here, `error` says so and its stage is "host". */
void host_explain_failure(struct record_error *error);

#endif
