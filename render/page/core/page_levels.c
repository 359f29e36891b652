/* SPDX-License-Identifier: Apache-2.0 */
#include "render/page/core/page_levels.h"

#include "analyze/base/bisect.h"

#include <math.h>

/* Moments between two states that are kept; moments in a block, blocks in a block above; heights of the tree. */
enum { KEPT_EVERY = 64, FAN = 32, HEIGHTS = 6 };

struct gm_page_levels {
    uint32_t moments;
    uint64_t *active, *reserved; /* [moments] */
    uint32_t *highest[HEIGHTS];  /* [blocks] moment with the most active bytes; NULL: not that high */
    uint64_t *most[HEIGHTS];     /* [blocks] reserved bytes */
    struct gm_page_sums *kept;   /* [moments / KEPT_EVERY + 1] */
    double *clock;               /* [moments] microseconds since the first event; never falling. NULL: no times */
};

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static struct gm_page_sums sums_at_start(const struct gm_history *h)
{
    struct gm_page_sums s = {0};
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, 0)) {
            s.requested += gm_requested(h, a);
            s.active += gm_block_bytes(h, a);
            s.allocated += gm_let_go(h, a) != 0 ? gm_block_bytes(h, a) : 0;
        }
    return s;
}

static inline void apply(struct gm_page_sums *s, const struct gm_history *h, const struct gm_change *c)
{
    const uint32_t a = c->allocation;
    if (c->kind == GM_CHANGE_ALLOC) {
        s->requested += gm_requested(h, a);
        s->allocated += gm_block_bytes(h, a);
        s->active += gm_block_bytes(h, a);
    } else if (c->kind == GM_CHANGE_LET_GO) {
        s->allocated -= gm_block_bytes(h, a);
    } else if (c->kind == GM_CHANGE_FREE) {
        s->requested -= gm_requested(h, a);
        s->active -= gm_block_bytes(h, a);
        s->allocated -= gm_let_go(h, a) == c->event + 1 ? gm_block_bytes(h, a) : 0;
    }
}

/* From moment `moment` on. */
static struct gm_walk walk_from(const struct gm_history *h, uint32_t moment)
{
    struct gm_walk walk = gm_walk_start(h);
    walk.event = moment;
    GM_BISECT(walk.replaced, h->replaced_count, i, h->replaced[i].event < moment);
    return walk;
}

/* What the trace added to the reserved bytes, of those that the snapshot has. */
static uint64_t reserved_at_start(const struct gm_history *h, uint64_t at_end)
{
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    while (gm_walk_next(&walk, &c))
        at_end -= c.kind == GM_CHANGE_SEGMENT ? (uint64_t)c.reserved : 0;
    return at_end;
}

static void walk_all(struct gm_page_levels *l, const struct gm_history *h, uint64_t reserved)
{
    struct gm_page_sums sums = sums_at_start(h);
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    l->active[0] = sums.active;
    l->reserved[0] = reserved;
    l->kept[0] = sums;
    while (gm_walk_next(&walk, &c)) {
        apply(&sums, h, &c);
        reserved += c.kind == GM_CHANGE_SEGMENT ? (uint64_t)c.reserved : 0;
        l->active[c.event + 1] = sums.active;
        l->reserved[c.event + 1] = reserved;
        if ((c.event + 1) % KEPT_EVERY == 0)
            l->kept[(c.event + 1) / KEPT_EVERY] = sums;
    }
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

static inline uint32_t higher(const struct gm_page_levels *l, uint32_t a, uint32_t b)
{
    return l->active[b] > l->active[a] ? b : a;
}

/* The first and the most of [from, to). */
static void scan(const struct gm_page_levels *l, int height, uint32_t from, uint32_t to, uint32_t *highest,
                 uint64_t *most)
{
    for (uint32_t i = from; i < to; i++) {
        const uint32_t moment = height < 0 ? i : l->highest[height][i];
        const uint64_t reserved = height < 0 ? l->reserved[i] : l->most[height][i];
        *highest = higher(l, *highest, moment);
        *most = reserved > *most ? reserved : *most;
    }
}

static bool grow_tree(struct gm_arena *arena, struct gm_page_levels *l)
{
    uint32_t below = l->moments;
    for (int height = 0; height < HEIGHTS && below > FAN; height++) {
        const uint32_t blocks = (below + FAN - 1) / FAN;
        uint32_t *highest = gm_arena_calloc(arena, blocks, sizeof *highest);
        uint64_t *most = gm_arena_calloc(arena, blocks, sizeof *most);
        if (highest == NULL || most == NULL)
            return false;
        for (uint32_t b = 0; b < blocks; b++) {
            const uint32_t first = b * FAN, end = below - first < FAN ? below : first + FAN;
            highest[b] = height == 0 ? first : l->highest[height - 1][first];
            scan(l, height - 1, first, end, &highest[b], &most[b]);
        }
        l->highest[height] = highest;
        l->most[height] = most;
        below = blocks;
    }
    return true;
}

/* [from, to]: up the tree as long as whole blocks lie between, with what is left at both ends. The right ends are
 * looked at last, so that the first of equal moments is found. */
static void look(const struct gm_page_levels *l, uint32_t from, uint32_t to, uint32_t *highest, uint64_t *most)
{
    uint32_t right_from[HEIGHTS + 1], right_to[HEIGHTS + 1], end = to + 1;
    int height = -1, rights = 0;
    *highest = from;
    *most = 0;
    for (uint32_t at = from;;) {
        const bool is_top = height + 1 == HEIGHTS || l->highest[height + 1] == NULL || end - at <= 2 * FAN;
        const uint32_t whole = is_top ? end : (at + FAN - 1) / FAN * FAN; /* before `end` */
        scan(l, height, at, whole, highest, most);
        if (is_top)
            break;
        right_from[rights] = end / FAN * FAN;
        right_to[rights++] = end;
        at = whole / FAN;
        end /= FAN;
        height++;
    }
    while (rights-- > 0)
        scan(l, --height, right_from[rights], right_to[rights], highest, most);
}

uint32_t gm_page_moments(const struct gm_page_device *d)
{
    return d->levels->moments;
}

uint32_t gm_page_highest(const struct gm_page_device *d, uint32_t from, uint32_t to)
{
    uint32_t highest;
    uint64_t most;
    look(d->levels, from, to, &highest, &most);
    return highest;
}

uint64_t gm_page_most_reserved(const struct gm_page_device *d, uint32_t from, uint32_t to)
{
    uint32_t highest;
    uint64_t most;
    look(d->levels, from, to, &highest, &most);
    return most;
}

uint64_t gm_page_active(const struct gm_page_device *d, uint32_t moment)
{
    return d->levels->active[moment];
}

uint64_t gm_page_reserved(const struct gm_page_device *d, uint32_t moment)
{
    return d->levels->reserved[moment];
}

/* ---- the axis ---------------------------------------------------------------------------------------------------- */

/* Time that runs backwards stands still. */
static bool find_clock(struct gm_arena *arena, struct gm_page_levels *l, const struct gm_page_device *d)
{
    if (d->timeline == NULL || !d->timeline->curve.has_times)
        return true;
    const double start = (double)d->timeline->curve.start_us;
    l->clock = gm_arena_calloc(arena, l->moments, sizeof *l->clock);
    for (uint32_t m = 1; l->clock != NULL && m < l->moments; m++)
        l->clock[m] = fmax(l->clock[m - 1], (double)gm_history_time(d->h, m - 1) - start);
    return l->clock != NULL;
}

bool gm_page_has_times(const struct gm_page_device *d)
{
    return d->levels->clock != NULL;
}

double gm_page_place(const struct gm_page_device *d, uint32_t axis, uint32_t moment)
{
    return axis == GM_PAGE_BY_TIME && d->levels->clock != NULL ? d->levels->clock[moment] : (double)moment;
}

uint32_t gm_page_moment_at(const struct gm_page_device *d, uint32_t axis, double place)
{
    const struct gm_page_levels *l = d->levels;
    if (!(place > 0))
        place = 0;
    if (axis != GM_PAGE_BY_TIME || l->clock == NULL)
        return place >= (double)l->moments ? l->moments - 1 : (uint32_t)place;
    size_t after = 0;
    GM_BISECT(after, l->moments, i, l->clock[i] <= place);
    return after == 0 ? 0 : (uint32_t)after - 1;
}

/* The state that lasts from before, and what happens up to the next column. */
struct gm_page_column gm_page_column_of(const struct gm_page_device *d, uint32_t axis, double from, double to)
{
    struct gm_page_column c = {.first = gm_page_moment_at(d, axis, from), .last = gm_page_moment_at(d, axis, to)};
    if (c.last > c.first && gm_page_place(d, axis, c.last) >= to && c.last + 1 < d->levels->moments)
        c.last--; /* it is the next column's */
    c.at = gm_page_highest(d, c.first, c.last);
    return c;
}

/* ---- sums at a moment -------------------------------------------------------------------------------------------- */

struct gm_page_sums gm_page_sums_at(const struct gm_page_device *d, uint32_t moment,
                                    const struct gm_page_layers *layers, uint64_t *bytes)
{
    const uint32_t kept = moment / KEPT_EVERY, n = layers == NULL ? 0 : layers->count;
    struct gm_page_sums sums = d->levels->kept[kept];
    struct gm_walk walk = walk_from(d->h, kept * KEPT_EVERY);
    struct gm_change c;
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = layers->kept[(size_t)kept * n + i];
    while (walk.event < moment && gm_walk_next(&walk, &c)) {
        apply(&sums, d->h, &c);
        if (n > 0 && c.kind == GM_CHANGE_ALLOC)
            bytes[layers->of[c.allocation]] += gm_block_bytes(d->h, c.allocation);
        else if (n > 0 && c.kind == GM_CHANGE_FREE)
            bytes[layers->of[c.allocation]] -= gm_block_bytes(d->h, c.allocation);
    }
    return sums;
}

bool gm_page_keep_layers(struct gm_opened *o, const struct gm_page_device *d, struct gm_page_layers *layers)
{
    const uint32_t n = layers->count;
    const struct gm_history *h = d->h;
    uint64_t now[GM_PAGE_MOST_LAYERS] = {0};
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    if (layers->kept == NULL)
        layers->kept =
            gm_arena_calloc(&o->arena, ((size_t)d->levels->moments / KEPT_EVERY + 1) * n, sizeof *layers->kept);
    if (layers->kept == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, 0))
            now[layers->of[a]] += gm_block_bytes(h, a);
    for (uint32_t i = 0; i < n; i++)
        layers->kept[i] = now[i];
    while (gm_walk_next(&walk, &c)) {
        if (c.kind == GM_CHANGE_ALLOC)
            now[layers->of[c.allocation]] += gm_block_bytes(h, c.allocation);
        else if (c.kind == GM_CHANGE_FREE)
            now[layers->of[c.allocation]] -= gm_block_bytes(h, c.allocation);
        const uint32_t moment = c.event + 1;
        for (uint32_t i = 0; moment % KEPT_EVERY == 0 && i < n; i++)
            layers->kept[(size_t)(moment / KEPT_EVERY) * n + i] = now[i];
    }
    return true;
}

struct gm_page_range gm_page_layer_range(const struct gm_page_device *d, const struct gm_page_layers *layers,
                                         uint32_t i)
{
    enum { STATES = 1500 }; /* as columns of the picture, whose order this is */
    const size_t n = (size_t)d->levels->moments / KEPT_EVERY + 1, step = n / STATES + 1;
    struct gm_page_range range = {0};
    for (size_t k = 0; k < n; k += step) {
        const uint64_t bytes = layers->kept[k * layers->count + i],
                       before = k == 0 ? bytes : layers->kept[(k - step) * layers->count + i];
        range.most = bytes > range.most ? bytes : range.most;
        range.change += (double)gm_gap(bytes, before);
    }
    return range;
}

bool gm_page_find_levels(struct gm_opened *o, struct gm_page_device *d)
{
    const size_t moments = d->h->count + 1;
    struct gm_page_levels *l = gm_arena_calloc(&o->arena, 1, sizeof *l);
    if (l == NULL)
        return false;
    l->moments = (uint32_t)moments;
    l->active = gm_arena_calloc(&o->arena, moments, sizeof *l->active);
    l->reserved = gm_arena_calloc(&o->arena, moments, sizeof *l->reserved);
    l->kept = gm_arena_calloc(&o->arena, moments / KEPT_EVERY + 1, sizeof *l->kept);
    if (l->active == NULL || l->reserved == NULL || l->kept == NULL)
        return false;
    d->levels = l;
    const size_t index = (size_t)(d - o->devices);
    walk_all(l, d->h, reserved_at_start(d->h, o->judged.report.devices[index].totals.reserved));
    return grow_tree(&o->arena, l) && find_clock(&o->arena, l, d);
}
