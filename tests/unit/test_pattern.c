/* Path patterns: what they match, what they refuse, and what they say about a miss. */
#include "policy/pattern.h"
#include "tap.h"

#include <stdlib.h>

enum { SELF = 4242 };

static const struct match_case {
	const char *pattern, *path;
	bool matches;
} match_cases[] = {
	/* literal */
	{ "/", "/", true }, { "/", "/etc", false }, { "/etc", "/", false }, { "/etc", "/etc", true },
	{ "/etc/passwd", "/etc/passwd", true }, { "/etc/passwd", "/etc/passwd-", false }, { "/etc/passwd", "/etc", false },
	{ "/data", "/data-evil", false }, { "/data", "/data/x", false }, { "/data/**", "/data-evil", false },
	{ "/data/**", "/data-evil/x", false }, { "/Data", "/data", false },
	/* a folder and all below it */
	{ "/data/**", "/data", true }, { "/data/**", "/data/a", true }, { "/data/**", "/data/a/b/c/d", true },
	{ "/data/**", "/dat", false }, { "/data/**", "/", false }, { "/**", "/", true }, { "/**", "/a/b", true },
	/* within one component */
	{ "/a/*", "/a/b", true }, { "/a/*", "/a/b/c", false }, { "/a/*", "/a", false }, { "/a/*", "/a/.hidden", true },
	{ "/a/*.py", "/a/x.py", true }, { "/a/*.py", "/a/.py", true }, { "/a/*.py", "/a/x.pyc", false },
	{ "/a/*.py", "/a/x.py/y", false }, { "/a/x*y*z", "/a/xyyz", true }, { "/a/x*y*z", "/a/xzy", false },
	{ "/a/x*y*z", "/a/x-y-y-z-z", true }, { "/a/?", "/a/b", true }, { "/a/?", "/a/bb", false }, { "/a/?", "/a", false },
	{ "/a/??*", "/a/bb", true }, { "/a/??*", "/a/b", false }, { "/*/b", "/a/b", true }, { "/*/b", "/a/x/b", false },
	{ "/usr/lib*/x", "/usr/lib64/x", true }, { "/usr/lib*/x", "/usr/lib/x", true },
	/* one byte, not one character */
	{ "/a/?", "/a/\xC3\xA9", false }, { "/a/??", "/a/\xC3\xA9", true }, { "/a/\xC3\xA9*", "/a/\xC3\xA9t\xC3\xA9", true },
	{ "/a/*", "/a/\xFF\xFE\n", true },
	/* classes */
	{ "/a/[a-c]", "/a/b", true }, { "/a/[a-c]", "/a/d", false }, { "/a/[!a-c]", "/a/d", true },
	{ "/a/[!a-c]", "/a/b", false }, { "/a/[^a-c]", "/a/d", true }, { "/a/[^a-c]", "/a/b", false },
	{ "/a/[]x]", "/a/]", true }, { "/a/[!]x]", "/a/]", false }, { "/a/[!]x]", "/a/y", true }, { "/a/[a-]", "/a/-", true },
	{ "/a/[-a]", "/a/-", true }, { "/a/[-a]", "/a/b", false }, { "/a/[\\]]", "/a/]", true }, { "/a/[a\\-c]", "/a/b", false },
	{ "/a/[a\\-c]", "/a/-", true }, { "/a/[*]", "/a/x", false }, { "/a/[*]", "/a/*", true }, { "/a/[0-9][0-9]", "/a/42", true },
	{ "/a/[0-9][0-9]", "/a/4", false }, { "/a/x[0-9]*z", "/a/x7yz", true }, { "/a/[[]", "/a/[", true },
	{ "/a/[!a]", "/a/\xC3", true },
	/* across components */
	{ "/a/**/z", "/a/z", true }, { "/a/**/z", "/a/b/z", true }, { "/a/**/z", "/a/b/c/z", true }, { "/a/**/z", "/a/b/zz", false },
	{ "/a/**/z", "/a", false }, { "/a/**/z", "/a/z/b", false }, { "/a/**/z/**", "/a/z/b", true },
	{ "/a/**/z/**", "/a/b/z", true }, { "/**/x.py", "/x.py", true }, { "/**/x.py", "/a/b/x.py", true },
	{ "/**/*.py", "/a/b/x.py", true }, { "/**/*.py", "/a/b/x.py/c", false }, { "/**/b/**/d", "/a/b/c/d", true },
	{ "/**/b/**/d", "/a/c/d/b", false }, { "/**/b/**/d", "/b/d", true }, { "/a/**/**/z", "/a/z", true },
	{ "/a/**/**", "/a", true }, { "/a/**/b/c", "/a/b/b/c", true }, { "/a/**/b/c", "/a/b/x/c", false },
	{ "/home/*/.ssh/**", "/home/u/.ssh/id", true }, { "/home/*/.ssh/**", "/home/u/x/.ssh/id", false },
	/* quoting */
	{ "/a/\\*", "/a/*", true }, { "/a/\\*", "/a/b", false }, { "/a/\\**", "/a/*b", true }, { "/a/\\**", "/a/b", false },
	{ "/a/*\\*", "/a/b*", true }, { "/a/\\?", "/a/?", true }, { "/a/\\[b]", "/a/[b]", true }, { "/a/\\\\", "/a/\\", true },
	{ "/a/\\$x", "/a/$x", true }, { "/a/\\{x\\}", "/a/{x}", true }, { "/a/}", "/a/}", true }, { "/a/\\b", "/a/b", true },
	{ "/a/]", "/a/]", true }, { "/a/.b", "/a/.b", true }, { "/a/..b", "/a/..b", true }, { "/a/...", "/a/...", true },
	/* the process itself */
	{ "/proc/self/maps", "/proc/4242/maps", true }, { "/proc/self/maps", "/proc/self/maps", true },
	{ "/proc/self/maps", "/proc/4243/maps", false }, { "/proc/self/maps", "/proc/1/maps", false },
	{ "/proc/self/**", "/proc/4242", true }, { "/proc/self/**", "/proc/4242/task/4243/comm", true },
	{ "/proc/self/**", "/proc/42420/maps", false }, { "/proc/self/**", "/proc/424/maps", false },
	{ "/proc/self", "/proc/4242", true }, { "/proc/selfish/x", "/proc/4242/x", false },
	{ "/proc/sel[f]/maps", "/proc/4242/maps", false }, { "/x/self/maps", "/x/4242/maps", false },
	{ "/proc/x/self", "/proc/x/4242", false }, { "/proc/*/maps", "/proc/1/maps", true },
	{ "/proc/self/maps", "/proc/04242/maps", false },
};

static void test_matches(void)
{
	for (size_t i = 0; i < sizeof(match_cases) / sizeof(*match_cases); i++) {
		const struct match_case *row = &match_cases[i];
		struct path_pattern *pattern;
		struct error error = { 0 };
		int result = pattern_compile(row->pattern, &pattern, &error);
		if (!tap_number(result, 0, "compiles: %s", row->pattern)) {
			printf("# %s\n", error.message);
			continue;
		}
		tap_ok(pattern_matches(pattern, row->path, SELF) == row->matches, "%s %s %s", row->pattern,
		       row->matches ? "matches" : "does not match", row->path);
		pattern_free(pattern);
	}
}

static const struct refuse_case {
	const char *pattern, *piece;
} refuse_cases[] = {
	{ "", "starts with '/'" }, { "etc", "starts with '/'" }, { "*", "starts with '/'" }, { "~/x", "starts with '/'" },
	{ "//", "empty component" }, { "/a//b", "empty component" }, { "/a/", "empty component" }, { "/a/**/", "empty component" },
	{ "/a//b", "(at byte 4 of the pattern)" }, { "/./a", "'.' and '..'" }, { "/a/..", "'.' and '..'" }, { "/a/../b", "(at byte 4" },
	{ "/a/[b", "'[' has no ']'" }, { "/a/[b/c]", "'[' has no ']'" }, { "/a/[]", "'[' has no ']'" }, { "/a/[!]", "'[' has no ']'" },
	{ "/a/[a\\]", "'[' has no ']'" }, { "/a/x[b", "(at byte 5" }, { "/a/[z-a]", "runs backwards" }, { "/a/[[:alpha:]]", "named classes" },
	{ "/a/[\xC3\xA9]", "single bytes" }, { "/a/\\", "quotes nothing" }, { "/a\\/b", "quotes nothing" }, { "/a/{b,c}", "'{'" },
	{ "/home/$USER/x", "only at the beginning" }, { "/a/${HOME}", "only at the beginning" }, { "/a/**.py", "'**' stands alone" },
	{ "/a/b**", "'**' stands alone" }, { "/a/***", "'**' stands alone" }, { "/a/x**y/z", "(at byte 4" },
};

static void test_refusals(void)
{
	for (size_t i = 0; i < sizeof(refuse_cases) / sizeof(*refuse_cases); i++) {
		struct path_pattern *pattern;
		struct error error = { 0 };
		int result = pattern_compile(refuse_cases[i].pattern, &pattern, &error);
		tap_number(result, -22, "is refused: \"%s\"", refuse_cases[i].pattern);
		tap_ok(pattern == NULL, "nothing comes back for \"%s\"", refuse_cases[i].pattern);
		tap_contains(error.message, refuse_cases[i].piece, "says what is wrong with \"%s\"", refuse_cases[i].pattern);
	}
	char *longest = malloc(9000);
	memset(longest, 'x', 8999);
	longest[0] = '/';
	longest[8999] = '\0';
	struct path_pattern *pattern;
	struct error error;
	tap_number(pattern_compile(longest, &pattern, &error), -22, "a pattern of 8999 bytes is refused");
	longest[8192] = '\0';
	tap_number(pattern_compile(longest, &pattern, &error), 0, "a pattern of 8192 bytes compiles");
	tap_ok(pattern_matches(pattern, longest, 0), "and matches its own text");
	pattern_free(pattern);
	free(longest);
}

static const struct match_case below_cases[] = {
	{ "/a/b/c", "/", true }, { "/a/b/c", "/a", true }, { "/a/b/c", "/a/b", true }, { "/a/b/c", "/a/b/c", false },
	{ "/a/b/c", "/a/b/c/d", false }, { "/a/b/c", "/a/x", false }, { "/a/**", "/a", true }, { "/a/**", "/a/b/c", true },
	{ "/a/**", "/b", false }, { "/a/*", "/a", true }, { "/a/*", "/a/b", false }, { "/a/*/c", "/a/b", true },
	{ "/a/*.d/c", "/a/b", false }, { "/**/x", "/any/where", true }, { "/", "/", false }, { "/a", "/", true },
	{ "/proc/self/fd/**", "/proc/4242", true }, { "/proc/self/fd/**", "/proc/1", false }, { "/proc/self/fd/**", "/proc", true },
};

static const struct match_case tied_cases[] = {
	{ "/a/b/c", "/a", true }, { "/a/b/c", "/a/b/c", false }, { "/**/secret", "/a/b", false }, { "/**/secret", "/a/secret", false },
	{ "/**/.ssh/**", "/home/u", false }, { "/**/.ssh/**", "/home/u/.ssh", true }, { "/**/.ssh/**", "/home/u/.ssh/keys", true },
	{ "/**/b/c", "/a/b", true }, { "/**/b/c", "/a/x", false }, { "/**/b/c/d", "/b/c", true }, { "/**", "/a", false },
	{ "/home/**/x", "/home/u", true }, { "/home/**/x", "/srv", false },
};

static void test_below(const struct match_case *cases, size_t count, const char *what,
		       bool (*asked)(const struct path_pattern *, const char *, pid_t))
{
	for (size_t i = 0; i < count; i++) {
		struct path_pattern *pattern;
		if (pattern_compile(cases[i].pattern, &pattern, NULL) != 0) {
			tap_ok(false, "compiles: %s", cases[i].pattern);
			continue;
		}
		tap_ok(asked(pattern, cases[i].path, SELF) == cases[i].matches, "%s %s %s: %s", cases[i].pattern, what,
		       cases[i].path, cases[i].matches ? "yes" : "no");
		pattern_free(pattern);
	}
}

static void test_texts(void)
{
	static const struct {
		const char *text;
		size_t folder;
		bool literal;
	} texts[] = {
		{ "/", 0, true }, { "/etc", 0, true }, { "/usr/lib", 4, true }, { "/usr/lib/x*.so", 8, false }, { "/usr/lib/**", 8, false },
		{ "/*", 0, false }, { "/usr/l?b/x", 4, false }, { "/a\\*b/c/*", 7, false }, { "/a/b\\*", 2, true }, { "/a[b]/c", 0, false },
		{ "/a/\\[b]/c", 7, true },
	};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		tap_number((long long)pattern_literal_folder(texts[i].text), (long long)texts[i].folder, "literal folder of %s",
			   texts[i].text);
		tap_number(pattern_is_literal(texts[i].text), texts[i].literal, "is %s literal", texts[i].text);
	}
}

static void test_quoting(void)
{
	static const char *const paths[] = { "/", "/plain", "/a*b?c[d]e{f}g$h\\i", "/**", "/a/${HOME}", "/\xC3\xA9\xFF", "/new\nline" };
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		char *quoted = pattern_quote(paths[i]);
		struct path_pattern *pattern;
		struct error error = { 0 };
		tap_number(pattern_compile(quoted, &pattern, &error), 0, "the quoted path compiles (%zu)", i);
		tap_ok(pattern && pattern_matches(pattern, paths[i], 0), "a quoted path matches itself (%zu)", i);
		tap_ok(pattern_is_literal(quoted), "a quoted path is literal (%zu)", i);
		char *plain = pattern_unquote(quoted, strlen(quoted));
		tap_string(plain, paths[i], "unquoting gives the path back (%zu)", i);
		pattern_free(pattern);
		free(plain);
		free(quoted);
	}
	char *quoted = pattern_quote("");
	tap_string(quoted, "", "nothing quoted is an empty string");
	free(quoted);
}

static void test_misses(void)
{
	static const struct {
		const char *pattern, *path, *why;
		size_t common;
	} misses[] = {
		{ "/var/lib/**", "/var/log/x", "component 2 is \"log\", not \"lib\"", 1 },
		{ "/var/lib/x", "/var/lib", "the path ends before component 3, \"x\"", 2 },
		{ "/var/lib", "/var/lib/x", "names the folder itself; \"/var/lib/**\" is what is below it too", 2 },
		{ "/", "/x", "names the folder itself; \"/**\" is what is below it too", 0 },
		{ "/a/**/*.py", "/a/b/c.js", "nothing from component 2 on matches what follows \"**\"", 1 },
		{ "/a/*.py", "/a/b.js", "component 2 is \"b.js\", not \"*.py\"", 1 },
		{ "/proc/self/maps", "/proc/1/maps", "component 2 is \"1\", not \"self\"", 1 },
		{ "/a/b", "/a/\x1b[31m", "component 2 is \"\\x1b[31m\", not \"b\"", 1 },
	};
	for (size_t i = 0; i < sizeof(misses) / sizeof(*misses); i++) {
		struct path_pattern *pattern;
		if (pattern_compile(misses[i].pattern, &pattern, NULL) != 0)
			continue;
		char why[160];
		pattern_explain_miss(pattern, misses[i].path, SELF, why, sizeof(why));
		tap_string(why, misses[i].why, "why %s is not %s", misses[i].path, misses[i].pattern);
		tap_number((long long)pattern_common_components(pattern, misses[i].path, SELF), (long long)misses[i].common,
			   "common components of %s", misses[i].pattern);
		pattern_free(pattern);
	}
}

static void test_names(void)
{
	tap_ok(pattern_name_matches("app-*", "app-1/x", 7), "a star in a name crosses slashes");
	tap_ok(pattern_name_matches("a?b", "a\0b", 3), "a name may hold zero bytes");
	tap_ok(!pattern_name_matches("a", "a\0b", 3), "a zero byte does not end a name");
	tap_ok(!pattern_name_matches("app", "app2", 4), "the whole name counts");
	tap_string(pattern_name_check("a*b?[c]"), NULL, "a well-formed name pattern");
	tap_contains(pattern_name_check("a["), "no ']'", "an open class in a name");
	tap_contains(pattern_name_check("a\\"), "quotes nothing", "a lonely backslash in a name");
}

/* Patterns made to be slow: the time is bounded by the product of the lengths, so these end at once. */
static void test_cost(void)
{
	char glob[4000] = "/", path[4096] = "/";
	for (int i = 0; i < 900; i++)
		strcat(glob, "*a");
	strcat(glob, "b");
	memset(path + 1, 'a', 4000);
	struct path_pattern *pattern;
	tap_number(pattern_compile(glob, &pattern, NULL), 0, "900 stars compile");
	tap_ok(!pattern_matches(pattern, path, 0), "900 stars do not match 4000 letters");
	pattern_free(pattern);

	strcpy(glob, "");
	strcpy(path, "");
	for (int i = 0; i < 600; i++)
		strcat(glob, "/**/a");
	for (int i = 0; i < 1500; i++)
		strcat(path, "/a");
	strcat(glob, "/b");
	tap_number(pattern_compile(glob, &pattern, NULL), 0, "600 double stars compile");
	tap_ok(!pattern_matches(pattern, path, 0), "600 double stars do not match 1500 components");
	pattern_free(pattern);
}

int main(void)
{
	test_matches();
	test_refusals();
	test_below(below_cases, sizeof(below_cases) / sizeof(*below_cases), "reaches below", pattern_reaches_below);
	test_below(tied_cases, sizeof(tied_cases) / sizeof(*tied_cases), "is tied to", pattern_tied_to);
	test_texts();
	test_quoting();
	test_misses();
	test_names();
	test_cost();
	return tap_done();
}
