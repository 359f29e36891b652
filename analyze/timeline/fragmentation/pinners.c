/* SPDX-License-Identifier: Apache-2.0
 *
 * Live blocks that keep cached bytes from going back, as analyze/state/fragmentation.c defines them: in a cudaMalloc
 * segment every live block shares in all of its free bytes; in an expandable range it is the page that goes back or
 * stays, so a live block shares in the free bytes of the pages that it touches. Seen at the samples; of each block the
 * most it ever kept is remembered, and only the blocks that kept most.
 */
#include "analyze/allocator/address_space.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

/* Blocks of a range are visited from the highest down. */
struct looking {
    struct gm_watch *w;
    const struct gm_space *space;
    uint32_t moment;
    uint64_t least;           /* pinned bytes that are still of interest: more than this */
    struct gm_watch_pin open; /* of the block visited last: two of its pages may add to it */
    struct gm_watch_free free;
};

static bool is_less(const struct gm_watch_pin *a, const struct gm_watch_pin *b)
{
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->allocation > b->allocation;
}

static uint64_t least_of_interest(const struct gm_watch *w)
{
    uint64_t least = w->pin_count < GM_WATCH_PINS ? 0 : UINT64_MAX;
    for (size_t i = 0; i < w->pin_count; i++)
        least = gm_min(least, w->pins[i].bytes);
    return least;
}

static void offer(struct looking *l, const struct gm_watch_pin *pin)
{
    struct gm_watch *w = l->w;
    size_t least = 0;
    if (pin->bytes <= l->least)
        return;
    for (size_t i = 0; i < w->pin_count; i++) {
        if (w->pins[i].allocation == pin->allocation) {
            if (w->pins[i].bytes < pin->bytes)
                w->pins[i] = *pin;
            return;
        }
        if (is_less(&w->pins[i], &w->pins[least]))
            least = i;
    }
    if (w->pin_count < GM_WATCH_PINS)
        w->pins[w->pin_count++] = *pin;
    else if (is_less(&w->pins[least], pin))
        w->pins[least] = *pin;
    l->least = least_of_interest(w);
}

static void add(struct looking *l, const struct gm_space_block *b, uint64_t bytes)
{
    if (b->owner != l->open.allocation) {
        if (l->open.allocation != GM_NEVER)
            offer(l, &l->open);
        l->open = (struct gm_watch_pin){.allocation = b->owner, .moment = l->moment};
    }
    l->open.bytes += bytes;
}

/* `live` live blocks, of which `block` is the highest, share `bytes`. */
static void share(struct looking *l, uint32_t block, uint64_t live, uint64_t bytes)
{
    const struct gm_space_block *blocks = l->space->blocks.v;
    if (live == 0 || bytes == 0)
        return;
    for (uint64_t left = live; left > 0 && block != GM_SPACE_NONE; block = blocks[block].prev) {
        if (blocks[block].use == GM_SPACE_FREE)
            continue;
        add(l, &blocks[block], bytes / live);
        left--;
    }
}

static void look_at_segment(struct looking *l, const struct gm_space_range *range)
{
    const struct gm_space_block *blocks = l->space->blocks.v;
    uint64_t free_bytes = 0, live = 0, largest = l->free.largest;
    for (uint32_t i = range->last; i != GM_SPACE_NONE; i = blocks[i].prev) {
        const uint64_t size = blocks[i].use == GM_SPACE_FREE ? blocks[i].size : 0;
        free_bytes += size;
        largest = size > largest ? size : largest;
        live += blocks[i].use != GM_SPACE_FREE;
    }
    l->free.largest = largest;
    if (live > 0 && free_bytes > l->least && free_bytes / live > l->least)
        share(l, range->last, live, free_bytes);
}

/* The page at hand while blocks are visited from above. */
struct page {
    uint64_t index, free_bytes, live;
    uint32_t highest; /* of the live blocks that touch it */
};

static void visit(struct looking *l, struct page *page, uint64_t index, uint32_t block, uint64_t bytes)
{
    if (page->index != index) {
        share(l, page->highest, page->live, page->free_bytes);
        *page = (struct page){.index = index, .highest = GM_SPACE_NONE};
    }
    if (l->space->blocks.v[block].use == GM_SPACE_FREE) {
        page->free_bytes += bytes;
    } else if (page->live++ == 0) {
        page->highest = block;
    }
}

/* Pages in between the first and the last of a block are all its own: live, nothing to keep; free, releasable. */
static void look_at_pages(struct looking *l, const struct gm_space_range *range, uint64_t size)
{
    const struct gm_space_block *blocks = l->space->blocks.v;
    struct page page = {.index = UINT64_MAX, .highest = GM_SPACE_NONE};
    for (uint32_t i = range->last; i != GM_SPACE_NONE; i = blocks[i].prev) {
        if (blocks[i].use == GM_SPACE_FREE)
            gm_watch_see_free(&l->free, l->w, l->space, i);
        uint64_t from = blocks[i].address - range->address, to = from + blocks[i].size;
        uint64_t first = from / size, last = (to - 1) / size;
        if (first == last) {
            visit(l, &page, last, i, to - from);
            continue;
        }
        visit(l, &page, last, i, to - last * size);
        visit(l, &page, first, i, (first + 1) * size - from);
    }
    share(l, page.highest, page.live, page.free_bytes);
}

/* Whether nothing in a segment that has live blocks can be more than what was seen. */
static inline bool is_less_than_seen(const struct looking *l, const struct gm_space_segment *s)
{
    return s->live > 0 && !s->is_cut && s->free_bytes <= l->free.largest &&
           (s->free_bytes <= l->least || s->free_bytes < ((gm_i128)l->least + 1) * s->live);
}

struct gm_watch_free gm_watch_pins(struct gm_watch *watch, const struct gm_space *space, uint32_t moment)
{
    struct looking l = {.w = watch,
                        .space = space,
                        .moment = moment,
                        .least = least_of_interest(watch),
                        .open = {.allocation = GM_NEVER, .moment = moment}};
    const struct gm_space_segment *const segments = space->segments.v;
    for (size_t i = 0; i < space->ranges.n; i++) {
        const struct gm_space_range *const range = &space->ranges.v[i];
        if (is_less_than_seen(&l, &segments[range->segment]))
            continue;
        const struct gm_space_block *last = &space->blocks.v[range->last];
        if (last->prev == GM_SPACE_NONE) { /* one block is all of it */
            if (last->use == GM_SPACE_FREE)
                gm_watch_see_free(&l.free, watch, space, range->last);
            continue;
        }
        if (!last->is_expandable)
            look_at_segment(&l, range);
        else
            look_at_pages(&l, range, gm_watch_page(watch, last->pool));
        if (l.open.allocation != GM_NEVER)
            offer(&l, &l.open);
        l.open = (struct gm_watch_pin){.allocation = GM_NEVER, .moment = moment};
    }
    return l.free;
}
