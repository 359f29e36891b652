/* SPDX-License-Identifier: Apache-2.0
 *
 * libgm: where the GPU memory of a PyTorch program is, from a memory snapshot, for other programs (docs/library.md).
 *
 * Words: a `gm_loaded` is a snapshot in memory, a `gm_result` what was concluded from it. Sizes are bytes, times
 * microseconds since 1970, unless a name says otherwise. Text is UTF-8.
 *
 * Errors are values: a function that can fail takes a `struct gm_problem *` (may be NULL) and returns NULL. Nothing is
 * printed, no signal is touched, nothing exits.
 *
 * Threads: different handles may be used by different threads at the same time. So may one gm_loaded, which nothing
 * changes, and one gm_result, which locks itself; only freeing one has to be the last thing that is done with it.
 *
 * What stands here stays: symbols are versioned (GM_1.0). New functions may come, and new names of tables, columns,
 * files and numbers, which are told by name for that reason; ask for those that you know and pass over the rest.
 */
#ifndef GM_LIB_GM_H
#define GM_LIB_GM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number that is not known. */
#define GM_UNKNOWN UINT64_MAX

/* ---- errors ---------------------------------------------------------------------------------------------------- */

struct gm_problem {
    int exit_code;   /* as of the programs: 2 wrong usage; 3 an input is missing, damaged or no snapshot; 4 a capability
                      * is missing here; 5 no memory, or an internal error. 0: there was none */
    char kind[16];   /* which one: "usage", "read", "truncated", "corrupt", "refused", "limit", "format", "missing",
                      * "nomem", "internal"; "ok" */
    uint64_t offset; /* bytes into the decompressed input; GM_UNKNOWN: no place in it */
    char text[640];  /* one line for a person, with the offset where there is one */
};

/* As of the programs: "0.1.0". */
const char *gm_version(void);

/* ---- snapshots ------------------------------------------------------------------------------------------------- */

struct gm_loaded;

enum gm_load_flag {
    GM_LOAD_SALVAGED = 1 /* keep what is complete of a damaged input instead of failing */
};

/* A file in any form that gmanalyze reads: pickle, JSON, HTML, .gmtrace, a trace of torch.profiler, also .gz and .zst.
 * Nothing in it is executed. flags: of enum gm_load_flag. max_memory: bytes that the snapshot and the work on it may
 * need, beyond which it is refused ("limit"); 0: 512 MiB and 100 times the file, at most what the machine has. */
struct gm_loaded *gm_load(const char *path, unsigned flags, uint64_t max_memory, struct gm_problem *problem);
/* The same of `length` bytes, which are not needed afterwards; `name` is what reports call it. */
struct gm_loaded *gm_load_bytes(const void *bytes, size_t length, const char *name, unsigned flags, uint64_t max_memory,
                                struct gm_problem *problem);
/* Arrays and strings of it are gone then; results that were made of it stay. NULL is fine. */
void gm_unload(struct gm_loaded *loaded);

/* One column of a table, where it lies: element i is at data + i * stride bytes. A column whose rows are all equal has
 * a stride of 0. */
struct gm_array {
    const char *name;
    const void *data;
    size_t count;
    size_t stride;
    char type; /* 'B' uint8_t, 'I' uint32_t, 'q' int64_t, 'Q' uint64_t: as in Python's struct */
};

/* The columns of a table into arrays[0 .. most); returns how many it has, 0 if there is no such table. Ids are rows of
 * other tables, and row 0 is "none" there; a 'Q' of GM_UNKNOWN and a 'q' of INT64_MIN say nothing.
 *
 *   events         action B (gm_word "action"), addr Q (an address; of an oom: what the device had left), size Q,
 *                  time_us q, stack I, stream I, pool I, compile_context I, user_metadata I, action_name I (its word,
 *                  where action is "other"), category I: strings
 *   traces         which events are whose, row d is of device d: first Q, count Q, max_entries Q, overflowed I (gm_word
 *                  "truth"); host_traces: of pinned host memory
 *   segments       device q, address Q, total_size Q, allocated_size Q, active_size Q, requested_size Q, stream I, pool
 *                  I, stack I, type B (gm_word "segment_type"), is_expandable B (gm_word "truth"), block_first Q,
 *                  block_count Q; likewise host_segments
 *   blocks         address Q, size Q, requested Q, state B (gm_word "block_state"), stack I, segment I; likewise
 *                  host_blocks
 *   stacks         start Q: stack i has rows [start[i], start[i + 1]) of stack_frames, innermost first; one row more
 *                  than there are stacks. Stack 1 is there, and empty
 *   stack_frames   frame I
 *   frames         name I, filename I (strings), line Q
 *   strings        start Q, as of stacks: bytes [start[i], start[i + 1]) of string_bytes, which may be no UTF-8
 *   string_bytes   byte B
 *   streams        handle q
 *   pools          first Q, second Q
 *   annotations    name I, stage B (gm_word "stage"), device q, time_us q
 */
size_t gm_arrays(const struct gm_loaded *loaded, const char *table, struct gm_array *arrays, size_t most);
/* The word of a code: gm_word("action", 1) is "alloc". NULL: there is no such list, or it ends before. */
const char *gm_word(const char *list, size_t code);
/* What was odd about the file: its i-th warning, one clean line; NULL: there are no more. */
const char *gm_warning(const struct gm_loaded *loaded, size_t i);

/* ---- results --------------------------------------------------------------------------------------------------- */

struct gm_result;

/* `options`: up to a NULL, spelt as on the command line of the program with one argument for each: "--top=10",
 * "--device=0", "--alloc-conf=expandable_segments:True" (docs/cli.md). NULL: none. Options that have a program write or
 * print something are refused ("usage").
 *
 * What gmanalyze concludes. */
struct gm_result *gm_analyze(struct gm_loaded *loaded, const char *const *options, struct gm_problem *problem);
/* What gmreplay concludes: "--memory=24GiB", "--gpu=rtx-4090", "--alloc-conf=...", "--verify", "--sweep" ... */
struct gm_result *gm_replay(struct gm_loaded *loaded, const char *const *options, struct gm_problem *problem);
/* What gmdiff concludes of two and more, the first of which is BASE. */
struct gm_result *gm_diff(struct gm_loaded *const *loaded, size_t count, const char *const *options,
                          struct gm_problem *problem);
void gm_result_free(struct gm_result *result); /* NULL is fine */

/* 0, or 1: a check that the options asked for failed, or a replay ran out of memory: the program's exit code. */
int gm_verdict(const struct gm_result *result);
/* analysis.json, replay's or diff.json, byte by byte as the program writes it. The result's; NUL-terminated. */
const char *gm_json(const struct gm_result *result, size_t *length);
/* The names of the files that the program would write into its run directory: memory.html, memory_timeline.png,
 * analysis_report.txt ... into names[0 .. most); returns how many there are. */
size_t gm_file_names(const struct gm_result *result, const char **names, size_t most);
/* The bytes of one, made when it is first asked for. The result's. NULL: "usage" if it has no such file. */
const void *gm_file(struct gm_result *result, const char *name, size_t *length, struct gm_problem *problem);
/* Of gm_analyze, bytes on a device (its ordinal; -1: on the one with most): "reserved", "allocated", "active",
 * "requested" at the end, and with peak_ before it the largest during the trace, each by itself. Of gm_replay:
 * "peak_reserved", "peak_requested". GM_UNKNOWN: not known, or there is no such number. */
uint64_t gm_number(const struct gm_result *result, const char *name, int64_t device);

#ifdef __cplusplus
}
#endif

#endif
