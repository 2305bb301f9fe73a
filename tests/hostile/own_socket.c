/* What the tree has bound itself needs no entry to be connected to. Sockets of somebody outside, b/socket and an abstract one with
 * the arena's path for a name, are made to look like that: by another name for the file, by the same name for another type. */
#include "network.h"

static int bound_to(const struct sockaddr_un *address, socklen_t length, int type)
{
	int fd = socket(AF_UNIX, type, 0);
	attack_require(fd >= 0 && bind(fd, (const struct sockaddr *)address, length) == 0, "bind");
	return fd;
}

static bool reaches_barred(const struct sockaddr_un *address, socklen_t length)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	attack_require(fd >= 0, "make a socket");
	if (connect(fd, (const struct sockaddr *)address, length) == 0)
		return attack_is_barred(fd);
	close(fd);
	return false;
}

/* Puts b/socket where a socket of our own was, and takes it back. */
static bool another_file(bool moved)
{
	char own[ATTACK_PATH], barred[ATTACK_PATH];
	attack_at(barred, "b/socket");
	struct sockaddr_un address = network_path(attack_at(own, "work/own"));
	unlink(own);
	int fd = bound_to(&address, sizeof(address), SOCK_STREAM);
	attack_require(moved || unlink(own) == 0, "remove the own name");
	bool there = (moved ? rename(barred, own) : link(barred, own)) == 0;
	bool won = there && reaches_barred(&address, sizeof(address));
	if (there && moved)
		rename(own, barred);
	else
		unlink(own);
	close(fd);
	return won;
}

static bool renamed(void)
{
	return another_file(true);
}

static bool linked(void)
{
	return another_file(false);
}

static bool other_type(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(attack.arena);
	attack_require(length < sizeof(address.sun_path), "fit a name into an address");
	memcpy(address.sun_path + 1, attack.arena, length);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
	int fd = bound_to(&address, size, SOCK_DGRAM);
	bool won = reaches_barred(&address, size);
	close(fd);
	return won;
}

static const struct attack_way ways[] = {
	{ "the file of another socket, renamed", renamed, false },
	{ "the file of another socket, linked", linked, false },
	{ "an abstract name among other types", other_type, false },
};

int main(int argc, char **argv)
{
	attack_begin("own_socket", argc, argv);
	return attack_ways(ways, sizeof(ways) / sizeof(*ways));
}
