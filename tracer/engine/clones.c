/* The kernel wakes a child before it stops the parent that made it, so that either may be seen first. A child that came early
 * is written down with a thread of its parent that waits for one: counted twice, a tree near its limit was ended by mistake
 * (128 processes of 128 allowed, in one run of three). */
#include "engine/clones.h"

void clones_begin(struct task *task, bool thread)
{
	task->cloning = thread ? TASK_CLONING_THREAD : TASK_CLONING_PROCESS;
	task->early_child = 0;
}

static void count(struct task *task, void *data)
{
	struct clones_pending *pending = data;
	if (task->early_child)
		return;
	pending->processes += task->cloning == TASK_CLONING_PROCESS;
	pending->threads += task->cloning != TASK_CLONING_NOTHING;
}

struct clones_pending clones_pending(struct tasks *tasks)
{
	struct clones_pending pending = { 0, 0 };
	tasks_each(tasks, count, &pending);
	return pending;
}

struct cloner_search {
	pid_t parent;
	enum task_cloning cloning;
	struct task *found;
};

static void look_for_cloner(struct task *task, void *data)
{
	struct cloner_search *search = data;
	if (task->process->tgid == search->parent && task->cloning == search->cloning && !task->early_child)
		search->found = task;
}

/* Which of several threads of the parent made the child is not known before their events: any of them stands for it. */
static void write_down(struct tasks *tasks, pid_t child, pid_t parent, enum task_cloning cloning)
{
	struct cloner_search search = { .parent = parent, .cloning = cloning };
	tasks_each(tasks, look_for_cloner, &search);
	if (search.found)
		search.found->early_child = child;
}

void clones_child_came_early(struct tasks *tasks, const struct task *child)
{
	bool thread = child->tid != child->process->tgid;
	write_down(tasks, child->tid, thread ? child->process->tgid : child->process->parent,
		   thread ? TASK_CLONING_THREAD : TASK_CLONING_PROCESS);
}

bool clones_settle(struct tasks *tasks, struct task *task, pid_t child)
{
	enum task_cloning cloning = task->cloning;
	pid_t early = task->early_child;
	task->cloning = TASK_CLONING_NOTHING;
	task->early_child = 0;
	if (early && early != child)
		write_down(tasks, early, task->process->tgid, cloning); /* another thread's */
	return early && early == child;
}
