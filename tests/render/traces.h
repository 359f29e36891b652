/* SPDX-License-Identifier: Apache-2.0
 *
 * Timelines made by hand for the reports of samples.h.
 */
#pragma once

#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>

/* How the active memory of a trace goes. */
enum trace_shape {
    TRACE_TRAINING, /* up and down with every step */
    TRACE_FLAT,     /* the same all the time */
    TRACE_SPIKE,    /* flat but for one column */
    TRACE_NOTHING   /* no bytes at any moment */
};
struct trace_plan {
    enum trace_shape shape;
    size_t columns, steps;
    bool is_by_time, is_reconstructed, has_roles, has_pending;
    size_t ooms, segments;
    uint64_t unit;    /* bytes: about a hundredth of the peak */
    const char *name; /* of frames, sites, steps; NULL: usual names */
};
/* Timelines and peaks for every device of the report; their sizes differ a little. Aborts if there is no memory. */
void trace_add(struct gm_report *report, const struct trace_plan *plan);

/* The colour and name of the i-th category, for all samples. */
extern const struct sample_category {
    const char *name;
    uint32_t color;
} sample_categories[];
enum { SAMPLE_CATEGORIES = 16 };
