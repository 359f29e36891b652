/* SPDX-License-Identifier: Apache-2.0
 *
 * From options and a snapshot to a report, and to each of the texts that are made of it: what gmanalyze writes into a
 * run directory, and what libgm answers.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/cli/analyze_options.h"
#include "analyze/cli/judge.h"
#include "analyze/diagnose/ignore.h"

#include <time.h>

struct gm_analysis {
    const struct gm_analyze_options *options;
    const struct gm_category_rules *rules;
    const struct gm_ignore *ignore;
    const char *shown; /* what reports call the snapshot; NULL: its path */
    const char *name;  /* of the run */
    time_t when;
    unsigned threads; /* for replays; 0: one */
};

/* gm_judge_begin with those options; `every_event` may be NULL. GM_E_USAGE if the snapshot has no such stream. */
enum gm_status gm_analysis_begin(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                                 const struct gm_analysis *of, const struct gm_sample_sink *every_event,
                                 struct gm_error *err);
/* gm_judge_end, and the plan for --gpu. */
enum gm_status gm_analysis_end(struct gm_judged *judged, const struct gm_snapshot *snapshot,
                               const struct gm_analysis *of, struct gm_error *err);

/* The files of the options' report that are texts, in their order; the page and the charts are none. */
struct gm_text_names gm_analysis_texts(const struct gm_analyze_options *options, const struct gm_report *report);
/* One of them, by its name. out->failed: there is no memory. */
void gm_analysis_make(struct gm_text *out, const char *name, const struct gm_analyze_options *options,
                      const struct gm_report *report);
