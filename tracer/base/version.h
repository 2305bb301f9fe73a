/* The version that `--version` prints and that every verdict carries. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#ifdef BAILIFF_CHECK_ONLY
#define BAILIFF_VERSION "0.1.0-check-only" /* see engine/pin.h; never shipped */
#else
#define BAILIFF_VERSION "0.1.0"
#endif

#endif
