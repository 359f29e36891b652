/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts in, diagnosis out: what is wrong with a run, how far its figures can be trusted, what to do first. Everything
 * that judges is here; passes compute, documents word and lay out.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/report.h"

struct gm_kept; /* analyze/timeline/trace_analyze.h */
struct gm_snapshot;

/* report->diagnosis, of all the rest of the report. `kept` are the histories of its devices; without them (NULL) no
 * mistake is looked for that shows in single allocations only. What the findings' remedies (analyze/report/remedy.h)
 * save nobody knows yet: who can replay them does, and then asks for the second half again. GM_E_NOMEM is the only
 * error. */
enum gm_status gm_diagnose(struct gm_report *report, const struct gm_snapshot *snapshot, const struct gm_kept *kept,
                           struct gm_error *err);

/* The same in two steps. With GM_ASK_AHEAD mistakes are looked for from the first one on in another thread, too
 * (ahead.h), beside replays of what `kept` has; GM_ASK_ALL asks also rules that nothing can come of, for tests. Free
 * also after failure; NULL is fine. */
enum gm_asking { GM_ASK_IN_TURN, GM_ASK_AHEAD, GM_ASK_ALL };
struct gm_diagnosing;
enum gm_status gm_diagnose_begin(struct gm_diagnosing **begun, struct gm_report *report,
                                 const struct gm_snapshot *snapshot, const struct gm_kept *kept, enum gm_asking asking,
                                 struct gm_error *err);
enum gm_status gm_diagnose_end(struct gm_diagnosing *d, struct gm_error *err);
void gm_diagnosing_free(struct gm_diagnosing *d);

/* Its second half: the rest of report->diagnosis, of the findings that it has. */
enum gm_status gm_diagnose_tell(struct gm_report *report, struct gm_error *err);

/* How much a remedy saves that was replayed; of a mistake whose mending was not, how much it costs, likewise: bytes, to
 * compare findings. */
struct gm_finding;
uint64_t gm_diagnose_weight(const struct gm_finding *f);

/* The table of all that can be found, theme by theme, for those who document and check it. NULL: there is no i-th. */
struct gm_rule;
const struct gm_rule *gm_rule_at(size_t i);
/* The one with that id; NULL: there is none. */
const struct gm_rule *gm_rule_named(const char *id);
