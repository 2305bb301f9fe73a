/* From a name to a merged policy: reads the files of a chain of "extends", then the command line. */
#include "base/bug.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/complain.h"
#include "policy/environment.h"
#include "policy/layer.h"
#include "policy/limits.h"
#include "policy/json_scan.h"
#include "policy/rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { CHAIN_MAX = 16 };

static const char command_line[] = "command line";
static const char default_file[] = "policy:default";

/* The files read so far, the one given with -p first. */
struct chain {
	size_t count;
	struct layer layers[CHAIN_MAX];
	struct identity {
		dev_t device;
		ino_t inode; /* 0 for a text that is no file */
	} identities[CHAIN_MAX];
};

struct source {
	char *file; /* owned */
	const char *text;
	char *owned; /* what `text` points to where it was read */
	size_t length;
	bool embedded;
	struct identity identity;
};

static void source_free(struct source *source)
{
	free(source->file);
	free(source->owned);
}

static bool names_file(const char *name)
{
	size_t length = strlen(name);
	return strchr(name, '/') || (length >= 5 && strcmp(name + length - 5, ".json") == 0);
}

/* ---- reading one file ---- */

static int read_whole(int fd, struct source *source, struct error *error)
{
	source->owned = memory_zeroed(JSON_MAX_BYTES + 1, 1);
	while (source->length <= JSON_MAX_BYTES) {
		ssize_t count = read(fd, source->owned + source->length, JSON_MAX_BYTES + 1 - source->length);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_system(error, errno, "%s: cannot read the policy", source->file);
		if (count == 0)
			break;
		source->length += (size_t)count;
	}
	source->text = source->owned;
	if (source->length > JSON_MAX_BYTES)
		return error_set(error, EFBIG, "%s: the policy is larger than 1 MiB", source->file);
	return 0;
}

/* Opened without blocking, then looked at: a FIFO or a device that somebody put in its place must not hang us. */
static int source_read_file(const char *file, struct source *source, struct error *error)
{
	struct stat status;
	source->file = text_duplicate(file);
	auto_fd int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return error_system(error, errno, "%s: cannot open the policy", file);
	if (fstat(fd, &status) != 0)
		return error_system(error, errno, "%s: cannot examine the policy", file);
	if (!S_ISREG(status.st_mode))
		return error_set(error, S_ISDIR(status.st_mode) ? EISDIR : EINVAL,
				 "%s: the policy is not a regular file", file);
	source->identity = (struct identity){ status.st_dev, status.st_ino };
	return read_whole(fd, source, error);
}

static int source_find_shipped(const char *name, struct source *source, struct error *error)
{
	const struct shipped_policy *shipped = shipped_policy_find(name);
	if (shipped) {
		source->file = text_format("policy:%s", name);
		source->text = shipped->text;
		source->length = shipped->length;
		source->embedded = true;
		return 0;
	}
	char question[NEAREST_TEXT];
	struct nearest nearest = { .word = name };
	struct text known = { 0 };
	for (size_t i = 0; i < shipped_policy_count; i++) {
		nearest_offer(&nearest, shipped_policies[i].name);
		text_printf(&known, "%s%s", i ? ", " : "", shipped_policies[i].name);
	}
	nearest_format(&nearest, question);
	int result = error_set(
		error, ENOENT,
		"no shipped policy is called \"%.60s\"%s (there are %s; a file's name has a '/' or ends in .json)",
		name, question, text_string(&known));
	text_free(&known);
	return result;
}

static int source_find(const char *name, struct source *source, struct error *error)
{
	*source = (struct source){ 0 };
	int result =
		names_file(name) ? source_read_file(name, source, error) : source_find_shipped(name, source, error);
	if (result != 0)
		source_free(source);
	return result;
}

/* ---- the chain ---- */

/* A file is the same file under every name that leads to it. */
static bool is_in_chain(const struct chain *chain, const struct source *source)
{
	for (size_t i = 0; i < chain->count; i++) {
		const struct identity *known = &chain->identities[i];
		bool same_file = source->identity.inode != 0 && known->inode == source->identity.inode &&
				 known->device == source->identity.device;
		if (same_file || strcmp(chain->layers[i].policy.files[0].file, source->file) == 0)
			return true;
	}
	return false;
}

static int refuse_circle(const struct chain *chain, const struct source *source, struct error *error)
{
	struct text circle = { 0 };
	for (size_t i = 0; i < chain->count; i++)
		text_printf(&circle, "%s -> ", chain->layers[i].policy.files[0].file);
	text_append(&circle, source->file);
	int result = complain_at(error, &chain->layers[chain->count - 1].extends_position,
				 "\"extends\" goes in a circle: %s", text_string(&circle));
	text_free(&circle);
	return result;
}

static int chain_add(struct chain *chain, const struct source *source, struct error *error)
{
	struct layer *layer = &chain->layers[chain->count];
	int result = layer_read(layer, source->file, source->embedded, source->text, source->length, error);
	if (result == 0)
		chain->identities[chain->count++] = source->identity;
	return result;
}

/* A file's name in "extends" is relative to the file that says it. */
static char *parent_name(const struct layer *layer)
{
	const char *file = layer->policy.files[0].file;
	const char *slash = strrchr(file, '/');
	if (!names_file(layer->extends) || layer->extends[0] == '/' || !slash)
		return text_duplicate(layer->extends);
	return text_format("%.*s/%s", (int)(slash - file), file, layer->extends);
}

static int chain_add_parent(struct chain *chain, struct error *error)
{
	const struct layer *child = &chain->layers[chain->count - 1];
	if (chain->count == CHAIN_MAX)
		return complain_at(error, &child->extends_position, "more than %d files extend each other", CHAIN_MAX);

	auto_free char *name = parent_name(child);
	struct source source;
	struct error inner = { 0 };
	if (source_find(name, &source, &inner) != 0)
		return complain_at(error, &child->extends_position, "%s", inner.message);
	int result =
		is_in_chain(chain, &source) ? refuse_circle(chain, &source, error) : chain_add(chain, &source, error);
	source_free(&source);
	return result;
}

static int chain_complete(struct chain *chain, struct error *error)
{
	while (chain->layers[chain->count - 1].extends) {
		int result = chain_add_parent(chain, error);
		if (result != 0)
			return result;
	}
	return 0;
}

static void chain_free(struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		layer_free(&chain->layers[i]);
	free(chain);
}

/* ---- the command line ---- */

static int override_list(struct policy *policy, const struct policy_override *override, struct position position,
			 struct error *error)
{
	enum rule_list list = (enum rule_list)override->id;
	int result = rule_check(list, override->text, true, error);
	if (result != 0)
		return result;
	position.pointer = text_duplicate(rule_list_pointer(list));
	rules_add(&policy->lists[list], rule_make(override->text, position));
	return 0;
}

static int override_limit(struct policy *policy, const struct policy_override *override, struct position position,
			  struct error *error)
{
	enum limit_id id = (enum limit_id)override->id;
	uint64_t value;
	if (limit_parse(id, override->text, &value, error) != 0)
		return -EINVAL;
	free(policy->limits[id].position.pointer);
	position.pointer = text_format("/limits/%s", limit_rows[id].key);
	policy->limits[id] = (struct limit){ .set = true, .value = value, .position = position };
	return 0;
}

/* NAME passes a variable on, NAME=VALUE sets it. */
static int override_environment(struct policy *policy, const struct policy_override *override, struct position position,
				struct error *error)
{
	const char *equals = strchr(override->text, '=');
	size_t length = equals ? (size_t)(equals - override->text) : strlen(override->text);
	auto_free char *name = text_duplicate_bytes(override->text, length);
	int result = equals ? environment_check_set(name, equals + 1, error) : environment_check_pass(name, error);
	if (result != 0)
		return result;
	position.pointer = text_duplicate(equals ? "/environment/set" : "/environment/pass");
	environment_add(policy, (struct environment_entry){ .name = text_duplicate(name), .position = position,
							     .value = equals ? text_duplicate(equals + 1) : NULL });
	return 0;
}

static int override_on_violation(struct policy *policy, const struct policy_override *override, struct error *error)
{
	if (!on_violation_parse(override->text, &policy->on_violation))
		return error_set(error, EINVAL, "on-violation is kill, deny or log, not \"%.60s\"", override->text);
	return 0;
}

static int override_apply(struct policy *policy, const struct policy_override *override, struct error *error)
{
	struct position position = { .file = command_line, .column = override->argv_index };
	struct error inner = { 0 };
	int result = -EINVAL;
	switch (override->kind) {
	case OVERRIDE_LIST:
		result = override_list(policy, override, position, &inner);
		break;
	case OVERRIDE_LIMIT:
		result = override_limit(policy, override, position, &inner);
		break;
	case OVERRIDE_ENVIRONMENT:
		result = override_environment(policy, override, position, &inner);
		break;
	case OVERRIDE_ON_VIOLATION:
		result = override_on_violation(policy, override, &inner);
		break;
	}
	return result == 0 ? 0 : complain_at(error, &position, "%s", inner.message);
}

/* ---- putting it together ---- */

static bool has_all_limits(const struct policy *policy)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (!policy->limits[i].set)
			return false;
	return true;
}

/* The limits of `default`, and nothing else of it, hold for whatever sets none. They are named by a string that lives
 * as long as the program: `default` itself is no part of the chain. */
static int merge_default_limits(struct policy *policy, struct error *error)
{
	struct layer layer;
	if (has_all_limits(policy))
		return 0;
	const struct shipped_policy *shipped = shipped_policy_find("default");
	bug_unless(shipped);
	int result = layer_read(&layer, default_file, true, shipped->text, shipped->length, error);
	if (result != 0)
		return result;
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		layer.policy.limits[i].position.file = default_file;
	layer_merge_limits(policy, &layer);
	layer_free(&layer);
	bug_unless(has_all_limits(policy));
	return 0;
}

static int merge_chain(struct chain *chain, const struct policy_override *overrides, size_t override_count,
		       struct policy *policy, struct error *error)
{
	bool listed[LIST_COUNT] = { false };
	while (chain->count > 0)
		layer_merge(policy, listed, &chain->layers[--chain->count]);
	for (size_t i = 0; i < override_count; i++)
		if (override_apply(policy, &overrides[i], error) != 0)
			return -EINVAL;
	return merge_default_limits(policy, error);
}

static int load_source(const struct source *source, const struct policy_override *overrides, size_t override_count,
		       struct policy **policy, struct error *error)
{
	struct chain *chain = memory_zeroed(1, sizeof(*chain));
	struct policy *merged = memory_zeroed(1, sizeof(*merged));
	int result = chain_add(chain, source, error);
	if (result == 0)
		result = chain_complete(chain, error);
	if (result == 0)
		result = merge_chain(chain, overrides, override_count, merged, error);
	chain_free(chain);
	if (result == 0)
		*policy = merged;
	else
		policy_free(merged);
	return result;
}

int policy_load(const char *name, const struct policy_override *overrides, size_t override_count,
		struct policy **policy, struct error *error)
{
	struct source source;
	*policy = NULL;
	int result = source_find(name ? name : "default", &source, error);
	if (result != 0)
		return result;
	result = load_source(&source, overrides, override_count, policy, error);
	source_free(&source);
	return result;
}

int policy_read_text(const char *name, char **file, char **text, size_t *length, struct error *error)
{
	struct source source;
	int result = source_find(name, &source, error);
	if (result != 0)
		return result;
	*file = text_duplicate(source.file);
	*text = text_duplicate_bytes(source.text, source.length);
	*length = source.length;
	source_free(&source);
	return 0;
}

int policy_load_text(const char *file_name, const char *text, size_t length, const struct policy_override *overrides,
		     size_t override_count, struct policy **policy, struct error *error)
{
	const struct source source = { .file = text_duplicate(file_name), .text = text, .length = length };
	*policy = NULL;
	int result = load_source(&source, overrides, override_count, policy, error);
	free(source.file);
	return result;
}
