/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet.json, schema gmfleet.fleet/1: see docs/fleet.md. The order of the keys is part of it.
 */
#include "analyze/words/diff_parts.h"
#include "analyze/words/fleet_parts.h"
#include "analyze/words/json_parts.h"

#include <math.h>

static const char *const peak_keys[GM_LEVEL_COUNT] = {"peak_requested_bytes", "peak_allocated_bytes",
                                                      "peak_active_bytes", "peak_reserved_bytes"};

static void add_number(struct gm_json *json, const char *key, int64_t number)
{
    if (number == GM_FLEET_NONE)
        gm_json_null(json, key);
    else
        gm_json_signed(json, key, number);
}

static void add_oom(struct gm_json *json, const struct gm_fleet_oom *oom)
{
    gm_json_open(json, "first_oom", '{');
    gm_json_signed(json, "device", oom->device);
    gm_json_number(json, "event", oom->event);
    gm_json_number(json, "time_us", oom->time_us);
    gm_json_number(json, "requested_bytes", oom->asked);
    gm_json_number(json, "device_free_bytes", oom->device_free);
    gm_json_number(json, "reserved_bytes", oom->reserved);
    gm_json_string(json, "site", oom->site);
    gm_json_close(json, '}');
}

static void add_site_keys(struct gm_json *json, const struct gm_fleet *fleet, uint32_t number)
{
    const struct gm_fleet_site *site = &fleet->sites[number];
    gm_json_string(json, "site", site->label);
    gm_json_string(json, "via", site->via);
    gm_json_string(json, "category", site->category);
}

enum { SITES_EACH = 20 };

/* The largest call sites of one snapshot. */
static void add_uses(struct gm_json *json, const struct gm_fleet *fleet, const struct gm_fleet_item *item)
{
    uint32_t shown[SITES_EACH];
    uint64_t rest = gm_fleet_held(item);
    size_t n = 0;
    for (size_t i = 0; i < item->use_count; i++) {
        const uint64_t bytes = gm_fleet_use_held(item, &item->uses[i]);
        size_t at = n;
        while (at > 0 && gm_fleet_use_held(item, &item->uses[shown[at - 1]]) < bytes)
            at--;
        if (at == SITES_EACH || bytes == 0)
            continue;
        n += n < SITES_EACH;
        for (size_t k = n - 1; k > at; k--)
            shown[k] = shown[k - 1];
        shown[at] = (uint32_t)i;
    }
    gm_json_open(json, "call_sites", '[');
    for (size_t i = 0; i < n; i++) {
        const struct gm_fleet_use *use = &item->uses[shown[i]];
        const uint64_t bytes = gm_fleet_use_held(item, use);
        gm_json_open_flat(json, NULL, '{');
        add_site_keys(json, fleet, use->site);
        gm_json_number(json, "bytes", bytes);
        gm_json_close(json, '}');
        rest = rest > bytes ? rest - bytes : 0;
    }
    gm_json_close(json, ']');
    gm_json_number(json, "other_call_sites_bytes", rest);
}

static void add_item(struct gm_json *json, const struct gm_fleet *fleet, const struct gm_fleet_item *item)
{
    gm_json_open(json, NULL, '{');
    gm_json_string(json, "path", item->path);
    add_number(json, "rank", item->rank);
    add_number(json, "iteration", item->iteration);
    gm_json_string(json, "error", item->status == GM_OK ? NULL : item->error == NULL ? "" : item->error);
    if (item->status != GM_OK) {
        gm_json_null(json, "totals");
        gm_json_null(json, "peaks");
        gm_json_close(json, '}');
        return;
    }
    gm_json_open(json, "totals", '{');
    gm_json_totals(json, &item->totals);
    gm_json_close(json, '}');
    if (item->has_trace) {
        gm_json_open(json, "peaks", '{');
        for (int i = 0; i < GM_LEVEL_COUNT; i++)
            gm_json_number(json, peak_keys[i], item->peaks[i]);
        gm_json_close(json, '}');
    } else {
        gm_json_null(json, "peaks");
    }
    gm_json_string(json, "name", item->name);
    gm_json_string(json, "run_directory", item->each);
    gm_json_number(json, "bytes", item->disk_bytes);
    gm_json_number(json, "events", item->events);
    gm_json_number(json, "devices", item->device_count);
    gm_json_bool(json, "salvaged", item->is_salvaged);
    gm_json_number(json, "warnings", item->warning_count);
    gm_json_string(json, "peak_site", item->peak_site);
    gm_json_string(json, "peak_phase", item->peak_phase);
    gm_json_number(json, "ooms", item->ooms);
    if (item->ooms > 0)
        add_oom(json, &item->oom);
    gm_json_slices(json, "categories", item->categories, item->category_count, gm_fleet_held(item));
    add_uses(json, fleet, item);
    gm_json_close(json, '}');
}

static void add_spread(struct gm_json *json, const struct gm_fleet *fleet, const char *key,
                       const struct gm_fleet_spread *s)
{
    if (s->most_item == SIZE_MAX) {
        gm_json_null(json, key);
        return;
    }
    gm_json_open_flat(json, key, '{');
    gm_json_number(json, "min_bytes", s->least);
    gm_json_number(json, "median_bytes", s->median);
    gm_json_real(json, "mean_bytes", s->mean);
    gm_json_number(json, "max_bytes", s->most);
    gm_json_string(json, "max_path", fleet->items[s->most_item].path);
    gm_json_real(json, "imbalance", gm_fleet_imbalance(s));
    gm_json_close(json, '}');
}

static void add_columns(struct gm_json *json, const struct gm_fleet *fleet)
{
    gm_json_open(json, "iterations", '[');
    for (size_t c = 0; c < fleet->column_count; c++) {
        const struct gm_fleet_column *column = &fleet->columns[c];
        gm_json_open(json, NULL, '{');
        add_number(json, "iteration", column->iteration);
        gm_json_number(json, "snapshots", column->items);
        gm_json_number(json, "unreadable", column->failed);
        gm_json_number(json, "ranks", column->ranks);
        gm_json_number(json, "missing_ranks", column->missing);
        add_spread(json, fleet, "reserved", &column->reserved);
        add_spread(json, fleet, "allocated", &column->allocated);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_changes(struct gm_json *json, const struct gm_fleet *fleet, const struct gm_fleet_changes *changes)
{
    gm_json_open(json, "call_sites", '[');
    for (size_t i = 0; i < changes->count; i++) {
        const struct gm_fleet_change *row = &changes->rows[i];
        gm_json_open_flat(json, NULL, '{');
        add_site_keys(json, fleet, row->site);
        gm_json_number(json, "from_bytes", row->from);
        gm_json_number(json, "to_bytes", row->to);
        gm_json_signed(json, "delta_bytes", row->delta);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_signed(json, "other_delta_bytes", changes->rest);
    gm_json_signed(json, "delta_bytes", changes->delta);
}

static void add_odds(struct gm_json *json, const struct gm_fleet *fleet)
{
    gm_json_open(json, "compared", '{');
    if (fleet->column_count > 0)
        add_number(json, "iteration", fleet->columns[fleet->reference].iteration);
    else
        gm_json_null(json, "iteration");
    if (fleet->typical == SIZE_MAX) {
        gm_json_null(json, "typical");
    } else {
        gm_json_string(json, "typical", fleet->items[fleet->typical].path);
        gm_json_number(json, "median_reserved_bytes", fleet->median_reserved);
        gm_json_number(json, "reserved_tolerance_bytes", fleet->tolerance_reserved);
        gm_json_number(json, "median_held_bytes", fleet->median_held);
        gm_json_number(json, "held_tolerance_bytes", fleet->tolerance_held);
    }
    gm_json_close(json, '}');
    gm_json_number(json, "iterations_compared", fleet->compared_count);
    gm_json_number(json, "odd_rank_count", fleet->odd_total);
    gm_json_open(json, "odd_ranks", '[');
    for (size_t i = 0; i < fleet->odd_count; i++) {
        const struct gm_fleet_odd *odd = &fleet->odds[i];
        const struct gm_fleet_item *item = &fleet->items[odd->item];
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "path", item->path);
        add_number(json, "rank", item->rank);
        add_number(json, "iteration", item->iteration);
        gm_json_number(json, "odd_iterations", odd->iterations);
        gm_json_bool(json, "by_held", odd->by_held);
        gm_json_bool(json, "by_reserved", odd->by_reserved);
        gm_json_bool(json, "by_group", odd->by_group);
        gm_json_string(json, "against", fleet->items[odd->against].path);
        gm_json_signed(json, "reserved_delta_bytes", odd->reserved_delta);
        gm_json_signed(json, "held_delta_bytes", odd->held_delta);
        add_changes(json, fleet, &odd->sites);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_groups(struct gm_json *json, const struct gm_fleet *fleet)
{
    gm_json_open(json, "groups", '[');
    for (size_t g = 0; g < fleet->group_count; g++) {
        const struct gm_fleet_group *group = &fleet->groups[g];
        gm_json_open(json, NULL, '{');
        gm_json_open_flat(json, "ranks", '[');
        for (size_t i = 0; i < group->count; i++)
            add_number(json, NULL, fleet->items[group->items[i]].rank);
        gm_json_close(json, ']');
        gm_json_open(json, "paths", '[');
        for (size_t i = 0; i < group->count; i++)
            gm_json_string(json, NULL, fleet->items[group->items[i]].path);
        gm_json_close(json, ']');
        gm_json_bool(json, "alike", !group->is_rest);
        gm_json_number(json, "held_min_bytes", group->held_least);
        gm_json_number(json, "held_max_bytes", group->held_most);
        gm_json_number(json, "reserved_max_bytes", group->reserved_most);
        add_changes(json, fleet, &group->sites);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_line(struct gm_json *json, const char *key, const struct gm_fleet_line *line)
{
    gm_json_open_flat(json, key, '{');
    gm_json_real(json, "slope_bytes", line->slope);
    gm_json_real(json, "error_bytes", line->error);
    gm_json_bool(json, "growing", line->is_growing);
    gm_json_close(json, '}');
}

static void add_growth(struct gm_json *json, const struct gm_fleet *fleet)
{
    gm_json_open(json, "growth", '[');
    for (size_t i = 0; i < fleet->growth_count; i++) {
        const struct gm_fleet_growth *g = &fleet->growths[i];
        gm_json_open(json, NULL, '{');
        add_number(json, "rank", fleet->rows[g->row].rank);
        gm_json_string(json, "first", fleet->items[g->first].path);
        gm_json_string(json, "last", fleet->items[g->last].path);
        gm_json_number(json, "iterations", g->count);
        add_line(json, "reserved", &g->reserved);
        add_line(json, "allocated_at_end", &g->allocated_end);
        if (g->iterations_left < 0)
            gm_json_null(json, "iterations_left");
        else
            gm_json_real(json, "iterations_left", g->iterations_left);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_open(json, "survivors", '{');
    add_changes(json, fleet, &fleet->survivors);
    gm_json_close(json, '}');
    gm_json_number(json, "capacity_bytes", fleet->capacity);
    gm_json_string(json, "capacity_name", fleet->capacity_name);
}

void gm_words_fleet_json(struct gm_text *out, const struct gm_fleet *fleet)
{
    struct gm_json json = {.out = out};
    gm_json_open(&json, NULL, '{');
    gm_json_string(&json, "schema", "gmfleet.fleet/1");
    gm_json_open(&json, "snapshots", '[');
    for (size_t i = 0; i < fleet->item_count; i++)
        add_item(&json, fleet, &fleet->items[i]);
    gm_json_close(&json, ']');
    gm_json_open_flat(&json, "missing_ranks", '[');
    for (size_t i = 0; i < fleet->missing_rank_count; i++)
        gm_json_signed(&json, NULL, fleet->missing_ranks[i]);
    gm_json_close(&json, ']');
    gm_json_number(&json, "duplicates", fleet->duplicates);
    gm_json_open(&json, "out_of_memory", '[');
    for (size_t i = 0; i < fleet->oom_count; i++)
        gm_json_string(&json, NULL, fleet->items[fleet->ooms[i]].path);
    gm_json_close(&json, ']');
    add_columns(&json, fleet);
    add_odds(&json, fleet);
    add_groups(&json, fleet);
    add_growth(&json, fleet);
    gm_json_string(&json, "name", fleet->run_name);
    gm_json_string(&json, "created", fleet->timestamp);
    gm_json_close(&json, '}');
    gm_text_add_char(out, '\n');
}
