/* An impossible state. Active in release builds: the process says where and exits 125 at once. In the tracer that ends
 * the whole tree as well, since every tracee is attached with PTRACE_O_EXITKILL: a bug never leaves a program running
 * unsupervised. */
#ifndef BASE_BUG_H
#define BASE_BUG_H

#include <stdbool.h>

_Noreturn void bug_at(const char *file, int line, const char *what);

#define bug(what) bug_at(__FILE__, __LINE__, (what))
#define bug_unless(condition) ((condition) ? (void)0 : bug_at(__FILE__, __LINE__, #condition))

#endif
