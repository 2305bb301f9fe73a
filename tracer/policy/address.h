/* Network addresses as a policy writes them, and as a system call gives them.
 *
 *     api.example.com:443      refused by name for now: host names other than localhost come later
 *     10.0.0.0/8:5432   [2001:db8::]/32:*   udp:192.0.2.1:53   tcp:127.0.0.1:8000-8010
 *     localhost:8080           127.0.0.1 and ::1
 *     unix:/run/app.sock       a path pattern         unix:@name    an abstract name, `*` and `?` allowed
 *
 * Mapped IPv6 (::ffff:a.b.c.d) is folded to IPv4, and the wildcard address to the loopback address when it is a
 * destination, before anything is compared: the kernel connects 0.0.0.0 and :: to this host. */
#ifndef POLICY_ADDRESS_H
#define POLICY_ADDRESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum address_kind { ADDRESS_NONE, ADDRESS_IPV4, ADDRESS_IPV6, ADDRESS_UNIX_PATH, ADDRESS_UNIX_ABSTRACT, ADDRESS_UNIX_UNNAMED, ADDRESS_OTHER };

enum transport { TRANSPORT_ANY, TRANSPORT_TCP, TRANSPORT_UDP };

enum { ADDRESS_PATH_MAX = 4096, ADDRESS_TEXT = 4200 };

/* What a call names. `transport` TRANSPORT_ANY means that the socket's type could not be learned: then an entry must
 * cover both TCP and UDP to match. */
struct address {
	enum address_kind kind;
	enum transport transport;
	int family;
	uint8_t bytes[16];  /* IPv4: the first 4 */
	uint16_t port;      /* host order */
	uint32_t scope_id;
	char path[ADDRESS_PATH_MAX]; /* unix path (canonical once the engine has resolved it) or abstract name without its NUL */
	size_t path_length;
};

struct address_pattern {
	enum transport transport;
	bool localhost;
	enum address_kind kind;
	uint8_t bytes[16];
	unsigned prefix_bits;
	uint16_t port_low, port_high; /* inclusive; 0 to 65535 for `*` */
	struct path_pattern *path;    /* unix:/… ; owned */
	char *abstract_name;          /* unix:@… ; owned */
};

/* On failure the error's text says what is wrong with the entry (no file, no line). */
int address_pattern_parse(const char *text, struct address_pattern *pattern, struct error *error);
void address_pattern_free(struct address_pattern *pattern);

/* Decodes a sockaddr of `length` bytes as the kernel would read it. Folds mapped IPv6; `destination` also folds the
 * wildcard to loopback. Returns 0, -EINVAL for a length the kernel refuses, -EAFNOSUPPORT for AF_UNSPEC (kind NONE). The
 * transport is the caller's to fill in. */
int address_decode(const void *sockaddr, size_t length, bool destination, struct address *address);

/* Some calls of IPv4 sockets read AF_UNSPEC as AF_INET: bind to the wildcard (net/ipv4/af_inet.c, __inet_bind) and sendto
 * on UDP (net/ipv4/udp.c, udp_sendmsg). Decodes such a sockaddr as the IPv4 address that those calls would use. */
int address_decode_as_ipv4(const void *sockaddr, size_t length, bool destination, struct address *address);

/* 0.0.0.0 and :: as a destination are this host. Changes `address` to the loopback address of its family. */
void address_fold_wildcard(struct address *address);
bool address_is_wildcard(const struct address *address);

bool address_matches(const struct address_pattern *pattern, const struct address *address);

/* "192.0.2.1:80", "[2001:db8::1]:443", "unix:/run/x", "unix:@name": as a policy would write it; "tcp:" or "udp:" is not
 * part of it. `target` holds ADDRESS_TEXT bytes. */
void address_format(const struct address *address, char *target);

/* Parses what `check` takes: HOST:PORT with an exact address and port (udp:, tcp: allowed), or unix:…. */
int address_parse(const char *text, struct address *address, struct error *error);

#endif
