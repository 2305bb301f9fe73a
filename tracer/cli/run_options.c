#include "cli/run_options.h"

#include "cli/commands.h"
#include "cli/verdict_output.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum text_option { TEXT_POLICY, TEXT_VERDICT, TEXT_EVENTS, TEXT_CWD, TEXT_STDIN, TEXT_SCRIPT, TEXT_USER, TEXT_REPLAY };
enum flag_option { FLAG_JSON, FLAG_CAPTURE, FLAG_WORKSPACE, FLAG_KEEP_WORKSPACE, FLAG_SHOW_SOURCE, FLAG_ALLOW_CHANGES };

static int apply_text(void *settings, const struct option_use *use, struct error *error)
{
	struct run_options *options = settings;
	const char **const targets[] = {
		[TEXT_POLICY] = &options->policy, [TEXT_VERDICT] = &options->verdict,  [TEXT_EVENTS] = &options->events,
		[TEXT_CWD] = &options->cwd,       [TEXT_STDIN] = &options->stdin_file, [TEXT_SCRIPT] = &options->script,
		[TEXT_USER] = &options->user,     [TEXT_REPLAY] = &options->replay,
	};
	(void)error;
	*targets[use->row->id] = use->value;
	return 0;
}

static int apply_flag(void *settings, const struct option_use *use, struct error *error)
{
	struct run_options *options = settings;
	bool *const targets[] = {
		[FLAG_JSON] = &options->json, [FLAG_CAPTURE] = &options->capture, [FLAG_WORKSPACE] = &options->workspace,
		[FLAG_KEEP_WORKSPACE] = &options->keep_workspace, [FLAG_SHOW_SOURCE] = &options->show_source,
		[FLAG_ALLOW_CHANGES] = &options->allow_changes,
	};
	(void)error;
	*targets[use->row->id] = true;
	return 0;
}

/* An fd:N that is not open for writing is told now, not after the run. */
static int apply_destination(void *settings, const struct option_use *use, struct error *error)
{
	int fd = destination_descriptor(use->value);
	if (fd >= 0 && descriptor_writable(fd, error) < 0)
		return error_context(error, "--%s", use->row->name);
	return apply_text(settings, use, error);
}

static int apply_directory(void *settings, const struct option_use *use, struct error *error)
{
	struct stat status;
	if (stat(use->value, &status) != 0)
		return error_system(error, errno, "--%s: %s", use->row->name, use->value);
	if (!S_ISDIR(status.st_mode))
		return error_system(error, ENOTDIR, "--%s: %s", use->row->name, use->value);
	return apply_text(settings, use, error);
}

static int apply_script(void *settings, const struct option_use *use, struct error *error)
{
	struct stat status;
	if (stat(use->value, &status) != 0)
		return error_system(error, errno, "--%s: %s", use->row->name, use->value);
	if (!S_ISREG(status.st_mode))
		return error_set(error, EINVAL, "--%s: %s is not a regular file", use->row->name, use->value);
	return apply_text(settings, use, error);
}

static int apply_stdin(void *settings, const struct option_use *use, struct error *error)
{
	struct stat status;
	if (stat(use->value, &status) != 0)
		return error_system(error, errno, "--%s: %s", use->row->name, use->value);
	if (S_ISDIR(status.st_mode))
		return error_system(error, EISDIR, "--%s: %s", use->row->name, use->value);
	return apply_text(settings, use, error);
}

static int parse_descriptor(const char *text, int *fd)
{
	char *end;
	errno = 0;
	long number = strtol(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || number > INT_MAX)
		return -EINVAL;
	*fd = (int)number;
	return 0;
}

/* A socket is a way out that no later call would show: the target could talk to its other end unseen. */
static int check_kept(int fd, struct error *error)
{
	struct stat status;
	if (fd <= 2)
		return error_set(error, EINVAL, "--fd: 0, 1 and 2 are always kept");
	if (fstat(fd, &status) != 0)
		return error_system(error, errno, "--fd: %d", fd);
	if (S_ISSOCK(status.st_mode))
		return error_set(error, EINVAL, "--fd: %d is a socket, which is refused", fd);
	return 0;
}

static int apply_keep_fd(void *settings, const struct option_use *use, struct error *error)
{
	struct run_options *options = settings;
	int fd;
	if (parse_descriptor(use->value, &fd) < 0)
		return options_refuse_value(use, "not a descriptor; write its number", error);
	int result = check_kept(fd, error);
	if (result < 0)
		return result;
	for (size_t i = 0; i < options->keep_fd_count; i++)
		if (options->keep_fds[i] == fd)
			return 0;
	size_t count = options->keep_fd_count + 1;
	int *grown = realloc(options->keep_fds, count * sizeof(*grown));
	if (!grown)
		return error_system(error, ENOMEM, "--fd");
	grown[options->keep_fd_count] = fd;
	options->keep_fds = grown;
	options->keep_fd_count = count;
	return 0;
}

static int apply_put(void *settings, const struct option_use *use, struct error *error)
{
	struct run_options *options = settings;
	options->workspace = true;
	return copies_add_put(&options->put, use, error);
}

static int apply_get(void *settings, const struct option_use *use, struct error *error)
{
	struct run_options *options = settings;
	options->workspace = true;
	return copies_add_get(&options->get, use, error);
}

static int apply_list(void *settings, const struct option_use *use, struct error *error)
{
	return overrides_add_list(&((struct run_options *)settings)->overrides, use, error);
}

static int apply_limit(void *settings, const struct option_use *use, struct error *error)
{
	return overrides_add_limit(&((struct run_options *)settings)->overrides, use, error);
}

static int apply_environment(void *settings, const struct option_use *use, struct error *error)
{
	return overrides_add_environment(&((struct run_options *)settings)->overrides, use, error);
}

static int apply_on_violation(void *settings, const struct option_use *use, struct error *error)
{
	return overrides_add_on_violation(&((struct run_options *)settings)->overrides, use, error);
}

static int apply_landlock(void *settings, const struct option_use *use, struct error *error)
{
	static const char *const words[] = {
		[LANDLOCK_AUTO] = "auto", [LANDLOCK_REQUIRE] = "require", [LANDLOCK_OFF] = "off",
	};
	struct run_options *options = settings;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strcmp(use->value, words[i]) != 0)
			continue;
		options->landlock = (enum landlock_mode)i;
		return 0;
	}
	return options_refuse_value(use, "write auto, require or off", error);
}

static const struct option_row rows[] = {
	{ "policy", 'p', "FILE|NAME", "the policy: a file (with a / or ending in .json) or a shipped one [default]",
	  apply_text, TEXT_POLICY },
	{ "verdict", 'o', "FILE|fd:N|-", "where the verdict goes [standard error]; - is standard output",
	  apply_destination, TEXT_VERDICT },
	{ "json", 0, NULL, "the verdict as JSON even where standard error is a terminal", apply_flag, FLAG_JSON },
	{ "capture", 0, NULL, "relay nothing: the output is inside the verdict, on standard output or at -o",
	  apply_flag, FLAG_CAPTURE },
	{ "events", 0, "FILE|fd:N", "JSON Lines, one for each inspected operation", apply_destination, TEXT_EVENTS },
	{ "on-violation", 0, "kill|deny|log", "what a violation does to the run [kill]", apply_on_violation, 0 },
	{ "read", 0, "PATTERN", "allow reading what matches (repeatable, as the next six)", apply_list, LIST_READ },
	{ "write", 0, "PATTERN", "allow creating, changing and deleting", apply_list, LIST_WRITE },
	{ "execute", 0, "PATTERN", "allow executing", apply_list, LIST_EXECUTE },
	{ "deny", 0, "PATTERN", "refuse, whatever else allows it", apply_list, LIST_DENY },
	{ "hide", 0, "PATTERN", "what matches does not exist for the run", apply_list, LIST_HIDE },
	{ "connect", 0, "ADDRESS", "allow connecting and sending to an address", apply_list, LIST_CONNECT },
	{ "bind", 0, "ADDRESS", "allow binding an address", apply_list, LIST_BIND },
	{ "wall", 0, "DURATION", "limit of wall time: 500ms, 3s, 2m or none", apply_limit, LIMIT_WALL },
	{ "cpu", 0, "DURATION", "limit of CPU time of the whole tree", apply_limit, LIMIT_CPU },
	{ "memory", 0, "SIZE", "limit of the memory in use by the whole tree", apply_limit, LIMIT_MEMORY },
	{ "processes", 0, "N", "limit of processes at one time", apply_limit, LIMIT_PROCESSES },
	{ "threads", 0, "N", "limit of threads at one time, in all processes", apply_limit, LIMIT_THREADS },
	{ "file-size", 0, "SIZE", "limit of each file that is written", apply_limit, LIMIT_FILE_SIZE },
	{ "open-files", 0, "N", "limit of open descriptors of each process", apply_limit, LIMIT_OPEN_FILES },
	{ "output", 0, "SIZE", "limit of standard output and error together: 2000, 64K, 1M or none",
	  apply_limit, LIMIT_OUTPUT },
	{ "env", 0, "NAME[=VALUE]", "pass or set one environment variable (repeatable)", apply_environment, 0 },
	{ "cwd", 0, "DIR", "current directory of the run", apply_directory, TEXT_CWD },
	{ "stdin", 0, "FILE", "standard input of the run", apply_stdin, TEXT_STDIN },
	{ "script", 0, "FILE", "what ${SCRIPT} means in the policy", apply_script, TEXT_SCRIPT },
	{ "fd", 0, "N", "keep one more descriptor; no socket (repeatable)", apply_keep_fd, 0 },
	{ "workspace", 0, NULL, "the private folder is also the current directory of the run",
	  apply_flag, FLAG_WORKSPACE },
	{ "put", 0, "SRC[:NAME]", "copy a file into the private folder; implies --workspace (repeatable)", apply_put, 0 },
	{ "get", 0, "NAME[:DEST]", "copy a file out of it afterwards; implies --workspace (repeatable)", apply_get, 0 },
	{ "keep-workspace", 0, NULL, "leave the private folder there, and say where", apply_flag, FLAG_KEEP_WORKSPACE },
	{ "show-source", 0, NULL, "the text of the program is part of the verdict", apply_flag, FLAG_SHOW_SOURCE },
	{ "user", 0, "NAME|UID", "as root: become that user before anything is opened or run", apply_text, TEXT_USER },
	{ "landlock", 0, "auto|require|off", "a second line behind the decisions, where the kernel has it [auto]",
	  apply_landlock, 0 },
	{ "replay", 0, "VERDICT", "run again what a verdict tells of, under its policy, and compare", apply_text, TEXT_REPLAY },
	{ "allow-changes", 0, NULL, "with --replay: also where a program or an input is not the same", apply_flag,
	  FLAG_ALLOW_CHANGES },
	/* Refused by name: an option that is accepted and does nothing would promise what is not kept. */
	{ "progress", 0, NULL, NULL, NULL, 0 },
	{ "engine", 0, "NAME", NULL, NULL, 0 },
	{ 0 },
};

static const char *const synopsis[] = { "run [-p POLICY] [OPTION]... [--] COMMAND [ARG]...",
					"run --replay VERDICT [OPTION]...", NULL };

const struct command run_command = {
	.name = "run",
	.synopsis = synopsis,
	.summary = "Run COMMAND under a policy and emit the verdict.",
	.options = rows,
	.stop_at_operand = true,
	.run = command_run,
};

static int check_words(const struct run_options *options, const struct operands *operands, struct error *error)
{
	if (options->replay && operands->count > 0)
		return error_set(error, EINVAL, "--replay: the command is that of the verdict; it takes none");
	if (options->replay)
		return 0;
	if (options->allow_changes)
		return error_set(error, EINVAL, "--allow-changes goes with --replay");
	if (operands->count == 0)
		return error_set(error, EINVAL, "no command to run; see \"bailiff help run\"");
	return *operands->items[0] ? 0 : error_set(error, EINVAL, "the command to run is empty");
}

int run_options_parse(int argc, char **argv, struct run_options *options, struct error *error)
{
	*options = (struct run_options){ 0 };
	struct operands operands;
	int result = options_parse(&run_command, argc, argv, options, &operands, error);
	if (result == 0)
		result = check_words(options, &operands, error);
	if (result == 0 && !options->replay)
		options->command = &argv[operands.first];
	if (result != 0)
		run_options_free(options);
	operands_free(&operands);
	return result;
}

void run_options_free(struct run_options *options)
{
	overrides_free(&options->overrides);
	copy_wishes_free(&options->put);
	copy_wishes_free(&options->get);
	free(options->keep_fds);
	*options = (struct run_options){ 0 };
}
