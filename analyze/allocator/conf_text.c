/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings as text.
 */
#include "analyze/allocator/conf.h"
#include "analyze/base/size.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_same_real(double a, double b)
{
    return !(a < b) && !(a > b);
}

bool gm_conf_equal(const struct gm_conf *a, const struct gm_conf *b)
{
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        if ((a->rules.roundup[i] > 1 ? a->rules.roundup[i] : 0) != (b->rules.roundup[i] > 1 ? b->rules.roundup[i] : 0))
            return false;
    return a->rules.max_split == b->rules.max_split && a->rules.large_segment == b->rules.large_segment &&
           a->rules.roundup_bypass == b->rules.roundup_bypass &&
           a->max_non_split_rounding == b->max_non_split_rounding && is_same_real(a->gc_threshold, b->gc_threshold) &&
           is_same_real(a->memory_fraction, b->memory_fraction) && a->expandable_segments == b->expandable_segments &&
           a->reserve_bytes == b->reserve_bytes && is_same_real(a->reserve_fraction, b->reserve_fraction) &&
           a->releases_lock == b->releases_lock && a->rejects == b->rejects && a->ties == b->ties &&
           a->backend == b->backend;
}

static void begin(struct gm_text *out, size_t from, const char *key)
{
    if (out->length > from)
        gm_text_add_char(out, ',');
    gm_text_add(out, key);
    gm_text_add_char(out, ':');
}

static void add_mib(struct gm_text *out, size_t from, const char *key, uint64_t bytes)
{
    begin(out, from, key);
    gm_text_printf(out, "%" PRIu64, bytes / GM_MIB);
}

/* The shortest decimal that is read as `value` again; with a point whatever the locale. */
static void add_real(struct gm_text *out, size_t from, const char *key, double value)
{
    char text[64] = "0";
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    locale_t before = plain == (locale_t)0 ? plain : uselocale(plain);
    for (int digits = value < 1 ? 1 : value < 1000 ? 3 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (is_same_real(strtod(text, NULL), value))
            break;
    }
    if (plain == (locale_t)0) {
        out->failed = true;
    } else {
        uselocale(before);
        freelocale(plain);
    }
    begin(out, from, key);
    gm_text_add(out, text);
}

static void add_roundup(struct gm_text *out, size_t from, const uint32_t *slots)
{
    bool is_single = true, is_plain = true;
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++) {
        is_single = is_single && slots[i] == slots[0];
        is_plain = is_plain && slots[i] <= 1;
    }
    if (is_plain)
        return;
    begin(out, from, "roundup_power2_divisions");
    if (is_single) {
        gm_text_printf(out, "%" PRIu32, slots[0]);
        return;
    }
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        gm_text_printf(out, "%c%lu:%" PRIu32, i == 0 ? '[' : ',', 1UL << i, slots[i]);
    gm_text_add_char(out, ']');
}

void gm_conf_text(struct gm_text *out, const struct gm_conf *conf)
{
    const struct gm_conf plain = gm_conf_default();
    size_t from = out->length;
    const struct {
        const char *key, *value;
        bool is_given;
    } words[] = {{"backend", "cudaMallocAsync", conf->backend == GM_BACKEND_ASYNC},
                 {"expandable_segments", "True", conf->expandable_segments},
                 {"release_lock_on_cudamalloc", "True", conf->releases_lock},
                 {"throw_on_cudamalloc_oom", "True", conf->rejects}};
    for (size_t i = 0; i < 2; i++)
        if (words[i].is_given) {
            begin(out, from, words[i].key);
            gm_text_add(out, words[i].value);
        }
    if (conf->reserve_fraction > 0 || conf->reserve_bytes > 0)
        add_real(out, from, "expandable_segments_reserve",
                 conf->reserve_bytes > 0 ? (double)conf->reserve_bytes / (double)GM_GIB : conf->reserve_fraction);
    if (conf->reserve_bytes > 0)
        gm_text_add_char(out, 'G');
    if (conf->rules.large_segment != plain.rules.large_segment)
        add_mib(out, from, "large_segment_size_mb", conf->rules.large_segment);
    if (conf->rules.max_split != UINT64_MAX)
        add_mib(out, from, "max_split_size_mb", conf->rules.max_split);
    if (conf->max_non_split_rounding != conf->rules.large_segment)
        add_mib(out, from, "max_non_split_rounding_mb", conf->max_non_split_rounding);
    add_roundup(out, from, conf->rules.roundup);
    if (conf->rules.roundup_bypass != UINT64_MAX)
        add_mib(out, from, "roundup_bypass_threshold_mb", conf->rules.roundup_bypass);
    if (conf->gc_threshold > 0)
        add_real(out, from, "garbage_collection_threshold", conf->gc_threshold);
    if (conf->memory_fraction < 1)
        add_real(out, from, "per_process_memory_fraction", conf->memory_fraction);
    for (size_t i = 2; i < sizeof words / sizeof *words; i++)
        if (words[i].is_given) {
            begin(out, from, words[i].key);
            gm_text_add(out, words[i].value);
        }
}
