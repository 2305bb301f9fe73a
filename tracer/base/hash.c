#include "base/hash.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <unistd.h>

static void hash_finish(struct sha256_ctx *context, char *text)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	sha256_digest(context, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

void hash_bytes(const void *bytes, size_t length, char text[static HASH_TEXT])
{
	struct sha256_ctx context;
	sha256_init(&context);
	sha256_update(&context, length, bytes);
	hash_finish(&context, text);
}

int hash_fd(int fd, char text[static HASH_TEXT], uint64_t *size, struct error *error)
{
	struct sha256_ctx context;
	sha256_init(&context);
	uint8_t buffer[64 * 1024];
	off_t offset = 0;
	for (;;) {
		ssize_t count = pread(fd, buffer, sizeof(buffer), offset);
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return error_system(error, errno, "cannot read the file to hash it");
		if (count == 0)
			break;
		sha256_update(&context, (size_t)count, buffer);
		offset += count;
	}
	hash_finish(&context, text);
	if (size)
		*size = (uint64_t)offset;
	return 0;
}
