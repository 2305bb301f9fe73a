/* What a run leaves behind, in fixed-size shapes: it lives in memory that front and tracer share, so that front can write
 * a verdict even when the tracer is stuck in the kernel or dead. No pointers in here.
 *
 * Byte strings may hold anything but are bounded; `length` counts bytes, there is always a NUL behind them. */
#ifndef VERDICT_RECORD_H
#define VERDICT_RECORD_H

#include "base/outcome.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	RECORD_PATH_BYTES = 4096,
	RECORD_ARGV_BYTES = 4096,
	RECORD_CONSIDERED_MAX = 4,
	RECORD_SUGGESTION_MAX = 4,
	RECORD_ANCESTRY_MAX = 8,
	RECORD_VIOLATION_MAX = 64,
	RECORD_NOTE_MAX = 32,
	RECORD_LEFT_RUNNING_MAX = 16,
	RECORD_FILE_MAX = 512,
};

struct record_bytes {
	uint32_t length;
	bool truncated;
	char bytes[RECORD_PATH_BYTES + 1];
};

struct record_policy {
	char file[RECORD_PATH_BYTES + 1];
	char pointer[512];
	uint32_t line, column; /* line 0: command line, column is the index in argv */
};

struct record_considered {
	struct record_policy policy;
	char entry[512]; /* the entry's text */
	char why[160];
};

struct record_suggestion {
	char pointer[512];
	char value[RECORD_PATH_BYTES + 512]; /* JSON text */
	char opens[512];
};

struct record_process {
	pid_t pid, tid;
	struct record_bytes exe, cwd;
	/* argv, each argument followed by a NUL; cut when longer */
	uint32_t argv_length;
	bool argv_truncated;
	char argv[RECORD_ARGV_BYTES];
};

struct record_ancestor {
	pid_t pid;
	struct record_bytes exe;
	uint32_t argv_length;
	char argv[512];
};

struct record_failure {
	enum rule_id rule;
	struct record_policy policy;
	uint32_t considered_count;
	struct record_considered considered[RECORD_CONSIDERED_MAX];

	/* operation; empty strings where not applicable */
	char syscall[32];
	char access[32];           /* "read", "read,write", "connect", … */
	char flags[160];           /* "O_RDONLY|O_CLOEXEC" */
	char target[4200];         /* what was named, for people: a path, an address, a pid, a limit's numbers */
	char host[300];            /* host name behind an address, when known */
	char chain[4][512];        /* script chain: program, interpreters */
	uint32_t chain_count;

	bool has_path;
	struct record_bytes given, resolved;

	char answered[24];         /* "killed", "EACCES", "logged"; "" for errors of the program */
	char kernel_would[24];     /* errno name that the kernel itself would have answered, "" when it would have allowed */
	bool has_process;
	struct record_process process;
	uint32_t ancestry_count;
	struct record_ancestor ancestry[RECORD_ANCESTRY_MAX];
	int64_t when_ms;           /* since the start of the run */

	uint32_t suggestion_count;
	struct record_suggestion suggestions[RECORD_SUGGESTION_MAX];
	uint32_t count;            /* how often this very violation was seen: 1 and up */
};

struct record_note {
	char text[600]; /* "connect to 192.0.2.1:9 (udp) answered ENETUNREACH: not listed" */
	uint64_t count;
};

struct record_error {
	bool set;
	char stage[64];  /* "launch", "seccomp", "supervise", "verdict", … */
	int number;      /* errno, 0 where there is none */
	char message[1536];
};

struct record_usage {
	int64_t wall_ms;
	int64_t cpu_ms;
	int64_t peak_memory_bytes;
	uint32_t processes_total, processes_peak;
	uint32_t threads_total, threads_peak;
	uint64_t stops;
	uint32_t left_running_count; /* how many there were; the first few are named */
	struct record_left { pid_t pid; char comm[32]; } left_running[RECORD_LEFT_RUNNING_MAX];
};

struct record_stream {
	uint64_t bytes;    /* seen */
	uint64_t relayed;  /* delivered within the cap */
	bool truncated;
};

/* Who made the first blocked call. What is read from the target's own memory is its own word: an explanation, which never
 * influences status or rule. */
enum {
	RECORD_SCRIPT_FRAME_MAX = 32,
	RECORD_STACK_FRAME_MAX = 128,
	RECORD_SNAPSHOT_STACK_BYTES = 256 * 1024,
	RECORD_SNAPSHOT_MAPS_BYTES = 256 * 1024,
	RECORD_SNAPSHOT_MAX = 2,
};

struct record_script_frame {
	char language[16];        /* "python", "bash", "perl", "php", "javascript" */
	char function[256];       /* "" at the top level of a file */
	struct record_bytes file; /* as the interpreter has it */
	uint32_t line;            /* 0 where it cannot be told */
	char source[256];         /* the text of that line, "" where it is not to be shown */
	bool own_code;            /* not of the interpreter's library: the line that counts is the innermost of these */
	uint32_t evaluation;      /* which of the interpreter's native frames runs it: 1 the innermost, 2 the next; 0 untold */
	uint32_t native;          /* one more than that frame's index in `stack`; 0 unknown */
};

struct record_stack_frame {
	uint64_t address;         /* in the target */
	char function[256];       /* "" where no symbol covers it */
	uint64_t offset;          /* from the function's start, else from the module's */
	char module[1024];        /* path of the mapped file */
	char build_id[41];        /* hexadecimal, "" where the file has none */
	char file[1024];          /* source file, "" unknown */
	uint32_t line;
	bool inlined;             /* its code lies in the frame behind it, whose address this is */
	bool of_parent;           /* a suspended parent's frame (vfork, posix_spawn), behind the child's own */
};

/* A stopped thread as an unwinder needs it: copied at the stop, worked on when the tree is gone. */
struct record_snapshot {
	pid_t tid;
	uint32_t registers_length;
	unsigned char registers[256];  /* struct user_regs_struct */
	uint64_t stack_address;        /* of the first byte in `stack`: the stack pointer less the red zone */
	uint32_t stack_length;
	uint32_t maps_length;
	uint64_t interrupted_address;  /* of the stack under an alternate signal stack: its bytes follow those of the first */
	uint32_t interrupted_length;   /* 0 where there is none */
	unsigned char stack[RECORD_SNAPSHOT_STACK_BYTES];
	char maps[RECORD_SNAPSHOT_MAPS_BYTES]; /* /proc/TID/maps, cut at a line's end */
};

struct record_explanation {
	bool captured;            /* set last: what is below is whole */
	int64_t captured_ns;      /* CLOCK_REALTIME: a source file that changed later does not show what ran */
	uint32_t script_count;
	struct record_script_frame script[RECORD_SCRIPT_FRAME_MAX]; /* innermost first */
	char cwd[RECORD_PATH_BYTES + 1];         /* of the process: what a relative file is relative to; "" unknown */
	char source_path[RECORD_PATH_BYTES + 1]; /* canonical path of the file whose line was read, "" for none */
	uint32_t source_frame;                   /* index in `script` of the frame that has the line */
	char script_missing[200]; /* why there are no (more) script frames, "" where that is no loss */
	uint32_t snapshot_count;  /* the thread itself, then a parent that waits for it in vfork */
	struct record_snapshot snapshots[RECORD_SNAPSHOT_MAX];
	uint32_t stack_count;
	struct record_stack_frame stack[RECORD_STACK_FRAME_MAX];
	char stack_source[32];    /* which unwinder they come from: "libdw", "libunwind", "frame pointers", … */
	char stack_missing[200];  /* why there is no (longer) stack */
};

/* A file that the run executed or read. What it was like is written down at that moment, by the tracer; it is hashed when
 * everybody in the tree is dead, and only where it is still the same file in the same state. */
struct record_file {
	struct record_bytes path;   /* canonical; no link is followed to it */
	uint64_t device, inode, bytes;
	int64_t changed_ns;         /* ctime: no program can set it back */
	bool changed_now;           /* by that time it may still have been changed in the moment after we looked */
	bool changed_in_run;        /* it was made or changed after the run began, and before it was looked at */
	bool written;               /* the run opened it for writing as well */
	char sha256[65];            /* "" until it is hashed */
	char build_id[129];         /* programs: hexadecimal, "" where the file has none */
	char version[64];           /* programs: of the package that the file says it is from, "" where it says nothing */
	char not_hashed[128];       /* why there is no hash */
};

/* Controllers of a cgroup (version 2), as bits. */
enum { RECORD_CGROUP_MEMORY = 1, RECORD_CGROUP_PIDS = 2 };

struct record_files {
	atomic_uint count; /* entries that are complete */
	atomic_uint more;  /* that were not listed */
	struct record_file items[RECORD_FILE_MAX];
};

struct run_record {
	/* First failure: claimed by compare-exchange, so that exactly one writer fills it; `ready` follows the content. */
	atomic_int first_claimed;
	atomic_int first_ready;
	struct record_failure first;
	struct record_explanation explanation; /* of `first`, where that is a violation */

	atomic_uint violation_total;
	atomic_uint violation_recorded; /* entries below that are complete */
	struct record_failure violations[RECORD_VIOLATION_MAX];

	atomic_uint note_count;
	atomic_uint note_lost;          /* kinds of notes beyond RECORD_NOTE_MAX */
	struct record_note notes[RECORD_NOTE_MAX];

	struct record_error error;
	struct record_usage usage;
	struct record_stream output[2]; /* standard output, standard error */
	bool one_stream;                /* both were the same file: output[0] counts for both */

	bool ended;                     /* the main process has ended and the next two are set */
	int exit_code;                  /* -1 where a signal ended it */
	int exit_signal;                /* 0 where it exited */
	int interrupted_signal;         /* signal to bailiff that ended the run, 0 for none */

	struct record_files programs;   /* executed: programs, interpreters, loaders, scripts */
	struct record_files inputs;     /* read, from outside the folders of the system */
	atomic_uint files_looked_at;    /* of both, by what hashes them: it goes on */

	int landlock_abi;               /* whose rights the target was restricted by; 0 for none */
	unsigned cgroup_controllers;    /* that limited the target in a cgroup of its own, RECORD_CGROUP_*; 0 for none */

	atomic_int limit_rule;          /* enum rule_id of the first limit that ended the run, whatever else came before it */
	atomic_int error_claimed;       /* as first_claimed, for `error` */
};

/* Claims the first failure for the caller, who then fills record->first and calls record_first_done. False when another
 * failure came first: nothing later ever replaces it. */
bool record_first_claim(struct run_record *record);
void record_first_done(struct run_record *record);
/* The latched first failure, or NULL while there is none that is complete. */
const struct record_failure *record_first(const struct run_record *record);

/* A limit (timeout_*, resource_limit_*) ended the run. Also to be called where another failure was first: under `log`
 * that failure does not make the status, and the limit does. The first limit wins. */
void record_limit(struct run_record *record, enum rule_id rule);

/* Adds a violation, or counts it up when the same one (rule, call, target, policy position) is recorded already. */
void record_violation(struct run_record *record, const struct record_failure *failure);

/* Adds a note, or counts the same text up. */
void record_note(struct run_record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));

void record_bytes_set(struct record_bytes *target, const void *bytes, size_t length);

/* First error wins. */
void record_error(struct run_record *record, const char *stage, int number, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The status of the whole run, by the contract: error, then first failure (under `log` only limits count), then how the
 * main process ended. `*rule` belongs to it. STATUS_NONE also where nothing tells how the run ended. */
enum run_status record_status(const struct run_record *record, bool log_only, enum rule_id *rule);

/* bailiff's exit status for `run`; `interrupted` runs end by their signal instead. */
int record_exit_status(const struct run_record *record, bool log_only);

#endif
