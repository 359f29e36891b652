/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot analysed: analysis_report.txt, README.md and analysis.json (schema gmanalyze.analysis/1, docs/json.md).
 * The order of sections, and of keys, is here. What matters stands on top and open; README.md folds the rest.
 */
#include "analyze/document/documents.h"
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <string.h>

enum { LINES = 120 /* of the text, that are read first */ };

/* ---- what the trace tells ---------------------------------------------------------------------------------------- */

/* A section of each device that has a view. What is read first is of the device with the highest peak; text has the
 * others folded, Markdown leaves them out. */
struct view_section {
    const char *title;
    void (*tell)(struct gm_doc *d, const struct gm_view *v);
    bool (*is_worth)(const struct gm_view *v); /* NULL: it is */
    bool is_folded, is_of_all;
};

#define WORTH(name, title, is_worth, is_folded, is_of_all)                                                             \
    static bool is_##name##_worth(const struct gm_view *v)                                                             \
    {                                                                                                                  \
        (void)v;                                                                                                       \
        return is_worth;                                                                                               \
    }
GM_VIEW_SECTIONS(WORTH)

static void say_view(struct gm_doc *d, const struct gm_view *v, const struct view_section *s, bool is_named,
                     bool is_folded)
{
    d->origin_us = v->timeline->reconciliation.first_time_us;
    d->about = is_named ? gm_doc_printf(d, ", device %" PRId64, v->device->device) : NULL;
    (is_folded ? gm_doc_fold : gm_doc_open)(d, NULL, s->title);
    s->tell(d, v);
    gm_doc_close(d);
    d->about = NULL;
}

static void say_views(struct gm_doc *d, const struct gm_report *report, const struct view_section *s)
{
    struct gm_view v, highest;
    bool any = false;
    const bool is_one = gm_view_count(report) < 2, has_highest = gm_view_highest(&highest, report);
    for (size_t i = 0; has_highest && i < report->device_count; i++) {
        if (!gm_view_of(&v, report, i) || (s->is_worth != NULL && !s->is_worth(&v)))
            continue;
        const bool is_first = s->is_of_all ? !any : i == highest.index;
        any = true;
        if (is_first || s->is_of_all || !gm_doc_is(d, GM_MD))
            say_view(d, &v, s, !is_one, s->is_folded || !is_first);
    }
}

void gm_analysis_explain(struct gm_text *out, const struct gm_report *report)
{
    static const struct view_section roles = {.title = "Roles, and what they were inferred from",
                                              .tell = gm_section_roles};
    struct gm_doc doc;
    struct gm_view v;
    gm_doc_begin(&doc, GM_TXT, out);
    for (size_t i = 0; i < report->device_count; i++)
        if (gm_view_of(&v, report, i))
            say_view(&doc, &v, &roles, gm_view_count(report) > 1, false);
    if (gm_view_count(report) == 0)
        gm_doc_tell(&doc, "No event recorded: roles are inferred from the trace.");
    gm_doc_end(&doc);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

/* The chart that stands on top: the timeline if there is one. NULL: there are no charts. */
static const char *const *first_chart(const char *const *charts)
{
    if (charts == NULL || charts[0] == NULL)
        return NULL;
    for (const char *const *chart = charts; chart[0] != NULL; chart += 2)
        if (strcmp(chart[0], "memory_timeline.png") == 0)
            return chart;
    return charts;
}

static void say_head(struct gm_doc *d, const struct gm_report *report, const char *const *chart)
{
    if (gm_doc_is(d, GM_MD))
        gm_doc_title(d, "GPU memory", report->run_name);
    gm_section_marks(d, report);
    gm_section_headline(d, report);
    if (chart != NULL && gm_doc_is(d, GM_MD)) {
        gm_doc_picture(d, chart[0], chart[1]);
        gm_doc_tell(d, "Images do not travel with pasted text: drag the PNG files into the pull request.");
    }
    if (gm_doc_is(d, GM_TXT))
        gm_text_add_char(d->out, '\n');
    gm_section_source(d, report);
}

static void say_charts(struct gm_doc *d, const char *const *charts, const char *const *first)
{
    if (!gm_doc_is(d, GM_MD) || charts == NULL || charts[0] == NULL || (charts == first && charts[2] == NULL))
        return;
    gm_doc_open(d, NULL, "Charts");
    for (const char *const *chart = charts; chart[0] != NULL; chart += 2)
        if (chart != first)
            gm_doc_picture(d, chart[0], chart[1]);
    gm_doc_close(d);
}

static void say_state(struct gm_doc *d, const struct gm_report *report)
{
    static void (*const sections[])(struct gm_doc * d, const struct gm_report *report) = {
        gm_section_contents, gm_section_sites, gm_section_blocks, gm_section_pins,    gm_section_histogram,
        gm_section_devices,  gm_section_parts, gm_section_ledger, gm_section_settings};
    for (size_t i = 0; !report->lacks_end && i < sizeof sections / sizeof *sections; i++)
        sections[i](d, report);
    gm_section_trace(d, report);
    gm_section_warnings(d, report);
}

/* What matters first: what to do, the peak, how it ended. */
static void say_analysis(struct gm_doc *d, const struct gm_report *report, const char *const *charts)
{
#define ROW(name, title, is_worth, is_folded, is_of_all)                                                               \
    {title, gm_section_##name, is_##name##_worth, is_folded, is_of_all},
    static const struct view_section sections[] = {GM_VIEW_SECTIONS(ROW)};
    static const struct view_section reliability = {.title = "Reliability", .tell = gm_section_reconciliation};
    const char *const *chart = first_chart(charts);
    d->lines = LINES;
    d->text_name = "analysis_report.txt";
    d->json_name = "analysis.json";
    say_head(d, report, chart);
    gm_section_to_do(d, report);
    gm_section_plan(d, report->plan);
    gm_section_ignored(d, report);
    gm_section_peak_devices(d, report);
    gm_section_join(d, report);
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        say_views(d, report, &sections[i]);
    gm_section_profile(d, report);
    gm_section_end(d, report);
    say_views(d, report, &reliability);
    if (!report->lacks_end)
        gm_section_summary(d, report);
    gm_section_trials(d, report);
    say_state(d, report);
    say_charts(d, charts, chart);
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

static void tell_unknown(struct gm_doc *d, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        gm_json_null(&d->json, *keys);
}

static void tell_end(struct gm_doc *d, const struct gm_report *report)
{
    if (report->lacks_end) {
        tell_unknown(d, (const char *const[]){"categories", "roles", "top_blocks", "fragmentation", NULL});
        return;
    }
    gm_json_slices(d, "categories", report->categories, report->category_count, report->totals.allocated);
    gm_json_inferred(d, "roles", report->roles, report->role_count, report->totals.allocated);
    gm_section_blocks(d, report);
    gm_json_fragmentation(d, &report->fragmentation, true);
}

static void tell_more_of_end(struct gm_doc *d, const struct gm_report *report)
{
    if (report->lacks_end) {
        tell_unknown(
            d, (const char *const[]){"call_sites", "call_sites_total", "ledger", "memory_summary", "histogram", NULL});
        return;
    }
    gm_section_sites(d, report);
    gm_json_number(&d->json, "call_sites_total", report->site_total);
    gm_ledger_tell(d, &report->ledger);
    gm_section_memory(d, report);
    gm_section_histogram(d, report);
}

static void tell_analysis(struct gm_doc *d, const struct gm_report *report)
{
    gm_json_string(&d->json, "schema", "gmanalyze.analysis/1");
    gm_section_snapshot(d, report);
    gm_json_devices(d, report);
    tell_end(d, report);
    gm_json_timeline(d, report);
    gm_section_findings(d, report);

    /* What follows is more than the schema asks for. */
    gm_section_headline(d, report);
    gm_section_end(d, report);
    gm_section_marks(d, report);
    gm_section_to_do(d, report);
    gm_section_plan(d, report->plan);
    gm_section_ignored(d, report);
    tell_more_of_end(d, report);
    gm_section_settings(d, report);
    gm_section_trials(d, report);
    gm_section_host(d, report);
    gm_section_join(d, report);
    gm_section_profile(d, report);
    gm_section_warnings(d, report);
    gm_json_string(&d->json, "name", report->run_name);
    gm_json_string(&d->json, "created", report->timestamp);
}

void gm_analysis_document(struct gm_text *out, enum gm_form form, const struct gm_report *report,
                          const char *const *charts)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, form, out);
    if (form == GM_JSON)
        tell_analysis(&doc, report);
    else
        say_analysis(&doc, report, charts);
    gm_doc_end(&doc);
}
