/* SPDX-License-Identifier: Apache-2.0
 *
 * The findings while they are being made.
 */
#ifndef GM_TIMELINE_FINDING_LIST_H
#define GM_TIMELINE_FINDING_LIST_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_trace_pass;

struct gm_finding_list {
    struct gm_report *report;
    const struct gm_trace_pass *passes; /* [report->device_count] */
    struct gm_finding *rows;
    size_t n;
    bool has_news, failed;
};

struct gm_finding *gm_finding_known(struct gm_finding_list *list, const char *id);
/* Takes the text; replaces a finding with this id. `bytes`: 0 for none. */
void gm_finding_add(struct gm_finding_list *list, const char *id, enum gm_severity severity, uint64_t bytes,
                    const char *title, struct gm_text *detail);
void gm_finding_put_size(struct gm_text *t, uint64_t bytes);
void gm_findings_of_devices(struct gm_finding_list *list);

#endif
