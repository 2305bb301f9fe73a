/* Prints its arguments, argv[0] first, each in brackets; -e CODE as the first argument is the exit code instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int code = 0, first = 1;

	if (argc > 2 && strcmp(argv[1], "-e") == 0) {
		code = atoi(argv[2]);
		first = 3;
	}
	printf("[%s]", argv[0]);
	for (int i = first; i < argc; i++)
		printf(" [%s]", argv[i]);
	printf("\n");
	return code;
}
