#include "policy/rules.h"

#include "base/syscalls.h"
#include "base/text.h"
#include "policy/complain.h"
#include "policy/variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const pointers[LIST_COUNT] = {
	[LIST_READ] = "/paths/read",
	[LIST_WRITE] = "/paths/write",
	[LIST_EXECUTE] = "/paths/execute",
	[LIST_DENY] = "/paths/deny",
	[LIST_HIDE] = "/paths/hide",
	[LIST_CONNECT] = "/network/connect",
	[LIST_BIND] = "/network/bind",
	[LIST_SYSCALL_ALLOW] = "/syscalls/allow",
	[LIST_SYSCALL_DENY] = "/syscalls/deny",
};

const char *rule_list_pointer(enum rule_list list)
{
	return pointers[list];
}

bool rule_list_is_path(enum rule_list list)
{
	return list <= LIST_HIDE;
}

bool rule_is_folders_only(enum rule_list list, const char *text)
{
	size_t length = strlen(text);
	return list == LIST_READ && length > 1 && text[length - 1] == '/' && text[length - 2] != '/';
}

const char *rule_variable_place(enum rule_list list, const char *text)
{
	const char *place = text;
	if (list == LIST_SYSCALL_ALLOW || list == LIST_SYSCALL_DENY)
		return NULL;
	if (!rule_list_is_path(list)) {
		if (strncmp(text, "unix:", 5) != 0)
			return NULL;
		place = text + 5;
	}
	return variable_leads(place) ? place : NULL;
}

/* ---- checks ---- */

/* Puts a path of the same length in the place of the variable, so that byte numbers in errors stay right. */
static int fill_in(enum rule_list list, char *text, struct error *error)
{
	const char *place = rule_variable_place(list, text);
	if (!place)
		return 0;
	enum variable variable;
	size_t length;
	if (variable_read(place, &variable, &length, error) != 0)
		return -EINVAL;
	char *start = text + (place - text);
	memset(start, 'v', length);
	start[0] = '/';
	return 0;
}

static int check_pattern(const char *text, struct error *error)
{
	struct path_pattern *pattern;
	int result = pattern_compile(text, &pattern, error);
	pattern_free(pattern);
	return result;
}

/* A relative path of the command line: `./` and `../` in front are resolved against a directory that holds no links;
 * further on `..` could mean another folder than the letters say, and the pattern refuses it. */
static int check_relative(const char *text, struct error *error)
{
	while (strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0)
		text = strchr(text, '/') + 1;
	if (*text == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return 0;
	char *absolute = text_format("/%s", text);
	int result = check_pattern(absolute, error);
	free(absolute);
	return result;
}

static int check_path(const char *text, bool from_command_line, struct error *error)
{
	if (text[0] == '/')
		return check_pattern(text, error);
	if (from_command_line)
		return check_relative(text, error);
	if (text[0] == '~')
		return error_set(error, EINVAL, "'~' has no meaning here; the caller's home folder is ${HOME}");
	if (text[0] == '$')
		return error_set(error, EINVAL, "a variable is written ${NAME}");
	return error_set(error, EINVAL, "a pattern starts with '/' or \"${\"");
}

static int check_address(enum rule_list list, const char *text, struct error *error)
{
	struct address_pattern pattern;
	int result = address_pattern_parse(text, &pattern, error);
	if (result != 0)
		return result;
	bool one_host = (pattern.kind == ADDRESS_IPV4 && pattern.prefix_bits == 32) ||
			(pattern.kind == ADDRESS_IPV6 && pattern.prefix_bits == 128);
	struct address address = { .kind = pattern.kind };
	memcpy(address.bytes, pattern.bytes, sizeof(pattern.bytes));
	if (list == LIST_CONNECT && one_host && !pattern.localhost && address_is_wildcard(&address))
		result = error_set(
			error, EINVAL,
			"as a destination this address is the host itself; write localhost:PORT (any host is %s)",
			pattern.kind == ADDRESS_IPV4 ? "0.0.0.0/0" : "[::]/0");
	if (list == LIST_BIND && pattern.kind == ADDRESS_UNIX_PATH)
		result = error_set(error, EINVAL, "binding a path needs \"write\" there; list it under paths.write");
	address_pattern_free(&pattern);
	return result;
}

static int refuse_call_name(const char *text, struct error *error)
{
	char question[NEAREST_TEXT];
	struct nearest nearest = { .word = text };
	size_t count;
	const struct syscall_row *rows = syscall_rows(&count);
	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest, rows[i].name);
	nearest_format(&nearest, question);
	return error_set(error, EINVAL, "unknown system call \"%.60s\"%s", text, question);
}

static int check_call(enum rule_list list, const char *text, struct error *error)
{
	const struct syscall_row *row = syscall_by_name(text);
	if (!row)
		return refuse_call_name(text, error);
	if (list == LIST_SYSCALL_ALLOW && !syscall_is_switchable(row))
		return error_set(error, EINVAL, "%s is not switchable: \"allow\" opens only %s", row->name,
				 "memfd_create, System V IPC (shmget, semget, msgget) and message queues (mq_open)");
	/* The supervisor's own messages use this number: a stop there would take them for the target's. */
	if (row->number == SYSCALL_INJECT)
		return error_set(error, EINVAL, "%s cannot be denied: it answers ENOSYS in every run", row->name);
	return 0;
}

int rule_check(enum rule_list list, const char *text, bool from_command_line, struct error *error)
{
	if (*text == '\0')
		return error_set(error, EINVAL, "an empty string");
	char *filled = text_duplicate(text);
	int result = fill_in(list, filled, error);
	if (rule_is_folders_only(list, filled))
		filled[strlen(filled) - 1] = '\0';
	if (result == 0 && rule_list_is_path(list))
		result = check_path(filled, from_command_line, error);
	else if (result == 0 && (list == LIST_CONNECT || list == LIST_BIND))
		result = check_address(list, filled, error);
	else if (result == 0)
		result = check_call(list, filled, error);
	free(filled);
	return result;
}

/* ---- lists ---- */

struct rule rule_make(const char *text, struct position position)
{
	return (struct rule){ .text = text_duplicate(text), .position = position, .syscall_number = -1 };
}

static void rule_free(struct rule *rule)
{
	for (size_t i = 0; i < rule->pattern_count; i++)
		pattern_free(rule->patterns[i]);
	free(rule->patterns);
	free(rule->text);
	free(rule->position.pointer);
	address_pattern_free(&rule->address);
}

void rules_add(struct rules *rules, struct rule rule)
{
	bool full = (rules->count & (rules->count - 1)) == 0; /* room is made by doubling: at every power of two */
	if (full)
		rules->items = memory_resized(rules->items, rules->count ? 2 * rules->count : 1, sizeof(rule));
	rules->items[rules->count++] = rule;
}

void rules_free(struct rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		rule_free(&rules->items[i]);
	free(rules->items);
	*rules = (struct rules){ 0 };
}
