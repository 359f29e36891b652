/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs that make run directories share beside the call: the rules, the fonts, the time, and how a run is
 * published.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/cli/call.h"
#include "analyze/cli/drawing.h"
#include "analyze/cli/run_files.h"
#include "analyze/diagnose/ignore.h"
#include "analyze/state/categories.h"

#include <time.h>

struct gm_shell {
    struct gm_call said;
    const struct gm_usual_options *options;
    struct gm_category_rules *rules;
    struct gm_text rules_text; /* of --categories */
    struct gm_ignore ignore;   /* findings */
    struct gm_fonts *fonts;    /* NULL: no charts */
    bool draws_late;           /* set before: charts, their fonts and libraries wait until snapshots are forgotten */
    time_t when;               /* the one time of this call */
    int threads;
};

/* Once the options are known. With `makes_runs` looks whether run directories can be made, and begins to look for
 * fonts. threads: what -j says, else as they were set, else one for each CPU. */
enum gm_status gm_shell_begin(struct gm_shell *shell, const struct gm_usual_options *options, bool makes_runs,
                              struct gm_error *err);
/* The name and the time of a run, as copies in the arena. GM_E_NOMEM. */
enum gm_status gm_shell_name(struct gm_arena *arena, const char **run_name, const char **timestamp, const char *name,
                             time_t when, struct gm_error *err);
/* The files into a run directory called `name`, to which `latest` then points, and the one called `json_name` to where
 * --json wants it. The caller frees *run (NULL after an error). */
enum gm_status gm_shell_publish(struct gm_run **run, struct gm_shell *shell, struct gm_run_files *files,
                                const char *name, const char *json_name, struct gm_error *err);
/* Points `latest` at the run, and shows its page if --open asks for it; an error of that is told. */
void gm_shell_point_latest(struct gm_shell *shell, struct gm_run *run);
/* Prints a summary, unless nobody wants it there; frees it. */
void gm_shell_print(struct gm_shell *shell, struct gm_text *summary);
/* Frees all; returns the exit code. */
int gm_shell_end(struct gm_shell *shell);
