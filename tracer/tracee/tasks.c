#include "tracee/tasks.h"

#include "base/bug.h"
#include "base/text.h"

#include <stdlib.h>

enum { BUCKET_COUNT = 1024 };

struct tasks {
	struct task *buckets[BUCKET_COUNT];
	unsigned task_count, process_count;
};

static struct task **bucket_of(struct tasks *tasks, pid_t tid)
{
	return &tasks->buckets[(unsigned)tid % BUCKET_COUNT];
}

struct tasks *tasks_new(void)
{
	return memory_zeroed(1, sizeof(struct tasks));
}

static void free_task(struct task *task)
{
	if (task->process && --task->process->thread_count == 0)
		free(task->process);
	task_forget_scripts(task);
	free(task);
}

void task_forget_scripts(struct task *task)
{
	for (unsigned i = 0; i < task->script_count; i++)
		free(task->scripts[i].path);
	task->script_count = 0;
}

void tasks_free(struct tasks *tasks)
{
	if (!tasks)
		return;
	for (unsigned i = 0; i < BUCKET_COUNT; i++) {
		while (tasks->buckets[i]) {
			struct task *task = tasks->buckets[i];
			tasks->buckets[i] = task->next;
			free_task(task);
		}
	}
	free(tasks);
}

struct task *tasks_find(struct tasks *tasks, pid_t tid)
{
	struct task *task = *bucket_of(tasks, tid);
	while (task && task->tid != tid)
		task = task->next;
	return task;
}

/* A group's leader keeps its tid until the whole group is gone, so that a process is found through any thread: the leader
 * first, and by a walk only where the leader was never seen. */
struct process *tasks_find_process(struct tasks *tasks, pid_t tgid)
{
	struct task *leader = tasks_find(tasks, tgid);
	if (leader && leader->process->tgid == tgid)
		return leader->process;
	for (unsigned i = 0; i < BUCKET_COUNT; i++)
		for (struct task *task = tasks->buckets[i]; task; task = task->next)
			if (task->process->tgid == tgid)
				return task->process;
	return NULL;
}

struct task *tasks_add(struct tasks *tasks, pid_t tid, pid_t tgid, pid_t parent)
{
	bug_unless(!tasks_find(tasks, tid));
	struct process *process = tid == tgid ? NULL : tasks_find_process(tasks, tgid);
	if (!process) {
		process = memory_zeroed(1, sizeof(*process));
		process->tgid = tgid;
		process->parent = parent;
		process->slot = -1;
		tasks->process_count++;
	}
	process->thread_count++;

	struct task *task = memory_zeroed(1, sizeof(*task));
	task->tid = tid;
	task->process = process;
	struct task **bucket = bucket_of(tasks, tid);
	task->next = *bucket;
	*bucket = task;
	tasks->task_count++;
	return task;
}

static void unlink_task(struct tasks *tasks, struct task *task)
{
	struct task **at = bucket_of(tasks, task->tid);
	while (*at && *at != task)
		at = &(*at)->next;
	bug_unless(*at == task);
	*at = task->next;
}

void tasks_remove(struct tasks *tasks, struct task *task, bool *process_ended)
{
	unlink_task(tasks, task);
	*process_ended = task->process->thread_count == 1;
	if (*process_ended)
		tasks->process_count--;
	tasks->task_count--;
	free_task(task);
}

void tasks_rename(struct tasks *tasks, struct task *task, pid_t tid)
{
	unlink_task(tasks, task);
	task->tid = tid;
	struct task **bucket = bucket_of(tasks, tid);
	task->next = *bucket;
	*bucket = task;
}

unsigned tasks_count(const struct tasks *tasks)
{
	return tasks->task_count;
}

unsigned tasks_process_count(const struct tasks *tasks)
{
	return tasks->process_count;
}

void tasks_each(struct tasks *tasks, void (*visit)(struct task *task, void *data), void *data)
{
	for (unsigned i = 0; i < BUCKET_COUNT; i++)
		for (struct task *task = tasks->buckets[i]; task; task = task->next)
			visit(task, data);
}
