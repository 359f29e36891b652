/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/compare: a summary while it is being made.
 */
#ifndef GM_COMPARE_SUMMARY_WORK_H
#define GM_COMPARE_SUMMARY_WORK_H

#include "analyze/base/vec.h"
#include "analyze/compare/summary_make.h"
#include "analyze/state/categories.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/trace_analyze.h"

struct gm_summary_work {
    struct gm_summary *summary;
    const struct gm_snapshot *snapshot;
    const struct gm_summary_options *options;
    struct gm_classifier *classifier;
    struct gm_names names;
    struct gm_report report;
    struct gm_kept kept;
    struct gm_summary_device *devices; /* the summary's, while they are being filled */
    struct gm_summary_point **points;  /* [device] likewise */
    size_t sampled;                    /* the device that the last sample was of */
};

/* A copy in the summary's arena; NULL for NULL and if there is no memory. */
const char *gm_summary_copy(struct gm_summary_work *work, const char *text);
/* The moment of the device's peak of requested bytes. */
static inline uint32_t gm_summary_peak_moment(const struct gm_summary_work *work, size_t device)
{
    uint64_t event = work->report.peaks[device].event;
    return event == GM_REPORT_NONE ? 0 : (uint32_t)event + 1;
}

/* Each returns false if there is no memory. */
bool gm_summary_sites(struct gm_summary_work *work);
bool gm_summary_facts(struct gm_summary_work *work);
bool gm_summary_slices(struct gm_summary_work *work);
bool gm_summary_device(struct gm_summary_work *work, size_t device);

#endif
