/* SPDX-License-Identifier: Apache-2.0
 *
 * Hidden names in a results directory, and what is done with them. Private to analyze/run.
 *
 *   .gm-run-MARK-PID-N      a run that is being written (a directory; its writer holds a flock on it)
 *   .gm-latest-MARK-PID-N   the next `latest`, for an instant
 *   .gm-name-NAME           taken while NAME is being given to a run, on file systems that cannot rename without
 *                           replacing
 */
#pragma once

#include "analyze/base/error.h"

#include <stdatomic.h>
#include <stdbool.h>

#define GM_RUN_PREFIX ".gm-run-"
#define GM_LATEST_PREFIX ".gm-latest-"
#define GM_NAME_PREFIX ".gm-name-"

enum { GM_HIDDEN_NAME = 64, GM_FINAL_NAME = 255 /* the longest name that file systems take */ + 1 };

struct gm_run {
    char *results; /* as given, without slashes at its end */
    int results_fd;
    int hidden_fd; /* locked as long as the run is being written; -1 after commit */
    char hidden[GM_HIDDEN_NAME];
    char final[GM_FINAL_NAME]; /* YYYYMMDD_HHMMSS_NAME, later with _N */
    char *path;                /* results/final; room for any suffix */
    bool is_committed;
    atomic_uint unfinished_files; /* open, or not written in full: the run cannot be committed */
};

/* "cannot DO PATH: REASON"; of a long path its end, so that the reason is never what is cut. */
enum gm_status gm_run_fail(struct gm_error *err, const char *what, const char *directory, const char *name, int reason);

/* Renames `from` to `to` in the directory `dir` only if nothing is called `to`, in one step. 0, or errno: EEXIST if
 * the name is taken. */
int gm_rename_new(int dir, const char *from, const char *to);
/* The same for file systems without renameat2's RENAME_NOREPLACE; all that write there must come this way. */
int gm_rename_new_portable(int dir, const char *from, const char *to);

/* Removes the files in the directory called `name` in `dir` and the directory; leaves whatever holds directories. */
void gm_remove_run(int dir, const char *name);
/* Removes what killed runs left in `dir`: our names only, and only if their writer is surely gone. Best effort. */
void gm_remove_stale(int dir);
