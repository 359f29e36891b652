/* SPDX-License-Identifier: Apache-2.0
 *
 * From a snapshot to a whole report: all analyses, replays and the diagnosis, in their order. For whoever shows
 * reports: gmanalyze and the page.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/trace_analyze.h"
#include "replay/trials/settings_advice.h"

/* Zero-initialise; with several threads gm_followed_wait, then gm_report_free and gm_kept_free, whatever failed. */
struct gm_judged {
    struct gm_report report;
    struct gm_kept kept; /* the histories; none of a part of a trace */
    struct gm_followed followed;
    bool needs_replay;
    /* Set by the caller before all else: */
    unsigned threads;                /* for replays; 0: one */
    uint64_t most_events;            /* a longer trace is not replayed: mostly GM_ADVICE_EVENTS */
    struct gm_history_reader reader; /* of a long trace, if `threads` are several; no `read`: nobody */
};

/* All that charts are made of. Of `timeline` the classifier and `keep` are filled in; `device`: this one only, -1: all;
 * `is_partial`: the options leave something of the trace out. */
enum gm_status gm_judge_begin(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                              const struct gm_timeline_options *timeline, int64_t device, bool is_partial,
                              struct gm_error *err);
/* The rest: replays, the diagnosis, and what mending would save. */
enum gm_status gm_judge_end(struct gm_judged *judged, const struct gm_snapshot *snapshot, struct gm_error *err);
