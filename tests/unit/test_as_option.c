/* A suggestion as an option of `run`. */
#include "tap.h"

#include "base/cleanup.h"
#include "verdict/as_option.h"

static void gives(const char *suggestion, const char *expected)
{
	struct text out = { 0 };
	cJSON *json = cJSON_Parse(suggestion);
	bool typed = as_option(json, &out);
	tap_ok(typed == (expected != NULL), "%s: can%s be typed", suggestion, expected ? "" : "not");
	tap_string(text_string(&out), expected ? expected : "", "%s: as what", suggestion);
	text_free(&out);
	cJSON_Delete(json);
}

int main(void)
{
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"/a/b\"}", "--read /a/b");
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"/a/**\"}", "--read '/a/**'");
	gives("{\"pointer\":\"/paths/write\",\"value\":[\"/a b\"]}", "--write '/a b'");
	gives("{\"pointer\":\"/paths\",\"value\":{\"execute\":[\"/bin/x\"]}}", "--execute /bin/x");
	gives("{\"pointer\":\"\",\"value\":{\"network\":{\"connect\":[\"tcp:192.0.2.1:80\"]}}}", "--connect tcp:192.0.2.1:80");
	gives("{\"pointer\":\"/network\",\"value\":{\"bind\":[\"[::1]:80\"]}}", "--bind '[::1]:80'");
	gives("{\"pointer\":\"/limits/wall\",\"value\":\"3s\"}", "--wall 3s");
	gives("{\"pointer\":\"/limits\",\"value\":{\"file_size\":\"2M\"}}", "--file-size 2M");

	/* No option says these, or they are no one thing. */
	gives("{\"pointer\":\"/syscalls/allow/-\",\"value\":\"memfd_create\"}", NULL);
	gives("{\"pointer\":\"/paths/readable/-\",\"value\":\"/a\"}", NULL);
	gives("{\"pointer\":\"/paths/read/3\",\"value\":\"/a\"}", NULL);
	gives("{\"pointer\":\"/paths/read\",\"value\":[\"/a\",\"/b\"]}", NULL);
	gives("{\"pointer\":\"/paths/read\",\"value\":[]}", NULL);
	gives("{\"pointer\":\"/paths/read/-\",\"value\":7}", NULL);
	gives("{\"pointer\":\"/paths/read/-\"}", NULL);
	gives("{}", NULL);

	/* What a shell or a terminal could take for something else is never printed as a thing to type. */
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"/a'; rm x; '\"}", NULL);
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"/a\\u001b[2J\"}", NULL);
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"/\\u00e4\"}", NULL);
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"/$(x)\"}", "--read '/$(x)'");
	gives("{\"pointer\":\"/paths/read/-\",\"value\":\"\"}", "--read ''");
	return tap_done();
}
