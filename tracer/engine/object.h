/* An existing object that a call names, by path or by descriptor, held by the supervisor as an O_PATH descriptor. */
#ifndef ENGINE_OBJECT_H
#define ENGINE_OBJECT_H

#include "engine/handlers.h"

struct object {
	struct subject subject;
	int fd;          /* O_PATH; -1 where nothing is held */
	bool is_link;    /* the object is a symbolic link itself */
	char path[32];   /* /proc/self/fd/N: means the object, whatever its names do */
};

void object_release(struct object *object);
#define auto_object __attribute__((cleanup(object_release)))

/* The object that the name in the call's arguments leads to, decided for `access` and held. False with *resume set where
 * the call is answered. `flags` are resolve_flags. */
bool object_by_name(struct stop *stop, unsigned dirfd_role, unsigned path_role, unsigned flags, unsigned access,
		    struct object *object, struct resume *resume);

/* The object behind a descriptor of the thread. One that has no name (a pipe, an unlinked file of its own) is nobody
 * else's and needs no entry; an O_PATH descriptor is EBADF, as for the kernel. */
bool object_by_descriptor(struct stop *stop, int descriptor, unsigned access, struct object *object, struct resume *resume);

/* A path for calls that know no descriptor: the object's own, or for a symbolic link its folder (held in *folder, the
 * caller's to close, else -1) with its last component. 0 or -errno. */
int object_any_path(const struct object *object, char path[static PATH_MAX], int *folder);

#endif
