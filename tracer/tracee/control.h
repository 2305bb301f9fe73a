/* Attaching, resuming and signalling tracees. */
#ifndef TRACEE_CONTROL_H
#define TRACEE_CONTROL_H

#include <stdint.h>
#include <sys/types.h>

/* PTRACE_SEIZE with every option that keeps the tree in hand, PTRACE_O_EXITKILL among them. 0 or -errno. */
int control_seize(pid_t pid);

/* Lets a stopped thread go on, delivering `signal` (0 for none). A thread that is gone is no error. */
void control_resume(pid_t tid, int signal);

/* As control_resume, to the next entry or exit of a call (WAIT_SYSCALL_STOP), or for one instruction. 0 or -errno. */
int control_resume_to_exit(pid_t tid);
int control_step(pid_t tid);

/* Stops a running thread soon (WAIT_TRAP); a call that it waits in is interrupted as by a stopping signal. One that is gone is
 * no error. */
void control_interrupt(pid_t tid);

/* The thread's blocked signals. 0 or -errno. */
int control_read_signal_mask(pid_t tid, uint64_t *mask);
int control_write_signal_mask(pid_t tid, uint64_t mask);

/* Leaves a thread in its group-stop, and lets SIGCONT end it. */
void control_listen(pid_t tid);

/* The number that belongs to a stop: new thread, former tid. 0 where it is not to be had. */
pid_t control_event_message(pid_t tid);

/* The whole word: of PTRACE_EVENT_EXIT the status as wait(2) has it. */
unsigned long control_event_message_word(pid_t tid);

#endif
