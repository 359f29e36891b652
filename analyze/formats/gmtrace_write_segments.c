/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments and blocks: what follows from something else is written only where it is otherwise.
 */
#include "analyze/formats/gmtrace_write_parts.h"

/* What near() reads. */
static void put_near(struct gm_gmtrace_writer *w, int stream, uint64_t v, uint64_t expected)
{
    uint64_t code = gm_zigzag(v - expected);
    if (v == GM_ABSENT) {
        gm_put_varint(&w->stream[stream], 0);
    } else if (code < UINT64_MAX - 1) {
        gm_put_varint(&w->stream[stream], code + 2);
    } else {
        gm_put_varint(&w->stream[stream], 1);
        gm_put_u64(&w->stream[GM_SEGS_ODD], v);
    }
}

/* What near_units() reads. */
static void put_near_units(struct gm_gmtrace_writer *w, int stream, uint64_t v, uint64_t expected)
{
    uint64_t delta = v - expected;
    if (delta == 0) {
        gm_put_varint(&w->stream[stream], 0);
    } else if ((delta & 511) == 0) {
        uint64_t units = delta >> 9 | (delta >> 63 != 0 ? ~(UINT64_MAX >> 9) : 0);
        gm_put_varint(&w->stream[stream], gm_zigzag(units) + 2);
    } else {
        gm_put_varint(&w->stream[stream], 1);
        gm_put_u64(&w->stream[GM_SEGS_ODD], v);
    }
}

struct sums {
    uint64_t total, allocated, active, requested;
};

static void put_block(struct gm_gmtrace_writer *w, const struct gm_blocks *b, size_t i, uint64_t expected,
                      uint32_t *newest_stack, struct sums *sums)
{
    put_near_units(w, GM_BLOCK_ADDRESS, b->address[i], expected);
    put_near_units(w, GM_BLOCK_SIZE, b->size[i], 0);
    put_near(w, GM_BLOCK_REQUESTED, b->requested[i], b->size[i]);
    gm_put_varint(&w->stream[GM_BLOCK_STATE], b->state[i]);
    gm_put_id(&w->stream[GM_BLOCK_STACK], b->stack[i].v, newest_stack, 0);
    sums->total += b->size[i];
    if (b->state[i] == GM_BLOCK_INACTIVE)
        return;
    sums->active += b->size[i];
    sums->allocated += b->state[i] == GM_BLOCK_ACTIVE_ALLOCATED ? b->size[i] : 0;
    sums->requested += gm_block_requested(b, i);
}

enum gm_status gm_gmtrace_put_segments(struct gm_gmtrace_writer *w, const char *tag, const struct gm_segments *s,
                                       const struct gm_blocks *b)
{
    uint64_t device = 0, end = 0;
    uint32_t newest_stack = 0;
    gm_put_varint(&w->stream[GM_SEGS_COUNT], s->count);
    gm_put_varint(&w->stream[GM_SEGS_COUNT], b->count);
    for (size_t i = 0; i < s->count; i++) {
        gm_put_varint(&w->stream[GM_SEGS_DEVICE], gm_zigzag((uint64_t)s->device[i] - device));
        device = (uint64_t)s->device[i];
        put_near_units(w, GM_SEGS_ADDRESS, s->address[i], end);
        gm_put_varint(&w->stream[GM_SEGS_KEYS], s->stream[i].v);
        gm_put_varint(&w->stream[GM_SEGS_KEYS], s->pool[i].v);
        gm_put_id(&w->stream[GM_SEGS_STACK], s->stack[i].v, &newest_stack, 0);
        gm_put_varint(&w->stream[GM_SEGS_KIND], (uint64_t)s->type[i] | (uint64_t)s->is_expandable[i] << 2);
        gm_put_varint(&w->stream[GM_SEGS_BLOCKS], s->block_count[i]);
        uint64_t expected = s->address[i];
        struct sums sums = {0};
        for (size_t k = s->block_first[i]; k < s->block_first[i] + s->block_count[i]; k++) {
            put_block(w, b, k, expected, &newest_stack, &sums);
            expected = b->address[k] + b->size[k];
        }
        put_near(w, GM_SEGS_SIZES, s->total_size[i], sums.total);
        put_near(w, GM_SEGS_SIZES, s->allocated_size[i], sums.allocated);
        put_near(w, GM_SEGS_SIZES, s->active_size[i], sums.active);
        put_near(w, GM_SEGS_SIZES, s->requested_size[i], sums.requested);
        end = s->address[i] + s->total_size[i];
    }
    return gm_gmtrace_section(w, tag, GM_SEGS_STREAMS, 1u << GM_SEGS_ODD, 0, 0);
}
