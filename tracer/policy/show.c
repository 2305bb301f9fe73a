/* A merged policy as JSON: each value with the place that it came from. */
#include "base/cleanup.h"
#include "base/text.h"
#include "policy/limits.h"
#include "policy/policy.h"

#include <string.h>

/* Layout: one member or entry per line. `depth` counts the open brackets, `filled` tells whether the innermost has
 * something in it. */
struct printer {
	struct text text;
	unsigned depth;
	bool filled;
};

static void print_string(struct printer *printer, const char *string)
{
	text_append_json_string(&printer->text, string, strlen(string));
}

static void print_break(struct printer *printer)
{
	text_append(&printer->text, "\n");
	for (unsigned i = 0; i < printer->depth; i++)
		text_append(&printer->text, "  ");
}

/* What comes before a member (with `key`) or an entry (NULL). */
static void print_item(struct printer *printer, const char *key)
{
	if (printer->filled)
		text_append(&printer->text, ",");
	printer->filled = true;
	print_break(printer);
	if (!key)
		return;
	print_string(printer, key);
	text_append(&printer->text, ": ");
}

static void print_open(struct printer *printer, const char *bracket)
{
	text_append(&printer->text, bracket);
	printer->depth++;
	printer->filled = false;
}

static void print_close(struct printer *printer, const char *bracket)
{
	printer->depth--;
	if (printer->filled)
		print_break(printer);
	text_append(&printer->text, bracket);
	printer->filled = true;
}

static void print_optional(struct printer *printer, const char *key, const char *string)
{
	if (!string)
		return;
	print_item(printer, key);
	print_string(printer, string);
}

/* "policy.json:12:7", or "command line:3" where the column is the place in argv. */
static void print_from(struct printer *printer, const struct position *position)
{
	struct text from = { 0 };
	if (position->line)
		text_printf(&from, "%s:%u:%u", position->file, position->line, position->column);
	else
		text_printf(&from, "%s:%u", position->file, position->column);
	text_append(&printer->text, ", \"from\": ");
	print_string(printer, text_string(&from));
	text_free(&from);
}

/* ---- parts ---- */

/* The first spelling is the text itself once its variable has a value; further ones are its names through links. */
static void print_spellings(struct printer *printer, const struct rule *rule)
{
	const char *ending = rule->folders_only ? "/" : "";
	text_append(&printer->text, ", \"matches\": [");
	if (rule->address.path)
		print_string(printer, pattern_text(rule->address.path));
	for (size_t i = 0; i < rule->pattern_count; i++) {
		if (i > 0 || rule->address.path)
			text_append(&printer->text, ", ");
		auto_free char *spelling = text_format("%s%s", pattern_text(rule->patterns[i]), ending);
		print_string(printer, spelling);
	}
	text_append(&printer->text, "]");
}

static bool is_spelled_otherwise(const struct rule *rule)
{
	size_t count = rule->pattern_count + (rule->address.path ? 1 : 0);
	size_t written = strlen(rule->text) - rule->folders_only;
	return count > 1 || (rule->pattern_count == 1 && (strlen(pattern_text(rule->patterns[0])) != written ||
							  strncmp(pattern_text(rule->patterns[0]), rule->text, written) != 0));
}

static void print_rule(struct printer *printer, const struct rule *rule)
{
	print_item(printer, NULL);
	text_append(&printer->text, "{\"entry\": ");
	print_string(printer, rule->text);
	if (rule->sha256[0]) {
		text_append(&printer->text, ", \"sha256\": ");
		print_string(printer, rule->sha256);
	}
	if (is_spelled_otherwise(rule))
		print_spellings(printer, rule);
	if (rule->dropped)
		text_append(&printer->text, ", \"dropped\": true");
	print_from(printer, &rule->position);
	text_append(&printer->text, "}");
}

static void print_list(struct printer *printer, const struct policy *policy, enum rule_list list)
{
	print_item(printer, strrchr(rule_list_pointer(list), '/') + 1);
	print_open(printer, "[");
	for (size_t i = 0; i < policy->lists[list].count; i++)
		print_rule(printer, &policy->lists[list].items[i]);
	print_close(printer, "]");
}

static void print_lists(struct printer *printer, const struct policy *policy, const char *key, enum rule_list first,
			enum rule_list last)
{
	print_item(printer, key);
	print_open(printer, "{");
	for (unsigned list = first; list <= last; list++)
		print_list(printer, policy, (enum rule_list)list);
	if (first == LIST_READ)
		print_optional(printer, "stat", policy->stat_listed ? "listed" : "any");
	print_close(printer, "}");
}

static void print_pass(struct printer *printer, const struct policy *policy)
{
	print_item(printer, "pass");
	print_open(printer, "[");
	for (size_t i = 0; i < policy->environment_count; i++) {
		if (policy->environment[i].value)
			continue;
		print_item(printer, NULL);
		text_append(&printer->text, "{\"name\": ");
		print_string(printer, policy->environment[i].name);
		print_from(printer, &policy->environment[i].position);
		text_append(&printer->text, "}");
	}
	print_close(printer, "]");
}

static void print_set(struct printer *printer, const struct policy *policy)
{
	print_item(printer, "set");
	print_open(printer, "{");
	for (size_t i = 0; i < policy->environment_count; i++) {
		if (!policy->environment[i].value)
			continue;
		print_item(printer, policy->environment[i].name);
		text_append(&printer->text, "{\"value\": ");
		print_string(printer, policy->environment[i].value);
		print_from(printer, &policy->environment[i].position);
		text_append(&printer->text, "}");
	}
	print_close(printer, "}");
}

static void print_environment(struct printer *printer, const struct policy *policy)
{
	print_item(printer, "environment");
	print_open(printer, "{");
	print_pass(printer, policy);
	print_set(printer, policy);
	print_close(printer, "}");
}

static void print_limits(struct printer *printer, const struct policy *policy)
{
	print_item(printer, "limits");
	print_open(printer, "{");
	for (unsigned i = 0; i < LIMIT_COUNT; i++) {
		char value[UNITS_TEXT];
		if (!policy->limits[i].set)
			continue;
		limit_format((enum limit_id)i, policy->limits[i].value, value);
		print_item(printer, limit_rows[i].key);
		text_append(&printer->text, "{\"value\": ");
		print_string(printer, value);
		print_from(printer, &policy->limits[i].position);
		text_append(&printer->text, "}");
	}
	print_close(printer, "}");
}

static void print_files(struct printer *printer, const struct policy *policy)
{
	print_item(printer, "files");
	print_open(printer, "[");
	for (size_t i = 0; i < policy->file_count; i++) {
		print_item(printer, NULL);
		text_append(&printer->text, "{\"file\": ");
		print_string(printer, policy->files[i].file);
		text_append(&printer->text, ", \"sha256\": ");
		print_string(printer, policy->files[i].sha256);
		text_printf(&printer->text, ", \"embedded\": %s}", policy->files[i].embedded ? "true" : "false");
	}
	print_close(printer, "]");
}

char *policy_to_json(const struct policy *policy)
{
	struct printer printer = { 0 };
	print_open(&printer, "{");
	print_optional(&printer, "name", policy->name);
	print_optional(&printer, "description", policy->description);
	print_files(&printer, policy);
	print_lists(&printer, policy, "paths", LIST_READ, LIST_HIDE);
	print_lists(&printer, policy, "network", LIST_CONNECT, LIST_BIND);
	print_environment(&printer, policy);
	print_limits(&printer, policy);
	print_lists(&printer, policy, "syscalls", LIST_SYSCALL_ALLOW, LIST_SYSCALL_DENY);
	print_item(&printer, "on_violation");
	print_string(&printer, on_violation_name(policy->on_violation));
	print_close(&printer, "}");
	text_append(&printer.text, "\n");
	return printer.text.bytes;
}
