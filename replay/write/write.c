/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/write/write.h"

#include "analyze/base/freed.h"
#include "replay/write/snapshot_writer.h"

#include <stdlib.h>

static uint32_t *new_memo(size_t count)
{
    return calloc(count + 1, sizeof(uint32_t));
}

static bool prepare(struct gm_snapshot_writer *w)
{
    const struct gm_snapshot *s = w->s;
    w->strings = new_memo(s->strings.count);
    w->frames = new_memo(s->frames.count);
    w->stacks = new_memo(s->stacks.count);
    w->pools = new_memo(s->pool_count);
    w->loose = new_memo(s->loose_count);
    return w->strings != NULL && w->frames != NULL && w->stacks != NULL && w->pools != NULL && w->loose != NULL &&
           gm_writer_order(w);
}

static void release(struct gm_snapshot_writer *w)
{
    GM_FREE_ALL(w->strings, w->frames, w->stacks, w->pools, w->loose);
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        free(w->orders[kind].keys);
    gm_pickle_free(&w->p);
}

enum gm_status gm_write_pickle(const struct gm_snapshot *snapshot, const struct gm_sink *sink, struct gm_error *err)
{
    GM_FREED struct gm_snapshot_writer *w = calloc(1, sizeof *w);
    if (w == NULL)
        return gm_no_memory(err);
    w->s = snapshot;
    if (gm_pickle_begin(&w->p, sink, err)) {
        if (!prepare(w))
            gm_pickle_fail(&w->p, GM_E_NOMEM, "out of memory");
        else if (snapshot->source.is_bare_segment_list)
            gm_put_segments(w, false);
        else
            gm_put_top(w);
        if (w->p.status == GM_OK)
            gm_pickle_end(&w->p);
    }
    enum gm_status status = w->p.status;
    release(w);
    return status;
}
