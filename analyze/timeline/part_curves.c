/* SPDX-License-Identifier: Apache-2.0
 *
 * The curves of every stream and of every pool, in one walk. A list that has one member is the device itself and is
 * told all the same, so that readers need not know.
 */
#include "analyze/timeline/trace_pass.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS = 64, COLUMNS = 250, NO_PART = UINT16_MAX };

/* The parts of one kind while they are filled. */
struct list {
    size_t count;
    struct gm_sums sums[PARTS], peak[PARTS], *high; /* high[part * COLUMNS + column] */
    struct gm_part told[PARTS];
};

struct gm_parts {
    struct gm_trace_pass *pass;
    struct list streams, pools;
    uint16_t *of_stream;    /* [gm_stream_id]: index in streams, or NO_PART */
    size_t columns, merged; /* `merged` columns of the device's curve are one of ours */
    bool is_one_stream;     /* then its curve is the device's */
};

static inline void raise_live(struct gm_sums *high, const struct gm_sums *s)
{
    high->requested = s->requested > high->requested ? s->requested : high->requested;
    high->allocated = s->allocated > high->allocated ? s->allocated : high->allocated;
    high->active = s->active > high->active ? s->active : high->active;
}

static inline void raise_reserved(struct gm_sums *high, const struct gm_sums *s)
{
    high->reserved = s->reserved > high->reserved ? s->reserved : high->reserved;
}

static void raise(struct gm_sums *high, const struct gm_sums *s)
{
    raise_live(high, s);
    raise_reserved(high, s);
}

/* The part of a stream; streams beyond the 64th are not told apart from none. */
static uint16_t stream_part(struct gm_parts *p, struct gm_stream_id stream)
{
    struct list *list = &p->streams;
    if (p->of_stream[stream.v] == NO_PART && list->count < PARTS) {
        int64_t handle = gm_stream_handle(p->pass->snapshot, stream.v);
        size_t i = 0;
        while (i < list->count && list->told[i].stream != handle)
            i++;
        list->count += i == list->count;
        list->told[i].stream = handle;
        p->of_stream[stream.v] = (uint16_t)i;
    }
    return p->of_stream[stream.v];
}

static uint16_t pool_part(struct gm_parts *p, uint32_t pool)
{
    p->pools.count = pool < PARTS && p->pools.count <= pool ? (size_t)pool + 1 : p->pools.count;
    return pool < PARTS ? (uint16_t)pool : NO_PART;
}

/* What one change does to the sums of the parts that it concerns. */
static inline void apply(struct list *list, uint16_t part, const struct gm_trace_pass *pass, const struct gm_change *c,
                         size_t column)
{
    if (part == NO_PART)
        return;
    gm_sums_apply(&list->sums[part], pass, c);
    struct gm_sums *high = &list->high[(size_t)part * COLUMNS + column];
    if (c->kind == GM_CHANGE_ALLOC)
        raise_live(high, &list->sums[part]);
    else if (c->kind == GM_CHANGE_SEGMENT) /* a free makes nothing higher */
        raise_reserved(high, &list->sums[part]);
}

/* The sums of the parts of a stream and a pool; NULL where they are not told apart. */
static void sums_of(struct gm_parts *p, struct gm_stream_id stream, uint32_t pool, struct gm_sums *sums[2])
{
    const uint16_t of_stream = stream_part(p, stream), of_pool = pool_part(p, pool);
    sums[0] = of_stream == NO_PART ? NULL : &p->streams.sums[of_stream];
    sums[1] = of_pool == NO_PART ? NULL : &p->pools.sums[of_pool];
}

static void add_reserved(struct gm_parts *p, struct gm_stream_id stream, uint32_t pool, gm_i128 bytes)
{
    struct gm_sums *sums[2];
    sums_of(p, stream, pool, sums);
    for (int k = 0; k < 2; k++)
        if (sums[k] != NULL)
            sums[k]->reserved += bytes;
}

static void start(struct gm_parts *p)
{
    const struct gm_trace_pass *pass = p->pass;
    const struct gm_history *h = &pass->history;
    const struct gm_segments *g = &pass->snapshot->segments;
    struct gm_sums *sums[2];
    for (size_t i = 0; i < g->count; i++)
        if (g->device[i] == h->device)
            add_reserved(p, g->stream[i], h->final_pool[i], g->total_size[i]);
    for (size_t i = 0; i < h->segment_count; i++)
        add_reserved(p, (struct gm_stream_id){h->segments[i].stream}, h->segments[i].pool,
                     -(gm_i128)gm_reserved_by(&h->snapshot->events, h->first + h->segments[i].event));
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, 0) || gm_is_hidden(pass, a))
            continue;
        sums_of(p, gm_history_stream(h, a), gm_pool_number(h, a), sums);
        for (int k = 0; k < 2; k++)
            if (sums[k] != NULL)
                gm_sums_hold(sums[k], h, a, 0);
    }
}

/* Whether all segments and events of the device are of one stream. */
static bool has_one_stream(const struct gm_trace_pass *pass)
{
    const struct gm_events *e = &pass->snapshot->events;
    const struct gm_segments *g = &pass->snapshot->segments;
    uint32_t first = pass->history.count > 0 ? gm_rare_at(&e->stream, pass->history.first) : 0;
    for (size_t i = 0; e->stream.v != NULL && i < pass->history.count; i++)
        if (e->stream.v[pass->history.first + i] != first)
            return false;
    for (size_t i = 0; i < g->count; i++)
        if (g->device[i] == pass->history.device && g->stream[i].v != first)
            return false;
    return true;
}

/* The device's columns, `merged` at a time, and its sums at the end, as those of its only stream. */
static void take_device(struct gm_parts *p)
{
    const struct gm_curve *curve = &p->pass->out->curve;
    for (size_t k = 0; k < curve->column_count; k++) {
        const struct gm_levels *high = &curve->columns[k].high;
        const struct gm_sums sums = {high->requested, high->allocated, high->active, high->reserved};
        raise(&p->streams.high[k / p->merged], &sums);
    }
    struct gm_sums *end = &p->streams.sums[0];
    memset(end, 0, sizeof *end);
    for (size_t i = 0; i < p->pools.count; i++) {
        end->requested += p->pools.sums[i].requested;
        end->allocated += p->pools.sums[i].allocated;
        end->active += p->pools.sums[i].active;
        end->reserved += p->pools.sums[i].reserved;
    }
}

/* A part that nobody has seen yet was never higher than 0. */
static void begin_column(struct list *list, size_t column)
{
    for (size_t i = 0; i < list->count; i++)
        list->high[i * COLUMNS + column] = list->sums[i];
}

static void walk(struct gm_parts *p)
{
    const struct gm_trace_pass *pass = p->pass;
    const struct gm_history *h = &pass->history;
    const struct gm_curve *curve = &pass->out->curve;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c = {.event = 0};
    size_t segment = 0;
    struct gm_stream_id stream = {0};
    bool is_more = gm_walk_next(&walk, &c);
    for (size_t column = 0; column < p->columns; column++) {
        size_t last = (column + 1) * p->merged < curve->column_count ? (column + 1) * p->merged : curve->column_count;
        uint64_t end = 0; /* the events before it belong to this column */
        for (size_t k = last; k > column * p->merged && end == 0; k--)
            if (curve->columns[k - 1].first_event <= curve->columns[k - 1].last_event)
                end = curve->columns[k - 1].last_event + 1;
        begin_column(&p->streams, column);
        begin_column(&p->pools, column);
        for (; is_more && c.event < end; is_more = gm_walk_next(&walk, &c)) {
            if (c.kind == GM_CHANGE_NONE)
                continue;
            const struct gm_history_segment *s = c.kind == GM_CHANGE_SEGMENT ? &h->segments[segment++] : NULL;
            if (!p->is_one_stream) {
                stream = s != NULL ? (struct gm_stream_id){s->stream} : gm_history_stream(h, c.allocation);
                apply(&p->streams, stream_part(p, stream), pass, &c, column);
            }
            apply(&p->pools, pool_part(p, s != NULL ? s->pool : gm_pool_number(h, c.allocation)), pass, &c, column);
        }
    }
}

/* ---- into the report -------------------------------------------------------------------------------------------- */

GM_ORDERING(by_reserved, struct gm_part,
            GM_DOWN(peak.reserved) || GM_DOWN(peak.active) || GM_BY(strcmp(a->name, b->name)));

static bool publish(const struct gm_parts *p, struct list *list, const struct gm_part **out, size_t *count)
{
    struct gm_arena *arena = &p->pass->report->arena;
    size_t n = 0;
    struct gm_part *parts = gm_arena_calloc(arena, list->count, sizeof *parts);
    if (parts == NULL)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        struct gm_part *part = &parts[n];
        struct gm_levels *columns = gm_arena_calloc(arena, p->columns, sizeof *columns);
        *part = list->told[i];
        if (columns == NULL || part->name == NULL)
            return false;
        for (size_t k = 0; k < p->columns; k++) {
            columns[k] = gm_sums_told(&list->high[i * COLUMNS + k]);
            raise(&list->peak[i], &list->high[i * COLUMNS + k]);
        }
        part->peak = gm_sums_told(&list->peak[i]);
        part->at_end = gm_sums_told(&list->sums[i]);
        part->columns = columns;
        part->column_count = p->columns;
        n += part->peak.active > 0 || part->peak.reserved > 0;
    }
    GM_SORT(parts, n, by_reserved);
    *out = parts;
    *count = n;
    return true;
}

static bool name(struct gm_parts *p)
{
    struct gm_arena *arena = &p->pass->report->arena;
    const struct gm_history *h = &p->pass->history;
    for (size_t i = 0; i < p->streams.count; i++)
        p->streams.told[i].name = gm_arena_printf(arena, "stream %lld", (long long)p->streams.told[i].stream);
    for (size_t i = 0; i < p->pools.count; i++) {
        const struct gm_history_pool *pool = &h->pools[i];
        const char *kind = pool->is_small ? "small" : "large";
        struct gm_part *part = &p->pools.told[i];
        part->id_first = pool->id_first == GM_ABSENT ? GM_REPORT_NONE : pool->id_first;
        part->id_second = pool->id_second == GM_ABSENT ? GM_REPORT_NONE : pool->id_second;
        part->is_small = pool->is_small;
        if (pool->id_first == GM_ABSENT)
            part->name = gm_arena_printf(arena, "outside all segments, %s", kind);
        else
            part->name = gm_history_pool_name(arena, pool);
    }
    return true;
}

bool gm_trace_part_levels(struct gm_trace_pass *pass)
{
    const struct gm_curve *curve = &pass->out->curve;
    const size_t streams = (size_t)pass->snapshot->stream_count + 1;
    if (!pass->history.is_reconstructed || curve->column_count == 0)
        return true;
    struct gm_parts *p = pass->parts = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->pass = pass;
    p->merged = (curve->column_count + COLUMNS - 1) / COLUMNS;
    p->columns = (curve->column_count + p->merged - 1) / p->merged;
    p->of_stream = malloc(streams * sizeof *p->of_stream);
    p->streams.high = calloc(gm_min(streams, PARTS) * COLUMNS, sizeof *p->streams.high);
    p->pools.high = calloc(gm_min(pass->history.pool_count + 1, PARTS) * COLUMNS, sizeof *p->pools.high);
    if (p->of_stream == NULL || p->streams.high == NULL || p->pools.high == NULL)
        return false;
    memset(p->of_stream, 0xFF, streams * sizeof *p->of_stream);
    p->is_one_stream = pass->history.pool_count < PARTS && has_one_stream(pass);
    start(p);
    walk(p);
    if (p->is_one_stream && p->streams.count == 1)
        take_device(p);
    return true;
}

bool gm_trace_parts(struct gm_trace_pass *pass)
{
    struct gm_parts *p = pass->parts;
    const bool ok = p == NULL || (name(p) && publish(p, &p->streams, &pass->out->streams, &pass->out->stream_count) &&
                                  publish(p, &p->pools, &pass->out->pools, &pass->out->pool_count));
    gm_trace_forget_parts(pass);
    return ok;
}

void gm_trace_forget_parts(struct gm_trace_pass *pass)
{
    struct gm_parts *p = pass->parts;
    if (p == NULL)
        return;
    GM_FREE_ALL(p->of_stream, p->streams.high, p->pools.high, p);
    pass->parts = NULL;
}
