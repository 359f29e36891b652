/* SPDX-License-Identifier: Apache-2.0
 *
 * Run directories: DIR/YYYYMMDD_HHMMSS_NAME/, built under a hidden temporary name, renamed when complete, then
 * DIR/latest is replaced in one step. The only code that writes that layout; all programs use it. See docs/results.md.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct gm_run;

/* The local time as reports show it, "2025-11-14 14:30:25"; "" if it cannot be expressed. */
enum { GM_RUN_DATE = 32 };
void gm_run_date(char out[GM_RUN_DATE], time_t when);

/* Whether a run could be begun under `results` now: what can be told before hours of work (a full disk cannot). Nothing
 * is made. */
enum gm_status gm_run_check(const char *results, struct gm_error *err);
/* Starts a run, *out, under `results` (created with its parents if missing) for `name` (already cleaned, see
 * run_names.h) at local time `when`. Nothing visible is made. */
enum gm_status gm_run_begin(struct gm_run **out, const char *results, const char *name, time_t when,
                            struct gm_error *err);
/* Adds one file, complete: written, flushed and closed, or an error. Several threads may at once. */
enum gm_status gm_run_add(struct gm_run *run, const char *file_name, const void *data, size_t length,
                          struct gm_error *err);

/* A file of a run that is written bit by bit, for what is too large to keep in memory. */
struct gm_run_file;
enum gm_status gm_run_file_open(struct gm_run_file **out, struct gm_run *run, const char *file_name,
                                struct gm_error *err);
enum gm_status gm_run_file_write(struct gm_run_file *file, const void *data, size_t length, struct gm_error *err);
/* Inserts data at `offset` and moves what follows; costs a copy of that. */
enum gm_status gm_run_file_insert(struct gm_run_file *file, uint64_t offset, const void *data, size_t length,
                                  struct gm_error *err);
/* Appends where it is for now, for a library that writes it by its name instead of these calls. false: no memory. */
bool gm_run_file_path(const struct gm_run_file *file, struct gm_text *out);
/* Bytes written so far by these calls. */
uint64_t gm_run_file_length(const struct gm_run_file *file);
/* Ends and frees the file, also on failure; NULL is fine. A run with a file that could not be written in full cannot be
 * committed. Must be called before gm_run_free. */
enum gm_status gm_run_file_close(struct gm_run_file *file, struct gm_error *err);

/* Makes the directory visible under its final name. */
enum gm_status gm_run_commit(struct gm_run *run, struct gm_error *err);
/* The final path: results/YYYYMMDD_HHMMSS_NAME[_N]; valid after commit, until gm_run_free. */
const char *gm_run_path(const struct gm_run *run);
/* Points results/latest at the committed run. If `latest` is a real file or directory it is left alone and
 * *was_left_alone is set. */
enum gm_status gm_run_point_latest(const struct gm_run *run, bool *was_left_alone, struct gm_error *err);
/* Frees; if not committed, removes what was written. NULL is fine. */
void gm_run_free(struct gm_run *run);
