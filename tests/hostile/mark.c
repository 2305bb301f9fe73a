/* The program that must not run: it leaves a byte in work/ran for each time that it did. Not an attack itself. */
#include <fcntl.h>
#include <unistd.h>

int main(void)
{
	int fd = open("work/ran", O_WRONLY | O_CREAT | O_APPEND, 0600);
	return fd >= 0 && write(fd, "x", 1) == 1 ? 0 : 1;
}
