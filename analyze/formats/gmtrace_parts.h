/* SPDX-License-Identifier: Apache-2.0
 *
 * Sections and streams of a .gmtrace file, as its reader takes them apart. Private to gmtrace*.c. Nothing is
 * decompressed whose checksum is wrong, and nothing is allocated that the bytes read so far do not pay for.
 */
#pragma once

#include "analyze/formats/gmtrace_format.h"
#include "analyze/formats/source.h"
#include "analyze/snapshot/builder.h"

#include <zstd.h>

/* The bytes of a stream that are not yet read. Reading on after the end gives zeros and sets `bad`, so that a loop
 * checks once, at its end. */
struct gm_cursor {
    const unsigned char *p, *end;
    bool bad;
};

uint64_t gm_cursor_long(struct gm_cursor *c, uint64_t first);

static inline uint64_t gm_cursor_varint(struct gm_cursor *c)
{
    if (c->p == c->end) {
        c->bad = true;
        return 0;
    }
    uint64_t v = *c->p++;
    return v < 128 ? v : gm_cursor_long(c, v);
}
static inline uint8_t gm_cursor_byte(struct gm_cursor *c)
{
    if (c->p == c->end) {
        c->bad = true;
        return 0;
    }
    return *c->p++;
}
uint64_t gm_cursor_u64(struct gm_cursor *c);

struct gm_gmtrace_reader {
    struct gm_source *source;
    struct gm_error *err;
    ZSTD_DCtx *zstd;
    uint64_t spent;  /* see GM_GMTRACE_FREE */
    uint32_t crc;    /* of the file up to here */
    char tag[5];     /* of the section that is being read */
    uint64_t offset; /* where it begins */
    unsigned char *payload;
    size_t length, capacity;
    struct gm_cursor streams[GM_EVNT_STREAMS];
    unsigned char *owned[GM_EVNT_STREAMS]; /* decompressed streams */
    size_t count;                          /* of streams */
};

/* Reads the header. The reader is to be closed in any case. */
enum gm_status gm_gmtrace_open(struct gm_gmtrace_reader *r, struct gm_source *source, struct gm_error *err);
void gm_gmtrace_close(struct gm_gmtrace_reader *r);

/* Reads the next section, which has to be `tag`, and takes its `streams` streams apart. */
enum gm_status gm_gmtrace_begin(struct gm_gmtrace_reader *r, const char *tag, size_t streams);
/* Ends it: all streams have to be read to their ends, and not beyond. */
enum gm_status gm_gmtrace_end(struct gm_gmtrace_reader *r);
/* Reads the last section and checks that the file ends there. */
enum gm_status gm_gmtrace_finish(struct gm_gmtrace_reader *r);

/* Accounts for memory that is about to be allocated. */
enum gm_status gm_gmtrace_spend(struct gm_gmtrace_reader *r, uint64_t count, uint64_t cost);

/* "damaged .gmtrace: section TAG: WHAT", at its place. */
enum gm_status gm_gmtrace_damaged(struct gm_gmtrace_reader *r, const char *what);

struct gm_gmtrace_parts {
    struct gm_gmtrace_reader r;
    struct gm_snapshot_memory *m; /* what the sections become */
    struct gm_snapshot *s;        /* what is not in *m: segments, traces, settings, flags */
    size_t event_count;
    bool has_time;
    bool varies[6];  /* rare columns, in the order of gm_gmtrace_context from the stream on */
    uint32_t all[6]; /* the value of those that do not vary */
};

/* The sections, in the order in which they are read. */
enum gm_status gm_gmtrace_strings(struct gm_gmtrace_parts *p);
enum gm_status gm_gmtrace_frames(struct gm_gmtrace_parts *p);
enum gm_status gm_gmtrace_stacks(struct gm_gmtrace_parts *p);
enum gm_status gm_gmtrace_segments(struct gm_gmtrace_parts *p, const char *tag, struct gm_segments *segments,
                                   struct gm_blocks *blocks);
enum gm_status gm_gmtrace_events(struct gm_gmtrace_parts *p);
enum gm_status gm_gmtrace_annotations(struct gm_gmtrace_parts *p);
enum gm_status gm_gmtrace_extras(struct gm_gmtrace_parts *p);

/* An id that is most often the one after the highest id so far, *newest. Sets c->bad if it is not below `limit`. */
uint32_t gm_gmtrace_id(struct gm_cursor *c, uint64_t code, uint32_t *newest, uint32_t limit);

/* How many rows the tables have, the absent ones included. */
static inline uint32_t gm_gmtrace_string_limit(const struct gm_gmtrace_parts *p)
{
    return (uint32_t)(p->m->string_start.n - 1);
}
static inline uint32_t gm_gmtrace_stack_limit(const struct gm_gmtrace_parts *p)
{
    return (uint32_t)(p->m->stack_start.n - 1);
}

/* How many bytes of a stream are left: no row takes less than one. */
static inline size_t gm_cursor_left(const struct gm_cursor *c)
{
    return (size_t)(c->end - c->p);
}
