/* SPDX-License-Identifier: Apache-2.0
 *
 * Single allocations as bars, stacked by age: what was made later lies above, and comes down when something below it
 * goes.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "render/page/core/page_levels.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BARS = 8192, MOST_POINTS = 4 << 20 };

struct bar {
    uint32_t id, born, freed;
    uint64_t bytes, y; /* y: of its lower edge, as it was told last */
    uint32_t last_point;
};
struct point {
    uint32_t bar, next; /* next point of the same bar, + 1 */
    uint32_t moment;
    uint64_t y;
};
struct end { /* a bar comes or goes */
    uint32_t moment, bar;
    bool is_born;
};
struct bars {
    const struct gm_page_device *d;
    struct GM_VEC(struct bar) bars;
    struct GM_VEC(struct end) ends;
    struct GM_VEC(uint32_t) stack; /* bars that live, from below */
    struct GM_VEC(struct point) points;
    uint32_t *first_point; /* [bar] + 1 */
};

/* ---- which ones -------------------------------------------------------------------------------------------------- */

static bool is_smaller(const struct bar *a, const struct bar *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->id > b->id;
}

/* A heap whose top is the smallest. */
static void sift(struct bar *heap, size_t n, size_t i)
{
    const struct bar moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        child += child + 1 < n && is_smaller(&heap[child + 1], &heap[child]);
        if (!is_smaller(&heap[child], &moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

static bool choose(struct bars *b, uint32_t from, uint32_t to, double min_bytes, size_t limit, uint32_t *left_out)
{
    const struct gm_history *h = b->d->h;
    if (!GM_VEC_ROOM(&b->bars, limit + 1))
        return false;
    for (uint32_t a = 0; a < h->allocation_count; a++) {
        const struct bar bar = {.id = a, .born = h->born[a], .freed = h->freed[a], .bytes = gm_block_bytes(h, a)};
        if (bar.born > to || bar.freed <= from)
            continue;
        if ((double)bar.bytes < min_bytes || (b->bars.n == limit && !is_smaller(&b->bars.v[0], &bar))) {
            ++*left_out;
        } else if (b->bars.n == limit) {
            ++*left_out;
            b->bars.v[0] = bar;
            sift(b->bars.v, limit, 0);
        } else {
            b->bars.v[b->bars.n++] = bar;
            for (size_t i = limit == b->bars.n ? limit / 2 : 0; i-- > 0;)
                sift(b->bars.v, limit, i);
        }
    }
    return true;
}

GM_ORDERING(by_age, struct bar, GM_UP(born) || GM_UP(id));

/* ---- where they lie ---------------------------------------------------------------------------------------------- */

/* What goes makes room. */
GM_ORDERING(by_moment, struct end, GM_UP(moment) || GM_UP(is_born) || GM_UP(bar));

static bool list_ends(struct bars *b, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < b->bars.n; i++) {
        const struct bar *bar = &b->bars.v[i];
        const struct end born = {bar->born > from ? bar->born : from, i, true}, gone = {bar->freed, i, false};
        if (!GM_VEC_PUSH(&b->ends, born) || (bar->freed <= to && !GM_VEC_PUSH(&b->ends, gone)))
            return false;
    }
    GM_SORT(b->ends.v, b->ends.n, by_moment);
    return true;
}

static bool put_point(struct bars *b, uint32_t bar, uint32_t moment, uint64_t y)
{
    const struct point point = {bar, 0, moment, y};
    if (b->points.n == MOST_POINTS || !GM_VEC_PUSH(&b->points, point))
        return false;
    struct bar *of = &b->bars.v[bar];
    *(of->last_point == 0 ? &b->first_point[bar] : &b->points.v[of->last_point - 1].next) = (uint32_t)b->points.n;
    of->last_point = (uint32_t)b->points.n;
    of->y = y;
    return true;
}

/* Tells where the bars from place `lowest` on lie now. */
static bool settle(struct bars *b, size_t lowest, uint32_t moment)
{
    const struct bar *below = lowest == 0 ? NULL : &b->bars.v[b->stack.v[lowest - 1]];
    uint64_t y = below == NULL ? 0 : below->y + below->bytes;
    for (size_t i = lowest; i < b->stack.n; i++) {
        const struct bar *bar = &b->bars.v[b->stack.v[i]];
        if ((bar->last_point == 0 || bar->y != y) && !put_point(b, b->stack.v[i], moment, y))
            return false;
        y += bar->bytes;
    }
    return true;
}

static size_t place_in_stack(const struct bars *b, uint32_t bar)
{
    size_t low = 0; /* bars are numbered by age, and so is the stack */
    GM_BISECT(low, b->stack.n, i, b->stack.v[i] < bar);
    return low;
}

/* Returns the place of the stack from which on it has changed; SIZE_MAX: no memory. */
static size_t apply(struct bars *b, const struct end *end)
{
    const size_t at = place_in_stack(b, end->bar), above = b->stack.n - at;
    if (end->is_born) {
        if (!GM_VEC_ROOM(&b->stack, 1))
            return SIZE_MAX;
        memmove(b->stack.v + at + 1, b->stack.v + at, above * sizeof *b->stack.v);
        b->stack.v[at] = end->bar;
        b->stack.n++;
    } else {
        memmove(b->stack.v + at, b->stack.v + at + 1, (above - 1) * sizeof *b->stack.v);
        b->stack.n--;
    }
    return at;
}

/* All ends of one column at once; what comes and goes within one has no points. */
static bool stack_up(struct bars *b, uint32_t axis, double from, double to, uint32_t columns)
{
    const double width = (to - from) / (double)columns;
    for (size_t i = 0; i < b->ends.n;) {
        const double begins = gm_page_place(b->d, axis, b->ends.v[i].moment), ends = begins + width;
        const uint32_t moment = b->ends.v[i].moment;
        size_t lowest = SIZE_MAX, n = 0;
        for (; i < b->ends.n && (n == 0 || gm_page_place(b->d, axis, b->ends.v[i].moment) < ends); i++, n++) {
            const size_t at = apply(b, &b->ends.v[i]);
            if (at == SIZE_MAX)
                return false;
            lowest = at < lowest ? at : lowest;
        }
        if (!settle(b, lowest, moment))
            return false;
    }
    return true;
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static void put_left_out(const struct bars *b, uint32_t axis, double from, double to, uint32_t columns)
{
    double *left = gm_answer_add("left_out", GM_PAGE_F64, columns);
    size_t e = 0;
    double sum = 0;
    for (uint32_t i = 0; left != NULL && i < columns; i++) {
        const struct gm_page_column column =
            gm_page_column_of(b->d, axis, gm_page_edge(from, to, columns, i), gm_page_edge(from, to, columns, i + 1));
        for (; e < b->ends.n && b->ends.v[e].moment <= column.at; e++)
            sum += (b->ends.v[e].is_born ? 1. : -1.) * (double)b->bars.v[b->ends.v[e].bar].bytes;
        const double total = (double)gm_page_active(b->d, column.at);
        left[i] = total > sum ? total - sum : 0;
    }
}

static void put_bars(const struct bars *b, const struct gm_page_layers *layers, uint32_t axis)
{
    const size_t n = b->bars.n, points = b->points.n;
    uint32_t *id = gm_answer_add("id", GM_PAGE_U32, n), *layer = gm_answer_add("layer", GM_PAGE_U32, n),
             *born = gm_answer_add("born", GM_PAGE_U32, n), *freed = gm_answer_add("freed", GM_PAGE_U32, n),
             *first = gm_answer_add("first_point", GM_PAGE_U32, n), *count = gm_answer_add("points", GM_PAGE_U32, n);
    double *bytes = gm_answer_add("bytes", GM_PAGE_F64, n), *x = gm_answer_add("point_x", GM_PAGE_F64, points),
           *y = gm_answer_add("point_y", GM_PAGE_F64, points);
    uint32_t p = 0;
    for (uint32_t i = 0; gm_answer_is_whole() && i < n; i++) {
        const struct bar *bar = &b->bars.v[i];
        id[i] = bar->id;
        layer[i] = layers->of[bar->id];
        born[i] = bar->born;
        freed[i] = bar->freed;
        bytes[i] = (double)bar->bytes;
        first[i] = p;
        for (uint32_t at = b->first_point[i]; at != 0; at = b->points.v[at - 1].next) {
            x[p] = gm_page_place(b->d, axis, b->points.v[at - 1].moment);
            y[p++] = (double)b->points.v[at - 1].y;
        }
        count[i] = p - first[i];
    }
}

const struct gm_page_result *gm_page_bars(uint32_t handle, uint32_t device, uint32_t split, uint32_t axis, double from,
                                          double to, uint32_t columns, double min_bytes, uint32_t limit)
{
    const struct gm_page_layers *layers;
    uint32_t left_out = 0;
    const struct gm_page_device *d = gm_page_part(handle, device, split, from, to, columns, &layers);
    struct bars b = {.d = d};
    if (d == NULL)
        return NULL;
    const uint32_t first = gm_page_moment_at(d, axis, from), last = gm_page_moment_at(d, axis, to);
    bool ok = choose(&b, first, last, min_bytes, limit == 0 ? 1 : limit < MOST_BARS ? limit : MOST_BARS, &left_out);
    if (ok && b.bars.n > 1)
        qsort(b.bars.v, b.bars.n, sizeof *b.bars.v, by_age);
    b.first_point = calloc(b.bars.n + 1, sizeof *b.first_point);
    ok = ok && b.first_point != NULL && list_ends(&b, first, last) && stack_up(&b, axis, from, to, columns);
    if (ok) {
        put_bars(&b, layers, axis);
        put_left_out(&b, axis, from, to, columns);
        gm_answer_u32("left_out_count", left_out);
    }
    GM_FREE_ALL(b.bars.v, b.ends.v, b.stack.v, b.points.v, b.first_point);
    return ok ? gm_answer_end() : gm_answer_refuse("too much at once: fewer bars, or a shorter part");
}
