/* SPDX-License-Identifier: Apache-2.0
 *
 * All snapshots of a job on one page: fleet_report.txt, README.md and fleet.json (schema gmfleet.fleet/1,
 * docs/fleet.md).
 */
#include "analyze/document/columns.h"
#include "analyze/document/fleet_sections.h"

#include <math.h>
#include <string.h>

enum { LISTED = 50, FEW = 40, OOMS = 20 };

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

/* What is known of a snapshot that was read. */
static void add_read(const struct gm_cell_of *c)
{
#define KEY(unit, key, field) GM_KEY(unit, key, struct gm_fleet_item, field)
    static const struct gm_column columns[] = {
        KEY(GM_NAME, "name", name),
        KEY(GM_PATH, "run_directory", each),
        KEY(GM_BYTES, "bytes", disk_bytes),
        KEY(GM_COUNT, "events", events),
        KEY(GM_COUNT, "devices", device_count),
        KEY(GM_BOOL, "salvaged", is_salvaged),
        KEY(GM_COUNT, "warnings", warning_count),
        KEY(GM_SITE, "peak_site", peak_site),
        KEY(GM_TEXT, "peak_phase", peak_phase),
        KEY(GM_COUNT, "ooms", ooms),
    };
    static const struct gm_column oom[] = {
        KEY(GM_HANDLE, "device", oom.device),
        KEY(GM_EVENT, "event", oom.event),
        KEY(GM_TIME, "time_us", oom.time_us),
        KEY(GM_BYTES, "requested_bytes", oom.asked),
        KEY(GM_BYTES, "device_free_bytes", oom.device_free),
        KEY(GM_BYTES, "reserved_bytes", oom.reserved),
        KEY(GM_SITE, "site", oom.site),
    };
#undef KEY
    const struct gm_fleet_item *item = c->row;
    GM_OBJECT(c->doc, "totals", gm_totals_columns, item->lacks_end ? NULL : &item->totals, NULL);
    gm_json_peaks(c->doc, "peaks", item->has_trace ? item->peaks : NULL);
    GM_FIELDS(c->doc, columns, item, NULL);
    if (item->ooms > 0)
        GM_OBJECT(c->doc, "first_oom", oom, item, NULL);
    gm_json_slices(c->doc, "categories", item->categories, item->category_count, gm_fleet_held(item));
    gm_fleet_uses(c->doc, c->of, item);
}

static void add_item(const struct gm_cell_of *c)
{
    const struct gm_fleet_item *item = c->row;
    if (item->status == GM_OK) {
        add_read(c);
        return;
    }
    gm_json_null(&c->doc->json, "totals");
    gm_json_null(&c->doc->json, "peaks");
}

GM_CELL(s, error_of, struct gm_fleet_item, item, item->status == GM_OK ? NULL : item->error == NULL ? "" : item->error);

static const struct gm_column snapshots[] = {
    GM_FIELD(GM_PATH, GM_ALL, "path", "Snapshot", struct gm_fleet_item, path),
    GM_KEY(GM_ID, "rank", struct gm_fleet_item, rank),
    GM_KEY(GM_ID, "iteration", struct gm_fleet_item, iteration),
    GM_GET(GM_TEXT, GM_ALL | GM_UNDER, "error", "Why", error_of),
    GM_NESTED(NULL, add_item),
};

static void say_unread(struct gm_doc *d, const struct gm_fleet *f)
{
    const size_t count = f->item_count - f->read_count;
    struct gm_fleet_item *rows = count == 0 ? NULL : gm_doc_rows(d, count, sizeof *rows);
    if (rows == NULL)
        return;
    for (size_t i = 0, n = 0; i < f->item_count; i++)
        if (f->items[i].status != GM_OK)
            rows[n++] = f->items[i];
    gm_doc_open(d, NULL, "Not read, left out of all that is compared");
    GM_TABLE(d, snapshots, rows, count, .in = GM_READ, .txt_max = LISTED, .md_max = FEW, .of = f);
    gm_doc_close(d);
}

static void say_missing(struct gm_doc *d, const struct gm_fleet *f)
{
    size_t incomplete = 0;
    for (size_t c = 0; c < f->column_count; c++)
        incomplete += f->columns[c].missing > 0;
    GM_LIST(d, "missing_ranks", GM_SIGNED, f->missing_ranks, f->missing_rank_count);
    if (gm_doc_is(d, GM_JSON)) {
        gm_json_number(&d->json, "duplicates", f->duplicates);
        return;
    }
    if (f->missing_rank_count + incomplete + f->duplicates == 0)
        return;
    gm_doc_open(d, NULL, gm_doc_is(d, GM_TXT) ? "Missing" : NULL);
    if (f->missing_rank_count > 0)
        gm_doc_say(d, GM_SAY_STRONG, GM_READ, NULL, "No snapshot at all of rank%s %s.",
                   gm_plural(f->missing_rank_count), gm_fleet_numbers(d, f->missing_ranks, f->missing_rank_count));
    if (incomplete > 0)
        gm_doc_tell(d, "%zu of %zu iterations lack snapshots of some of the %zu ranks.", incomplete, f->column_count,
                    f->row_count);
    if (f->duplicates > 0)
        gm_doc_tell(d,
                    "%zu snapshot%s the rank and iteration of another one; in tables of ranks the one that reserves "
                    "most counts.",
                    f->duplicates, f->duplicates == 1 ? " has" : "s have");
    gm_doc_close(d);
}

static void say_ooms(struct gm_doc *d, const struct gm_fleet *f)
{
    const char **paths = gm_doc_rows(d, f->oom_count, sizeof *paths);
    for (size_t i = 0; paths != NULL && i < f->oom_count; i++)
        paths[i] = f->items[f->ooms[i]].path;
    if (paths != NULL)
        GM_LIST(d, "out_of_memory", GM_PATH, paths, f->oom_count);
    if (f->oom_count == 0 || gm_doc_is(d, GM_JSON))
        return;
    gm_doc_fold(d, NULL, "Out of memory, the first one first");
    for (size_t i = 0; i < f->oom_count && i < OOMS; i++)
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s.", gm_fleet_oom_text(d, f, &f->items[f->ooms[i]]));
    if (f->oom_count > OOMS)
        gm_doc_tell(d, "%zu more: see %s", f->oom_count - OOMS, d->json_name);
    gm_fleet_uses(d, f, &f->items[f->ooms[0]]);
    gm_doc_close(d);
}

/* ---- ranks and iterations ---------------------------------------------------------------------------------------- */

static union gm_value reserved_at(const struct gm_cell_of *c)
{
    const struct gm_fleet *f = c->of;
    const size_t i = gm_fleet_find(f, (size_t)((const struct gm_fleet_row *)c->row - f->rows), c->column->offset);
    if (i == SIZE_MAX || f->items[i].status != GM_OK)
        return (union gm_value){.s = i == SIZE_MAX ? "-" : "unreadable"};
    if (!gm_fleet_knows(&f->items[i], GM_LEVEL_RESERVED))
        return (union gm_value){.s = "n/a"};
    return (union gm_value){.s = gm_doc_bytes(c->doc, gm_fleet_reserved(&f->items[i]))};
}

/* Ranks down, the last iterations across. */
static void say_grid(struct gm_doc *d, const struct gm_fleet *f)
{
    enum { ACROSS = 8 };
    struct gm_column columns[1 + ACROSS] = {GM_FIELD(GM_TEXT, GM_READ, NULL, NULL, struct gm_fleet_row, label)};
    const size_t most = gm_doc_is(d, GM_TXT) ? 5 : ACROSS;
    const size_t first = f->column_count > most ? f->column_count - most : 0, n = f->column_count - first;
    bool is_partly_traced = false;
    for (size_t i = 0; i < f->item_count; i++)
        is_partly_traced = is_partly_traced || (f->items[i].status == GM_OK && !f->items[i].has_trace);
    for (size_t c = 0; c < n; c++) {
        columns[1 + c] = (struct gm_column)GM_GET(GM_FIGURE, GM_READ, NULL, NULL, reserved_at);
        columns[1 + c].title = gm_fleet_iteration(d, f->columns[first + c].iteration);
        columns[1 + c].offset = first + c;
    }
    gm_doc_fold(d, NULL, "Peak reserved by rank and iteration");
    GM_TABLE_OF(d, columns, 1 + n, f->rows, f->row_count, .in = GM_READ, .txt_max = 64, .md_max = 100, .of = f);
    if (first > 0)
        gm_doc_tell(d, "%zu earlier iteration%s: see fleet.csv", first, gm_plural(first));
    if (is_partly_traced)
        gm_doc_tell(d, "Snapshots without a trace count with what they reserve at the end.");
    gm_doc_close(d);
}

/* How the ranks of an iteration compare. */
struct spread {
    int64_t iteration;
    size_t ranks;
    struct gm_fleet_spread s;
};

GM_CELL(real, imbalance_of, struct spread, row, row->s.most_item == SIZE_MAX ? NAN : gm_fleet_imbalance(&row->s));

GM_CELL(u, mean_of, struct spread, row, gm_fleet_mean(&row->s));

GM_CELL(s, highest_path, struct spread, row, ((const struct gm_fleet *)c->of)->items[row->s.most_item].path);

static union gm_value highest_rank(const struct gm_cell_of *c)
{
    const struct gm_fleet *f = c->of;
    const size_t item = ((const struct spread *)c->row)->s.most_item;
    return (union gm_value){.s = item == SIZE_MAX ? NULL : f->rows[f->items[item].row].label};
}

static const struct gm_column spreads[] = {
    GM_FIELD(GM_ID, GM_READ, NULL, "Iteration", struct spread, iteration),
    GM_FIELD(GM_COUNT, GM_READ, NULL, "Ranks", struct spread, ranks),
    GM_FIELD(GM_BYTES, GM_ALL, "min_bytes", "Least", struct spread, s.least),
    GM_KEY(GM_BYTES, "median_bytes", struct spread, s.median),
    GM_GET(GM_BYTES, GM_READ, NULL, "Mean", mean_of),
    GM_KEY(GM_REAL, "mean_bytes", struct spread, s.mean),
    GM_FIELD(GM_BYTES, GM_ALL, "max_bytes", "Most", struct spread, s.most),
    GM_GET(GM_PATH, GM_JSON, "max_path", NULL, highest_path),
    GM_GET(GM_RATIO, GM_ALL, "imbalance", "Most/mean", imbalance_of),
    GM_GET(GM_TEXT, GM_READ, NULL, "Highest", highest_rank),
};

static void add_spread(const struct gm_cell_of *c)
{
    const struct gm_fleet_column *column = c->row;
    const bool is_reserved = strcmp(c->column->key, "reserved") == 0;
    const struct spread row = {.s = is_reserved ? column->reserved : column->allocated};
    if (row.s.most_item == SIZE_MAX) {
        gm_json_null(&c->doc->json, c->column->key);
        return;
    }
    gm_doc_open(c->doc, c->column->key, NULL);
    gm_doc_fields(c->doc, spreads, sizeof spreads / sizeof *spreads, &row, c->of);
    gm_doc_close(c->doc);
}

static void say_spread(struct gm_doc *d, const struct gm_fleet *f, const char *title, bool is_reserved)
{
    struct spread *rows = gm_doc_rows(d, f->column_count, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; rows != NULL && i < f->column_count; i++) {
        const struct gm_fleet_column *c = &f->columns[i];
        const struct spread row = {c->iteration, c->ranks, is_reserved ? c->reserved : c->allocated};
        if (row.s.most_item != SIZE_MAX)
            rows[n++] = row;
    }
    GM_TABLE(d, spreads, rows, n, .title = title, .in = GM_READ, .txt_max = LISTED, .md_max = FEW, .cut = GM_CUT_HEAD,
             .of = f);
}

static void say_iterations(struct gm_doc *d, const struct gm_fleet *f)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_ID, "iteration", struct gm_fleet_column, iteration),
        GM_KEY(GM_COUNT, "snapshots", struct gm_fleet_column, items),
        GM_KEY(GM_COUNT, "unreadable", struct gm_fleet_column, failed),
        GM_KEY(GM_COUNT, "ranks", struct gm_fleet_column, ranks),
        GM_KEY(GM_COUNT, "missing_ranks", struct gm_fleet_column, missing),
        GM_NESTED("reserved", add_spread),
        GM_NESTED("allocated", add_spread),
    };
    GM_TABLE(d, columns, f->columns, f->column_count, .key = "iterations", .in = GM_JSON, .of = f);
    bool has_any = false;
    for (size_t i = 0; i < f->column_count; i++)
        has_any =
            has_any || f->columns[i].reserved.most_item != SIZE_MAX || f->columns[i].allocated.most_item != SIZE_MAX;
    if (gm_doc_is(d, GM_JSON) || f->read_count == 0 || !has_any)
        return;
    gm_doc_open(d, NULL, "Imbalance");
    say_spread(d, f, "Peak reserved (without a trace what is reserved at the end)", true);
    say_spread(d, f, "Peak allocated", false);
    gm_doc_close(d);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void say_head(struct gm_doc *d, const struct gm_fleet *f)
{
    struct head {
        const char *name, *created, *read;
    } head = {f->run_name, f->timestamp, gm_fleet_read_text(d, f)};
    static const struct gm_column columns[] = {
        GM_FIELD(GM_NAME, GM_TXT | GM_JSON, "name", "Run", struct head, name),
        GM_FIELD(GM_TEXT, GM_TXT | GM_JSON, "created", "Date", struct head, created),
        GM_FIELD(GM_TEXT, GM_TXT | GM_JSON, "read", "Read", struct head, read),
    };
    gm_doc_title(d, "GPU memory of a job", f->run_name);
    if (gm_doc_is(d, GM_JSON))
        gm_json_string(&d->json, "schema", "gmfleet.fleet/1");
    gm_doc_fields(d, columns, sizeof columns / sizeof *columns, &head, NULL);
    gm_doc_say(d, GM_SAY, GM_MD, NULL, "%s.", head.read);
    gm_doc_say(d, GM_SAY_STRONG, GM_ALL, "headline", "%s", gm_fleet_verdict(d, f));
}

static void say_job(struct gm_doc *d, const struct gm_fleet *f, const char *const *charts)
{
    say_head(d, f);
    GM_TABLE(d, snapshots, f->items, f->item_count, .key = "snapshots", .in = GM_JSON, .of = f);
    say_unread(d, f);
    say_missing(d, f);
    for (const char *const *chart = charts; chart != NULL && chart[0] != NULL; chart += 2)
        gm_doc_picture(d, chart[0], chart[1]);
    if (f->read_count == 0 && !gm_doc_is(d, GM_JSON))
        return;
    say_ooms(d, f);
    say_iterations(d, f);
    gm_fleet_odds(d, f);
    gm_fleet_groups(d, f);
    gm_fleet_growth(d, f);
    if (!gm_doc_is(d, GM_JSON))
        say_grid(d, f);
}

void gm_fleet_document(struct gm_text *out, enum gm_form form, const struct gm_fleet *fleet, const char *const *charts)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, form, out);
    doc.text_name = "fleet_report.txt";
    doc.json_name = "fleet.json";
    say_job(&doc, fleet, charts);
    gm_doc_end(&doc);
}

/* ---- fleet.csv --------------------------------------------------------------------------------------------------- */

static void add_number(struct gm_text *out, int64_t number)
{
    gm_text_add_csv_number(out, number == GM_FLEET_NONE ? GM_REPORT_NONE : (uint64_t)number);
}

static void add_csv_row(struct gm_text *out, const struct gm_fleet_item *item)
{
    char text[GM_NUMBER_TEXT];
    const bool ok = item->status == GM_OK;
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED, GM_LEVEL_ACTIVE, GM_LEVEL_REQUESTED};
    gm_text_add_csv(out, item->path);
    add_number(out, item->rank);
    add_number(out, item->iteration);
    gm_text_add_char(out, ',');
    if (!ok)
        gm_text_add_csv(out, item->error == NULL ? "" : item->error);
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        gm_text_add_csv_number(out, ok && item->has_trace ? item->peaks[levels[i]] : GM_REPORT_NONE);
    gm_text_add_csv_number(out, ok && !item->lacks_end ? item->totals.reserved : GM_REPORT_NONE);
    gm_text_add_csv_number(out, ok && !item->lacks_end ? item->totals.allocated : GM_REPORT_NONE);
    gm_text_add_char(out, ',');
    if (ok && item->totals.reserved > 0)
        gm_text_add(out, gm_percent_format(text, item->totals.allocated, item->totals.reserved, 4));
    gm_text_add_csv_number(out, ok ? item->events : GM_REPORT_NONE);
    gm_text_add_csv_number(out, ok ? item->ooms : GM_REPORT_NONE);
    gm_text_add_char(out, '\n');
}

void gm_fleet_csv(struct gm_text *out, const struct gm_fleet *fleet)
{
    gm_text_add(out, "path,rank,iteration,error,peak_reserved_bytes,peak_allocated_bytes,peak_active_bytes,"
                     "peak_requested_bytes,reserved_bytes,allocated_bytes,efficiency_percent,events,ooms\n");
    for (size_t i = 0; i < fleet->item_count; i++)
        add_csv_row(out, &fleet->items[i]);
}

/* ---- on a terminal ----------------------------------------------------------------------------------------------- */

enum { MEMBERS = 4 };

void gm_fleet_summary(struct gm_text *out, const struct gm_fleet *fleet, const char *directory)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, "Read", "%s", gm_fleet_read_text(&doc, fleet));
    gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, "Job", "%s", gm_fleet_verdict(&doc, fleet));
    for (size_t g = 0; fleet->group_count > 1 && g < fleet->group_count && g < MEMBERS; g++)
        gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, g == 0 ? "Groups" : "", "%s",
                   gm_fleet_members(&doc, fleet, &fleet->groups[g], 6));
    if (fleet->group_count > MEMBERS)
        gm_doc_say(&doc, GM_SAY_LABEL, GM_TXT, "", "and %zu more", fleet->group_count - MEMBERS);
    gm_text_add(out, "Report    ");
    gm_columns_cut(out, directory == NULL ? "" : directory, 4096, true);
    gm_text_add_char(out, '\n');
    gm_doc_end(&doc);
}
