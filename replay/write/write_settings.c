/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator_settings: as they were nested in the file; or, for a snapshot that only has them flattened, nested again at
 * the first dot of each key.
 */
#include "replay/write/snapshot_writer.h"

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

void gm_put_settings(struct gm_snapshot_writer *w)
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
