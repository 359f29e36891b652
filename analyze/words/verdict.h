/* SPDX-License-Identifier: Apache-2.0
 *
 * The five lines that an engineer whose run is out of memory reads first; the same in every output.
 *
 * A line is a label and pieces, the most important first: a narrow output leaves the last ones out.
 */
#ifndef GM_WORDS_VERDICT_H
#define GM_WORDS_VERDICT_H

#include "analyze/report/report.h"

#include <stddef.h>

enum { GM_VERDICT_LINES = 5, GM_VERDICT_PIECES = 7, GM_VERDICT_PIECE = 480 };

struct gm_verdict_line {
    const char *label;
    char pieces[GM_VERDICT_PIECES][GM_VERDICT_PIECE]; /* as hostile as the names in the report */
    size_t count;                                     /* at least 1 */
    const char *site;                                 /* stands behind the last piece and ": "; NULL: none */
};

struct gm_verdict {
    struct gm_verdict_line memory;  /* reserved, allocated, efficiency and its grade, devices, peak */
    struct gm_verdict_line largest; /* the largest categories */
    struct gm_verdict_line where;   /* the call site that holds most */
    struct gm_verdict_line finding; /* running out of memory, the first finding */
    struct gm_verdict_line cached;  /* what is reserved but unused, and what could be given back */
};

void gm_verdict_make(struct gm_verdict *verdict, const struct gm_report *report);
/* The lines in order. */
const struct gm_verdict_line *gm_verdict_line(const struct gm_verdict *verdict, size_t i);

#endif
