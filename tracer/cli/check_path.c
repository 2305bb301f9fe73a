#include "cli/check_path.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel follows */

struct walk {
	const struct policy *policy; /* NULL: nothing is judged on the way */
	unsigned access;
	struct text current; /* canonical so far; "" is the root */
	char *pending;       /* what is left, owned */
	unsigned followed;
	bool missing;        /* nothing below can be looked up: by name from here */
	bool objected;       /* a deny or hide entry matched a name on the way */
	struct decision objection;
};

static struct path_request request_for(const struct walk *walk, const char *path)
{
	return (struct path_request){ .access = walk->access, .path = path, .self = getpid() };
}

static void object(struct walk *walk, const char *path, bool hide_only)
{
	if (!walk->policy)
		return;
	struct path_request request = request_for(walk, path);
	struct decision decision = decide_name(walk->policy, &request);
	if (decision.kind == DECISION_ALLOW || (hide_only && decision.kind != DECISION_HIDE))
		return;
	walk->objected = true;
	walk->objection = decision;
}

static void append_component(struct text *path, const char *component, size_t length)
{
	text_append(path, "/");
	text_append_bytes(path, component, length);
}

/* Appends components up to the first `..`: behind that the text says nothing about the name. */
static void append_rest(struct text *path, const char *rest)
{
	while (*rest) {
		rest += strspn(rest, "/");
		size_t length = strcspn(rest, "/");
		if (length == 2 && rest[0] == '.' && rest[1] == '.')
			return;
		if (length > 0 && !(length == 1 && rest[0] == '.'))
			append_component(path, rest, length);
		rest += length;
	}
}

/* Deny and hide see the name after every link step, so the name is shown to them before the link is followed. */
static void show_name(struct walk *walk, const char *link)
{
	struct text name = { 0 };
	text_append(&name, link);
	append_rest(&name, walk->pending);
	object(walk, text_string(&name), false);
	text_free(&name);
}

static int follow(struct walk *walk, const char *target)
{
	if (++walk->followed > LINKS_MAX)
		return -ELOOP;
	if (target[0] == '/')
		text_free(&walk->current);
	char *pending = text_format("%s/%s", target, walk->pending);
	free(walk->pending);
	walk->pending = pending;
	return strlen(pending) < 2 * PATH_MAX ? 0 : -ENAMETOOLONG;
}

static void step_up(struct walk *walk)
{
	const char *current = text_string(&walk->current);
	const char *slash = strrchr(current, '/');
	if (!slash)
		return;
	walk->current.length = (size_t)(slash - current);
	walk->current.bytes[walk->current.length] = '\0';
}

/* Magic links of /proc to what has no name read as "pipe:[123]": there is nothing to follow. */
static bool leads_somewhere(const char *path, const char *target)
{
	return strncmp(path, "/proc/", 6) != 0 || target[0] == '/' || !strstr(target, ":[");
}

static int step_down(struct walk *walk, const char *component)
{
	struct text path = { 0 };
	text_append(&path, text_string(&walk->current));
	append_component(&path, component, strlen(component));

	char target[PATH_MAX];
	ssize_t length = walk->missing ? -1 : readlink(text_string(&path), target, sizeof(target) - 1);
	int number = walk->missing || length >= 0 ? 0 : errno;
	object(walk, text_string(&path), true);
	int result = 0;
	if (length >= 0)
		target[length] = '\0';
	if (length >= 0 && leads_somewhere(text_string(&path), target)) {
		show_name(walk, text_string(&path));
		result = follow(walk, target);
		text_free(&path);
		return result;
	}
	/* EINVAL: it is there and is no link. Anything else, and what lies below cannot be looked up. */
	walk->missing = walk->missing || (length < 0 && number != EINVAL);
	text_free(&walk->current);
	walk->current = path;
	return walk->current.length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Takes the next component off `pending`: owned, NULL at the end. */
static char *next_component(struct walk *walk)
{
	const char *at = walk->pending + strspn(walk->pending, "/");
	size_t length = strcspn(at, "/");
	if (length == 0)
		return NULL;
	char *component = text_duplicate_bytes(at, length);
	char *rest = text_duplicate(at + length);
	free(walk->pending);
	walk->pending = rest;
	return component;
}

static int walk_all(struct walk *walk)
{
	int result = 0;
	while (result == 0 && !walk->objected) {
		auto_free char *component = next_component(walk);
		if (!component)
			break;
		if (strcmp(component, "..") == 0)
			step_up(walk);
		else if (strcmp(component, ".") != 0)
			result = step_down(walk, component);
	}
	return result;
}

static int start(struct walk *walk, const char *path, struct error *error)
{
	if (*path == '\0')
		return error_set(error, ENOENT, "the path is empty");
	if (*path == '/') {
		walk->pending = text_duplicate(path);
		return 0;
	}
	auto_free char *folder = getcwd(NULL, 0);
	if (!folder)
		return error_system(error, errno, "the current directory");
	walk->pending = text_format("%s/%s", folder, path);
	return 0;
}

static int walk_path(struct walk *walk, const char *path, struct error *error)
{
	int result = start(walk, path, error);
	if (result < 0)
		return result;
	result = walk_all(walk);
	if (walk->current.length == 0)
		text_append(&walk->current, "/");
	return result < 0 ? error_system(error, -result, "%s", path) : 0;
}

static void walk_end(struct walk *walk)
{
	text_free(&walk->current);
	free(walk->pending);
}

struct decision check_canonical(const struct policy *policy, unsigned access, const char *path, pid_t self)
{
	struct path_request request = { .access = access, .path = path, .self = self };
	return decide_path(policy, &request);
}

int check_path(const struct policy *policy, unsigned access, const char *path, struct decision *decision, struct error *error)
{
	struct walk walk = { .policy = policy, .access = access };
	int result = walk_path(&walk, path, error);
	if (result == 0 && walk.objected)
		*decision = walk.objection;
	else if (result == 0)
		*decision = check_canonical(policy, access, text_string(&walk.current), getpid());
	walk_end(&walk);
	return result;
}

char *check_resolve(const char *path, struct error *error)
{
	struct walk walk = { .policy = NULL };
	char *canonical = walk_path(&walk, path, error) == 0 ? text_duplicate(text_string(&walk.current)) : NULL;
	walk_end(&walk);
	return canonical;
}
