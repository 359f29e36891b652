/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/compare: a summary while it is being made.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/compare/summary_make.h"
#include "analyze/state/categories.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/trace_analyze.h"

#include <stdbool.h>

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

/* What of a frame tells whether two runs mean the same place: see docs/diff.md. */

/* Appends the function's name: of C++ without template arguments, hexadecimal addresses, and what compilers append
 * (" [clone ...]", ".llvm.123", ".isra.0" ...). Python's names stay as they are, but for addresses and the line
 * in "torch_dynamo_resume_in_f_at_88". */
void gm_normalise_name(struct gm_text *out, const char *name, bool is_python);
/* Appends the file's name without its folders; what is generated under a new name each time (notebook cells, compiled
 * kernels) under one name. */
void gm_normalise_file(struct gm_text *out, const char *filename);
