/* SPDX-License-Identifier: Apache-2.0
 *
 * Segments and blocks of a .gmtrace file. What follows from something else (where a block begins, a segment's sums) is
 * told only where it is otherwise.
 */
#include "analyze/formats/gmtrace_parts.h"

struct filler {
    struct gm_gmtrace_parts *p;
    struct gm_segment_columns s;
    struct gm_block_columns b;
    size_t blocks; /* rows filled */
    uint64_t device, end;
    uint32_t newest_stack;
};

/* 0: absent; 1: given in full; else the difference to what is expected. */
static uint64_t near(struct gm_cursor *c, struct gm_cursor *odd, uint64_t expected)
{
    uint64_t code = gm_cursor_varint(c);
    return code == 0 ? GM_ABSENT : code == 1 ? gm_cursor_u64(odd) : expected + gm_unzigzag(code - 2);
}

/* The same in units of 512 bytes, where nothing can be absent: 0 is what is expected. */
static uint64_t near_units(struct gm_cursor *c, struct gm_cursor *odd, uint64_t expected)
{
    uint64_t code = gm_cursor_varint(c);
    return code == 0 ? expected : code == 1 ? gm_cursor_u64(odd) : expected + (gm_unzigzag(code - 2) << 9);
}

static enum gm_status fill_block(struct filler *f, size_t segment, uint64_t expected)
{
    struct gm_gmtrace_reader *r = &f->p->r;
    struct gm_cursor *c = r->streams, *odd = &c[GM_SEGS_ODD];
    size_t i = f->blocks++;
    f->b.address[i] = near_units(&c[GM_BLOCK_ADDRESS], odd, expected);
    f->b.size[i] = near_units(&c[GM_BLOCK_SIZE], odd, 0);
    f->b.requested[i] = near(&c[GM_BLOCK_REQUESTED], odd, f->b.size[i]);
    f->b.state[i] = gm_cursor_byte(&c[GM_BLOCK_STATE]);
    f->b.stack[i].v = gm_gmtrace_id(&c[GM_BLOCK_STACK], gm_cursor_varint(&c[GM_BLOCK_STACK]), &f->newest_stack,
                                    gm_gmtrace_stack_limit(f->p));
    f->b.segment[i] = (uint32_t)segment;
    if (f->b.state[i] > GM_BLOCK_ACTIVE_PENDING_FREE || f->b.size[i] == GM_ABSENT)
        return gm_gmtrace_damaged(r, "a block is not possible");
    return GM_OK;
}

static void fill_sizes(struct filler *f, size_t i)
{
    uint64_t total = 0, allocated = 0, active = 0, requested = 0;
    for (size_t j = f->s.block_first[i]; j < f->blocks; j++) {
        total += f->b.size[j];
        if (f->b.state[j] == GM_BLOCK_INACTIVE)
            continue;
        active += f->b.size[j];
        allocated += f->b.state[j] == GM_BLOCK_ACTIVE_ALLOCATED ? f->b.size[j] : 0;
        requested += f->b.requested[j] != GM_ABSENT ? f->b.requested[j] : f->b.size[j];
    }
    struct gm_cursor *c = &f->p->r.streams[GM_SEGS_SIZES], *odd = &f->p->r.streams[GM_SEGS_ODD];
    f->s.total_size[i] = near(c, odd, total);
    f->s.allocated_size[i] = near(c, odd, allocated);
    f->s.active_size[i] = near(c, odd, active);
    f->s.requested_size[i] = near(c, odd, requested);
    f->end = f->s.address[i] + f->s.total_size[i];
}

static enum gm_status fill_segment(struct filler *f, size_t i, size_t block_total)
{
    struct gm_gmtrace_parts *p = f->p;
    struct gm_cursor *c = p->r.streams;
    f->device += gm_unzigzag(gm_cursor_varint(&c[GM_SEGS_DEVICE]));
    f->s.device[i] = (int64_t)f->device;
    f->s.address[i] = near_units(&c[GM_SEGS_ADDRESS], &c[GM_SEGS_ODD], f->end);
    uint64_t stream = gm_cursor_varint(&c[GM_SEGS_KEYS]), pool = gm_cursor_varint(&c[GM_SEGS_KEYS]);
    uint8_t kind = gm_cursor_byte(&c[GM_SEGS_KIND]);
    uint64_t count = gm_cursor_varint(&c[GM_SEGS_BLOCKS]);
    if (stream >= p->m->streams.n || pool >= p->m->pools.n || (kind & 3) > GM_SEGMENT_LARGE || kind >> 2 > GM_TRUE ||
        count > block_total - f->blocks)
        return gm_gmtrace_damaged(&p->r, "a segment is not possible");
    f->s.stream[i].v = (uint32_t)stream;
    f->s.pool[i].v = (uint32_t)pool;
    f->s.stack[i].v = gm_gmtrace_id(&c[GM_SEGS_STACK], gm_cursor_varint(&c[GM_SEGS_STACK]), &f->newest_stack,
                                    gm_gmtrace_stack_limit(p));
    f->s.type[i] = kind & 3;
    f->s.is_expandable[i] = kind >> 2;
    f->s.block_first[i] = f->blocks;
    f->s.block_count[i] = count;
    uint64_t expected = f->s.address[i];
    for (; count > 0; count--) {
        GM_TRY(fill_block(f, i, expected));
        expected = f->b.address[f->blocks - 1] + f->b.size[f->blocks - 1];
    }
    fill_sizes(f, i);
    if (f->s.address[i] == GM_ABSENT || f->s.total_size[i] == GM_ABSENT)
        return gm_gmtrace_damaged(&p->r, "a segment has no address or size");
    return GM_OK;
}

enum gm_status gm_gmtrace_segments(struct gm_gmtrace_parts *p, const char *tag, struct gm_segments *segments,
                                   struct gm_blocks *blocks)
{
    GM_TRY(gm_gmtrace_begin(&p->r, tag, GM_SEGS_STREAMS));
    struct gm_cursor *c = p->r.streams;
    uint64_t count = gm_cursor_varint(&c[GM_SEGS_COUNT]), block_count = gm_cursor_varint(&c[GM_SEGS_COUNT]);
    if (count > gm_cursor_left(&c[GM_SEGS_KIND]) || block_count > gm_cursor_left(&c[GM_BLOCK_STATE]) ||
        count >= GM_MAX_ID || block_count >= GM_MAX_ID)
        return gm_gmtrace_damaged(&p->r, "more segments or blocks than it has room for");
    if (count == 0)
        return gm_gmtrace_end(&p->r);
    struct filler f = {.p = p};
    if (!gm_new_segment_columns(&p->m->arena, &f.s, count) || !gm_new_block_columns(&p->m->arena, &f.b, block_count))
        return gm_no_memory(p->r.err);
    for (size_t i = 0; i < count; i++)
        GM_TRY(fill_segment(&f, i, block_count));
    if (f.blocks != block_count)
        return gm_gmtrace_damaged(&p->r, "blocks that belong to no segment");
    *segments = gm_segments_of(&f.s, count);
    *blocks = gm_blocks_of(&f.b, block_count);
    return gm_gmtrace_end(&p->r);
}
