/* The entries of a policy's lists, as text. */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "policy/policy.h"

/* Is `text` a well-formed entry of `list`? `from_command_line`: a path may be relative to bailiff's directory. The error
 * has no position. Variables have no values yet: what stands behind them is checked. */
int rule_check(enum rule_list list, const char *text, bool from_command_line, struct error *error);

/* Where in an entry a variable may stand: behind "unix:" of an address, else at its start. NULL where it may not. */
const char *rule_variable_place(enum rule_list list, const char *text);

/* A rule with an owned copy of `text`; `position` is taken over. */
struct rule rule_make(const char *text, struct position position);

void rules_add(struct rules *rules, struct rule rule);
void rules_free(struct rules *rules);

bool rule_list_is_path(enum rule_list list);

/* Does a well-formed entry of `list` end in a slash, and so name the listing of folders alone? Only read entries do. */
bool rule_is_folders_only(enum rule_list list, const char *text);

#endif
