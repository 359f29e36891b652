/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/plan.h"

#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"

#include <stdlib.h>

/* What is placed and lives at the same time is found with a tree over the blocks in order of birth: each node has the
 * latest end of the placed blocks below it. */
struct planner {
    struct gm_plan_block *blocks; /* by birth */
    size_t count;
    uint32_t *order; /* by size */
    uint32_t
        *latest; /* [2 * leaves]: node i has the children 2i and 2i + 1, block b is leaf leaves + b; 0: not placed */
    size_t leaves;
    struct taken *taken, *sorted; /* [count]; the latter to sort them */
    size_t taken_count;
    uint64_t steps, most;
};
struct taken {
    uint64_t from, to;
};

GM_ORDERING(by_birth, struct gm_plan_block, GM_UP(born) || GM_UP(freed) || GM_UP(size));

struct ranked {
    uint64_t size;
    uint32_t life, index;
};

/* Larger ones first, of equal ones those that live longer. */
GM_ORDERING(by_size, struct ranked, GM_DOWN(size) || GM_DOWN(life) || GM_UP(index));

GM_ORDERING(by_offset, struct taken, GM_UP(from));

static size_t born_before(const struct planner *p, uint32_t moment)
{
    size_t low = 0;
    GM_BISECT(low, p->count, i, p->blocks[i].born < moment);
    return low;
}

/* Lists the placed blocks among the first `end` that live after moment `born`. */
static void list_taken(struct planner *p, uint32_t born, size_t end)
{
    size_t stack[64 * 2], depth = 0, width[64 * 2], first[64 * 2];
    stack[depth] = 1;
    width[depth] = p->leaves;
    first[depth++] = 0;
    while (depth > 0 && p->steps <= p->most) {
        size_t node = stack[--depth], half = width[depth] / 2, from = first[depth];
        p->steps++;
        if (from >= end || p->latest[node] <= born)
            continue;
        if (half == 0) {
            const struct gm_plan_block *b = &p->blocks[from];
            p->taken[p->taken_count++] = (struct taken){b->offset, b->offset + b->size};
            continue;
        }
        for (size_t side = 0; side < 2; side++) {
            stack[depth] = 2 * node + side;
            width[depth] = half;
            first[depth++] = from + side * half;
        }
    }
}

/* By offset, byte by byte from the lowest one in which they differ: sorting is most of the work of a plan. */
static void sort_taken(struct planner *p)
{
    enum { FEW = 64, BYTES = 256 };
    uint64_t all = 0;
    if (p->taken_count < FEW) {
        qsort(p->taken, p->taken_count, sizeof *p->taken, by_offset);
        return;
    }
    for (size_t i = 0; i < p->taken_count; i++)
        all |= p->taken[i].from;
    for (int shift = all == 0 ? 64 : __builtin_ctzll(all); shift < 64 && all >> shift != 0; shift += 8) {
        size_t place[BYTES] = {0}, next = 0;
        for (size_t i = 0; i < p->taken_count; i++)
            place[p->taken[i].from >> shift & 0xff]++;
        for (size_t byte = 0; byte < BYTES; byte++) {
            const size_t n = place[byte];
            place[byte] = next;
            next += n;
        }
        for (size_t i = 0; i < p->taken_count; i++)
            p->sorted[place[p->taken[i].from >> shift & 0xff]++] = p->taken[i];
        struct taken *unsorted = p->taken;
        p->taken = p->sorted;
        p->sorted = unsorted;
    }
}

/* The smallest gap with room for `size` above `floor`, else the end of the highest. */
static uint64_t best_gap(struct planner *p, uint64_t size, uint64_t floor)
{
    uint64_t end = floor, best = UINT64_MAX, offset = 0;
    sort_taken(p);
    for (size_t i = 0; i < p->taken_count; i++) {
        const struct taken *t = &p->taken[i];
        uint64_t gap = t->from > end ? t->from - end : 0;
        if (gap >= size && gap < best) {
            best = gap;
            offset = end;
        }
        end = t->to > end ? t->to : end;
    }
    return best != UINT64_MAX ? offset : end;
}

static void mark_placed(struct planner *p, size_t b)
{
    uint32_t freed = p->blocks[b].freed;
    for (size_t node = p->leaves + b; node > 0 && p->latest[node] < freed; node /= 2)
        p->latest[node] = freed;
}

static bool prepare(struct planner *p)
{
    GM_FREED struct ranked *ranked = malloc((p->count + 1) * sizeof *ranked);
    for (p->leaves = 1; p->leaves < p->count; p->leaves *= 2)
        ;
    p->order = malloc((p->count + 1) * sizeof *p->order);
    p->taken = malloc((p->count + 1) * sizeof *p->taken);
    p->sorted = malloc((p->count + 1) * sizeof *p->sorted);
    p->latest = calloc(2 * p->leaves, sizeof *p->latest);
    bool ok = ranked != NULL && p->order != NULL && p->taken != NULL && p->sorted != NULL && p->latest != NULL;
    if (ok) {
        qsort(p->blocks, p->count, sizeof *p->blocks, by_birth);
        for (size_t i = 0; i < p->count; i++)
            ranked[i] = (struct ranked){p->blocks[i].size, p->blocks[i].freed - p->blocks[i].born, (uint32_t)i};
        qsort(ranked, p->count, sizeof *ranked, by_size);
        for (size_t i = 0; i < p->count; i++)
            p->order[i] = ranked[i].index;
    }
    return ok;
}

static enum gm_planned place_all(struct planner *p, uint64_t *height)
{
    uint32_t first = UINT32_MAX, last = 0;
    uint64_t floor = 0;
    for (size_t i = 0; i < p->count; i++) {
        first = p->blocks[i].born < first ? p->blocks[i].born : first;
        last = p->blocks[i].freed > last ? p->blocks[i].freed : last;
    }
    /* What lives all the time lies at the bottom: moving it there moves no other block into another one. */
    for (size_t i = 0; i < p->count; i++) {
        struct gm_plan_block *b = &p->blocks[i];
        if (b->born != first || b->freed != last)
            continue;
        b->offset = floor;
        floor += b->size;
    }
    *height = floor;
    for (size_t i = 0; i < p->count; i++) {
        struct gm_plan_block *b = &p->blocks[p->order[i]];
        if (b->born == first && b->freed == last)
            continue;
        p->taken_count = 0;
        list_taken(p, b->born, born_before(p, b->freed));
        if (p->steps > p->most)
            return GM_PLAN_TOO_MUCH;
        b->offset = best_gap(p, b->size, floor);
        *height = b->offset + b->size > *height ? b->offset + b->size : *height;
        mark_placed(p, p->order[i]);
    }
    return GM_PLANNED;
}

enum gm_planned gm_plan(struct gm_plan_block *blocks, size_t count, uint64_t *steps, uint64_t *height)
{
    struct planner p = {.blocks = blocks, .count = count, .most = *steps};
    enum gm_planned planned = prepare(&p) ? place_all(&p, height) : GM_PLAN_NO_MEMORY;
    *steps = p.steps < *steps ? *steps - p.steps : 0;
    GM_FREE_ALL(p.order, p.taken, p.sorted, p.latest);
    return planned;
}

struct end {
    uint32_t freed;
    uint64_t size;
};

GM_ORDERING(by_end, struct end, GM_UP(freed));

bool gm_plan_peak(struct gm_plan_block *blocks, size_t count, uint64_t *peak)
{
    GM_FREED struct end *ends = malloc((count + 1) * sizeof *ends);
    if (ends == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        ends[i] = (struct end){blocks[i].freed, blocks[i].size};
    qsort(ends, count, sizeof *ends, by_end);
    qsort(blocks, count, sizeof *blocks, by_birth);
    uint64_t sum = 0;
    size_t k = 0;
    *peak = 0;
    for (size_t i = 0; i < count; i++) {
        while (k < count && ends[k].freed <= blocks[i].born)
            sum -= ends[k++].size;
        sum += blocks[i].size;
        *peak = sum > *peak ? sum : *peak;
    }
    return true;
}
