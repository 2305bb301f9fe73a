/* The table of attacks, and what is printed about them. */
#include "cli/attack.h"

#include "base/cleanup.h"
#include "cli/commands.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_NOT_HELD = 1, TRIES = 300 };

/* Programs of tests/hostile/ that need no network but the loopback and no rights, and whose win harms nothing outside of
 * their own folder: no signals to others, no limits for others, no fork bombs. */
static const struct attack attacks[] = {
	{ .name = "string_flip", .program = "string_flip", .tries = TRIES,
	  .what = "a thread changes a file's name while it is opened" },
	{ .name = "shared_flip", .program = "shared_flip", .tries = TRIES,
	  .what = "another process changes it, in shared memory" },
	{ .name = "link_swap", .program = "link_swap", .what = "a link on the way leads elsewhere meanwhile", .tries = TRIES },
	{ .name = "folder_number", .program = "folder_flip", .way = "descriptor", .tries = TRIES,
	  .what = "another folder gets the descriptor's number" },
	{ .name = "folder_current", .program = "folder_flip", .way = "current", .tries = TRIES,
	  .what = "another process changes the current folder" },
	{ .name = "descriptor_flip", .program = "descriptor_flip", .tries = TRIES,
	  .what = "a read-only file is reopened for writing" },
	{ .name = "connect_flip", .program = "connect_flip", .ports = true, .needs_host = true, .tries = TRIES,
	  .what = "a thread changes the port during a connect" },
	{ .name = "send_flip", .program = "send_flip", .way = "sendto", .ports = true, .needs_host = true, .tries = TRIES,
	  .judge = ATTACK_ARRIVES, .what = "a thread changes where a datagram goes" },
	{ .name = "exec_swap", .program = "exec_swap", .way = "link", .judge = ATTACK_MARKS, .tries = TRIES,
	  .what = "a program is exchanged while it is executed" },
	{ .name = "exec_tricks", .program = "exec_tricks", .tries = TRIES, .what = "other ways to run an unlisted program" },
	{ .name = "folder_rename", .program = "folder_rename", .deny = "${CWD}/tree/*/deep/secret", .read = "${CWD}/tree/**",
	  .write = "${CWD}/tree/**", .tries = TRIES, .what = "a denied file is moved to another name" },
	{ .name = "page_edge", .program = "page_edge", .tries = TRIES, .what = "names that lie where memory ends" },
	{ .name = "page_attack", .program = "page_attack", .read = "/proc/self/mem", .write = "/proc/self/mem", .call = "shmget",
	  .needs_host = true, .tries = TRIES, .what = "the page with decided names is changed" },
	{ .name = "foreign_call", .program = "foreign_call", .tries = TRIES, .what = "opens by calls that filters forget" },
	{ .name = "listener", .program = "listener", .needs_host = true, .tries = TRIES,
	  .what = "a listener of its own lets calls continue" },
	{ .name = "untraced", .program = "untraced", .needs_host = true, .tries = TRIES,
	  .what = "children that leave the tracer" },
};
enum { ATTACK_COUNT = sizeof(attacks) / sizeof(attacks[0]) };

static const struct {
	const char *key, *words;
} results[] = {
	[ATTACK_FAILED] = { "failed", "PROVES NOTHING" },
	[ATTACK_WON] = { "won", "GOT THROUGH" },
	[ATTACK_NOT_SHOWN] = { "not_shown", "not shown here" },
	[ATTACK_HELD] = { "held", "holds" },
};

/* ---- where the programs are ------------------------------------------------------------------------------------- */

/* The first that is missing, mark (which some of them run) included; NULL where all are there. Owned. */
static char *missing_in(const char *folder)
{
	for (size_t i = 0; i <= ATTACK_COUNT; i++) {
		char *path = text_format("%s/%s", folder, i < ATTACK_COUNT ? attacks[i].program : "mark");
		if (access(path, X_OK) != 0)
			return path;
		free(path);
	}
	return NULL;
}

#define WHENCE "\"make install\" or, in the source tree, \"make attacks\""

/* Beside this program: as installed, else as built. Owned; NULL with an error. */
static char *find_programs(struct error *error)
{
	static const char *const places[] = { "../libexec/bailiff", "tests/hostile" };
	auto_free char *self = realpath("/proc/self/exe", NULL);
	if (!self) {
		error_system(error, errno, "/proc/self/exe");
		return NULL;
	}
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		auto_free char *place = text_format("%s/%s", self, places[i]);
		char *folder = realpath(place, NULL);
		auto_free char *missing = folder ? missing_in(folder) : NULL;
		if (folder && !missing)
			return folder;
		free(folder);
		if (missing) {
			error_set(error, ENOENT, "%s is missing or cannot be executed; it comes with " WHENCE, missing);
			return NULL;
		}
	}
	error_set(error, ENOENT, "the attack programs are missing: %s/../libexec/bailiff; they come with " WHENCE, self);
	return NULL;
}

/* ---- what is printed -------------------------------------------------------------------------------------------- */

static const char *count_words(char words[static 32], const struct attack_count *count)
{
	snprintf(words, 32, "%d of %d", count->wins, count->tried);
	return words;
}

static void print_head(void)
{
	printf("%-16s %15s %14s  %-22s %s\n", "attack", "without bailiff", "under bailiff", "", "what it tries");
	fflush(stdout);
}

static void print_row(const struct attack *attack, const struct attack_outcome *outcome)
{
	char control[32], supervised[32];
	struct text words = { 0 };
	text_append(&words, results[outcome->result].words);
	if (outcome->result == ATTACK_HELD && outcome->refused)
		text_printf(&words, ", %d refused", outcome->refused);
	printf("%-16s %15s %14s  %-22s %s\n", attack->name, count_words(control, &outcome->control),
	       count_words(supervised, &outcome->supervised), text_string(&words), attack->what);
	if (outcome->trouble[0])
		printf("    %s\n", outcome->trouble);
	fflush(stdout);
	text_free(&words);
}

static void add_count(cJSON *object, const char *key, const struct attack_count *count)
{
	cJSON *child = json_add_object(object, key);
	json_add_number(child, "wins", count->wins);
	json_add_number(child, "tries", count->tried);
}

static void add_row(cJSON *rows, const struct attack *attack, const struct attack_outcome *outcome)
{
	cJSON *row = json_append_object(rows);
	json_add_string(row, "name", attack->name);
	json_add_string(row, "what", attack->what);
	add_count(row, "without", &outcome->control);
	add_count(row, "under", &outcome->supervised);
	json_add_string(row, "result", results[outcome->result].key);
	json_add_number(row, "refused", outcome->refused);
	json_add_string(row, "rule", outcome->rule);
	json_add_string(row, "trouble", outcome->trouble);
}

static void print_end(const int counts[static ATTACK_HELD + 1], bool held)
{
	printf("\n%s: %d held, %d got through, %d not shown here, %d could not be run to their end.\n",
	       held ? "Nothing gets through" : "This host does not hold", counts[ATTACK_HELD], counts[ATTACK_WON],
	       counts[ATTACK_NOT_SHOWN], counts[ATTACK_FAILED]);
}

static void print_json(cJSON *rows, bool held)
{
	cJSON *object = cJSON_CreateObject();
	json_add_string(object, "schema", "bailiff.attack/1");
	json_add_bool(object, "held", held);
	json_add(object, "attacks", rows);
	auto_free char *line = verdict_print(object);
	fputs(line, stdout);
	cJSON_Delete(object);
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

/* Signals that would end us are held back while a folder is there to be removed; an ignored one stays ignored. */
static void hold_back(sigset_t *ending, sigset_t *before)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigemptyset(ending);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction action;
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(ending, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, ending, before);
}

static int run_all(const char *programs, bool as_json, cJSON *rows, int counts[static ATTACK_HELD + 1])
{
	sigset_t ending, before;
	int failed = 0;
	hold_back(&ending, &before);
	for (size_t i = 0; i < ATTACK_COUNT && !failed; i++) {
		struct attack_outcome outcome;
		failed = attack_run(&attacks[i], programs, &ending, &outcome);
		if (failed)
			break;
		counts[outcome.result]++;
		add_row(rows, &attacks[i], &outcome);
		if (!as_json)
			print_row(&attacks[i], &outcome);
	}
	/* Here a signal that was held back ends us. */
	sigprocmask(SIG_SETMASK, &before, NULL);
	return failed;
}

int attack_command(bool as_json)
{
	struct error error;
	int counts[ATTACK_HELD + 1] = { 0 };
	auto_free char *programs = find_programs(&error);
	if (!programs)
		return command_failed(&error);
	if (!as_json)
		print_head();
	cJSON *rows = cJSON_CreateArray();
	int failed = run_all(programs, as_json, rows, counts);
	if (failed) {
		cJSON_Delete(rows);
		error_system(&error, -failed, "the attacks were not run to their end");
		return command_failed(&error);
	}
	bool held = counts[ATTACK_HELD] > 0 && counts[ATTACK_WON] == 0 && counts[ATTACK_FAILED] == 0;
	if (as_json) {
		print_json(rows, held);
	} else {
		print_end(counts, held);
		cJSON_Delete(rows);
	}
	return command_finish(held ? 0 : EXIT_NOT_HELD);
}
