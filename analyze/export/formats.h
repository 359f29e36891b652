/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/export: one function for each format, and what they ask of a report.
 */
#ifndef GM_EXPORT_FORMATS_H
#define GM_EXPORT_FORMATS_H

#include "analyze/base/text.h"
#include "analyze/document/escape.h"
#include "analyze/report/report.h"

void gm_export_folded(struct gm_text *out, const struct gm_report *report);
void gm_export_speedscope(struct gm_text *out, const struct gm_report *report);
void gm_export_perfetto(struct gm_text *out, const struct gm_report *report);
void gm_export_pprof(struct gm_text *out, const struct gm_report *report);

/* The timeline of device number `d` of the report; NULL if it has no events or was not analysed. */
const struct gm_device_timeline *gm_export_timeline(const struct gm_report *report, size_t d);
/* Where a frame is, as far as that is known: of C++ frames without debug information it says "??:0". */
struct gm_place_in_code {
    const char *filename; /* "" if it is not known */
    uint64_t line;        /* GM_REPORT_NONE likewise */
};
struct gm_place_in_code gm_export_place(const struct gm_flame_node *node);
/* How many devices have a tree of their peak. */
size_t gm_export_trees(const struct gm_report *report);

/* A JSON string with its quotes; "" for NULL. */
static inline void gm_export_string(struct gm_text *out, const char *s)
{
    gm_escape_json(out, s == NULL ? "" : s);
}

#endif
