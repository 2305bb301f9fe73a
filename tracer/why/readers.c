#include "why/script.h"

/* The first that the process holds is asked: a process with two interpreters in it is rare, and CPython is then the host. */
const struct script_reader *const script_readers[] = {&script_python, &script_bash, &script_perl, &script_php, &script_node, NULL};
