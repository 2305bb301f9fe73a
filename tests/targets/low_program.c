/* A program that is linked to an address below 2 MiB, where bailiff keeps its page, and only ends: exit 0. */
__asm__(".globl _start\n"
	"_start:\n"
	"	mov $231, %eax\n" /* exit_group */
	"	xor %edi, %edi\n"
	"	syscall\n");
