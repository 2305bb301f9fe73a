#include "cli/apply.h"

#include "base/cleanup.h"
#include "policy/patch.h"
#include "policy/policy.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A verdict may come from anywhere, and whoever applies a suggestion has read one line of it: what adds to an allowlist or
 * raises a limit is a suggestion, and nothing else ("on_violation", "extends", the environment) becomes one by being
 * written where suggestions stand. */
static bool may_be_suggested(const char *pointer)
{
	static const char *const parents[] = { "/paths", "/network", "/syscalls", "/limits" };
	for (size_t i = 0; pointer && i < sizeof(parents) / sizeof(*parents); i++) {
		size_t length = strlen(parents[i]);
		if (strncmp(pointer, parents[i], length) == 0 && (pointer[length] == '\0' || pointer[length] == '/'))
			return true;
	}
	return false;
}

static const cJSON *find_suggestion(const cJSON *failure, uint64_t number, struct error *error)
{
	int count = json_length(failure, "suggestions");
	if (!cJSON_IsObject(failure)) {
		error_set(error, ENOENT, "the verdict has no failure: there is nothing to apply");
		return NULL;
	}
	if (count == 0) {
		const char *why = explain_unopened(failure);
		error_set(error, ENOENT, "the verdict has no suggestion%s%s", why ? ". " : "", why ? why : "");
		return NULL;
	}
	if (number == 0 || number > (uint64_t)count) {
		error_set(error, ERANGE, "--apply %" PRIu64 ": the verdict has %d suggestion%s, counted from 1", number, count,
			  count == 1 ? "" : "s");
		return NULL;
	}
	return cJSON_GetArrayItem(json_get(failure, "suggestions"), (int)number - 1);
}

/* The one entry that is added to a list: "/a", also where the list itself is missing: ["/a"]. */
static const char *entry_of(const cJSON *suggestion)
{
	const cJSON *value = json_get(suggestion, "value");
	if (cJSON_IsArray(value) && cJSON_GetArraySize(value) == 1)
		value = value->child;
	return cJSON_GetStringValue(value);
}

/* Opening a file for reading and writing needs an entry in two lists, which are two additions of the same entry: one
 * without the other would let nothing pass. */
static bool belong_together(const cJSON *left, const cJSON *right)
{
	const char *one = json_string(left, "pointer"), *other = json_string(right, "pointer");
	const char *entry = entry_of(left), *same = entry_of(right);
	if (!one || !other || !entry || !same || strncmp(one, "/paths/", 7) != 0 || strncmp(other, "/paths/", 7) != 0)
		return false;
	return strcmp(one, other) != 0 && strcmp(entry, same) == 0;
}

static int add(const cJSON *suggestion, struct text *text, struct error *error)
{
	const char *pointer = json_string(suggestion, "pointer");
	const cJSON *value = json_get(suggestion, "value");
	struct text patched = { 0 };
	if (!may_be_suggested(pointer) || !value)
		return error_set(error, EINVAL, "the verdict's suggestion adds to no list and no limit");
	int result = patch_add(text_string(text), pointer, value, &patched, error);
	text_free(text);
	*text = patched;
	return result;
}

static int add_all(const cJSON *failure, const cJSON *chosen, struct text *text, struct error *error)
{
	int result = 0;
	const cJSON *suggestion;
	cJSON_ArrayForEach(suggestion, json_get(failure, "suggestions"))
		if (result == 0 && (suggestion == chosen || belong_together(chosen, suggestion)))
			result = add(suggestion, text, error);
	return result;
}

static int validate(const char *file, const char *text, size_t length, struct error *error)
{
	struct policy *policy;
	int result = policy_load_text(file, text, length, NULL, 0, &policy, error);
	if (result == 0)
		policy_free(policy);
	return result;
}

int apply_suggestion(const cJSON *verdict, uint64_t number, const char *policy, struct text *out, struct error *error)
{
	const cJSON *failure = json_get(verdict, "first_failure");
	const cJSON *chosen = find_suggestion(failure, number, error);
	if (!chosen)
		return -error->number;
	auto_free char *file = NULL, *text = NULL;
	size_t length;
	int result = policy_read_text(policy, &file, &text, &length, error);
	/* First as it is, so that a fault which was there already is told with its own line. */
	if (result == 0)
		result = validate(file, text, length, error);
	if (result < 0)
		return result;

	text_append_bytes(out, text, length);
	result = add_all(failure, chosen, out, error);
	if (result < 0)
		return error_context(error, "%s", policy);
	result = validate(file, out->bytes, out->length, error);
	return result < 0 ? error_context(error, "with the suggestion applied") : 0;
}
