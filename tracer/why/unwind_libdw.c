/* libdwfl over copies: it asks for threads, registers and memory through callbacks, and for a module's file when a frame lies
 * in it. Separate debug files are not looked for: that may take a hundred milliseconds, or the network. */
#include "why/libraries.h"
#include "why/unwind.h"

#include <stdio.h>
#include <string.h>

struct session {
	struct image *image;
	struct unwind_walk *walk;
};

static int find_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base, char **file_name, Elf **elf)
{
	(void)dwfl_module;
	(void)name;
	(void)base;
	(void)file_name;
	const struct session *session = *userdata;
	struct image_module *module = image_module_at(session->image, base);
	*elf = NULL;
	if (!module)
		return -1;
	if (module->is_vdso) {
		*elf = module->elf; /* libdwfl would end it with its own module: it is given away */
		module->elf = NULL;
		module->tried = false;
		return -1;
	}
	return image_module_descriptor(session->image, module);
}

static int find_no_debuginfo(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *file_name,
			     const char *link, GElf_Word checksum, char **debug_name)
{
	(void)module;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file_name;
	(void)link;
	(void)checksum;
	(void)debug_name;
	return -1;
}

static pid_t next_thread(Dwfl *dwfl, void *data, void **thread)
{
	(void)dwfl;
	struct session *session = data;
	if (*thread)
		return 0;
	*thread = session;
	return session->image->snapshot->tid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *data, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = data;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *data)
{
	(void)dwfl;
	const struct session *session = data;
	return image_read(session->image, address, result, sizeof(*result));
}

static bool set_registers(Dwfl_Thread *thread, void *data)
{
	const struct session *session = data;
	return libraries.dwfl_thread_state_registers(thread, 0, IMAGE_REGISTER_COUNT, session->image->registers);
}

static int on_frame(Dwfl_Frame *frame, void *data)
{
	struct session *session = data;
	Dwarf_Addr address;
	bool is_exact;
	if (!libraries.dwfl_frame_pc(frame, &address, &is_exact))
		return DWARF_CB_ABORT;
	if (address == 0)
		return DWARF_CB_OK;
	return unwind_add(session->image, session->walk, address, is_exact) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void report_modules(Dwfl *dwfl, struct session *session)
{
	libraries.dwfl_report_begin(dwfl);
	for (size_t i = 0; i < session->image->module_count; i++) {
		const struct image_module *module = &session->image->modules[i];
		void **userdata;
		Dwfl_Module *reported = libraries.dwfl_report_module(dwfl, module->path, module->start, module->end);
		if (!reported)
			continue;
		libraries.dwfl_module_info(reported, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
		*userdata = session;
	}
	libraries.dwfl_report_end(dwfl, NULL, NULL);
}

static void walk_libdw(struct image *image, struct unwind_walk *walk)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = find_elf, .find_debuginfo = find_no_debuginfo };
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_word,
		.set_initial_registers = set_registers,
	};
	struct session session = { image, walk };
	if (!libraries_load_dw()) {
		snprintf(walk->reason, sizeof(walk->reason), "libdw is not installed");
		return;
	}
	Dwfl *dwfl = libraries.dwfl_begin(&callbacks);
	if (!dwfl)
		return;
	report_modules(dwfl, &session);
	if (libraries.dwfl_attach_state(dwfl, NULL, image->snapshot->tid, &thread_callbacks, &session))
		walk->whole = libraries.dwfl_getthread_frames(dwfl, image->snapshot->tid, on_frame, &session) == 0;
	/* A caller that cannot be read ends a stack for libdw as the thread's beginning does. */
	if (walk->whole && image->missed) {
		walk->whole = false;
		snprintf(walk->reason, sizeof(walk->reason), "the stack goes on where no copy was taken of it");
	}
	if (!walk->whole && walk->reason[0] == '\0')
		snprintf(walk->reason, sizeof(walk->reason), "libdw: %s", libraries.dwfl_errmsg(-1));
	libraries.dwfl_end(dwfl);
}

const struct unwinder unwinder_libdw = { "libdw", walk_libdw };
