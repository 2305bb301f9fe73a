/* `doctor --attack`: programs that try to get past bailiff, run on this host without it and under it. */
#ifndef CLI_ATTACK_H
#define CLI_ATTACK_H

#include "base/error.h"
#include "base/text.h"
#include "engine/workspace.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>

/* Who knows how often it won. */
enum attack_judge {
	ATTACK_SAYS,    /* the program itself, in its last line */
	ATTACK_MARKS,   /* the barred program: it leaves a byte in work/ran each time that it runs */
	ATTACK_ARRIVES, /* the barred port: so many datagrams came in */
};

struct attack {
	const char *name;
	const char *program; /* its file name */
	const char *way;     /* which of its ways, behind the ports where there are some; NULL for none */
	const char *what;    /* what it tries, in plain words */
	enum attack_judge judge;
	bool ports;      /* it gets two ports of 127.0.0.1, of which the policy names the first */
	bool needs_host; /* not every kernel or container lets it win, even without bailiff */
	int tries;
	/* What its policy lists besides that of all; NULL for nothing. */
	const char *write, *read, *deny, *call;
};

/* A folder for one run: what lies in a/ is allowed, what lies in b/ is barred, work/ may be written. */
struct attack_arena {
	const struct attack *attack;
	const char *programs; /* the folder with the attacks */
	struct workspace folder;
	int streams[2], datagrams[2]; /* of the two ports; -1 where there are none */
	int ports[2];
	int arrived; /* datagrams at the second port */
};

/* 0 or -errno; to be removed in either case. */
int attack_arena_make(struct attack_arena *arena, const struct attack *attack, const char *programs, struct error *error);
int attack_arena_remove(struct attack_arena *arena, struct error *error);

/* Takes what has come to the ports. To be called every now and then: nobody waits for them. */
void attack_arena_serve(struct attack_arena *arena);

/* Wins that only the arena knows of; -1 where the program counts for itself. */
int attack_arena_wins(struct attack_arena *arena);

enum attack_result {
	ATTACK_FAILED,    /* it could not be run to its end: nothing is proven */
	ATTACK_WON,       /* it got past bailiff */
	ATTACK_NOT_SHOWN, /* it wins nothing without bailiff either, and need not on every host */
	ATTACK_HELD,
};

struct attack_count {
	int wins, tried;
};

struct attack_outcome {
	enum attack_result result;
	struct attack_count control, supervised;
	int refused;     /* violations that the verdict counts */
	char rule[64];   /* of the verdict; "" for none */
	char trouble[256]; /* why it failed; "" otherwise */
};

/* Runs the control and then the attack. -EINTR when a signal of `ending` (blocked by the caller) came: nothing is left of
 * the run, and the signal still waits. Other troubles are an outcome. */
int attack_run(const struct attack *attack, const char *programs, const sigset_t *ending, struct attack_outcome *outcome);

/* The whole of `doctor --attack`; the exit status. */
int attack_command(bool as_json);

#endif
