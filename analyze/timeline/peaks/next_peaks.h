/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline: distinct peaks of requested bytes. A peak is distinct if the curve falls by a clear
 * amount between it and anything higher (its topographic prominence), here a twentieth of the highest peak.
 *
 * One walk finds them: the highest moment so far is a peak once the curve has fallen by that amount since; the lowest
 * moment after it is a valley once the curve has risen by as much again; and so on, in turns.
 */
#ifndef GM_TIMELINE_NEXT_PEAKS_H
#define GM_TIMELINE_NEXT_PEAKS_H

#include "analyze/timeline/trace_pass.h"

enum { GM_PEAKS_KEPT = 6 }; /* the peak itself and the next five */

struct gm_found_peak {
    double bytes;
    uint32_t moment; /* the first of this height */
    uint64_t times;  /* distinct peaks of exactly this height */
};
struct gm_swings {
    double clear;    /* the fall that makes a peak distinct */
    bool is_falling; /* a peak was found; now for the valley behind it */
    double extreme;  /* the highest (or, falling, lowest) so far since the last turn */
    uint32_t moment;
    struct gm_found_peak kept[GM_PEAKS_KEPT]; /* highest first, all of different heights */
    size_t count;
};

/* `peak` is the highest of all; `bytes` are those of the first moment. */
void gm_swings_start(struct gm_swings *swings, double peak, double bytes, uint32_t moment);
void gm_swings_keep(struct gm_swings *swings);
/* The curve from start to end, in order; moments where it does not turn may be left out. */
static inline void gm_swings_see(struct gm_swings *swings, double bytes, uint32_t moment)
{
    if (swings->is_falling ? bytes < swings->extreme : bytes > swings->extreme) {
        swings->extreme = bytes;
        swings->moment = moment;
    } else if (!swings->is_falling && bytes <= swings->extreme - swings->clear) {
        gm_swings_keep(swings);
        swings->is_falling = true;
        swings->extreme = bytes;
    } else if (swings->is_falling && bytes >= swings->extreme + swings->clear) {
        swings->is_falling = false;
        swings->extreme = bytes;
        swings->moment = moment;
    }
}
/* After the last moment: where the curve ends high, that is a peak too. */
void gm_swings_end(struct gm_swings *swings);

/* What was found, but for pass->peak_moment, as rows of pass->out->peak. false: no memory. */
bool gm_next_peaks(struct gm_trace_pass *pass, const struct gm_swings *swings);

#endif
