/* ${WORKSPACE}, ${CWD}, ${HOME}, ${SCRIPT}, ${SCRIPT_DIR} in the texts of a policy. */
#ifndef POLICY_VARIABLES_H
#define POLICY_VARIABLES_H

#include "policy/policy.h"

enum variable { VARIABLE_WORKSPACE, VARIABLE_CWD, VARIABLE_HOME, VARIABLE_SCRIPT, VARIABLE_SCRIPT_DIR, VARIABLE_COUNT };

const char *variable_name(enum variable variable);

/* Borrowed; NULL where it has none. */
const char *variable_value(const struct policy_variables *variables, enum variable variable);

/* Does `text` begin with "${"? */
bool variable_leads(const char *text);

/* Reads the "${NAME}" that `text` begins with; `length` is that of the reference. The error names what is near. */
int variable_read(const char *text, enum variable *variable, size_t *length, struct error *error);

/* Checks every reference in an environment value. */
int variables_check(const char *text, struct error *error);

/* Is `value` what a variable may hold: absolute, without empty, `.` or `..` components and without a slash at its end? */
bool variable_value_is_normal(const char *value);

#endif
