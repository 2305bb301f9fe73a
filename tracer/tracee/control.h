/* Attaching, resuming and signalling tracees. */
#ifndef TRACEE_CONTROL_H
#define TRACEE_CONTROL_H

#include <sys/types.h>

/* PTRACE_SEIZE with every option that keeps the tree in hand, PTRACE_O_EXITKILL among them. 0 or -errno. */
int control_seize(pid_t pid);

/* Lets a stopped thread go on, delivering `signal` (0 for none). A thread that is gone is no error. */
void control_resume(pid_t tid, int signal);

/* Leaves a thread in its group-stop, and lets SIGCONT end it. */
void control_listen(pid_t tid);

/* The number that belongs to a stop: new thread, former tid. 0 where it is not to be had. */
pid_t control_event_message(pid_t tid);

#endif
