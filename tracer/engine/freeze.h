/* Holding a thread's descriptor numbers still, for a decision that depends on what one of them means.
 *
 * Another thread may put a different object under the number between the decision and the moment when the kernel takes the
 * descriptor, which is the first thing that a call does. Where the decision would be another one for that object, those who
 * could do so are stopped before the object is looked at, and go on when the call has taken it. */
#ifndef ENGINE_FREEZE_H
#define ENGINE_FREEZE_H

#include "engine/supervisor.h"

/* Stops every other thread that shares the descriptor table of `holder`, the stopped thread or another one. Nothing
 * has to be undone: their stops are served after this one. 0; -EAGAIN where one of them did not stop within a second: then
 * the call may not be made. */
int freeze_descriptors(struct stop *stop, pid_t holder);

/* At the stop (WAIT_TRAP) that was asked for, before the thread is resumed: a call that it waited in for ever, and that the
 * kernel ended with EINTR instead of making it again, is made again. */
void freeze_leave(struct task *task);

/* After the call was let go on, with an exit stop to come: returns when it has taken its descriptor. */
void freeze_until_taken(pid_t tid);

/* Stops the threads that were let send a signal, and returns when they have sent it. */
void freeze_signallers(struct supervisor *supervisor);

#endif
