/* SPDX-License-Identifier: Apache-2.0
 *
 * The five lines that an engineer whose run is out of memory reads first; the same in every output. With a trace they
 * tell the peak; those of the state at the end come later then.
 *
 * A line is a label and pieces, the most important first: a narrow output leaves the last ones out.
 */
#ifndef GM_WORDS_VERDICT_H
#define GM_WORDS_VERDICT_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>

enum { GM_VERDICT_LINES = 5, GM_VERDICT_PIECES = 10, GM_VERDICT_PIECE = 480 };

struct gm_verdict_line {
    const char *label;
    char pieces[GM_VERDICT_PIECES][GM_VERDICT_PIECE]; /* as hostile as the names in the report */
    size_t count;                                     /* 0: the line is left out */
    const char *site;                                 /* stands behind the last piece and ": "; NULL: none */
    bool are_sentences;                               /* half a piece still says something */
};

struct gm_verdict {
    struct gm_verdict_line lines[GM_VERDICT_LINES];
};

/* Of the state at the end. Memory: reserved, allocated, efficiency and its grade, devices, peak. Largest: categories.
 * Where: the call site that holds most. To do: the first, without a trace. Cached: what is unused, what could be given
 * back. */
void gm_verdict_of_end(struct gm_verdict *verdict, const struct gm_report *report);
/* Of the peak. Peak: how high. When. Made of: roles or categories. Unused: what was cached then. To do: the largest
 * saving, a finding. false, and nothing stored: there is no trace that tells. */
bool gm_verdict_of_peak(struct gm_verdict *verdict, const struct gm_report *report);
/* Of the peak if there is one, else of the end. */
void gm_verdict_make(struct gm_verdict *verdict, const struct gm_report *report);

/* Appends a piece; ignored if there are too many. */
void gm_verdict_piece(struct gm_verdict_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One line of at most `columns`. */
void gm_verdict_line_add(struct gm_text *out, const struct gm_verdict_line *line, size_t columns);
/* Appends the moment of the peak, as little of it as a line that has other pieces needs. Nothing without a trace. */
void gm_verdict_when_in_short(struct gm_verdict_line *line, const struct gm_report *report);

#endif
