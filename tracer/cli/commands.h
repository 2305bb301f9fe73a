/* The sub-commands. Each gets main's argc and argv unchanged (argv[1] is its name) and returns the exit status. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "base/error.h"
#include "cli/options.h"

int command_run(int argc, char **argv);
int command_check(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_policy(int argc, char **argv);
int command_doctor(int argc, char **argv);

/* Their rows in main's table, with synopsis and options. */
extern const struct command run_command, check_command, explain_command, policy_command, doctor_command;

/* Prints "bailiff: TEXT" as one line on standard error, safe for a terminal. Returns EXIT_BAILIFF_FAILED. */
int command_failed(const struct error *error);

/* Flushes standard output; `status`, or EXIT_BAILIFF_FAILED (with a line on standard error) when it could not be written. */
int command_finish(int status);

#endif
