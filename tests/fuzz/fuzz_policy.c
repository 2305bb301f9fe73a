/* Policies: whatever the text, loading ends, says where a mistake is, and what it accepts can be bound, shown and asked. */
#include "base/bug.h"
#include "base/text.h"
#include "policy/json_tree.h"
#include "policy/suggest.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static const struct policy_variables variables = { .workspace = "/tmp/w", .cwd = "/", .home = "/home/u" };

static void ask_paths(const struct policy *policy)
{
	static const char *const paths[] = { "/", "/etc/passwd", "/tmp/w/a", "/proc/42/maps", "/home/u/.ssh/id", "/a/../b" };
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		for (unsigned access = 1; access < 16; access++) {
			const struct path_request request = { .access = access, .path = paths[i], .self = 42, .directory = access % 3 == 0 };
			struct considered considered[3];
			struct suggestion suggestions[SUGGESTION_MAX];
			struct decision decision = decide_path(policy, &request);
			bug_unless(decision.kind != DECISION_ALLOW || decision.rule == RULE_NONE);
			bug_unless(decision.kind != DECISION_DENY || (decision.rule != RULE_NONE && decision.position));
			decide_consider_path(policy, &request, considered, 3);
			size_t count = suggest_path(policy, &request, &variables, suggestions);
			bug_unless(count == 0 || decision.kind == DECISION_DENY);
			while (count > 0)
				suggestion_free(&suggestions[--count]);
		}
		decide_protected_below(policy, paths[i], 42);
		decide_required_sha256(policy, paths[i], 42);
	}
}

static void ask_network(const struct policy *policy)
{
	static const char *const texts[] = { "tcp:127.0.0.1:80", "udp:[::1]:53", "192.0.2.1:443", "unix:/tmp/w/s", "unix:@x" };
	static struct address address;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct considered considered[3];
		struct suggestion suggestions[SUGGESTION_MAX];
		bug_unless(address_parse(texts[i], &address, NULL) == 0);
		decide_connect(policy, &address);
		decide_bind(policy, &address);
		decide_consider_connect(policy, LIST_CONNECT, &address, considered, 3);
		size_t count = suggest_network(policy, LIST_CONNECT, &address, suggestions);
		while (count > 0)
			suggestion_free(&suggestions[--count]);
	}
}

/* What is shown must be JSON, in UTF-8 and without duplicate keys: the strict reader itself is the judge. */
static void show(const struct policy *policy)
{
	struct json_tree tree;
	struct json_fault fault;
	char *shown = policy_to_json(policy);
	bug_unless(json_tree_parse(shown, strlen(shown), JSON_POLICY, &tree, &fault) == 0);
	json_tree_free(&tree);
	free(shown);
}

static void use(struct policy *policy)
{
	struct error error = { 0 };
	policy_uses_workspace(policy);
	show(policy);
	if (policy_bind(policy, &variables, &error) != 0) {
		bug_unless(error.number > 0 && error.message[0]);
		return;
	}
	show(policy);
	ask_paths(policy);
	ask_network(policy);
	for (int number = 0; number < 470; number++)
		decide_syscall(policy, number, number % 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct policy *policy = NULL;
	struct error error = { 0 };
	/* A copy of exactly this length: a read behind its end is seen by the sanitizer. */
	char *text = malloc(length ? length : 1);
	bug_unless(text);
	memcpy(text, bytes, length);
	int result = policy_load_text("/nonexistent/fuzz.json", text, length, NULL, 0, &policy, &error);
	bug_unless((result == 0) == (policy != NULL));
	bug_unless(result == 0 || (error.number == -result && utf8_valid(error.message, strlen(error.message))));
	bug_unless(result == 0 || strchr(error.message, ':'));
	if (policy)
		use(policy);
	policy_free(policy);
	free(text);
	return 0;
}

#ifdef FUZZ_STANDALONE
#include "standalone.h"

int main(int argc, char **argv)
{
	static const char *const seeds[] = {
		"{\"name\": \"csv\", \"description\": \"d\", \"extends\": \"python\", \"paths\": {\"read\": [\"${WORKSPACE}/input.csv\", "
		"\"/usr/share/zoneinfo/**\"], \"write\": [\"${WORKSPACE}/result.csv\"]}}",
		"{\"paths\": {\"execute\": [\"/usr/bin/python3*\", {\"path\": \"/opt/tool\", \"sha256\": "
		"\"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"}], \"deny\": [\"/home/*/.ssh/**\"]}}",
		"{\"paths\": {\"hide\": [\"/home/*/.netrc\"], \"stat\": \"listed\"}, \"on_violation\": \"deny\"}",
		"{\"network\": {\"connect\": [\"10.0.0.0/8:5432\", \"[2001:db8::]/32:*\", \"udp:192.0.2.1:53\", \"localhost:8080\", "
		"\"unix:${WORKSPACE}/app.sock\", \"unix:@name\"], \"bind\": [\"127.0.0.1:8000-8010\"]}}",
		"{\"environment\": {\"pass\": [\"LANG\", \"LC_*\"], \"set\": {\"PATH\": \"/usr/bin:${HOME}/bin:$$\"}}}",
		"{\"limits\": {\"wall\": \"3s\", \"cpu\": \"none\", \"output\": 2000}, \"syscalls\": {\"allow\": [\"memfd_create\"], \"deny\": [\"fork\"]}}",
		"// a comment\n{ /* another */ \"name\": \"\\u00e9\\ud83d\\ude00\\n\\\\\" }\n",
		"{\"paths\": {\"read\": [\"/a[!b-c\\\\]]/?*/**/x\", \"/proc/self/fd/*\", \"${SCRIPT_DIR}/**/*.py\"]}}",
		"[1, -2.5e+3, true, null, {\"a\": [[[]]]}]",
	};
	return standalone_main(argc, argv, seeds, sizeof(seeds) / sizeof(*seeds), LLVMFuzzerTestOneInput);
}
#endif
