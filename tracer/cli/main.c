/* bailiff: the sub-commands by name. */
#include "cli/commands.h"

#include "base/version.h"
#include "why/why.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
	&run_command, &check_command, &explain_command, &policy_command, &doctor_command,
};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static const char *command_name(const void *context, size_t index)
{
	(void)context;
	return index < COMMAND_COUNT ? commands[index]->name : "help";
}

static int unknown_command(const char *name)
{
	struct error error;
	const char *nearest = options_nearest(name, COMMAND_COUNT + 1, command_name, NULL);
	const char *what = name[0] == '-' ? "option" : "command";
	if (nearest && name[0] != '-')
		error_set(&error, EINVAL, "unknown %s \"%.200s\"; did you mean \"%s\"?", what, name, nearest);
	else
		error_set(&error, EINVAL, "unknown %s \"%.200s\"; see \"bailiff --help\"", what, name);
	return command_failed(&error);
}

static int print_overview(void)
{
	printf("bailiff %s: runs a program under a policy and says which rule failed first\n\n", BAILIFF_VERSION);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		for (const char *const *line = commands[i]->synopsis; *line; line++)
			printf("  bailiff %s\n", *line);
	printf("  bailiff --version | --help | help COMMAND\n\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		printf("  %-9s%s\n", commands[i]->name, commands[i]->summary);
	printf("\nExit: 0 completed, the program's own code, 122 blocked by the policy, 123 resource limit, 124 timeout,\n"
	       "125 bailiff itself failed, 126 the command is no program, 127 the command is not found.\n");
	return command_finish(0);
}

static int print_help(const struct command *command)
{
	options_print_help(command);
	return command_finish(0);
}

static int help(int argc, char **argv)
{
	if (argc == 2 || strcmp(argv[2], "help") == 0)
		return print_overview();
	const struct command *command = find_command(argv[2]);
	return command ? print_help(command) : unknown_command(argv[2]);
}

static int print_version(void)
{
	printf("bailiff %s\n", BAILIFF_VERSION);
	return command_finish(0);
}

/* What is opened later must never land on 0, 1 or 2: it would become the target's standard input or output. */
static int open_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is `fd` itself, since all below it are open. */
		if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) != fd)
			return -errno;
	}
	return 0;
}

static int dispatch(int argc, char **argv)
{
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return print_overview();
	if (strcmp(name, "--version") == 0)
		return print_version();
	if (strcmp(name, "help") == 0)
		return help(argc, argv);

	const struct command *command = find_command(name);
	if (!command)
		return unknown_command(name);
	if (options_ask_help(command, argc, argv))
		return print_help(command);
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	struct error error;
	int result = open_standard_streams();
	if (result < 0) {
		error_system(&error, -result, "/dev/null");
		return command_failed(&error);
	}
	if (argc < 2) {
		error_set(&error, EINVAL, "no command; see \"bailiff --help\"");
		return command_failed(&error);
	}
	if (strcmp(argv[1], "--internal-unwind") == 0)
		return why_unwind_main();
	return dispatch(argc, argv);
}
