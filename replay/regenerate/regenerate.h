/* SPDX-License-Identifier: Apache-2.0
 *
 * The snapshot of a run of the model: the recorder's events, segments and blocks, with everything else that the
 * recording knows. It borrows strings, frames, stacks, annotations and so on from the recorded snapshot.
 */
#pragma once

#include "analyze/allocator/conf.h"
#include "analyze/base/arena.h"
#include "analyze/base/error.h"
#include "analyze/snapshot/snapshot.h"
#include "replay/regenerate/event_recorder.h"

enum { GM_REGENERATED_ARRAYS = 8 };

struct gm_regenerated {
    struct gm_snapshot snapshot; /* not to be freed by gm_snapshot_free */
    const struct gm_snapshot *recorded;
    struct gm_arena arena;
    void *arrays[GM_REGENERATED_ARRAYS]; /* of the heap, and owned like the arena */
    size_t array_count;
};

/* Makes the snapshot out of what `r` holds, which it takes over (gm_recorder_free it all the same). `conf` and `text`:
 * settings that were in force instead of the recorded ones; NULL: the recorded ones. GM_E_NOMEM is the only error. */
enum gm_status gm_regenerate(struct gm_regenerated *out, struct gm_event_recorder *r, const struct gm_conf *conf,
                             const char *text, struct gm_error *err);
void gm_regenerated_free(struct gm_regenerated *g);

/* The recorder's ring is another one now: what was read of it at the top of the file goes, so that what the traces say
 * of it is written. false: no memory. */
bool gm_forget_ring(struct gm_snapshot *s, struct gm_arena *arena);
