/* SPDX-License-Identifier: Apache-2.0
 *
 * Expandable segments. A reservation is an address range of one pool and stream; the space holds what is mapped of it,
 * so an unmapped block is a gap between two ranges, or between the last one and the reservation's end.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "replay/model/allocator_private.h"

#include <string.h>

#define UNKNOWN_LENGTH (UINT64_C(1) << 44)

static size_t reservations_up_to(const struct gm_allocator *a, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, a->reservations.n, i, a->reservations.v[i].address <= address);
    return low;
}

struct gm_reservation_row *gm_reservation_of(struct gm_allocator *a, uint64_t address)
{
    size_t n = reservations_up_to(a, address);
    struct gm_reservation_row *r = n > 0 ? &a->reservations.v[n - 1] : NULL;
    return r != NULL && address - r->address < r->size ? r : NULL;
}

static bool insert_reservation(struct gm_allocator *a, struct gm_reservation_row row)
{
    size_t at = reservations_up_to(a, row.address);
    if (!GM_VEC_ROOM(&a->reservations, 1))
        return false;
    struct gm_reservation_row *v = a->reservations.v;
    if (at > 0 && row.address - v[at - 1].address < v[at - 1].size) /* of unknown length */
        v[at - 1].size = row.address - v[at - 1].address;
    a->space.work += (a->reservations.n - at) / 16;
    memmove(&v[at + 1], &v[at], (a->reservations.n - at) * sizeof *v);
    v[at] = row;
    a->reservations.n++;
    return true;
}

/* Adds mapped pages of a reservation to the space and to the free sets, joined with free neighbours of it: a block of
 * that age. */
static enum gm_space_status add_pages(struct gm_allocator *a, const struct gm_reservation_row *r, uint64_t address,
                                      uint64_t size, uint32_t age)
{
    const struct gm_space_range *ranges = a->space.ranges.v;
    const uint32_t below = address > 0 ? gm_space_range_of(&a->space, address - 1) : GM_SPACE_NONE;
    const uint32_t above = gm_space_range_of(&a->space, address + size);
    const uint32_t around[2] = {
        below == GM_SPACE_NONE || ranges[below].area != r->area ? GM_SPACE_NONE : ranges[below].last,
        above == GM_SPACE_NONE || ranges[above].area != r->area ? GM_SPACE_NONE
                                                                : gm_space_free_at(&a->space, address + size)};
    uint64_t start = address;
    bool joins[2];
    for (int i = 0; i < 2; i++) {
        const struct gm_space_block *b = gm_is_free(a, around[i]) ? gm_block(a, around[i]) : NULL;
        joins[i] = b != NULL && (i == 1 || b->address + b->size == address);
        if (joins[i])
            gm_leave_free(a, around[i]);
        if (joins[i] && i == 0)
            start = b->address;
    }
    enum gm_space_status status = gm_space_map(&a->space, address, size, r->stream, r->pool, r->area);
    if (status == GM_SPACE_OK) {
        gm_block(a, gm_space_free_at(&a->space, start))->age = age;
        gm_enter_free(a, gm_space_free_at(&a->space, start));
        gm_mark_grown(a, gm_space_free_at(&a->space, start), r->address == address);
        if (a->keeps_objects && joins[0])
            a->grown_by.v[gm_space_free_at(&a->space, start)] = a->grown_by.v[around[0]];
        return status;
    }
    for (int i = 0; i < 2; i++)
        if (joins[i])
            gm_enter_free(a, around[i]);
    return status;
}

/* The index of the first range that begins at or after `address`. */
static size_t range_from(const struct gm_space *space, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, space->ranges.n, i, space->ranges.v[i].address < address);
    return low;
}

enum gm_space_status gm_expandable_adopt(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t address,
                                         uint64_t size)
{
    size_t n = reservations_up_to(a, address);
    const struct gm_reservation_row *below = n == 0 ? NULL : &a->reservations.v[n - 1];
    bool is_known = below != NULL && below->stream == stream && below->pool == pool;
    struct gm_reservation_row row = {address, UNKNOWN_LENGTH, stream, pool, a->next_age, a->areas + 1};
    enum gm_space_status status = add_pages(a, is_known ? below : &row, address, size, is_known ? below->age : row.age);
    if (is_known || status != GM_SPACE_OK)
        return status;
    a->next_age++;
    a->areas++;
    if (n < a->reservations.n && a->reservations.v[n].address - address < row.size)
        row.size = a->reservations.v[n].address - address;
    return insert_reservation(a, row) ? GM_SPACE_OK : GM_SPACE_NO_MEMORY;
}

bool gm_allocator_end_reservation(struct gm_allocator *a, uint64_t address, uint64_t rounded)
{
    struct gm_reservation_row *r = gm_reservation_of(a, address);
    size_t next = range_from(&a->space, address);
    if (r == NULL || (next < a->space.ranges.n && a->space.ranges.v[next].address - r->address < r->size))
        return false;
    uint32_t range = address > r->address ? gm_space_range_of(&a->space, address - 1) : GM_SPACE_NONE;
    uint32_t last = range == GM_SPACE_NONE ? GM_SPACE_NONE : a->space.ranges.v[range].last;
    uint64_t have = gm_is_free(a, last) ? gm_block(a, last)->size : 0, page = gm_page_of(a, r->pool);
    uint64_t most = rounded <= have ? 0 : (rounded - have - 1) / page * page, size = address - r->address + most;
    if (size >= r->size)
        return false;
    r->size = size;
    return true;
}

uint64_t gm_allocator_next_reservation(const struct gm_allocator *a, uint64_t address)
{
    size_t n = reservations_up_to(a, address);
    return n < a->reservations.n ? a->reservations.v[n].address : UINT64_MAX;
}

/* The end of the unmapped bytes that begin at `address` (which is unmapped) in its reservation. */
static uint64_t gap_end(const struct gm_allocator *a, const struct gm_reservation_row *r, uint64_t address)
{
    size_t next = range_from(&a->space, address);
    uint64_t end = r->address + r->size;
    return next < a->space.ranges.n && a->space.ranges.v[next].address < end ? a->space.ranges.v[next].address : end;
}

uint64_t gm_expandable_reach(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    struct gm_reservation_row *r;
    uint64_t end = b->address + b->size;
    if (b->next != GM_SPACE_NONE || !b->is_expandable || (r = gm_reservation_of(a, b->address)) == NULL ||
        end >= r->address + r->size)
        return b->size;
    return gap_end(a, r, end) - b->address;
}

uint64_t gm_allocator_reach(struct gm_allocator *a, uint32_t block)
{
    return gm_expandable_reach(a, block);
}

/* Bytes from `from` on that are free or unmapped, counted until they are enough. `from` begins a gap or a free block.
 */
static bool has_room(struct gm_allocator *a, const struct gm_reservation_row *r, uint64_t from, uint64_t rounded)
{
    uint64_t end = r->address + r->size, at = from;
    while (at < end && at - from < rounded) {
        uint32_t block = gm_space_free_at(&a->space, at);
        if (block != GM_SPACE_NONE)
            at += gm_block(a, block)->size;
        else if (gm_space_range_of(&a->space, at) == GM_SPACE_NONE)
            at = gap_end(a, r, at);
        else
            break;
    }
    return at - from >= rounded;
}

/* Where to grow: the first gap of the stream, by address, from which (or from the free block before it) there is room.
 */
static bool find_start(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t rounded, uint64_t *start)
{
    for (size_t i = 0; i < a->reservations.n; i++) {
        const struct gm_reservation_row *r = &a->reservations.v[i];
        a->space.work += i % 4 == 0;
        if (r->pool != pool || r->stream != stream)
            continue;
        uint64_t end = r->address + r->size, at = r->address;
        size_t range = range_from(&a->space, at);
        while (at < end) {
            a->space.work++;
            bool is_mapped = range < a->space.ranges.n && a->space.ranges.v[range].address == at;
            if (is_mapped) {
                at += a->space.ranges.v[range++].size;
                continue;
            }
            uint32_t below = range > 0 && at > r->address ? a->space.ranges.v[range - 1].last : GM_SPACE_NONE;
            *start = gm_is_free(a, below) ? gm_block(a, below)->address : at;
            if (has_room(a, r, *start, rounded))
                return true;
            at = gap_end(a, r, at);
        }
    }
    return false;
}

/* ---- ages of what is unmapped, where block objects have them ----------------------------------------------------- */

static void set_gap_age(struct gm_allocator *a, uint64_t address, uint32_t age)
{
    uint32_t before;
    a->has_no_memory |= !gm_map_put(&a->gap_ages, address, age, &before);
}

/* [address, address + size) at the beginning of a gap that ends at `end` is mapped: it keeps the gap's object, the rest
 * gets a new one. */
static uint32_t take_gap_age(struct gm_allocator *a, const struct gm_reservation_row *r, uint64_t address,
                             uint64_t size, uint64_t end)
{
    if (a->conf.ties != GM_TIES_OLDEST_BLOCK)
        return r->age;
    uint32_t age = gm_map_take(&a->gap_ages, address);
    if (address + size < end)
        set_gap_age(a, address + size, a->next_age++);
    return age == GM_MAP_NONE ? r->age : age;
}

/* [from, to) of a block of age `age` is unmapped now, and one with the gaps around it. */
static void join_gap_ages(struct gm_allocator *a, const struct gm_reservation_row *r, uint64_t from, uint64_t to,
                          uint32_t age)
{
    if (a->conf.ties != GM_TIES_OLDEST_BLOCK || r == NULL)
        return;
    size_t next = range_from(&a->space, from);
    const struct gm_space_range *below = next == 0 ? NULL : &a->space.ranges.v[next - 1];
    uint64_t start = below == NULL || below->address < r->address ? r->address : below->address + below->size;
    gm_map_take(&a->gap_ages, to);
    set_gap_age(a, start, age);
}

/* Maps `bytes`, rounded up to pages, at the beginning of a gap. */
static bool map(struct gm_allocator *a, const struct gm_reservation_row *r, uint64_t address, uint64_t bytes)
{
    uint64_t size = gm_round_up(bytes, gm_page_of(a, r->pool));
    const uint64_t end = gap_end(a, r, address);
    if (!gm_device_gave(a, a->device->map(a->device->self, address, size)))
        return false;
    const uint32_t age = take_gap_age(a, r, address, size, end);
    enum gm_space_status status = add_pages(a, r, address, size, age);
    if (status != GM_SPACE_OK) {
        a->has_no_memory |= status == GM_SPACE_NO_MEMORY;
        a->has_failed |= status == GM_SPACE_CONFLICT;
        return false;
    }
    gm_count_reserved(a, r->pool, (int64_t)size);
    a->stats.num_device_alloc++;
    gm_put(a, GM_EVENT_SEGMENT_MAP, address, size, r->stream, r->pool, GM_SPACE_NONE);
    return true;
}

/* How long a reservation may be by the settings. */
static uint64_t reserve_most(const struct gm_allocator *a)
{
    const struct gm_conf *conf = &a->conf;
    const uint64_t total = a->device->total_bytes;
    if (conf->reserve_bytes > 0)
        return conf->reserve_bytes;
    if (conf->reserve_fraction > 0 && conf->reserve_fraction < 1.125 && total != UINT64_MAX)
        return (uint64_t)(conf->reserve_fraction * (double)total);
    return UINT64_MAX;
}

uint32_t gm_expandable_grow(struct gm_allocator *a, uint32_t pool, uint32_t stream, uint64_t rounded)
{
    uint64_t start;
    if (!find_start(a, pool, stream, rounded, &start)) {
        struct gm_reservation_row row = {.stream = stream, .pool = pool, .age = a->next_age++, .area = ++a->areas};
        if (!gm_device_gave(
                a, a->device->reserve(a->device->self, gm_page_of(a, pool), reserve_most(a), &row.address, &row.size)))
            return GM_SPACE_NONE;
        for (size_t i = 0; i < a->reservations.n && a->conf.ties == GM_TIES_LOWEST; i++)
            a->has_tied |= a->reservations.v[i].stream == stream && a->reservations.v[i].pool == pool;
        if (!insert_reservation(a, row)) {
            a->has_no_memory = true;
            return GM_SPACE_NONE;
        }
        if (row.size < rounded)
            return GM_SPACE_NONE;
        start = row.address;
    }
    const struct gm_reservation_row *r = gm_reservation_of(a, start);
    for (;;) {
        uint32_t block = gm_space_free_at(&a->space, start);
        uint64_t have = block == GM_SPACE_NONE ? 0 : gm_block(a, block)->size;
        if (have >= rounded) {
            gm_leave_free(a, block);
            return block;
        }
        uint64_t gap = gap_end(a, r, start + have) - (start + have);
        if (gap == 0 || !map(a, r, start + have, rounded - have < gap ? rounded - have : gap) || a->has_no_memory)
            return GM_SPACE_NONE;
    }
}

/* Gives the reservation back when nothing of it is mapped any more. */
static void drop_empty(struct gm_allocator *a, struct gm_reservation_row *r)
{
    size_t next = range_from(&a->space, r->address), at = (size_t)(r - a->reservations.v);
    if (next < a->space.ranges.n && a->space.ranges.v[next].address < r->address + r->size)
        return;
    if (!gm_device_gave(a, a->device->unreserve(a->device->self, r->address, r->size)))
        return;
    a->reservations.n--;
    memmove(r, r + 1, (a->reservations.n - at) * sizeof *r);
}

/* What is left before or after unmapped pages is a new object. */
static void enter_piece(struct gm_allocator *a, uint32_t block, uint32_t age)
{
    gm_block(a, block)->age = gm_age_of_new(a, age);
    gm_enter_free(a, block);
    gm_mark_grown(a, block, false);
}

bool gm_expandable_unmap_range(struct gm_allocator *a, uint32_t block, uint64_t from, uint64_t to)
{
    struct gm_space_block b = *gm_block(a, block);
    if (from < b.address || to > b.address + b.size || from >= to ||
        !gm_device_gave(a, a->device->unmap(a->device->self, from, to - from)))
        return false;
    gm_leave_free(a, block);
    if (gm_space_unmap(&a->space, from, to - from) != GM_SPACE_OK) {
        a->has_no_memory = true;
        return false;
    }
    struct gm_reservation_row *r = gm_reservation_of(a, from);
    if (from > b.address)
        enter_piece(a, gm_space_free_at(&a->space, b.address), b.age);
    if (to < b.address + b.size)
        enter_piece(a, gm_space_free_at(&a->space, to), b.age);
    join_gap_ages(a, r, from, to, b.age);
    gm_count_reserved(a, b.pool, -(int64_t)(to - from));
    a->stats.num_device_free++;
    gm_put(a, GM_EVENT_SEGMENT_UNMAP, from, to - from, b.stream, b.pool, GM_SPACE_NONE);
    if (r != NULL)
        drop_empty(a, r);
    return true;
}

/* The whole pages of a free block; false if it has none. */
static bool pages_of(struct gm_allocator *a, uint32_t block, uint64_t *from, uint64_t *to)
{
    const struct gm_space_block *b = gm_block(a, block);
    const struct gm_reservation_row *r = gm_reservation_of(a, b->address);
    uint64_t page = gm_page_of(a, b->pool), base = r == NULL ? b->address : r->address;
    *from = base + gm_round_up(b->address - base, page);
    *to = base + (b->address + b->size - base) / page * page;
    return *from < *to;
}

void gm_expandable_unmap(struct gm_allocator *a, uint32_t block)
{
    uint64_t from, to;
    if (pages_of(a, block, &from, &to))
        gm_expandable_unmap_range(a, block, from, to);
}

bool gm_allocator_can_give_back(struct gm_allocator *a, uint32_t block)
{
    const struct gm_space_block *b = gm_block(a, block);
    uint64_t from, to;
    return b->is_expandable ? pages_of(a, block, &from, &to) : gm_space_is_whole(b);
}
