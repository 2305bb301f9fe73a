/* The version that `--version` prints and that every verdict carries. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define BAILIFF_VERSION "0.1.0"

#endif
