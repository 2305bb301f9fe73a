/* `policy`: the shipped policies, what a policy means once merged, and whether a file is one. */
#include "cli/commands.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_INVALID = 1 };

static int apply_source(void *settings, const struct option_use *use, struct error *error)
{
	(void)use;
	(void)error;
	*(bool *)settings = true;
	return 0;
}

static const struct option_row rows[] = {
	{ "source", 0, NULL, "with show: the shipped file itself, byte for byte", apply_source, 0 },
	{ 0 },
};

static const char *const synopsis[] = { "policy list", "policy show NAME|FILE", "policy show --source NAME",
					"policy validate FILE...", NULL };

const struct command policy_command = {
	.name = "policy",
	.synopsis = synopsis,
	.summary = "List the shipped policies, show what a policy means once merged, or check files.",
	.details = "validate exits 0 where every file is valid, 1 where one is not, and 125 where one cannot be read.\n",
	.options = rows,
	.run = command_policy,
};

static int list_shipped(void)
{
	for (size_t i = 0; i < shipped_policy_count; i++) {
		struct error error;
		struct policy *policy;
		if (policy_load(shipped_policies[i].name, NULL, 0, &policy, &error) < 0)
			return command_failed(&error);
		printf("%-12s %s\n", shipped_policies[i].name, policy->description ? policy->description : "");
		policy_free(policy);
	}
	return command_finish(0);
}

static int show_merged(const char *name)
{
	struct error error;
	struct policy *policy;
	if (policy_load(name, NULL, 0, &policy, &error) < 0)
		return command_failed(&error);
	auto_free char *json = policy_to_json(policy);
	size_t length = strlen(json);
	printf("%s%s", json, length && json[length - 1] == '\n' ? "" : "\n");
	policy_free(policy);
	return command_finish(0);
}

static const char *shipped_name(const void *context, size_t index)
{
	(void)context;
	return shipped_policies[index].name;
}

static int show_source(const char *name)
{
	const struct shipped_policy *shipped = shipped_policy_find(name);
	if (shipped) {
		fwrite(shipped->text, 1, shipped->length, stdout);
		return command_finish(0);
	}
	struct error error;
	const char *nearest = options_nearest(name, shipped_policy_count, shipped_name, NULL);
	if (nearest)
		error_set(&error, ENOENT, "no shipped policy \"%s\"; did you mean \"%s\"?", name, nearest);
	else
		error_set(&error, ENOENT, "no shipped policy \"%s\"; see \"bailiff policy list\"", name);
	return command_failed(&error);
}

/* A file that cannot be read is not an invalid policy. */
static int check_readable(const char *path, struct error *error)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return error_system(error, errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return error_set(error, EINVAL, "%s is not a regular file", path);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? error_system(error, errno, "%s", path) : 0;
}

/* 0, EXIT_INVALID or EXIT_BAILIFF_FAILED. What stands here is a file even where its name looks like a shipped policy's. */
static int validate_file(const char *path)
{
	struct error error;
	struct policy *policy;
	size_t length = strlen(path);
	bool is_file_name = strchr(path, '/') || (length > 5 && strcmp(path + length - 5, ".json") == 0);
	auto_free char *name = text_format("%s%s", is_file_name ? "" : "./", path);
	if (check_readable(path, &error) < 0)
		return command_failed(&error);
	if (policy_load(name, NULL, 0, &policy, &error) < 0) {
		command_failed(&error);
		return EXIT_INVALID;
	}
	policy_free(policy);
	printf("%s: valid\n", path);
	return 0;
}

static int validate(char *const *paths)
{
	int worst = 0;
	for (; *paths; paths++) {
		int status = validate_file(*paths);
		worst = status > worst ? status : worst;
	}
	return command_finish(worst);
}

static int usage(const char *what)
{
	struct error error;
	error_set(&error, EINVAL, "%s; see \"bailiff help policy\"", what);
	return command_failed(&error);
}

static int dispatch(bool source, const struct operands *operands)
{
	const char *verb = operands->count ? operands->items[0] : "";
	size_t names = operands->count ? operands->count - 1 : 0;
	if (source && strcmp(verb, "show") != 0)
		return usage("--source belongs to \"policy show\"");
	if (strcmp(verb, "list") == 0)
		return names == 0 ? list_shipped() : usage("policy list takes no names");
	if (strcmp(verb, "show") == 0 && names != 1)
		return usage("policy show takes one name");
	if (strcmp(verb, "show") == 0)
		return source ? show_source(operands->items[1]) : show_merged(operands->items[1]);
	if (strcmp(verb, "validate") == 0)
		return names > 0 ? validate(operands->items + 1) : usage("policy validate takes at least one file");
	return usage(operands->count ? "policy knows list, show and validate" : "policy needs list, show or validate");
}

int command_policy(int argc, char **argv)
{
	bool source = false;
	struct operands operands;
	struct error error;
	if (options_parse(&policy_command, argc, argv, &source, &operands, &error) < 0)
		return command_failed(&error);
	int status = dispatch(source, &operands);
	operands_free(&operands);
	return status;
}
