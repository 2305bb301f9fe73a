/* One blocked open, reached in many ways. Usage: ways NAME OBJECT [PLUGIN]. With PLUGIN the file is opened by that library. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
enum { ALTERNATE_BYTES = 128 * 1024 };

static const char *object, *plugin;
/* Its value is not known to the compiler: added to what a call returns, it keeps that call from becoming a jump, which is on no stack. */
static volatile int nothing;

KEEP static int witness(void)
{
#ifndef NO_WITNESS
	void *frames[64];
	backtrace_symbols_fd(frames, backtrace(frames, 64), STDOUT_FILENO);
#endif
	return nothing;
}

KEEP int blocked(void)
{
	return witness() + open(object, O_RDONLY); /* HERE blocked */
}

static int hidden(void)
{
	return witness() + open(object, O_RDONLY) + 1; /* HERE hidden */
}

KEEP int calls_hidden(void)
{
	return hidden() + 1;
}

KEEP int nested(int depth)
{
	volatile int kept = depth > 0 ? nested(depth - 1) : blocked();
	return kept + 1;
}

KEEP int compares(const void *left, const void *right)
{
	return blocked() + (left > right);
}

KEEP int sorts(void)
{
	int numbers[] = { 2, 1 };
	qsort(numbers, 2, sizeof(*numbers), compares);
	return numbers[0];
}

KEEP int searches(void)
{
	const int numbers[] = { 2, 1 };
	return bsearch(&numbers[1], numbers, 2, sizeof(*numbers), compares) != NULL;
}

KEEP int filters(const struct dirent *entry)
{
	return blocked() + (entry != NULL);
}

KEEP int scans(void)
{
	struct dirent **names;
	return scandir("/etc", &names, filters, NULL);
}

KEEP int walks_a_tree(void)
{
	static int one, two;
	void *root = NULL;
	tsearch(&one, &root, compares);
	return tsearch(&two, &root, compares) != NULL;
}

KEEP void on_signal(int number)
{
	(void)number;
	blocked();
}

KEEP int signals(void)
{
	signal(SIGUSR1, on_signal);
	return raise(SIGUSR1) + 1;
}

KEEP int handles_on(void *stack)
{
	const stack_t alternate = { .ss_sp = stack, .ss_size = ALTERNATE_BYTES };
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	return sigaltstack(&alternate, NULL) + sigaction(SIGUSR1, &action, NULL) + raise(SIGUSR1) + 1;
}

KEEP int alternate_stack(void)
{
	return handles_on(mmap(NULL, ALTERNATE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) + 1;
}

/* More of the heap lies behind the stack than is ever copied. */
KEEP int alternate_stack_in_heap(void)
{
	char *heap = malloc(4 * ALTERNATE_BYTES);
	return handles_on(heap) + 1;
}

KEEP int fault(volatile int *nowhere)
{
	return *nowhere + 1; /* HERE fault */
}

KEEP int faults(void)
{
	const stack_t alternate = { .ss_sp = malloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES };
	const struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
	return sigaltstack(&alternate, NULL) + sigaction(SIGSEGV, &action, NULL) + fault(NULL) + 1;
}

KEEP int expires(void)
{
	const struct itimerval soon = { .it_value = { .tv_usec = 1000 } };
	signal(SIGALRM, on_signal);
	return setitimer(ITIMER_REAL, &soon, NULL) + pause() + 1;
}

KEEP void *runs(void *data)
{
	blocked();
	return data;
}

KEEP int thread(void)
{
	pthread_t id;
	return pthread_create(&id, NULL, runs, NULL) + pthread_join(id, NULL) + 1;
}

KEEP void *alternate_runs(void *data)
{
	alternate_stack();
	return data;
}

KEEP int alternate_stack_of_thread(void)
{
	pthread_t id;
	return pthread_create(&id, NULL, alternate_runs, NULL) + pthread_join(id, NULL) + 1;
}

KEEP void ends(void *data)
{
	(void)data;
	blocked();
}

KEEP void *keeps(void *data)
{
	pthread_key_t key;
	pthread_key_create(&key, ends);
	pthread_setspecific(key, &key);
	return data;
}

KEEP int thread_key(void)
{
	pthread_t id;
	return pthread_create(&id, NULL, keeps, NULL) + pthread_join(id, NULL) + 1;
}

KEEP void starts(void)
{
	blocked();
}

KEEP int once(void)
{
	static pthread_once_t control = PTHREAD_ONCE_INIT;
	return pthread_once(&control, starts) + 1;
}

KEEP int at_exit(void)
{
	return atexit(starts);
}

__attribute__((constructor)) KEEP void before_main(int argc, char **argv)
{
	object = argc > 2 ? argv[2] : "";
	if (argc > 1 && strcmp(argv[1], "constructor") == 0)
		blocked();
}

KEEP int jumps(void)
{
	static jmp_buf place;
	if (setjmp(place) == 0)
		longjmp(place, 1);
	return blocked() + 1;
}

static ucontext_t main_context, other_context;

KEEP void on_other_stack(void)
{
	blocked();
}

KEEP int other_stack(void)
{
	getcontext(&other_context);
	other_context.uc_stack.ss_sp = malloc(ALTERNATE_BYTES);
	other_context.uc_stack.ss_size = ALTERNATE_BYTES;
	other_context.uc_link = &main_context;
	makecontext(&other_context, on_other_stack, 0);
	return swapcontext(&main_context, &other_context) + 1;
}

KEEP int fork_child(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(blocked());
	return waitpid(pid, NULL, 0) + 1;
}

KEEP int uses_plugin(void)
{
	void *library = dlopen(plugin, RTLD_NOW);
	int (*entry)(const char *) = NULL;
	*(void **)&entry = library ? dlsym(library, "library_entry") : NULL;
	return entry ? entry(object) + 1 : 3;
}

#ifdef WITH_LIBRARY
int library_entry(const char *name);
KEEP int uses_library(void)
{
	return library_entry(object) + 1;
}
#endif

static int in_five(void)
{
	return nested(5);
}

static const struct way {
	const char *name;
	int (*run)(void);
} ways[] = {
#define ROW(name) { #name, name }
	ROW(blocked), ROW(calls_hidden), { "nested", in_five }, ROW(sorts), ROW(searches), ROW(scans), ROW(walks_a_tree), ROW(signals),
	ROW(alternate_stack), ROW(alternate_stack_in_heap), ROW(faults), ROW(expires), ROW(thread), ROW(alternate_stack_of_thread),
	ROW(thread_key), ROW(once), ROW(at_exit), ROW(jumps), ROW(other_stack), ROW(fork_child), ROW(uses_plugin),
#ifdef WITH_LIBRARY
	ROW(uses_library),
#endif
};

KEEP int performs(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(ways[i].name, name) == 0)
			return ways[i].run() + 1;
	return 0;
}

int main(int argc, char **argv)
{
	plugin = argc > 3 ? argv[3] : NULL;
	return argc > 2 ? performs(argv[1]) + 1 : 2;
}
