/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/write/snapshot_writer.h"

/* The extra of a key; the last one counts, as in Python. */
static const struct gm_extra *find_extra(const struct gm_snapshot_writer *w, const struct gm_extra *extras,
                                         size_t count, const struct gm_put_key *key)
{
    size_t length, other;
    const char *text = gm_put_key_text(w, key, &length);
    for (size_t i = count; i-- > 0;) {
        const char *has = gm_string(w->s, (struct gm_string_id){extras[i].key}, &other);
        if (other == length && memcmp(has, text, length) == 0)
            return &extras[i];
    }
    return NULL;
}

static bool is_in_order(const struct gm_snapshot_writer *w, const struct gm_put_order *order, uint32_t string)
{
    size_t length, other;
    const char *text = gm_string(w->s, (struct gm_string_id){string}, &length);
    for (size_t i = 0; i < order->count; i++) {
        const char *has = gm_put_key_text(w, &order->keys[i], &other);
        if (other == length && memcmp(has, text, length) == 0)
            return true;
    }
    return false;
}

static void put_extra(struct gm_snapshot_writer *w, const struct gm_extra *extra)
{
    if (extra->value.type == GM_LOOSE_MISSING)
        return;
    gm_put_string(w, extra->key);
    gm_put_loose(w, &extra->value);
}

void gm_put_row_with_extras(struct gm_snapshot_writer *w, const struct gm_put_order *order, gm_put_field *put,
                            const void *table, size_t row, const struct gm_extra *extras, size_t count)
{
    for (size_t i = 0; i < order->count; i++) {
        const struct gm_extra *extra = find_extra(w, extras, count, &order->keys[i]);
        if (extra != NULL)
            put_extra(w, extra);
        else if (order->keys[i].field != GM_FIELD_COUNT)
            put(w, table, (enum gm_put_word)order->keys[i].field, row);
    }
    for (size_t i = 0; i < count; i++)
        if (!is_in_order(w, order, extras[i].key))
            put_extra(w, &extras[i]);
}

size_t gm_extras_next(struct gm_extras_cursor *c, size_t row, const struct gm_extra **first)
{
    const struct gm_extras *x = c->extras;
    size_t n = 0;
    while (c->at < x->count && x->v[c->at].row < row)
        c->at++;
    while (c->at + n < x->count && x->v[c->at + n].row == row)
        n++;
    *first = n > 0 ? &x->v[c->at] : NULL;
    return n;
}

struct gm_extras_cursor gm_extras_from(const struct gm_extras *extras, size_t row)
{
    struct gm_extras_cursor c = {.extras = extras};
    gm_extras_of(extras, (uint32_t)row, &c.at);
    return c;
}
