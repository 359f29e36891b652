/* SPDX-License-Identifier: Apache-2.0
 *
 * What changed between two runs: tables of rows with a base, a new and a change.
 */
#include "analyze/document/diff_sections.h"

#include <inttypes.h>

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* What the rows that are not shown add up to. */
static const char rest_name[] = "others, not listed";

GM_CELL(i, delta_of, struct gm_diff_row, row,
        (row->base.bytes != GM_REPORT_NONE && row->after.bytes != GM_REPORT_NONE) || row->name == rest_name
            ? row->delta
            : GM_SIGNED_NONE);

static union gm_value growth_of(const struct gm_cell_of *c)
{
    const struct gm_diff_row *row = c->row;
    if (row->base.bytes == GM_REPORT_NONE || row->after.bytes == GM_REPORT_NONE)
        return (union gm_value){.s = NULL};
    if (row->kind == GM_DIFF_MOVED)
        return (union gm_value){.s = gm_diff_kind_name(row->kind)};
    return (union gm_value){.s = gm_diff_growth_text(c->doc, row->base.bytes, row->after.bytes)};
}

GM_CELL(s, kind_of, struct gm_diff_row, row, row->name == rest_name ? NULL : gm_diff_kind_name(row->kind));

/* The numbers of a row, which is the first member of a site. */
#define NUMBERS                                                                                                        \
    GM_FIELD(GM_BYTES, GM_ALL, "base_bytes", "Base", struct gm_diff_row, base.bytes),                                  \
        GM_FIELD(GM_BYTES, GM_ALL, "new_bytes", "New", struct gm_diff_row, after.bytes),                               \
        GM_GET(GM_DELTA, GM_ALL, "delta_bytes", "Change", delta_of),                                                   \
        GM_GET(GM_FIGURE, GM_READ, NULL, NULL, growth_of),                                                             \
        GM_KEY(GM_COUNT, "base_blocks", struct gm_diff_row, base.blocks),                                              \
        GM_KEY(GM_COUNT, "new_blocks", struct gm_diff_row, after.blocks)

static const struct gm_column row_columns[] = {
    GM_FIELD(GM_TEXT, GM_ALL, "name", NULL, struct gm_diff_row, name),
    NUMBERS,
    GM_GET(GM_TEXT, GM_JSON, "kind", NULL, kind_of),
};

struct gm_diff_row gm_diff_row_of(const char *name, uint64_t base, uint64_t after)
{
    return (struct gm_diff_row){
        .name = name, .base.bytes = base, .after.bytes = after, .delta = gm_diff_delta(base, after)};
}

void gm_diff_rows(struct gm_doc *d, const struct gm_diff_row *rows, size_t count, size_t md_max)
{
    GM_TABLE(d, row_columns, rows, count, .in = GM_READ, .md_max = md_max);
}

static union gm_value site_of(const struct gm_cell_of *c)
{
    struct gm_text name = {0};
    gm_diff_site_name(&name, c->row);
    return (union gm_value){.s = gm_doc_take(c->doc, &name)};
}

/* "by softmax, stack 2 of this name; as much in the new run: step  optim.py, by add" */
static union gm_value made_by(const struct gm_cell_of *c)
{
    const struct gm_diff_site *site = c->row;
    struct gm_text text = {0};
    if (site->via != NULL)
        gm_text_printf(&text, "by " GM_QUOTED, site->via);
    if (site->twin > 0)
        gm_text_printf(&text, "%sstack %zu of this name", text.length > 0 ? ", " : "", site->twin);
    if (site->moved != NULL) {
        gm_text_printf(&text, "%sas much in the %s run: " GM_QUOTED, text.length > 0 ? "; " : "",
                       site->base == NULL ? "base" : "new", site->moved->site);
        if (site->moved->via != NULL)
            gm_text_printf(&text, ", by " GM_QUOTED, site->moved->via);
    }
    return (union gm_value){.s = gm_doc_take_any(c->doc, &text)};
}

static void add_lines(struct gm_json *json, const char *key, const struct gm_summary_site *site)
{
    gm_json_open(json, key, '[');
    for (size_t i = 0; site != NULL && i < site->line_count; i++)
        gm_json_number(json, NULL, site->lines[i]);
    gm_json_close(json, ']');
}

static void add_both_lines(const struct gm_cell_of *c)
{
    const struct gm_diff_site *site = c->row;
    add_lines(&c->doc->json, "base_lines", site->base);
    add_lines(&c->doc->json, "new_lines", site->after);
}

static const struct gm_column site_columns[] = {
    GM_GET(GM_TEXT, GM_ALL, "kind", NULL, kind_of),
    GM_KEY(GM_SITE, "site", struct gm_diff_site, row.name),
    NUMBERS,
    GM_FIELD(GM_TEXT, GM_ALL, "category", "Category", struct gm_diff_site, category),
    GM_GET(GM_SITE, GM_READ | GM_UNDER, NULL, "Made in", site_of),
    GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, NULL, made_by),
    GM_KEY(GM_NAME, "via", struct gm_diff_site, via),
    GM_KEY(GM_COUNT, "twin", struct gm_diff_site, twin),
    GM_NESTED(NULL, add_both_lines),
};

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* What the rows add up to. */
static void say_sums(struct gm_doc *d, const struct gm_diff_sums *s)
{
    gm_doc_tell(d, "All rows: %s; the totals: %s to %s, %s; residual: %s; unchanged: %s, %s.",
                gm_doc_delta_bytes(d, s->listed), gm_doc_bytes(d, s->base_total), gm_doc_bytes(d, s->after_total),
                gm_doc_delta_bytes(d, s->delta), gm_doc_delta_bytes(d, s->residual), gm_doc_count(d, s->same),
                gm_doc_bytes(d, s->same_bytes));
}

/* "12 new +1.20 GiB, 3 gone -5.00 MiB" */
static void say_kinds(struct gm_doc *d, const struct gm_diff_sums *sums)
{
    GM_FREED struct gm_text text = {0};
    for (int k = 0; k < GM_DIFF_KINDS; k++)
        if (sums->counts[k] > 0)
            gm_text_printf(&text, "%s%s %s %s", text.length > 0 ? ", " : "", gm_doc_count(d, sums->counts[k]),
                           gm_diff_kind_name((enum gm_diff_kind)k), gm_doc_delta_bytes(d, sums->deltas[k]));
    if (text.length > 0)
        gm_doc_tell(d, "%s.", text.data);
    d->out->failed = d->out->failed || text.failed;
}

struct listed {
    const char *key, *title;
    const struct gm_diff_sums *sums;
    struct gm_table table;
};

/* The table, and where it leaves rows out, what they add up to. */
static void say_table(struct gm_doc *d, const struct listed *l)
{
    struct gm_diff_site rest = {.category = rest_name};
    struct gm_table table = l->table;
    rest.row = gm_diff_row_of(rest_name, GM_REPORT_NONE, GM_REPORT_NONE);
    rest.row.delta = l->sums->listed;
    for (size_t i = 0; i < gm_doc_shown(d, &table); i++) /* a site begins with its row */
        rest.row.delta = gm_diff_minus(rest.row.delta, ((const struct gm_diff_row *)gm_table_row(d, &table, i))->delta);
    table.feet = &rest;
    table.foot_count = gm_doc_shown(d, &table) < table.count;
    gm_doc_table(d, &table);
}

static void say_listed(struct gm_doc *d, const struct listed *l)
{
    const bool is_same = l->table.count == 0 && l->sums->residual == 0;
    if (!l->sums->is_known || (is_same && gm_doc_is(d, GM_MD))) {
        if (gm_doc_is(d, GM_JSON))
            gm_json_null(&d->json, l->key);
        return;
    }
    gm_doc_fold(d, NULL, l->title);
    if (is_same)
        gm_doc_tell(d, "No difference.");
    if (l->table.columns == site_columns)
        say_kinds(d, l->sums);
    say_table(d, l);
    if (!is_same)
        say_sums(d, l->sums);
    gm_doc_close(d);
}

static void add_sums(struct gm_json *json, const struct listed *l)
{
    const struct gm_diff_sums *sums = l->sums;
    if (!sums->is_known) {
        gm_json_null(json, l->key);
        return;
    }
    gm_json_open_flat(json, l->key, '{');
    gm_json_number(json, "base_bytes", sums->base_total);
    gm_json_number(json, "new_bytes", sums->after_total);
    gm_json_signed(json, "delta_bytes", sums->delta);
    gm_json_signed(json, "rows_bytes", sums->listed);
    gm_json_signed(json, "residual_bytes", sums->residual);
    gm_json_number(json, "unchanged_rows", sums->same);
    gm_json_number(json, "unchanged_bytes", sums->same_bytes);
    for (int k = 0; k < GM_DIFF_KINDS; k++)
        gm_json_number(json, gm_diff_kind_name((enum gm_diff_kind)k), sums->counts[k]);
    gm_json_close(json, '}');
}

static struct listed sites(const char *key, const char *title, const struct gm_diff_site_table *t, size_t top)
{
    return (struct listed){
        key,
        title,
        &t->sums,
        {.key = key, GM_COLUMNS(site_columns), GM_ROWS(t->rows, t->count), .txt_max = top, .md_max = 15}};
}

static struct listed rows(const char *key, const char *title, const struct gm_diff_table *t, size_t top)
{
    return (struct listed){
        key,
        title,
        &t->sums,
        {.key = key, GM_COLUMNS(row_columns), GM_ROWS(t->rows, t->count), .txt_max = top, .md_max = 12}};
}

void gm_diff_tables(struct gm_doc *d, const struct gm_diff_pair *p, size_t top)
{
    const struct listed all[] = {
        sites("call_sites_at_peak", "Call sites at the peak, requested", &p->sites_at_peak, top),
        rows("functions_at_peak", "By function at the peak, requested", &p->functions_at_peak, top),
        rows("categories_at_peak", "By category at the peak, requested", &p->categories_at_peak, top),
        rows("roles_at_peak", "By role at the peak, requested", &p->roles_at_peak, top),
        rows("pools_at_peak", "By pool at the peak, requested", &p->pools_at_peak, top),
        sites("call_sites", "Call sites at the end, allocated", &p->sites, top),
        rows("functions", "By function at the end, allocated", &p->functions, top),
        rows("categories", "By category at the end, allocated", &p->categories, top),
        rows("roles", "By role at the end, allocated", &p->roles, top),
        rows("pools", "By pool at the end, allocated", &p->pools, top),
        rows("pools_reserved", "By pool at the end, reserved", &p->pools_reserved, top),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        say_listed(d, &all[i]);
    if (!gm_doc_is(d, GM_JSON))
        return;
    gm_json_open(&d->json, "sums", '{');
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        add_sums(&d->json, &all[i]);
    gm_json_close(&d->json, '}');
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

struct step {
    struct gm_diff_row row; /* peak requested */
    int64_t device;
    uint64_t base, after; /* numbers of the steps */
};

/* Appends the steps that both have of a device; returns how many. */
static size_t pair_steps(struct gm_doc *d, struct step *to, const struct gm_summary_device *b,
                         const struct gm_summary_device *a)
{
    const size_t x = gm_summary_first_step(b), y = gm_summary_first_step(a);
    size_t n = 0;
    for (; x + n < b->step_count && y + n < a->step_count; n++) {
        const struct gm_summary_step *one = &b->steps[x + n], *other = &a->steps[y + n];
        const char *name = one->number == other->number
                               ? gm_doc_printf(d, "step %" PRIu64, one->number)
                               : gm_doc_printf(d, "step %" PRIu64 ", and step %" PRIu64, one->number, other->number);
        to[n] = (struct step){gm_diff_row_of(name, one->peak.requested, other->peak.requested), a->device, one->number,
                              other->number};
    }
    return n;
}

static const struct gm_column step_columns[] = {
    GM_KEY(GM_HANDLE, "device", struct step, device),
    GM_KEY(GM_COUNT, "base_step", struct step, base),
    GM_KEY(GM_COUNT, "new_step", struct step, after),
    GM_FIELD(GM_TEXT, GM_READ, NULL, "Peak requested of", struct step, row.name),
    NUMBERS,
};

static void say_steps(struct gm_doc *d, const struct gm_diff_pair *pair, size_t i, const struct step *steps, size_t n)
{
    const struct gm_summary_device *b = pair->devices[i].base, *a = pair->devices[i].after;
    const char *title =
        pair->device_count == 1 ? NULL : gm_doc_printf(d, "Device %" PRId64, pair->devices[i].after->device);
    GM_TABLE(d, step_columns, steps, n, .title = title, .txt_max = 20, .md_max = 20);
    if (b->step_total != a->step_total)
        gm_doc_tell(d, "The base has %zu steps, the new run %zu.", b->step_total, a->step_total);
}

void gm_diff_steps(struct gm_doc *d, const struct gm_diff_pair *pair)
{
    size_t most = 0, n = 0;
    bool any = false;
    for (size_t i = 0; i < pair->device_count; i++)
        most += pair->devices[i].base == NULL ? 0 : pair->devices[i].base->step_count;
    struct step *steps = gm_doc_rows(d, most, sizeof *steps);
    for (size_t i = 0; steps != NULL && i < pair->device_count; i++) {
        const struct gm_summary_device *b = pair->devices[i].base, *a = pair->devices[i].after;
        const size_t more = b == NULL || a == NULL ? 0 : pair_steps(d, steps + n, b, a);
        if (more > 0 && !any && !gm_doc_is(d, GM_JSON))
            gm_doc_fold(d, NULL, "Step by step");
        any = any || more > 0;
        if (more > 0 && !gm_doc_is(d, GM_JSON))
            say_steps(d, pair, i, steps + n, more);
        n += more;
    }
    if (gm_doc_is(d, GM_JSON))
        GM_TABLE(d, step_columns, steps, n, .key = "steps");
    else if (any)
        gm_doc_close(d);
}
