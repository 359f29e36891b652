/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/formats/profile_outcome.h"

#include "analyze/formats/decoders.h"

#include <string.h>

struct profile_outcome profile_decode(struct gm_source *source, bool by_tokens)
{
    struct profile_outcome o = {.status = GM_OK};
    o.status = gm_kineto_decode(source, &(struct gm_decoded){.profile = &o.p, .by_tokens = by_tokens}, &o.err);
    gm_source_free(source);
    return o;
}

/* Rows without holes are compared as bytes. */
#define SAME_ROWS(a, b, rows)                                                                                          \
    ((a)->rows.n == (b)->rows.n &&                                                                                     \
     ((a)->rows.n == 0 || memcmp((a)->rows.v, (b)->rows.v, (a)->rows.n * sizeof *(a)->rows.v) == 0))

static bool same_details(const struct gm_profile *a, const struct gm_profile *b)
{
    bool same = a->details.n == b->details.n;
    for (size_t i = 0; same && i < a->details.n; i++) {
        const struct gm_profile_detail *d = &a->details.v[i], *e = &b->details.v[i];
        same = d->external == e->external && d->bytes == e->bytes && d->shapes == e->shapes && d->types == e->types &&
               d->call_stack == e->call_stack && d->forward_thread == e->forward_thread &&
               d->correlation == e->correlation && d->sequence == e->sequence;
    }
    return same;
}

static bool same_strings(const struct gm_intern *a, const struct gm_intern *b)
{
    bool same = a->entries.n == b->entries.n;
    for (size_t i = 0; same && i < a->entries.n; i++)
        same = a->entries.v[i].length == b->entries.v[i].length &&
               memcmp(a->entries.v[i].bytes, b->entries.v[i].bytes, a->entries.v[i].length) == 0;
    return same;
}

static bool same_facts(const struct gm_profile *a, const struct gm_profile *b)
{
    return a->other_events == b->other_events && a->odd_events == b->odd_events && a->rank == b->rank &&
           a->world_size == b->world_size && a->base_ns == b->base_ns && a->profile_memory == b->profile_memory &&
           a->record_shapes == b->record_shapes && a->with_stack == b->with_stack &&
           a->has_host_name == b->has_host_name && a->has_trace_id == b->has_trace_id &&
           a->is_trace_id_first == b->is_trace_id_first && a->devices.n == b->devices.n;
}

const char *profile_difference(const struct profile_outcome *a, const struct profile_outcome *b)
{
    const bool same_error = a->status == b->status && a->err.status == b->err.status &&
                            a->err.offset == b->err.offset && strcmp(a->err.message, b->err.message) == 0;
    return !same_error                                   ? "the error"
           : !SAME_ROWS(&a->p, &b->p, spans)             ? "spans"
           : !SAME_ROWS(&a->p, &b->p, memory)            ? "memory"
           : !SAME_ROWS(&a->p, &b->p, threads)           ? "threads"
           : !same_details(&a->p, &b->p)                 ? "details"
           : !same_strings(&a->p.strings, &b->p.strings) ? "strings"
           : !same_facts(&a->p, &b->p)                   ? "what stands beside the events"
                                                         : NULL;
}
