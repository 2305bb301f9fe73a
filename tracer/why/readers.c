#include "why/script.h"

/* Rarest words first: a shell or another interpreter in the process would be the one that embeds it. */
const struct script_reader *const script_readers[] = {&script_python, NULL};
