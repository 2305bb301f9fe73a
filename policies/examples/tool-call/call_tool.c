/* Runs a program that somebody else wrote under bailiff, and says how that went.
 *
 *     cc -o call_tool call_tool.c -lcjson
 *     ./call_tool POLICY PROGRAM INPUT RESULT
 *
 * PROGRAM and INPUT are copied into the private folder of the run, and what it leaves there as `result` is copied out to
 * RESULT. The environment variable BAILIFF names bailiff where it is not in PATH. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A verdict holds the output, at most six bytes for each (as JSON), and some tens of kilobytes of its own. */
enum { VERDICT_MOST_BYTES = 4 << 20, VERDICT_FD = 3 };

enum outcome { COMPLETED, RUNTIME_ERROR, TIMEOUT, RESOURCE_LIMIT, POLICY_BLOCKED, OUTCOMES, FAILED = OUTCOMES };

static const struct {
	const char *status, *advice;
} outcomes[OUTCOMES] = {
	[COMPLETED] = { "completed", NULL }, /* the one with which output and result may be taken for what was asked for */
	[RUNTIME_ERROR] = { "runtime_error", "it failed by itself: debug the program" },
	[TIMEOUT] = { "timeout", "it took too long: find the loop, or allow more time" },
	[RESOURCE_LIMIT] = { "resource_limit", "it wanted too much: find out why, or raise the limit" },
	[POLICY_BLOCKED] = { "policy_blocked", "it tried what is not listed" },
};

/* Starts bailiff with the verdict on a pipe of its own: the program has no such descriptor, since bailiff closes all but
 * 0, 1 and 2 for it. What it prints is inside the verdict (--capture), so that standard output of bailiff stays empty. */
static pid_t start(char *const arguments[], int *verdict)
{
	int ends[2];
	pid_t pid = -1;
	posix_spawn_file_actions_t actions;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], VERDICT_FD);
	int failed = posix_spawnp(&pid, arguments[0], &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*verdict = ends[0];
	if (failed) {
		close(ends[0]);
		errno = failed;
		return -1;
	}
	return pid;
}

/* All of it, up to a bound: then there is no verdict rather than half of one. */
static char *read_verdict(int fd)
{
	char *text = malloc(VERDICT_MOST_BYTES + 1);
	size_t length = 0;
	ssize_t count = 1;
	while (text && count > 0 && length < VERDICT_MOST_BYTES) {
		count = read(fd, text + length, VERDICT_MOST_BYTES - length);
		if (count < 0 && errno == EINTR)
			count = 1;
		else if (count > 0)
			length += (size_t)count;
	}
	close(fd);
	if (text && count == 0) {
		text[length] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static const cJSON *member(const cJSON *verdict, const char *object, const char *key)
{
	const cJSON *item = object ? cJSON_GetObjectItemCaseSensitive(verdict, object) : verdict;
	return cJSON_GetObjectItemCaseSensitive(item, key);
}

/* FAILED for everything that is not surely one of the five: no verdict, an error of bailiff's own, a run that a signal to
 * bailiff interrupted, and a status that a later version may have. */
static enum outcome outcome_of(const cJSON *verdict)
{
	const char *schema = cJSON_GetStringValue(member(verdict, NULL, "schema"));
	const char *status = cJSON_GetStringValue(member(verdict, NULL, "status"));
	if (!schema || strcmp(schema, "bailiff.verdict/1") != 0 || !status || !cJSON_IsNull(member(verdict, NULL, "error")) ||
	    !cJSON_IsNull(member(verdict, "exit", "interrupted")))
		return FAILED;
	for (int i = 0; i < OUTCOMES; i++)
		if (strcmp(status, outcomes[i].status) == 0)
			return (enum outcome)i;
	return FAILED;
}

static void tell_output(const cJSON *verdict)
{
	const cJSON *stream = member(verdict, "output", "stdout");
	const cJSON *bytes = member(stream, NULL, "relayed"), *truncated = member(stream, NULL, "truncated");
	/* The output itself is `text`, or `base64` where it is not UTF-8. Neither is fit for a terminal as it is. */
	printf("output %.0f bytes%s\n", cJSON_GetNumberValue(bytes), cJSON_IsTrue(truncated) ? ", cut" : "");
}

/* What the verdict says about the copy, not what happens to lie at that path. */
static void tell_result(const cJSON *verdict)
{
	const cJSON *artifact = cJSON_GetArrayItem(member(verdict, NULL, "artifacts"), 0);
	const char *refused = cJSON_GetStringValue(member(artifact, NULL, "refused"));
	if (artifact && !refused)
		printf("result %.0f bytes\n", cJSON_GetNumberValue(member(artifact, NULL, "bytes")));
	else
		printf("no result: %s\n", refused ? refused : "none was asked for");
}

static int tell(const cJSON *verdict)
{
	enum outcome outcome = outcome_of(verdict);
	const char *rule = cJSON_GetStringValue(member(verdict, NULL, "rule"));
	const char *summary = cJSON_GetStringValue(member(verdict, NULL, "summary"));
	if (outcome == FAILED) {
		puts("error");
		fprintf(stderr, "%s\n", summary ? summary : "there is no verdict");
		return 2;
	}
	printf("%s %s\n", outcomes[outcome].status, rule ? rule : "-");
	if (outcomes[outcome].advice)
		printf("  %s: %s\n", outcomes[outcome].advice, summary);
	tell_output(verdict);
	tell_result(verdict);
	return outcome == COMPLETED ? 0 : 1;
}

int main(int argc, char **argv)
{
	char *program, *input, *result;
	int verdict_end, status;
	if (argc != 5) {
		fputs("usage: call_tool POLICY PROGRAM INPUT RESULT\n", stderr);
		return 2;
	}
	if (asprintf(&program, "%s:program.py", argv[2]) < 0 || asprintf(&input, "%s:input", argv[3]) < 0 ||
	    asprintf(&result, "result:%s", argv[4]) < 0)
		return 2;
	char *bailiff = getenv("BAILIFF") ? getenv("BAILIFF") : "bailiff";
	char *arguments[] = { bailiff, "run", "--capture", "-o", "fd:3", "-p", argv[1], "--memory", "512M", "--wall", "20s", "--put",
			      program, "--put", input, "--get", result, "--", "/usr/bin/python3", "program.py", NULL };
	pid_t pid = start(arguments, &verdict_end);
	if (pid < 0) {
		fprintf(stderr, "%s: %s\n", bailiff, strerror(errno));
		puts("error");
		return 2;
	}
	char *text = read_verdict(verdict_end);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	cJSON *verdict = text ? cJSON_Parse(text) : NULL;
	int told = tell(verdict);
	cJSON_Delete(verdict);
	free(text);
	free(program);
	free(input);
	free(result);
	return told;
}
