/* Additions to the text of a policy: where they go, and what is left alone. */
#include "tap.h"

#include "base/cleanup.h"
#include "policy/patch.h"
#include "policy/policy.h"

static void gives(const char *text, const char *pointer, const char *value, const char *expected)
{
	struct text out = { 0 };
	struct error error = { 0 };
	cJSON *json = cJSON_Parse(value);
	int result = patch_add(text, pointer, json, &out, &error);
	tap_number(result, 0, "%s at %s can be added (%s)", value, pointer, error.message);
	tap_string(text_string(&out), expected, "%s at %s", value, pointer);
	text_free(&out);
	cJSON_Delete(json);
}

static void refuses(const char *text, const char *pointer, const char *value, const char *piece)
{
	struct text out = { 0 };
	struct error error = { 0 };
	cJSON *json = cJSON_Parse(value);
	tap_ok(patch_add(text, pointer, json, &out, &error) < 0, "%s at %s of %s is refused", value, pointer, text);
	tap_contains(error.message, piece, "with a reason");
	text_free(&out);
	cJSON_Delete(json);
}

static void lists(void)
{
	gives("{\"l\": [\"a\"]}", "/l/-", "\"b\"", "{\"l\": [\"a\", \"b\"]}");
	gives("{\"l\": []}", "/l/-", "\"b\"", "{\"l\": [\"b\"]}");
	gives("{\"l\": [ /* none */ ]}", "/l/-", "\"b\"", "{\"l\": [\"b\" /* none */ ]}");
	gives("{\n\t\"l\": [\n\t\t\"a\"\n\t]\n}\n", "/l/-", "\"b\"", "{\n\t\"l\": [\n\t\t\"a\",\n\t\t\"b\"\n\t]\n}\n");
	gives("{\n\t\"l\": [\n\t]\n}\n", "/l/-", "\"b\"", "{\n\t\"l\": [\n\t\t\"b\"\n\t]\n}\n");
	gives("{\n  \"l\": [\"x\",\n        \"a\"]\n}", "/l/-", "\"b\"", "{\n  \"l\": [\"x\",\n        \"a\",\n        \"b\"]\n}");
	gives("{\"l\": [\n  {\"path\": \"/x]\\\"}\"}\n]}", "/l/-", "\"b\"",
	      "{\"l\": [\n  {\"path\": \"/x]\\\"}\"},\n  \"b\"\n]}");
	gives("{\"l\": [\"a\", \"b\"]}", "/l/-", "\"a\"", "{\"l\": [\"a\", \"b\"]}");
	gives("{\"l\": [\"\xc3\xa4\"]}", "/l/-", "\"\xc3\xb6\"", "{\"l\": [\"\xc3\xa4\", \"\xc3\xb6\"]}");
}

static void comments(void)
{
	gives("{\"l\": [\n  \"a\" // of a, ]\n]}", "/l/-", "\"b\"", "{\"l\": [\n  \"a\", // of a, ]\n  \"b\"\n]}");
	gives("{\"l\": [\n  \"a\" /* 1 */ // 2\r\n]}", "/l/-", "\"b\"", "{\"l\": [\n  \"a\", /* 1 */ // 2\n  \"b\"\r\n]}");
	gives("{\"l\": [\n  \"a\" /* to\n  be */\n]}", "/l/-", "\"b\"", "{\"l\": [\n  \"a\",\n  \"b\" /* to\n  be */\n]}");
	gives("{\"l\": [\n  \"a\"\n  // \"c\"\n]}", "/l/-", "\"b\"", "{\"l\": [\n  \"a\",\n  \"b\"\n  // \"c\"\n]}");
	gives("{\n \"l\": [\n  // none\n ]}", "/l/-", "\"b\"", "{\n \"l\": [\n  // none\n  \"b\"\n ]}");
	gives("{\"l\": [ // none\n /* x */ ]}", "/l/-", "\"b\"", "{\"l\": [ // none\n /* x */ \"b\"]}");
	gives("{\r\n  \"l\": [\r\n    \"a\"\r\n  ]\r\n}", "/l/-", "\"b\"",
	      "{\r\n  \"l\": [\r\n    \"a\",\r\n    \"b\"\r\n  ]\r\n}");
}

static void objects(void)
{
	gives("{}", "/p", "{\"read\": [\"/a\"]}", "{\"p\": {\"read\": [\"/a\"]}}");
	gives("{}", "/p/read/-", "\"/a\"", "{\"p\": {\"read\": [\"/a\"]}}");
	gives("// only\n{\n}\n", "/p/read", "[\"/a\"]", "// only\n{\n  \"p\": {\"read\": [\"/a\"]}\n}\n");
	gives("{\n  \"n\": 1 // one\n}", "/p/w", "\"x\"", "{\n  \"n\": 1, // one\n  \"p\": {\"w\": \"x\"}\n}");
	gives("{\"a/b\": {\"~\": [1]}}", "/a~1b/~0/-", "2", "{\"a/b\": {\"~\": [1, 2]}}");

	/* What is there stays there. */
	gives("{\"p\": {\"r\": [1]}}", "/p", "{\"r\": [2, 3], \"w\": [4]}", "{\"p\": {\"r\": [1, 2, 3], \"w\": [4]}}");
	gives("{\"p\": {\"r\": [1]}}", "", "{\"p\": {\"r\": [2]}, \"q\": true}", "{\"p\": {\"r\": [1, 2]}, \"q\": true}");
	gives("{\"l\": {\"wall\": \"1s\" /* low */, \"cpu\": 7}}", "/l/wall", "\"2s\"",
	      "{\"l\": {\"wall\": \"2s\" /* low */, \"cpu\": 7}}");
	gives("{\"l\": {\"wall\": \"1s\", \"n\": 7}}", "/l/n", "14", "{\"l\": {\"wall\": \"1s\", \"n\": 14}}");
}

static void faults(void)
{
	refuses("{\"l\": [1]}", "/l/0", "2", "holds no such value");
	refuses("{\"l\": [1]}", "/l/-/x", "2", "holds no such value");
	refuses("{\"l\": [1]}", "/l", "2", "of another kind");
	refuses("{\"l\": 1}", "/l", "[2]", "of another kind");
	refuses("{\n\"l\": 1}", "/l/x", "2", "line 2");
	refuses("{\"l\": [1]", "/l/-", "2", "1:10: ");
	refuses("{}", "l", "2", "no JSON pointer");
}

/* Every shipped policy, with an entry added to each of its lists, is a policy that differs by that entry alone. */
static void shipped(void)
{
	cJSON *entry = cJSON_CreateString("/added/by/the/test");
	for (size_t i = 0; i < shipped_policy_count; i++) {
		auto_free char *before = text_duplicate_bytes(shipped_policies[i].text, shipped_policies[i].length);
		struct text out = { 0 };
		struct error error = { 0 };
		struct policy *old = NULL, *policy = NULL;
		tap_number(patch_add(before, "/paths/read/-", entry, &out, &error), 0, "%s: %s", shipped_policies[i].name,
			   error.message);
		int loaded = policy_load_text("patched.json", text_string(&out), out.length, NULL, 0, &policy, &error);
		tap_number(loaded, 0, "%s: still a policy: %s", shipped_policies[i].name, error.message);
		policy_load_text("before.json", before, strlen(before), NULL, 0, &old, &error);
		if (old && policy)
			tap_number((long long)policy->lists[LIST_READ].count, (long long)old->lists[LIST_READ].count + 1,
				   "%s: one entry more", shipped_policies[i].name);
		text_free(&out);
		policy_free(policy);
		policy_free(old);
	}
	cJSON_Delete(entry);
}

int main(void)
{
	lists();
	comments();
	objects();
	faults();
	shipped();
	return tap_done();
}
