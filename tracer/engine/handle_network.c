/* connect, bind, listen and every send that carries an address. */
#include "engine/handlers.h"
#include "engine/sockets.h"

#include "base/text.h"
#include "engine/freeze.h"
#include "engine/pin.h"
#include "tracee/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { SOCKADDR_BYTES = sizeof(struct sockaddr_storage), CONTROL_BYTES = 4096, DNS_PORT = 53 };

enum purpose { PURPOSE_CONNECT, PURPOSE_SEND, PURPOSE_BIND };

/* An address as the call gives it, and what was found out about the socket. */
struct endpoint {
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_nl netlink;
		unsigned char bytes[SOCKADDR_BYTES + 1];
	} raw; /* what the call gets, from the sealed page, where it is allowed */
	size_t length;
	int descriptor;
	enum purpose purpose;
	struct socket_facts facts;
	struct address address;
	char text[ADDRESS_TEXT];
	struct operation operation;
	char guard[PATH_MAX]; /* canonical path of a unix socket that the call looks up by itself; "" for none */
	bool frozen;          /* what the descriptor means is held still */
};

static const char *purpose_text(enum purpose purpose)
{
	static const char *const texts[] = { "connect", "send", "bind" };
	return texts[purpose];
}

static int endpoint_read(struct stop *stop, int descriptor, uint64_t address, int length, enum purpose purpose,
			 struct endpoint *endpoint)
{
	memset(endpoint, 0, offsetof(struct endpoint, address));
	memset(&endpoint->operation, 0, sizeof(endpoint->operation));
	if (length < 0 || length > SOCKADDR_BYTES)
		return -EINVAL;
	endpoint->length = (size_t)length;
	endpoint->descriptor = descriptor;
	endpoint->purpose = purpose;
	return memory_read(stop->task->tid, tracee_address_of(address), endpoint->raw.bytes, endpoint->length);
}

static void describe(struct endpoint *endpoint)
{
	struct operation *operation = &endpoint->operation;
	address_format(&endpoint->address, endpoint->text);
	operation->access_text = purpose_text(endpoint->purpose);
	operation->target = endpoint->text;
	operation->address = &endpoint->address;
	operation->list = endpoint->purpose == PURPOSE_BIND ? LIST_BIND : LIST_CONNECT;
	operation->flags = endpoint->address.transport == TRANSPORT_TCP   ? "tcp"
			   : endpoint->address.transport == TRANSPORT_UDP ? "udp"
									  : NULL;
}

/* What the program gets where the policy refuses: what the kernel itself would say, so that libraries try the next address. */
static int refusal(const struct endpoint *endpoint)
{
	if (endpoint->purpose == PURPOSE_BIND || endpoint->address.kind == ADDRESS_UNIX_PATH)
		return EACCES;
	bool datagram = endpoint->address.transport == TRANSPORT_UDP;
	return datagram && endpoint->address.kind != ADDRESS_UNIX_ABSTRACT ? ENETUNREACH : ECONNREFUSED;
}

/* A datagram connect as libc makes it, to learn which of several addresses has a route: refused without being a violation.
 * With port 0 also where no network entry exists: that is how "localhost" alone is looked up, in files, and nobody connects
 * there to send. The connect itself is still refused, since a datagram could be sent to port 0 behind it. */
static bool is_probe(const struct policy *policy, const struct endpoint *endpoint, int answer)
{
	uint16_t port = endpoint->address.port;
	if (endpoint->purpose != PURPOSE_CONNECT || answer != ENETUNREACH)
		return false;
	return port == 0 || (port != DNS_PORT && decide_has_network(policy));
}

/* `from`: the socket's facts where they may count, else NULL. */
static bool is_allowed_by(struct stop *stop, struct endpoint *endpoint, enum transport transport, const struct socket_facts *from,
			  struct decision *decision)
{
	const struct policy *policy = stop->supervisor->policy;
	bool bind = endpoint->purpose == PURPOSE_BIND;
	endpoint->address.transport = transport;
	*decision = bind ? decide_bind(policy, &endpoint->address) : decide_connect(policy, &endpoint->address);
	return decision->kind == DECISION_ALLOW || (!bind && socket_is_own(stop->supervisor, &endpoint->address, from));
}

static bool is_internet(const struct endpoint *endpoint)
{
	return endpoint->address.kind == ADDRESS_IPV4 || endpoint->address.kind == ADDRESS_IPV6;
}

/* By an entry for each. */
static bool is_open_to_both(struct stop *stop, struct endpoint *endpoint)
{
	struct decision decision;
	enum transport transport = endpoint->address.transport;
	bool both = is_allowed_by(stop, endpoint, TRANSPORT_TCP, NULL, &decision) && decision.kind == DECISION_ALLOW &&
		    is_allowed_by(stop, endpoint, TRANSPORT_UDP, NULL, &decision) && decision.kind == DECISION_ALLOW;
	endpoint->address.transport = transport;
	return both && is_internet(endpoint);
}

/* What is allowed for every kind of socket needs no more. What is allowed for TCP alone, for UDP alone, or for the type of socket
 * that has an abstract name of the tree's own, holds for the socket that was looked at: 7 of 60,000 connects to a UDP-only entry
 * were TCP, by a thread that exchanged the sockets under the number. So there the number is held still, and looked at once
 * more. */
static int is_allowed(struct stop *stop, struct endpoint *endpoint, struct decision *decision, bool *allowed)
{
	const struct socket_facts *facts = &endpoint->facts;
	*allowed = is_allowed_by(stop, endpoint, TRANSPORT_ANY, NULL, decision);
	endpoint->address.transport = socket_transport(facts);
	if (*allowed || !facts->known)
		return 0;
	*allowed = is_allowed_by(stop, endpoint, socket_transport(facts), facts, decision);
	if (!*allowed || is_open_to_both(stop, endpoint))
		return 0;
	int failed = freeze_descriptors(stop, stop->task->tid);
	socket_look(stop->task, endpoint->descriptor, &endpoint->facts);
	endpoint->frozen = true;
	*allowed = is_allowed_by(stop, endpoint, socket_transport(facts), facts, decision);
	return failed;
}

static struct resume judge(struct stop *stop, struct endpoint *endpoint)
{
	const struct policy *policy = stop->supervisor->policy;
	struct operation *operation = &endpoint->operation;
	bool bind = endpoint->purpose == PURPOSE_BIND, allowed;
	struct decision decision;
	int failed = is_allowed(stop, endpoint, &decision, &allowed);
	describe(endpoint);
	if (failed)
		return resume_answer(failed);
	if (allowed) {
		report_allowed(stop, operation, 0);
		return resume_run();
	}
	operation->position = decision.position;
	operation->rule = bind ? RULE_BLOCKED_BIND : RULE_BLOCKED_NETWORK;
	operation->answer = refusal(endpoint);
	if (is_probe(policy, endpoint, operation->answer))
		return report_refused_quietly(stop, operation, ENETUNREACH, "not listed; a datagram connect sends nothing");
	return report_blocked(stop, operation);
}

/* ---- unix sockets ------------------------------------------------------------------------------------------------- */

static bool read_unix_path(const struct endpoint *endpoint, char path[static sizeof(struct sockaddr_un)])
{
	size_t offset = offsetof(struct sockaddr_un, sun_path);
	if (endpoint->length <= offset || endpoint->raw.local.sun_path[0] == '\0')
		return false;
	size_t length = strnlen(endpoint->raw.local.sun_path, endpoint->length - offset);
	memcpy(path, endpoint->raw.local.sun_path, length);
	path[length] = '\0';
	return true;
}

static bool put_unix_path(struct endpoint *endpoint, const char *path)
{
	size_t length = strlen(path);
	if (length >= sizeof(endpoint->raw.local.sun_path))
		return false;
	memcpy(endpoint->raw.local.sun_path, path, length + 1);
	endpoint->length = offsetof(struct sockaddr_un, sun_path) + length + 1;
	return true;
}

/* The text that the kernel gets. The bytes lie in the sealed page, and the names on the way are guarded until the call is
 * over (pin_guard). A name that depends on what a thread can change by itself, its current directory and what its descriptor
 * numbers mean, or that leads through links, becomes the canonical one. Otherwise it stays as written, since getsockname()
 * returns it; also where nobody else is there. */
static bool settle_unix_path(struct stop *stop, struct endpoint *endpoint, const struct resolved *resolved, const char *given)
{
	text_copy(endpoint->guard, sizeof(endpoint->guard), resolved->path);
	bool alone = tasks_count(stop->supervisor->tasks) == 1;
	bool depends = !alone && strcmp(given, resolved->path) != 0;
	return put_unix_path(endpoint, depends ? resolved->path : given) || (!depends && put_unix_path(endpoint, resolved->path));
}

/* Making a socket's name is a write there. */
static struct resume bind_unix_path(struct stop *stop, struct endpoint *endpoint, const char *path)
{
	struct subject subject;
	struct resume resume;
	subject_begin(&subject);
	text_copy(subject.given, sizeof(subject.given), path);
	if (resolve_path(stop->supervisor, stop->task, AT_FDCWD, path, RESOLVE_NAME, &subject.resolved) != 0)
		return resume_nothing();
	const struct resolved *resolved = &subject.resolved;
	if (resolved_is_hidden(stop, resolved))
		return resume_answer(-ENOENT);
	if (!resolved->objected && resolved->error == 0)
		return resume_answer(-EADDRINUSE);
	if (!resolved->objected && !(resolved->error == ENOENT && resolved->parent_exists))
		return subject_walk_error(stop, &subject, ACCESS_WRITE);
	if (!subject_allowed(stop, &subject, ACCESS_WRITE, &resume))
		return resume;
	if (!settle_unix_path(stop, endpoint, resolved, path))
		return resume_answer(-ENAMETOOLONG);
	/* The file that the bind makes is that of the socket that was looked at (socket_has_file). */
	int failed = freeze_descriptors(stop, stop->task->tid);
	if (failed)
		return resume_answer(failed);
	endpoint->frozen = true;
	socket_look(stop->task, endpoint->descriptor, &endpoint->facts);
	text_copy(endpoint->address.path, sizeof(endpoint->address.path), resolved->path);
	endpoint->address.path_length = strlen(endpoint->address.path);
	socket_remember(stop->supervisor, &endpoint->facts, &endpoint->address);
	return resume_run();
}

/* A connect or send by path: judged by the canonical path, links followed as the kernel does. */
static struct resume reach_unix_path(struct stop *stop, struct endpoint *endpoint, const char *path)
{
	struct resolved resolved;
	if (resolve_path(stop->supervisor, stop->task, AT_FDCWD, path, 0, &resolved) != 0)
		return resume_nothing();
	text_copy(endpoint->address.path, sizeof(endpoint->address.path), resolved.path);
	endpoint->address.path_length = strlen(endpoint->address.path);
	describe(endpoint);
	endpoint->operation.given = path;
	endpoint->operation.resolved = endpoint->address.path;
	bool hidden = resolved_is_hidden(stop, &resolved);
	if (hidden || (!resolved.objected && resolved.error && resolved.error != EACCES)) {
		report_allowed(stop, &endpoint->operation, hidden ? ENOENT : resolved.error);
		return resume_answer(hidden ? -ENOENT : -resolved.error);
	}
	if (resolved.objected) {
		endpoint->operation.rule = RULE_BLOCKED_NETWORK;
		endpoint->operation.position = resolved.objection.position;
		endpoint->operation.list = LIST_COUNT;
		endpoint->operation.answer = EACCES;
		return report_blocked(stop, &endpoint->operation);
	}
	struct resume resume = judge(stop, endpoint);
	if (resume.kind != RESUME_RUN)
		return resume;
	if (resolved.error)
		return resume_answer(-resolved.error);
	return settle_unix_path(stop, endpoint, &resolved, path) ? resume_run() : resume_answer(-ENAMETOOLONG);
}

/* /proc/net/unix prints names as they are: one with a line break in it would put lines of its own choice into the table that
 * tells which sockets are still there (socket_is_own). */
static bool breaks_line(const struct endpoint *endpoint)
{
	return memchr(endpoint->raw.local.sun_path, '\n', endpoint->length - offsetof(struct sockaddr_un, sun_path)) != NULL;
}

static struct resume bind_unix(struct stop *stop, struct endpoint *endpoint)
{
	char path[sizeof(struct sockaddr_un) + 1];
	if (breaks_line(endpoint)) {
		describe(endpoint);
		return report_refused_quietly(stop, &endpoint->operation, EINVAL, "a socket's name may hold no line break");
	}
	if (endpoint->address.kind == ADDRESS_UNIX_ABSTRACT) {
		struct resume resume = judge(stop, endpoint);
		if (resume.kind == RESUME_RUN)
			socket_remember(stop->supervisor, &endpoint->facts, &endpoint->address);
		return resume;
	}
	if (!read_unix_path(endpoint, path))
		return resume_answer(-EINVAL);
	struct resume resume = bind_unix_path(stop, endpoint, path);
	/* A relative name has become a canonical one, with folders in front that the call did not name. */
	return resume.kind == RESUME_RUN && breaks_line(endpoint) ? resume_answer(-EINVAL) : resume;
}

static struct resume judge_unix(struct stop *stop, struct endpoint *endpoint)
{
	char path[sizeof(struct sockaddr_un) + 1];
	if (endpoint->address.kind == ADDRESS_UNIX_UNNAMED)
		return resume_run(); /* bind: the kernel picks a name; connect: EINVAL */
	if (endpoint->purpose == PURPOSE_BIND)
		return bind_unix(stop, endpoint);
	if (endpoint->address.kind == ADDRESS_UNIX_ABSTRACT)
		return judge(stop, endpoint);
	return read_unix_path(endpoint, path) ? reach_unix_path(stop, endpoint, path) : resume_answer(-EINVAL);
}

/* ---- the other families ------------------------------------------------------------------------------------------- */

/* Netlink route: dumps are allowed, since libc and runtimes list addresses so; changing anything needs CAP_NET_ADMIN, which
 * no target has. Only the kernel itself may be addressed, and no group be joined. */
static struct resume judge_netlink(struct stop *stop, struct endpoint *endpoint)
{
	endpoint->operation.access_text = purpose_text(endpoint->purpose);
	endpoint->operation.target = "netlink";
	bool kernel = endpoint->purpose == PURPOSE_BIND || endpoint->raw.netlink.nl_pid == 0;
	if (endpoint->length >= sizeof(struct sockaddr_nl) && kernel && endpoint->raw.netlink.nl_groups == 0)
		return resume_run();
	return report_refused_quietly(stop, &endpoint->operation, EPERM, "only the kernel's own answers are open to a run");
}

/* A send to AF_UNSPEC, and a bind to it, mean AF_INET to the kernel (net/ipv4/udp.c, af_inet.c). */
static int decode(struct endpoint *endpoint)
{
	bool unspecified = endpoint->raw.any.sa_family == AF_UNSPEC && endpoint->length >= sizeof(struct sockaddr_in);
	bool destination = endpoint->purpose != PURPOSE_BIND;
	if (unspecified && endpoint->purpose != PURPOSE_CONNECT)
		return address_decode_as_ipv4(endpoint->raw.bytes, endpoint->length, destination, &endpoint->address);
	return address_decode(endpoint->raw.bytes, endpoint->length, destination, &endpoint->address);
}

static bool is_other_family(const struct endpoint *endpoint)
{
	return endpoint->address.kind == ADDRESS_NONE || endpoint->address.kind == ADDRESS_OTHER;
}

/* RESUME_RUN: allowed, with the bytes in endpoint->raw. */
static struct resume judge_endpoint(struct stop *stop, struct endpoint *endpoint)
{
	if (endpoint->length >= sizeof(sa_family_t) && endpoint->raw.any.sa_family == AF_NETLINK)
		return judge_netlink(stop, endpoint);
	int failed = decode(endpoint);
	if (failed == -EAFNOSUPPORT && endpoint->address.kind == ADDRESS_NONE && endpoint->raw.any.sa_family == AF_UNSPEC)
		return endpoint->purpose == PURPOSE_CONNECT ? resume_run() : resume_answer(-EAFNOSUPPORT); /* dissolves */
	if (failed)
		return resume_answer(failed);
	if (is_other_family(endpoint)) {
		endpoint->operation.access_text = purpose_text(endpoint->purpose);
		endpoint->operation.target = "another address family";
		return report_refused_quietly(stop, &endpoint->operation, EAFNOSUPPORT, "only IPv4, IPv6 and unix sockets are open");
	}
	socket_look(stop->task, endpoint->descriptor, &endpoint->facts);
	if (!is_internet(endpoint))
		return judge_unix(stop, endpoint);
	struct resume resume = judge(stop, endpoint);
	if (resume.kind == RESUME_RUN && endpoint->purpose == PURPOSE_BIND)
		socket_remember(stop->supervisor, &endpoint->facts, &endpoint->address);
	return resume;
}

static void guard(struct stop *stop, const struct endpoint *endpoint, struct resume *resume)
{
	resume->frozen = endpoint->frozen;
	if (!endpoint->guard[0] || resume->kind != RESUME_PINNED)
		return;
	pin_guard(stop, endpoint->guard, endpoint->raw.local.sun_path);
	stop->task->pin.bound_inode = endpoint->purpose == PURPOSE_BIND ? endpoint->facts.inode : 0;
	resume->settle = true;
}

/* The call goes on with the bytes that were decided, and their length. */
static struct resume endpoint_pinned(struct stop *stop, const struct endpoint *endpoint, unsigned argument)
{
	stop->call.args[argument + 1] = endpoint->length;
	if (endpoint->length == 0)
		return resume_run();
	struct resume resume = pin_address_argument(stop, argument, endpoint->raw.bytes, endpoint->length);
	guard(stop, endpoint, &resume);
	return resume;
}

/* What is no socket has no address to be judged: the kernel's own errno. */
static bool is_socket(struct stop *stop, struct resume *resume)
{
	int flags, descriptor = stop_int(stop, stop->row->roles.fd);
	if (proc_socket_inode(stop->task->tid, descriptor))
		return true;
	*resume = resume_answer(proc_read_fd_flags(stop->task->tid, descriptor, &flags) == 0 && !(flags & O_PATH) ? -ENOTSOCK : -EBADF);
	return false;
}

static struct resume judge_argument(struct stop *stop, unsigned argument, enum purpose purpose)
{
	struct resume resume;
	if (!is_socket(stop, &resume))
		return resume;
	struct endpoint *endpoint = memory_zeroed(1, sizeof(*endpoint));
	int failed = endpoint_read(stop, stop_int(stop, stop->row->roles.fd), stop->call.args[argument],
				   (int)stop->call.args[argument + 1], purpose, endpoint);
	resume = resume_failed(failed);
	if (!failed)
		resume = judge_endpoint(stop, endpoint);
	if (!failed && resume.kind == RESUME_RUN)
		resume = endpoint_pinned(stop, endpoint, argument);
	free(endpoint);
	return resume;
}

/* ---- the calls ---------------------------------------------------------------------------------------------------- */

struct resume handle_connect(struct stop *stop)
{
	return judge_argument(stop, 1, PURPOSE_CONNECT);
}

struct resume handle_bind(struct stop *stop)
{
	return judge_argument(stop, 1, PURPOSE_BIND);
}

struct resume handle_sendto(struct stop *stop)
{
	return judge_argument(stop, 4, PURPOSE_SEND);
}

/* A message's header and what travels beside its data, as they were read. */
struct packet {
	struct msghdr header;
	uint64_t sent_length_at;
	char control[CONTROL_BYTES];
};

static int message_read(struct stop *stop, uint64_t header_address, struct packet *packet)
{
	const pid_t tid = stop->task->tid;
	int failed = memory_read(tid, tracee_address_of(header_address), &packet->header, sizeof(packet->header));
	size_t length = failed ? 0 : packet->header.msg_controllen;
	if (length > sizeof(packet->control))
		return -ENOBUFS; /* the kernel's own word for too much of it */
	return length ? memory_read(tid, tracee_address_of((uint64_t)packet->header.msg_control), packet->control, length) : failed;
}

/* Header, control messages and name in one slot; the data stays in the program's memory. */
static struct resume message_pinned(struct stop *stop, const struct packet *packet, const struct endpoint *endpoint)
{
	const uint64_t flags = stop->call.args[packet->sent_length_at ? 3 : 2];
	struct msghdr decided = packet->header;
	size_t control_at = sizeof(decided) + SOCKADDR_BYTES;
	if (!pin_take(stop, control_at + decided.msg_controllen))
		return resume_answer(-ENOBUFS);
	if (decided.msg_controllen) {
		memcpy(pin_bytes(stop, control_at), packet->control, decided.msg_controllen);
		decided.msg_control = (void *)pin_address(stop, control_at);
	}
	if (endpoint) {
		memcpy(pin_bytes(stop, sizeof(decided)), endpoint->raw.bytes, endpoint->length);
		decided.msg_name = (void *)pin_address(stop, sizeof(decided));
		decided.msg_namelen = (socklen_t)endpoint->length;
	}
	memcpy(pin_bytes(stop, 0), &decided, sizeof(decided));
	stop->task->pin.sent_length_at = packet->sent_length_at;
	const uint64_t args[6] = { stop->call.args[0], pin_address(stop, 0), flags };
	struct resume resume = pin_call(stop, SYS_sendmsg, args);
	if (endpoint)
		guard(stop, endpoint, &resume);
	return resume;
}

/* A header without a name is pinned as well: the name could be filled in meanwhile. A name longer than any address is cut by
 * the kernel, not refused (net/socket.c, __copy_msghdr). */
static struct resume judge_name(struct stop *stop, struct packet *packet)
{
	int length = (int)packet->header.msg_namelen;
	if (!packet->header.msg_name || length == 0) {
		packet->header.msg_name = NULL;
		return message_pinned(stop, packet, NULL);
	}
	if (length > SOCKADDR_BYTES)
		length = SOCKADDR_BYTES;
	struct endpoint *endpoint = memory_zeroed(1, sizeof(*endpoint));
	int failed = endpoint_read(stop, stop_int(stop, stop->row->roles.fd), (uint64_t)packet->header.msg_name, length, PURPOSE_SEND,
				   endpoint);
	struct resume resume = resume_failed(failed);
	if (!failed)
		resume = judge_endpoint(stop, endpoint);
	if (!failed && resume.kind == RESUME_RUN)
		resume = message_pinned(stop, packet, endpoint);
	free(endpoint);
	return resume;
}

static struct resume judge_message(struct stop *stop, uint64_t header_address, uint64_t sent_length_at)
{
	struct packet packet;
	struct resume resume = resume_run();
	int failed = message_read(stop, header_address, &packet);
	if (failed)
		return resume_failed(failed);
	packet.sent_length_at = sent_length_at;
	const char *route = control_route(packet.control, packet.header.msg_controllen);
	if (route)
		resume = blocked_call(stop, "a route of its own for packets", route);
	return resume.kind == RESUME_RUN ? judge_name(stop, &packet) : resume;
}

struct resume handle_sendmsg(struct stop *stop)
{
	return judge_message(stop, stop->call.args[1], 0);
}

/* The first message alone, as one sendmsg: the call may always send fewer than it was given, and its callers go on with the
 * rest. In place it cannot be pinned, since the kernel writes each length back into the batch. */
struct resume handle_sendmmsg(struct stop *stop)
{
	unsigned count = (unsigned)stop->call.args[2];
	if (count == 0)
		return resume_answer(0);
	uint64_t batch = stop->call.args[1];
	return judge_message(stop, batch, batch + offsetof(struct mmsghdr, msg_len));
}

/* listen on a socket that was never bound lets the kernel pick a port on every address: that is a bind. */
static struct resume judge_unbound_listen(struct stop *stop, const struct socket_facts *facts)
{
	struct endpoint *endpoint = memory_zeroed(1, sizeof(*endpoint));
	endpoint->purpose = PURPOSE_BIND;
	endpoint->descriptor = stop_int(stop, stop->row->roles.fd);
	endpoint->facts = *facts;
	endpoint->address.kind = ADDRESS_IPV4;
	endpoint->address.family = AF_INET;
	struct resume resume = judge(stop, endpoint);
	if (resume.kind == RESUME_RUN)
		socket_remember(stop->supervisor, facts, &endpoint->address);
	free(endpoint);
	return resume;
}

/* In the thread's own call: a unix socket's own, since whoever connects is told whose call it was (SO_PEERCRED), and where the
 * host gives us no copy of the socket. */
static struct resume listen_in_place(struct stop *stop, struct socket_facts *facts)
{
	uint64_t inode = facts->inode;
	int failed = freeze_descriptors(stop, stop->task->tid);
	socket_look(stop->task, stop_int(stop, stop->row->roles.fd), facts);
	if (failed || facts->inode != inode)
		return resume_answer(failed ? failed : -EBADF);
	struct resume resume = pin_in_place(stop);
	resume.frozen = true;
	return resume;
}

/* Decided for one socket, done on that one: another thread may put an unbound one under the number meanwhile. */
struct resume handle_listen(struct stop *stop)
{
	struct socket_facts facts;
	struct resume resume = resume_run();
	int descriptor = stop_int(stop, stop->row->roles.fd);
	socket_look(stop->task, descriptor, &facts);
	if (facts.inode == 0)
		return is_socket(stop, &resume) ? resume_answer(-EBADF) : resume;
	if (facts.is_unix)
		return listen_in_place(stop, &facts);
	bool internet = !facts.known || facts.domain == AF_INET || facts.domain == AF_INET6;
	if (internet && !socket_was_bound(stop->supervisor, &facts))
		resume = judge_unbound_listen(stop, &facts);
	if (resume.kind != RESUME_RUN)
		return resume;
	int done = socket_listen(stop->task, descriptor, &facts, (int)stop->call.args[1]);
	return done > 0 ? listen_in_place(stop, &facts) : resume_answer(done);
}

/* The combinations that stop: everything but unix, IPv4 and IPv6 with stream or datagram over TCP or UDP. */
struct resume handle_socket(struct stop *stop)
{
	enum { TYPE_MASK = 0xf };
	int family = (int)stop->call.args[0], type = (int)stop->call.args[1] & TYPE_MASK, protocol = (int)stop->call.args[2];
	char target[96];
	/* UDP-Lite and multipath TCP use the same addresses, and are judged as UDP and TCP. */
	bool internet = family == AF_INET || family == AF_INET6;
	if (family == AF_UNIX || (family == AF_NETLINK && protocol == NETLINK_ROUTE) ||
	    (internet && ((type == SOCK_DGRAM && protocol == IPPROTO_UDPLITE) || (type == SOCK_STREAM && protocol == IPPROTO_MPTCP))))
		return resume_run();
	snprintf(target, sizeof(target), "family %d, type %d, protocol %d", family, type, protocol);
	struct operation operation = { .access_text = stop->row->name, .target = target, .list = LIST_COUNT };
	if (internet)
		return report_refused_quietly(stop, &operation, type == SOCK_RAW || type == SOCK_PACKET ? EPERM : EPROTONOSUPPORT,
					      "only TCP and UDP are open to a run");
	return report_refused_quietly(stop, &operation, EAFNOSUPPORT, "only IPv4, IPv6 and unix sockets are open to a run");
}
