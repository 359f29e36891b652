/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of one device as those look at it who judge and write: what is known of it.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/report/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_view {
    size_t index; /* of the device in the report */
    const struct gm_device_report *device;
    const struct gm_peak *peak;
    const struct gm_device_timeline *timeline; /* never NULL: without one, one in which nothing is known */
    bool is_reconstructed;                     /* allocated and active bytes are known */
    bool has_reserved, lacks_end;              /* so are reserved bytes; as in the report */
};

/* Of the i-th device. false: it has no events, or the trace was not analysed. */
bool gm_view_of(struct gm_view *view, const struct gm_report *report, size_t i);
/* Devices that have a view. */
size_t gm_view_count(const struct gm_report *report);
/* The device with the highest peak of requested bytes; the first of equals. false: there is none. */
bool gm_view_highest(struct gm_view *view, const struct gm_report *report);

/* Whether what the command line left out is told differently of two devices: --from and --to are places of each. */
bool gm_view_filters_differ(const struct gm_report *report);

/* Levels, GM_REPORT_NONE where the reconstruction would be needed to know them. */
struct gm_levels gm_view_levels(const struct gm_view *view, struct gm_levels levels);
/* Those at the peak of requested bytes, and the moment with them. */
struct gm_moment gm_view_peak(const struct gm_view *view);
/* The peak of reserved bytes of the trace, or of the part of it that --from and --to leave. GM_REPORT_NONE: not known.
 */
uint64_t gm_view_peak_reserved(const struct gm_view *view);

/* The step that an event is in; NULL between steps and without them. */
const struct gm_step_row *gm_view_step(const struct gm_view *view, uint64_t event);
/* The phase that an event is in; GM_PHASE_OTHER if that is not known. */
enum gm_phase gm_view_phase(const struct gm_view *view, uint64_t event);
/* Why the traces of devices cannot be trusted, one or two sentences for each of which there is a reason to tell above
 * the peak: `count` of them, in `arena`. NULL: no memory. */
const char *const *gm_view_doubts(const struct gm_report *report, struct gm_arena *arena, size_t *count);
/* Why block bytes are not known. */
const char *gm_view_reason(const struct gm_view *view);
