/* SPDX-License-Identifier: Apache-2.0
 *
 * The address space at a moment, and over time. Segments are those at moment 0 and what segment events did since;
 * blocks are the allocations that live, and what is left between them is free.
 */
#include "analyze/allocator/address_space.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "render/page/core/page_levels.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_ROWS = 2048 };

/* ---- one moment -------------------------------------------------------------------------------------------------- */

struct numbers {
    struct GM_VEC(uint32_t) v; /* of blocks */
};

/* What the event that led to the moment is about; GM_NEVER: nothing that lives. */
static uint32_t changed_at(const struct gm_history *h, uint32_t moment)
{
    return moment == 0 ? GM_NEVER : h->of_event[moment - 1];
}

/* The blocks of a range in ascending order of address, behind those of the ranges before. */
static bool list_blocks(struct numbers *list, const struct gm_space *space, const struct gm_space_range *range)
{
    const size_t first = list->v.n;
    for (uint32_t b = range->last; b != GM_SPACE_NONE; b = space->blocks.v[b].prev)
        if (!GM_VEC_PUSH(&list->v, b))
            return false;
    for (size_t low = first, high = list->v.n; low + 1 < high; low++) {
        const uint32_t swap = list->v.v[low];
        list->v.v[low] = list->v.v[--high];
        list->v.v[high] = swap;
    }
    return true;
}

static void put_blocks(const struct gm_page_device *d, const struct gm_page_layers *layers, uint32_t moment,
                       const struct gm_space *space, const struct numbers *blocks)
{
    const size_t n = blocks->v.n;
    const uint32_t changed = changed_at(d->h, moment);
    const uint64_t hit = changed == GM_NEVER ? 0 : gm_history_address(d->h, changed);
    double *offset = gm_answer_add("block_offset", GM_PAGE_F64, n),
           *bytes = gm_answer_add("block_bytes", GM_PAGE_F64, n);
    uint8_t *state = gm_answer_add("block_state", GM_PAGE_U8, n),
            *is_changed = gm_answer_add("block_changed", GM_PAGE_U8, n);
    uint32_t *id = gm_answer_add("block_id", GM_PAGE_U32, n), *color = gm_answer_add("block_color", GM_PAGE_U32, n);
    uint64_t start = 0;
    for (size_t i = 0; gm_answer_is_whole() && i < n; i++) {
        const struct gm_space_block *b = &space->blocks.v[blocks->v.v[i]];
        start = b->prev == GM_SPACE_NONE ? b->address : start;
        offset[i] = (double)(b->address - start);
        bytes[i] = (double)b->size;
        state[i] = b->use;
        if (b->use == GM_SPACE_FREE) {
            id[i] = GM_NEVER;
            is_changed[i] = changed != GM_NEVER && hit - b->address < b->size; /* it was freed into this hole */
        } else {
            id[i] = b->owner;
            color[i] = layers->color[layers->of[b->owner]];
            is_changed[i] = b->owner == changed;
        }
    }
}

static bool put_segments(struct gm_opened *o, const struct gm_page_device *d, const struct gm_page_layers *layers,
                         const struct gm_space *space, uint32_t moment)
{
    struct gm_answer_list address = {0}, pool = {0}, stream = {0};
    struct numbers blocks = {0};
    const size_t n = space->ranges.n;
    double *bytes = gm_answer_add("segment_bytes", GM_PAGE_F64, n);
    uint32_t *first = gm_answer_add("segment_first", GM_PAGE_U32, n),
             *count = gm_answer_add("segment_blocks", GM_PAGE_U32, n);
    bool ok = gm_answer_is_whole();
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_space_range *range = &space->ranges.v[i];
        const struct gm_space_block *last = &space->blocks.v[range->last];
        char text[40];
        first[i] = (uint32_t)blocks.v.n;
        bytes[i] = (double)range->size;
        ok = list_blocks(&blocks, space, range);
        count[i] = (uint32_t)blocks.v.n - first[i];
        snprintf(text, sizeof text, "0x%" PRIx64, range->address);
        gm_answer_put(&address, text);
        gm_answer_put(&pool,
                      last->pool < d->h->pool_count ? gm_history_pool_name(&o->arena, &d->h->pools[last->pool]) : "");
        snprintf(text, sizeof text, "stream %" PRId64, last->stream == 0 ? 0 : o->snapshot.streams[last->stream]);
        gm_answer_put(&stream, text);
    }
    gm_answer_strings("segment_address", &address);
    gm_answer_strings("segment_pool", &pool);
    gm_answer_strings("segment_stream", &stream);
    if (ok)
        put_blocks(d, layers, moment, space, &blocks);
    free(blocks.v.v);
    return ok;
}

const struct gm_page_result *gm_page_space(uint32_t handle, uint32_t device, uint32_t moment, uint32_t split)
{
    struct gm_opened *o;
    struct gm_space space = {0};
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL || !gm_page_is_moment(d, moment))
        return NULL;
    if (!d->h->is_reconstructed)
        return gm_answer_refuse("where blocks were is not known: the trace and the segments contradict each other");
    const struct gm_page_layers *layers = gm_opened_layers(o, d, split);
    if (layers == NULL)
        return NULL;
    const bool ok = gm_history_space_at(d->h, moment, &space) && put_segments(o, d, layers, &space, moment);
    gm_space_free(&space);
    return ok ? gm_answer_end() : gm_answer_no_memory();
}

/* ---- over time --------------------------------------------------------------------------------------------------- */

struct part {                       /* addresses that were ever reserved, without gaps */
    uint64_t address, size, before; /* before: bytes of the parts below it */
};
struct heat {
    struct gm_page_device *d;
    struct GM_VEC(struct part) parts;
    uint64_t all; /* bytes of all parts */
    double row_bytes;
    uint32_t rows, columns;
    double *used, *reserved; /* [row] now */
};

GM_ORDERING(by_part, struct part, GM_UP(address));

/* Everything that was reserved at any time, merged. */
static bool find_parts(struct heat *m, const struct gm_space *start)
{
    const struct gm_history *h = m->d->h;
    const struct gm_events *e = &h->snapshot->events;
    for (size_t i = 0; i < start->ranges.n; i++) {
        const struct part part = {start->ranges.v[i].address, start->ranges.v[i].size, 0};
        if (!GM_VEC_PUSH(&m->parts, part))
            return false;
    }
    for (size_t i = 0; i < h->segment_count; i++) {
        const size_t row = h->first + h->segments[i].event;
        const struct part part = {gm_event_addr(e, row), gm_event_size(e, row), 0};
        if (part.address != GM_ABSENT && part.size != GM_ABSENT && part.size <= UINT64_MAX - part.address &&
            !GM_VEC_PUSH(&m->parts, part))
            return false;
    }
    GM_SORT(m->parts.v, m->parts.n, by_part);
    size_t n = 0;
    for (size_t i = 0; i < m->parts.n; i++) {
        const struct part *part = &m->parts.v[i];
        struct part *last = n == 0 ? NULL : &m->parts.v[n - 1];
        const uint64_t end = part->address + part->size;
        if (last != NULL && part->address <= last->address + last->size)
            last->size = end > last->address + last->size ? end - last->address : last->size;
        else
            m->parts.v[n++] = *part;
    }
    m->parts.n = n;
    for (size_t i = 0; i < n; i++) {
        m->parts.v[i].before = m->all;
        m->all += m->parts.v[i].size;
    }
    return true;
}

/* Where row `row` begins, in bytes of all parts. */
static uint64_t row_edge(const struct heat *m, uint32_t row)
{
    return m->all / m->rows * row + m->all % m->rows * row / m->rows;
}

static uint32_t row_at(const struct heat *m, uint64_t at)
{
    uint32_t row = (uint32_t)fmin((double)at / m->row_bytes, (double)m->rows - 1);
    while (row > 0 && row_edge(m, row) > at)
        row--;
    while (row + 1 < m->rows && row_edge(m, row + 1) <= at)
        row++;
    return row;
}

/* Adds `sign` times the bytes of [address, address + size) to the rows that they lie in. */
static void paint(const struct heat *m, double *rows, uint64_t address, uint64_t size, double sign)
{
    size_t i = 0;
    GM_BISECT(i, m->parts.n, k, m->parts.v[k].address <= address);
    if (i == 0 || address - m->parts.v[i - 1].address >= m->parts.v[i - 1].size)
        return;
    const struct part *part = &m->parts.v[i - 1];
    uint64_t at = part->before + (address - part->address);
    const uint64_t end = at + gm_min(size, part->size - (address - part->address));
    for (uint32_t row = row_at(m, at); at < end && row < m->rows; row++) {
        const uint64_t row_end = gm_min(end, row_edge(m, row + 1));
        rows[row] += sign * (double)(row_end - at);
        at = row_end;
    }
}

static void apply_change(struct heat *m, const struct gm_change *c)
{
    const struct gm_history *h = m->d->h;
    const struct gm_events *e = &h->snapshot->events;
    if (c->kind == GM_CHANGE_ALLOC || c->kind == GM_CHANGE_FREE)
        paint(m, m->used, gm_history_address(h, c->allocation), gm_block_bytes(h, c->allocation),
              c->kind == GM_CHANGE_ALLOC ? 1 : -1);
    else if (c->kind == GM_CHANGE_SEGMENT && gm_event_addr(e, h->first + c->event) != GM_ABSENT)
        paint(m, m->reserved, gm_event_addr(e, h->first + c->event), gm_event_size(e, h->first + c->event),
              c->reserved > 0 ? 1 : -1);
}

static void put_parts(const struct heat *m)
{
    struct gm_answer_list address = {0};
    double *row = gm_answer_add("part_row", GM_PAGE_F64, m->parts.n),
           *bytes = gm_answer_add("part_bytes", GM_PAGE_F64, m->parts.n);
    for (size_t i = 0; gm_answer_is_whole() && i < m->parts.n; i++) {
        char text[24];
        snprintf(text, sizeof text, "0x%" PRIx64, m->parts.v[i].address);
        gm_answer_put(&address, text);
        row[i] = (double)m->parts.v[i].before / m->row_bytes;
        bytes[i] = (double)m->parts.v[i].size;
    }
    gm_answer_strings("part_address", &address);
    gm_answer_number("row_bytes", m->row_bytes);
}

/* One walk over the trace up to the last column; each column is seen at its highest moment. */
static void put_heat(struct heat *m, const struct gm_space *start, uint32_t axis, double from, double to)
{
    const struct gm_history *h = m->d->h;
    const size_t cells = (size_t)m->rows * m->columns;
    double *used = gm_answer_add("used", GM_PAGE_F64, cells), *reserved = gm_answer_add("reserved", GM_PAGE_F64, cells);
    uint32_t *at = gm_answer_add("at", GM_PAGE_U32, m->columns);
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    if (used == NULL || reserved == NULL || at == NULL)
        return;
    for (size_t i = 0; i < start->ranges.n; i++)
        paint(m, m->reserved, start->ranges.v[i].address, start->ranges.v[i].size, 1);
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, 0))
            paint(m, m->used, gm_history_address(h, a), gm_block_bytes(h, a), 1);
    for (uint32_t i = 0; i < m->columns; i++) {
        const struct gm_page_column column = gm_page_column_of(m->d, axis, gm_page_edge(from, to, m->columns, i),
                                                               gm_page_edge(from, to, m->columns, i + 1));
        while (walk.event < column.at && gm_walk_next(&walk, &c))
            apply_change(m, &c);
        at[i] = column.at;
        for (uint32_t row = 0; row < m->rows; row++) {
            used[(size_t)row * m->columns + i] = fmax(m->used[row], 0);
            reserved[(size_t)row * m->columns + i] = fmax(m->reserved[row], 0);
        }
    }
}

const struct gm_page_result *gm_page_heat(uint32_t handle, uint32_t device, uint32_t axis, double from, double to,
                                          uint32_t columns, uint32_t rows)
{
    struct gm_space start = {0};
    struct heat m = {.d = gm_opened_device(handle, device, NULL), .rows = rows, .columns = columns};
    if (m.d == NULL || !gm_page_is_range(from, to, columns))
        return NULL;
    if (rows == 0 || rows > MOST_ROWS || !m.d->h->is_reconstructed)
        return gm_answer_refuse(m.d->h->is_reconstructed ? "so many rows cannot be drawn"
                                                         : "where blocks were is not known: the trace and the segments "
                                                           "contradict each other");
    m.used = gm_answer_memory(rows, sizeof *m.used);
    m.reserved = gm_answer_memory(rows, sizeof *m.reserved);
    const bool ok =
        m.used != NULL && m.reserved != NULL && gm_history_segments_at_start(m.d->h, &start) && find_parts(&m, &start);
    if (ok) {
        m.row_bytes = m.all == 0 ? 1 : (double)m.all / (double)rows;
        put_heat(&m, &start, axis, from, to);
        put_parts(&m);
    }
    gm_space_free(&start);
    free(m.parts.v);
    return ok ? gm_answer_end() : gm_answer_no_memory();
}
