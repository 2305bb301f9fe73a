/* From a bound policy to a Landlock ruleset, as data.
 *
 * The policy names files at the moment of each call. Landlock holds inodes: a folder with all that is below it, as they are
 * when the run starts. So that the ruleset contains all that the policy will allow until the run ends,
 *     a pattern        becomes the folder in front of it,
 *     a program        becomes the folder that holds it, as a file does that the run may write: they are replaced by rename,
 *     what is missing  becomes the nearest folder above it,
 *     what the run itself may move away or remove, and make anew, becomes the folder above that,
 *     /proc/self       becomes /proc, since a rule on /proc/self would be one process' folder,
 * and a right that would so come to hold at "/" is left unhandled. A device is the one object that is named as itself: the
 * folder around it holds the disks. One thing is taken to stay as it is: what others make directly in "/" during the run. */
#include "engine/landlock.h"

#include "base/cleanup.h"
#include "base/syscalls.h"
#include "base/text.h"
#include "engine/loaders.h"
#include "policy/decide.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

static const uint64_t file_rights = LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE;
static const uint64_t every_write = LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_CHAR |
				    LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK | LANDLOCK_MAKE_FIFO |
				    LANDLOCK_MAKE_BLOCK | LANDLOCK_MAKE_SYM | LANDLOCK_REFER | LANDLOCK_TRUNCATE;
/* The kernel opens a program for reading and for execution (security/landlock/fs.c, get_required_file_open_access). */
static const uint64_t every_execute = LANDLOCK_EXECUTE | LANDLOCK_READ_FILE;
static const uint64_t every_read = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR;

/* ---- a sorted list of paths --------------------------------------------------------------------------------------- */

struct place {
	char *path; /* owned */
	uint64_t rights;
	bool literal; /* the path alone is meant, not what is below it */
	bool device;
	const struct path_pattern *pattern; /* borrowed */
};

struct places {
	struct place *items;
	size_t count;
};

static void places_add(struct places *places, struct place place)
{
	bool full = (places->count & (places->count - 1)) == 0;
	if (full)
		places->items = memory_resized(places->items, places->count ? 2 * places->count : 1, sizeof(place));
	places->items[places->count++] = place;
}

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;
	int order = strcmp(a->path, b->path);
	return order ? order : a->literal - b->literal;
}

static void places_sort(struct places *places)
{
	if (places->count > 1)
		qsort(places->items, places->count, sizeof(struct place), compare_places);
}

/* One place per path and meaning. */
static void places_merge(struct places *places)
{
	size_t kept = 0;
	places_sort(places);
	for (size_t i = 0; i < places->count; i++) {
		struct place *place = &places->items[i];
		if (kept && compare_places(&places->items[kept - 1], place) == 0) {
			places->items[kept - 1].rights |= place->rights;
			free(place->path);
		} else {
			places->items[kept++] = *place;
		}
	}
	places->count = kept;
}

static bool is_at(const char *path, const char *wanted, size_t length)
{
	return strncmp(path, wanted, length) == 0 && path[length] == '\0';
}

/* The first place whose path is the first `length` bytes of `wanted`; places->count where there is none. */
static size_t places_find(const struct places *places, const char *wanted, size_t length)
{
	size_t low = 0, high = places->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strncmp(places->items[middle].path, wanted, length) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < places->count && is_at(places->items[low].path, wanted, length) ? low : places->count;
}

static void places_free(struct places *places)
{
	for (size_t i = 0; i < places->count; i++)
		free(places->items[i].path);
	free(places->items);
}

/* ---- paths -------------------------------------------------------------------------------------------------------- */

/* Length of the folder part of the first `length` bytes; that of "/" is "/". */
static size_t parent_length(const char *path, size_t length)
{
	while (length > 1 && path[length - 1] != '/')
		length--;
	return length > 1 ? length - 1 : 1;
}

static bool cut_to_parent(char *path)
{
	size_t length = strlen(path);
	if (length == 1)
		return false;
	path[parent_length(path, length)] = '\0';
	return true;
}

/* Length of the next longer prefix that is a path of its own; 0 behind the last. */
static size_t longer_prefix(const char *path, size_t length)
{
	if (path[length] == '\0')
		return 0;
	length += path[length] == '/';
	return length + strcspn(path + length, "/");
}

static bool is_root(const char *path)
{
	return path[1] == '\0';
}

/* ---- what may move ------------------------------------------------------------------------------------------------ */

struct compiler {
	const struct policy *policy;
	struct places writes; /* literal folders of the write patterns: where each can begin to match */
	struct places wanted;
};

static char *literal_part(const char *text)
{
	if (pattern_is_literal(text))
		return pattern_unquote(text, strlen(text));
	size_t length = pattern_literal_folder(text);
	return length ? pattern_unquote(text, length) : text_duplicate("/");
}

static void collect_writes(struct compiler *compiler)
{
	const struct rules *rules = &compiler->policy->lists[LIST_WRITE];
	for (size_t i = 0; i < rules->count; i++)
		for (size_t j = 0; j < rules->items[i].pattern_count; j++) {
			const struct path_pattern *pattern = rules->items[i].patterns[j];
			places_add(&compiler->writes, (struct place){ .path = literal_part(pattern_text(pattern)), .pattern = pattern });
		}
	places_sort(&compiler->writes);
}

static bool writes_match_from(const struct compiler *compiler, const char *path, size_t length)
{
	const struct places *writes = &compiler->writes;
	for (size_t i = places_find(writes, path, length); i < writes->count && is_at(writes->items[i].path, path, length); i++)
		if (pattern_matches(writes->items[i].pattern, path, 0))
			return true;
	return false;
}

/* Does a write entry name the path itself? Only entries whose literal folder is a prefix of it can. */
static bool may_write(const struct compiler *compiler, const char *path)
{
	for (size_t length = 1; length; length = longer_prefix(path, length))
		if (writes_match_from(compiler, path, length))
			return true;
	return false;
}

static bool is_mount_point(const char *path)
{
	struct statx status;
	return syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &status) == 0 &&
	       (status.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* May the run put something else under this name? It takes the policy's word, the right to change the folder around it,
 * and a name that nothing is mounted on. */
static bool run_may_replace(const struct compiler *compiler, const char *path)
{
	if (is_root(path) || !may_write(compiler, path) || is_mount_point(path))
		return false;
	auto_free char *parent = text_duplicate_bytes(path, parent_length(path, strlen(path)));
	return faccessat(AT_FDCWD, parent, W_OK, AT_EACCESS) == 0;
}

/* ---- where a rule can stand --------------------------------------------------------------------------------------- */

/* Cuts the path above the first name on it that the run may replace; only names of at most `most` bytes are asked about. */
static void cut_above_what_moves(const struct compiler *compiler, char *path, size_t most)
{
	for (size_t length = longer_prefix(path, 1); length && length <= most; length = longer_prefix(path, length)) {
		char next = path[length];
		path[length] = '\0';
		if (run_may_replace(compiler, path)) {
			cut_to_parent(path);
			return;
		}
		path[length] = next;
	}
}

/* File systems that make an inode anew when its name has been forgotten: a rule below their root would be lost with it. */
static bool forgets_inodes(const char *path)
{
	enum { SHARED_FOLDERS_MAGIC = 0x786f4256 };
	struct statfs status;
	return statfs(path, &status) == 0 && (status.f_type == PROC_SUPER_MAGIC || status.f_type == V9FS_MAGIC ||
					      status.f_type == SHARED_FOLDERS_MAGIC);
}

static void cut_to_mount(char *path)
{
	struct stat status, above;
	while (!is_root(path) && stat(path, &status) == 0) {
		size_t parent = parent_length(path, strlen(path));
		auto_free char *folder = text_duplicate_bytes(path, parent);
		if (stat(folder, &above) != 0 || above.st_dev != status.st_dev)
			return;
		path[parent] = '\0';
	}
}

enum kind { KIND_NOTHING, KIND_FOLDER, KIND_DEVICE, KIND_FILE, KIND_LINK };

static enum kind kind_of(const char *path, int flags)
{
	struct stat status;
	if (fstatat(AT_FDCWD, path, &status, flags) != 0)
		return KIND_NOTHING;
	switch (status.st_mode & S_IFMT) {
	case S_IFDIR: return KIND_FOLDER;
	case S_IFLNK: return KIND_LINK;
	case S_IFCHR:
	case S_IFBLK: return KIND_DEVICE;
	default: return KIND_FILE;
	}
}

/* Cuts the path to what exists. KIND_NOTHING where no rule is needed: for what is missing in "/", and not the run's to make;
 * and for a link, which is no canonical name: the entry's other spelling, found when it was bound, is what counts. */
static enum kind cut_to_existing(const struct compiler *compiler, char *path)
{
	enum kind kind = kind_of(path, AT_SYMLINK_NOFOLLOW);
	if (kind == KIND_LINK && !run_may_replace(compiler, path))
		return KIND_NOTHING;
	if (kind == KIND_LINK)
		kind = kind_of(path, 0);
	for (; kind == KIND_NOTHING; kind = kind_of(path, 0)) {
		bool makes = run_may_replace(compiler, path);
		if (!cut_to_parent(path) || (is_root(path) && !makes))
			return KIND_NOTHING;
	}
	return kind;
}

/* A file's rule stands at the file where nothing but reading is allowed, and nothing but reading will be: another file that
 * has come to that name is opened by the supervisor then (handle_open.c, open_refused). Else it stands at the folder; in "/",
 * where that would be no rule at all, only if the run may make the file anew. */
static void place_file(const struct compiler *compiler, struct place *place, bool steady)
{
	bool in_root = parent_length(place->path, strlen(place->path)) == 1;
	if ((steady && place->rights == LANDLOCK_READ_FILE) || (in_root && !run_may_replace(compiler, place->path)))
		place->rights &= file_rights;
	else
		cut_to_parent(place->path);
}

/* From what an entry names to what exists. False where no rule is needed. */
static bool find(const struct compiler *compiler, struct place *place)
{
	size_t length = strlen(place->path);
	bool steady = place->literal && !may_write(compiler, place->path);
	enum kind kind = cut_to_existing(compiler, place->path);
	if (kind == KIND_NOTHING)
		return false;
	/* One object that stays what it is; else it may be a file as well as a folder. */
	if (steady && length == strlen(place->path) && (place->rights & every_read) == every_read)
		place->rights &= ~(uint64_t)(kind == KIND_FOLDER ? LANDLOCK_READ_FILE : LANDLOCK_READ_DIR);
	place->device = kind == KIND_DEVICE;
	if (place->device)
		place->rights &= file_rights;
	if (kind == KIND_FILE)
		place_file(compiler, place, steady && length == strlen(place->path));
	place->literal = false;
	return true;
}

/* From what exists to where its rule stands. */
static void settle(const struct compiler *compiler, struct place *place)
{
	size_t length = strlen(place->path);
	cut_above_what_moves(compiler, place->path, place->device ? parent_length(place->path, length) : length);
	if (forgets_inodes(place->path))
		cut_to_mount(place->path);
	/* Made anew, a folder may become a file. */
	if (strlen(place->path) < length && (place->rights & every_read))
		place->rights |= every_read;
}

static void find_all(struct compiler *compiler)
{
	struct places *wanted = &compiler->wanted;
	size_t kept = 0;
	places_merge(wanted);
	for (size_t i = 0; i < wanted->count; i++) {
		if (find(compiler, &wanted->items[i]))
			wanted->items[kept++] = wanted->items[i];
		else
			free(wanted->items[i].path);
	}
	wanted->count = kept;
}

static void settle_all(struct compiler *compiler)
{
	places_merge(&compiler->wanted);
	for (size_t i = 0; i < compiler->wanted.count; i++)
		settle(compiler, &compiler->wanted.items[i]);
	places_merge(&compiler->wanted);
}

/* ---- what the policy asks for ------------------------------------------------------------------------------------- */

/* Takes `path` over. */
static void want(struct compiler *compiler, char *path, bool literal, uint64_t rights)
{
	bool process = strncmp(path, "/proc/", strlen("/proc/")) == 0;
	if (process)
		path[strlen("/proc")] = '\0';
	places_add(&compiler->wanted, (struct place){ .path = path, .rights = rights, .literal = literal && !process });
}

static void want_rule(struct compiler *compiler, const struct rule *rule, uint64_t rights)
{
	for (size_t i = 0; i < rule->pattern_count; i++) {
		const char *text = pattern_text(rule->patterns[i]);
		want(compiler, literal_part(text), pattern_is_literal(text), rights);
	}
}

static void want_list(struct compiler *compiler, enum rule_list list, uint64_t rights)
{
	const struct rules *rules = &compiler->policy->lists[list];
	for (size_t i = 0; i < rules->count; i++)
		want_rule(compiler, &rules->items[i], rules->items[i].folders_only ? LANDLOCK_READ_DIR : rights);
}

/* The loaders of the system need no entry to be loaded with a listed program. */
static void want_loaders(struct compiler *compiler)
{
	for (size_t i = 0; compiler->policy->lists[LIST_EXECUTE].count && system_loader_names[i]; i++) {
		char *path = realpath(system_loader_names[i], NULL);
		if (path)
			want(compiler, path, true, every_execute);
	}
}

static bool list_matches(const struct policy *policy, enum rule_list list, const char *path)
{
	const struct path_request request = { .access = list == LIST_READ ? ACCESS_READ : ACCESS_WRITE, .path = path };
	return decide_path(policy, &request).kind == DECISION_ALLOW;
}

/* The other end of a pseudo-terminal can be opened by its descriptor (TIOCGPTPEER), which no rule of a policy is about. */
static bool opens_terminals(const struct policy *policy)
{
	static const char *const names[] = { "/dev/ptmx", "/dev/pts/ptmx" };
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (list_matches(policy, LIST_READ, names[i]) || list_matches(policy, LIST_WRITE, names[i]))
			return true;
	return false;
}

/* Message queues lie in a file system of the kernel's own, which no rule can name. */
static uint64_t rights_out_of_reach(const struct policy *policy)
{
	const struct syscall_row *queue = syscall_by_name("mq_open");
	const struct rules *rules = &policy->lists[LIST_SYSCALL_ALLOW];
	for (size_t i = 0; i < rules->count; i++)
		if (rules->items[i].syscall_number == queue->number)
			return LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE;
	return 0;
}

static uint64_t known_files(int abi)
{
	uint64_t rights = every_read | every_write | every_execute;
	if (abi < 2)
		rights &= ~(uint64_t)LANDLOCK_REFER;
	if (abi < 3)
		rights &= ~(uint64_t)LANDLOCK_TRUNCATE;
	return rights;
}

/* ---- from places to rules ----------------------------------------------------------------------------------------- */

/* What the folders above a place give already. */
static uint64_t rights_above(const struct places *places, const char *path)
{
	uint64_t rights = 0;
	for (size_t length = strlen(path); length > 1;) {
		length = parent_length(path, length);
		size_t above = places_find(places, path, length);
		if (above < places->count)
			rights |= places->items[above].rights;
	}
	return rights;
}

static void fill_rules(struct places *places, struct landlock_ruleset *ruleset)
{
	ruleset->rules = memory_zeroed(places->count + 1, sizeof(*ruleset->rules));
	for (size_t i = 0; i < places->count; i++) {
		struct place *place = &places->items[i];
		uint64_t rights = place->rights & ruleset->handled_files & ~rights_above(places, place->path);
		if (rights)
			ruleset->rules[ruleset->rule_count++] = (struct landlock_rule){ text_duplicate(place->path), rights };
	}
}

static void compile_files(const struct policy *policy, int abi, bool keeps_descriptors, struct landlock_ruleset *ruleset)
{
	struct compiler compiler = { .policy = policy };
	collect_writes(&compiler);
	want_list(&compiler, LIST_READ, every_read);
	want_list(&compiler, LIST_WRITE, every_write);
	want_list(&compiler, LIST_EXECUTE, every_execute);
	want_loaders(&compiler);
	if (keeps_descriptors || opens_terminals(policy))
		want(&compiler, text_duplicate("/dev/pts"), false, LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE);
	find_all(&compiler);
	settle_all(&compiler);

	size_t root = places_find(&compiler.wanted, "/", 1);
	uint64_t everywhere = root < compiler.wanted.count ? compiler.wanted.items[root].rights : 0;
	ruleset->handled_files = known_files(abi) & ~everywhere & ~rights_out_of_reach(policy);
	fill_rules(&compiler.wanted, ruleset);
	places_free(&compiler.wanted);
	places_free(&compiler.writes);
}

/* ---- TCP ports and scopes ----------------------------------------------------------------------------------------- */

static bool is_tcp(const struct rule *rule)
{
	enum address_kind kind = rule->address.kind;
	return !rule->dropped && rule->address.transport != TRANSPORT_UDP &&
	       (rule->address.localhost || kind == ADDRESS_IPV4 || kind == ADDRESS_IPV6);
}

/* Can the entries' ports be counted up one by one? Not where one has a range; and not, for `connect`, where a socket may be
 * bound to whatever port is free: connecting to what the run itself has bound needs no entry. */
static bool has_single_ports(const struct policy *policy, enum rule_list list, bool free_choice_counts)
{
	const struct rules *rules = &policy->lists[list];
	for (size_t i = 0; i < rules->count; i++) {
		const struct address_pattern *address = &rules->items[i].address;
		if (is_tcp(&rules->items[i]) &&
		    (address->port_low != address->port_high || (!free_choice_counts && address->port_low == 0)))
			return false;
	}
	return true;
}

static void add_ports(const struct policy *policy, enum rule_list list, uint64_t rights, struct landlock_ruleset *ruleset)
{
	const struct rules *rules = &policy->lists[list];
	if (!(rights & ruleset->handled_ports))
		return;
	for (size_t i = 0; i < rules->count; i++) {
		if (!is_tcp(&rules->items[i]))
			continue;
		ruleset->ports = memory_resized(ruleset->ports, ruleset->port_count + 1, sizeof(*ruleset->ports));
		ruleset->ports[ruleset->port_count++] = (struct landlock_port){ rules->items[i].address.port_low,
										rights & ruleset->handled_ports };
	}
}

static void compile_ports(const struct policy *policy, struct landlock_ruleset *ruleset)
{
	bool binds = has_single_ports(policy, LIST_BIND, true);
	bool connects = has_single_ports(policy, LIST_BIND, false) && has_single_ports(policy, LIST_CONNECT, true);
	ruleset->handled_ports = (binds ? LANDLOCK_BIND_TCP : 0) | (connects ? LANDLOCK_CONNECT_TCP : 0);
	add_ports(policy, LIST_BIND, LANDLOCK_BIND_TCP | LANDLOCK_CONNECT_TCP, ruleset);
	add_ports(policy, LIST_CONNECT, LANDLOCK_CONNECT_TCP, ruleset);
}

/* Signals to others are refused by every policy. Abstract names of others may be listed. */
static uint64_t compile_scopes(const struct policy *policy)
{
	const struct rules *rules = &policy->lists[LIST_CONNECT];
	for (size_t i = 0; i < rules->count; i++)
		if (!rules->items[i].dropped && rules->items[i].address.kind == ADDRESS_UNIX_ABSTRACT)
			return LANDLOCK_SIGNALS;
	return LANDLOCK_SIGNALS | LANDLOCK_ABSTRACT_SOCKETS;
}

/* ---- the whole ---------------------------------------------------------------------------------------------------- */

/* A domain of any kind keeps its members from looking into processes outside it (security/landlock/task.c). */
static bool lists_other_processes(const struct policy *policy)
{
	static const enum rule_list lists[] = { LIST_READ, LIST_WRITE };
	for (size_t list = 0; list < sizeof(lists) / sizeof(*lists); list++) {
		const struct rules *rules = &policy->lists[lists[list]];
		for (size_t i = 0; i < rules->count; i++)
			for (size_t j = 0; j < rules->items[i].pattern_count; j++)
				if (pattern_reaches_below(rules->items[i].patterns[j], "/proc/1", 0))
					return true;
	}
	return false;
}

const char *landlock_objection(const struct policy *policy)
{
	if (policy->on_violation == ON_VIOLATION_LOG)
		return "on_violation is log, which stops nothing";
	if (lists_other_processes(policy))
		return "the policy lists files of other processes below /proc, and Landlock would refuse them";
	return NULL;
}

void landlock_compile(const struct policy *policy, int abi, bool keeps_descriptors, struct landlock_ruleset *ruleset)
{
	enum { PORTS_ABI = 4, SCOPES_ABI = 6 };
	memset(ruleset, 0, sizeof(*ruleset));
	if (abi < 1)
		return;
	compile_files(policy, abi, keeps_descriptors, ruleset);
	if (abi >= PORTS_ABI)
		compile_ports(policy, ruleset);
	if (abi >= SCOPES_ABI)
		ruleset->scoped = compile_scopes(policy);
}

void landlock_ruleset_free(struct landlock_ruleset *ruleset)
{
	for (size_t i = 0; i < ruleset->rule_count; i++)
		free(ruleset->rules[i].path);
	free(ruleset->rules);
	free(ruleset->ports);
	memset(ruleset, 0, sizeof(*ruleset));
}
