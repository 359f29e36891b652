/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts in, diagnosis out: what is wrong with a run, how far its figures can be trusted, what to do first. Everything
 * that judges is here; passes compute, documents word and lay out.
 */
#ifndef GM_DIAGNOSE_DIAGNOSE_H
#define GM_DIAGNOSE_DIAGNOSE_H

#include "analyze/base/error.h"
#include "analyze/report/report.h"

/* report->diagnosis, of all the rest of the report. GM_E_NOMEM is the only error. What the findings' remedies
 * (analyze/report/remedy.h) save nobody knows yet: who can replay them does, and then asks for the second half again.
 */
enum gm_status gm_diagnose(struct gm_report *report, struct gm_error *err);

/* Its second half: the rest of report->diagnosis, of the findings that it has. */
enum gm_status gm_diagnose_tell(struct gm_report *report, struct gm_error *err);

/* The table of all that can be found, theme by theme, for those who document and check it. NULL: there is no i-th. */
struct gm_rule;
const struct gm_rule *gm_rule_at(size_t i);

#endif
