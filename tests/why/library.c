/* A library of its own: linked to ways.c, or loaded by it. */
#include <fcntl.h>

static int inside(const char *object)
{
	return open(object, O_RDONLY) + 1; /* HERE inside */
}

int library_entry(const char *object)
{
	return inside(object) + 1;
}
