#include "cli/copies.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* ---- options ------------------------------------------------------------------------------------------------------ */

/* A name that leads nowhere but to an entry of the workspace itself. */
static int check_name(const char *option, const char *name, struct error *error)
{
	if (*name == '\0')
		return error_set(error, EINVAL, "--%s: the name in the workspace is empty", option);
	if (strchr(name, '/'))
		return error_set(error, EINVAL, "--%s: %s: a name in the workspace has no slash", option, name);
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return error_set(error, EINVAL, "--%s: %s is no name of a file", option, name);
	if (strlen(name) > NAME_MAX)
		return error_system(error, ENAMETOOLONG, "--%s: %s", option, name);
	return 0;
}

static int check_new(const struct copy_wishes *wishes, const char *option, const char *name, struct error *error)
{
	for (size_t i = 0; i < wishes->count; i++)
		if (strcmp(wishes->items[i].inside, name) == 0)
			return error_set(error, EINVAL, "--%s: %s is named twice", option, name);
	return 0;
}

/* Takes over what `wish` owns, also on failure. */
static int add_wish(struct copy_wishes *wishes, const char *option, struct copy_wish wish, struct error *error)
{
	int failed = check_name(option, wish.inside, error);
	if (!failed && wish.outside && *wish.outside == '\0')
		failed = error_set(error, EINVAL, "--%s: the path outside the workspace is empty", option);
	if (!failed)
		failed = check_new(wishes, option, wish.inside, error);
	if (failed) {
		free(wish.inside);
		free(wish.owned);
		return failed;
	}
	wishes->items = memory_resized(wishes->items, wishes->count + 1, sizeof(*wishes->items));
	wishes->items[wishes->count++] = wish;
	return 0;
}

int copies_add_put(struct copy_wishes *wishes, const struct option_use *use, struct error *error)
{
	const char *colon = strrchr(use->value, ':'), *slash = strrchr(use->value, '/');
	struct copy_wish wish = { .outside = use->value };
	if (colon) {
		wish.owned = text_duplicate_bytes(use->value, (size_t)(colon - use->value));
		wish.outside = wish.owned;
		wish.inside = text_duplicate(colon + 1);
	} else {
		wish.inside = text_duplicate(slash ? slash + 1 : use->value);
	}
	return add_wish(wishes, use->row->name, wish, error);
}

int copies_add_named_put(struct copy_wishes *wishes, char *inside, char *source, struct error *error)
{
	return add_wish(wishes, "put", (struct copy_wish){ .inside = inside, .outside = source, .owned = source }, error);
}

int copies_add_get(struct copy_wishes *wishes, const struct option_use *use, struct error *error)
{
	const char *colon = strchr(use->value, ':');
	size_t length = strcspn(use->value, ":");
	struct copy_wish wish = { .inside = text_duplicate_bytes(use->value, length), .outside = colon ? colon + 1 : NULL };
	return add_wish(wishes, use->row->name, wish, error);
}

void copy_wishes_free(struct copy_wishes *wishes)
{
	for (size_t i = 0; i < wishes->count; i++) {
		free(wishes->items[i].inside);
		free(wishes->items[i].owned);
	}
	free(wishes->items);
	*wishes = (struct copy_wishes){ 0 };
}

/* ---- one run ------------------------------------------------------------------------------------------------------ */

static int open_artifact(struct copies *copies, const struct copy_wish *wish, const char *cwd, struct error *error)
{
	const char *given = wish->outside ? wish->outside : wish->inside;
	auto_free char *path = *given == '/' ? text_duplicate(given) : text_format("%s/%s", strcmp(cwd, "/") ? cwd : "", given);
	struct artifact *artifact = &copies->artifacts[copies->artifact_count++];
	int failed = artifact_open(artifact, wish->inside, path, error);
	for (size_t i = 0; !failed && i + 1 < copies->artifact_count; i++)
		if (strcmp(copies->artifacts[i].saved_as, artifact->saved_as) == 0)
			failed = error_set(error, EINVAL, "%s is named twice", path);
	return failed ? error_context(error, "--get") : 0;
}

int copies_prepare(struct copies *copies, const struct copy_wishes *put, const struct copy_wishes *get, const char *cwd,
		   int folder, struct error *error)
{
	copies->inputs = memory_zeroed(put->count + 1, sizeof(*copies->inputs));
	copies->artifacts = memory_zeroed(get->count + 1, sizeof(*copies->artifacts));
	for (size_t i = 0; i < get->count; i++) {
		int failed = open_artifact(copies, &get->items[i], cwd, error);
		if (failed)
			return failed;
	}
	for (size_t i = 0; i < put->count; i++) {
		struct artifact_input *input = &copies->inputs[copies->input_count++];
		*input = (struct artifact_input){ .source = put->items[i].outside, .name = put->items[i].inside };
		if (artifact_put(folder, input, error) < 0)
			return error_context(error, "--put");
	}
	return 0;
}

void copies_take(struct copies *copies, int folder, const struct policy *policy, struct run_record *record)
{
	for (size_t i = 0; i < copies->input_count; i++)
		artifact_note_input(folder, &copies->inputs[i], record);
	for (size_t i = 0; i < copies->artifact_count; i++)
		artifact_take(folder, policy, record, &copies->artifacts[i]);
}

void copies_free(struct copies *copies)
{
	for (size_t i = 0; i < copies->artifact_count; i++)
		artifact_discard(&copies->artifacts[i]);
	free(copies->artifacts);
	free(copies->inputs);
	*copies = (struct copies){ 0 };
}
