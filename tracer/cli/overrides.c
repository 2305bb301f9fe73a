#include "cli/overrides.h"

#include "base/text.h"
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int add(struct overrides *overrides, struct policy_override override)
{
	overrides->items = memory_resized(overrides->items, overrides->count + 1, sizeof(*overrides->items));
	overrides->items[overrides->count++] = override;
	return 0;
}

int overrides_add_list(struct overrides *overrides, const struct option_use *use, struct error *error)
{
	(void)error;
	return add(overrides, (struct policy_override){ .kind = OVERRIDE_LIST, .id = use->row->id, .text = use->value,
							.argv_index = use->argv_index });
}

static const char *check_limit(enum limit_unit unit, const char *text)
{
	uint64_t value;
	switch (unit) {
	case UNIT_DURATION_MS: return units_parse_duration_ms(text, &value);
	case UNIT_SIZE_BYTES: return units_parse_size_bytes(text, &value);
	case UNIT_COUNT: return units_parse_count(text, &value);
	}
	return "not a limit";
}

int overrides_add_limit(struct overrides *overrides, const struct option_use *use, struct error *error)
{
	const char *wrong = check_limit(limit_rows[use->row->id].unit, use->value);
	if (wrong)
		return options_refuse_value(use, wrong, error);
	return add(overrides, (struct policy_override){ .kind = OVERRIDE_LIMIT, .id = use->row->id, .text = use->value,
							.argv_index = use->argv_index });
}

int overrides_add_environment(struct overrides *overrides, const struct option_use *use, struct error *error)
{
	size_t length = strcspn(use->value, "=");
	if (length == 0)
		return error_set(error, EINVAL, "--%s: the name in front of \"=\" is empty", use->row->name);
	for (size_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)use->value[i]))
			return error_set(error, EINVAL, "--%s: a control character in the name", use->row->name);
	return add(overrides, (struct policy_override){ .kind = OVERRIDE_ENVIRONMENT, .text = use->value,
							.argv_index = use->argv_index });
}

int overrides_add_on_violation(struct overrides *overrides, const struct option_use *use, struct error *error)
{
	enum on_violation mode;
	if (!on_violation_parse(use->value, &mode))
		return options_refuse_value(use, "write kill, deny or log", error);
	return add(overrides, (struct policy_override){ .kind = OVERRIDE_ON_VIOLATION, .text = use->value,
							.argv_index = use->argv_index });
}

void overrides_free(struct overrides *overrides)
{
	free(overrides->items);
	*overrides = (struct overrides){ 0 };
}
