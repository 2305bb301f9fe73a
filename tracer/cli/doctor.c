/* `doctor`: what this host can enforce, layer by layer; with --attack, whether it holds; with --clean, what killed runs left. */
#include "cli/commands.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/attack.h"
#include "engine/host.h"
#include "engine/workspace.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { EXIT_NOT_ENFORCEABLE = 1, EXIT_NOT_CLEAN = 1 };

enum doctor_option { DOCTOR_JSON, DOCTOR_ATTACK, DOCTOR_CLEAN };

struct doctor_settings {
	bool chosen[DOCTOR_CLEAN + 1];
};

static int apply_flag(void *settings, const struct option_use *use, struct error *error)
{
	struct doctor_settings *doctor = settings;
	(void)error;
	doctor->chosen[use->row->id] = true;
	return 0;
}

static const struct option_row rows[] = {
	{ "json", 0, NULL, "the findings as JSON", apply_flag, DOCTOR_JSON },
	{ "attack", 0, NULL, "run attacks on bailiff, each without it first; 1 unless all fail", apply_flag, DOCTOR_ATTACK },
	{ "clean", 0, NULL, "remove the private folders of runs whose bailiff was killed; 1 if one stays", apply_flag, DOCTOR_CLEAN },
	{ 0 },
};

static const char *const synopsis[] = { "doctor [--json] [--attack | --clean]", NULL };

const struct command doctor_command = {
	.name = "doctor",
	.synopsis = synopsis,
	.summary = "Find out by trying what this host can enforce, layer by layer.",
	.options = rows,
	.run = command_doctor,
};

static void print_words(const struct host_report *report, bool enforceable)
{
	printf("%s\n\n", enforceable ? "Runs can be enforced here." : "Runs cannot be enforced here; run exits 125.");
	printf("  kernel %s, %s, %s\n\n", report->kernel, report->machine, report->root ? "as root" : "as an ordinary user");
	for (size_t i = 0; i < report->layer_count; i++) {
		const struct host_layer *layer = &report->layers[i];
		const char *state = layer->available ? "yes" : layer->required ? "NO" : "no";
		printf("  %-3s  %-18s %s\n", state, layer->name, layer->detail);
	}
}

static cJSON *build_json(const struct host_report *report, bool enforceable)
{
	cJSON *object = cJSON_CreateObject();
	json_add_string(object, "schema", "bailiff.doctor/1");
	json_add_bool(object, "enforceable", enforceable);
	json_add_string(object, "kernel", report->kernel);
	json_add_string(object, "machine", report->machine);
	json_add_bool(object, "root", report->root);
	json_add_number(object, "landlock_abi", report->landlock_abi);
	if (report->yama_scope >= 0)
		json_add_number(object, "yama_scope", report->yama_scope);
	else
		json_add_null(object, "yama_scope");
	json_add_controllers(object, "cgroup", report->cgroup_controllers);
	cJSON *layers = json_add_array(object, "layers");
	for (size_t i = 0; i < report->layer_count; i++) {
		cJSON *layer = json_append_object(layers);
		json_add_string(layer, "name", report->layers[i].name);
		json_add_bool(layer, "required", report->layers[i].required);
		json_add_bool(layer, "available", report->layers[i].available);
		json_add_string(layer, "detail", report->layers[i].detail);
	}
	return object;
}

static void print_json(const struct host_report *report, bool enforceable)
{
	cJSON *object = build_json(report, enforceable);
	auto_free char *line = verdict_print(object);
	fputs(line, stdout);
	cJSON_Delete(object);
}

/* ---- --clean ------------------------------------------------------------------------------------------------------ */

struct cleaning {
	bool as_json;
	cJSON *removed, *in_use, *stuck; /* lists */
};

static void note_folder(const char *path, enum workspace_found found, int number, void *data)
{
	struct cleaning *cleaning = data;
	struct text shown = { 0 };
	text_append_visible(&shown, path, strlen(path));
	cJSON *list = found == WORKSPACE_STUCK ? cleaning->stuck : found == WORKSPACE_REMOVED ? cleaning->removed : cleaning->in_use;
	cJSON *entry = json_append_object(list);
	json_add_string(entry, "path", path);
	if (found == WORKSPACE_STUCK)
		json_add_string(entry, "errno", errno_text(number));
	if (!cleaning->as_json && found == WORKSPACE_STUCK)
		printf("stays    %s: %s\n", text_string(&shown), strerror(number));
	else if (!cleaning->as_json)
		printf("%s  %s\n", found == WORKSPACE_REMOVED ? "removed" : "in use ", text_string(&shown));
	text_free(&shown);
}

static int clean_command(bool as_json)
{
	struct error error;
	cJSON *object = cJSON_CreateObject();
	json_add_string(object, "schema", "bailiff.clean/1");
	struct cleaning cleaning = { .as_json = as_json };
	cleaning.removed = json_add_array(object, "removed");
	cleaning.in_use = json_add_array(object, "in_use");
	cleaning.stuck = json_add_array(object, "stuck");
	int failed = workspace_clean(note_folder, &cleaning, &error);
	bool clean = cJSON_GetArraySize(cleaning.stuck) == 0;
	if (!failed && as_json) {
		auto_free char *line = verdict_print(object);
		fputs(line, stdout);
	} else if (!failed && cJSON_GetArraySize(cleaning.removed) + cJSON_GetArraySize(cleaning.in_use) == 0 && clean) {
		puts("Nothing was left by a run.");
	}
	cJSON_Delete(object);
	return failed ? command_failed(&error) : command_finish(clean ? 0 : EXIT_NOT_CLEAN);
}

/* ---- the command -------------------------------------------------------------------------------------------------- */

int command_doctor(int argc, char **argv)
{
	struct doctor_settings settings = { 0 };
	struct operands operands;
	struct error error;
	if (options_parse(&doctor_command, argc, argv, &settings, &operands, &error) < 0)
		return command_failed(&error);
	size_t count = operands.count;
	operands_free(&operands);
	if (count > 0) {
		error_set(&error, EINVAL, "doctor takes no operands; see \"bailiff help doctor\"");
		return command_failed(&error);
	}
	bool as_json = settings.chosen[DOCTOR_JSON];
	if (settings.chosen[DOCTOR_ATTACK] && settings.chosen[DOCTOR_CLEAN]) {
		error_set(&error, EINVAL, "--attack and --clean are two commands; see \"bailiff help doctor\"");
		return command_failed(&error);
	}
	if (settings.chosen[DOCTOR_ATTACK])
		return attack_command(as_json);
	if (settings.chosen[DOCTOR_CLEAN])
		return clean_command(as_json);

	struct host_report report;
	host_probe(&report);
	bool enforceable = host_enforceable(&report);
	if (as_json)
		print_json(&report, enforceable);
	else
		print_words(&report, enforceable);
	return command_finish(enforceable ? 0 : EXIT_NOT_ENFORCEABLE);
}
