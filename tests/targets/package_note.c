/* A program that carries a note about its package, as `ld --package-metadata` writes one, and one that is broken in front. */
__asm__(".pushsection .note.package, \"a\", @note\n"
	".balign 4\n"
	".long 4, 2f - 1f, 0x00000099\n"
	".asciz \"FDO\"\n"
	"1: .asciz \"{ not JSON\"\n"
	"2: .balign 4\n"
	".long 4, 4f - 3f, 0xcafe1a7e\n"
	".asciz \"FDO\"\n"
	"3: .asciz \"{\\\"type\\\":\\\"deb\\\",\\\"name\\\":\\\"tool\\\",\\\"version\\\":\\\"1:2.3-4\\\"}\"\n"
	"4: .balign 4\n"
	".popsection\n");

int main(void)
{
	return 0;
}
