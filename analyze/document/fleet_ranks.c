/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes ranks of a job differ: the odd ones, groups of alike ones, growth, and the call sites that explain each.
 */
#include "analyze/document/fleet_sections.h"
#include "analyze/report/comparison.h"

#include <math.h>
#include <string.h>

enum { SITES = 8, SITES_EACH = 20, ODDS = 20, GROWTHS = 20, STEEPEST = 5 };

/* ---- call sites -------------------------------------------------------------------------------------------------- */

static const char *site_name(struct gm_doc *d, const struct gm_fleet_site *site)
{
    return site->via == NULL ? site->label : gm_doc_printf(d, "%s (%s)", site->label, site->via);
}

/* A difference of a call site as all tables of them tell it; without a site a sum. */
struct change {
    const char *name, *label, *via, *category;
    uint64_t from, to;
    int64_t delta;
};

static const struct gm_column changes_columns[] = {
    GM_KEY(GM_SITE, "site", struct change, label),
    GM_KEY(GM_NAME, "via", struct change, via),
    GM_KEY(GM_BYTES, "from_bytes", struct change, from),
    GM_KEY(GM_BYTES, "to_bytes", struct change, to),
    GM_FIELD(GM_DELTA, GM_ALL, "delta_bytes", "Change", struct change, delta),
    GM_FIELD(GM_TEXT, GM_ALL, "category", "Category", struct change, category),
    GM_FIELD(GM_SITE, GM_READ, NULL, "Call site", struct change, name),
};

static void add_changes(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_changes *changes)
{
    struct change *rows = gm_doc_rows(d, changes->count, sizeof *rows);
    struct change feet[2] = {{.name = "other call sites"}, {.name = "in all", .delta = changes->delta}};
    const size_t shown = changes->count < SITES ? changes->count : SITES;
    if (rows == NULL)
        return;
    for (size_t i = 0; i < changes->count; i++) {
        const struct gm_fleet_change *c = &changes->rows[i];
        const struct gm_fleet_site *site = &f->sites[c->site];
        rows[i] = (struct change){site_name(d, site), site->label, site->via, site->category, c->from, c->to, c->delta};
    }
    feet[0].delta = changes->delta;
    for (size_t i = 0; i < shown; i++)
        feet[0].delta = gm_diff_minus(feet[0].delta, rows[i].delta);
    GM_TABLE(d, changes_columns, rows, changes->count, .key = "call_sites", .txt_max = SITES, .md_max = SITES,
             GM_FEET_OF(feet, feet[0].delta != 0 || shown < changes->count, true));
    if (!gm_doc_is(d, GM_JSON))
        return;
    gm_json_signed(&d->json, "other_delta_bytes", changes->rest);
    gm_json_signed(&d->json, "delta_bytes", changes->delta);
}

/* What a call site holds in a snapshot. */
struct use {
    const char *name, *label, *via, *category;
    uint64_t bytes;
};

/* The n of them that hold most, largest first; of equals the first. */
static size_t largest_uses(struct use *rows, struct gm_doc *d, const struct gm_fleet *f,
                           const struct gm_fleet_item *item)
{
    size_t n = 0;
    for (size_t i = 0; i < item->use_count; i++) {
        const struct gm_fleet_site *site = &f->sites[item->uses[i].site];
        const struct use row = {NULL, site->label, site->via, site->category, gm_fleet_use_held(item, &item->uses[i])};
        size_t at = n;
        while (at > 0 && rows[at - 1].bytes < row.bytes)
            at--;
        if (at == SITES_EACH || row.bytes == 0)
            continue;
        n += n < SITES_EACH;
        memmove(&rows[at + 1], &rows[at], (n - 1 - at) * sizeof *rows);
        rows[at] = row;
        rows[at].name = site_name(d, site);
    }
    return n;
}

void gm_fleet_uses(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_item *item)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_SITE, "site", struct use, label),
        GM_KEY(GM_NAME, "via", struct use, via),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Held", struct use, bytes),
        GM_FIELD(GM_TEXT, GM_ALL, "category", "Category", struct use, category),
        GM_FIELD(GM_SITE, GM_READ, NULL, "Call site", struct use, name),
    };
    struct use rows[SITES_EACH + 1], rest = {.name = "other call sites", .bytes = gm_fleet_held(item)};
    const struct gm_table table = {.key = "call_sites",
                                   .title = "Held at the peak",
                                   GM_COLUMNS(columns),
                                   GM_ROWS(rows, largest_uses(rows, d, f, item)),
                                   GM_FEET(&rest, 1),
                                   .txt_max = SITES,
                                   .md_max = SITES};
    for (size_t i = 0; i < gm_doc_shown(d, &table); i++)
        rest.bytes -= rows[i].bytes < rest.bytes ? rows[i].bytes : rest.bytes;
    gm_doc_table(d, &table);
    if (gm_doc_is(d, GM_JSON))
        gm_json_number(&d->json, "other_call_sites_bytes", rest.bytes);
}

/* ---- odd ranks --------------------------------------------------------------------------------------------------- */

static void say_uncompared(struct gm_doc *d, const struct gm_fleet *f)
{
    enum { NAMED = 12 };
    struct gm_text where = {0};
    size_t n = 0;
    for (size_t c = 0; c < f->column_count; c++) {
        if (f->columns[c].ranks >= GM_FLEET_LEAST)
            continue;
        if (n < NAMED && gm_fleet_has_iterations(f)) {
            gm_text_add(&where, n == 0 ? " at " : ", ");
            gm_text_add(&where, gm_fleet_column_name(d, &f->columns[c]));
        }
        n++;
    }
    if (n > NAMED)
        gm_text_printf(&where, " and %zu more", n - NAMED);
    const char *text = gm_doc_take(d, &where);
    if (n > 0)
        gm_doc_tell(d, "Fewer than three ranks were read%s: which one is odd there cannot be told.", text);
}

static void say_rule(struct gm_doc *d, const struct gm_fleet *f)
{
    const char *typical = "";
    if (f->typical != SIZE_MAX && f->odd_total > 0) /* else the name is read as that of an odd one */
        typical = gm_doc_printf(d, ": %s, which holds %s and reserves %s",
                                gm_fleet_item_name(d, f, &f->items[f->typical]), gm_doc_bytes(d, f->median_held),
                                gm_fleet_knows(&f->items[f->typical], GM_LEVEL_RESERVED)
                                    ? gm_doc_bytes(d, gm_fleet_reserved(&f->items[f->typical]))
                                    : "n/a");
    gm_doc_tell(d,
                "Odd is what differs by more than 5 %%, three robust standard deviations and 1 MiB from the median of "
                "its group of alike ranks (below) if that is a large one, else from the median of all%s. What has half "
                "in common with a group of three times as many ranks, but is not alike, is odd, too, and compared with "
                "that.%s",
                typical,
                f->column_count > 1
                    ? " Each iteration is compared by itself; told is where a rank is farthest from the others."
                    : "");
}

static void add_odd(const struct gm_cell_of *c)
{
    const struct gm_fleet *f = c->of;
    const struct gm_fleet_odd *odd = c->row;
    struct gm_json *json = &c->doc->json;
    gm_json_string(json, "path", f->items[odd->item].path);
    gm_json_id(json, "rank", f->items[odd->item].rank);
    gm_json_id(json, "iteration", f->items[odd->item].iteration);
    gm_json_number(json, "odd_iterations", odd->iterations);
    gm_json_bool(json, "by_held", odd->by_held);
    gm_json_bool(json, "by_reserved", odd->by_reserved);
    gm_json_bool(json, "by_group", odd->by_group);
    gm_json_string(json, "against", f->items[odd->against].path);
    gm_json_signed(json, "reserved_delta_bytes", odd->reserved_delta);
    gm_json_signed(json, "held_delta_bytes", odd->held_delta);
    add_changes(c->doc, f, &odd->sites);
}

static void say_odd(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_odd *odd)
{
    const char *in = f->compared_count < 2
                         ? ""
                         : gm_doc_printf(d, "; odd in %zu of %zu iterations", odd->iterations, f->compared_count);
    gm_doc_open(d, NULL, gm_doc_printf(d, "Odd: %s", gm_fleet_item_name(d, f, &f->items[odd->item])));
    const struct gm_fleet_item *item = &f->items[odd->item], *against = &f->items[odd->against];
    if (!gm_fleet_knows(item, GM_LEVEL_RESERVED) || !gm_fleet_knows(against, GM_LEVEL_RESERVED))
        gm_doc_tell(d, "Held by call sites %s (%s against %s)%s", gm_doc_bytes(d, gm_fleet_held(item)),
                    gm_doc_delta_bytes(d, odd->held_delta), gm_fleet_item_name(d, f, against), in);
    else
        gm_doc_tell(d, "Peak reserved %s (%s against %s); of that held by call sites %s, cache and rounding %s%s",
                    gm_doc_bytes(d, gm_fleet_reserved(item)), gm_doc_delta_bytes(d, odd->reserved_delta),
                    gm_fleet_item_name(d, f, against), gm_doc_delta_bytes(d, odd->held_delta),
                    gm_doc_delta_bytes(d, gm_diff_minus(odd->reserved_delta, odd->held_delta)), in);
    add_changes(d, f, &odd->sites);
    gm_doc_close(d);
}

/* Whom the ranks of the reference are compared with. */
static void add_compared(struct gm_json *json, const struct gm_fleet *f)
{
    gm_json_open(json, "compared", '{');
    gm_json_id(json, "iteration", f->column_count > 0 ? f->columns[f->reference].iteration : GM_FLEET_NONE);
    gm_json_string(json, "typical", f->typical == SIZE_MAX ? NULL : f->items[f->typical].path);
    if (f->typical != SIZE_MAX) {
        gm_json_number(json, "median_reserved_bytes", f->median_reserved);
        gm_json_number(json, "reserved_tolerance_bytes", f->tolerance_reserved);
        gm_json_number(json, "median_held_bytes", f->median_held);
        gm_json_number(json, "held_tolerance_bytes", f->tolerance_held);
    }
    gm_json_close(json, '}');
    gm_json_number(json, "iterations_compared", f->compared_count);
    gm_json_number(json, "odd_rank_count", f->odd_total);
}

void gm_fleet_odds(struct gm_doc *d, const struct gm_fleet *f)
{
    if (gm_doc_is(d, GM_JSON)) {
        add_compared(&d->json, f);
        gm_doc_nested(d, "odd_ranks", add_odd, GM_NESTED_ROWS(f->odds, f->odd_count), f);
        return;
    }
    if (f->odd_total == 0 && gm_doc_is(d, GM_MD))
        return;
    gm_doc_fold(d, NULL, "The odd ranks out");
    say_uncompared(d, f);
    if (f->compared_count > 0) {
        say_rule(d, f);
        if (f->odd_total == 0)
            gm_doc_tell(d, "None.");
        for (size_t i = 0; i < f->odd_count && i < ODDS; i++)
            say_odd(d, f, &f->odds[i]);
        if (f->odd_total > ODDS)
            gm_doc_tell(d, "%zu more: see %s", f->odd_total - ODDS, d->json_name);
    }
    gm_doc_close(d);
}

/* ---- groups of alike ranks --------------------------------------------------------------------------------------- */

static void add_group(const struct gm_cell_of *c)
{
    const struct gm_fleet *f = c->of;
    const struct gm_fleet_group *group = c->row;
    struct gm_json *json = &c->doc->json;
    gm_json_open_flat(json, "ranks", '[');
    for (size_t i = 0; i < group->count; i++)
        gm_json_id(json, NULL, f->items[group->items[i]].rank);
    gm_json_close(json, ']');
    gm_json_open(json, "paths", '[');
    for (size_t i = 0; i < group->count; i++)
        gm_json_string(json, NULL, f->items[group->items[i]].path);
    gm_json_close(json, ']');
    gm_json_bool(json, "alike", !group->is_rest);
    gm_json_number(json, "held_min_bytes", group->held_least);
    gm_json_number(json, "held_max_bytes", group->held_most);
    gm_json_number(json, "reserved_max_bytes", group->reserved_most);
    add_changes(c->doc, f, &group->sites);
}

/* Whether what differs from the largest group stands above already: its first rank is odd against the same one. */
static bool is_told_above(const struct gm_fleet *f, const struct gm_fleet_group *group)
{
    for (size_t i = 0; i < f->odd_count; i++)
        if (f->odds[i].item == group->items[0] && f->odds[i].against == f->groups[f->largest_group].items[0])
            return true;
    return false;
}

static void say_group(struct gm_doc *d, const struct gm_fleet *f, size_t g)
{
    const struct gm_fleet_group *group = &f->groups[g];
    const bool is_largest = g == f->largest_group, is_one = group->count == 1;
    const bool is_told = !is_largest && is_told_above(f, group);
    const char *what = is_largest ? f->group_count > 1 ? "; the largest group." : "."
                       : is_told  ? "; odd: see above."
                       : is_one   ? "; against the first rank of the largest group:"
                                  : "; its first rank against that of the largest group:";
    gm_doc_open(d, NULL,
                gm_doc_printf(d, "%s%s", gm_fleet_members(d, f, group, 12), group->is_rest ? " (like nobody)" : ""));
    const bool is_known = gm_fleet_knows(&f->items[group->items[0]], GM_LEVEL_RESERVED) || group->reserved_most > 0;
    gm_doc_tell(
        d, "%s, holding %s%s%s, peak reserved %s%s%s", is_one ? "1 rank" : gm_doc_printf(d, "%zu ranks", group->count),
        is_one ? "" : gm_doc_bytes(d, group->held_least), is_one ? "" : " to ", gm_doc_bytes(d, group->held_most),
        is_one || !is_known ? "" : "up to ", is_known ? gm_doc_bytes(d, group->reserved_most) : "n/a", what);
    if (!is_largest && !is_told)
        add_changes(d, f, &group->sites);
    gm_doc_close(d);
}

void gm_fleet_groups(struct gm_doc *d, const struct gm_fleet *f)
{
    if (gm_doc_is(d, GM_JSON))
        gm_doc_nested(d, "groups", add_group, GM_NESTED_ROWS(f->groups, f->group_count), f);
    if (gm_doc_is(d, GM_JSON) || f->group_count < (gm_doc_is(d, GM_MD) ? 2 : 1))
        return;
    const bool has_iterations = gm_fleet_has_iterations(f);
    gm_doc_fold(d, NULL, "Groups of alike ranks");
    gm_doc_tell(
        d,
        "Alike: call sites differ, added up, by at most 5 %% of what the larger rank holds. Pipeline stages and "
        "uneven experts show as groups.%s",
        has_iterations ? gm_doc_printf(d, " These are those of %s.", gm_fleet_column_name(d, &f->columns[f->reference]))
                       : "");
    if (f->group_count == 1 && f->groups[0].count > 1)
        gm_doc_tell(d, "All %zu ranks that were read are alike%s.", f->groups[0].count, has_iterations ? " there" : "");
    for (size_t g = 0; g < f->group_count; g++)
        say_group(d, f, g);
    gm_doc_close(d);
}

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static void add_line(struct gm_json *json, const char *key, const struct gm_fleet_line *line)
{
    gm_json_open_flat(json, key, '{');
    gm_json_real(json, "slope_bytes", line->slope);
    gm_json_real(json, "error_bytes", line->error);
    gm_json_bool(json, "growing", line->is_growing);
    gm_json_close(json, '}');
}

static void add_rank_growth(const struct gm_cell_of *c)
{
    const struct gm_fleet *f = c->of;
    const struct gm_fleet_growth *g = c->row;
    struct gm_json *json = &c->doc->json;
    gm_json_id(json, "rank", f->rows[g->row].rank);
    gm_json_string(json, "first", f->items[g->first].path);
    gm_json_string(json, "last", f->items[g->last].path);
    gm_json_number(json, "iterations", g->count);
    add_line(json, "reserved", &g->reserved);
    add_line(json, "allocated_at_end", &g->allocated_end);
    gm_json_real(json, "iterations_left", g->iterations_left < 0 ? (double)NAN : g->iterations_left);
}

/* Growing, or among the steepest and not the same in all iterations. */
static bool is_telling(const struct gm_fleet_growth *g, size_t place)
{
    const bool is_flat = g->reserved.slope == 0 && !(g->reserved.error > 0) && g->allocated_end.slope == 0 &&
                         !(g->allocated_end.error > 0);
    return g->reserved.is_growing || g->allocated_end.is_growing || (place < STEEPEST && !is_flat);
}

static void say_rank_growth(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_growth *g)
{
    const bool has_end = g->iterations_left >= 0;
    gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL,
               GM_QUOTED ", %zu iterations: peak reserved %s; allocated at the end %s%s%s%s", f->rows[g->row].label,
               g->count, gm_fleet_line_text(d, &g->reserved), gm_fleet_line_text(d, &g->allocated_end),
               has_end ? "; full in " : "", has_end ? gm_fleet_iterations(d, g->iterations_left) : "",
               has_end ? " iterations" : "");
}

static void say_growths(struct gm_doc *d, const struct gm_fleet *f)
{
    size_t shown = 0, silent = 0;
    for (size_t i = 0; i < f->growth_count; i++)
        if (!is_telling(&f->growths[i], i))
            silent++;
        else if (++shown <= GROWTHS)
            say_rank_growth(d, f, &f->growths[i]);
    if (shown > GROWTHS)
        gm_doc_tell(d, "%zu more: see %s", shown - GROWTHS, d->json_name);
    if (silent > 0)
        gm_doc_tell(d, "%zu%s rank%s not known to grow: see %s", silent, shown > 0 ? " other" : "",
                    silent == 1 ? " is" : "s are", d->json_name);
}

static void add_growth(struct gm_doc *d, const struct gm_fleet *f)
{
    gm_doc_nested(d, "growth", add_rank_growth, GM_NESTED_ROWS(f->growths, f->growth_count), f);
    gm_doc_open(d, "survivors", NULL);
    add_changes(d, f, &f->survivors);
    gm_doc_close(d);
    gm_json_number(&d->json, "capacity_bytes", f->capacity);
    gm_json_string(&d->json, "capacity_name", f->capacity_name);
}

void gm_fleet_growth(struct gm_doc *d, const struct gm_fleet *f)
{
    if (gm_doc_is(d, GM_JSON)) {
        add_growth(d, f);
        return;
    }
    if (f->growth_count == 0)
        return;
    gm_doc_fold(d, NULL, "Growth over iterations");
    gm_doc_tell(
        d, "Bytes per iteration by least squares, +- the standard error; growing is a slope whose 95 %% confidence "
           "interval is above zero, from three iterations on.");
    if (f->capacity != GM_REPORT_NONE)
        gm_doc_tell(d, "Out of memory at %s a device%s%s.", gm_doc_bytes(d, f->capacity),
                    f->capacity_name == NULL ? "" : ": ", f->capacity_name == NULL ? "" : f->capacity_name);
    say_growths(d, f);
    gm_doc_open(d, NULL, "What the end of the last iteration holds that the end of the first did not, all ranks");
    if (f->survivors.count == 0 && f->survivors.delta == 0)
        gm_doc_tell(d, "No difference.");
    else
        add_changes(d, f, &f->survivors);
    gm_doc_close(d);
    gm_doc_close(d);
}
