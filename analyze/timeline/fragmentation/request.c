/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/fragmentation/watch.h"

#include "analyze/base/arithmetic.h"

enum { LOOK_AHEAD = 16 }; /* events: other threads' events may stand between a growth and its alloc */

bool gm_growth_begins(const struct gm_history *h, uint32_t event)
{
    const uint8_t *action = h->snapshot->events.action + h->first;
    return action[event] == GM_ACTION_SEGMENT_ALLOC ||
           (action[event] == GM_ACTION_SEGMENT_MAP && (event == 0 || action[event - 1] != GM_ACTION_SEGMENT_MAP));
}

/* The alloc whose block begins or ends in the new memory, or the oom that followed although pages had been mapped. */
static void find_request(const struct gm_history *h, const struct gm_rules *rules, struct gm_pool_growth *g)
{
    const struct gm_events *e = &h->snapshot->events;
    for (uint32_t i = g->end; i < h->count && i - g->end < LOOK_AHEAD; i++) {
        size_t row = h->first + i;
        uint64_t size = e->size[row] == GM_ABSENT ? 0 : e->size[row];
        bool is_same_stream = gm_rare_at(&e->stream, row) == g->stream;
        if (e->action[row] == GM_ACTION_ALLOC && is_same_stream && e->addr[row] < g->to &&
            gm_sat_add(e->addr[row], size > 0 ? size : 1) > g->from) {
            g->request = i;
            g->asked = gm_rules_round(rules, size);
            return;
        }
        if (e->action[row] == GM_ACTION_OOM && is_same_stream) {
            g->request = i;
            g->asked = size;
            return;
        }
    }
}

struct gm_pool_growth gm_growth_at(const struct gm_history *h, const struct gm_rules *rules, uint32_t first)
{
    const struct gm_events *e = &h->snapshot->events;
    struct gm_pool_growth g = {.first = first,
                               .end = first,
                               .from = UINT64_MAX,
                               .stream = gm_rare_at(&e->stream, h->first + first),
                               .request = GM_NEVER,
                               .asked = GM_REPORT_NONE};
    bool is_map = e->action[h->first + first] == GM_ACTION_SEGMENT_MAP;
    do {
        size_t row = h->first + g.end;
        uint64_t size = e->size[row] == GM_ABSENT ? 0 : e->size[row], to = gm_sat_add(e->addr[row], size);
        g.bytes = gm_sat_add(g.bytes, size);
        g.from = e->addr[row] < g.from ? e->addr[row] : g.from;
        g.to = to > g.to ? to : g.to;
        g.end++;
    } while (is_map && g.end < h->count && e->action[h->first + g.end] == GM_ACTION_SEGMENT_MAP);
    g.bytes = g.bytes < GM_REPORT_NONE ? g.bytes : GM_REPORT_NONE - 1;
    find_request(h, rules, &g);
    return g;
}

bool gm_growth_is_retry(const struct gm_history *h, uint32_t first)
{
    const struct gm_events *e = &h->snapshot->events;
    uint32_t stack = e->stack[h->first + first].v;
    return first > 0 && stack != 0 && gm_action_is_release(e->action[h->first + first - 1]) &&
           e->stack[h->first + first - 1].v == stack;
}

struct gm_stack_id gm_growth_stack(const struct gm_history *h, const struct gm_pool_growth *growth)
{
    const struct gm_stack_id *stack = h->snapshot->events.stack + h->first;
    if (growth->request != GM_NEVER && stack[growth->request].v != 0)
        return stack[growth->request];
    return stack[growth->first];
}
