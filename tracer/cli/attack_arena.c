#include "cli/attack.h"

#include "base/cleanup.h"
#include "policy/pattern.h"
#include "verdict/json.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TREES = 10, PORT_TRIES = 50, BACKLOG = 1024, COPY_BYTES = 1 << 20 };

static int write_file(int folder, const char *name, const char *content, struct error *error)
{
	auto_fd int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	size_t length = strlen(content);
	if (fd < 0 || write(fd, content, length) != (ssize_t)length)
		return error_system(error, errno ? errno : EIO, "%s", name);
	return 0;
}

static int copy_program(int folder, const char *from, const char *name, struct error *error)
{
	auto_fd int source = open(from, O_RDONLY | O_CLOEXEC);
	if (source < 0)
		return error_system(error, errno, "%s", from);
	auto_fd int target = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ssize_t copied = target < 0 ? -1 : 1;
	while (copied > 0)
		copied = sendfile(target, source, NULL, COPY_BYTES);
	return copied < 0 ? error_system(error, errno, "%s", name) : 0;
}

static int make_folder(int folder, const char *name, struct error *error)
{
	return mkdirat(folder, name, 0700) == 0 ? 0 : error_system(error, errno, "%s", name);
}

/* tree/N/deep/secret and tree/N/plain: one for each way of folder_rename. */
static int make_trees(int folder, struct error *error)
{
	static const char *const below[] = { "", "/deep", "/plain" };
	int failed = make_folder(folder, "tree", error);
	for (int i = 0; i < TREES && !failed; i++) {
		char name[64];
		for (size_t k = 0; k < sizeof(below) / sizeof(below[0]) && !failed; k++) {
			snprintf(name, sizeof(name), "tree/%d%s", i + 1, below[k]);
			failed = make_folder(folder, name, error);
		}
		snprintf(name, sizeof(name), "tree/%d/deep/secret", i + 1);
		failed = failed ? failed : write_file(folder, name, "barred\n", error);
	}
	return failed;
}

static int fill(const struct attack_arena *arena, struct error *error)
{
	static const char *const folders[] = { "a", "b", "work" };
	auto_free char *mark = text_format("%s/mark", arena->programs);
	auto_fd int folder = open(arena->folder.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return error_system(error, errno, "%s", arena->folder.path);
	int failed = 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && !failed; i++)
		failed = make_folder(folder, folders[i], error);
	failed = failed ? failed : write_file(folder, "a/file", "allowed\n", error);
	failed = failed ? failed : write_file(folder, "b/file", "barred\n", error);
	failed = failed ? failed : copy_program(folder, "/bin/true", "a/program", error);
	failed = failed ? failed : copy_program(folder, mark, "b/program", error);
	if (!failed && arena->attack->deny)
		failed = make_trees(folder, error);
	return failed;
}

/* ---- ports ------------------------------------------------------------------------------------------------------ */

/* One number for TCP and UDP. */
static int open_port(int *stream, int *datagram, int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof(address);
	*stream = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	*datagram = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr *generic = (struct sockaddr *)&address;
	if (*stream < 0 || *datagram < 0 || bind(*stream, generic, length) != 0 || listen(*stream, BACKLOG) != 0)
		return -errno;
	if (getsockname(*stream, generic, &length) != 0 || bind(*datagram, generic, length) != 0)
		return -errno;
	*port = ntohs(address.sin_port);
	return 0;
}

static void close_port(struct attack_arena *arena, int which)
{
	int *const sockets[] = { &arena->streams[which], &arena->datagrams[which] };
	for (int i = 0; i < 2; i++)
		if (*sockets[i] >= 0)
			close(fd_release(sockets[i]));
}

static int open_ports(struct attack_arena *arena, struct error *error)
{
	int failed = 0;
	for (int which = 0; which < 2 && !failed; which++) {
		/* A number that is free for TCP may be taken for UDP. */
		for (int i = 0; i < PORT_TRIES; i++) {
			failed = open_port(&arena->streams[which], &arena->datagrams[which], &arena->ports[which]);
			if (failed != -EADDRINUSE)
				break;
			close_port(arena, which);
		}
	}
	return failed ? error_system(error, -failed, "a port of 127.0.0.1") : 0;
}

void attack_arena_serve(struct attack_arena *arena)
{
	char byte;
	for (int which = 0; which < 2 && arena->streams[which] >= 0; which++) {
		int peer;
		while ((peer = accept4(arena->streams[which], NULL, NULL, SOCK_CLOEXEC)) >= 0)
			close(peer);
		while (recv(arena->datagrams[which], &byte, sizeof(byte), MSG_DONTWAIT) >= 0)
			arena->arrived += which;
	}
}

int attack_arena_wins(struct attack_arena *arena)
{
	struct stat status;
	auto_free char *ran = text_format("%s/work/ran", arena->folder.path);
	switch (arena->attack->judge) {
	case ATTACK_MARKS: return stat(ran, &status) == 0 ? (int)status.st_size : 0;
	case ATTACK_ARRIVES: attack_arena_serve(arena); return arena->arrived;
	case ATTACK_SAYS: break;
	}
	return -1;
}

/* ---- policy ----------------------------------------------------------------------------------------------------- */

static void add_entry(cJSON *list, const char *entry)
{
	if (entry)
		json_append(list, cJSON_CreateString(entry));
}

/* ${CWD} is the arena: the run starts there. */
static cJSON *build_policy(const struct attack_arena *arena)
{
	const struct attack *attack = arena->attack;
	cJSON *policy = cJSON_CreateObject();
	json_add_string(policy, "extends", "default");
	json_add_string(policy, "on_violation", "deny");
	cJSON *paths = json_add_object(policy, "paths");
	cJSON *read = json_add_array(paths, "read"), *write = json_add_array(paths, "write");
	add_entry(read, "${CWD}/a/**");
	add_entry(read, "${CWD}/work/**");
	add_entry(read, attack->read);
	add_entry(write, "${CWD}/work/**");
	add_entry(write, attack->write);
	cJSON *execute = json_add_array(paths, "execute");
	auto_free char *program = text_format("%s/%s", arena->programs, attack->program);
	auto_free char *quoted = pattern_quote(program);
	add_entry(execute, quoted);
	add_entry(execute, "${CWD}/a/**");
	add_entry(json_add_array(paths, "deny"), attack->deny);
	add_entry(json_add_array(json_add_object(policy, "syscalls"), "allow"), attack->call);
	if (attack->ports) {
		char address[32];
		snprintf(address, sizeof(address), "127.0.0.1:%d", arena->ports[0]);
		add_entry(json_add_array(json_add_object(policy, "network"), "connect"), address);
	}
	json_add_string(json_add_object(policy, "limits"), "cpu", "none");
	return policy;
}

static int write_policy(const struct attack_arena *arena, struct error *error)
{
	cJSON *policy = build_policy(arena);
	auto_free char *content = cJSON_Print(policy);
	auto_free char *name = text_format("%s/policy.json", arena->folder.path);
	cJSON_Delete(policy);
	if (!content)
		return error_set(error, ENOMEM, "the policy of %s", arena->attack->name);
	return write_file(AT_FDCWD, name, content, error);
}

int attack_arena_make(struct attack_arena *arena, const struct attack *attack, const char *programs, struct error *error)
{
	*arena = (struct attack_arena){
		.attack = attack, .programs = programs, .streams = { -1, -1 }, .datagrams = { -1, -1 }, .folder.folder = -1,
	};
	int failed = workspace_make(&arena->folder, error);
	failed = failed ? failed : fill(arena, error);
	if (!failed && attack->ports)
		failed = open_ports(arena, error);
	return failed ? failed : write_policy(arena, error);
}

int attack_arena_remove(struct attack_arena *arena, struct error *error)
{
	close_port(arena, 0);
	close_port(arena, 1);
	return workspace_remove(&arena->folder, error);
}
