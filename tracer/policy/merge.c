/* How a file adds to what it extends: lists add up, single values replace. */
#include "base/text.h"
#include "policy/environment.h"
#include "policy/layer.h"
#include "policy/rules.h"

#include <stdlib.h>

static void replace_text(char **target, char **source)
{
	if (!*source)
		return;
	free(*target);
	*target = *source;
	*source = NULL;
}

static void replace_position(struct position *target, struct position *source)
{
	free(target->pointer);
	*target = *source;
	source->pointer = NULL;
}

static void merge_list(struct rules *target, struct rules *source)
{
	for (size_t i = 0; i < source->count; i++)
		rules_add(target, source->items[i]);
	free(source->items);
	*source = (struct rules){ 0 };
}

/* Where nothing matches, the verdict points to the given file's own list; where it has none, to the last list of the
 * chain; where there is none at all, to the place in the given file. Files come base first: a list always replaces, a
 * mere place only another place. */
static void merge_lists(struct policy *policy, bool listed[static LIST_COUNT], struct policy *source)
{
	for (size_t list = 0; list < LIST_COUNT; list++) {
		merge_list(&policy->lists[list], &source->lists[list]);
		if (source->has.lists[list] || !listed[list])
			replace_position(&policy->missing[list], &source->missing[list]);
		listed[list] |= source->has.lists[list];
	}
}

static void merge_environment(struct policy *policy, struct policy *source)
{
	for (size_t i = 0; i < source->environment_count; i++)
		environment_add(policy, source->environment[i]);
	free(source->environment);
	source->environment = NULL;
	source->environment_count = 0;
}

static void take_limit(struct limit *target, struct limit *source)
{
	replace_position(&target->position, &source->position);
	target->set = true;
	target->value = source->value;
}

static void merge_files(struct policy *policy, struct policy *source)
{
	size_t count = policy->file_count + source->file_count;
	policy->files = memory_resized(policy->files, count, sizeof(*policy->files));
	for (size_t i = 0; i < source->file_count; i++)
		policy->files[policy->file_count + i] = source->files[i];
	policy->file_count = count;
	free(source->files);
	source->files = NULL;
	source->file_count = 0;
}

void layer_merge(struct policy *policy, bool listed[static LIST_COUNT], struct layer *layer)
{
	struct policy *source = &layer->policy;
	replace_text(&policy->name, &source->name);
	replace_text(&policy->description, &source->description);
	merge_lists(policy, listed, source);
	merge_environment(policy, source);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (source->limits[i].set)
			take_limit(&policy->limits[i], &source->limits[i]);
	if (source->stat_position.file) {
		policy->stat_listed = source->stat_listed;
		replace_position(&policy->stat_position, &source->stat_position);
	}
	if (layer->on_violation_set)
		policy->on_violation = source->on_violation;
	policy->has = source->has;
	merge_files(policy, source);
	layer_free(layer);
}

void layer_merge_limits(struct policy *policy, struct layer *layer)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (!policy->limits[i].set && layer->policy.limits[i].set)
			take_limit(&policy->limits[i], &layer->policy.limits[i]);
}
