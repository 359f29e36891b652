/* SPDX-License-Identifier: Apache-2.0
 *
 * What no column holds: keys of rows that only a rewritten snapshot needs, the order of keys, the settings' tree.
 */
#include "analyze/formats/gmtrace_write_parts.h"

static void put_loose(struct gm_gmtrace_writer *w, const struct gm_loose *v)
{
    gm_put_varint(&w->stream[GM_XTRA_TYPE], v->type);
    if (v->type >= GM_LOOSE_LIST)
        gm_put_varint(&w->stream[GM_XTRA_LENGTH], v->count);
    if (v->type >= GM_LOOSE_POSITIVE)
        gm_put_varint(&w->stream[GM_XTRA_BITS], v->type == GM_LOOSE_NEGATIVE ? gm_zigzag(v->bits) : v->bits);
}

enum gm_status gm_gmtrace_put_extras(struct gm_gmtrace_writer *w)
{
    const struct gm_snapshot *s = w->s;
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++) {
        uint64_t row = 0;
        gm_put_varint(&w->stream[GM_XTRA_COUNT], s->extras[kind].count);
        for (size_t i = 0; i < s->extras[kind].count; i++) {
            const struct gm_extra *extra = &s->extras[kind].v[i];
            gm_put_varint(&w->stream[GM_XTRA_ROW], extra->row - row);
            gm_put_varint(&w->stream[GM_XTRA_KEY], extra->key);
            put_loose(w, &extra->value);
            row = extra->row;
        }
    }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++) {
        gm_put_varint(&w->stream[GM_XTRA_COUNT], s->key_orders[kind].count);
        for (size_t i = 0; i < s->key_orders[kind].count; i++)
            gm_put_varint(&w->stream[GM_XTRA_KEY], s->key_orders[kind].keys[i]);
    }
    put_loose(w, &s->settings_tree);
    gm_put_varint(&w->stream[GM_XTRA_COUNT], s->loose_count);
    for (size_t i = 0; i < s->loose_count; i++)
        put_loose(w, &s->loose[i]);
    return gm_gmtrace_section(w, "XTRA", GM_XTRA_STREAMS, 0, 0, 0);
}
