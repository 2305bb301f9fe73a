/* Addresses: as text (entries and requests) and as the bytes that a system call hands over. What parses must be usable,
 * what is refused must cover nothing, and what is printed must parse again to the same address. */
#include "base/bug.h"
#include "policy/address.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void try_sockaddr(const uint8_t *bytes, size_t length)
{
	static struct address address, again;
	char text[ADDRESS_TEXT];
	/* A copy of exactly this length: a read behind its end is seen by the sanitizer. */
	uint8_t *exact = malloc(length ? length : 1);
	bug_unless(exact);
	memcpy(exact, bytes, length);
	if (length > 1)
		exact[1] = 0; /* families are small numbers: a chance in 256 would be none */
	for (int destination = 0; destination < 2; destination++) {
		int result = address_decode(exact, length, destination, &address);
		bug_unless(result == 0 || address.kind == ADDRESS_NONE);
		address_format(&address, text);
		bool inet = address.kind == ADDRESS_IPV4 || address.kind == ADDRESS_IPV6;
		bug_unless(!inet || (address_parse(text, &again, NULL) == 0 && again.kind == address.kind && again.port == address.port &&
				     memcmp(again.bytes, address.bytes, sizeof(again.bytes)) == 0));
		bug_unless(!destination || !address_is_wildcard(&address));
	}
	address_decode_as_ipv4(exact, length, true, &address);
	free(exact);
}

static void try_text(const char *text)
{
	static struct address address;
	struct address_pattern pattern;
	struct error error = { 0 };
	bool asked = address_parse(text, &address, &error) == 0;
	bool parsed = address_pattern_parse(text, &pattern, &error) == 0;
	bool matches = address_matches(&pattern, &address);
	bool inet = address.kind == ADDRESS_IPV4 || address.kind == ADDRESS_IPV6;
	bug_unless(parsed || !matches);
	bug_unless(parsed || error.number > 0);
	bug_unless(!asked || !inet || matches);
	address_pattern_free(&pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	try_sockaddr(bytes, length);
	char *text = malloc(length + 1);
	bug_unless(text);
	memcpy(text, bytes, length);
	text[length] = '\0';
	try_text(text);
	free(text);
	return 0;
}

#ifdef FUZZ_STANDALONE
#include "standalone.h"

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"10.0.0.0/8:5432", "[2001:db8::]/32:*", "udp:192.0.2.1:53", "tcp:127.0.0.1:8000-8010", "localhost:8080",
		"unix:/run/app.sock", "unix:@name", "[::ffff:10.0.0.0]/104:80", "[::1]:443", "127.0.0.1:80", "unix:/run/**/x[a-z]?",
		"unix:@a*\\*b", "\x02..\x50\x01\x01\x01\x01........", "\n..\x50....1111222233334444....", "\x01./run/socket",
	};
	return standalone_main(argc, argv, seeds, sizeof(seeds) / sizeof(*seeds), LLVMFuzzerTestOneInput);
}
#endif
