/* SPDX-License-Identifier: Apache-2.0
 *
 * What streams, and pools of their own, keep apart.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_STREAMS = 3, WORKSPACES_MOST = 256, AT_ONCE = 2 /* events */, LEAST_POOLS = 2 };

/* ---- workspaces -------------------------------------------------------------------------------------------------- */

/* Of cuBLAS, which asks for the same amount on each stream: to keep it, or for a single call. */
static bool is_workspace(const struct gm_lives *l, size_t a)
{
    const struct gm_history *h = l->h;
    return gm_requested(h, a) >= GM_MIB && !l->taken[a] &&
           (gm_lives_is_role(l, a, GM_ROLE_WORKSPACE) || (h->born[a] > 0 && h->freed[a] - h->born[a] <= AT_ONCE));
}

/* The size of workspace that holds most, if every stream that asks for it keeps one; of how many streams. 0: none is on
 * so many. */
static uint64_t common_size(const struct gm_lives *l, uint64_t *streams)
{
    const struct gm_history *h = l->h;
    uint64_t seen[WORKSPACES_MOST][2], common = 0; /* size and stream, each once */
    size_t n = 0;
    *streams = 0;
    for (size_t a = 0; a < h->allocation_count && n < WORKSPACES_MOST; a++) {
        if (!is_workspace(l, a))
            continue;
        const uint64_t size = gm_requested(h, a), stream = gm_history_stream(h, a).v;
        uint64_t same = 1;
        bool is_new = true;
        for (size_t i = 0; is_new && i < n; i++) {
            same += seen[i][0] == size;
            is_new = seen[i][0] != size || seen[i][1] != stream;
        }
        if (!is_new)
            continue;
        seen[n][0] = size;
        seen[n++][1] = stream;
        if (same < LEAST_STREAMS || same * size <= *streams * common)
            continue;
        common = size;
        *streams = same;
    }
    return common;
}

/* On one stream the same memory would do for all: for the workspaces, of which the first stream's stay, and for
 * whatever else is cached. */
static void find_workspaces(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const struct gm_history *h = l->h;
    GM_FREED uint32_t *made = gm_lives_of_stacks(l, sizeof *made);
    uint32_t most = 0, own = GM_NEVER;
    uint32_t last = 0, before = 0; /* stacks of Python: the last one; before the first workspace that has none */
    struct gm_set set = {.v = NULL};
    uint64_t streams;
    char size[GM_SIZE_TEXT];
    const uint64_t common = common_size(l, &streams);
    for (size_t a = 0; made != NULL && common > 0 && a < h->allocation_count; a++) {
        const uint32_t stream = gm_history_stream(h, a).v, stack = gm_lives_stack(l, a);
        const bool is_of_nobody = (l->by[stack] & GM_BY_NOBODY) != 0;
        last = is_of_nobody ? last : stack;
        if (gm_requested(h, a) != common || !is_workspace(l, a))
            continue;
        const bool is_kept = h->freed[a] - h->born[a] > AT_ONCE;
        own = own == GM_NEVER ? stream : own;
        before = before == 0 && is_of_nobody ? last : before;
        made[stack] += !is_of_nobody;
        most = made[stack] > made[most] ? stack : most;
        if (stream != own)
            gm_set_shrink(&set, a, is_kept ? 0 : (uint64_t)GM_REMEDY_AS_RECORDED);
    }
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, true,
        gm_case_printf(c,
                       "the same work on %" PRIu64 " streams takes a workspace of %s for each, which no other stream "
                       "can use, nor what else is cached",
                       streams, gm_size_format(size, common)));
    if (f == NULL || f->remedy == NULL)
        return;
    f->remedy->on_one_stream = true;
    f->bytes = (streams - 1) * common;
    f->site = gm_lives_place(c->lives, most > 0 ? most : before);
}

/* ---- private pools ----------------------------------------------------------------------------------------------- */

struct private_pool {
    uint64_t now, most; /* bytes that were not there to stay, and the most of them at a time */
};

/* Pools of one id are two, small and large; the number of the first of them. */
static uint32_t whole_pool(const struct gm_history *h, uint32_t pool)
{
    uint32_t first = 0;
    while (h->pools[first].id_first != h->pools[pool].id_first || h->pools[first].id_second != h->pools[pool].id_second)
        first++;
    return first;
}

static void measure_pools(const struct gm_history *h, struct private_pool *pools)
{
    uint32_t first = 0;
    while (first < h->pool_count && !gm_is_private_pool(h, first))
        first++;
    for (uint32_t e = 0; first < h->pool_count && e < h->count; e++) {
        const uint32_t a = h->of_event[e];
        if (a == GM_NEVER || !gm_is_private_pool(h, gm_pool_number(h, a)) || h->freed[a] == GM_NEVER)
            continue;
        struct private_pool *pool = &pools[whole_pool(h, gm_pool_number(h, a))];
        if (h->born[a] == e + 1) {
            pool->now += gm_block_bytes(h, a);
        } else if (h->freed[a] == e + 1) {
            pool->now -= pool->now < gm_block_bytes(h, a) ? pool->now : gm_block_bytes(h, a);
        }
        pool->most = pool->now > pool->most ? pool->now : pool->most;
    }
}

/* The line that captures a graph: torch.cuda.graph empties the cache first, which shows if there was one; else the one
 * that called what was made in the pools. NULL: there is none. */
static const char *line_of_capture(struct gm_lives *l, const struct gm_set *set)
{
    uint32_t stack = 0;
    for (uint32_t e = 0; (l->by_any & GM_BY_CAPTURE) != 0 && e < l->h->count; e++) {
        const uint32_t of = gm_lives_stack_at(l, e);
        stack = gm_made_by(l->h, e) == GM_NEVER && (l->by[of] & GM_BY_CAPTURE) != 0 ? of : stack;
    }
    const char *caller = gm_lives_caller(l, set, true), *own = stack > 0 ? gm_lives_own_line(l, stack) : NULL;
    return own == NULL ? caller
           : caller == NULL || strncmp(own, caller, strlen(own)) == 0
               ? gm_lives_place(l, stack)
               : gm_arena_printf(l->names.arena, "%s, around %s", own, caller);
}

/* One after the other they could use the same memory: that of the one that needs most. */
static void find_pools(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_history *h = c->lives->h;
    GM_FREED struct private_pool *pools = gm_lives_scratch(c->lives, h->pool_count + 1, sizeof *pools);
    struct gm_set set = {.v = NULL};
    size_t most = 0, count = 0;
    uint64_t sum = 0;
    char size[GM_SIZE_TEXT];
    if (pools == NULL)
        return;
    measure_pools(h, pools);
    for (size_t p = 0; p < h->pool_count; p++) {
        most = pools[p].most > pools[most].most ? p : most;
        count += pools[p].most > 0;
        sum += pools[p].most;
    }
    for (size_t a = 0; count >= LEAST_POOLS && a < h->allocation_count; a++)
        if (gm_is_private_pool(h, gm_pool_number(h, a)) && h->freed[a] != GM_NEVER &&
            whole_pool(h, gm_pool_number(h, a)) != most)
            gm_set_drop(&set, a);
    if (sum - pools[most].most < 16 * GM_MIB)
        set.n = 0;
    const char *line = set.n > 0 ? line_of_capture(c->lives, &set) : NULL;
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, true,
        gm_case_printf(c,
                       "%zu pools of their own, as CUDA graphs make them, keep what they needed only while "
                       "they were filled: %s, where the largest would do for all",
                       count, gm_size_format(size, sum)));
    if (f == NULL)
        return;
    f->bytes = sum - pools[most].most;
    if (line != NULL)
        f->site = line;
}

static const struct gm_rule rules[] = {
    {.id = "workspaces-per-stream",
     .title = "Every stream keeps a workspace of cuBLAS",
     .find_in_lives = find_workspaces,
     .brief = "fewer streams",
     .fix = "Use fewer streams for matrix products, or smaller workspaces: CUBLAS_WORKSPACE_CONFIG=:4096:2",
     .snippet = "- streams = [torch.cuda.Stream() for _ in range(16)]\n"
                "+ streams = [torch.cuda.Stream() for _ in range(2)]",
     .cost = "products that no longer run at the same time",
     .means = "cuBLAS keeps a workspace for each stream that it was ever called on, until the program ends.",
     .when = "workspaces of cuBLAS (or what is made and freed at once) of 1 MiB or more, of one size, on at least 3 "
             "streams; the saving is that of one stream for all",
     .what_to_do = "Fewer streams, or `CUBLAS_WORKSPACE_CONFIG=:4096:2`"},
    {.id = "cuda-graph-pools",
     .title = "Each CUDA graph has a memory pool of its own",
     .find_in_lives = find_pools,
     .is_in_turn = true,
     .brief = "one pool for all graphs",
     .fix = "Capture with torch.cuda.graph(graph, pool=first.pool()), the largest first",
     .snippet = "- with torch.cuda.graph(second):\n"
                "+ with torch.cuda.graph(second, pool=first.pool()):",
     .cost = "graphs that share a pool may not run at the same time",
     .means = "What a CUDA graph freed while it was captured stays in its private pool. Graphs that never run at the "
              "same time can share one.",
     .when = "at least 2 private pools, and what was freed in all but the largest of them is 16 MiB or more",
     .what_to_do = "`torch.cuda.graph(graph, pool=first.pool())`"},
};
const struct gm_theme gm_theme_streams = GM_THEME(rules);
