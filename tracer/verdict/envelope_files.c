/* The files of a run in its envelope: what was executed, what was read, and the program's own text. */
#include "verdict/json.h"
#include "verdict/parts.h"

#include "base/cleanup.h"

#include <string.h>

/* The private folder has another name in every run: what is in it is written with the variable. */
static void add_path(cJSON *item, const char *path, const struct verdict_context *context)
{
	const char *folder = context->variables ? context->variables->workspace : NULL;
	size_t length = folder ? strlen(folder) : 0;
	if (length == 0 || strncmp(path, folder, length) != 0 || path[length] != '/') {
		json_add_string(item, "path", path);
		return;
	}
	auto_free char *shown = text_format("${WORKSPACE}%s", path + length);
	json_add_string(item, "path", shown);
}

static void add_hash(cJSON *item, const struct record_file *file)
{
	json_add_string(item, "sha256", file->sha256);
	json_add_string(item, "not_hashed", file->sha256[0] ? NULL : file->not_hashed);
}

static void add_programs(cJSON *envelope, const struct record_files *programs, const struct verdict_context *context)
{
	cJSON *array = json_add_array(envelope, "programs");
	unsigned count = atomic_load(&programs->count);
	for (unsigned i = 0; i < count && i < RECORD_FILE_MAX; i++) {
		const struct record_file *file = &programs->items[i];
		cJSON *item = json_append_object(array);
		add_path(item, file->path.bytes, context);
		json_add_number(item, "bytes", (int64_t)file->bytes);
		add_hash(item, file);
		json_add_string(item, "build_id", file->build_id);
		json_add_string(item, "version", file->version);
		json_add_bool(item, "made_in_run", file->changed_in_run);
	}
	json_add_number(envelope, "programs_more", atomic_load(&programs->more));
}

static void add_copy(cJSON *array, const struct verdict_copy *copy)
{
	cJSON *item = json_append_object(array);
	auto_free char *path = text_format("${WORKSPACE}/%s", copy->name);
	json_add_string(item, "path", path);
	json_add_number(item, "bytes", (int64_t)copy->bytes);
	json_add_string(item, "sha256", copy->sha256);
	json_add_null(item, "not_hashed");
	json_add_string(item, "copied_from", copy->source);
}

static void add_inputs(cJSON *envelope, const struct record_files *inputs, const struct verdict_context *context)
{
	cJSON *array = json_add_array(envelope, "inputs");
	for (size_t i = 0; i < context->copy_count; i++)
		add_copy(array, &context->copies[i]);
	unsigned count = atomic_load(&inputs->count);
	for (unsigned i = 0; i < count && i < RECORD_FILE_MAX; i++) {
		const struct record_file *file = &inputs->items[i];
		cJSON *item = json_append_object(array);
		add_path(item, file->path.bytes, context);
		json_add_number(item, "bytes", (int64_t)file->bytes);
		add_hash(item, file);
		json_add_null(item, "copied_from");
	}
	json_add_number(envelope, "inputs_more", atomic_load(&inputs->more));
}

static void add_source(cJSON *envelope, const struct verdict_context *context)
{
	const struct verdict_source *source = context->source;
	if (!source) {
		json_add_null(envelope, "source");
		return;
	}
	cJSON *object = json_add_object(envelope, "source");
	if (source->path)
		add_path(object, source->path, context);
	else
		json_add_null(object, "path");
	if (source->argument)
		json_add_number(object, "argument", source->argument);
	else
		json_add_null(object, "argument");
	json_add_number(object, "bytes", (int64_t)source->bytes);
	json_add_string(object, "sha256", source->sha256);
	json_add_string(object, "not_hashed", source->not_hashed);
	if (!source->text)
		return;
	if (utf8_valid(source->text, source->text_length))
		captured_add_text(object, "text", source->text, source->text_length);
	else
		captured_add_base64(object, "text_base64", source->text, source->text_length);
}

void envelope_add_files(cJSON *envelope, const struct run_record *record, const struct verdict_context *context)
{
	add_programs(envelope, &record->programs, context);
	add_inputs(envelope, &record->inputs, context);
	add_source(envelope, context);
}
