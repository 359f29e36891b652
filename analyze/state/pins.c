/* SPDX-License-Identifier: Apache-2.0
 *
 * Pins: live blocks that keep cached bytes from going back. In a cudaMalloc segment every live block shares in all of
 * its inactive bytes; in an expandable range it is the page that goes back or stays, so a live block shares in the
 * inactive bytes of the pages that it touches.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/state/state_pass.h"

static bool add(struct gm_pins *pins, uint32_t block, uint64_t bytes, uint32_t sharers, uint64_t from, uint64_t to)
{
    if (pins->n > 0 && pins->v[pins->n - 1].block == block) { /* its first page was added before */
        struct gm_pin *pin = &pins->v[pins->n - 1];
        pin->bytes = gm_sat_add(pin->bytes, bytes);
        pin->sharers = sharers > pin->sharers ? sharers : pin->sharers;
        pin->to = to;
        return true;
    }
    struct gm_pin pin = {bytes, from, to, block, sharers};
    return bytes == 0 || GM_VEC_PUSH(pins, pin);
}

bool gm_pins_of_segment(struct gm_pins *pins, const struct gm_snapshot *s, size_t segment, uint64_t inactive,
                        uint64_t live)
{
    if (inactive == 0 || live == 0)
        return true;
    size_t first = s->segments.block_first[segment], end = first + s->segments.block_count[segment];
    uint64_t from = s->segments.address[segment], to = gm_sat_add(from, s->segments.total_size[segment]);
    uint32_t sharers = live < UINT32_MAX ? (uint32_t)live : UINT32_MAX;
    for (size_t b = first; b < end; b++)
        if (s->blocks.state[b] != GM_BLOCK_INACTIVE && !add(pins, (uint32_t)b, inactive / live, sharers, from, to))
            return false;
    return true;
}

/* The page at hand while blocks are visited in address order. */
struct page {
    uint64_t index, inactive;
    size_t first_live; /* row of the first live block that touches it */
    uint32_t live;
};

struct page_walk {
    struct gm_pins *pins;
    const struct gm_snapshot *s;
    uint64_t base, size;
    struct page page;
};

static bool finish_page(struct page_walk *w)
{
    uint32_t left = w->page.live;
    bool has_memory = true;
    uint64_t from = gm_sat_add(w->base, w->page.index * w->size), to = gm_sat_add(from, w->size);
    if (w->page.inactive > 0)
        for (size_t b = w->page.first_live; left > 0; b++) {
            if (w->s->blocks.state[b] == GM_BLOCK_INACTIVE ||
                w->s->blocks.size[b] == 0) /* no page was visited for it */
                continue;
            has_memory &= add(w->pins, (uint32_t)b, w->page.inactive / w->page.live, w->page.live, from, to);
            left--;
        }
    return has_memory;
}

/* The part of block b inside page `index` is `bytes` long. */
static bool visit(struct page_walk *w, uint64_t index, size_t b, uint64_t bytes)
{
    bool has_memory = true;
    if (w->page.index != index) {
        has_memory = finish_page(w);
        w->page = (struct page){.index = index};
    }
    if (w->s->blocks.state[b] == GM_BLOCK_INACTIVE) {
        w->page.inactive += bytes;
    } else {
        if (w->page.live++ == 0)
            w->page.first_live = b;
    }
    return has_memory;
}

bool gm_pins_of_pages(struct gm_pins *pins, const struct gm_snapshot *s, size_t segment, uint64_t base, uint64_t page)
{
    size_t first = s->segments.block_first[segment], end = first + s->segments.block_count[segment];
    uint64_t at = gm_sat_sub(s->segments.address[segment], base);
    struct page_walk w = {.pins = pins, .s = s, .base = base, .size = page, .page = {.index = at / page}};
    for (size_t b = first; b < end; b++) {
        uint64_t offset = gm_sat_sub(s->blocks.address[b], base);
        uint64_t from = offset > at ? offset : at, to = gm_sat_add(from, s->blocks.size[b]);
        at = to;
        if (from == to)
            continue;
        uint64_t first_page = from / page, last_page = (to - 1) / page;
        if (first_page == last_page) {
            if (!visit(&w, first_page, b, to - from))
                return false;
            continue;
        }
        /* pages in between are all this block's: live, nothing to pin; inactive, releasable */
        if (!visit(&w, first_page, b, (first_page + 1) * page - from) ||
            !visit(&w, last_page, b, to - last_page * page))
            return false;
    }
    return finish_page(&w);
}
