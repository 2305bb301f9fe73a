/* One error, as it travels up: what was being done to what, and the errno behind it.
 *
 * Functions that can fail take a `struct error *` as their last parameter and return 0 or exactly -errno.
 * The text is complete without the number: "policy.json:3:7: unknown key "red"; did you mean "read"?". */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

struct error {
	int number;         /* positive errno value, 0 when nothing failed */
	char message[1536]; /* one line, no trailing newline, no program name in front */
};

/* Fills `error` (which may be NULL) and returns -number. A number of 0 becomes EINVAL: an error is never a success. */
int error_set(struct error *error, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* As error_set, with ": " and the system's words for `number` behind the text. */
int error_system(struct error *error, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "text: " in front of the message that is already there; returns -error->number. */
int error_context(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
