/* SPDX-License-Identifier: Apache-2.0
 *
 * What no column holds (analyze/snapshot/snapshot.h), out of a .gmtrace file. Whoever writes such values again walks
 * them, so they have to be what loading a pickle makes: containers that share no elements and hold only what comes
 * before them.
 */
#include "analyze/formats/gmtrace_parts.h"

#include <stdlib.h>

struct extras {
    struct gm_gmtrace_parts *p;
    uint64_t loose_count;
    uint32_t *length; /* by its first element: of each container that was named, 0 elsewhere */
};

static uint64_t id_limit(const struct gm_gmtrace_parts *p, unsigned type)
{
    switch (type) {
    case GM_LOOSE_STRING:
        return gm_gmtrace_string_limit(p);
    case GM_LOOSE_POOL:
        return p->m->pools.n;
    case GM_LOOSE_FRAME:
        return p->m->frame_name.n;
    case GM_LOOSE_STACK:
        return gm_gmtrace_stack_limit(p);
    default:
        return 0;
    }
}

/* A value that stands before element `before` of the loose ones. */
static bool next_loose(struct extras *x, uint64_t before, struct gm_loose *v)
{
    struct gm_cursor *c = x->p->r.streams;
    unsigned type = gm_cursor_byte(&c[GM_XTRA_TYPE]);
    if (type > GM_LOOSE_DICT)
        return false;
    uint64_t count = type >= GM_LOOSE_LIST ? gm_cursor_varint(&c[GM_XTRA_LENGTH]) : 0;
    uint64_t bits = type >= GM_LOOSE_POSITIVE ? gm_cursor_varint(&c[GM_XTRA_BITS]) : 0;
    bits = type == GM_LOOSE_NEGATIVE ? gm_unzigzag(bits) : bits;
    *v = (struct gm_loose){.type = (uint8_t)type, .count = (uint32_t)count, .bits = bits};
    if (type >= GM_LOOSE_STRING && type <= GM_LOOSE_STACK)
        return bits > 0 && bits < id_limit(x->p, type);
    if (count == 0)
        return true;
    if (count > before || bits > before - count || (type == GM_LOOSE_DICT && count % 2 != 0) ||
        (x->length[bits] != 0 && x->length[bits] != count))
        return false;
    x->length[bits] = (uint32_t)count;
    return true;
}

static bool are_apart(const struct extras *x)
{
    for (uint64_t i = 0, end = 0; i < x->loose_count; i++) {
        if (x->length[i] == 0)
            continue;
        if (i < end)
            return false;
        end = i + x->length[i];
    }
    return true;
}

static enum gm_status read_rows(struct extras *x, const uint64_t *counts)
{
    struct gm_gmtrace_parts *p = x->p;
    struct gm_cursor *c = p->r.streams;
    const uint64_t limits[GM_ROW_KIND_COUNT] = {1,
                                                p->s->segments.count,
                                                p->s->blocks.count,
                                                p->s->host_segments.count,
                                                p->s->host_blocks.count,
                                                p->event_count,
                                                p->m->frame_name.n,
                                                p->m->annotations.n};
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++) {
        uint64_t row = 0;
        if (!GM_VEC_ROOM(&p->m->extras[kind], counts[kind]))
            return gm_no_memory(p->r.err);
        for (uint64_t i = 0; i < counts[kind]; i++) {
            uint64_t delta = gm_cursor_varint(&c[GM_XTRA_ROW]), key = gm_cursor_varint(&c[GM_XTRA_KEY]);
            struct gm_extra extra;
            row += delta <= UINT32_MAX ? delta : UINT32_MAX;
            if (row >= limits[kind] || key == 0 || key >= gm_gmtrace_string_limit(p) ||
                !next_loose(x, x->loose_count, &extra.value))
                return gm_gmtrace_damaged(&p->r, "a value that is not possible");
            extra.row = (uint32_t)row;
            extra.key = (uint32_t)key;
            p->m->extras[kind].v[p->m->extras[kind].n++] = extra;
        }
    }
    return GM_OK;
}

static enum gm_status read_orders(struct gm_gmtrace_parts *p, const uint64_t *counts)
{
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++) {
        if (!GM_VEC_ROOM(&p->m->key_orders[kind], counts[kind]))
            return gm_no_memory(p->r.err);
        for (uint64_t i = 0; i < counts[kind]; i++) {
            uint64_t key = gm_cursor_varint(&p->r.streams[GM_XTRA_KEY]);
            if (key == 0 || key >= gm_gmtrace_string_limit(p))
                return gm_gmtrace_damaged(&p->r, "a key that is not possible");
            p->m->key_orders[kind].v[p->m->key_orders[kind].n++] = (uint32_t)key;
        }
    }
    return GM_OK;
}

static enum gm_status read_values(struct extras *x)
{
    struct gm_gmtrace_parts *p = x->p;
    if (!next_loose(x, x->loose_count, &p->s->settings_tree))
        return gm_gmtrace_damaged(&p->r, "settings that are not possible");
    if (!GM_VEC_ROOM(&p->m->loose, x->loose_count))
        return gm_no_memory(p->r.err);
    for (uint64_t i = 0; i < x->loose_count; i++) {
        if (!next_loose(x, i, &p->m->loose.v[i]))
            return gm_gmtrace_damaged(&p->r, "a value that is not possible");
        p->m->loose.n++;
    }
    return are_apart(x) ? gm_gmtrace_end(&p->r) : gm_gmtrace_damaged(&p->r, "lists that overlap");
}

enum gm_status gm_gmtrace_extras(struct gm_gmtrace_parts *p)
{
    GM_TRY(gm_gmtrace_begin(&p->r, "XTRA", GM_XTRA_STREAMS));
    struct gm_cursor *c = p->r.streams;
    uint64_t counts[GM_ROW_KIND_COUNT + GM_ORDER_COUNT], keys = gm_cursor_left(&c[GM_XTRA_KEY]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        counts[i] = gm_cursor_varint(&c[GM_XTRA_COUNT]);
        if (counts[i] > keys)
            return gm_gmtrace_damaged(&p->r, "more values than it has room for");
        keys -= counts[i];
    }
    struct extras x = {.p = p, .loose_count = gm_cursor_varint(&c[GM_XTRA_COUNT])};
    if (x.loose_count > gm_cursor_left(&c[GM_XTRA_TYPE]) || x.loose_count > GM_MAX_ID)
        return gm_gmtrace_damaged(&p->r, "more values than it has room for");
    x.length = calloc(x.loose_count + 1, sizeof *x.length);
    enum gm_status status = x.length == NULL ? gm_no_memory(p->r.err) : read_rows(&x, counts);
    GM_THEN(status, read_orders(p, counts + GM_ROW_KIND_COUNT));
    GM_THEN(status, read_values(&x));
    free(x.length);
    return status;
}
