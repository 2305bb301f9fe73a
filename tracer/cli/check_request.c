#include "cli/check_request.h"

#include "cli/check_path.h"

#include "base/cleanup.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "cli/options.h"
#include "policy/decide.h"
#include "verdict/json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NEAREST_MAX = 4 };

/* The answer to one question: `rule` where it is blocked, the entry or list that says so, and the entries that came
 * nearest. */
struct reply {
	bool blocked;
	enum rule_id rule;
	struct position position;
	struct considered nearest[NEAREST_MAX];
	size_t nearest_count;
};

typedef int ask_function(const struct policy *policy, unsigned access, const char *object, struct reply *reply,
			 struct error *error);

static enum rule_id rule_of_access(unsigned access)
{
	if (access & ACCESS_READ)
		return RULE_BLOCKED_READ;
	if (access & ACCESS_WRITE)
		return RULE_BLOCKED_WRITE;
	return access & ACCESS_EXECUTE ? RULE_BLOCKED_EXECUTE : RULE_BLOCKED_STAT;
}

/* `rule` names what a run would miss where the decision itself names none: a hidden object does not exist for the run,
 * which is as far from allowed as a refusal. */
static void fill_reply(struct reply *reply, const struct decision *decision, enum rule_id rule)
{
	reply->blocked = decision->kind != DECISION_ALLOW;
	reply->rule = decision->rule != RULE_NONE ? decision->rule : rule;
	if (decision->position)
		reply->position = *decision->position;
}

static void consider_path(const struct policy *policy, unsigned access, const char *path, const char *given, pid_t self,
			  struct reply *reply)
{
	const struct path_request request = { .access = access, .path = path, .given = given, .self = self };
	if (reply->blocked)
		reply->nearest_count = decide_consider_path(policy, &request, reply->nearest, NEAREST_MAX);
}

static void consider_address(const struct policy *policy, enum rule_list list, const struct address *address,
			     struct reply *reply)
{
	if (reply->blocked)
		reply->nearest_count = decide_consider_connect(policy, list, address, reply->nearest, NEAREST_MAX);
}

static int ask_path(const struct policy *policy, unsigned access, const char *object, struct reply *reply, struct error *error)
{
	struct decision decision;
	int result = check_path(policy, access, object, &decision, error);
	if (result < 0)
		return result;
	fill_reply(reply, &decision, rule_of_access(access));
	auto_free char *canonical = check_resolve(object, NULL);
	if (canonical)
		consider_path(policy, access, canonical, object, getpid(), reply);
	return 0;
}

/* A socket's path is judged by where it leads, like any other. */
static int resolve_socket(struct address *address, struct error *error)
{
	if (address->kind != ADDRESS_UNIX_PATH)
		return 0;
	auto_free char *canonical = check_resolve(address->path, error);
	if (!canonical)
		return -error->number;
	if (!text_copy(address->path, sizeof(address->path), canonical))
		return error_system(error, ENAMETOOLONG, "%s", canonical);
	address->path_length = strlen(address->path);
	return 0;
}

static int parse_address(const char *object, struct address *address, struct error *error)
{
	int result = address_parse(object, address, error);
	return result < 0 ? error_context(error, "\"%s\"", object) : resolve_socket(address, error);
}

static int ask_connect(const struct policy *policy, unsigned access, const char *object, struct reply *reply,
		       struct error *error)
{
	(void)access;
	struct address address;
	int result = parse_address(object, &address, error);
	if (result < 0)
		return result;
	struct decision decision = decide_connect(policy, &address);
	fill_reply(reply, &decision, RULE_BLOCKED_NETWORK);
	consider_address(policy, LIST_CONNECT, &address, reply);
	return 0;
}

/* Binding a path makes a file there, and needs no entry but "write". */
static int ask_bind(const struct policy *policy, unsigned access, const char *object, struct reply *reply, struct error *error)
{
	(void)access;
	struct address address;
	int result = parse_address(object, &address, error);
	if (result < 0)
		return result;
	if (address.kind == ADDRESS_UNIX_PATH)
		return ask_path(policy, ACCESS_WRITE, address.path, reply, error);
	struct decision decision = decide_bind(policy, &address);
	fill_reply(reply, &decision, RULE_BLOCKED_BIND);
	consider_address(policy, LIST_BIND, &address, reply);
	return 0;
}

static const char *syscall_row_name(const void *context, size_t index)
{
	return ((const struct syscall_row *)context)[index].name;
}

static int unknown_syscall(const char *name, struct error *error)
{
	size_t count;
	const struct syscall_row *all = syscall_rows(&count);
	const char *nearest = options_nearest(name, count, syscall_row_name, all);
	if (nearest)
		return error_set(error, EINVAL, "unknown system call \"%s\"; did you mean \"%s\"?", name, nearest);
	return error_set(error, EINVAL, "unknown system call \"%s\"", name);
}

/* Refused calls are refused whatever their arguments are, and calls that answer ENOSYS are as good as refused. The rest
 * is judged by its arguments when a run makes it; here it is allowed unless the policy names it. */
static bool denied_by_table(const struct syscall_row *row)
{
	return row->disposition == CALL_NOSYS || row->handler == HANDLER_REFUSE || row->handler == HANDLER_SWITCHABLE;
}

static int ask_syscall(const struct policy *policy, unsigned access, const char *object, struct reply *reply,
		       struct error *error)
{
	(void)access;
	const struct syscall_row *row = syscall_by_name(object);
	if (!row)
		return unknown_syscall(object, error);
	struct decision decision = decide_syscall(policy, row->number, denied_by_table(row));
	fill_reply(reply, &decision, RULE_BLOCKED_SYSCALL);
	return 0;
}

static const struct kind {
	const char *name;
	ask_function *ask;
	unsigned access;
} kinds[] = {
	{ "read", ask_path, ACCESS_READ }, { "write", ask_path, ACCESS_WRITE }, { "execute", ask_path, ACCESS_EXECUTE },
	{ "stat", ask_path, ACCESS_STAT }, { "connect", ask_connect, 0 },       { "bind", ask_bind, 0 },
	{ "syscall", ask_syscall, 0 },
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind *find_kind(const char *word)
{
	size_t length = strcspn(word, ":");
	for (size_t i = 0; word[length] == ':' && i < KIND_COUNT; i++)
		if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, word, length) == 0)
			return &kinds[i];
	return NULL;
}

bool check_kind_known(const char *word)
{
	return find_kind(word) != NULL;
}

static const char *kind_name(const void *context, size_t index)
{
	return ((const struct kind *)context)[index].name;
}

static int unknown_kind(const char *word, struct error *error)
{
	auto_free char *name = text_duplicate_bytes(word, strcspn(word, ":"));
	const char *nearest = strchr(word, ':') ? options_nearest(name, KIND_COUNT, kind_name, kinds) : NULL;
	if (nearest)
		return error_set(error, EINVAL, "unknown kind \"%s\"; did you mean \"%s\"?", name, nearest);
	return error_set(error, EINVAL, "\"%s\" is not KIND:OBJECT; see \"bailiff help check\"", word);
}

static void append_place(struct text *line, const struct position *position)
{
	const char *file = position->file ? position->file : "policy";
	text_append_visible(line, file, strlen(file));
	/* On the command line a position has no line, but the number of its word. */
	text_printf(line, ":%u", position->line ? position->line : position->column);
}

/* "  nearest ENTRY (FILE:LINE): why it did not match" */
static void append_nearest(struct text *line, const struct considered *nearest)
{
	text_append(line, "\n  nearest ");
	text_append_visible(line, nearest->rule->text, strlen(nearest->rule->text));
	text_append(line, " (");
	append_place(line, &nearest->rule->position);
	text_append(line, "): ");
	text_append_visible(line, nearest->why, strlen(nearest->why));
}

static int print_reply(const struct reply *reply, bool explain)
{
	struct text line = { 0 };
	text_append(&line, reply->blocked ? "blocked " : "allowed");
	if (reply->blocked) {
		text_printf(&line, "%s ", rule_name(reply->rule));
		append_place(&line, &reply->position);
	}
	for (size_t i = 0; explain && i < reply->nearest_count; i++)
		append_nearest(&line, &reply->nearest[i]);
	puts(text_string(&line));
	text_free(&line);
	return reply->blocked;
}

int check_request(const struct policy *policy, const char *word, bool explain, struct error *error)
{
	const struct kind *kind = find_kind(word);
	if (!kind)
		return unknown_kind(word, error);
	struct reply reply = { 0 };
	const char *object = word + strlen(kind->name) + 1;
	if (*object == '\0')
		return error_set(error, EINVAL, "\"%s\": nothing behind the colon", word);
	int result = kind->ask(policy, kind->access, object, &reply, error);
	return result < 0 ? result : print_reply(&reply, explain);
}

/* ---- what a verdict has recorded ---------------------------------------------------------------------------------- */

static enum rule_id rule_by_name(const char *name)
{
	for (int rule = RULE_NONE + 1; name && rule < RULE_COUNT; rule++)
		if (strcmp(rule_name((enum rule_id)rule), name) == 0)
			return (enum rule_id)rule;
	return RULE_NONE;
}

static unsigned access_bits(const char *text)
{
	unsigned access = 0;
	while (text && *text) {
		size_t length = strcspn(text, ",");
		for (size_t i = 0; i < KIND_COUNT; i++)
			if (strlen(kinds[i].name) == length && memcmp(kinds[i].name, text, length) == 0)
				access |= kinds[i].access;
		text += length + (text[length] == ',');
	}
	return access;
}

/* As recorded: what cannot be asked again stays blocked. */
static void keep_recorded(const cJSON *violation, enum rule_id rule, struct reply *reply)
{
	const cJSON *policy = json_get(violation, "policy");
	*reply = (struct reply){ .blocked = true, .rule = rule };
	reply->position.file = json_string(policy, "file");
	reply->position.line = (unsigned)json_number(policy, "line");
	reply->position.column = (unsigned)json_number(policy, "column");
}

/* The path was canonical when it was recorded, perhaps on another host: it is not looked up again. */
static bool replay_path(const struct policy *policy, const cJSON *violation, enum rule_id rule, struct reply *reply)
{
	const cJSON *path = json_get(violation, "path");
	const char *resolved = json_string(path, "resolved");
	unsigned access = access_bits(json_string(json_get(violation, "operation"), "access"));
	/* A name that is not UTF-8 is in "resolved" only with its wrong bytes replaced: another name. */
	if (!resolved || resolved[0] != '/' || access == 0 || json_get(path, "resolved_base64"))
		return false;
	pid_t self = (pid_t)json_number(json_get(violation, "process"), "pid");
	struct decision decision = check_canonical(policy, access, resolved, self);
	fill_reply(reply, &decision, rule);
	consider_path(policy, access, resolved, json_string(path, "given"), self, reply);
	return true;
}

static bool replay_address(const struct policy *policy, const cJSON *violation, enum rule_id rule, struct reply *reply)
{
	const cJSON *operation = json_get(violation, "operation");
	const char *target = json_string(operation, "target"), *transport = json_string(operation, "flags");
	struct address address;
	if (!target || address_parse(target, &address, NULL) < 0)
		return false;
	/* Without one, an entry has to cover both to match. */
	if (transport && strcmp(transport, "tcp") == 0)
		address.transport = TRANSPORT_TCP;
	if (transport && strcmp(transport, "udp") == 0)
		address.transport = TRANSPORT_UDP;
	bool binds = rule == RULE_BLOCKED_BIND;
	struct decision decision = binds ? decide_bind(policy, &address) : decide_connect(policy, &address);
	fill_reply(reply, &decision, rule);
	consider_address(policy, binds ? LIST_BIND : LIST_CONNECT, &address, reply);
	return true;
}

/* Most refused calls are refused for their arguments (clone with CLONE_NEWUSER), which are not asked again: a recorded one
 * counts as refused by the table, unless an entry of the policy was what refused it. */
static bool replay_syscall(const struct policy *policy, const cJSON *violation, struct reply *reply)
{
	const char *name = json_string(json_get(violation, "operation"), "syscall");
	const char *pointer = json_string(json_get(violation, "policy"), "pointer");
	const struct syscall_row *row = name ? syscall_by_name(name) : NULL;
	if (!row)
		return false;
	bool by_entry = pointer && strncmp(pointer, "/syscalls/deny", strlen("/syscalls/deny")) == 0;
	struct decision decision = decide_syscall(policy, row->number, !by_entry || denied_by_table(row));
	fill_reply(reply, &decision, RULE_BLOCKED_SYSCALL);
	return true;
}

static bool replay(const struct policy *policy, const cJSON *violation, enum rule_id rule, struct reply *reply)
{
	switch (rule) {
	case RULE_BLOCKED_READ:
	case RULE_BLOCKED_WRITE:
	case RULE_BLOCKED_EXECUTE:
	case RULE_BLOCKED_STAT: return replay_path(policy, violation, rule, reply);
	case RULE_BLOCKED_NETWORK:
	case RULE_BLOCKED_BIND: return replay_address(policy, violation, rule, reply);
	case RULE_BLOCKED_SYSCALL: return replay_syscall(policy, violation, reply);
	default: return false;
	}
}

static int replay_one(const struct policy *policy, const cJSON *violation, bool explain)
{
	enum rule_id rule = rule_by_name(json_string(violation, "rule"));
	if (rule_status(rule) != STATUS_POLICY_BLOCKED)
		return 0;
	struct reply reply = { 0 };
	if (!replay(policy, violation, rule, &reply))
		keep_recorded(violation, rule, &reply);
	return print_reply(&reply, explain);
}

int check_replay(const struct policy *policy, const cJSON *verdict, bool explain, struct error *error)
{
	const cJSON *recorded = json_get(json_get(verdict, "violations"), "recorded"), *violation;
	if (!cJSON_IsArray(recorded))
		return error_set(error, EINVAL, "the verdict has no \"violations\"");
	int blocked = 0;
	cJSON_ArrayForEach(violation, recorded)
		blocked |= replay_one(policy, violation, explain);
	return blocked;
}
