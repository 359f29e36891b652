/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/snapshot/snapshot.h"

#include "analyze/snapshot/builder.h"
#include "analyze/snapshot/words.h"

#include <string.h>

#define X(name, text) text,
const char *const gm_block_states[] = {GM_BLOCK_STATE_MAP(X)};
const char *const gm_segment_types[] = {NULL, GM_SEGMENT_TYPE_MAP(X)};
const char *const gm_stages[] = {"other", GM_STAGE_MAP(X)};
#undef X

const char *gm_action_name(enum gm_action action)
{
    return gm_word_text((enum gm_word)(GM_WORD_FIRST_ACTION + action));
}

const char *gm_word_text(enum gm_word word)
{
    static const char *const texts[] = {
#define X(name, text) text,
        "", GM_KEY_MAP(X) GM_VALUE_MAP(X) GM_ACTION_MAP(X)
#undef X
    };
    return texts[word];
}

const char *gm_compression_name(enum gm_compression compression)
{
    static const char *const names[] = {"none", "gzip", "zstd"};
    return names[compression];
}

const struct gm_setting *gm_snapshot_setting(const struct gm_snapshot *snapshot, const char *key)
{
    for (size_t i = 0; i < snapshot->setting_count; i++)
        if (strcmp(snapshot->settings[i].key, key) == 0)
            return &snapshot->settings[i];
    return NULL;
}

void gm_snapshot_free(struct gm_snapshot *snapshot)
{
    gm_snapshot_memory_free(snapshot->memory);
    *snapshot = (struct gm_snapshot){0};
}

const char *gm_snapshot_alloc_conf(const struct gm_snapshot *s, size_t *length)
{
    static const char *const keys[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct gm_setting *setting = gm_snapshot_setting(s, keys[i]);
        if (setting != NULL && setting->type == GM_SETTING_STRING)
            return gm_string(s, setting->string, length);
    }
    *length = 0;
    return "";
}
