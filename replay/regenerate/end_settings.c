/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a regenerated snapshot that ran under others: the text, and the single settings that the file lists.
 */
#include "replay/regenerate/regenerate_private.h"

#include <string.h>

#define ROUNDUP "roundup_power2_divisions."
static const char text_key[] = "PYTORCH_CUDA_ALLOC_CONF";
static const char *const single_keys[] = {
    "max_split_size",      "garbage_collection_threshold",
    "expandable_segments", ROUNDUP "1",
    ROUNDUP "2",           ROUNDUP "4",
    ROUNDUP "8",           ROUNDUP "16",
    ROUNDUP "32",          ROUNDUP "64",
    ROUNDUP "128",         ROUNDUP "256",
    ROUNDUP "512",         ROUNDUP "1024",
    ROUNDUP "2048",        ROUNDUP "4096",
    ROUNDUP "8192",        ROUNDUP "16384",
    ROUNDUP "32768",
};

/* The strings of the recording and one more, whose id is *id. */
static bool add_string(struct gm_regenerated *out, const char *text, struct gm_string_id *id)
{
    const struct gm_strings *old = &out->recorded->strings;
    size_t length = strlen(text), used = (size_t)old->start[old->count];
    uint64_t *start = gm_arena_calloc(&out->arena, (size_t)old->count + 2, sizeof *start);
    char *bytes = gm_arena_calloc(&out->arena, used + length, 1);
    if (start == NULL || bytes == NULL)
        return false;
    memcpy(start, old->start, ((size_t)old->count + 1) * sizeof *start);
    if (used > 0)
        memcpy(bytes, old->bytes, used);
    memcpy(bytes + used, text, length);
    start[old->count + 1] = used + length;
    *id = (struct gm_string_id){old->count};
    out->snapshot.strings = (struct gm_strings){start, bytes, old->count + 1};
    return true;
}

/* The new value of a single setting; others stay. */
static void change(struct gm_setting *s, const struct gm_conf *conf)
{
    if (strcmp(s->key, "max_split_size") == 0) {
        s->type = GM_SETTING_INTEGER;
        s->integer = conf->rules.max_split == UINT64_MAX ? -1 : (int64_t)conf->rules.max_split;
    } else if (strcmp(s->key, "garbage_collection_threshold") == 0) {
        s->type = GM_SETTING_REAL;
        s->real = conf->gc_threshold;
    } else if (strcmp(s->key, "expandable_segments") == 0) {
        s->type = GM_SETTING_BOOL;
        s->integer = conf->expandable_segments;
    } else if (gm_rules_roundup_slot(s->key) >= 0) {
        s->type = GM_SETTING_INTEGER;
        s->integer = conf->rules.roundup[gm_rules_roundup_slot(s->key)];
    }
}

/* A file without settings gets those that it would have had, as far as they have to do with where blocks go. */
static size_t add_all(struct gm_setting *settings, size_t n, const struct gm_conf *conf)
{
    for (size_t i = 0; i < sizeof single_keys / sizeof *single_keys; i++) {
        settings[n].key = single_keys[i];
        change(&settings[n++], conf);
    }
    return n;
}

bool gm_regenerate_settings(struct gm_regenerated *out, const struct gm_conf *conf, const char *text)
{
    const struct gm_snapshot *s = out->recorded;
    size_t most = s->setting_count + 1 + sizeof single_keys / sizeof *single_keys;
    struct gm_setting *settings = gm_arena_calloc(&out->arena, most, sizeof *settings);
    struct gm_setting told = {.key = text_key, .type = GM_SETTING_STRING};
    if (settings == NULL || !add_string(out, text, &told.string))
        return false;
    size_t n = 0;
    bool has_text = false;
    for (size_t i = 0; i < s->setting_count; i++) {
        bool is_text =
            strcmp(s->settings[i].key, text_key) == 0 || strcmp(s->settings[i].key, "PYTORCH_ALLOC_CONF") == 0;
        settings[n] = s->settings[i];
        change(&settings[n], conf);
        if (is_text) {
            told.key = s->settings[i].key;
            settings[n] = told;
        }
        has_text |= is_text;
        n++;
    }
    told.key = text_key;
    if (!has_text)
        settings[n++] = told;
    if (!s->has_settings)
        n = add_all(settings, n, conf);
    out->snapshot.settings = settings;
    out->snapshot.setting_count = n;
    out->snapshot.has_settings = true;
    out->snapshot.settings_tree = (struct gm_loose){.type = GM_LOOSE_MISSING};
    return true;
}
