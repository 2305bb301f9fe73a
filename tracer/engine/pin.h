/* Making a decision binding: the call runs with arguments that were decided and that nobody can change. */
#ifndef ENGINE_PIN_H
#define ENGINE_PIN_H

#include "engine/supervisor.h"

#include <linux/openat2.h>

/* With -DBAILIFF_CHECK_ONLY a decision binds nothing: the call goes on as it stands, and no program is verified once it is
 * loaded. That build shows that the races of tests/hostile/ are real; its version says what it is. */
#ifdef BAILIFF_CHECK_ONLY
enum { PIN_CHECK_ONLY = 1 };
#else
enum { PIN_CHECK_ONLY = 0 };
#endif

/* Takes a slot of the sealed page for the stopped thread. False when none is free: the caller answers with an errno. */
bool pin_take(struct stop *stop, size_t bytes);

/* The slot's memory, and the address that the thread sees it at (`offset` bytes in). */
void *pin_bytes(struct stop *stop, size_t offset);
uint64_t pin_address(const struct stop *stop, size_t offset);

/* The call becomes `number` with `args`, and its exit stop puts everything back. */
struct resume pin_call(struct stop *stop, uint64_t number, const uint64_t args[6]);

/* An open of a canonical path through no link at all: whoever puts a link in the way meanwhile causes ELOOP, and the call
 * is decided once more. `repeat_most` bounds that; `repeat_missing`: ENOENT as well. */
struct resume pin_open(struct stop *stop, const char *path, bool trailing_slash, const struct open_how *how, unsigned repeat_most,
		       bool repeat_missing);

/* The same call as it stands, with an exit stop. */
struct resume pin_in_place(struct stop *stop);

/* The same call with `length` bytes of `bytes` (an address, decided) in place of what argument `argument` points to. */
struct resume pin_address_argument(struct stop *stop, unsigned argument, const void *bytes, size_t length);

/* After pin_call, for a call that looks a path up by itself: until its exit stop no other thread of the tree may move or
 * remove a name on the way (pin_is_guarded). Within the tree names are made and moved by the supervisor alone, so that this
 * is complete; it holds however long the call takes, also for a connect that waits and then looks the path up once more.
 * `written` is the text as the kernel gets it, NULL where that is the canonical one. */
void pin_guard(struct stop *stop, const char *canonical, const char *written);

/* Would a change of the name `path` by this thread reach another thread's guarded path? */
bool pin_is_guarded(struct stop *stop, const char *path);

/* At the exit stop. The thread is resumed here. */
void pin_finish(struct supervisor *supervisor, struct task *task);

/* The thread is gone, or its call was never made. */
void pin_release(struct supervisor *supervisor, struct task *task);

#endif
