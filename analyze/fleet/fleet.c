/* SPDX-License-Identifier: Apache-2.0
 *
 * Items in order, their rows and columns, the columns' numbers; then the passes.
 */
#include "analyze/fleet/fleet.h"

#include "analyze/base/bisect.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"
#include "analyze/base/utf8.h"
#include "analyze/fleet/fleet_passes.h"
#include "analyze/fleet/place.h"
#include "analyze/fleet/record.h"
#include "analyze/run/run_names.h"
#include "analyze/state/shown_names.h"

#include <stdlib.h>
#include <string.h>

enum { MISSING_MOST = 1 << 16 };

struct placed {
    const struct gm_fleet_part *part;
    struct gm_place_found place;
    char name[GM_NAME_SIZE];   /* of its run */
    char series[GM_NAME_SIZE]; /* without a rank: what its row is called */
    bool is_read;
    bool is_stray; /* it has no rank, and nothing that would share its row was read: no part of the job */
};

/* Numbers ascending, "none" last. */
static int compare_numbers(int64_t a, int64_t b)
{
    if (a < 0 || b < 0)
        return (a < 0) - (b < 0);
    return GM_ORDER(a, b);
}

/* Snapshots without a rank: those with an iteration belong together if their files' names differ in numbers only; the
 * others are each on their own. */
static int compare_series(const struct placed *a, const struct placed *b)
{
    const int order = strcmp(a->series, b->series);
    if (order != 0)
        return order;
    if (a->place.iteration >= 0 && b->place.iteration >= 0)
        return 0;
    if (a->place.iteration >= 0 || b->place.iteration >= 0)
        return compare_numbers(a->place.iteration, b->place.iteration);
    return strcmp(a->part->path, b->part->path);
}

static bool is_same_row(const struct placed *a, const struct placed *b)
{
    return a->place.rank == b->place.rank && (a->place.rank >= 0 || compare_series(a, b) == 0);
}

/* The file's name; with an iteration, '#' for each number in it. */
static void name_series(struct placed *placed)
{
    const char *file = gm_file_name(placed->part->path);
    char text[GM_NAME_SIZE];
    size_t n = 0;
    for (size_t i = 0; file[i] != '\0' && n + 1 < sizeof text; i++) {
        const bool is_digit = file[i] >= '0' && file[i] <= '9';
        if (is_digit && placed->place.iteration >= 0 && n > 0 && text[n - 1] == '#')
            continue;
        text[n++] = is_digit && placed->place.iteration >= 0 ? '#' : file[i];
    }
    gm_utf8_clean_line(placed->series, sizeof placed->series, text, n);
}

GM_ORDERING(compare_placed, struct placed,
            GM_BY(compare_numbers(a->place.rank, b->place.rank)) || GM_UP(is_stray) ||
                (a->place.rank < 0 && GM_BY(compare_series(a, b))) ||
                GM_BY(compare_numbers(a->place.iteration, b->place.iteration)) ||
                GM_BY(strcmp(a->part->path, b->part->path)));

GM_ORDERING(compare_columns, struct gm_fleet_column, GM_BY(compare_numbers(a->iteration, b->iteration)));

/* Marks the strays of what is sorted, and moves them to the end; returns how many there are. */
static size_t part_strays(struct placed *placed, size_t count)
{
    size_t strays = 0, end;
    for (size_t first = 0; first < count; first = end) {
        bool any = placed[first].is_read || placed[first].place.rank >= 0;
        for (end = first + 1; end < count && is_same_row(&placed[end], &placed[first]); end++)
            any = any || placed[end].is_read;
        for (size_t i = first; !any && i < end; i++)
            placed[i].is_stray = true;
        strays += any ? 0 : end - first;
    }
    if (strays > 0)
        qsort(placed, count, sizeof *placed, compare_placed);
    return strays;
}

/* ---- rows, columns, items ---------------------------------------------------------------------------------------- */

static bool make_columns(struct gm_fleet *f, const struct placed *placed, size_t count)
{
    struct gm_fleet_column *columns = gm_arena_calloc(&f->arena, count, sizeof *columns);
    size_t n = 0;
    if (columns == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        columns[i].iteration = placed[i].place.iteration;
    GM_SORT(columns, count, compare_columns);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || columns[n - 1].iteration != columns[i].iteration)
            columns[n++] = columns[i];
    f->columns = columns;
    f->column_count = n;
    return true;
}

static size_t column_of(const struct gm_fleet *f, int64_t iteration)
{
    size_t low = 0;
    GM_BISECT(low, f->column_count, i, compare_numbers(f->columns[i].iteration, iteration) < 0);
    return low;
}

static bool make_row(struct gm_fleet *f, struct gm_fleet_row *row, const struct placed *placed)
{
    row->rank = placed->place.rank;
    row->label = row->rank >= 0 ? gm_arena_printf(&f->arena, "rank %lld", (long long)row->rank)
                                : gm_arena_copy(&f->arena, placed->series, strlen(placed->series));
    return row->label != NULL;
}

static bool make_item(struct gm_fleet_work *w, size_t i, const struct placed *placed, struct gm_record_sites *sites)
{
    struct gm_fleet *f = w->fleet;
    struct gm_fleet_item *item = &w->items[i];
    if (!gm_record_read(item, &f->arena, sites, placed->part->record, placed->part->record_length))
        return false;
    item->path = gm_clean_copy(&f->arena, placed->part->path);
    item->name = gm_arena_copy(&f->arena, placed->name, strlen(placed->name));
    item->rank = placed->place.rank;
    item->iteration = placed->place.iteration;
    item->column = placed->is_stray ? SIZE_MAX : column_of(f, item->iteration);
    item->row = placed->is_stray ? SIZE_MAX : f->row_count - 1;
    f->read_count += item->status == GM_OK;
    return item->path != NULL && item->name != NULL;
}

/* Of the items of a cell the one that reserves most. */
static void choose_shown(struct gm_fleet_work *w)
{
    size_t end;
    for (size_t first = 0; first < w->placed_count; first = end) {
        const struct gm_fleet_item *items = w->items;
        size_t best = first;
        for (end = first + 1;
             end < w->placed_count && items[end].row == items[first].row && items[end].column == items[first].column;
             end++) {
            const bool beats =
                items[best].status != GM_OK || gm_fleet_reserved(&items[end]) > gm_fleet_reserved(&items[best]);
            if (items[end].status == GM_OK && beats)
                best = end;
        }
        for (size_t i = first; i < end; i++)
            w->items[i].shown = best;
        w->fleet->duplicates += end - first - 1;
    }
}

static bool make_items(struct gm_fleet_work *w, const struct placed *placed)
{
    struct gm_fleet *f = w->fleet;
    GM_FREED_BY(gm_record_sites_free) struct gm_record_sites sites = {0};
    const size_t count = f->item_count;
    struct gm_fleet_row *rows = gm_arena_calloc(&f->arena, count, sizeof *rows);
    w->items = gm_arena_calloc(&f->arena, count, sizeof *w->items);
    bool ok = rows != NULL && w->items != NULL && make_columns(f, placed, w->placed_count);
    for (size_t i = 0; ok && i < count; i++) {
        if (!placed[i].is_stray && (i == 0 || !is_same_row(&placed[i], &placed[i - 1])))
            ok = make_row(f, &rows[f->row_count++], &placed[i]);
        ok = ok && make_item(w, i, &placed[i], &sites);
    }
    if (ok)
        choose_shown(w);
    f->items = w->items;
    f->rows = rows;
    f->sites = ok ? gm_arena_array(&f->arena, sites.v.v, sites.v.n, sizeof *sites.v.v) : NULL;
    f->site_count = f->sites == NULL ? 0 : sites.v.n;
    return f->sites != NULL;
}

/* ---- the numbers of a column ------------------------------------------------------------------------------------- */

struct value {
    uint64_t bytes;
    size_t item;
};

/* Of equals the first item is the last one here. */
GM_ORDERING(compare_values, struct value, GM_UP(bytes) || GM_DOWN(item));

static struct gm_fleet_spread spread_of(struct value *v, size_t n)
{
    struct gm_fleet_spread spread = {.most_item = SIZE_MAX};
    if (n == 0)
        return spread;
    GM_SORT(v, n, compare_values);
    spread.least = v[0].bytes;
    spread.median = v[(n - 1) / 2].bytes;
    spread.most = v[n - 1].bytes;
    spread.most_item = v[n - 1].item;
    for (size_t i = 0; i < n; i++)
        spread.mean += (double)v[i].bytes / (double)n;
    return spread;
}

/* The items of each column, side by side: `order` sorted by column, then item. */
static bool by_column(const struct gm_fleet *f, size_t count, size_t **order, size_t **starts)
{
    *order = calloc(f->item_count + 1, sizeof **order);
    *starts = calloc(f->column_count + 2, sizeof **starts);
    if (*order == NULL || *starts == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        (*starts)[f->items[i].column + 2]++;
    for (size_t c = 2; c < f->column_count + 2; c++)
        (*starts)[c] += (*starts)[c - 1];
    for (size_t i = 0; i < count; i++)
        (*order)[(*starts)[f->items[i].column + 1]++] = i;
    return true;
}

void gm_fleet_take_column(struct gm_fleet_work *w, size_t column)
{
    struct gm_fleet_peers *p = &w->peers;
    p->count = 0;
    for (size_t i = w->starts[column]; i < w->starts[column + 1]; i++) {
        const struct gm_fleet_item *item = &w->items[w->order[i]];
        if (item->status == GM_OK && item->shown == w->order[i])
            p->items[p->count++] = w->order[i];
    }
}

static struct gm_fleet_spread spread_at(const struct gm_fleet_work *w, enum gm_level level, struct value *values)
{
    size_t n = 0;
    for (size_t i = 0; i < w->peers.count; i++) {
        const struct gm_fleet_item *item = &w->fleet->items[w->peers.items[i]];
        const uint64_t bytes = level == GM_LEVEL_RESERVED ? gm_fleet_reserved(item) : gm_fleet_allocated(item);
        if (gm_fleet_knows(item, level))
            values[n++] = (struct value){bytes, w->peers.items[i]};
    }
    return spread_of(values, n);
}

static void fill_column(struct gm_fleet_work *w, struct gm_fleet_column *column, size_t c, struct value *values)
{
    const struct gm_fleet *f = w->fleet;
    size_t rows = 0;
    for (size_t i = w->starts[c]; i < w->starts[c + 1]; i++) {
        const struct gm_fleet_item *item = &f->items[w->order[i]];
        column->items++;
        column->failed += item->status != GM_OK;
        rows += i == w->starts[c] || item->row != f->items[w->order[i - 1]].row;
    }
    gm_fleet_take_column(w, c);
    column->ranks = w->peers.count;
    column->missing = column->iteration == GM_FLEET_NONE && f->column_count > 1 ? 0 : f->row_count - rows;
    column->reserved = spread_at(w, GM_LEVEL_RESERVED, values);
    column->allocated = spread_at(w, GM_LEVEL_ALLOCATED, values);
}

/* Whether nearly as many ranks were read as of the fullest one: a damaged rank or two do not make it a lesser one. */
static bool is_full(const struct gm_fleet_column *column, size_t most)
{
    return column->ranks > 0 && column->ranks >= most - most / 3;
}

static bool make_peers(struct gm_fleet_peers *p, size_t most)
{
    p->items = calloc(most + 1, sizeof *p->items);
    p->members = calloc(most + 1, sizeof *p->members);
    p->group_of = calloc(most + 1, sizeof *p->group_of);
    p->groups = calloc(GM_FLEET_GROUPS, sizeof *p->groups);
    return p->items != NULL && p->members != NULL && p->group_of != NULL && p->groups != NULL;
}

static void free_work(struct gm_fleet_work *w)
{
    GM_FREE_ALL(w->order, w->starts, w->peers.items, w->peers.members, w->peers.group_of, w->peers.groups);
}

static bool fill_columns(struct gm_fleet_work *w)
{
    struct gm_fleet *f = w->fleet;
    struct gm_fleet_column *columns = gm_arena_calloc(&f->arena, f->column_count, sizeof *columns);
    GM_FREED struct value *values = calloc(f->item_count + 1, sizeof *values);
    size_t most = 0;
    const bool ok = columns != NULL && values != NULL && make_peers(&w->peers, f->item_count) &&
                    by_column(f, w->placed_count, &w->order, &w->starts);
    for (size_t c = 0; ok && c < f->column_count; c++) {
        columns[c].iteration = f->columns[c].iteration;
        fill_column(w, &columns[c], c, values);
        most = columns[c].ranks > most ? columns[c].ranks : most;
    }
    for (size_t c = 0; ok && most > 0 && c < f->column_count; c++)
        if (is_full(&columns[c], most) &&
            (columns[c].iteration != GM_FLEET_NONE || !is_full(&columns[f->reference], most)))
            f->reference = c;
    if (ok)
        f->columns = columns;
    return ok;
}

/* ---- ranks without a snapshot, and those without memory ---------------------------------------------------------- */

static bool find_missing(struct gm_fleet *f)
{
    int64_t most = -1;
    size_t ranks = 0;
    for (size_t r = 0; r < f->row_count; r++)
        if (f->rows[r].rank >= 0) {
            most = f->rows[r].rank;
            ranks++;
        }
    /* a number far beyond what was found is none that ranks were counted with */
    if (most < 0 || most >= MISSING_MOST || (size_t)most + 1 > 4 * ranks + 64)
        return true;
    int64_t *missing = gm_arena_calloc(&f->arena, (size_t)most + 1, sizeof *missing);
    if (missing == NULL)
        return false;
    size_t row = 0;
    for (int64_t rank = 0; rank <= most; rank++) {
        if (f->rows[row].rank == rank)
            row++;
        else
            missing[f->missing_rank_count++] = rank;
    }
    f->missing_ranks = missing;
    return true;
}

/* By time, those without one last; then by iteration and row. */
GM_ORDERING_OF_POINTERS(compare_ooms, struct gm_fleet_item,
                        GM_UP(oom.time_us) || GM_BY(compare_numbers(a->iteration, b->iteration)) ||
                            GM_BY(GM_ORDER(a, b)));

static bool find_ooms(struct gm_fleet *f)
{
    GM_FREED const struct gm_fleet_item **found = calloc(f->item_count + 1, sizeof *found);
    size_t *ooms = gm_arena_calloc(&f->arena, f->item_count, sizeof *ooms), n = 0;
    const bool ok = found != NULL && ooms != NULL;
    for (size_t i = 0; ok && i < f->item_count; i++)
        if (f->items[i].status == GM_OK && f->items[i].ooms > 0)
            found[n++] = &f->items[i];
    GM_SORT(found, n, compare_ooms);
    for (size_t i = 0; ok && i < n; i++)
        ooms[i] = (size_t)(found[i] - f->items);
    f->ooms = ooms;
    f->oom_count = ok ? n : 0;
    return ok;
}

static bool make(struct gm_fleet_work *w, const struct gm_fleet_part *parts, size_t count)
{
    struct gm_fleet *f = w->fleet;
    GM_FREED struct placed *placed = calloc(count + 1, sizeof *placed);
    bool ok = placed != NULL;
    f->item_count = ok ? count : 0;
    for (size_t i = 0; ok && i < count; i++) {
        placed[i].part = &parts[i];
        placed[i].place = w->options->pattern != NULL ? gm_place_match(w->options->pattern, parts[i].path)
                                                      : gm_place_detect(parts[i].path);
        const int64_t stated = gm_record_rank(parts[i].record, parts[i].record_length);
        if (stated >= 0 && w->options->pattern == NULL)
            placed[i].place.rank = stated;
        gm_name_detect(placed[i].name, parts[i].path);
        name_series(&placed[i]);
        enum gm_status status;
        placed[i].is_read = gm_record_check(parts[i].record, parts[i].record_length, &status) && status == GM_OK;
    }
    if (!ok)
        return false;
    GM_SORT(placed, count, compare_placed);
    w->placed_count = count - part_strays(placed, count);
    return make_items(w, placed) && fill_columns(w) && find_missing(f) && find_ooms(f);
}

enum gm_status gm_fleet_make(struct gm_fleet *fleet, const struct gm_fleet_part *parts, size_t count,
                             const struct gm_fleet_options *options, struct gm_error *err)
{
    *fleet = (struct gm_fleet){.typical = SIZE_MAX, .capacity = options->capacity};
    struct gm_fleet_work w = {.fleet = fleet, .options = options};
    bool ok = make(&w, parts, count);
    if (ok && options->capacity_name != NULL)
        ok = (fleet->capacity_name = gm_clean_copy(&fleet->arena, options->capacity_name)) != NULL;
    ok = ok && gm_fleet_find_odds(&w) && gm_fleet_tell_groups(&w) && gm_fleet_find_growth(&w);
    free_work(&w);
    if (ok)
        return GM_OK;
    gm_fleet_free(fleet);
    return gm_no_memory(err);
}
