/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of a comparison's document, and what they share. Private to analyze/document.
 */
#pragma once

#include "analyze/document/document.h"
#include "analyze/report/comparison.h"
#include "analyze/report/numbers.h"

/* The numbers that every table of runs begins with. */
enum gm_headline {
    GM_HEAD_PEAK_RESERVED,
    GM_HEAD_PEAK_ALLOCATED,
    GM_HEAD_PEAK_REQUESTED,
    GM_HEAD_RESERVED,
    GM_HEAD_ALLOCATED,
    GM_HEAD_REQUESTED,
    GM_HEAD_CACHED,
    GM_HEAD_COUNT
};
const char *gm_headline_name(enum gm_headline headline); /* "Peak reserved" */
/* GM_REPORT_NONE: not known. */
uint64_t gm_headline_bytes(const struct gm_summary *run, enum gm_headline headline);

/* "+10.8 %", "0.0 %", "<0.1 %" for what is less than that; "x 2,500" from ten times on; "n/a" if it is not known or
 * base is 0, "new" if only after is something. */
const char *gm_diff_growth_text(struct gm_doc *d, uint64_t base, uint64_t after);

/* The change of the efficiency, "-9.3 points". */
const char *gm_diff_points(struct gm_doc *d, const struct gm_totals *base, const struct gm_totals *after);

/* "BASE", "NEW", "RUN 2" ... */
const char *gm_diff_run_name(struct gm_doc *d, size_t run);
/* One sentence, without its full stop, that says how the second run compares with BASE. */
const char *gm_diff_verdict(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair);
/* Where a device reached its peak of requested bytes: "event 12,345 at 1.234 s, step 3, backward". */
const char *gm_diff_place(struct gm_doc *d, const struct gm_summary_device *device);
/* The site with its line and what made the block there: "forward  model/attention.py:88 (softmax)". */
void gm_diff_site_name(struct gm_text *out, const struct gm_diff_site *row);
/* "bytes = 1.2 GiB + 5.40 MiB * n", as far as there is a law. */
void gm_fit_formula(struct gm_text *out, const struct gm_series *series, const struct gm_law_fit *fit);

/* A row of two numbers of bytes, GM_REPORT_NONE: not known. */
struct gm_diff_row gm_diff_row_of(const char *name, uint64_t base, uint64_t after);
/* Rows as a table for people, of which Markdown shows `md_max` (0: all). */
void gm_diff_rows(struct gm_doc *d, const struct gm_diff_row *rows, size_t count, size_t md_max);
/* Step by step, of the devices whose steps were found in both runs. */
void gm_diff_steps(struct gm_doc *d, const struct gm_diff_pair *pair);
/* What changed: by category, role, pool, function and call site, at the peak and at the end. Text shows `top` rows. */
void gm_diff_tables(struct gm_doc *d, const struct gm_diff_pair *pair, size_t top);
/* More than two runs in one table, for people; nothing for two. */
void gm_diff_all_runs(struct gm_doc *d, const struct gm_comparison *c);
/* The laws of runs that are called alike but for a number. */
void gm_diff_series(struct gm_doc *d, const struct gm_comparison *c);

/* ---- keys that only JSON has ------------------------------------------------------------------------------------- */

void gm_json_diff_runs(struct gm_doc *d, const struct gm_comparison *c);
void gm_json_diff_pair(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair);
void gm_json_diff_timeline(struct gm_doc *d, const struct gm_comparison *c);
void gm_json_diff_gate(struct gm_doc *d, const struct gm_comparison *c);
