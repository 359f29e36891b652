/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/candidates.h"

#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/size.h"

#include <stdio.h>
#include <string.h>

/* Options with ';' between them, the values of each with '|' between them: each with each. An empty value leaves the
 * option out. */
static const char *const patterns[] = {
    "max_split_size_mb:|21|32|64|128|256|512|1024;roundup_power2_divisions:|4|8|16",
    "roundup_power2_divisions:2|32",
    "expandable_segments:True;roundup_power2_divisions:|2|4|8|16|32",
    "expandable_segments:True;max_split_size_mb:64|256|1024;roundup_power2_divisions:|8",
    "expandable_segments:|True;large_segment_size_mb:12|16|32|64;roundup_power2_divisions:|8",
    "large_segment_size_mb:32|64;max_split_size_mb:128|512",
    "max_split_size_mb:32|64|128|512;max_non_split_rounding_mb:64|256|1024",
    "expandable_segments:|True;roundup_power2_divisions:[64:8,128:1,>:1]|[64:1,128:8,>:8]",
};
static const char *const bounded_patterns[] = {"max_split_size_mb:|128;garbage_collection_threshold:0.6|0.8|0.9"};

struct maker {
    struct gm_candidates *list;
    const struct gm_conf *baseline;
    const char *kept; /* for every row of a pattern: of the baseline, or what the pattern needs */
    bool has_no_memory;
};

static const char *since(const struct gm_conf *conf, const struct gm_conf *baseline)
{
    const struct gm_conf plain = gm_conf_default();
    return conf->rules.large_segment != plain.rules.large_segment         ? "2.11"
           : conf->memory_fraction < 1 && baseline->memory_fraction >= 1  ? "2.10"
           : conf->max_non_split_rounding != plain.max_non_split_rounding ? "2.9"
                                                                          : NULL;
}

/* Left out if PyTorch would not take it, or if it is nothing new. */
static void add_text(struct maker *m, const char *text)
{
    struct gm_candidates *list = m->list;
    struct gm_error ignored;
    struct gm_conf conf = gm_conf_default();
    conf.ties = m->baseline->ties;
    size_t length = strlen(text);
    if (list->count == GM_CANDIDATES_MOST || length >= GM_CANDIDATE_TEXT - 1 ||
        gm_conf_parse(&conf, text, length, NULL, &ignored) != GM_OK || gm_settings_equal(&conf, m->baseline))
        return;
    for (size_t i = 0; i < list->count; i++)
        if (gm_settings_equal(&conf, &list->rows[i].conf))
            return;
    struct gm_candidate *row = &list->rows[list->count++];
    *row = (struct gm_candidate){.since = since(&conf, m->baseline), .conf = conf};
    memcpy(row->text, text, length + 1);
}

/* `text` and all that the rest of a pattern makes of it. */
static void add_pattern(struct maker *m, const char *rest, const char *text)
{
    char longer[GM_CANDIDATE_TEXT];
    const char *comma = text[0] == '\0' ? "" : ",";
    if (*rest == '\0') {
        snprintf(longer, sizeof longer, "%s%s%s", text, m->kept[0] == '\0' ? "" : comma, m->kept);
        add_text(m, longer);
        return;
    }
    const char *value = strchr(rest, ':') + 1, *end = value + strcspn(value, ";");
    for (size_t n; value <= end; value += n + 1) {
        n = strcspn(value, "|;");
        snprintf(longer, sizeof longer, "%s", text);
        if (n > 0)
            snprintf(longer, sizeof longer, "%s%s%.*s:%.*s", text, comma, (int)strcspn(rest, ":"), rest, (int)n, value);
        add_pattern(m, *end == '\0' ? end : end + 1, longer);
    }
}

static void add_conf(struct maker *m, const struct gm_conf *conf)
{
    GM_FREED struct gm_text text = {0};
    gm_conf_text(&text, conf);
    m->has_no_memory |= text.failed;
    if (!text.failed)
        add_text(m, text.length == 0 ? "" : text.data);
}

static struct gm_conf with_split(struct gm_conf conf, uint64_t bytes)
{
    conf.rules.max_split = bytes;
    return conf;
}

/* With max_split_size, expandable segments keep large blocks whole for no use: one or the other. */
static struct gm_conf with_expandable(struct gm_conf conf, bool is_on)
{
    conf.expandable_segments = is_on;
    return is_on ? with_split(conf, UINT64_MAX) : conf;
}

static struct gm_conf with_other_roundup(struct gm_conf conf)
{
    bool rounds_up = false;
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        rounds_up |= conf.rules.roundup[slot] > 1;
    for (int slot = 0; slot < GM_ROUNDUP_SLOTS; slot++)
        conf.rules.roundup[slot] = rounds_up ? 0 : 8;
    return conf;
}

enum gm_status gm_candidates_make_few(struct gm_candidates *list, const struct gm_conf *baseline, struct gm_error *err)
{
    struct maker m = {.list = list, .baseline = baseline};
    const bool is_split = baseline->rules.max_split != UINT64_MAX;
    struct gm_conf conf[GM_CANDIDATES_FEW];
    size_t n = 0;
    list->count = 0;
    conf[n++] = with_expandable(*baseline, !baseline->expandable_segments);
    if (is_split)
        conf[n++] = with_split(*baseline, UINT64_MAX);
    else if (!baseline->expandable_segments) {
        conf[n++] = with_split(*baseline, 128 * GM_MIB);
        conf[n++] = with_split(*baseline, 512 * GM_MIB);
    }
    conf[n++] = with_other_roundup(*baseline);
    for (size_t i = 0; i < n; i++)
        add_conf(&m, &conf[i]);
    return m.has_no_memory ? gm_no_memory(err) : GM_OK;
}

enum gm_status gm_candidates_make(struct gm_candidates *list, const struct gm_conf *baseline, bool is_bounded,
                                  struct gm_error *err)
{
    struct gm_conf limits = gm_conf_default(), turned = *baseline;
    GM_FREED struct gm_text kept = {0};
    struct maker m = {.list = list, .baseline = baseline};
    GM_TRY(gm_candidates_make_few(list, baseline, err));
    limits.memory_fraction = baseline->memory_fraction;
    gm_conf_text(&kept, &limits);
    m.has_no_memory = kept.failed;
    m.kept = kept.length == 0 ? "" : kept.data;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        add_pattern(&m, patterns[i], "");
    if (baseline->memory_fraction >= 1) /* without one garbage collection is never consulted */
        m.kept = "per_process_memory_fraction:0.99";
    for (size_t i = 0; is_bounded && i < sizeof bounded_patterns / sizeof *bounded_patterns; i++)
        add_pattern(&m, bounded_patterns[i], "");
    turned.expandable_segments = !turned.expandable_segments;
    add_conf(&m, &turned);
    return m.has_no_memory ? gm_no_memory(err) : GM_OK;
}
