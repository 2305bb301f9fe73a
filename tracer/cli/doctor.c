/* `doctor`: what this host can enforce, layer by layer; with --attack, whether it holds. */
#include "cli/commands.h"

#include "base/cleanup.h"
#include "cli/attack.h"
#include "engine/host.h"
#include "verdict/json.h"
#include "verdict/verdict.h"

#include <errno.h>
#include <stdio.h>

enum { EXIT_NOT_ENFORCEABLE = 1 };

enum doctor_option { DOCTOR_JSON, DOCTOR_ATTACK };

struct doctor_settings {
	bool as_json, attack;
};

static int apply_flag(void *settings, const struct option_use *use, struct error *error)
{
	struct doctor_settings *doctor = settings;
	(void)error;
	*(use->row->id == DOCTOR_JSON ? &doctor->as_json : &doctor->attack) = true;
	return 0;
}

static const struct option_row rows[] = {
	{ "json", 0, NULL, "the findings as JSON", apply_flag, DOCTOR_JSON },
	{ "attack", 0, NULL, "run attacks on bailiff, each without it first; 1 unless all fail", apply_flag, DOCTOR_ATTACK },
	/* Refused by name. */
	{ "clean", 0, NULL, NULL, NULL, 0 },
	{ 0 },
};

static const char *const synopsis[] = { "doctor [--json] [--attack]", NULL };

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
	if (settings.attack)
		return attack_command(settings.as_json);

	struct host_report report;
	host_probe(&report);
	bool enforceable = host_enforceable(&report);
	if (settings.as_json)
		print_json(&report, enforceable);
	else
		print_words(&report, enforceable);
	return command_finish(enforceable ? 0 : EXIT_NOT_ENFORCEABLE);
}
