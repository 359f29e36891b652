/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs compared: diff_report.txt, README.md, pr_comment.md (which is README.md without pictures, paths and the pairs
 * after the first) and diff.json (schema gmdiff.diff/1, docs/diff.md).
 */
#include "analyze/document/columns.h"
#include "analyze/document/diff_sections.h"
#include "analyze/document/documents.h"
#include "analyze/document/sites.h"

enum { FAILURES = 10 };

/* ---- the runs ---------------------------------------------------------------------------------------------------- */

GM_CELL(s, run_name, struct gm_summary *const, run,
        gm_diff_run_name(c->doc, (size_t)(run - ((const struct gm_comparison *)c->of)->runs)));

GM_CELL(s, run_label, struct gm_summary *const, run,
        ((const struct gm_comparison *)c->of)->labels[run - ((const struct gm_comparison *)c->of)->runs]);

GM_CELL(s, run_path, struct gm_summary *const, run, (*run)->path);

GM_CELL(u, run_events, struct gm_summary *const, run, (*run)->events);

static union gm_value run_note(const struct gm_cell_of *c)
{
    const struct gm_summary *run = *(const struct gm_summary *const *)c->row;
    if (run->is_salvaged)
        return (union gm_value){.s = run->has_trace
                                         ? "damaged, only a part was read"
                                         : "damaged, only a part was read; no trace, only the state at the end"};
    return (union gm_value){.s = run->has_trace ? NULL : "no trace, only the state at the end"};
}

static void say_runs(struct gm_doc *d, const struct gm_comparison *c)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_TEXT, GM_READ, NULL, "Run", run_name),
        GM_GET(GM_NAME, GM_READ, NULL, "Name", run_label),
        GM_GET(GM_COUNT, GM_READ, NULL, "Events", run_events),
        GM_GET(GM_PATH, GM_READ | GM_UNDER, NULL, "Snapshot", run_path),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Note", run_note),
    };
    GM_TABLE(d, columns, c->runs, c->run_count, .in = GM_READ, .md_max = 16, .of = c);
}

static void say_failures(struct gm_doc *d, const struct gm_comparison *c)
{
    for (size_t i = 0; i < c->failure_count && i < FAILURES; i++)
        gm_doc_say(d, GM_SAY_WARNING, GM_READ, NULL, "Not read: " GM_QUOTED ": %s", c->failures[i].path,
                   c->failures[i].why);
    if (c->failure_count > FAILURES)
        gm_doc_say(d, GM_SAY_WARNING, GM_READ, NULL, "%zu more were not read: see %s", c->failure_count - FAILURES,
                   d->json_name);
    for (size_t i = 0; i < c->run_count && i < FAILURES; i++)
        if (c->runs[i]->is_salvaged)
            gm_doc_say(d, GM_SAY_WARNING, GM_MD, NULL, "Damaged, only a part of it was read: " GM_QUOTED, c->labels[i]);
}

static void say_doubts(struct gm_doc *d, const struct gm_comparison *c)
{
    for (size_t i = 0; i < c->run_count && i < FAILURES; i++)
        if (c->runs[i]->doubt_count > 0)
            gm_doc_say(d, GM_SAY_MARK, GM_READ, "DOUBTFUL", "%s: %s", gm_diff_run_name(d, i), c->runs[i]->doubts[0]);
}

/* ---- the first lines --------------------------------------------------------------------------------------------- */

static void say_gate(struct gm_doc *d, const struct gm_comparison *c)
{
    struct gm_text why = {0};
    if (!c->limit.is_set)
        return;
    gm_diff_growth(&why, c);
    const char *text = gm_doc_take_any(d, &why);
    if (text == NULL)
        gm_doc_say(d, GM_SAY_STRONG, GM_READ, NULL, "PASS: nothing grew by more than %s.", c->limit.text);
    else
        gm_doc_say(d, GM_SAY_STRONG, GM_READ, NULL, "FAIL: %s.", text);
}

static void say_head(struct gm_doc *d, const struct gm_comparison *c, bool is_comment)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_NAME, GM_TXT | GM_JSON, "name", "Compared", struct gm_comparison, run_name),
        GM_FIELD(GM_TEXT, GM_TXT | GM_JSON, "created", "Date", struct gm_comparison, timestamp),
    };
    if (gm_doc_is(d, GM_JSON))
        gm_json_string(&d->json, "schema", "gmdiff.diff/1");
    if (is_comment)
        gm_text_add(d->out, "### GPU memory\n");
    else
        gm_doc_title(d, "GPU memory compared", c->run_name);
    gm_doc_fields(d, columns, sizeof columns / sizeof *columns, c, NULL);
    say_gate(d, c);
    gm_doc_say(d, c->limit.is_set || c->pair_count > 1 ? GM_SAY : GM_SAY_STRONG,
               c->pair_count > 1 && !is_comment ? GM_MD | GM_JSON : GM_ALL, "headline", "%s.",
               gm_diff_verdict(d, c, &c->pairs[0]));
    say_failures(d, c);
    say_doubts(d, c);
    if (is_comment)
        gm_doc_say(d, GM_SAY, GM_MD, NULL, "Base " GM_QUOTED ", new " GM_QUOTED "%s.", c->labels[0], c->labels[1],
                   c->run_count > 2 ? gm_doc_printf(d, ", and %zu more", c->run_count - 2) : "");
    else
        say_runs(d, c);
}

/* ---- two runs ---------------------------------------------------------------------------------------------------- */

static void say_totals(struct gm_doc *d, const struct gm_summary *base, const struct gm_summary *after)
{
    struct gm_diff_row rows[GM_HEAD_COUNT];
    char x[GM_NUMBER_TEXT], y[GM_NUMBER_TEXT];
    size_t n = 0;
    for (int h = 0; h < GM_HEAD_COUNT; h++) {
        const struct gm_diff_row row =
            gm_diff_row_of(gm_headline_name((enum gm_headline)h), gm_headline_bytes(base, (enum gm_headline)h),
                           gm_headline_bytes(after, (enum gm_headline)h));
        if (gm_doc_is(d, GM_TXT) || row.base.bytes != GM_REPORT_NONE || row.after.bytes != GM_REPORT_NONE)
            rows[n++] = row;
    }
    gm_doc_open(d, NULL, gm_doc_is(d, GM_TXT) ? "Totals and peaks" : NULL);
    gm_diff_rows(d, rows, n, 0);
    if (base->totals.reserved > 0 && after->totals.reserved > 0)
        gm_doc_tell(d, "Efficiency (allocated of reserved): %s %% to %s %%, %s.",
                    gm_percent_format(x, base->totals.allocated, base->totals.reserved, 1),
                    gm_percent_format(y, after->totals.allocated, after->totals.reserved, 1),
                    gm_diff_points(d, &base->totals, &after->totals));
    if (base->device_count > 1 || after->device_count > 1)
        gm_doc_tell(d, "Of several devices, each device's own peak, added up.");
    gm_doc_close(d);
}

static void say_devices(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED, GM_LEVEL_REQUESTED};
    struct gm_diff_row *rows = gm_doc_rows(d, 3 * pair->device_count, sizeof *rows);
    if (rows == NULL || pair->device_count < 2 || !c->runs[0]->has_trace || !c->runs[pair->after]->has_trace)
        return;
    for (size_t i = 0; i < 3 * pair->device_count; i++) {
        const struct gm_summary_device *b = pair->devices[i / 3].base, *a = pair->devices[i / 3].after;
        const enum gm_level level = levels[i % 3];
        const char *name =
            gm_doc_printf(d, "device %lld, %s", (long long)(a == NULL ? b->device : a->device), gm_level_name(level));
        rows[i] = gm_diff_row_of(name, b == NULL ? 0 : b->peaks[level].bytes, a == NULL ? 0 : a->peaks[level].bytes);
    }
    gm_doc_fold(d, NULL, "Peaks of each device");
    gm_diff_rows(d, rows, 3 * pair->device_count, 48);
    gm_doc_close(d);
}

static void say_place(struct gm_doc *d, const char *which, const struct gm_summary_device *device, bool is_one)
{
    gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s%s: %s%s%s", which,
               is_one ? "" : gm_doc_printf(d, ", device %lld", (long long)device->device), gm_diff_place(d, device),
               device->peak_range == NULL ? "" : gm_doc_printf(d, ", in the range " GM_QUOTED, device->peak_range),
               device->peak_site == NULL ? "" : gm_doc_printf(d, ", reached by " GM_QUOTED, device->peak_site));
}

static void say_places(struct gm_doc *d, const struct gm_diff_pair *pair)
{
    bool any = false;
    for (size_t i = 0; i < pair->device_count; i++) {
        const struct gm_summary_device *b = pair->devices[i].base, *a = pair->devices[i].after;
        if (b == NULL || a == NULL || b->events == 0 || a->events == 0)
            continue;
        if (!any)
            gm_doc_fold(d, NULL, "Where the peak is (of requested bytes)");
        any = true;
        say_place(d, "base", b, pair->device_count == 1);
        say_place(d, "new", a, pair->device_count == 1);
    }
    if (any)
        gm_doc_close(d);
}

static void say_facts(struct gm_doc *d, const struct gm_diff_pair *pair)
{
    enum { FACTS = 30 };
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "group", struct gm_diff_fact, group),
        GM_KEY(GM_NAME, "key", struct gm_diff_fact, key),
        GM_KEY(GM_NAME, "base", struct gm_diff_fact, base),
        GM_KEY(GM_NAME, "new", struct gm_diff_fact, after),
    };
    const size_t most = gm_doc_is(d, GM_MD) ? FACTS : SIZE_MAX;
    GM_TABLE(d, columns, pair->facts, pair->fact_count, .key = "settings", .in = GM_JSON);
    if (gm_doc_is(d, GM_JSON) || (gm_doc_is(d, GM_MD) && pair->fact_count == 0))
        return;
    gm_doc_fold(d, NULL, "Settings and features that differ");
    if (pair->fact_count == 0)
        gm_doc_tell(d, "None.");
    for (size_t i = 0; i < pair->fact_count && i < most; i++) {
        const struct gm_diff_fact *f = &pair->facts[i];
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "%s: " GM_QUOTED ": base " GM_QUOTED ", new " GM_QUOTED, f->group,
                   f->key, f->base == NULL ? "(not there)" : f->base, f->after == NULL ? "(not there)" : f->after);
    }
    if (pair->fact_count > most)
        gm_doc_tell(d, "%zu more: see %s", pair->fact_count - most, d->json_name);
    gm_doc_close(d);
}

static void say_pair(struct gm_doc *d, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    if (gm_doc_is(d, GM_JSON))
        gm_json_diff_pair(d, c, pair);
    say_totals(d, c->runs[0], c->runs[pair->after]);
    say_devices(d, c, pair);
    say_places(d, pair);
    gm_diff_steps(d, pair);
    gm_diff_tables(d, pair, c->top);
    say_facts(d, pair);
    if (gm_doc_is(d, GM_JSON))
        gm_json_bool(&d->json, "same", pair->is_same);
}

/* The other pairs, and the first one's heading where there are others. */
static void say_pairs(struct gm_doc *d, const struct gm_comparison *c)
{
    for (size_t i = 0; i < c->pair_count; i++) {
        if (c->pair_count > 1) {
            gm_doc_open(d, NULL, gm_doc_printf(d, "Base against %s", gm_diff_run_name(d, c->pairs[i].after)));
            gm_doc_tell(d, GM_QUOTED ": %s.", c->labels[c->pairs[i].after], gm_diff_verdict(d, c, &c->pairs[i]));
        }
        say_pair(d, c, &c->pairs[i]);
        if (c->pair_count > 1)
            gm_doc_close(d);
    }
}

/* ---- the files --------------------------------------------------------------------------------------------------- */

static struct gm_doc *begin(struct gm_doc *doc, enum gm_form form, struct gm_text *out)
{
    gm_doc_begin(doc, form, out);
    doc->text_name = "diff_report.txt";
    doc->json_name = "diff.json";
    return doc;
}

void gm_diff_comment(struct gm_text *out, const struct gm_comparison *c)
{
    struct gm_doc doc;
    say_head(begin(&doc, GM_MD, out), c, true);
    gm_diff_all_runs(&doc, c);
    gm_diff_series(&doc, c);
    say_pair(&doc, c, &c->pairs[0]);
    gm_doc_end(&doc);
}

static void say_comparison(struct gm_doc *d, const struct gm_comparison *c, const char *const *charts)
{
    const bool is_text = gm_doc_is(d, GM_TXT);
    for (const char *const *chart = charts; chart != NULL && chart[0] != NULL; chart += 2)
        gm_doc_picture(d, chart[0], chart[1]);
    gm_diff_all_runs(d, c);
    gm_diff_series(d, c);
    say_pairs(d, c);
    if (c->timeline.how == NULL)
        return;
    gm_doc_open(d, NULL, is_text ? "Timelines" : NULL);
    gm_doc_tell(d, "%s%s", c->timeline.how, is_text && charts != NULL ? " See diff_timeline.png." : "");
    gm_doc_close(d);
}

static void add_other(const struct gm_cell_of *c)
{
    const struct gm_diff_pair *pair = c->row;
    gm_json_number(&c->doc->json, "run", pair->after);
    gm_doc_say(c->doc, GM_SAY, GM_JSON, "headline", "%s.", gm_diff_verdict(c->doc, c->of, pair));
    say_pair(c->doc, c->of, pair);
}

static void tell_comparison(struct gm_doc *d, const struct gm_comparison *c)
{
    gm_json_diff_runs(d, c);
    say_pair(d, c, &c->pairs[0]);
    gm_doc_nested(d, "others", add_other, GM_NESTED_ROWS(c->pairs + 1, c->pair_count - 1), c);
    gm_json_diff_timeline(d, c);
    gm_diff_series(d, c);
    gm_json_diff_gate(d, c);
}

void gm_diff_document(struct gm_text *out, enum gm_form form, const struct gm_comparison *c, const char *const *charts)
{
    struct gm_doc doc;
    say_head(begin(&doc, form, out), c, false);
    if (form == GM_JSON)
        tell_comparison(&doc, c);
    else
        say_comparison(&doc, c, charts);
    gm_doc_end(&doc);
}

/* ---- on a terminal ----------------------------------------------------------------------------------------------- */

enum { LABEL = 9, SITES = 3 };

static void add_label(struct gm_text *out, const char *label)
{
    gm_text_printf(out, "%-*s", LABEL, label);
}

static void add_site(struct gm_text *out, const struct gm_diff_site *row)
{
    GM_FREED struct gm_text name = {0};
    char delta[GM_NUMBER_TEXT];
    gm_text_printf(out, "%-6s %12s  ", gm_diff_kind_name(row->row.kind), gm_delta_bytes_format(delta, row->row.delta));
    gm_diff_site_name(&name, row);
    if (row->via != NULL)
        gm_text_printf(&name, ", by %s", row->via);
    out->failed = out->failed || name.failed;
    gm_site_row(out, name.data == NULL ? "" : name.data, GM_LINE - LABEL - 21);
    gm_text_add_char(out, '\n');
}

static void add_pair(struct gm_text *out, const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    const struct gm_diff_site_table *sites = pair->sites_at_peak.sums.is_known ? &pair->sites_at_peak : &pair->sites;
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    const char *verdict = gm_diff_verdict(&doc, c, pair);
    if (c->pair_count > 1)
        verdict = gm_doc_printf(&doc, "%s: %s", c->labels[pair->after], verdict);
    add_label(out, pair->after == 1 ? "New" : "More");
    gm_columns_wrap(out, verdict, LABEL);
    gm_doc_end(&doc);
    for (size_t i = 0; i < sites->count && i < SITES && c->pair_count == 1 && sites->rows[i].moved == NULL; i++) {
        add_label(out, i > 0 ? "" : pair->sites_at_peak.sums.is_known ? "At peak" : "At end");
        add_site(out, &sites->rows[i]);
    }
}

/* The law of the first level that has one; else why the first has none. Of several series the name is told, too, and of
 * one whose number nothing else names. */
static void add_law(struct gm_text *out, const struct gm_comparison *c, const struct gm_series *series)
{
    GM_FREED struct gm_text line = {0}, law = {0};
    const struct gm_law_fit *fit = series->fits;
    for (size_t i = 0; i < series->level_count && fit->law == GM_LAW_NONE; i++)
        if (series->fits[i].law != GM_LAW_NONE)
            fit = &series->fits[i];
    gm_fit_formula(&law, series, fit);
    if (c->series_count > 1 || series->key[0] == '\0')
        gm_text_printf(&line, "%s: ", series->name);
    gm_text_printf(&line, "%s: %s", fit->what,
                   fit->law == GM_LAW_NONE ? fit->why_not
                   : law.data == NULL      ? ""
                                           : law.data);
    out->failed = out->failed || law.failed || line.failed;
    add_label(out, "Law");
    gm_columns_wrap(out, line.data == NULL ? "" : line.data, LABEL);
}

void gm_diff_summary(struct gm_text *out, const struct gm_comparison *c, const char *directory)
{
    add_label(out, "Base");
    gm_columns_wrap(out, c->labels[0], LABEL);
    for (size_t i = 0; i < c->run_count && i < FAILURES; i++)
        if (c->runs[i]->doubt_count > 0) {
            GM_FREED struct gm_text line = {0};
            gm_text_printf(&line, "%s: %s", c->labels[i], c->runs[i]->doubts[0]);
            add_label(out, "DOUBTFUL");
            gm_columns_wrap(out, line.data == NULL ? "" : line.data, LABEL);
        }
    for (size_t i = 0; i < c->pair_count; i++)
        add_pair(out, c, &c->pairs[i]);
    for (size_t i = 0; i < c->series_count; i++)
        add_law(out, c, &c->series[i]);
    if (c->limit.is_set) {
        add_label(out, "Growth");
        gm_text_add(out, c->growth_count > 0 ? "FAIL\n" : "PASS\n");
    }
    add_label(out, "Report");
    gm_columns_cut(out, directory == NULL ? "" : directory, 4096, true);
    gm_text_add_char(out, '\n');
}
