/* SPDX-License-Identifier: Apache-2.0
 *
 * Run directories: DIR/YYYYMMDD_HHMMSS_NAME/, built under a hidden temporary name, renamed when complete, then
 * DIR/latest is replaced in one step. The only code that writes that layout; all programs use it. See docs/results.md.
 */
#ifndef GM_RUN_RUN_H
#define GM_RUN_RUN_H

#include "analyze/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct gm_run;

/* Starts a run, *out, under `results` (created with its parents if missing) for `name` (already cleaned, see names.h)
 * at local time `when`. Nothing visible is made. */
enum gm_status gm_run_begin(struct gm_run **out, const char *results, const char *name, time_t when,
                            struct gm_error *err);
/* Adds one file, complete: written, flushed and closed, or an error. */
enum gm_status gm_run_add(struct gm_run *run, const char *file_name, const void *data, size_t length,
                          struct gm_error *err);
/* Makes the directory visible under its final name. */
enum gm_status gm_run_commit(struct gm_run *run, struct gm_error *err);
/* The final path: results/YYYYMMDD_HHMMSS_NAME[_N]; valid after commit, until gm_run_free. */
const char *gm_run_path(const struct gm_run *run);
/* Points results/latest at the committed run. If `latest` is a real file or directory it is left alone and
 * *was_left_alone is set. */
enum gm_status gm_run_point_latest(const struct gm_run *run, bool *was_left_alone, struct gm_error *err);
/* Frees; if not committed, removes what was written. NULL is fine. */
void gm_run_free(struct gm_run *run);

#endif
