/* Prints where CPython keeps what the reader of its frames needs: one row of ../python_offsets.h, from the headers of one
 * minor version (3.7 to 3.12). From 3.13 on the interpreter tells its own offsets; then the row says which word of
 * _Py_DebugOffsets holds which.
 *
 *     cc -I INCLUDE -I INCLUDE/internal -o row python.c && ./row
 *
 * `make` does not build it; tests/check_offsets.py does wherever headers are installed. */
#define Py_BUILD_CORE 1
#include <Python.h>

#include <stddef.h>
#include <stdio.h>

#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#elif PY_VERSION_HEX >= 0x03080000
#include <internal/pycore_pystate.h>
#else
#include <internal/pystate.h>
#endif

#if PY_VERSION_HEX >= 0x030B0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif

#define ROW(field, value) printf("\t\t.%s = %zu,\n", #field, (size_t)(value))
#define WORD(field, member) ROW(field, offsetof(_Py_DebugOffsets, member) / sizeof(uint64_t))

#if PY_VERSION_HEX >= 0x030D0000
static void row_fields(void)
{
	WORD(interpreters_head, runtime_state.interpreters_head);
	WORD(interpreter_next, interpreter_state.next);
	WORD(threads_head, interpreter_state.threads_head);
	WORD(thread_next, thread_state.next);
	WORD(thread_interpreter, thread_state.interp);
	WORD(thread_frame, thread_state.current_frame);
	WORD(thread_id, thread_state.thread_id);
	WORD(frame_previous, interpreter_frame.previous);
	WORD(frame_code, interpreter_frame.executable);
	WORD(frame_position, interpreter_frame.instr_ptr);
	WORD(frame_owner, interpreter_frame.owner);
	WORD(code_filename, code_object.filename);
	WORD(code_name, code_object.name);
	WORD(code_qualname, code_object.qualname);
	WORD(code_lines, code_object.linetable);
	WORD(code_first_line, code_object.firstlineno);
	WORD(code_instructions, code_object.co_code_adaptive);
	WORD(object_type, pyobject.ob_type);
	WORD(object_size, bytes_object.ob_size);
	WORD(bytes_data, bytes_object.ob_sval);
	WORD(text_length, unicode_object.length);
	WORD(text_state, unicode_object.state);
	WORD(text_ascii, unicode_object.asciiobject_size);
}
#else
static void row_frame(void)
{
#if PY_VERSION_HEX >= 0x030B0000
	ROW(thread_frame, offsetof(PyThreadState, cframe));
	ROW(cframe_frame, offsetof(_PyCFrame, current_frame));
	ROW(frame_previous, offsetof(_PyInterpreterFrame, previous));
	ROW(frame_code, offsetof(_PyInterpreterFrame, f_code));
	ROW(frame_position, offsetof(_PyInterpreterFrame, prev_instr));
	ROW(frame_owner, offsetof(_PyInterpreterFrame, owner));
#if PY_VERSION_HEX < 0x030C0000
	ROW(frame_entry, offsetof(_PyInterpreterFrame, is_entry));
#endif
#else
	ROW(thread_frame, offsetof(PyThreadState, frame));
	ROW(frame_previous, offsetof(PyFrameObject, f_back));
	ROW(frame_code, offsetof(PyFrameObject, f_code));
	ROW(frame_position, offsetof(PyFrameObject, f_lasti));
#endif
}

static void row_code(void)
{
	ROW(code_filename, offsetof(PyCodeObject, co_filename));
	ROW(code_name, offsetof(PyCodeObject, co_name));
	ROW(code_first_line, offsetof(PyCodeObject, co_firstlineno));
#if PY_VERSION_HEX >= 0x030B0000
	ROW(code_qualname, offsetof(PyCodeObject, co_qualname));
	ROW(code_instructions, offsetof(PyCodeObject, co_code_adaptive));
#else
	ROW(code_qualname, offsetof(PyCodeObject, co_name));
	ROW(code_instructions, offsetof(PyCodeObject, co_code));
#endif
#if PY_VERSION_HEX >= 0x030A0000
	ROW(code_lines, offsetof(PyCodeObject, co_linetable));
#else
	ROW(code_lines, offsetof(PyCodeObject, co_lnotab));
#endif
}

static void row_fields(void)
{
	ROW(interpreters_head, offsetof(_PyRuntimeState, interpreters.head));
	ROW(interpreter_next, offsetof(PyInterpreterState, next));
#if PY_VERSION_HEX >= 0x030B0000
	ROW(threads_head, offsetof(PyInterpreterState, threads.head));
#else
	ROW(threads_head, offsetof(PyInterpreterState, tstate_head));
#endif
	ROW(thread_next, offsetof(PyThreadState, next));
	ROW(thread_interpreter, offsetof(PyThreadState, interp));
	ROW(thread_id, offsetof(PyThreadState, thread_id));
	row_frame();
	row_code();
	ROW(object_type, offsetof(PyObject, ob_type));
	ROW(object_size, offsetof(PyVarObject, ob_size));
	ROW(bytes_data, offsetof(PyBytesObject, ob_sval));
	ROW(text_length, offsetof(PyASCIIObject, length));
	ROW(text_state, offsetof(PyASCIIObject, state));
	ROW(text_ascii, sizeof(PyASCIIObject));
}
#endif

int main(void)
{
	printf("\t{\n\t\t.minor = %d,\n", PY_MINOR_VERSION);
	row_fields();
	printf("\t},\n");
	return 0;
}
