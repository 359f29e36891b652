/* SPDX-License-Identifier: Apache-2.0
 *
 * Files for other programs to open: report model in, bytes out. Three of them hold the live set at the peak of
 * requested bytes by call stack, one the run over time. docs/exports.md says what each becomes where it is opened.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdbool.h>

enum gm_export {
    GM_EXPORT_FOLDED,
    GM_EXPORT_SPEEDSCOPE,
    GM_EXPORT_PERFETTO,
    GM_EXPORT_PPROF,
    GM_EXPORT_MODULES,
    GM_EXPORT_JOINED,                  /* of a report whose timeline was told `wants_joined` */
    GM_EXPORT_COUNT,                   /* these are made of a report; what follows of more than that */
    GM_EXPORT_SQLITE = GM_EXPORT_COUNT /* analyze/sqlite/sqlite.h */
};
extern const char *const gm_export_names[GM_EXPORT_COUNT + 2]; /* "folded", as on the command line; then a NULL */
const char *gm_export_file_name(enum gm_export format);        /* "peak.folded" */

/* Of a set of them, bit i: enum gm_export i. */
static inline bool gm_exports_have(unsigned exports, enum gm_export format)
{
    return (exports >> format & 1) != 0;
}
/* Whether the report has a trace, from which all of them are made. */
bool gm_export_applies(const struct gm_report *report);
/* Appends the whole file; sets out->failed if there is no memory. */
void gm_export_write(struct gm_text *out, const struct gm_report *report, enum gm_export format);

/* Appends `plain` as a gzip file; `level` from 1, quickly, to 12. */
void gm_gzip_add(struct gm_text *out, const struct gm_text *plain, int level);
