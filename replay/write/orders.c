/* SPDX-License-Identifier: Apache-2.0
 *
 * In which order a row's keys are written: as the file had them, and a key that the file never had behind the one that
 * it follows in PyTorch's own order.
 */
#include "replay/write/snapshot_writer.h"

#include <stdlib.h>

const char *gm_put_word_text(enum gm_put_word word)
{
    static const uint8_t words[] = {
#define X(name) GM_KEY_##name,
        GM_FIELD_MAP(X)
#undef X
#define X(name) GM_VALUE_##name,
            GM_WORD_MAP(X)
#undef X
    };
    return word < GM_PUT_FIRST_ACTION ? gm_word_text(words[word]) : gm_action_name(word - GM_PUT_FIRST_ACTION);
}

/* ---- PyTorch's orders ------------------------------------------------------------------------------------------- */

#define F(name) GM_FIELD_##name
enum { END_OF_ORDER = GM_FIELD_COUNT };

static const uint8_t top_order[] = {F(SEGMENTS),
                                    F(DEVICE_TRACES),
                                    F(TRACES),
                                    F(ALLOCATOR_SETTINGS),
                                    F(EXTERNAL_ANNOTATIONS),
                                    F(TRACE_ALLOC_MAX_ENTRIES),
                                    F(TRACE_ALLOC_OVERFLOWED),
                                    F(HOST_SEGMENTS),
                                    F(HOST_TRACES),
                                    END_OF_ORDER};
static const uint8_t segment_order[] = {F(DEVICE),          F(ADDRESS),        F(TOTAL_SIZE), F(ALLOCATED_SIZE),
                                        F(ACTIVE_SIZE),     F(REQUESTED_SIZE), F(STREAM),     F(SEGMENT_TYPE),
                                        F(SEGMENT_POOL_ID), F(IS_EXPANDABLE),  F(FRAMES),     F(BLOCKS),
                                        END_OF_ORDER};
static const uint8_t segment_order_with_frames[] = {
    F(DEVICE),         F(ADDRESS), F(TOTAL_SIZE),   F(ALLOCATED_SIZE),  F(ACTIVE_SIZE),
    F(REQUESTED_SIZE), F(STREAM),  F(SEGMENT_TYPE), F(SEGMENT_POOL_ID), F(IS_EXPANDABLE),
    F(BLOCKS),         F(FRAMES),  END_OF_ORDER};
static const uint8_t block_order[] = {F(ADDRESS), F(SIZE), F(REQUESTED_SIZE), F(STATE), F(FRAMES), END_OF_ORDER};
static const uint8_t event_order[] = {F(ACTION),  F(ADDR),    F(DEVICE_FREE),     F(SIZE),
                                      F(STREAM),  F(TIME_US), F(COMPILE_CONTEXT), F(USER_METADATA),
                                      F(POOL_ID), F(FRAMES),  F(CATEGORY),        END_OF_ORDER};
static const uint8_t frame_order[] = {F(NAME), F(FILENAME), F(LINE), END_OF_ORDER};
static const uint8_t annotation_order[] = {F(STAGE), F(NAME), F(DEVICE), F(TIME_US), END_OF_ORDER};
#undef F

static const uint8_t *default_order(enum gm_order_kind kind)
{
    static const uint8_t *const orders[GM_ORDER_COUNT] = {[GM_ORDER_TOP] = top_order,
                                                          [GM_ORDER_SEGMENT] = segment_order,
                                                          [GM_ORDER_SEGMENT_WITH_FRAMES] = segment_order_with_frames,
                                                          [GM_ORDER_BLOCK] = block_order,
                                                          [GM_ORDER_BLOCK_WITH_FRAMES] = block_order,
                                                          [GM_ORDER_EVENT] = event_order,
                                                          [GM_ORDER_EVENT_WITH_FRAMES] = event_order,
                                                          [GM_ORDER_FRAME] = frame_order,
                                                          [GM_ORDER_ANNOTATION] = annotation_order};
    return orders[kind];
}

/* ---- merging ---------------------------------------------------------------------------------------------------- */

const char *gm_put_key_text(const struct gm_snapshot_writer *w, const struct gm_put_key *key, size_t *length)
{
    if (key->field == GM_FIELD_COUNT)
        return gm_string(w->s, (struct gm_string_id){key->string}, length);
    const char *text = gm_put_word_text((enum gm_put_word)key->field);
    *length = strlen(text);
    return text;
}

static uint8_t field_of(const struct gm_snapshot_writer *w, uint32_t string)
{
    size_t length;
    const char *text = gm_string(w->s, (struct gm_string_id){string}, &length);
    for (unsigned field = 0; field < GM_FIELD_COUNT; field++) {
        const char *known = gm_put_word_text((enum gm_put_word)field);
        if (strlen(known) == length && memcmp(known, text, length) == 0)
            return (uint8_t)field;
    }
    return GM_FIELD_COUNT;
}

static size_t find(const struct gm_put_order *order, uint8_t field)
{
    size_t at = 0;
    while (at < order->count && order->keys[at].field != field)
        at++;
    return at;
}

static bool merge(struct gm_snapshot_writer *w, enum gm_order_kind kind)
{
    const struct gm_key_order *from = &w->s->key_orders[kind];
    struct gm_put_order *order = &w->orders[kind];
    order->keys = malloc((from->count + GM_FIELD_COUNT) * sizeof *order->keys);
    order->count = 0;
    if (order->keys == NULL)
        return false;
    for (size_t i = 0; i < from->count; i++)
        order->keys[order->count++] = (struct gm_put_key){field_of(w, from->keys[i]), from->keys[i]};
    size_t after = 0; /* where a key that the file never had goes */
    for (const uint8_t *field = default_order(kind); *field != END_OF_ORDER; field++) {
        size_t at = find(order, *field);
        if (at == order->count) {
            at = after;
            memmove(order->keys + at + 1, order->keys + at, (order->count - at) * sizeof *order->keys);
            order->keys[at] = (struct gm_put_key){.field = *field};
            order->count++;
        }
        after = at + 1;
    }
    return true;
}

bool gm_writer_order(struct gm_snapshot_writer *w)
{
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        if (!merge(w, (enum gm_order_kind)kind))
            return false;
    return true;
}
