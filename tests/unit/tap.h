/* Results as the Test Anything Protocol: one line per check, the plan at the end. A check that fails shows both sides.
 *
 *     tap_ok(condition, "name %s", ...)
 *     tap_number(actual, expected, "name %s", ...)
 *     tap_string(actual, expected, "name %s", ...)        NULL equals NULL alone
 *     tap_contains(text, piece, "name %s", ...)
 *     return tap_done();                                  prints 1..N; 0 when every check passed and there was one
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap_state {
	unsigned run, failed;
};

static inline struct tap_state *tap_state(void)
{
	static struct tap_state state;
	return &state;
}

/* A `#` would start a directive and a line break would end the line: neither may come from a test's name. */
static inline void tap_print_name(const char *format, va_list arguments)
{
	char name[512];
	vsnprintf(name, sizeof(name), format, arguments);
	for (char *at = name; *at; at++)
		putchar(*at == '#' ? '=' : (unsigned char)*at < ' ' ? ' ' : *at);
	putchar('\n');
}

static inline bool tap_result(bool passed, const char *format, va_list arguments)
{
	struct tap_state *state = tap_state();
	state->run++;
	state->failed += !passed;
	printf("%sok %u - ", passed ? "" : "not ", state->run);
	tap_print_name(format, arguments);
	return passed;
}

static inline void tap_print_side(const char *label, const char *value)
{
	printf("#   %s: %s", label, value ? "\"" : "(null)");
	for (const char *at = value; at && *at; at++) {
		putchar(*at);
		if (*at == '\n')
			printf("#             ");
	}
	printf("%s\n", value ? "\"" : "");
}

__attribute__((format(printf, 2, 3))) static inline bool tap_ok(bool condition, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	tap_result(condition, format, arguments);
	va_end(arguments);
	fflush(stdout);
	return condition;
}

__attribute__((format(printf, 3, 4))) static inline bool tap_number(long long actual, long long expected,
								     const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	bool passed = tap_result(actual == expected, format, arguments);
	va_end(arguments);
	if (!passed)
		printf("#   actual:   %lld\n#   expected: %lld\n", actual, expected);
	fflush(stdout);
	return passed;
}

__attribute__((format(printf, 3, 4))) static inline bool tap_string(const char *actual, const char *expected,
								     const char *format, ...)
{
	bool equal = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
	va_list arguments;
	va_start(arguments, format);
	tap_result(equal, format, arguments);
	va_end(arguments);
	if (!equal) {
		tap_print_side("actual  ", actual);
		tap_print_side("expected", expected);
	}
	fflush(stdout);
	return equal;
}

__attribute__((format(printf, 3, 4))) static inline bool tap_contains(const char *text, const char *piece,
								       const char *format, ...)
{
	bool found = text && piece && strstr(text, piece);
	va_list arguments;
	va_start(arguments, format);
	tap_result(found, format, arguments);
	va_end(arguments);
	if (!found) {
		tap_print_side("text    ", text);
		tap_print_side("expected", piece);
	}
	fflush(stdout);
	return found;
}

/* Valgrind is slow, starts itself in place of a copy of the program, and delivers signals itself. */
static inline bool tap_in_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");
	return preload && strstr(preload, "vgpreload");
}

static inline int tap_done(void)
{
	const struct tap_state *state = tap_state();
	printf("1..%u\n", state->run);
	if (state->failed)
		printf("# %u of %u failed\n", state->failed, state->run);
	fflush(stdout);
	return state->run == 0 || state->failed ? 1 : 0;
}

#endif
