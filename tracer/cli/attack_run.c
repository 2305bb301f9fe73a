/* One attack: the control, which nobody supervises, then the same program under `bailiff run`. */
#include "cli/attack.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/input.h"
#include "verdict/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A control ends at its CONTROL_WINS-th win: with one processor, many tries pass until the other side gets its turn. One
 * that cannot know when it has won makes BLIND_TRIES. */
enum { CONTROL_TRIES = 60000, BLIND_TRIES = 20000, CONTROL_WINS = 30 };
enum { PATIENCE_S = 30, SERVE_MS = 20, SAID_BYTES = 1 << 16, WORDS_MAX = 24, EXIT_NOT_STARTED = 127 };

struct words {
	const char *items[WORDS_MAX];
	size_t count;
};

/* A started program, and what it has said so far on standard output and standard error. */
struct started {
	pid_t pid;
	int output;
	struct text said;
};

static void add_word(struct words *words, const char *word)
{
	if (word && words->count < WORDS_MAX - 1)
		words->items[words->count++] = word;
}

/* In the child. It dies with its parent: under bailiff the whole run then dies with it, alone its helpers do. */
static _Noreturn void become(const struct attack_arena *arena, const char *program, const struct words *words, int output,
			     const sigset_t *ending, pid_t parent)
{
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	setsid();
	sigprocmask(SIG_UNBLOCK, ending, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && dup2(input, STDIN_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 && chdir(arena->folder.path) == 0)
		execv(program, (char *const *)words->items);
	dprintf(output, "cannot be started: %s\n", strerror(errno));
	_exit(EXIT_NOT_STARTED);
}

static int start(const struct attack_arena *arena, const char *program, const struct words *words, const sigset_t *ending,
		 struct started *started)
{
	int ends[2];
	pid_t parent = getpid();
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	started->pid = fork();
	if (started->pid == 0)
		become(arena, program, words, ends[1], ending, parent);
	int failed = started->pid < 0 ? -errno : 0;
	close(ends[1]);
	if (failed)
		close(ends[0]);
	else
		started->output = ends[0];
	return failed;
}

/* Until everybody has closed the pipe: 0, -ETIME, or -EINTR for a signal of `ending`. */
static int listen_to(struct started *started, struct attack_arena *arena, const sigset_t *ending)
{
	uint64_t end = clock_now_ns() + PATIENCE_S * UINT64_C(1000000000);
	auto_fd int signals = signalfd(-1, ending, SFD_CLOEXEC);
	struct pollfd polled[] = { { .fd = started->output, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	char bytes[4096];
	if (signals < 0)
		return -errno;
	for (;;) {
		int ready = poll(polled, 2, SERVE_MS);
		attack_arena_serve(arena);
		if (polled[1].revents)
			return -EINTR;
		if (clock_now_ns() > end)
			return -ETIME;
		if (ready <= 0 || !polled[0].revents)
			continue;
		ssize_t length = read(started->output, bytes, sizeof(bytes));
		if (length <= 0)
			return 0;
		if (started->said.length < SAID_BYTES)
			text_append_bytes(&started->said, bytes, (size_t)length);
	}
}

/* Whoever is left of it, as long as its number is its own. */
static void end(struct started *started)
{
	kill(-started->pid, SIGKILL);
	kill(started->pid, SIGKILL);
	while (waitpid(started->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(started->output);
}

/* "NAME: wins W of N". */
static bool read_count(const char *said, struct attack_count *count)
{
	static const char mark[] = ": wins ";
	const char *last = NULL;
	for (const char *at = said; (at = strstr(at, mark)); at++)
		last = at;
	return last && sscanf(last + strlen(mark), "%d of %d", &count->wins, &count->tried) == 2;
}

/* The last line of what was said. */
static void tell_trouble(struct attack_outcome *outcome, const char *where, const char *said)
{
	struct text line = { 0 };
	size_t end = strlen(said);
	while (end > 0 && said[end - 1] == '\n')
		end--;
	size_t start = end;
	while (start > 0 && said[start - 1] != '\n')
		start--;
	text_printf(&line, "%s: ", where);
	text_append_visible(&line, said + start, end - start);
	text_copy(outcome->trouble, sizeof(outcome->trouble), text_string(&line));
	text_free(&line);
}

/* What the verdict says. With the run ended by bailiff at a try that would have won, it also has the number of tries. */
static void take_verdict(const struct attack_arena *arena, struct attack_outcome *outcome, bool *counted)
{
	enum { WITHOUT_CHILDREN = 2 };
	struct error error;
	cJSON *verdict = NULL;
	auto_free char *path = text_format("%s/verdict.json", arena->folder.path);
	if (input_read_verdict(path, &verdict, &error) < 0)
		return;
	const char *rule = json_string(verdict, "rule"), *trouble = json_string(json_get(verdict, "error"), "message");
	int64_t processes = json_number(json_get(json_get(verdict, "usage"), "processes"), "total");
	text_copy(outcome->rule, sizeof(outcome->rule), rule ? rule : "");
	outcome->refused = (int)json_number(json_get(verdict, "violations"), "total");
	if (trouble) {
		tell_trouble(outcome, "under bailiff", trouble);
	} else if (!*counted && arena->attack->judge == ATTACK_MARKS && strcmp(outcome->rule, "policy_blocked_execute") == 0) {
		outcome->supervised.tried = processes > WITHOUT_CHILDREN ? (int)processes - WITHOUT_CHILDREN : 1;
		*counted = true;
	}
	cJSON_Delete(verdict);
}

static void judge(struct attack_arena *arena, bool supervised, int heard, const char *said, struct attack_outcome *outcome)
{
	const char *where = supervised ? "under bailiff" : "without bailiff";
	struct attack_count *count = supervised ? &outcome->supervised : &outcome->control;
	bool counted = read_count(said, count);
	int wins = attack_arena_wins(arena);
	if (supervised)
		take_verdict(arena, outcome, &counted);
	if (wins >= 0)
		count->wins = wins;
	if (heard == -ETIME)
		tell_trouble(outcome, where, "does not end");
	else if (!counted && !outcome->trouble[0])
		tell_trouble(outcome, where, *said ? said : "says nothing");
}

/* bailiff in front, or nothing. */
static int run_words(struct attack_arena *arena, bool supervised, const struct words *program, const sigset_t *ending,
		     struct attack_outcome *outcome)
{
	struct words words = { 0 };
	struct started started = { 0 };
	auto_free char *policy = text_format("%s/policy.json", arena->folder.path);
	auto_free char *verdict = text_format("%s/verdict.json", arena->folder.path);
	/* The attacks are on the decisions; Landlock behind them would hide what they have lost. */
	const char *const front[] = { "bailiff", "run", "-p", policy, "-o", verdict, "--landlock", "off", "--" };
	for (size_t i = 0; supervised && i < sizeof(front) / sizeof(front[0]); i++)
		add_word(&words, front[i]);
	for (size_t i = 0; i < program->count; i++)
		add_word(&words, program->items[i]);
	int heard = start(arena, supervised ? "/proc/self/exe" : words.items[0], &words, ending, &started);
	if (heard < 0) {
		tell_trouble(outcome, "cannot be started", strerror(-heard));
		return 0;
	}
	heard = listen_to(&started, arena, ending);
	end(&started);
	judge(arena, supervised, heard, text_string(&started.said), outcome);
	text_free(&started.said);
	return heard == -EINTR ? -EINTR : 0;
}

static int run_in(struct attack_arena *arena, bool supervised, const sigset_t *ending, struct attack_outcome *outcome)
{
	const struct attack *attack = arena->attack;
	bool blind = attack->judge == ATTACK_ARRIVES;
	char tries[16], enough[16], ports[2][16];
	struct words words = { 0 };
	auto_free char *program = text_format("%s/%s", arena->programs, attack->program);
	snprintf(tries, sizeof(tries), "%d", supervised ? attack->tries : blind ? BLIND_TRIES : CONTROL_TRIES);
	snprintf(enough, sizeof(enough), "%d", supervised || blind ? 0 : CONTROL_WINS);
	const char *const first[] = { program, tries, enough, arena->folder.path, supervised ? "under" : "alone" };
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		add_word(&words, first[i]);
	for (int i = 0; attack->ports && i < 2; i++) {
		snprintf(ports[i], sizeof(ports[i]), "%d", arena->ports[i]);
		add_word(&words, ports[i]);
	}
	add_word(&words, attack->way);
	return run_words(arena, supervised, &words, ending, outcome);
}

static int run_once(const struct attack *attack, const char *programs, bool supervised, const sigset_t *ending,
		    struct attack_outcome *outcome)
{
	struct attack_arena arena;
	struct error error;
	int result = 0, failed = attack_arena_make(&arena, attack, programs, &error);
	if (!failed)
		result = run_in(&arena, supervised, ending, outcome);
	else
		tell_trouble(outcome, "cannot set up", error.message);
	if (attack_arena_remove(&arena, &error) < 0)
		tell_trouble(outcome, "left behind", error.message);
	return result;
}

/* A win under bailiff outweighs everything. What has no control that wins proves nothing. */
static enum attack_result weigh(const struct attack *attack, struct attack_outcome *outcome, bool control_failed)
{
	if (outcome->supervised.wins > 0)
		return ATTACK_WON;
	if (outcome->control.wins == 0 && attack->needs_host && (control_failed || !outcome->trouble[0]))
		return ATTACK_NOT_SHOWN;
	if (outcome->control.wins == 0 && !outcome->trouble[0])
		tell_trouble(outcome, "without bailiff", "wins nothing");
	if (outcome->supervised.tried == 0 && !outcome->trouble[0])
		tell_trouble(outcome, "under bailiff", "tries nothing");
	return outcome->trouble[0] ? ATTACK_FAILED : ATTACK_HELD;
}

int attack_run(const struct attack *attack, const char *programs, const sigset_t *ending, struct attack_outcome *outcome)
{
	*outcome = (struct attack_outcome){ 0 };
	if (run_once(attack, programs, false, ending, outcome) < 0)
		return -EINTR;
	bool control_failed = outcome->trouble[0] != '\0';
	if (run_once(attack, programs, true, ending, outcome) < 0)
		return -EINTR;
	outcome->result = weigh(attack, outcome, control_failed);
	return 0;
}
