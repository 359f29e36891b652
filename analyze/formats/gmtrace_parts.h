/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of a .gmtrace file, in the order in which they are read. Private to gmtrace*.c.
 */
#ifndef GM_FORMATS_GMTRACE_PARTS_H
#define GM_FORMATS_GMTRACE_PARTS_H

#include "analyze/formats/gmtrace_read.h"
#include "analyze/snapshot/builder.h"

struct gm_gmtrace_parts {
    struct gm_gmtrace_reader r;
    struct gm_snapshot_memory *m; /* what the sections become */
    struct gm_snapshot *s;        /* what is not in *m: segments, traces, settings, flags */
    size_t event_count;
    bool has_time;
    bool varies[6];  /* rare columns, in the order of gm_gmtrace_context from the stream on */
    uint32_t all[6]; /* the value of those that do not vary */
};

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

#endif
