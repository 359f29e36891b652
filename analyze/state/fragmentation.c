/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cached bytes could go back to the driver and which cannot (the contract's words): a cudaMalloc segment goes
 * back whole, an expandable range in whole pages, and only where nothing is active. empty_cache() first waits for
 * pending frees, so for it pending blocks are free; it never touches private pools, which a snapshot shows only while
 * they are in use.
 */
#include "analyze/base/arithmetic.h"

#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/state/state_pass.h"

#include <stdlib.h>

/* ---- address reservations --------------------------------------------------------------------------------------- */

/* Address reservations of expandable segments, as far as map and unmap events show them: touching ranges of one stream
 * are one chain, and pages are counted from the chain's lowest address. */

bool gm_reservations_add(struct gm_reservations *r, uint32_t stream, uint64_t from, uint64_t to)
{
    if (r->n > 0) { /* a reservation grows and shrinks at its end, so most events touch the range before */
        struct gm_reservation *last = &r->v[r->n - 1];
        if (last->stream == stream && from <= last->to && to >= last->from) {
            last->from = from < last->from ? from : last->from;
            last->to = to > last->to ? to : last->to;
            return true;
        }
    }
    struct gm_reservation fresh = {stream, from, to};
    return GM_VEC_PUSH(r, fresh);
}

GM_ORDERING(compare, struct gm_reservation, GM_UP(stream) || GM_UP(from) || GM_UP(to));

void gm_reservations_merge(struct gm_reservations *r)
{
    if (r->n < 2)
        return;
    qsort(r->v, r->n, sizeof *r->v, compare);
    size_t n = 1;
    for (size_t i = 1; i < r->n; i++) {
        struct gm_reservation *last = &r->v[n - 1];
        if (last->stream != r->v[i].stream || r->v[i].from > last->to)
            r->v[n++] = r->v[i];
        else if (r->v[i].to > last->to)
            last->to = r->v[i].to;
    }
    r->n = n;
}

/* The last chain of the segment's stream that begins at or before the segment, if it reaches the segment. */
static uint64_t reservation_start(const struct gm_device_pass *device, const struct gm_snapshot *s, size_t segment)
{
    const struct gm_reservations *r = &device->reservations;
    uint64_t address = s->segments.address[segment];
    struct gm_reservation wanted = {s->segments.stream[segment].v, address, UINT64_MAX};
    size_t low = 0;
    GM_BISECT(low, r->n, i, compare(&r->v[i], &wanted) <= 0);
    if (low == 0 || r->v[low - 1].stream != wanted.stream || r->v[low - 1].to < address)
        return address;
    return r->v[low - 1].from;
}

/* 2 MiB, or the large segment size in force. */
static uint64_t page_size(const struct gm_pass *pass, size_t segment)
{
    return pass->snapshot->segments.type[segment] == GM_SEGMENT_SMALL ? GM_SMALL_SEGMENT
                                                                      : pass->conf.rules.large_segment;
}

enum { THIN_MINIMUM_MIB = 10, THIN_PERCENT = 10 };

/* Pins: live blocks that keep cached bytes from going back. In a cudaMalloc segment every live block shares in all of
 * its inactive bytes; in an expandable range it is the page that goes back or stays, so a live block shares in the
 * inactive bytes of the pages that it touches. */

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

/* Live blocks that pin the cached bytes of a segment are appended to pins. */
static bool pins_of_segment(struct gm_pins *pins, const struct gm_snapshot *s, size_t segment, uint64_t inactive,
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

static bool pins_of_pages(struct gm_pins *pins, const struct gm_snapshot *s, size_t segment, uint64_t base,
                          uint64_t page)
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

struct free_run {
    uint64_t from, to;
    uint64_t pages; /* bytes of whole pages in the runs so far */
    bool is_open;
};

static void close_run(struct free_run *run, uint64_t base, uint64_t page)
{
    if (run->is_open)
        run->pages =
            gm_sat_add(run->pages, gm_whole_units(gm_sat_sub(run->from, base), gm_sat_sub(run->to, base), page));
    run->is_open = false;
}

static void extend_run(struct free_run *run, uint64_t from, uint64_t to, uint64_t base, uint64_t page)
{
    if (run->is_open && run->to != from)
        close_run(run, base, page);
    if (!run->is_open)
        run->from = from;
    run->to = to;
    run->is_open = true;
}

/* Whole pages of an expandable segment without anything active (releasable), and without anything allocated. */
static void measure_pages(const struct gm_snapshot *s, size_t segment, uint64_t base, uint64_t page,
                          uint64_t *without_active, uint64_t *without_allocated)
{
    struct free_run inactive = {0}, unallocated = {0};
    size_t first = s->segments.block_first[segment], end = first + s->segments.block_count[segment];
    uint64_t at = s->segments.address[segment];
    for (size_t b = first; b < end; b++) {
        uint64_t from = s->blocks.address[b] > at ? s->blocks.address[b] : at;
        uint64_t to = gm_sat_add(from, s->blocks.size[b]);
        at = to;
        if (s->blocks.state[b] == GM_BLOCK_INACTIVE)
            extend_run(&inactive, from, to, base, page);
        else
            close_run(&inactive, base, page);
        if (s->blocks.state[b] != GM_BLOCK_ACTIVE_ALLOCATED)
            extend_run(&unallocated, from, to, base, page);
        else
            close_run(&unallocated, base, page);
    }
    close_run(&inactive, base, page);
    close_run(&unallocated, base, page);
    *without_active = inactive.pages;
    *without_allocated = unallocated.pages;
}

static void measure_blocks(struct gm_fragmentation *f, const struct gm_snapshot *s, size_t segment)
{
    size_t first = s->segments.block_first[segment], end = first + s->segments.block_count[segment];
    for (size_t b = first; b < end; b++) {
        uint64_t size = s->blocks.size[b];
        if (s->blocks.state[b] != GM_BLOCK_INACTIVE)
            continue;
        f->inactive_blocks++;
        if (size > f->largest_inactive)
            f->largest_inactive = size;
        if (size > 100 * GM_MIB) {
            f->unused_over_100mib.blocks++;
            f->unused_over_100mib.bytes = gm_sat_add(f->unused_over_100mib.bytes, size);
        }
    }
}

static void note_thin(struct gm_evidence *evidence, const struct gm_snapshot *s, size_t segment,
                      const struct gm_totals *t)
{
    if (t->active_blocks == 0 || t->inactive < THIN_MINIMUM_MIB * GM_MIB ||
        t->active > t->inactive / (100 / THIN_PERCENT))
        return;
    evidence->thin_segments++;
    evidence->thin_inactive = gm_sat_add(evidence->thin_inactive, t->inactive);
    evidence->thin_live += t->active_blocks;
    size_t first = s->segments.block_first[segment], end = first + s->segments.block_count[segment];
    for (size_t b = first; b < end; b++)
        evidence->thin_small += s->blocks.state[b] != GM_BLOCK_INACTIVE && s->blocks.size[b] <= GM_MIB;
}

static bool measure_segment(struct gm_pass *pass, struct gm_device_pass *device, struct gm_fragmentation *f, size_t i)
{
    const struct gm_snapshot *s = pass->snapshot;
    const struct gm_totals *t = &pass->sums[i].totals;
    size_t segment = pass->order[i];
    bool is_private = gm_segment_is_private(s, segment), has_memory;
    uint64_t releasable, empty_cache;
    measure_blocks(f, s, segment);
    if (gm_segment_is_expandable(s, segment)) {
        uint64_t base = reservation_start(device, s, segment), page = page_size(pass, segment);
        measure_pages(s, segment, base, page, &releasable, &empty_cache);
        has_memory = pins_of_pages(&device->pins, s, segment, base, page);
        pass->report->expandable_is_on |= t->reserved > 0;
    } else {
        releasable = t->active_blocks == 0 ? t->inactive : 0;
        empty_cache = t->allocated_blocks == 0 ? gm_sat_add(t->inactive, t->pending) : 0;
        has_memory = pins_of_segment(&device->pins, s, segment, t->inactive, t->active_blocks);
        note_thin(&pass->report->evidence, s, segment, t);
        if (!is_private)
            pass->report->evidence.stranded_fixed =
                gm_sat_add(pass->report->evidence.stranded_fixed, t->inactive - releasable);
    }
    f->releasable = gm_sat_add(f->releasable, releasable);
    if (is_private)
        pass->report->evidence.cached_private = gm_sat_add(pass->report->evidence.cached_private, t->inactive);
    else
        f->empty_cache = gm_sat_add(f->empty_cache, empty_cache);
    return has_memory;
}

static void merge(struct gm_fragmentation *to, const struct gm_fragmentation *from)
{
    to->inactive_blocks += from->inactive_blocks;
    if (from->largest_inactive > to->largest_inactive)
        to->largest_inactive = from->largest_inactive;
    to->unused_over_100mib.blocks += from->unused_over_100mib.blocks;
    to->unused_over_100mib.bytes = gm_sat_add(to->unused_over_100mib.bytes, from->unused_over_100mib.bytes);
    to->releasable = gm_sat_add(to->releasable, from->releasable);
    to->stranded = gm_sat_add(to->stranded, from->stranded);
    to->empty_cache = gm_sat_add(to->empty_cache, from->empty_cache);
}

bool gm_pass_fragmentation(struct gm_pass *pass)
{
    for (size_t d = 0; d < pass->device_count; d++) {
        struct gm_device_pass *device = &pass->device_passes[d];
        struct gm_fragmentation *f = &pass->devices[d].fragmentation;
        for (size_t i = device->first; i < device->first + device->count; i++)
            if (!measure_segment(pass, device, f, i))
                return false;
        f->stranded = gm_sat_sub(pass->devices[d].totals.inactive, f->releasable);
        merge(&pass->report->fragmentation, f);
    }
    return true;
}
