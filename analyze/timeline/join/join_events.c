/* SPDX-License-Identifier: Apache-2.0
 *
 * Each allocation with what the trace tells of it, for those who take all of them elsewhere (--export joined).
 */
#include "analyze/timeline/join/join_work.h"

#include <stdlib.h>

enum { KERNELS_MOST = 256 /* of a call, of which the longest is looked for */ };

struct events {
    const struct gm_join *join;
    const char **told; /* [strings] for the report, each copied once; NULL: not yet */
};

static bool tell(struct events *e, uint32_t string, const char **out)
{
    if (string != GM_PROFILE_NONE && e->told[string] == NULL && !gm_join_tell(e->join, string, &e->told[string]))
        return false;
    *out = string == GM_PROFILE_NONE ? NULL : e->told[string];
    return true;
}

static bool tell_kernels(struct events *e, uint32_t operation, struct gm_join_event *row)
{
    const struct gm_join *join = e->join;
    uint32_t longest = GM_PROFILE_NONE;
    size_t first;
    const size_t end = gm_join_kernels_in(join, operation, &first);
    row->kernels = end - first;
    row->device_ns = (uint64_t)(join->kernel_ns[end] - join->kernel_ns[first]);
    for (size_t i = first; i < end && i < first + KERNELS_MOST; i++) {
        const uint32_t span = join->kernels.v[i].span;
        if (longest == GM_PROFILE_NONE || join->p->spans.v[span].duration_ns > join->p->spans.v[longest].duration_ns)
            longest = span;
    }
    return longest == GM_PROFILE_NONE || tell(e, join->p->spans.v[longest].name, &row->kernel);
}

static bool tell_span(struct events *e, uint32_t span, struct gm_join_event *row)
{
    const struct gm_join *join = e->join;
    const struct gm_profile *p = join->p;
    const uint32_t operation = join->operation[span], module = join->module[span];
    row->is_backward = join->is_backward[span];
    if (module != GM_PROFILE_NONE && !tell(e, p->spans.v[module].name, &row->module))
        return false;
    if (operation == GM_PROFILE_NONE)
        return true;
    const struct gm_profile_detail *d = gm_profile_detail_of(p, &p->spans.v[operation]);
    return tell(e, p->spans.v[operation].name, &row->operation) && tell(e, d->shapes, &row->shapes) &&
           tell(e, d->types, &row->types) && tell(e, d->values, &row->values) && tell_kernels(e, operation, row) &&
           gm_join_explain(join, span, row->requested, &row->formula);
}

bool gm_join_events(const struct gm_trace_pass *pass, struct gm_join_device *out)
{
    const struct gm_history *h = &pass->history;
    struct events e = {.join = pass->join};
    if (!pass->options->wants_joined)
        return true;
    struct gm_join_event *rows = gm_arena_calloc(e.join->arena, h->allocation_count + 1, sizeof *rows);
    GM_FREED const char **told = calloc(e.join->p->strings.entries.n + 1, sizeof *told);
    bool ok = rows != NULL && told != NULL;
    e.told = told;
    for (size_t a = 0; ok && a < h->allocation_count; a++) {
        if (h->born[a] == 0 || h->born[a] == GM_NEVER || gm_is_hidden(pass, a))
            continue;
        const uint32_t memory = gm_join_memory_of(pass, a);
        struct gm_join_event *row = &rows[out->event_count++];
        *row = (struct gm_join_event){.event = gm_event_of_moment(h->born[a]),
                                      .freed = gm_event_of_moment(h->freed[a]),
                                      .address = gm_history_address(h, a),
                                      .requested = gm_requested(h, a),
                                      .block = GM_REPORT_NONE};
        row->time_us = gm_history_time(h, row->event);
        if (h->freed[a] == GM_NEVER)
            row->freed = GM_REPORT_NONE;
        if (memory == GM_PROFILE_NONE)
            continue;
        row->block = (uint64_t)e.join->p->memory.v[memory].bytes;
        if (e.join->p->memory.v[memory].span != GM_PROFILE_NONE)
            ok = tell_span(&e, e.join->p->memory.v[memory].span, row);
    }
    out->events = rows;
    return ok;
}
