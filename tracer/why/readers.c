#include "why/script.h"

const struct script_reader *const script_readers[] = { NULL };
