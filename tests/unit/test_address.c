/* Network addresses: entries, what calls name, and whether one covers the other. */
#include "policy/address.h"
#include "tap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/un.h>

static const struct match_case {
	const char *entry, *asked;
	bool matches;
} match_cases[] = {
	{ "10.0.0.1:80", "10.0.0.1:80", true }, { "10.0.0.1:80", "10.0.0.1:81", false }, { "10.0.0.1:80", "10.0.0.2:80", false },
	{ "10.0.0.0/8:5432", "10.255.1.2:5432", true }, { "10.0.0.0/8:5432", "11.0.0.1:5432", false },
	{ "10.0.0.0/9:*", "10.127.0.1:1", true }, { "10.0.0.0/9:*", "10.128.0.1:1", false }, { "0.0.0.0/0:*", "192.0.2.1:9", true },
	{ "0.0.0.0/0:*", "[2001:db8::1]:9", false }, { "10.0.0.1/32:80", "10.0.0.1:80", true }, { "10.0.0.0/31:80", "10.0.0.1:80", true },
	{ "10.0.0.0/31:80", "10.0.0.2:80", false },
	{ "127.0.0.1:8000-8010", "127.0.0.1:8000", true }, { "127.0.0.1:8000-8010", "127.0.0.1:8010", true },
	{ "127.0.0.1:8000-8010", "127.0.0.1:7999", false }, { "127.0.0.1:8000-8010", "127.0.0.1:8011", false },
	{ "127.0.0.1:0", "127.0.0.1:0", true }, { "127.0.0.1:*", "127.0.0.1:0", true }, { "127.0.0.1:*", "127.0.0.1:65535", true },
	{ "[2001:db8::]/32:*", "[2001:db8:ffff::1]:443", true }, { "[2001:db8::]/32:*", "[2001:db9::1]:443", false },
	{ "[2001:db8::1]:443", "[2001:db8:0:0::1]:443", true }, { "[::]/0:*", "[2001:db8::1]:1", true },
	{ "[::]/0:*", "192.0.2.1:1", false }, { "[2001:db8::]/33:*", "[2001:db8:7fff::]:1", true },
	{ "[2001:db8::]/33:*", "[2001:db8:8000::]:1", false },
	/* mapped addresses are IPv4, on both sides */
	{ "127.0.0.1:80", "[::ffff:127.0.0.1]:80", true }, { "[::ffff:127.0.0.1]:80", "127.0.0.1:80", true },
	{ "[::ffff:10.0.0.0]/104:80", "10.9.9.9:80", true }, { "[::ffff:10.0.0.0]/104:80", "11.9.9.9:80", false },
	{ "[::ffff:0.0.0.0]/96:80", "192.0.2.1:80", true },
	/* transports */
	{ "10.0.0.1:80", "tcp:10.0.0.1:80", true }, { "10.0.0.1:80", "udp:10.0.0.1:80", true },
	{ "tcp:10.0.0.1:80", "tcp:10.0.0.1:80", true }, { "tcp:10.0.0.1:80", "udp:10.0.0.1:80", false },
	{ "udp:10.0.0.1:80", "tcp:10.0.0.1:80", false }, { "tcp:10.0.0.1:80", "10.0.0.1:80", false },
	{ "udp:10.0.0.1:80", "10.0.0.1:80", false }, { "udp:[2001:db8::1]:53", "udp:[2001:db8::1]:53", true },
	/* localhost */
	{ "localhost:80", "127.0.0.1:80", true }, { "localhost:80", "[::1]:80", true }, { "localhost:80", "127.0.0.2:80", false },
	{ "localhost:80", "[::ffff:127.0.0.1]:80", true }, { "localhost:80", "127.0.0.1:81", false },
	{ "tcp:localhost:80", "udp:127.0.0.1:80", false }, { "localhost:80", "10.0.0.1:80", false }, { "localhost:*", "[::2]:80", false },
	/* unix */
	{ "unix:/run/app.sock", "unix:/run/app.sock", true }, { "unix:/run/app.sock", "unix:/run/app.sock2", false },
	{ "unix:/run/*.sock", "unix:/run/x.sock", true }, { "unix:/run/**", "unix:/run/a/b", true },
	{ "unix:/run/app.sock", "unix:@/run/app.sock", false }, { "unix:@name", "unix:@name", true }, { "unix:@name", "unix:@name2", false },
	{ "unix:@app-*", "unix:@app-17/x", true }, { "unix:@a?c", "unix:@abc", true }, { "unix:@*", "unix:@anything", true },
	{ "unix:@\\*", "unix:@*", true }, { "unix:@\\*", "unix:@x", false }, { "unix:@name", "unix:/name", false },
	{ "unix:/**", "127.0.0.1:80", false }, { "0.0.0.0/0:*", "unix:/x", false }, { "unix:/a[b]", "unix:/a[b]", false },
};

/* Requests pass through address_parse, which leaves an address in the form that it was written: fold it as a call would. */
static bool ask(const char *text, struct address *address)
{
	struct error error;
	if (address_parse(text, address, &error) == 0)
		return true;
	tap_ok(false, "request %s: %s", text, error.message);
	return false;
}

static void test_matches(void)
{
	struct address address;
	for (size_t i = 0; i < sizeof(match_cases) / sizeof(*match_cases); i++) {
		const struct match_case *row = &match_cases[i];
		struct address_pattern pattern;
		struct error error = { 0 };
		if (!tap_number(address_pattern_parse(row->entry, &pattern, &error), 0, "parses: %s", row->entry)) {
			printf("# %s\n", error.message);
			continue;
		}
		if (ask(row->asked, &address))
			tap_ok(address_matches(&pattern, &address) == row->matches, "%s %s %s", row->entry,
			       row->matches ? "covers" : "does not cover", row->asked);
		address_pattern_free(&pattern);
	}
}

static const struct refuse_case {
	const char *text, *piece;
} refuse_cases[] = {
	{ "10.0.0.1/8:80", "10.0.0.1/8 has bits set beyond its prefix; write 10.0.0.0/8" },
	{ "10.1.0.0/15:80", "write 10.0.0.0/15" }, { "0.0.0.1/0:80", "write 0.0.0.0/0" },
	{ "[2001:db8::1]/32:80", "[2001:db8::1]/32 has bits set beyond its prefix; write [2001:db8::]/32" },
	{ "[::ffff:10.0.0.1]/104:80", "beyond its prefix" }, { "[::ffff:0:0]/90:80", "beyond its prefix" },
	{ "10.0.0.0/33:80", "a number from 0 to 32" }, { "10.0.0.0/:80", "a number from 0 to 32" }, { "10.0.0.0/08:80", "from 0 to 32" },
	{ "10.0.0.0/-1:80", "from 0 to 32" }, { "[::]/129:80", "from 0 to 128" }, { "localhost/8:80", "localhost takes no prefix" },
	{ "10.0.0.1", "a port is missing" }, { "10.0.0.1:", "a port is missing" }, { "[::1]", "a port is missing" },
	{ "[::1]80", "a port is missing" }, { "10.0.0.0/8", "a port is missing" }, { "localhost", "a port is missing" },
	{ "10.0.0.1:x", "\"x\" is no port" }, { "10.0.0.1:80x", "\"80x\" is no port" }, { "10.0.0.1:65536", "is no port" },
	{ "10.0.0.1:-80", "is no port" }, { "10.0.0.1:080", "is no port" }, { "10.0.0.1:80-", "is no port" },
	{ "10.0.0.1:80-70", "runs backwards" }, { "10.0.0.1:80-90-100", "is no port" }, { "10.0.0.1:**", "is no port" },
	{ "10.0.0.1: 80", "is no port" }, { "10.0.0.1:4294967376", "is no port" }, { ":80", "an address is missing" },
	{ "", "an address is missing" }, { "*:80", "any host is 0.0.0.0/0 and [::]/0" }, { "*", "any host is" },
	{ "2001:db8::1:443", "in brackets" }, { "::1:80", "an address is missing" }, { "10.0.0:80", "is no IPv4 address" },
	{ "10.0.0.256:80", "is no IPv4 address" }, { "10.0.0.01:80", "is no IPv4 address" }, { "10.0.0.1.2:80", "is no IPv4 address" },
	{ "1:80", "is no IPv4 address" }, { "api.example.com:443", "not supported by this version: \"api.example.com\"" },
	{ "LOCALHOST:80", "not supported by this version" }, { "tcp:example.com:443", "not supported by this version: \"example.com\"" },
	{ "sctp:10.0.0.1:80", "in brackets" }, { "[::1:80", "'[' has no ']'" }, { "[]:80", "\"\" is no IPv6 address" },
	{ "[10.0.0.1]:80", "is no IPv6 address" }, { "[fe80::1%eth0]:80", "with a zone (fe80::1%eth0)" }, { "[1::2::3]:80", "no IPv6 address" },
	{ "[00000000000000000000000000000000000000000000000000000000000000000000000000]:1", "is no IPv6 address" },
	{ "unix:", "unix:/PATH or unix:@NAME" }, { "unix:@", "unix:/PATH or unix:@NAME" }, { "unix:run/x", "unix:/PATH or unix:@NAME" },
	{ "unix:/a//b", "empty component" }, { "unix:/a/", "empty component" }, { "unix:@a[", "no ']'" }, { "unix:/a/${X}", "only at the beginning" },
};

static void test_refusals(void)
{
	for (size_t i = 0; i < sizeof(refuse_cases) / sizeof(*refuse_cases); i++) {
		struct address_pattern pattern;
		struct error error = { 0 };
		tap_number(address_pattern_parse(refuse_cases[i].text, &pattern, &error), -EINVAL, "is refused: \"%s\"", refuse_cases[i].text);
		tap_contains(error.message, refuse_cases[i].piece, "says what is wrong with \"%s\"", refuse_cases[i].text);
		tap_ok(pattern.kind == ADDRESS_NONE && !pattern.localhost, "what was refused covers nothing: \"%s\"", refuse_cases[i].text);
	}
	static const struct refuse_case requests[] = {
		{ "localhost:80", "localhost is two addresses" }, { "10.0.0.0/8:80", "one address, not a network" }, { "10.0.0.1:*", "one port" },
		{ "10.0.0.1:1-2", "one port" }, { "unix:x", "unix:/PATH" }, { "unix:/", "unix:/PATH" }, { "nowhere:80", "not supported" },
		{ "10.0.0.1", "a port is missing" },
	};
	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		struct address address;
		struct error error = { 0 };
		tap_ok(address_parse(requests[i].text, &address, &error) < 0, "is no request: %s", requests[i].text);
		tap_contains(error.message, requests[i].piece, "says why %s is none", requests[i].text);
	}
}

/* ---- what calls name ---- */

static void expect(const void *sockaddr, size_t length, bool destination, const char *formatted, const char *name)
{
	struct address address;
	char text[ADDRESS_TEXT];
	tap_number(address_decode(sockaddr, length, destination, &address), 0, "decodes: %s", name);
	address_format(&address, text);
	tap_string(text, formatted, "%s", name);
}

static struct sockaddr_in6 ipv6(const char *host, uint16_t port)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = 7 };
	inet_pton(AF_INET6, host, &in.sin6_addr);
	return in;
}

static struct sockaddr_in ipv4(const char *host, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	inet_pton(AF_INET, host, &in.sin_addr);
	return in;
}

static void test_decode_inet(void)
{
	struct sockaddr_in four = ipv4("192.0.2.1", 80), any4 = ipv4("0.0.0.0", 80);
	expect(&four, sizeof(four), true, "192.0.2.1:80", "IPv4");
	expect(&any4, sizeof(any4), true, "127.0.0.1:80", "the IPv4 wildcard as a destination is loopback");
	expect(&any4, sizeof(any4), false, "0.0.0.0:80", "the IPv4 wildcard to bind stays itself");

	struct sockaddr_in6 six = ipv6("2001:db8::1", 443), any6 = ipv6("::", 443), mapped = ipv6("::ffff:127.0.0.1", 80),
			    any_mapped = ipv6("::ffff:0.0.0.0", 80);
	expect(&six, sizeof(six), true, "[2001:db8::1]:443", "IPv6");
	expect(&six, 24, true, "[2001:db8::1]:443", "IPv6 without its scope");
	expect(&any6, sizeof(any6), true, "[::1]:443", "the IPv6 wildcard as a destination is loopback");
	expect(&any6, sizeof(any6), false, "[::]:443", "the IPv6 wildcard to bind stays itself");
	expect(&mapped, sizeof(mapped), true, "127.0.0.1:80", "a mapped address is IPv4");
	expect(&any_mapped, sizeof(any_mapped), true, "127.0.0.1:80", "the mapped wildcard as a destination is loopback");

	struct address address;
	address_decode(&six, sizeof(six), true, &address);
	tap_number(address.scope_id, 7, "the scope is kept");
	address_decode(&six, 24, true, &address);
	tap_number(address.scope_id, 0, "there is no scope in the short form");
	tap_number(address_decode(&four, 15, true, &address), -EINVAL, "IPv4 in 15 bytes");
	tap_number(address_decode(&six, 23, true, &address), -EINVAL, "IPv6 in 23 bytes");
	tap_number(address_decode(&four, 1, true, &address), -EINVAL, "less than a family");
	tap_number(address.kind, ADDRESS_NONE, "what cannot be decoded is nothing");
	char large[200] = { AF_INET };
	tap_number(address_decode(large, 129, true, &address), -EINVAL, "more than the kernel copies");
	tap_number(address_decode(large, 128, true, &address), 0, "as much as the kernel copies");
}

static void test_decode_unspecified(void)
{
	struct sockaddr_in in = ipv4("192.0.2.1", 9);
	in.sin_family = AF_UNSPEC;
	struct address address;
	tap_number(address_decode(&in, sizeof(in), true, &address), -EAFNOSUPPORT, "AF_UNSPEC is no address");
	tap_number(address.kind, ADDRESS_NONE, "of any kind");
	tap_number(address_decode_as_ipv4(&in, sizeof(in), true, &address), 0, "but some calls read it as IPv4");
	char text[ADDRESS_TEXT];
	address_format(&address, text);
	tap_string(text, "192.0.2.1:9", "with its bytes");
	tap_number(address.family, AF_UNSPEC, "and its family as it was");
	tap_number(address_decode_as_ipv4(&in, 8, true, &address), -EINVAL, "not when it is too short for that");
}

static void test_decode_unix(void)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/run/x" };
	const size_t header = offsetof(struct sockaddr_un, sun_path);
	expect(&un, sizeof(un), true, "unix:/run/x", "a path ends at its zero byte");
	expect(&un, header + 4, true, "unix:/run", "or where the length ends");
	expect(&un, header, true, "unix: (no name)", "no name");
	memset(un.sun_path, 'p', sizeof(un.sun_path));
	un.sun_path[0] = '/';
	struct address address;
	tap_number(address_decode(&un, sizeof(un), true, &address), 0, "a path that fills the whole field");
	tap_number((long long)address.path_length, (long long)sizeof(un.sun_path), "is as long as the field");
	tap_number((long long)strlen(address.path), (long long)sizeof(un.sun_path), "and terminated behind it");
	tap_number(address_decode(&un, sizeof(un) + 1, true, &address), -EINVAL, "longer than a sockaddr_un");

	memcpy(un.sun_path, "\0ab\0c", 5);
	expect(&un, header + 3, true, "unix:@ab", "an abstract name");
	expect(&un, header + 5, true, "unix:@ab\\x00c", "an abstract name with a zero byte");
	struct address_pattern pattern;
	address_pattern_parse("unix:@ab", &pattern, NULL);
	address_decode(&un, header + 5, true, &address);
	tap_ok(!address_matches(&pattern, &address), "a zero byte does not end an abstract name");
	address_decode(&un, header + 3, true, &address);
	tap_ok(address_matches(&pattern, &address), "the length does");
	address_decode(&un, header + 1, true, &address);
	tap_number((long long)address.path_length, 0, "an abstract name may be empty");
	address_pattern_free(&pattern);
}

static void test_odd_kinds(void)
{
	struct sockaddr other = { .sa_family = AF_NETLINK };
	expect(&other, sizeof(other), true, "address family 16", "another family");
	struct address_pattern everything[3];
	static const char *const texts[] = { "0.0.0.0/0:*", "[::]/0:*", "unix:@*" };
	struct address netlink, unnamed = { .kind = ADDRESS_UNIX_UNNAMED, .family = AF_UNIX };
	address_decode(&other, sizeof(other), true, &netlink);
	for (size_t i = 0; i < 3; i++) {
		address_pattern_parse(texts[i], &everything[i], NULL);
		tap_ok(!address_matches(&everything[i], &netlink), "%s does not cover another family", texts[i]);
		tap_ok(address_matches(&everything[i], &unnamed) == (i == 2), "%s and a name that the kernel picks", texts[i]);
		address_pattern_free(&everything[i]);
	}
	struct address_pattern empty = { 0 };
	struct address four = { .kind = ADDRESS_IPV4 };
	tap_ok(!address_matches(&empty, &four), "an entry that was never filled covers nothing");
	struct address_pattern named;
	address_pattern_parse("unix:@x*", &named, NULL);
	tap_ok(!address_matches(&named, &unnamed), "some names are not every name");
	address_pattern_free(&named);
}

int main(void)
{
	test_matches();
	test_refusals();
	test_decode_inet();
	test_decode_unspecified();
	test_decode_unix();
	test_odd_kinds();
	return tap_done();
}
