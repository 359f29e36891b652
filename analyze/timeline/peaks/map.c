/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's segments at the end, the largest first, block by block, to be drawn.
 *
 * A segment of more blocks than a picture has pixels is simplified: blocks smaller than a pixel are put together, a
 * pixel's worth at a time, by state and category. So the sums stay exact, and no block moves by more than about a
 * pixel.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/trace_pass.h"

#include <stdlib.h>
#include <string.h>

enum { SEGMENTS_MOST = 48, BLOCKS_MOST = 1500 };

struct ranked {
    uint64_t bytes, address;
    size_t segment;
};

struct map {
    struct gm_trace_pass *pass;
    struct GM_VEC(struct gm_map_block) blocks; /* of the segment at hand */
    const char **category;                     /* names in the arena */
    struct gm_map_block *pixel;                /* small blocks not yet put down: [state * categories + category] */
    uint32_t *order;                           /* of those, as they came */
    size_t pixel_count;
    uint64_t pixel_bytes, at; /* at: where the pixel begins */
};

GM_ORDERING(by_size, struct ranked, GM_DOWN(bytes) || GM_UP(address) || GM_UP(segment));

static uint32_t category_of(const struct map *m, size_t block)
{
    const struct gm_snapshot *s = m->pass->snapshot;
    if (s->blocks.state[block] == GM_BLOCK_INACTIVE)
        return 0;
    return gm_classify(m->pass->options->classifier, s->blocks.stack[block]);
}

static struct gm_map_block block_of(const struct map *m, size_t block, uint32_t category)
{
    const struct gm_snapshot *s = m->pass->snapshot;
    struct gm_map_block b = {.bytes = s->blocks.size[block]};
    if (s->blocks.state[block] == GM_BLOCK_INACTIVE)
        return b;
    b.state = s->blocks.state[block] == GM_BLOCK_ACTIVE_PENDING_FREE ? 2 : 1;
    b.color = gm_category_color(m->pass->options->rules, category);
    b.category = m->category[category];
    return b;
}

/* After what was put down before; what is like its neighbour joins it. */
static bool put(struct map *m, struct gm_map_block b, bool joins)
{
    struct gm_map_block *last = m->blocks.n > 0 ? &m->blocks.v[m->blocks.n - 1] : NULL;
    b.offset = m->at;
    m->at = gm_sat_add(m->at, b.bytes);
    if (joins && last != NULL && last->state == b.state && last->category == b.category) {
        last->bytes = gm_sat_add(last->bytes, b.bytes);
        return true;
    }
    return b.bytes == 0 || GM_VEC_PUSH(&m->blocks, b);
}

static bool put_pixel(struct map *m)
{
    bool ok = true;
    for (size_t i = 0; ok && i < m->pixel_count; i++) {
        ok = put(m, m->pixel[m->order[i]], true);
        m->pixel[m->order[i]].bytes = 0;
    }
    m->pixel_count = 0;
    m->pixel_bytes = 0;
    return ok;
}

static bool simplify(struct map *m, size_t first, size_t count, uint64_t smallest)
{
    uint32_t categories = gm_category_count(m->pass->options->rules);
    bool ok = true;
    for (size_t i = first; ok && i < first + count; i++) {
        uint32_t category = category_of(m, i);
        struct gm_map_block b = block_of(m, i, category);
        if (b.bytes >= smallest) {
            ok = put_pixel(m) && put(m, b, false);
            continue;
        }
        uint32_t kind = b.state * categories + category;
        if (b.bytes > 0 && m->pixel[kind].bytes == 0) {
            m->order[m->pixel_count++] = kind;
            m->pixel[kind] = b;
        } else {
            m->pixel[kind].bytes += b.bytes; /* both below `smallest` */
        }
        m->pixel_bytes += b.bytes;
        if (m->pixel_bytes >= smallest)
            ok = put_pixel(m);
    }
    return ok && put_pixel(m);
}

static bool collect_blocks(struct map *m, size_t segment)
{
    const struct gm_segments *g = &m->pass->snapshot->segments;
    size_t first = g->block_first[segment], count = g->block_count[segment];
    bool ok = true;
    m->blocks.n = 0;
    m->at = 0;
    if (count > BLOCKS_MOST)
        ok = simplify(m, first, count, g->total_size[segment] / BLOCKS_MOST + 1);
    for (size_t i = first; ok && count <= BLOCKS_MOST && i < first + count; i++)
        ok = put(m, block_of(m, i, category_of(m, i)), false);
    return ok;
}

/* Whether the segment whose blocks were just collected would be drawn as the other of its size. */
static bool is_alike(const struct map *m, const struct gm_map_segment *a, const struct gm_map_segment *b)
{
    bool is = a->stream_number == b->stream_number && strcmp(a->pool, b->pool) == 0 && m->blocks.n == b->block_count;
    for (size_t i = 0; is && i < m->blocks.n; i++)
        is = m->blocks.v[i].bytes == b->blocks[i].bytes && m->blocks.v[i].state == b->blocks[i].state &&
             m->blocks.v[i].category == b->blocks[i].category;
    return is;
}

static uint32_t stream_number(const struct gm_device_report *device, int64_t stream)
{
    for (size_t i = 0; i < device->stream_count; i++)
        if (device->streams[i].stream == stream)
            return device->streams[i].number;
    return 0;
}

/* The next of the list, unless it is like one there. */
static bool list_segment(struct map *m, const struct ranked *ranked, struct gm_map_segment *segments, size_t *n)
{
    const struct gm_snapshot *s = m->pass->snapshot;
    struct gm_arena *arena = &m->pass->report->arena;
    const int64_t stream = gm_stream_handle(s, s->segments.stream[ranked->segment].v);
    struct gm_map_segment next = {.address = ranked->address,
                                  .bytes = ranked->bytes,
                                  .pool = gm_pool_name(arena, s, ranked->segment),
                                  .stream_number = stream_number(&m->pass->report->devices[m->pass->index], stream)};
    if (next.pool == NULL || !collect_blocks(m, ranked->segment))
        return false;
    for (size_t i = *n; i > 0 && segments[i - 1].bytes == next.bytes; i--)
        if (is_alike(m, &next, &segments[i - 1])) {
            segments[i - 1].alike++;
            return true;
        }
    next.blocks = gm_arena_array(arena, m->blocks.v, m->blocks.n, sizeof *next.blocks);
    next.block_count = m->blocks.n;
    segments[(*n)++] = next;
    return next.blocks != NULL;
}

static bool publish(struct map *m, const struct ranked *ranked, size_t count)
{
    struct gm_trace_pass *pass = m->pass;
    struct gm_map_segment *segments =
        gm_arena_calloc(&pass->report->arena, gm_min(count, SEGMENTS_MOST), sizeof *segments);
    uint64_t rest = 0;
    size_t i = 0, n = 0;
    for (; segments != NULL && i < count && n < SEGMENTS_MOST; i++)
        if (!list_segment(m, &ranked[i], segments, &n))
            return false;
    for (; i < count; i++)
        rest = gm_sat_add(rest, ranked[i].bytes);
    pass->out->map = (struct gm_segment_map){segments, n, count, rest};
    return segments != NULL;
}

static bool name_categories(struct map *m)
{
    const struct gm_category_rules *rules = m->pass->options->rules;
    for (uint32_t i = 0; i < gm_category_count(rules); i++) {
        const char *name = gm_category_name(rules, i);
        m->category[i] = gm_arena_copy(&m->pass->report->arena, name, strlen(name));
        if (m->category[i] == NULL)
            return false;
    }
    return true;
}

bool gm_trace_map(struct gm_trace_pass *pass)
{
    const struct gm_segments *g = &pass->snapshot->segments;
    struct map m = {.pass = pass};
    size_t categories = gm_category_count(pass->options->rules), count = 0;
    GM_FREED struct ranked *ranked = malloc((g->count + 1) * sizeof *ranked);
    m.category = calloc(categories, sizeof *m.category);
    m.pixel = calloc(3 * categories, sizeof *m.pixel);
    m.order = calloc(3 * categories, sizeof *m.order);
    bool ok = ranked != NULL && m.category != NULL && m.pixel != NULL && m.order != NULL && name_categories(&m);
    for (size_t i = 0; ok && i < g->count; i++)
        if (g->device[i] == pass->history.device)
            ranked[count++] = (struct ranked){g->total_size[i], g->address[i], i};
    GM_SORT(ranked, count, by_size);
    ok = ok && publish(&m, ranked, count);
    GM_FREE_ALL(m.category, m.pixel, m.order, m.blocks.v);
    return ok;
}
