/* Addresses as text: entries of a policy, and what `check` is asked. */
#include "base/text.h"
#include "policy/address.h"
#include "policy/pattern.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_MAX_BYTES = 64, PORT_MOST = 65535, BITS_IPV4 = 32, BITS_IPV6 = 128, BITS_MAPPED = 96 };

static const char *skip_prefix(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);
	return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

/* ---- numbers ---- */

/* Reads decimal digits without leading zeros up to `most`; NULL where there are none. */
static const char *read_number(const char *text, unsigned most, unsigned *number)
{
	size_t digits = strspn(text, "0123456789");
	if (digits == 0 || digits > 5 || (digits > 1 && text[0] == '0'))
		return NULL;
	*number = (unsigned)strtoul(text, NULL, 10);
	return *number <= most ? text + digits : NULL;
}

static int parse_ports(const char *text, struct address_pattern *pattern, struct error *error)
{
	unsigned low = 0, high = PORT_MOST;
	if (strcmp(text, "*") != 0) {
		const char *rest = read_number(text, PORT_MOST, &low);
		high = low;
		if (rest && *rest == '-')
			rest = read_number(rest + 1, PORT_MOST, &high);
		if (!rest || *rest)
			return error_set(error, EINVAL, "\"%s\" is no port; write 443, 8000-8010 or * (0 to %d)", text,
					 PORT_MOST);
		if (high < low)
			return error_set(error, EINVAL, "the port range %s runs backwards", text);
	}
	pattern->port_low = (uint16_t)low;
	pattern->port_high = (uint16_t)high;
	return 0;
}

/* ---- host part ---- */

static void clear_host_bits(uint8_t *bytes, unsigned bits, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned kept = bits > 8 * i ? bits - 8 * (unsigned)i : 0;
		if (kept < 8)
			bytes[i] &= (uint8_t)(0xFF00 >> kept);
	}
}

static void format_network(const struct address_pattern *pattern, char *target, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";
	bool four = pattern->kind == ADDRESS_IPV4;
	inet_ntop(four ? AF_INET : AF_INET6, pattern->bytes, host, sizeof(host));
	snprintf(target, size, four ? "%s/%u" : "[%s]/%u", host, pattern->prefix_bits);
}

/* 10.0.0.1/8 is half an address and half a network: which one was meant is not ours to guess. */
static int check_host_bits(const struct address_pattern *pattern, struct error *error)
{
	struct address_pattern cleared = *pattern;
	size_t length = pattern->kind == ADDRESS_IPV4 ? 4 : 16;
	clear_host_bits(cleared.bytes, cleared.prefix_bits, length);
	if (memcmp(cleared.bytes, pattern->bytes, length) == 0)
		return 0;
	char written[80], corrected[80];
	format_network(pattern, written, sizeof(written));
	format_network(&cleared, corrected, sizeof(corrected));
	return error_set(error, EINVAL, "%s has bits set beyond its prefix; write %s", written, corrected);
}

/* Reads "/BITS" where there is one. */
static int parse_prefix(const char **rest, struct address_pattern *pattern, struct error *error)
{
	unsigned most = pattern->kind == ADDRESS_IPV4 ? BITS_IPV4 : BITS_IPV6;
	pattern->prefix_bits = most;
	if (**rest != '/')
		return 0;
	if (pattern->localhost)
		return error_set(error, EINVAL, "localhost takes no prefix");
	const char *end = read_number(*rest + 1, most, &pattern->prefix_bits);
	if (!end)
		return error_set(error, EINVAL, "a prefix of this kind of address is a number from 0 to %u", most);
	*rest = end;
	return check_host_bits(pattern, error);
}

/* Addresses of calls are folded before they are compared: an entry in mapped form has to be folded the same way. */
static void fold_mapped(struct address_pattern *pattern)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	if (pattern->kind != ADDRESS_IPV6 || pattern->prefix_bits < BITS_MAPPED ||
	    memcmp(pattern->bytes, mapped, sizeof(mapped)) != 0)
		return;
	pattern->kind = ADDRESS_IPV4;
	pattern->prefix_bits -= BITS_MAPPED;
	memmove(pattern->bytes, pattern->bytes + sizeof(mapped), 4);
	memset(pattern->bytes + 4, 0, sizeof(pattern->bytes) - 4);
}

static int parse_ipv6(const char **rest, struct address_pattern *pattern, struct error *error)
{
	const char *start = *rest + 1;
	size_t length = strcspn(start, "]");
	char host[HOST_MAX_BYTES] = "";
	if (start[length] != ']')
		return error_set(error, EINVAL, "'[' has no ']'");
	if (length < sizeof(host))
		memcpy(host, start, length);
	if (strchr(host, '%'))
		return error_set(error, EINVAL, "an address with a zone (%s) is not supported", host);
	if (inet_pton(AF_INET6, host, pattern->bytes) != 1)
		return error_set(error, EINVAL, "\"%.*s\" is no IPv6 address",
				 length < HOST_MAX_BYTES ? (int)length : HOST_MAX_BYTES, start);
	pattern->kind = ADDRESS_IPV6;
	*rest = start + length + 1;
	return 0;
}

static int refuse_host(const char *host, const char *text, struct error *error)
{
	if (*host == '\0')
		return error_set(error, EINVAL, "an address is missing; write HOST:PORT");
	if (strcmp(host, "*") == 0)
		return error_set(error, EINVAL,
				 "\"*\" is no address; any host is 0.0.0.0/0 and [::]/0, one entry each");
	const char *first = strchr(text, ':');
	if (first && strchr(first + 1, ':'))
		return error_set(error, EINVAL, "an IPv6 address stands in brackets: [2001:db8::1]:443");
	if (host[strspn(host, "0123456789.")] == '\0')
		return error_set(error, EINVAL, "\"%s\" is no IPv4 address", host);
	return error_set(error, EINVAL, "host names other than localhost are not supported by this version: \"%s\"",
			 host);
}

static int parse_name_or_ipv4(const char **rest, struct address_pattern *pattern, struct error *error)
{
	char host[256] = "";
	size_t length = strcspn(*rest, ":/");
	snprintf(host, sizeof(host), "%.*s", length < sizeof(host) ? (int)length : (int)sizeof(host) - 1, *rest);
	pattern->kind = ADDRESS_IPV4;
	pattern->localhost = strcmp(host, "localhost") == 0;
	if (!pattern->localhost && inet_pton(AF_INET, host, pattern->bytes) != 1)
		return refuse_host(host, *rest, error);
	*rest += length;
	return 0;
}

static int parse_inet(const char *text, struct address_pattern *pattern, struct error *error)
{
	const char *rest = text, *narrowed;
	if ((narrowed = skip_prefix(text, "tcp:"))) {
		pattern->transport = TRANSPORT_TCP;
		rest = narrowed;
	} else if ((narrowed = skip_prefix(text, "udp:"))) {
		pattern->transport = TRANSPORT_UDP;
		rest = narrowed;
	}
	int result = *rest == '[' ? parse_ipv6(&rest, pattern, error) : parse_name_or_ipv4(&rest, pattern, error);
	if (result == 0)
		result = parse_prefix(&rest, pattern, error);
	if (result != 0)
		return result;
	if (*rest != ':' || rest[1] == '\0')
		return error_set(error, EINVAL, "a port is missing; write HOST:PORT, HOST:LOW-HIGH or HOST:*");
	fold_mapped(pattern);
	return parse_ports(rest + 1, pattern, error);
}

/* ---- unix sockets ---- */

static int parse_unix(const char *name, struct address_pattern *pattern, struct error *error)
{
	if (*name == '/') {
		pattern->kind = ADDRESS_UNIX_PATH;
		return pattern_compile(name, &pattern->path, error);
	}
	if (*name != '@' || name[1] == '\0')
		return error_set(error, EINVAL, "a unix socket is unix:/PATH or unix:@NAME");
	const char *wrong = pattern_name_check(name + 1);
	if (wrong)
		return error_set(error, EINVAL, "%s", wrong);
	pattern->kind = ADDRESS_UNIX_ABSTRACT;
	pattern->abstract_name = text_duplicate(name + 1);
	return 0;
}

int address_pattern_parse(const char *text, struct address_pattern *pattern, struct error *error)
{
	*pattern = (struct address_pattern){ 0 };
	const char *name = skip_prefix(text, "unix:");
	int result = name ? parse_unix(name, pattern, error) : parse_inet(text, pattern, error);
	if (result != 0)
		address_pattern_free(pattern);
	return result;
}

/* ---- requests ---- */

/* A request names one socket: what looks like a pattern is part of the name. */
static int parse_unix_request(const char *name, struct address *address, struct error *error)
{
	bool abstract = *name == '@';
	if ((!abstract && *name != '/') || name[1] == '\0')
		return error_set(error, EINVAL, "a unix socket is unix:/PATH or unix:@NAME");
	size_t length = strlen(name + abstract);
	if (length >= sizeof(address->path))
		return error_set(error, ENAMETOOLONG, "the socket's name is too long");
	address->family = AF_UNIX;
	address->kind = abstract ? ADDRESS_UNIX_ABSTRACT : ADDRESS_UNIX_PATH;
	address->path_length = length;
	memcpy(address->path, name + abstract, length);
	return 0;
}

int address_parse(const char *text, struct address *address, struct error *error)
{
	memset(address, 0, sizeof(*address));
	const char *name = skip_prefix(text, "unix:");
	if (name)
		return parse_unix_request(name, address, error);

	struct address_pattern pattern = { 0 };
	int result = parse_inet(text, &pattern, error);
	if (result != 0)
		return result;
	if (pattern.localhost)
		return error_set(error, EINVAL, "localhost is two addresses; ask for 127.0.0.1 or [::1]");
	if (pattern.prefix_bits != (pattern.kind == ADDRESS_IPV4 ? BITS_IPV4 : BITS_IPV6))
		return error_set(error, EINVAL, "a request names one address, not a network");
	if (pattern.port_low != pattern.port_high)
		return error_set(error, EINVAL, "a request names one port");
	address->kind = pattern.kind;
	address->family = pattern.kind == ADDRESS_IPV4 ? AF_INET : AF_INET6;
	address->transport = pattern.transport;
	address->port = pattern.port_low;
	memcpy(address->bytes, pattern.bytes, sizeof(address->bytes));
	return 0;
}
