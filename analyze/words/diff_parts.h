/* SPDX-License-Identifier: Apache-2.0
 *
 * What the writers of comparisons share. Private to analyze/words.
 */
#ifndef GM_WORDS_DIFF_PARTS_H
#define GM_WORDS_DIFF_PARTS_H

#include "analyze/document/document.h"
#include "analyze/document/numbers.h"
#include "analyze/report/comparison.h"

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

/* "+1.20 GiB", "0 B"; "n/a" if either is not known. */
char *gm_delta_format(char out[GM_NUMBER_TEXT], uint64_t base, uint64_t after);
/* "+10.8 %", "0.0 %", "<0.1 %" for what is less than that; "n/a" if it is not known or base is 0, "new" if only after
 * is something. */
char *gm_growth_format(char out[GM_NUMBER_TEXT], uint64_t base, uint64_t after);

/* The change of the efficiency, "-9.3 points". */
char *gm_points_format(char out[GM_NUMBER_TEXT], const struct gm_totals *base, const struct gm_totals *after);

/* Whether the categories at the peak of all runs are known; else those at the end are told. */
bool gm_diff_all_traced(const struct gm_comparison *c);
/* The largest category of any run that is not among taken[0..n); NULL: there is no more. */
const char *gm_diff_next_category(const struct gm_comparison *c, bool at_peak, const char *const *taken, size_t n);
/* GM_REPORT_NONE: not known. */
uint64_t gm_diff_category_bytes(const struct gm_summary *run, bool at_peak, const char *name);

/* "BASE", "NEW", "RUN 2" ... */
const char *gm_diff_run_name(struct gm_doc *d, size_t run);
/* One sentence, without its full stop, that says how the second run compares with BASE. */
const char *gm_diff_verdict(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair);
/* Where a device reached its peak of requested bytes: "event 12,345 at 1.234 s, step 3, backward". */
const char *gm_diff_place(struct gm_doc *d, const struct gm_summary_device *device);
/* The site with its line and what made the block there: "forward  model/attention.py:88 (softmax)". */
void gm_diff_site_name(struct gm_text *out, const struct gm_diff_site *row);
/* "bytes = 1.2 GiB + 5.40 MiB * n", as far as there is a law. */
void gm_fit_formula(struct gm_text *out, const struct gm_series *series, const struct gm_fit *fit);

#endif
