#include "policy/address.h"

#include "base/text.h"
#include "policy/pattern.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static const uint8_t mapped_prefix[12] = { [10] = 0xFF, [11] = 0xFF };
static const uint8_t loopback_ipv4[16] = { 127, 0, 0, 1 };
static const uint8_t loopback_ipv6[16] = { [15] = 1 };
static const uint8_t wildcard[16];

static size_t address_length(enum address_kind kind)
{
	return kind == ADDRESS_IPV4 ? 4 : 16;
}

static bool is_inet(const struct address *address)
{
	return address->kind == ADDRESS_IPV4 || address->kind == ADDRESS_IPV6;
}

bool address_is_wildcard(const struct address *address)
{
	return is_inet(address) && memcmp(address->bytes, wildcard, address_length(address->kind)) == 0;
}

void address_fold_wildcard(struct address *address)
{
	if (!address_is_wildcard(address))
		return;
	memcpy(address->bytes, address->kind == ADDRESS_IPV4 ? loopback_ipv4 : loopback_ipv6, sizeof(address->bytes));
}

/* ---- decoding ---- */

static int decode_ipv4(const void *sockaddr, size_t length, struct address *address)
{
	struct sockaddr_in in;
	if (length < sizeof(in))
		return -EINVAL;
	memcpy(&in, sockaddr, sizeof(in));
	address->kind = ADDRESS_IPV4;
	memcpy(address->bytes, &in.sin_addr, 4);
	address->port = ntohs(in.sin_port);
	return 0;
}

/* The kernel takes the form without a scope as well (SIN6_LEN_RFC2133, net/ipv6.h). */
static int decode_ipv6(const void *sockaddr, size_t length, struct address *address)
{
	enum { LENGTH_WITHOUT_SCOPE = 24 };
	struct sockaddr_in6 in = { 0 };
	if (length < LENGTH_WITHOUT_SCOPE)
		return -EINVAL;
	memcpy(&in, sockaddr, length < sizeof(in) ? LENGTH_WITHOUT_SCOPE : sizeof(in));
	address->port = ntohs(in.sin6_port);
	if (memcmp(&in.sin6_addr, mapped_prefix, sizeof(mapped_prefix)) == 0) {
		address->kind = ADDRESS_IPV4;
		memcpy(address->bytes, (const uint8_t *)&in.sin6_addr + sizeof(mapped_prefix), 4);
		return 0;
	}
	address->kind = ADDRESS_IPV6;
	address->scope_id = in.sin6_scope_id;
	memcpy(address->bytes, &in.sin6_addr, sizeof(address->bytes));
	return 0;
}

/* unix(7): a name that starts with a zero byte is abstract and as long as the length says; a path ends at its first
 * zero byte or where the length ends. */
static int decode_unix(const void *sockaddr, size_t length, struct address *address)
{
	const size_t header = offsetof(struct sockaddr_un, sun_path);
	if (length > sizeof(struct sockaddr_un))
		return -EINVAL;
	const char *name = (const char *)sockaddr + header;
	size_t name_length = length - header;
	if (name_length == 0) {
		address->kind = ADDRESS_UNIX_UNNAMED;
		return 0;
	}
	bool abstract = name[0] == '\0';
	address->kind = abstract ? ADDRESS_UNIX_ABSTRACT : ADDRESS_UNIX_PATH;
	address->path_length = abstract ? name_length - 1 : strnlen(name, name_length);
	memcpy(address->path, name + abstract, address->path_length);
	return 0;
}

static int decode_family(const void *sockaddr, size_t length, struct address *address)
{
	switch (address->family) {
	case AF_UNSPEC:
		return -EAFNOSUPPORT;
	case AF_INET:
		return decode_ipv4(sockaddr, length, address);
	case AF_INET6:
		return decode_ipv6(sockaddr, length, address);
	case AF_UNIX:
		return decode_unix(sockaddr, length, address);
	default:
		address->kind = ADDRESS_OTHER;
		return 0;
	}
}

/* The kernel copies at most a sockaddr_storage (net/socket.c, move_addr_to_kernel) and needs the family. */
static int decode_start(const void *sockaddr, size_t length, struct address *address)
{
	sa_family_t family;
	memset(address, 0, sizeof(*address));
	if (length < sizeof(family) || length > sizeof(struct sockaddr_storage))
		return -EINVAL;
	memcpy(&family, sockaddr, sizeof(family));
	address->family = family;
	return 0;
}

int address_decode(const void *sockaddr, size_t length, bool destination, struct address *address)
{
	int result = decode_start(sockaddr, length, address);
	if (result == 0)
		result = decode_family(sockaddr, length, address);
	if (result == 0 && destination)
		address_fold_wildcard(address);
	return result;
}

int address_decode_as_ipv4(const void *sockaddr, size_t length, bool destination, struct address *address)
{
	int result = decode_start(sockaddr, length, address);
	if (result == 0)
		result = decode_ipv4(sockaddr, length, address);
	if (result == 0 && destination)
		address_fold_wildcard(address);
	return result;
}

/* ---- matching ---- */

static bool same_prefix(const uint8_t *left, const uint8_t *right, unsigned bits)
{
	size_t whole = bits / 8;
	unsigned rest = bits % 8;
	if (memcmp(left, right, whole) != 0)
		return false;
	return rest == 0 || ((left[whole] ^ right[whole]) >> (8 - rest)) == 0;
}

static bool host_matches(const struct address_pattern *pattern, const struct address *address)
{
	if (pattern->localhost)
		return memcmp(address->bytes, address->kind == ADDRESS_IPV4 ? loopback_ipv4 : loopback_ipv6,
			      address_length(address->kind)) == 0;
	return pattern->kind == address->kind && same_prefix(pattern->bytes, address->bytes, pattern->prefix_bits);
}

/* A socket whose type could not be learned might be either: only an entry for both is sure to cover it. */
static bool transport_matches(const struct address_pattern *pattern, const struct address *address)
{
	return pattern->transport == TRANSPORT_ANY || pattern->transport == address->transport;
}

static bool inet_matches(const struct address_pattern *pattern, const struct address *address)
{
	if (!pattern->localhost && pattern->kind != ADDRESS_IPV4 && pattern->kind != ADDRESS_IPV6)
		return false;
	return host_matches(pattern, address) && address->port >= pattern->port_low &&
	       address->port <= pattern->port_high && transport_matches(pattern, address);
}

bool address_matches(const struct address_pattern *pattern, const struct address *address)
{
	bool abstract = pattern->kind == ADDRESS_UNIX_ABSTRACT && pattern->abstract_name;
	switch (address->kind) {
	case ADDRESS_IPV4:
	case ADDRESS_IPV6:
		return inet_matches(pattern, address);
	case ADDRESS_UNIX_PATH:
		return pattern->kind == ADDRESS_UNIX_PATH && pattern->path &&
		       pattern_matches(pattern->path, address->path, 0);
	case ADDRESS_UNIX_ABSTRACT:
		return abstract && pattern_name_matches(pattern->abstract_name, address->path, address->path_length);
	case ADDRESS_UNIX_UNNAMED:
		/* The kernel picks the name: only an entry for every name is sure to cover it. */
		return abstract && strcmp(pattern->abstract_name, "*") == 0;
	case ADDRESS_NONE:
	case ADDRESS_OTHER:
		break;
	}
	return false;
}

void address_pattern_free(struct address_pattern *pattern)
{
	pattern_free(pattern->path);
	free(pattern->abstract_name);
	*pattern = (struct address_pattern){ 0 };
}

/* ---- for people ---- */

/* A zero byte cannot stand in a C string: it is shown as \x00. */
static void format_abstract(const struct address *address, char *target)
{
	struct text text = { 0 };
	text_append(&text, "unix:@");
	for (size_t i = 0; i < address->path_length; i++) {
		if (address->path[i] == '\0')
			text_append(&text, "\\x00");
		else
			text_append_bytes(&text, &address->path[i], 1);
	}
	text_copy(target, ADDRESS_TEXT, text_string(&text));
	text_free(&text);
}

void address_format(const struct address *address, char *target)
{
	char host[INET6_ADDRSTRLEN] = "?";
	switch (address->kind) {
	case ADDRESS_IPV4:
		inet_ntop(AF_INET, address->bytes, host, sizeof(host));
		snprintf(target, ADDRESS_TEXT, "%s:%u", host, address->port);
		break;
	case ADDRESS_IPV6:
		inet_ntop(AF_INET6, address->bytes, host, sizeof(host));
		snprintf(target, ADDRESS_TEXT, "[%s]:%u", host, address->port);
		break;
	case ADDRESS_UNIX_PATH:
		snprintf(target, ADDRESS_TEXT, "unix:%s", address->path);
		break;
	case ADDRESS_UNIX_ABSTRACT:
		format_abstract(address, target);
		break;
	case ADDRESS_UNIX_UNNAMED:
		snprintf(target, ADDRESS_TEXT, "unix: (no name)");
		break;
	case ADDRESS_NONE:
	case ADDRESS_OTHER:
		snprintf(target, ADDRESS_TEXT, "address family %d", address->family);
		break;
	}
}
