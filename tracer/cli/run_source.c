#include "cli/run_source.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

enum { SOURCE_MOST_BYTES = 1 << 20 };

bool run_source_is_elsewhere(const char *argument)
{
	static const char *const options[] = { "-c", "-e", "-m", "-p", "--eval", "-" };
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++)
		if (strcmp(argument, options[i]) == 0)
			return true;
	return false;
}

/* ---- which text it is --------------------------------------------------------------------------------------------- */

struct language {
	const char *name;       /* of the program, a version may stand behind it */
	const char *options[4]; /* the next argument is the text of the program */
	bool combined;          /* -ec is -e -c */
};

static const struct language languages[] = {
	{ "python", { "-c" }, false }, { "pypy", { "-c" }, false },
	{ "sh", { "-c" }, true },      { "bash", { "-c" }, true },
	{ "dash", { "-c" }, true },    { "ksh", { "-c" }, true },
	{ "zsh", { "-c" }, true },     { "perl", { "-e", "-E" }, false },
	{ "ruby", { "-e" }, false },   { "lua", { "-e" }, false },
	{ "php", { "-r" }, false },    { "node", { "-e", "--eval", "-p", "--print" }, false },
};

static const struct language *language_of(const char *command)
{
	const char *slash = strrchr(command, '/'), *name = slash ? slash + 1 : command;
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++) {
		size_t length = strlen(languages[i].name);
		if (strncmp(name, languages[i].name, length) == 0 && name[length + strspn(name + length, "0123456789.")] == '\0')
			return &languages[i];
	}
	return NULL;
}

static bool takes_text(const struct language *language, const char *argument)
{
	for (size_t i = 0; i < 4 && language->options[i]; i++)
		if (strcmp(argument, language->options[i]) == 0)
			return true;
	return language->combined && argument[0] == '-' && argument[1] != '-' && strchr(argument, 'c');
}

enum place { PLACE_NONE, PLACE_SCRIPT, PLACE_ARGUMENT, PLACE_INPUT };

/* Where an interpreter of that language finds its program. *argument is the text's index. */
static enum place place_of(const struct language *language, char *const *command, int *argument)
{
	for (int i = 1; command[i]; i++) {
		if (takes_text(language, command[i])) {
			*argument = i + 1;
			return command[i + 1] ? PLACE_ARGUMENT : PLACE_NONE;
		}
		if (strcmp(command[i], "-") == 0)
			return PLACE_INPUT;
		if (strcmp(command[i], "-m") == 0)
			return PLACE_NONE;
		if (command[i][0] != '-')
			return PLACE_SCRIPT;
	}
	return PLACE_INPUT;
}

/* ---- taking it ---------------------------------------------------------------------------------------------------- */

/* Takes `text` over. */
static void take(struct run_source *source, char *text, size_t length)
{
	source->found = true;
	source->text = text;
	source->bytes = length;
	hash_bytes(text, length, source->sha256);
}

static void refuse(struct run_source *source, uint64_t bytes, const char *why)
{
	source->found = true;
	source->bytes = bytes;
	source->not_hashed = why;
}

/* A regular file from `offset` on. */
static void take_file(struct run_source *source, int fd, off_t offset, off_t size)
{
	size_t wanted = size > offset ? (size_t)(size - offset) : 0, length = 0;
	if (wanted > SOURCE_MOST_BYTES) {
		refuse(source, wanted, "it is larger than 1M");
		return;
	}
	char *text = memory_zeroed(wanted + 1, 1);
	while (length < wanted) {
		ssize_t count = pread(fd, text + length, wanted - length, offset + (off_t)length);
		if (count <= 0 && !(count < 0 && errno == EINTR))
			break;
		length += count > 0 ? (size_t)count : 0;
	}
	if (length == wanted) {
		take(source, text, length);
		return;
	}
	free(text);
	refuse(source, wanted, "it cannot be read");
}

static void take_named(struct run_source *source, const char *path)
{
	struct stat status;
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	source->path = text_duplicate(path);
	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		refuse(source, 0, "it cannot be read");
	else
		take_file(source, fd, 0, status.st_size);
}

/* What lies in a pipe that nobody writes to any more is all that the program will get (a here-document of a shell): a copy of
 * it is made without taking it out. */
static void take_pipe(struct run_source *source, int input)
{
	int waiting = 0, pair[2];
	struct pollfd slot = { .fd = input, .events = POLLIN };
	bool is_whole = poll(&slot, 1, 0) >= 0 && slot.revents & POLLHUP;
	if (!is_whole || ioctl(input, FIONREAD, &waiting) != 0 || waiting <= 0 || waiting > SOURCE_MOST_BYTES ||
	    pipe2(pair, O_CLOEXEC | O_NONBLOCK) != 0)
		return;
	char *text = memory_zeroed((size_t)waiting + 1, 1);
	fcntl(pair[1], F_SETPIPE_SZ, SOURCE_MOST_BYTES);
	ssize_t copied = tee(input, pair[1], (size_t)waiting, SPLICE_F_NONBLOCK);
	if (copied == waiting && read(pair[0], text, (size_t)waiting) == waiting)
		take(source, text, (size_t)waiting);
	else
		free(text);
	close(pair[0]);
	close(pair[1]);
}

static void take_input(const struct run_source_query *query, struct run_source *source)
{
	struct stat status;
	if (query->stdin_file) {
		if (stat(query->stdin_file, &status) == 0 && S_ISREG(status.st_mode))
			take_named(source, query->stdin_file);
		return;
	}
	if (!query->inherits_input || fstat(STDIN_FILENO, &status) != 0)
		return;
	off_t offset = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (S_ISREG(status.st_mode) && offset >= 0)
		take_file(source, STDIN_FILENO, offset, status.st_size);
	else if (S_ISFIFO(status.st_mode))
		take_pipe(source, STDIN_FILENO);
}

/* A command with a slash that begins with #! is itself the script. */
static char *command_script(const struct run_source_query *query)
{
	char head[2];
	const char *name = query->command[0];
	struct stat status;
	if (!strchr(name, '/'))
		return NULL;
	auto_free char *path = name[0] == '/' ? text_duplicate(name) : text_format("%s/%s", query->cwd, name);
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || pread(fd, head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head, "#!", sizeof(head)) != 0)
		return NULL;
	return realpath(path, NULL);
}

void run_source_find(const struct run_source_query *query, struct run_source *source)
{
	int argument = 0;
	const struct language *language = language_of(query->command[0]);
	auto_free char *own = query->script_given ? NULL : command_script(query);
	enum place place = language && !query->script_given ? place_of(language, query->command, &argument) : PLACE_SCRIPT;
	*source = (struct run_source){ .found = false };
	if (own) {
		take_named(source, own);
	} else if (place == PLACE_ARGUMENT) {
		source->argument = argument;
		take(source, text_duplicate(query->command[argument]), strlen(query->command[argument]));
	} else if (place == PLACE_INPUT) {
		take_input(query, source);
	} else if (place == PLACE_SCRIPT && query->script) {
		take_named(source, query->script);
	}
}

void run_source_free(struct run_source *source)
{
	free(source->path);
	free(source->text);
	*source = (struct run_source){ .found = false };
}
