/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a run directory, complete and in memory until all are made, then published at once.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/run/run.h"
#include "render/png.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Zero-initialise; gm_run_files_free frees what was added. */
enum { GM_RUN_FILES = 32 };
struct gm_run_files_file {
    const char *name; /* not owned */
    struct gm_text text;
    struct gm_png png; /* has data: the file is this */
};
struct gm_run_files {
    struct gm_run_files_file v[GM_RUN_FILES];
    size_t count;
};

/* The names of those that are texts. */
enum { GM_TEXT_FILES = 16 };
struct gm_text_names {
    const char *v[GM_TEXT_FILES];
    size_t n;
};

/* An empty file to be filled; GM_RUN_FILES at the most. */
struct gm_text *gm_run_files_text(struct gm_run_files *files, const char *name);
struct gm_png *gm_run_files_png(struct gm_run_files *files, const char *name);
/* All files into the run, which is then committed; *run is begun as `name` below `results` if it is NULL. No signal
 * comes between. Given up after an error: freed, and *run is NULL. */
enum gm_status gm_run_files_write(struct gm_run **run, const struct gm_run_files *files, const char *results,
                                  const char *name, time_t when, struct gm_error *err);
/* Takes the text of the file called `name`, which is then empty. */
struct gm_text gm_run_files_take(struct gm_run_files *files, const char *name);
void gm_run_files_free(struct gm_run_files *files);
