/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/verify/settings.h"

#include "analyze/base/size.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* roundup_power2_divisions.K: the divisions of sizes from K MiB to 2K MiB. */
static void take_roundup(struct gm_conf *conf, const struct gm_setting *setting)
{
    static const char prefix[] = "roundup_power2_divisions.";
    if (strncmp(setting->key, prefix, sizeof prefix - 1) != 0 || setting->type != GM_SETTING_INTEGER ||
        setting->integer < 0 || setting->integer > 1 << 20 || (setting->integer & (setting->integer - 1)) != 0)
        return;
    unsigned long mib = strtoul(setting->key + sizeof prefix - 1, NULL, 10);
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        if (mib == 1UL << slot)
            conf->rules.roundup[slot] = (uint32_t)setting->integer;
}

enum gm_status gm_settings_recorded(struct gm_conf *conf, const struct gm_snapshot *s, struct gm_error *err)
{
    size_t length;
    const char *text = gm_snapshot_alloc_conf(s, &length);
    *conf = gm_conf_default();
    enum gm_status status = gm_conf_parse(conf, text, length, err);
    const struct gm_setting *split = gm_snapshot_setting(s, "max_split_size");
    const struct gm_setting *gc = gm_snapshot_setting(s, "garbage_collection_threshold");
    const struct gm_setting *expandable = gm_snapshot_setting(s, "expandable_segments");
    if (split != NULL && split->type == GM_SETTING_INTEGER)
        conf->rules.max_split = split->integer > 0 ? (uint64_t)split->integer : UINT64_MAX;
    if (gc != NULL && gc->type == GM_SETTING_REAL && gc->real >= 0 && gc->real < 1)
        conf->gc_threshold = gc->real;
    if (expandable != NULL && expandable->type == GM_SETTING_BOOL)
        conf->expandable_segments = expandable->integer != 0;
    for (size_t i = 0; i < s->setting_count; i++)
        take_roundup(conf, &s->settings[i]);
    return status;
}

bool gm_settings_equal(const struct gm_conf *a, const struct gm_conf *b)
{
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        if ((a->rules.roundup[i] > 1 ? a->rules.roundup[i] : 0) != (b->rules.roundup[i] > 1 ? b->rules.roundup[i] : 0))
            return false;
    return a->rules.max_split == b->rules.max_split && a->rules.large_segment == b->rules.large_segment &&
           a->max_non_split_rounding == b->max_non_split_rounding && a->gc_threshold == b->gc_threshold &&
           a->memory_fraction == b->memory_fraction && a->expandable_segments == b->expandable_segments &&
           a->throw_on_oom == b->throw_on_oom && a->backend == b->backend;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void next(struct gm_text *out, size_t from)
{
    if (out->length > from)
        gm_text_add_char(out, ',');
}

/* A fraction with up to six decimals, without a locale. */
static void add_fraction(struct gm_text *out, double value)
{
    unsigned long millionths = (unsigned long)(value * 1e6 + 0.5);
    char digits[8];
    if (millionths >= 1000000) {
        gm_text_add(out, "1.0");
        return;
    }
    for (int i = 5; i >= 0; i--, millionths /= 10)
        digits[i] = (char)('0' + millionths % 10);
    size_t n = 6;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    gm_text_add(out, "0.");
    gm_text_add_bytes(out, digits, n);
}

static void add_roundup(struct gm_text *out, const uint32_t *slots)
{
    bool is_single = true;
    for (int i = 1; i < GM_ROUNDUP_SLOTS; i++)
        is_single = is_single && slots[i] == slots[0];
    gm_text_add(out, "roundup_power2_divisions:");
    if (is_single) {
        gm_text_printf(out, "%" PRIu32, slots[0]);
        return;
    }
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        gm_text_printf(out, "%c%lu:%" PRIu32, i == 0 ? '[' : ',', 1UL << i, slots[i]);
    gm_text_add_char(out, ']');
}

void gm_settings_text(struct gm_text *out, const struct gm_conf *conf)
{
    const struct gm_conf plain = gm_conf_default();
    size_t from = out->length;
    bool has_roundup = false;
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        has_roundup = has_roundup || conf->rules.roundup[i] > 1;
    if (conf->backend == GM_BACKEND_ASYNC)
        gm_text_add(out, "backend:cudaMallocAsync");
    if (conf->expandable_segments) {
        next(out, from);
        gm_text_add(out, "expandable_segments:True");
    }
    if (conf->rules.large_segment != plain.rules.large_segment) {
        next(out, from);
        gm_text_printf(out, "large_segment_size_mb:%" PRIu64, conf->rules.large_segment / GM_MIB);
    }
    if (conf->rules.max_split != UINT64_MAX) {
        next(out, from);
        gm_text_printf(out, "max_split_size_mb:%" PRIu64, conf->rules.max_split / GM_MIB);
    }
    if (conf->max_non_split_rounding != conf->rules.large_segment) {
        next(out, from);
        gm_text_printf(out, "max_non_split_rounding_mb:%" PRIu64, conf->max_non_split_rounding / GM_MIB);
    }
    if (has_roundup) {
        next(out, from);
        add_roundup(out, conf->rules.roundup);
    }
    if (conf->gc_threshold > 0) {
        next(out, from);
        gm_text_add(out, "garbage_collection_threshold:");
        add_fraction(out, conf->gc_threshold);
    }
    if (conf->memory_fraction < 1) {
        next(out, from);
        gm_text_add(out, "per_process_memory_fraction:");
        add_fraction(out, conf->memory_fraction);
    }
    if (conf->throw_on_oom) {
        next(out, from);
        gm_text_add(out, "throw_on_cudamalloc_oom:True");
    }
}
