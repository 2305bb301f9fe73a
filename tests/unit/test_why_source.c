/* The source line that counts: which frame it belongs to, what is read, and when it is shown. */
#include "tap.h"

#include "base/text.h"
#include "policy/policy.h"
#include "why/source.h"
#include "why/why.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/bailiff-source-XXXXXX";

static char *in_folder(const char *name)
{
	return text_format("%s/%s", folder, name);
}

static void write_file(const char *name, const char *bytes, size_t length)
{
	char *path = in_folder(name);
	FILE *file = fopen(path, "we");
	tap_ok(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0, "%s is written", name);
	free(path);
}

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- a line of a file ---- */

static const char *line_of(const char *text, size_t length, uint32_t number)
{
	static char line[256];
	return source_find_line(text, length, number, line) ? line : NULL;
}

static void test_lines(void)
{
	static const char text[] = "first\n\tsecond \t\r\n\nfourth";
	const size_t length = sizeof(text) - 1;
	tap_string(line_of(text, length, 1), "first", "the first line");
	tap_string(line_of(text, length, 2), "\tsecond", "blanks behind a line are cut, those before it stay");
	tap_string(line_of(text, length, 3), NULL, "an empty line shows nothing");
	tap_string(line_of(text, length, 4), "fourth", "the last line needs no newline");
	tap_string(line_of(text, length, 5), NULL, "there is no line behind it");
	tap_string(line_of(text, length, 0), NULL, "nor a line 0");
	tap_string(line_of(text, length, UINT32_MAX), NULL, "nor one far away");
	tap_string(line_of("", 0, 1), NULL, "an empty file has none");
	tap_string(line_of("a\xff" "b\nc\n", 6, 1), NULL, "what is not UTF-8 is not shown");
	tap_string(line_of("a\xff" "b\nc\n", 6, 2), "c", "another line of the file is");
	tap_string(line_of("a\0b\n", 4, 1), NULL, "a NUL is no text");
	tap_string(line_of("a\rb\nc\n", 6, 1), NULL, "a line that some languages end at \\r");
	tap_string(line_of("a\rb\nc\n", 6, 2), NULL, "nor is it clear which line is behind it");
	tap_string(line_of("a\nb\xe2\x80\xa8" "c\n", 8, 1), "a", "what is before a separator of Unicode is clear");
	tap_string(line_of("a\nb\xe2\x80\xa8" "c\nd\n", 10, 3), NULL, "what is behind it is not");
}

static void test_long_lines(void)
{
	char text[2048];
	memset(text, 'x', sizeof(text));
	tap_number((long long)strlen(line_of(text, sizeof(text), 1)), SOURCE_CHARACTER_MAX, "a long line is cut");
	for (size_t i = 0; i + 1 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa9", 2);
	const char *line = line_of(text, sizeof(text), 1);
	tap_ok(line && utf8_valid(line, strlen(line)) && strlen(line) < 256 && strlen(line) > 250, "between characters, where they are wide");
}

/* ---- which frame ---- */

static struct record_script_frame *add_frame(struct record_explanation *explanation, const char *file, uint32_t line, bool own)
{
	struct record_script_frame *frame = &explanation->script[explanation->script_count++];
	record_bytes_set(&frame->file, file, strlen(file));
	frame->line = line;
	frame->own_code = own;
	return frame;
}

static void test_request(void)
{
	struct record_explanation *explanation = memory_zeroed(1, sizeof(*explanation));
	struct source_request request;
	source_request_fill(explanation, &request);
	tap_string(request.path, "", "no frames, no file");
	add_frame(explanation, "/usr/lib/python3/socket.py", 833, false);
	add_frame(explanation, "/home/ann/job.py", 14, true);
	source_request_fill(explanation, &request);
	tap_string(request.path, "/home/ann/job.py", "the innermost of the program's own frames is asked for");
	tap_ok(request.frame == 1 && request.line == 14, "by its place and line");
	static const char *const no_files[] = { "<string>", "-e", "-c", "environment", "", "Command line code", "Standard input code" };
	for (size_t i = 0; i < sizeof(no_files) / sizeof(*no_files); i++) {
		explanation->script_count = 0;
		add_frame(explanation, no_files[i], 1, true);
		source_request_fill(explanation, &request);
		tap_string(request.path, "", "\"%s\" is no file", no_files[i]);
	}
	explanation->script_count = 0;
	struct record_script_frame *frame = add_frame(explanation, "[eval]", 1, true);
	source_request_fill(explanation, &request);
	tap_string(request.path, "[eval]", "a file may be called so");
	text_copy(frame->language, sizeof(frame->language), "javascript");
	source_request_fill(explanation, &request);
	tap_string(request.path, "", "but not to node");
	free(explanation);
}

/* ---- reading ---- */

static bool reads(const char *path, const char *cwd, uint32_t number, int64_t captured_ns, struct source_line *line)
{
	struct source_request request = { .line = number, .captured_ns = captured_ns };
	text_copy(request.path, sizeof(request.path), path);
	text_copy(request.cwd, sizeof(request.cwd), cwd);
	return source_read(&request, line);
}

static void test_reading(void)
{
	struct source_line line;
	char *path = in_folder("job.py"), *link = in_folder("link.py"), *fifo = in_folder("fifo");
	write_file("job.py", "one\ntwo\n", 8);
	int64_t after = now_ns() + 1000000000;
	tap_ok(reads(path, "", 2, after, &line), "a line is read");
	tap_string(line.text, "two", "the right one");
	tap_string(line.path, path, "of the file that was asked for");
	tap_ok(reads("job.py", folder, 1, after, &line) && strcmp(line.path, path) == 0, "also by a relative name");
	tap_ok(!reads("job.py", "", 1, after, &line), "but not where nobody knows what it is relative to");
	tap_ok(symlink("job.py", link) == 0 && reads(link, "", 1, after, &line), "a link is followed");
	tap_string(line.path, path, "and the file behind it is named");
	tap_ok(!reads(path, "", 1, now_ns() - 3600000000000, &line), "a file that changed since is not what ran");
	tap_ok(mkfifo(fifo, 0600) == 0 && !reads(fifo, "", 1, now_ns() + 1000000000, &line), "a FIFO is not opened");
	tap_ok(!reads("/dev/zero", "", 1, after, &line) && !reads(folder, "", 1, after, &line), "nor a device, nor a folder");
	tap_ok(!reads("/proc/self/environ", "", 1, INT64_MAX, &line), "nor what the reader itself is");
	tap_ok(truncate(path, SOURCE_FILE_MAX_BYTES + 1) == 0 && !reads(path, "", 1, now_ns() + 1000000000, &line), "nor a large file");
	unlink(path);
	unlink(link);
	unlink(fifo);
	free(path);
	free(link);
	free(fifo);
}

/* ---- showing ---- */

static struct policy *policy_of(const char *json)
{
	struct policy *policy = NULL;
	struct error error;
	char *path = in_folder("policy.json");
	struct policy_variables variables = { .start = folder, .cwd = folder };
	write_file("policy.json", json, strlen(json));
	tap_ok(policy_load(path, NULL, 0, &policy, &error) == 0 && policy_bind(policy, &variables, &error) == 0, "a policy");
	unlink(path);
	free(path);
	return policy;
}

static bool is_shown(const struct policy *policy, const char *given, const char *canonical, const char *cwd)
{
	struct run_record *record = memory_zeroed(1, sizeof(*record));
	struct record_explanation *explanation = &record->explanation;
	strcpy(add_frame(explanation, given, 1, true)->source, "text");
	text_copy(explanation->source_path, sizeof(explanation->source_path), canonical);
	text_copy(explanation->cwd, sizeof(explanation->cwd), "/data/run");
	record->first.process.pid = 4711;
	why_judge_source(record, policy, cwd);
	bool shown = explanation->script[0].source[0] != '\0';
	free(record);
	return shown;
}

static void test_showing(void)
{
	struct policy *policy = policy_of("{\"paths\": {\"read\": [\"/data/**\"], \"deny\": [\"/data/secret/**\", \"/data/run/no.py\"], "
					  "\"execute\": [\"/data/**\"]}}");
	tap_ok(is_shown(policy, "/data/run/a.py", "/data/run/a.py", "/"), "what the target may read is shown");
	tap_ok(!is_shown(policy, "/etc/passwd", "/etc/passwd", "/"), "what it may not is not");
	tap_ok(!is_shown(policy, "/data/run/a.py", "/etc/passwd", "/"), "nor behind a name that it may read");
	tap_ok(!is_shown(policy, "/data/run/a.py", "/data/secret/key", "/"), "nor what is denied");
	tap_ok(!is_shown(policy, "/data/run/no.py", "/data/run/a.py", "/"), "nor under a name that is denied");
	tap_ok(is_shown(policy, "a.py", "/data/run/a.py", "/data/run"), "a relative name counts where the run began");
	tap_ok(!is_shown(policy, "a.py", "/data/run/a.py", "/data"), "and nowhere else: another file may be called so");
	policy_free(policy);
}

int main(void)
{
	if (!tap_ok(mkdtemp(folder), "a scratch folder"))
		return tap_done();
	test_lines();
	test_long_lines();
	test_request();
	test_reading();
	test_showing();
	rmdir(folder);
	return tap_done();
}
