/* SPDX-License-Identifier: Apache-2.0
 *
 * The outermost dictionary.
 */
#include "replay/write/snapshot_writer.h"

/* allocator_settings: as they were nested in the file; or, for a snapshot that only has them flattened, nested again at
 * the first dot of each key. */

static void put_value(struct gm_snapshot_writer *w, const struct gm_setting *setting)
{
    uint64_t bits;
    switch (setting->type) {
    case GM_SETTING_BOOL:
        gm_pickle_op(&w->p, setting->integer != 0 ? GM_PUT_TRUE : GM_PUT_FALSE);
        break;
    case GM_SETTING_INTEGER:
        gm_pickle_int(&w->p, setting->integer);
        break;
    case GM_SETTING_REAL:
        memcpy(&bits, &setting->real, sizeof bits);
        gm_pickle_real(&w->p, bits);
        break;
    case GM_SETTING_STRING:
        gm_put_string(w, setting->string.v);
        break;
    case GM_SETTING_NONE:
        gm_pickle_op(&w->p, GM_PUT_NONE);
        break;
    }
}

/* The settings from `first` on whose keys begin with the same word and a dot. */
static size_t group_of(const struct gm_setting *settings, size_t count, size_t first, size_t prefix)
{
    size_t n = 1;
    while (first + n < count && strncmp(settings[first + n].key, settings[first].key, prefix) == 0)
        n++;
    return n;
}

static void put_settings(struct gm_snapshot_writer *w)
{
    const struct gm_snapshot *s = w->s;
    if (s->settings_tree.type != GM_LOOSE_MISSING) {
        gm_put_loose(w, &s->settings_tree);
        return;
    }
    gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
    gm_pickle_op(&w->p, GM_PUT_MARK);
    for (size_t i = 0; i < s->setting_count;) {
        gm_pickle_boundary(&w->p);
        const char *key = s->settings[i].key, *dot = strchr(key, '.');
        if (dot == NULL) {
            gm_pickle_string(&w->p, key, strlen(key));
            put_value(w, &s->settings[i++]);
            continue;
        }
        size_t prefix = (size_t)(dot - key) + 1;
        size_t end = i + group_of(s->settings, s->setting_count, i, prefix);
        gm_pickle_string(&w->p, key, prefix - 1);
        gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
        gm_pickle_op(&w->p, GM_PUT_MARK);
        for (; i < end; i++) {
            gm_pickle_boundary(&w->p);
            gm_pickle_string(&w->p, s->settings[i].key + prefix, strlen(s->settings[i].key + prefix));
            put_value(w, &s->settings[i]);
        }
        gm_pickle_op(&w->p, GM_PUT_SETITEMS);
    }
    gm_pickle_op(&w->p, GM_PUT_SETITEMS);
}

/* Whether the file said it, or, of a snapshot that was not read from a file, whether there is something to say. */
static bool has_top_key(const struct gm_snapshot_writer *w, enum gm_put_word field, bool there_is)
{
    const struct gm_key_order *order = &w->s->key_orders[GM_ORDER_TOP];
    const char *text = gm_put_word_text(field);
    for (size_t i = 0; i < order->count; i++) {
        size_t length;
        const char *key = gm_string(w->s, (struct gm_string_id){order->keys[i]}, &length);
        if (strlen(text) == length && memcmp(key, text, length) == 0)
            return true;
    }
    return there_is;
}

/* The ring's size and whether it ran over, one value per device. Read from a file they are extras or among the
 * settings. */
static bool has_ring(const struct gm_snapshot_writer *w, enum gm_put_word field)
{
    bool is_overflow = field == GM_FIELD_TRACE_ALLOC_OVERFLOWED, any = false;
    const struct gm_snapshot *s = w->s;
    for (size_t d = 0; d < s->trace_count; d++)
        any |= is_overflow ? s->traces[d].overflowed != GM_TRUTH_ABSENT : s->traces[d].max_entries != GM_ABSENT;
    return any && s->settings_tree.type == GM_LOOSE_MISSING && gm_snapshot_setting(s, gm_put_word_text(field)) == NULL;
}

static void put_ring(struct gm_snapshot_writer *w, enum gm_put_word field)
{
    bool is_overflow = field == GM_FIELD_TRACE_ALLOC_OVERFLOWED;
    const struct gm_snapshot *s = w->s;
    gm_put_list(w);
    for (size_t d = 0; d < s->trace_count; d++) {
        gm_put_item(w, d, s->trace_count);
        if (is_overflow ? s->traces[d].overflowed == GM_TRUTH_ABSENT : s->traces[d].max_entries == GM_ABSENT)
            gm_pickle_op(&w->p, GM_PUT_NONE);
        else if (is_overflow)
            gm_pickle_op(&w->p, s->traces[d].overflowed == GM_TRUE ? GM_PUT_TRUE : GM_PUT_FALSE);
        else
            gm_pickle_uint(&w->p, s->traces[d].max_entries);
    }
    gm_put_list_end(w, s->trace_count);
}

static void put_top_field(struct gm_snapshot_writer *w, const void *table, enum gm_put_word field, size_t row)
{
    const struct gm_snapshot *s = table;
    bool is_new = s->key_orders[GM_ORDER_TOP].count == 0;
    (void)row;
    switch ((int)field) {
        GM_PUT_FIELD(SEGMENTS, has_top_key(w, field, is_new || s->segments.count > 0), gm_put_segments(w, false));
        GM_PUT_FIELD(DEVICE_TRACES,
                     has_top_key(w, field, !has_top_key(w, GM_FIELD_TRACES, false) && (is_new || s->trace_count > 0)),
                     gm_put_traces(w, s->traces, s->trace_count));
        /* The old viewer's word; if there are both, this one is an extra. */
        GM_PUT_FIELD(TRACES, has_top_key(w, field, false), gm_put_traces(w, s->traces, s->trace_count));
        GM_PUT_FIELD(ALLOCATOR_SETTINGS, s->has_settings, put_settings(w));
        GM_PUT_FIELD(EXTERNAL_ANNOTATIONS, s->has_annotations, gm_put_annotations(w));
        GM_PUT_FIELD(TRACE_ALLOC_MAX_ENTRIES, has_ring(w, field), put_ring(w, field));
        GM_PUT_FIELD(TRACE_ALLOC_OVERFLOWED, has_ring(w, field), put_ring(w, field));
        GM_PUT_FIELD(HOST_SEGMENTS, has_top_key(w, field, s->host_segments.count > 0), gm_put_segments(w, true));
        GM_PUT_FIELD(HOST_TRACES, has_top_key(w, field, s->host_trace_count > 0),
                     gm_put_traces(w, s->host_traces, s->host_trace_count));
    default:
        break;
    }
}

void gm_put_top(struct gm_snapshot_writer *w)
{
    const struct gm_extras *extras = &w->s->extras[GM_ROW_TOP];
    gm_pickle_op(&w->p, GM_PUT_EMPTY_DICT);
    gm_put_pairs(w, GM_ORDER_TOP, put_top_field, w->s, 0, extras->v, extras->count);
}
