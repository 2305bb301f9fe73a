/* Plays what programs do with signals, and says what they saw: the same line with and without bailiff.
 *
 *     signal_play queue       real-time signals with a payload, sent by a child, all arrive in order
 *     signal_play chld        SIGCHLD carries the child's id and code
 *     signal_play restart     a read interrupted by a handler with SA_RESTART goes on; without it, EINTR
 *     signal_play sleep       a nanosleep interrupted by a stop and continue sleeps its whole time; by a handler, EINTR
 *     signal_play stops       the parent sees its child stop, continue and end; the child's handler for the stop runs
 *     signal_play mask        a blocked signal stays pending; sigtimedwait takes it with its payload
 *     signal_play timer       a POSIX timer's signal arrives
 *     signal_play ended       a child that has ended takes a signal as long as nobody has waited for it; then ESRCH
 *     signal_play exec        an ignored signal stays ignored, and the mask stays, across execve */
#include "outcome.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUEUED = 20 };

static volatile sig_atomic_t seen_count, seen_value, seen_code, seen_pid, seen_status;
static volatile sig_atomic_t seen_sum;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	seen_value = info->si_value.sival_int;
	seen_sum = seen_sum + seen_value * (seen_count + 1);
	seen_code = info->si_code;
	seen_pid = info->si_pid;
	seen_status = info->si_status;
	seen_count = seen_count + 1;
}

static void handle(int number, int flags)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	outcome_require(sigaction(number, &action, NULL) == 0, "sigaction");
}

static pid_t child_new(void)
{
	pid_t child = fork();

	outcome_require(child >= 0, "fork");
	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static void sleep_ms(long duration_ms)
{
	struct timespec left = {duration_ms / 1000, duration_ms % 1000 * 1000000};

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int play_queue(void)
{
	sigset_t set;
	pid_t child;

	handle(SIGRTMIN + 3, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = child_new();
	if (child == 0) {
		for (int i = 1; i <= QUEUED; i++)
			sigqueue(getppid(), SIGRTMIN + 3, (union sigval){.sival_int = i});
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	printf("queue: %d signals, last %d, weighted sum %d, by the child %d\n", seen_count, seen_value, seen_sum,
	       seen_pid == child);
	return seen_count == QUEUED ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_chld(void)
{
	int status = 0;
	pid_t child;

	handle(SIGCHLD, SA_RESTART);
	child = child_new();
	if (child == 0)
		_exit(7);
	waitpid(child, &status, 0);
	printf("chld: %d signal, right pid %d, code %d, status %d, waited %d\n", seen_count, seen_pid == child,
	       seen_code, seen_status, WEXITSTATUS(status));
	return seen_count == 1 ? OUTCOME_OK : OUTCOME_REFUSED;
}

/* A child sends USR1 while the parent reads from a pipe, then writes to that pipe. */
static long read_while_signalled(int *failed)
{
	int ends[2];
	char byte = 0;
	long length;
	pid_t child;

	outcome_require(pipe(ends) == 0, "pipe");
	child = child_new();
	if (child == 0) {
		sleep_ms(50);
		kill(getppid(), SIGUSR1);
		sleep_ms(50);
		_exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
	}
	length = read(ends[0], &byte, 1);
	*failed = errno;
	waitpid(child, NULL, 0);
	return length;
}

static int play_restart(void)
{
	int failed = 0;
	long with, without;

	handle(SIGUSR1, SA_RESTART);
	with = read_while_signalled(&failed);
	handle(SIGUSR1, 0);
	without = read_while_signalled(&failed);
	printf("restart: read %ld with SA_RESTART; %ld %s without; %d signals\n", with, without, outcome_errno(failed),
	       seen_count);
	return with == 1 && without == -1 && failed == EINTR ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_sleep(void)
{
	struct timespec duration = {0, 300000000}, left = {0, 0};
	long begin, slept, result;
	int failed;
	pid_t child = child_new();

	if (child == 0) {
		sleep_ms(50);
		kill(getppid(), SIGSTOP);
		sleep_ms(50);
		kill(getppid(), SIGCONT);
		_exit(0);
	}
	begin = now_ms();
	result = nanosleep(&duration, &left);
	slept = now_ms() - begin;
	waitpid(child, NULL, 0);
	handle(SIGALRM, SA_RESTART);
	setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 50000}, NULL);
	failed = nanosleep(&duration, &left) < 0 ? errno : 0;
	printf("sleep: %ld after a stop, whole time %d; %s by a handler, time left %d\n", result, slept >= 299,
	       outcome_errno(failed), left.tv_nsec > 100000000);
	return result == 0 && slept >= 299 && failed == EINTR ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_stops(void)
{
	int first = 0, second = 0, third = 0;
	pid_t child = child_new();

	if (child == 0) {
		handle(SIGTSTP, 0);
		raise(SIGTSTP);
		signal(SIGTSTP, SIG_DFL);
		raise(SIGSTOP);
		_exit(seen_count);
	}
	waitpid(child, &first, WUNTRACED);
	kill(child, SIGCONT);
	waitpid(child, &second, WCONTINUED);
	waitpid(child, &third, 0);
	printf("stops: stopped %d by SIGSTOP %d, continued %d, handler ran %d\n", WIFSTOPPED(first),
	       WSTOPSIG(first) == SIGSTOP, WIFCONTINUED(second), WIFEXITED(third) ? WEXITSTATUS(third) : -1);
	return WIFSTOPPED(first) && WIFCONTINUED(second) && WIFEXITED(third) ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_mask(void)
{
	siginfo_t info = {0};
	sigset_t set, pending;
	int taken;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 42});
	sigpending(&pending);
	taken = sigtimedwait(&set, &info, &(struct timespec){1, 0});
	printf("mask: pending %d, taken %d, payload %d\n", sigismember(&pending, SIGUSR2), taken == SIGUSR2,
	       info.si_value.sival_int);
	return taken == SIGUSR2 ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_timer(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 5};
	struct itimerspec once = {.it_value.tv_nsec = 20000000};
	timer_t timer;

	handle(SIGRTMIN, 0);
	outcome_require(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "timer_create");
	outcome_require(timer_settime(timer, 0, &once, NULL) == 0, "timer_settime");
	while (seen_count == 0)
		sleep_ms(10);
	printf("timer: code %d, payload %d\n", seen_code == SI_TIMER, seen_value);
	return OUTCOME_OK;
}

static int play_ended(void)
{
	siginfo_t info = {0};
	int before, after, thread, status = 0;
	pid_t child = child_new();

	if (child == 0)
		_exit(3);
	outcome_require(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0, "wait without reaping");
	before = kill(child, SIGTERM) < 0 ? errno : 0;
	thread = syscall(SYS_tgkill, child, child, SIGTERM) < 0 ? errno : 0;
	waitpid(child, &status, 0);
	after = kill(child, SIGTERM) < 0 ? errno : 0;
	printf("ended: %s by process, %s by thread, status %d, then %s\n", outcome_errno(before), outcome_errno(thread),
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1, outcome_errno(after));
	return before == 0 && thread == 0 && after == ESRCH ? OUTCOME_OK : OUTCOME_REFUSED;
}

static int play_exec_after(void)
{
	struct sigaction action;
	sigset_t mask;

	sigaction(SIGUSR1, NULL, &action);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	printf("exec: ignored %d, blocked %d\n", action.sa_handler == SIG_IGN, sigismember(&mask, SIGUSR2));
	return action.sa_handler == SIG_IGN && sigismember(&mask, SIGUSR2) ? OUTCOME_OK : OUTCOME_REFUSED;
}

static const struct play_row {
	const char *name;
	int (*play)(void);
} play_rows[] = {
	{"queue", play_queue}, {"chld", play_chld}, {"restart", play_restart}, {"sleep", play_sleep},
	{"stops", play_stops}, {"mask", play_mask}, {"timer", play_timer},     {"ended", play_ended},
	{"exec_after", play_exec_after},
};

static int play_exec(const char *program)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGUSR1, SIG_IGN);
	execl(program, program, "exec_after", (char *)NULL);
	return outcome_report("execve", -1);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "exec") == 0)
		return play_exec(argv[0]);
	for (size_t i = 0; argc == 2 && i < sizeof(play_rows) / sizeof(play_rows[0]); i++)
		if (strcmp(play_rows[i].name, argv[1]) == 0)
			return play_rows[i].play();
	return outcome_usage("signal_play queue|chld|restart|sleep|stops|mask|timer|ended|exec");
}
