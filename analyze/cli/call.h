/* SPDX-License-Identifier: Apache-2.0
 *
 * What one call of a program says on its standard streams, and the exit code that comes of it: the largest of all.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/cli/options.h"
#include "analyze/cli/terminal.h"

#include <stdbool.h>

struct gm_call {
    struct gm_terminal terminal;
    bool is_quiet, is_verbose; /* as the options say; set when they are known */
    bool is_mute;              /* another process says the same: only internal errors are told */
    bool is_stdout_broken;     /* which was told, once */
    bool has_lost_reader;      /* of a pipe: nobody is told, as of any program whose output is read by head */
    int exit_code;
    double clock; /* seconds: when the last phase ended */
};

/* Raises the exit code to that of `status`. */
void gm_call_raise(struct gm_call *call, enum gm_status status);
/* Tells an error, unless it is GM_E_PIPE, and raises the exit code; subject (a path) may be NULL. */
void gm_call_fail(struct gm_call *call, const char *subject, const struct gm_error *err);
/* Tells an error that has only words, and raises the exit code. */
void gm_call_fail_with(struct gm_call *call, const char *subject, enum gm_status status, const char *text);
/* Neither is told if the call is quiet. */
void gm_call_warn(struct gm_call *call, const char *subject, const char *text);
void gm_call_note(struct gm_call *call, const char *text);
/* Writes the text to stdout, empties and frees it. */
void gm_call_print(struct gm_call *call, struct gm_text *text);
/* The same to its place: a file, - for stdout, NULL for nowhere. */
void gm_call_put(struct gm_call *call, const char *path, struct gm_text *text);
/* The beginning of every program: streams, signals and clock; then the command line into *options, which begins with a
 * struct gm_usual_options and has its defaults. Operands are argv[0 .. *argc), and a NULL behind them. false: there is
 * nothing to do; what is wrong was told, or the page was printed that was asked for. `is_mute` may be set before. */
bool gm_call_begin(struct gm_call *call, const struct gm_program *program, int *argc, char **argv, void *options);
/* From now on even columns of a byte go back as soon as they are freed: of a large file, for a small one has none so
 * long. */
void gm_call_keep_lower(void);
/* What lies free among what lives goes back to the system, too: of large files 2 % and more. */
void gm_call_give_back(void);
/* The end of a phase: tells how long it took if the call is verbose. The first call only starts the clock (`what` is
 * NULL). */
void gm_call_time(struct gm_call *call, const char *what);
/* Closes stdout, which may fail only now; returns the exit code. */
int gm_call_end(struct gm_call *call);

/* From 1 to 256. */
int gm_cpu_count(void);
