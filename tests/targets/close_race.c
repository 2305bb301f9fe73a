/* Opens every file that is named, while another thread closes whatever was opened last. Ends with 0 where all could be opened. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int ended;
static int lowest;

static void *close_again(void *nothing)
{
	while (!ended)
		close(lowest);
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int missing = 0;
	lowest = dup(STDOUT_FILENO);
	if (lowest < 0 || pthread_create(&thread, NULL, close_again, NULL) != 0)
		return 2;
	for (int i = 1; i < argc; i++)
		missing += open(argv[i], O_RDONLY) < 0;
	ended = 1;
	pthread_join(thread, NULL);
	return missing ? 1 : 0;
}
