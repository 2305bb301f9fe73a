/* A seccomp listener of the program's own lets a call continue: its answer would outrank bailiff's stops. */
#include "filter.h"

#include <sys/ioctl.h>

static int listening;

static void *let_continue(void *unused)
{
	for (;;) {
		struct seccomp_notif request;
		memset(&request, 0, sizeof(request));
		if (ioctl(listening, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
			return unused;
		struct seccomp_notif_resp answer = { .id = request.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
		ioctl(listening, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

static bool continues(unsigned flags)
{
	pthread_t thread;
	listening = filter_add(SYS_openat, SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags);
	if (listening < 0 || pthread_create(&thread, NULL, let_continue, NULL) != 0)
		return false;
	return attack_is_barred((int)syscall(SYS_openat, AT_FDCWD, "b/file", O_RDONLY));
}

static bool plainly(void)
{
	return continues(0);
}

static bool with_all_threads(void)
{
	return continues(SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH);
}

static bool logging(void)
{
	return continues(SECCOMP_FILTER_FLAG_LOG);
}

/* A high bit in an argument that the kernel takes as 32 bits. */
static bool with_a_stray_bit(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };
	pthread_t thread;
	const unsigned long high = 1UL << 40;
	attack_require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "set no_new_privs");
	listening = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER | high, SECCOMP_FILTER_FLAG_NEW_LISTENER | high, &program);
	if (listening < 0 || pthread_create(&thread, NULL, let_continue, NULL) != 0)
		return false;
	return attack_is_barred((int)syscall(SYS_openat, AT_FDCWD, "b/file", O_RDONLY));
}

static const struct attack_way ways[] = {
	{ "a listener that continues", plainly, false },
	{ "a listener with TSYNC", with_all_threads, false },
	{ "a listener with LOG", logging, false },
	{ "a listener with a stray bit", with_a_stray_bit, false },
};

int main(int argc, char **argv)
{
	attack_begin("listener", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
