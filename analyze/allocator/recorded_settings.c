/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/allocator/recorded_settings.h"

#include "analyze/base/ascii.h"

struct gm_conf gm_settings_recorded(const struct gm_snapshot *s, struct gm_text *odd)
{
    size_t length;
    const char *text = gm_snapshot_alloc_conf(s, &length);
    struct gm_conf conf = gm_conf_default();
    gm_conf_read(&conf, text, length, odd);
    const struct gm_setting *split = gm_snapshot_setting(s, "max_split_size");
    const struct gm_setting *gc = gm_snapshot_setting(s, "garbage_collection_threshold");
    const struct gm_setting *expandable = gm_snapshot_setting(s, "expandable_segments");
    if (split != NULL && split->type == GM_SETTING_INTEGER)
        conf.rules.max_split = split->integer > 0 ? (uint64_t)split->integer : UINT64_MAX;
    if (gc != NULL && gc->type == GM_SETTING_REAL && gc->real >= 0 && gc->real < 1)
        conf.gc_threshold = gc->real;
    if (expandable != NULL && expandable->type == GM_SETTING_BOOL)
        conf.expandable_segments = expandable->integer != 0;
    /* Events name their pools from 2.12 on, settings those of pinned memory from 2.13 on. */
    if (s->events.pool.v != NULL || s->events.pool.all != 0)
        conf.ties = s->has_settings && gm_snapshot_setting(s, "max_cached_size") == NULL ? GM_TIES_OLDEST_BLOCK
                                                                                         : GM_TIES_OLDEST_SEGMENT;
    for (size_t i = 0; i < s->setting_count; i++)
        if (s->settings[i].type == GM_SETTING_INTEGER)
            gm_rules_take_roundup(&conf.rules, s->settings[i].key, s->settings[i].integer);
    return conf;
}

bool gm_settings_expand_private(const struct gm_snapshot *s)
{
    const struct gm_key_order *keys = &s->key_orders[GM_ORDER_TOP];
    bool has_name = !s->has_settings || keys->count == 0;
    for (size_t i = 0; i < keys->count && !has_name; i++) {
        size_t length;
        const char *key = gm_string(s, (struct gm_string_id){keys->keys[i]}, &length);
        has_name = gm_is_text(key, length, "external_annotations");
    }
    return has_name;
}

bool gm_settings_equal(const struct gm_conf *a, const struct gm_conf *b)
{
    struct gm_conf locked = *a;
    locked.releases_lock = b->releases_lock; /* who waits for whom: nothing of that is replayed */
    return gm_conf_equal(&locked, b);
}
