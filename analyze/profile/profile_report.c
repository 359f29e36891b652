/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/profile/profile_report.h"

#include "analyze/base/utf8.h"
#include "analyze/profile/profile_pass.h"

const char *gm_profile_clean(struct gm_arena *arena, const char *s, size_t n)
{
    enum { MOST = 4096 };
    n = n < MOST ? n : MOST;
    char *out = gm_arena_calloc(arena, GM_UTF8_CLEAN(n), 1);
    if (out != NULL)
        (void)gm_utf8_clean_line(out, GM_UTF8_CLEAN(n), s, n);
    return out;
}

static void count(struct gm_profile_report *out, const struct gm_profile *p)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < p->spans.n; i++) {
        const struct gm_profile_span *s = &p->spans.v[i];
        first = s->start_ns < first ? s->start_ns : first;
        last = gm_profile_span_end(s) > last ? gm_profile_span_end(s) : last;
        out->has_python = out->has_python || s->kind == GM_SPAN_PYTHON;
    }
    for (size_t i = 0; i < p->details.n; i++) {
        out->has_shapes = out->has_shapes || p->details.v[i].shapes != GM_PROFILE_NONE;
        out->has_python = out->has_python || p->details.v[i].call_stack != GM_PROFILE_NONE;
    }
    if (p->memory.n > 0) {
        const int64_t begin = p->memory.v[0].time_ns, end = p->memory.v[p->memory.n - 1].time_ns;
        first = begin < first ? begin : first;
        last = end > last ? end : last;
    }
    out->span_us = first > last ? 0 : (uint64_t)(last - first) / 1000;
    out->spans = p->spans.n;
    out->memory_events = p->memory.n;
    out->has_memory = p->memory.n > 0;
    out->asked_for_memory = p->profile_memory;
    for (size_t i = 0; i < p->memory.n; i++)
        out->has_device_memory = out->has_device_memory || gm_profile_side(&p->memory.v[i]) == GM_SIDE_DEVICE;
    out->threads = p->threads.n;
    out->other_events = p->other_events;
    out->odd_events = p->odd_events;
    out->rank = p->rank;
    out->world_size = p->world_size;
}

enum gm_status gm_profile_analyze(struct gm_report *report, const struct gm_profile *profile, uint64_t card_bytes,
                                  struct gm_error *err)
{
    struct gm_profile_pass pass = {.profile = profile, .arena = &report->arena, .card_bytes = card_bytes};
    pass.out = gm_arena_calloc(&report->arena, 1, sizeof *pass.out);
    if (pass.out == NULL)
        return gm_no_memory(err);
    count(pass.out, profile);
    enum gm_status status = gm_links_find(&pass.links, profile) ? GM_OK : gm_no_memory(err);
    GM_THEN(status, gm_profile_averages(&pass, err));
    GM_THEN(status, gm_profile_stated(&pass, err));
    GM_THEN(status, gm_profile_copies(&pass, err));
    gm_links_free(&pass.links);
    if (status == GM_OK)
        report->profile = pass.out;
    return status;
}
