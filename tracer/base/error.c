#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int error_fill(struct error *error, int number, bool with_reason, const char *format, va_list arguments)
{
	if (number <= 0)
		number = EINVAL;
	if (!error)
		return -number;

	error->number = number;
	int length = vsnprintf(error->message, sizeof(error->message), format, arguments);
	if (with_reason && length >= 0 && (size_t)length < sizeof(error->message))
		snprintf(error->message + length, sizeof(error->message) - (size_t)length, ": %s", strerror(number));
	return -number;
}

int error_set(struct error *error, int number, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int result = error_fill(error, number, false, format, arguments);
	va_end(arguments);
	return result;
}

int error_system(struct error *error, int number, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int result = error_fill(error, number, true, format, arguments);
	va_end(arguments);
	return result;
}

int error_context(struct error *error, const char *format, ...)
{
	if (!error)
		return -EINVAL;

	char inner[sizeof(error->message)];
	memcpy(inner, error->message, sizeof(inner));

	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(error->message, sizeof(error->message), format, arguments);
	va_end(arguments);
	if (length >= 0 && (size_t)length < sizeof(error->message)) {
		size_t room = sizeof(error->message) - (size_t)length;
		snprintf(error->message + length, room, ": %.*s", (int)room, inner);
	}
	return error->number > 0 ? -error->number : -EINVAL;
}
