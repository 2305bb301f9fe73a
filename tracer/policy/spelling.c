#include "policy/spelling.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "policy/pattern.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as the kernel (MAXSYMLINKS) */

/* A walk in progress: `done` is canonical, without a slash at its end; `rest` is still to go. */
struct walk {
	struct text done;
	char *rest;
	unsigned links;
	bool in_process; /* below the folder of a process: nothing is followed any more */
};

static bool is_process_folder(const struct walk *walk, const char *name, size_t length)
{
	if (strcmp(text_string(&walk->done), "/proc") != 0)
		return false;
	bool self =
		(length == 4 && memcmp(name, "self", 4) == 0) || (length == 11 && memcmp(name, "thread-self", 11) == 0);
	return self || strspn(name, "0123456789") == length;
}

static void walk_up(struct walk *walk)
{
	char *slash = walk->done.bytes ? strrchr(walk->done.bytes, '/') : NULL;
	if (!slash)
		return;
	*slash = '\0';
	walk->done.length = (size_t)(slash - walk->done.bytes);
}

/* Puts the target of a link in front of what is left to go. */
static void walk_into_link(struct walk *walk, const char *target, const char *behind)
{
	char *rest = text_format("%s/%s", target, behind);
	if (target[0] == '/')
		text_free(&walk->done);
	free(walk->rest);
	walk->rest = rest;
	walk->links++;
}

/* Enters one component; true where it is a link, whose target is in `target` then. */
static bool walk_enter(struct walk *walk, const char *name, size_t length, char target[static PATH_MAX])
{
	if (length == 1 && name[0] == '.')
		return false;
	if (length == 2 && memcmp(name, "..", 2) == 0) {
		walk_up(walk);
		return false;
	}
	walk->in_process |= is_process_folder(walk, name, length);
	text_printf(&walk->done, "/%.*s", (int)length, name);
	ssize_t size = walk->in_process ? -1 : readlink(walk->done.bytes, target, PATH_MAX - 1);
	if (size <= 0)
		return false;
	target[size] = '\0';
	walk_up(walk);
	return true;
}

/* Takes the first component of `rest`; false when nothing is left. */
static bool walk_step(struct walk *walk)
{
	const char *name = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(name, "/");
	char target[PATH_MAX];
	if (length == 0)
		return false;
	auto_free char *behind = text_duplicate(name + length);
	if (walk_enter(walk, name, length, target)) {
		walk_into_link(walk, target, behind);
		return true;
	}
	free(walk->rest);
	walk->rest = text_duplicate(behind);
	return true;
}

char *spelling_resolve(const char *path)
{
	struct walk walk = { .rest = text_duplicate(path) };
	while (walk.links <= LINKS_MAX && walk_step(&walk))
		;
	free(walk.rest);
	if (walk.links > LINKS_MAX) {
		text_free(&walk.done);
		return NULL;
	}
	if (walk.done.length == 0) {
		text_free(&walk.done);
		return text_duplicate("/");
	}
	return walk.done.bytes;
}

static void spellings_add(struct spellings *spellings, char *text)
{
	for (size_t i = 0; i < spellings->count; i++) {
		if (strcmp(spellings->texts[i], text) == 0) {
			free(text);
			return;
		}
	}
	spellings->texts[spellings->count++] = text;
}

/* The first `length` bytes of `text`, which are literal, resolved and quoted again, with the rest behind them. */
static void add_resolved(struct spellings *spellings, const char *text, size_t length)
{
	auto_free char *folder = pattern_unquote(text, length);
	auto_free char *resolved = spelling_resolve(folder);
	if (!resolved)
		return;
	auto_free char *quoted = pattern_quote(resolved);
	bool root = strcmp(quoted, "/") == 0 && text[length] == '/';
	spellings_add(spellings, text_format("%s%s", root ? "" : quoted, text + length));
}

void spellings_find(const char *text, struct spellings *spellings)
{
	*spellings = (struct spellings){ 0 };
	spellings_add(spellings, text_duplicate(text));
	size_t folder = pattern_literal_folder(text);
	if (folder > 0)
		add_resolved(spellings, text, folder);
	if (pattern_is_literal(text))
		add_resolved(spellings, text, strlen(text));
}

void spellings_free(struct spellings *spellings)
{
	for (size_t i = 0; i < spellings->count; i++)
		free(spellings->texts[i]);
	*spellings = (struct spellings){ 0 };
}
