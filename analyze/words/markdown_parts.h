/* SPDX-License-Identifier: Apache-2.0
 *
 * The collapsible parts of README.md. Private to analyze/words.
 *
 * GitHub refuses comments of more than 65,536 characters, and README.md is there to be pasted into one: tables stop
 * when GM_MD_BUDGET is used up and say that they do.
 */
#ifndef GM_WORDS_MARKDOWN_PARTS_H
#define GM_WORDS_MARKDOWN_PARTS_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"
#include "analyze/report/view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_MD_BUDGET = 56000, GM_MD_NAME = 60, GM_MD_PATH = 100 };

/* Whether there is room for one more row (a row takes a few KB at the very most); says what is missing if not. */
bool gm_md_room(struct gm_text *out, size_t left);
/* A name as a code span, cut to `columns`. */
void gm_md_name(struct gm_text *out, const char *name, size_t columns, bool keep_tail);
/* A call site as a code span; "-" if no stack was recorded. */
void gm_md_site(struct gm_text *out, const char *site);
/* The same, but what has no stack in words, and "-" for NULL. */
void gm_md_label(struct gm_text *out, const char *label);
/* Prose, cut likewise. */
void gm_md_prose(struct gm_text *out, const char *text, size_t columns);
/* " 1.50 GiB |": one cell. */
void gm_md_size_cell(struct gm_text *out, uint64_t bytes);
void gm_md_count_cell(struct gm_text *out, uint64_t count);
void gm_md_percent_cell(struct gm_text *out, uint64_t part, uint64_t whole);
void gm_md_event_cell(struct gm_text *out, uint64_t event);
void gm_md_since_cell(struct gm_text *out, const struct gm_view *view, uint64_t time_us);
/* A collapsed part: <details><summary>title</summary>, blank line. */
void gm_md_fold(struct gm_text *out, const char *title);
void gm_md_unfold(struct gm_text *out);

/* Nothing without a trace. */
void gm_md_peak(struct gm_text *out, const struct gm_report *report);
void gm_md_peak_details(struct gm_text *out, const struct gm_report *report);

void gm_md_stacks(struct gm_text *out, const struct gm_report *report);

#endif
