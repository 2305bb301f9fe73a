# Placeholder build, replaced by the full Makefile.
CFLAGS ?= -O2 -g
build/bailiff:
