/* SPDX-License-Identifier: Apache-2.0
 *
 * What stays: by stack, the allocations of a step that are still live when two more steps have ended, less those of the
 * same kind that were freed meanwhile. What a run replaces (a moving average, a ring of batches) comes out as nothing.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/timeline/steps/step_work.h"

#include <stdlib.h>

/* The span of an event, or SIZE_MAX: the first at `from` or later that ends after it. */
static size_t span_of(const struct gm_step_work *w, uint32_t event, size_t from)
{
    size_t low = from;
    GM_BISECT(low, w->spans.n, i, w->spans.v[i].last < event);
    return low < w->spans.n && w->spans.v[low].first <= event ? low : SIZE_MAX;
}

bool gm_pattern_survivors(struct gm_step_work *w, size_t first, size_t last)
{
    const struct gm_history *h = &w->pass->history;
    size_t stacks = (size_t)w->pass->snapshot->stacks.count + 2, at = 0;
    struct gm_steps *out = &w->pass->out->steps;
    if (last < first + 2)
        return true;
    int64_t *bytes = calloc(stacks, sizeof *bytes), *blocks = calloc(stacks, sizeof *blocks);
    for (size_t a = 0; bytes != NULL && blocks != NULL && a < h->allocation_count; a++) {
        size_t made = SIZE_MAX;
        if (h->freed[a] == 0 || gm_is_hidden(w->pass, a))
            continue;
        if (h->born[a] > 0) { /* these are in order */
            uint32_t event = h->born[a] - 1;
            while (at < w->spans.n && w->spans.v[at].last < event)
                at++;
            if (at == w->spans.n)
                continue;
            if (w->spans.v[at].first <= event)
                made = at;
            if (at + 2 > last || (h->freed[a] != GM_NEVER && h->freed[a] <= w->spans.v[at + 2].last + 1))
                continue;
        }
        int64_t size = h->requested[a] > INT64_MAX ? INT64_MAX : (int64_t)h->requested[a];
        if (made != SIZE_MAX && made >= first) {
            bytes[h->stack[a]] = gm_signed_add(bytes[h->stack[a]], size);
            blocks[h->stack[a]] = gm_signed_add(blocks[h->stack[a]], 1);
        }
        size_t gone = h->freed[a] == GM_NEVER ? SIZE_MAX : span_of(w, h->freed[a] - 1, 0);
        if (gone != SIZE_MAX && gone >= first + 2 && gone <= last) {
            bytes[h->stack[a]] = gm_signed_add(bytes[h->stack[a]], -size);
            blocks[h->stack[a]] = gm_signed_add(blocks[h->stack[a]], -1);
        }
    }
    bool ok =
        bytes != NULL && blocks != NULL && gm_site_rows(w->pass, bytes, blocks, &out->survivors, &out->survivor_count);
    free(bytes);
    free(blocks);
    return ok;
}

bool gm_pattern_gained(struct gm_step_work *w, uint32_t before, uint32_t after, const struct gm_group_row **row)
{
    const struct gm_history *h = &w->pass->history;
    size_t stacks = (size_t)w->pass->snapshot->stacks.count + 2, count;
    int64_t *bytes = calloc(stacks, sizeof *bytes), *blocks = calloc(stacks, sizeof *blocks);
    for (size_t a = 0; bytes != NULL && blocks != NULL && a < h->allocation_count; a++) {
        int gained = (int)gm_history_is_active(h, a, after) - (int)gm_history_is_active(h, a, before);
        if (gained == 0 || gm_is_hidden(w->pass, a))
            continue;
        int64_t size = h->requested[a] > INT64_MAX ? INT64_MAX : (int64_t)h->requested[a];
        bytes[h->stack[a]] = gm_signed_add(bytes[h->stack[a]], gained > 0 ? size : -size);
        blocks[h->stack[a]] = gm_signed_add(blocks[h->stack[a]], gained);
    }
    bool ok = bytes != NULL && blocks != NULL && gm_site_rows(w->pass, bytes, blocks, row, &count);
    if (ok && count == 0)
        *row = NULL;
    free(bytes);
    free(blocks);
    return ok;
}
