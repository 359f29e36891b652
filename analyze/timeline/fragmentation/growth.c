/* SPDX-License-Identifier: Apache-2.0
 *
 * Fragmentation over time: why reserved memory grew although some of it was free, how much was free along the run, and
 * the parts that have files of their own. What the address space looked like was noted by watch.c.
 */
#include "analyze/base/arithmetic.h"

#include "analyze/base/order.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

#include <stdlib.h>
#include <string.h>

/* ---- churn ------------------------------------------------------------------------------------------------------ */

/* Churn: allocations that were made and freed in the trace, by call site. A temporary is one that was freed before any
 * other allocation was made on the device: its memory could have served the one before. Allocations are numbered in
 * the order in which they were made, so one walk over them is enough. */

enum { LIVES = 4096 }; /* of a call site that are looked at for the median: all, or each k-th */

struct churn {
    struct gm_trace_pass *pass;
    struct gm_site_sums sites; /* v: how many, their bytes, how many are temporary */
    uint32_t *row_of_group;    /* [group + 1] row of the table, + 1; 0: none */
};

/* Made and freed in the window that is reported on; not one whose free is missing. */
static bool is_churn(const struct gm_trace_pass *pass, uint32_t a)
{
    const struct gm_history *h = &pass->history;
    return h->born[a] > pass->from && h->freed[a] != GM_NEVER && h->freed[a] <= pass->to &&
           h->of_event[h->freed[a] - 1] == a && !gm_is_hidden(pass, a);
}

static void count_one(struct churn *c, uint32_t a, bool is_temporary, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &c->pass->history;
    uint64_t *v = c->sites.of_stack[gm_stack_of(h, a)];
    v[0]++;
    v[1] = gm_known_add(v[1], gm_requested(h, a));
    v[2] += is_temporary;
    out->temporary_allocs += is_temporary;
    out->temporary_bytes = gm_known_add(out->temporary_bytes, is_temporary ? gm_requested(h, a) : 0);
}

static void count_all(struct churn *c, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &c->pass->history;
    uint32_t before = GM_NEVER; /* the allocation made last */
    for (uint32_t a = 0; a < h->allocation_count; a++) {
        if (h->born[a] == 0)
            continue;
        if (before != GM_NEVER && is_churn(c->pass, before))
            count_one(c, before, gm_let_go(h, before) < h->born[a], out);
        before = a;
    }
    if (before != GM_NEVER && is_churn(c->pass, before))
        count_one(c, before, true, out);
}

/* ---- how long they live ------------------------------------------------------------------------------------------ */

struct lives {
    uint64_t *v; /* of all rows */
    size_t first, n;
    uint64_t every, seen; /* each `every`-th is taken */
};

static void collect(struct churn *c, struct lives *lives)
{
    const struct gm_history *h = &c->pass->history;
    for (uint32_t a = 0; a < h->allocation_count; a++) {
        const uint32_t row = c->row_of_group[c->sites.grouping.of_stack[gm_stack_of(h, a)]];
        if (row == 0 || !is_churn(c->pass, a))
            continue;
        struct lives *l = &lives[row - 1];
        if (l->seen++ % l->every != 0)
            continue;
        uint64_t life = gm_time_between(h, h->born[a] - 1, gm_let_go(h, a) - 1);
        if (life != GM_REPORT_NONE)
            l->v[l->first + l->n++] = life;
    }
}

/* The one of n numbers that `before` others come before, if they are sorted: byte by byte, from the highest. */
static uint64_t find_nth(const uint64_t *v, size_t n, size_t before)
{
    uint64_t found = 0;
    for (unsigned shift = 64; shift > 0;) {
        size_t counts[256] = {0}, byte = 0;
        for (size_t i = 0; i < n; i++)
            if (shift == 64 || (v[i] ^ found) >> shift == 0)
                counts[v[i] >> (shift - 8) & 255]++;
        for (shift -= 8; before >= counts[byte]; byte++)
            before -= counts[byte];
        found |= (uint64_t)byte << shift;
    }
    return found;
}

/* The median life of each row; the lower of the two middle ones. */
static bool find_medians(struct churn *c, struct gm_site_stat *rows, size_t n)
{
    size_t room = 0;
    GM_FREED struct lives *lives = calloc(n + 1, sizeof *lives);
    for (size_t i = 0; lives != NULL && i < n; i++) {
        lives[i].every = rows[i].allocs / LIVES + (rows[i].allocs % LIVES != 0);
        lives[i].first = room;
        room += (size_t)(rows[i].allocs / lives[i].every) + 1;
    }
    GM_FREED uint64_t *v = malloc((room + 1) * sizeof *v);
    if (lives == NULL || v == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        lives[i].v = v;
    collect(c, lives);
    for (size_t i = 0; i < n; i++)
        if (lives[i].n > 0)
            rows[i].median_life_us = find_nth(v + lives[i].first, lives[i].n, (lives[i].n - 1) / 2);
    return true;
}

/* The first rows of a table by call site; bytes are v[1]. NULL: no memory. */
static struct gm_site_stat *site_stats(const struct gm_site_sums *sites, size_t n)
{
    struct gm_trace_pass *pass = sites->grouping.pass;
    struct gm_site_stat *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < n; i++) {
        const struct gm_site_sum *sum = &sites->rows.v[i];
        rows[i] = (struct gm_site_stat){.site = sum->site, .bytes = sum->v[1], .median_life_us = GM_REPORT_NONE};
        if (!gm_category_of_stack(pass, sum->stack, &rows[i].category, &rows[i].color))
            return NULL;
    }
    return rows;
}

static bool fill_churn(struct churn *c, struct gm_fragmentation_history *out)
{
    struct gm_site_sums *sites = &c->sites;
    const size_t n = gm_site_sums_top(sites, c->pass->options->top);
    struct gm_site_stat *rows = site_stats(sites, n);
    c->row_of_group = calloc(sites->rows.n + 2, sizeof *c->row_of_group);
    const bool ok = rows != NULL && c->row_of_group != NULL;
    for (size_t i = 0; ok && i < n; i++) { /* sorted, they tell of what group they are by what it is called */
        const struct gm_site_sum *sum = &sites->rows.v[i];
        rows[i].allocs = sum->v[0];
        rows[i].temporary_allocs = sum->v[2];
        c->row_of_group[sites->grouping.of_stack[sum->stack]] = (uint32_t)i + 1;
    }
    out->churn = rows;
    out->churn_count = n;
    return ok && find_medians(c, rows, n);
}

static bool fragmentation_churn(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    struct churn c = {.pass = pass};
    bool ok = gm_site_sums_start(&c.sites, pass);
    if (ok)
        count_all(&c, out);
    ok = ok && gm_site_sums_add_up(&c.sites) && fill_churn(&c, out);
    gm_site_sums_free(&c.sites);
    free(c.row_of_group);
    return ok;
}

enum { MOST_ROWS = 1000, MOST_POOLS = 32 };

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

/* Bytes by which blocks are larger than what was asked for, by call site, at the peak of active bytes. */

static bool fragmentation_rounding(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &pass->history;
    GM_FREED_BY(gm_site_sums_free) struct gm_site_sums sites = {0}; /* v: bytes wasted, of so many, in so many blocks */
    if (!gm_site_sums_start(&sites, pass))
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!gm_history_is_active(h, a, pass->peak_active_moment) || gm_is_hidden(pass, a))
            continue;
        uint64_t *v = sites.of_stack[gm_stack_of(h, a)];
        const uint64_t waste = gm_sat_sub(gm_block_bytes(h, a), gm_requested(h, a));
        v[0] = gm_known_add(v[0], waste);
        v[1] = gm_known_add(v[1], gm_block_bytes(h, a));
        v[2]++;
        out->rounding_bytes = gm_known_add(out->rounding_bytes, waste);
    }
    if (!gm_site_sums_add_up(&sites))
        return false;
    const size_t n = gm_site_sums_top(&sites, pass->options->top);
    struct gm_site_stat *rows = site_stats(&sites, n);
    for (size_t i = 0; rows != NULL && i < n; i++) {
        rows[i].waste = sites.rows.v[i].v[0];
        rows[i].allocs = sites.rows.v[i].v[2];
    }
    out->rounding = rows;
    out->rounding_count = n;
    return rows != NULL;
}

/* ---- pinners ----------------------------------------------------------------------------------------------------- */

/* The blocks that kept most cached bytes from going back (noted by pinners.c), in words. */
GM_ORDERING(by_pinned, struct gm_watch_pin, GM_DOWN(bytes) || GM_UP(allocation));

static bool fragmentation_pinners(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &pass->history;
    struct gm_watch *w = pass->watch;
    size_t n = pass->options->top < w->pin_count ? pass->options->top : w->pin_count;
    struct gm_pinner_row *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    bool ok = rows != NULL;
    GM_SORT(w->pins, w->pin_count, by_pinned);
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_watch_pin *pin = &w->pins[i];
        uint32_t a = pin->allocation, born = h->born[a];
        rows[i] = (struct gm_pinner_row){.site = gm_names_site(pass->names, (struct gm_stack_id){gm_stack_of(h, a)}),
                                         .bytes = gm_block_bytes(h, a),
                                         .requested = gm_requested(h, a),
                                         .address = gm_history_address(h, a),
                                         .pinned_bytes = pin->bytes,
                                         .event = gm_event_of_moment(pin->moment),
                                         .age_events = born == 0 ? GM_REPORT_NONE : pin->moment - born,
                                         .age_us = GM_REPORT_NONE};
        if (born > 0 && pin->moment > 0)
            rows[i].age_us = gm_time_between(h, born - 1, pin->moment - 1);
        ok = rows[i].site != NULL && gm_category_of_stack(pass, gm_stack_of(h, a), &rows[i].category, &rows[i].color);
    }
    out->pinners = rows;
    out->pinner_count = n;
    return ok;
}

/* ---- growths ----------------------------------------------------------------------------------------------------- */

static bool begins(const struct gm_history *h, uint32_t event)
{
    const uint8_t *action = h->snapshot->events.action + h->first;
    return action[event] == GM_ACTION_SEGMENT_ALLOC ||
           (action[event] == GM_ACTION_SEGMENT_MAP && (event == 0 || action[event - 1] != GM_ACTION_SEGMENT_MAP));
}

/* The driver may have refused: segments went back directly before, in the same operation. That is seen by the stack, so
 * it is false for events without one. */
static bool may_be_retry(const struct gm_history *h, uint32_t first)
{
    const struct gm_events *e = &h->snapshot->events;
    uint32_t stack = gm_event_stack(e, h->first + first).v;
    return first > 0 && stack != 0 && gm_action_is_release(e->action[h->first + first - 1]) &&
           gm_event_stack(e, h->first + first - 1).v == stack;
}

/* The stack of the request, else of the first event; absent if neither has one. */
static struct gm_stack_id stack_of(const struct gm_history *h, const struct gm_pool_growth *growth)
{
    const struct gm_events *e = &h->snapshot->events;
    if (growth->request != GM_NEVER && gm_event_stack(e, h->first + growth->request).v != 0)
        return gm_event_stack(e, h->first + growth->request);
    return gm_event_stack(e, h->first + growth->first);
}

/* Which growth it is: the largest are told. */
struct sized {
    uint64_t bytes;
    uint32_t first;
    bool is_retry;
    uint64_t before, after; /* reserved bytes, before segments went back directly before it; 0: not known */
};

GM_ORDERING(by_bytes, struct sized, GM_DOWN(bytes) || GM_UP(first));

/* The pool that a segment event's range was entered in. */
static const struct gm_history_pool *pool_of(const struct gm_history *h, uint32_t event)
{
    return &h->pools[gm_history_segment_pool(h, event)];
}

/* Bytes of avoidable growths so far. Without them that much less would be cached, so no cached byte avoids two. */
struct avoided {
    size_t n;
    struct {
        const struct gm_history_pool *pool;
        uint32_t stream;
        uint64_t bytes;
    } v[MOST_POOLS];
};

static uint64_t *avoided_of(struct avoided *avoided, const struct gm_history_pool *pool, uint32_t stream)
{
    size_t i = 0;
    while (i < avoided->n && (avoided->v[i].pool != pool || avoided->v[i].stream != stream))
        i++;
    if (i == MOST_POOLS)
        return NULL;
    if (i == avoided->n) {
        avoided->v[i].pool = pool;
        avoided->v[i].stream = stream;
        avoided->v[i].bytes = 0;
        avoided->n++;
    }
    return &avoided->v[i].bytes;
}

/* Whether the request could have been served if the cached bytes of its pool and stream had been in one piece. */
static bool is_avoidable(struct avoided *avoided, const struct gm_pool_growth *g, const struct gm_history_pool *pool,
                         uint64_t cached)
{
    uint64_t *bytes = avoided_of(avoided, pool, g->stream);
    if (bytes == NULL)
        return false;
    *bytes = *bytes < cached ? *bytes : cached; /* some of it went back */
    if (cached - *bytes < g->asked)
        return false;
    *bytes = gm_known_add(*bytes, g->bytes);
    return true;
}

static void count_growth(const struct gm_trace_pass *pass, const struct gm_pool_growth *g,
                         const struct gm_watch_look *look, struct avoided *avoided,
                         struct gm_fragmentation_history *out)
{
    out->growth_total++;
    out->growth_bytes = gm_known_add(out->growth_bytes, g->bytes);
    if (look == NULL || g->asked == GM_REPORT_NONE)
        return;
    const struct gm_history_pool *pool = pool_of(&pass->history, g->first);
    struct gm_unusable_sums sums = gm_unusable_of(pass->watch, look, pool);
    if (sums.right == GM_REPORT_NONE)
        return;
    out->growths_examined++;
    if (is_avoidable(avoided, g, pool, sums.right)) {
        out->growths_avoidable++;
        out->growth_avoidable_bytes = gm_known_add(out->growth_avoidable_bytes, g->bytes);
    }
}

/* What a retry asked the driver for cannot be much less than what it gave at another time: an operation that gives
 * memory back by itself on a device that is not full is no retry (cuDNN's search for the fastest algorithm ends so).
 * The sixteenth is what other libraries and processes take and give meanwhile. Returns how many are left.
 */
static uint64_t keep_retries(struct sized *all, size_t n)
{
    uint64_t most = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        most = gm_max(most, gm_max(all[i].before, all[i].after));
    for (size_t i = 0; i < n; i++) {
        all[i].is_retry = all[i].is_retry && gm_sat_add(all[i].before, all[i].bytes) >= most - most / 16;
        count += all[i].is_retry;
    }
    return count;
}

static bool fill_growth(struct gm_trace_pass *pass, struct gm_growth_row *row, const struct gm_pool_growth *g,
                        bool is_retry)
{
    const struct gm_history *h = &pass->history;
    const struct gm_watch_look *look = h->is_reconstructed ? gm_watch_growth(pass->watch, g->first) : NULL;
    const struct gm_history_pool *pool = pool_of(h, g->first);
    struct gm_unusable_sums sums;
    bool ok = true;
    memset(&sums, 0xFF, sizeof sums); /* GM_REPORT_NONE everywhere */
    if (look != NULL)
        sums = gm_unusable_of(pass->watch, look, pool);
    *row = (struct gm_growth_row){.event = g->first,
                                  .time_us = gm_history_time(h, g->first),
                                  .bytes = g->bytes,
                                  .asked = g->asked,
                                  .pool = gm_history_pool_name(&pass->report->arena, pool),
                                  .stream = gm_stream_handle(pass->snapshot, g->stream),
                                  .site = gm_site_or_null(pass, stack_of(h, g), &ok),
                                  .cached = look == NULL ? GM_REPORT_NONE : look->reserved - look->active,
                                  .largest_hole = sums.largest_hole,
                                  .pending = look == NULL ? GM_REPORT_NONE : look->pending,
                                  .is_first = sums.right == 0,
                                  .is_retry = is_retry};
    memcpy(row->unusable, sums.by_reason, sizeof row->unusable);
    return ok && row->pool != NULL;
}

static bool publish_growths(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &pass->history;
    GM_FREED struct GM_VEC(struct sized) all = {0};
    struct avoided avoided = {0};
    bool ok = true;
    const uint8_t *action = h->snapshot->events.action + h->first;
    bool went_back = false;
    uint64_t back = 0; /* bytes, by the events directly before */
    for (uint32_t i = 0; ok && i < h->count && out->driver_allocs > 0; i++) {
        const bool goes_back = gm_action_is_release(action[i]);
        went_back |= goes_back;
        if (!begins(h, i)) {
            const uint64_t size = goes_back ? gm_event_size(&h->snapshot->events, h->first + i) : GM_ABSENT;
            back = size != GM_ABSENT ? gm_sat_add(back, size) : 0;
            continue;
        }
        out->driver_cycles += went_back;
        went_back = false;
        struct gm_pool_growth g = gm_growth_at(h, &pass->watch->rules, i);
        const struct gm_watch_look *look = h->is_reconstructed ? gm_watch_growth(pass->watch, i) : NULL;
        count_growth(pass, &g, look, &avoided, out);
        const bool had_room = pass->watch->rules.max_split == UINT64_MAX && gm_history_had_room(h, i, g.bytes);
        struct sized sized = {.bytes = g.bytes, .first = i, .is_retry = may_be_retry(h, i) && !had_room};
        if (look != NULL) {
            sized.before = gm_sat_add(look->reserved, back);
            sized.after = gm_sat_add(look->reserved, g.bytes);
        }
        back = 0;
        ok = GM_VEC_PUSH(&all, sized);
    }
    out->retries = keep_retries(all.v, all.n);
    GM_SORT(all.v, all.n, by_bytes);
    const size_t n = gm_min(all.n, gm_min(pass->options->top, MOST_ROWS));
    struct gm_growth_row *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    ok = ok && rows != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_pool_growth growth = gm_growth_at(h, &pass->watch->rules, all.v[i].first);
        ok = fill_growth(pass, &rows[i], &growth, all.v[i].is_retry);
    }
    out->growths = rows;
    out->growth_count = n;
    return ok;
}

static bool publish_samples(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    const struct gm_watch *w = pass->watch;
    struct gm_fragmentation_sample *rows = gm_arena_calloc(&pass->report->arena, w->samples.n, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < w->samples.n; i++) {
        const struct gm_watch_sample *s = &w->samples.v[i];
        uint64_t event = gm_event_of_moment(s->moment);
        rows[i] = (struct gm_fragmentation_sample){.event = event,
                                                   .time_us = gm_history_time(&pass->history, event),
                                                   .largest_free = s->largest_free,
                                                   .cached = s->cached,
                                                   .stranded = s->stranded};
    }
    out->samples = rows;
    out->sample_count = rows == NULL ? 0 : w->samples.n;
    return rows != NULL;
}

bool gm_trace_fragmentation(struct gm_trace_pass *pass)
{
    const struct gm_trace_counts *trace = &pass->report->devices[pass->index].trace;
    struct gm_fragmentation_history *out = &pass->out->fragmentation;
    *out = (struct gm_fragmentation_history){.driver_allocs = trace->segment_allocs + trace->segment_maps,
                                             .driver_frees = trace->segment_frees + trace->segment_unmaps};
    if (pass->watch->has_no_memory || !publish_growths(pass, out) || !fragmentation_churn(pass, out))
        return false;
    return !pass->history.is_reconstructed ||
           (publish_samples(pass, out) && fragmentation_pinners(pass, out) && fragmentation_rounding(pass, out));
}
