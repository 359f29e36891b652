/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to replay/shrink.
 */
#pragma once

#include "replay/shrink/shrink.h"

/* shrink_demand.c: all that the history asked for up to event `refused`, whose request comes last; GM_NEVER: none was
 * refused. with_layout: preceded by requests that fill, and free again, what was free before the trace. false: no
 * memory; gm_demand_free in any case. */
struct gm_demand_parts {
    uint32_t refused;
    bool with_layout, without_empties;
};
bool gm_demand_make(struct gm_demand *program, struct gm_history *h, const struct gm_demand_parts *parts);
void gm_demand_free(struct gm_demand *program);
/* shrink_play.c. `recorder` may be NULL; the rows of its snapshot's events are the ops that are played, in order, of
 * the history `as`. */
struct gm_play {
    const struct gm_demand *program;
    const struct gm_shrink_device *device;
    const bool *is_dropped; /* [unit]; NULL: none */
    uint32_t placement;     /* replay/model/sim.h */
    uint64_t most;          /* reserved bytes beyond which it need not go on */
    struct gm_event_recorder *recorder;
    const struct gm_history *as;
};
enum gm_status gm_play(struct gm_outcome *out, const struct gm_play *play, struct gm_error *err);
