/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/trials/grid.h"

#include "analyze/allocator/recorded_settings.h"

#include <stdio.h>
#include <string.h>

#define SINCE_LARGE_SEGMENT "2.11"
#define SINCE_NON_SPLIT "2.9"
#define SINCE_FRACTION "2.10"

/* 0 and NULL: the option is not named. */
struct choice {
    bool is_expandable;
    unsigned large_segment, max_split, non_split, divisions;
    const char *list; /* of divisions */
    const char *gc;
};

struct maker {
    struct gm_grid *grid;
    const struct gm_conf *baseline;
    bool is_bounded;
    char kept[96]; /* of the baseline, for every row */
};

static void add_part(char *text, const char *part)
{
    size_t n = strlen(text);
    if (part[0] != '\0')
        snprintf(text + n, GM_GRID_TEXT - n, "%s%s", n == 0 ? "" : ",", part);
}

static void add_number(char *text, const char *key, unsigned value)
{
    char part[64];
    snprintf(part, sizeof part, "%s:%u", key, value);
    if (value > 0)
        add_part(text, part);
}

/* Left out if PyTorch would not take it, or if it is nothing new. */
static void add_text(struct maker *m, const char *text, const char *since)
{
    struct gm_grid *grid = m->grid;
    struct gm_error ignored;
    struct gm_conf conf = gm_conf_default();
    conf.ties = m->baseline->ties;
    size_t length = strlen(text);
    if (grid->count == GM_GRID_MOST || length >= GM_GRID_TEXT - 1 ||
        gm_conf_parse(&conf, text, length, NULL, &ignored) != GM_OK || gm_settings_equal(&conf, m->baseline))
        return;
    for (size_t i = 0; i < grid->count; i++)
        if (gm_settings_equal(&conf, &grid->rows[i].conf))
            return;
    struct gm_grid_row *row = &grid->rows[grid->count++];
    *row = (struct gm_grid_row){.since = since, .conf = conf};
    memcpy(row->text, text, length + 1);
}

static void add_choice(struct maker *m, struct choice c)
{
    char text[GM_GRID_TEXT] = "", part[96];
    add_part(text, c.is_expandable ? "expandable_segments:True" : "");
    add_number(text, "large_segment_size_mb", c.large_segment);
    add_number(text, "max_split_size_mb", c.max_split);
    add_number(text, "max_non_split_rounding_mb", c.non_split);
    add_number(text, "roundup_power2_divisions", c.divisions);
    if (c.list != NULL) {
        snprintf(part, sizeof part, "roundup_power2_divisions:%s", c.list);
        add_part(text, part);
    }
    if (c.gc != NULL) {
        snprintf(part, sizeof part, "garbage_collection_threshold:%s", c.gc);
        add_part(text, part);
        if (m->baseline->memory_fraction >= 1) /* without one it is never consulted */
            add_part(text, "per_process_memory_fraction:0.99");
    }
    add_part(text, m->kept);
    add_text(m, text,
             c.large_segment > 0                                 ? SINCE_LARGE_SEGMENT
             : c.gc != NULL && m->baseline->memory_fraction >= 1 ? SINCE_FRACTION
             : c.non_split > 0                                   ? SINCE_NON_SPLIT
                                                                 : NULL);
}

#define EACH(i, list) for (size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++)

static void add_splits_and_rounding(struct maker *m)
{
    static const unsigned splits[] = {0, 21, 32, 64, 128, 256, 512, 1024}, divisions[] = {0, 4, 8, 16};
    static const unsigned more[] = {2, 32}, expandable_splits[] = {64, 256, 1024}, all[] = {0, 2, 4, 8, 16, 32};
    static const unsigned few[] = {0, 8};
    EACH(i, splits)
    EACH(k, divisions)
    add_choice(m, (struct choice){.max_split = splits[i], .divisions = divisions[k]});
    EACH(i, more)
    add_choice(m, (struct choice){.divisions = more[i]});
    EACH(i, all)
    add_choice(m, (struct choice){.is_expandable = true, .divisions = all[i]});
    EACH(i, expandable_splits)
    EACH(k, few)
    add_choice(m, (struct choice){.is_expandable = true, .max_split = expandable_splits[i], .divisions = few[k]});
}

static void add_segments(struct maker *m)
{
    static const unsigned segments[] = {12, 16, 32, 64}, few[] = {0, 8}, wide[] = {32, 64}, splits[] = {128, 512};
    EACH(i, segments)
    EACH(k, few)
    for (int expandable = 0; expandable < 2; expandable++)
        add_choice(
            m, (struct choice){.is_expandable = expandable != 0, .large_segment = segments[i], .divisions = few[k]});
    EACH(i, wide)
    EACH(k, splits)
    add_choice(m, (struct choice){.large_segment = wide[i], .max_split = splits[k]});
}

static void add_others(struct maker *m)
{
    static const unsigned roundings[] = {64, 256, 1024}, splits[] = {32, 64, 128, 512}, some[] = {0, 128};
    static const char *const lists[] = {"[64:8,128:1,>:1]", "[64:1,128:8,>:8]"}, *const thresholds[] = {"0.6", "0.8",
                                                                                                        "0.9"};
    EACH(i, splits)
    EACH(k, roundings)
    add_choice(m, (struct choice){.max_split = splits[i], .non_split = roundings[k]});
    EACH(i, lists)
    for (int expandable = 0; expandable < 2; expandable++)
        add_choice(m, (struct choice){.is_expandable = expandable != 0, .list = lists[i]});
    for (size_t i = 0; m->is_bounded && i < sizeof thresholds / sizeof thresholds[0]; i++)
        EACH(k, some)
    add_choice(m, (struct choice){.gc = thresholds[i], .max_split = some[k]});
}

/* The baseline with expandable segments turned on, or off. */
static enum gm_status add_turned(struct maker *m, struct gm_error *err)
{
    struct gm_conf turned = *m->baseline;
    struct gm_text text = {0};
    turned.expandable_segments = !turned.expandable_segments;
    gm_conf_text(&text, &turned);
    if (text.failed)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    const struct gm_conf plain = gm_conf_default();
    add_text(m, text.data == NULL ? "" : text.data,
             turned.rules.large_segment != plain.rules.large_segment         ? SINCE_LARGE_SEGMENT
             : turned.max_non_split_rounding != plain.max_non_split_rounding ? SINCE_NON_SPLIT
                                                                             : NULL);
    gm_text_free(&text);
    return GM_OK;
}

static enum gm_status keep(struct maker *m, struct gm_error *err)
{
    struct gm_conf limits = gm_conf_default();
    struct gm_text text = {0};
    limits.memory_fraction = m->baseline->memory_fraction;
    gm_conf_text(&text, &limits);
    if (text.failed)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    snprintf(m->kept, sizeof m->kept, "%s", text.data == NULL ? "" : text.data);
    gm_text_free(&text);
    return GM_OK;
}

enum gm_status gm_grid_make(struct gm_grid *grid, const struct gm_conf *baseline, bool is_bounded, struct gm_error *err)
{
    struct maker m = {.grid = grid, .baseline = baseline, .is_bounded = is_bounded};
    grid->count = 0;
    enum gm_status status = keep(&m, err);
    if (status != GM_OK)
        return status;
    add_splits_and_rounding(&m);
    add_segments(&m);
    add_others(&m);
    return add_turned(&m, err);
}
