/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers by repetition: of a role's blocks at the peak, in the order in which they were made, the longest stretch in
 * which the same stacks and sizes come again after some number of blocks. It needs no module's code in a stack, so it
 * finds the layers of weights that were moved as a whole, of gradients and of optimizer states.
 */
#include "analyze/timeline/modules/module_work.h"

#include "analyze/base/order.h"

#include <stdlib.h>

/* Blocks of a role that are looked at, and of a layer. */
enum { BLOCKS_MOST = 20000, PERIOD_MOST = 2000, TIMES_LEAST = 3 };

struct block {
    uint64_t bytes;
    uint32_t stack, born;
};

static bool is_same(const struct block *a, const struct block *b)
{
    return a->bytes == b->bytes && a->stack == b->stack;
}

struct stretch {
    size_t from, period, length; /* blocks */
};

/* The longest stretch in which block i + period is like block i; of equals the shortest period, then the first. */
static struct stretch find_stretch(const struct block *blocks, size_t n)
{
    struct stretch best = {0};
    for (size_t period = 1; period <= PERIOD_MOST && TIMES_LEAST * period <= n; period++) {
        size_t run = 0;
        for (size_t i = 0; i + period <= n; i++) {
            const bool goes_on = i + period < n && is_same(&blocks[i], &blocks[i + period]);
            run = goes_on ? run + 1 : run;
            if (goes_on)
                continue;
            if (run + period > best.length && run + period >= TIMES_LEAST * period)
                best = (struct stretch){i - run, period, run + period};
            run = 0;
        }
    }
    return best;
}

/* Most bytes of a role lie in the stretch, or it is no layer of the model. */
static bool make_row(struct gm_layers_row *row, const struct block *blocks, size_t n)
{
    const struct stretch found = find_stretch(blocks, n);
    uint64_t whole = 0;
    if (found.length == 0)
        return false;
    *row = (struct gm_layers_row){.times = found.length / found.period, .blocks = found.period};
    for (size_t i = 0; i < n; i++)
        whole = gm_known_add(whole, blocks[i].bytes);
    for (size_t i = found.from; i < found.from + found.period; i++)
        row->bytes = gm_known_add(row->bytes, blocks[i].bytes);
    row->outside = gm_sat_sub(whole, row->times * row->bytes);
    return row->outside <= whole / 2;
}

/* As they were made. */
GM_ORDERING(by_birth, struct block, GM_UP(born));

/* What is older than the trace has no order. */
static size_t gather(const struct gm_trace_pass *pass, uint8_t role, struct block *blocks)
{
    const struct gm_history *h = &pass->history;
    size_t n = 0;
    for (size_t a = 0; a < h->allocation_count && n < BLOCKS_MOST; a++)
        if (pass->role[a] == role && h->born[a] > 0 && gm_module_counts(pass, a))
            blocks[n++] = (struct block){gm_requested(h, a), gm_stack_of(h, a), h->born[a]};
    GM_SORT(blocks, n, by_birth);
    return n;
}

bool gm_module_layers(struct gm_trace_pass *pass)
{
    static const uint8_t roles[] = {GM_ROLE_PARAMETER, GM_ROLE_GRADIENT, GM_ROLE_OPTIMIZER_STATE, GM_ROLE_ACTIVATION};
    enum { ROLES = sizeof roles / sizeof *roles };
    struct gm_layers_row *rows = gm_arena_calloc(&pass->report->arena, ROLES, sizeof *rows);
    GM_FREED struct block *blocks = malloc(BLOCKS_MOST * sizeof *blocks);
    struct gm_modules *out = &pass->out->modules;
    const bool ok = rows != NULL && blocks != NULL;
    for (size_t i = 0; ok && pass->role != NULL && i < ROLES; i++)
        if (make_row(&rows[out->layer_count], blocks, gather(pass, roles[i], blocks)))
            rows[out->layer_count++].role = gm_role_name(roles[i]);
    out->layers = rows;
    return ok;
}
