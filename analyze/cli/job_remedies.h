/* SPDX-License-Identifier: Apache-2.0
 *
 * The findings' remedies, replayed: brings analyze/diagnose and replay/trials together.
 */
#ifndef GM_CLI_JOB_REMEDIES_H
#define GM_CLI_JOB_REMEDIES_H

#include "analyze/base/error.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/trace_analyze.h"

/* After gm_diagnose: replays what mending each finding would save, and has the rest of the diagnosis told again, which
 * then has those figures. `kept`: the histories of the report's devices; without any nothing is done. GM_E_NOMEM. */
enum gm_status gm_job_replay_remedies(struct gm_report *report, const struct gm_snapshot *snapshot,
                                      struct gm_kept *kept, struct gm_error *err);

#endif
