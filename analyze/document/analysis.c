/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot analysed: analysis_report.txt, README.md and analysis.json (schema gmanalyze.analysis/1, docs/json.md).
 * The order of sections, and of keys, is here. What matters stands on top and open; README.md folds the rest.
 */
#include "analyze/document/documents.h"
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <string.h>

/* ---- what the trace tells ------------------------------------------------------------------------------------------
 */

/* A section of each device that has a view: text has all, named if there are several, Markdown those of the one with
 * the highest peak, where they are worth it. */
struct view_section {
    const char *title;
    void (*tell)(struct gm_doc *d, const struct gm_view *v);
    bool (*is_worth)(const struct gm_view *v); /* NULL: always */
    enum { OPEN, FOLDED, OF_ALL /* open, of every device for which it is worth it */ } how;
};

static void say_view(struct gm_doc *d, const struct gm_view *v, const struct view_section *s, bool is_named)
{
    d->origin_us = v->timeline->books.first_time_us;
    if (is_named)
        gm_doc_open(d, NULL, gm_doc_printf(d, "Device %" PRId64, v->device->device));
    s->tell(d, v);
    if (is_named)
        gm_doc_close(d);
}

static void say_views(struct gm_doc *d, const struct gm_report *report, const struct view_section *s)
{
    struct gm_view v, highest;
    const bool is_one = gm_doc_is(d, GM_MD) && s->how != OF_ALL;
    bool any = gm_view_highest(&highest, report) && s->how != OF_ALL;
    if (any && is_one && s->is_worth != NULL && !s->is_worth(&highest))
        return;
    for (size_t i = 0; s->how == OF_ALL && i < report->device_count; i++)
        any = any || (gm_view_of(&v, report, i) && s->is_worth(&v));
    if (!any)
        return;
    (s->how == FOLDED ? gm_doc_fold : gm_doc_open)(d, NULL, s->title);
    if (is_one)
        say_view(d, &highest, s, false);
    for (size_t i = 0; !is_one && i < report->device_count; i++)
        if (gm_view_of(&v, report, i) && (s->how != OF_ALL || s->is_worth(&v)))
            say_view(d, &v, s, s->how == OF_ALL ? report->device_count > 1 : gm_view_count(report) > 1);
    gm_doc_close(d);
}

static void say_traced(struct gm_doc *d, const struct gm_report *report, const struct view_section *sections, size_t n)
{
    for (size_t i = 0; i < n; i++)
        say_views(d, report, &sections[i]);
}

void gm_analysis_explain(struct gm_text *out, const struct gm_report *report)
{
    static const struct view_section roles = {"Roles, and what they were inferred from", gm_section_roles, NULL, OPEN};
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    say_views(&doc, report, &roles);
    if (gm_view_count(report) == 0)
        gm_doc_tell(&doc, "No event recorded: roles are inferred from the trace.");
    gm_doc_end(&doc);
}

/* ---- for people ----------------------------------------------------------------------------------------------------
 */

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
    if (chart != NULL) {
        gm_doc_picture(d, chart[0], chart[1]);
        gm_doc_tell(d, "Images do not travel with pasted text: drag the PNG files into the pull request.");
    }
    if (gm_doc_is(d, GM_TXT))
        gm_text_add_char(d->out, '\n');
    gm_section_source(d, report);
}

static void say_charts(struct gm_doc *d, const char *const *charts, const char *const *first)
{
    if (charts == NULL || charts[0] == NULL || (charts == first && charts[2] == NULL))
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
        gm_section_contents,  gm_section_sites,    gm_section_blocks, gm_section_pins,
        gm_section_histogram, gm_section_devices,  gm_section_pools,  gm_section_streams,
        gm_section_ledger,    gm_section_settings, gm_section_trace,  gm_section_warnings};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        sections[i](d, report);
}

/* What matters first: what to do, the peak, how it ended. */
static void say_analysis(struct gm_doc *d, const struct gm_report *report, const char *const *charts)
{
    static const struct view_section first[] = {
        {"Peak", gm_section_peak, NULL, OPEN},
        {"Call sites at the peak", gm_section_peak_sites, gm_peak_has_sites, OPEN},
        {"Out of memory", gm_section_ooms, gm_view_has_ooms, OF_ALL},
    };
    static const struct view_section rest[] = {
        {"Next peaks", gm_section_next_peaks, gm_peak_has_next, FOLDED},
        {"Savings", gm_section_savings, gm_peak_has_savings, FOLDED},
        {"Steps", gm_section_steps, gm_steps_were_found, FOLDED},
        {"Fragmentation over time", gm_section_history, gm_view_is_reconstructed, FOLDED},
        {"Reconciliation of the trace with the snapshot", gm_section_reconciliation, NULL, FOLDED},
    };
    const char *const *chart = first_chart(charts);
    d->text_name = "analysis_report.txt";
    d->json_name = "analysis.json";
    say_head(d, report, chart);
    gm_section_to_do(d, report);
    gm_section_ignored(d, report);
    gm_section_peak_devices(d, report);
    say_traced(d, report, first, sizeof first / sizeof *first);
    gm_section_end(d, report);
    gm_section_summary(d, report);
    gm_section_trials(d, report);
    say_traced(d, report, rest, sizeof rest / sizeof *rest);
    say_state(d, report);
    say_charts(d, charts, chart);
}

void gm_analysis_text(struct gm_text *out, const struct gm_report *report)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    say_analysis(&doc, report, NULL);
    gm_doc_end(&doc);
}

void gm_analysis_markdown(struct gm_text *out, const struct gm_report *report, const char *const *charts)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_MD, out);
    say_analysis(&doc, report, charts);
    gm_doc_end(&doc);
}

/* ---- for programs --------------------------------------------------------------------------------------------------
 */

void gm_analysis_json(struct gm_text *out, const struct gm_report *report)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_JSON, out);
    gm_json_string(&doc.json, "schema", "gmanalyze.analysis/1");
    gm_section_snapshot(&doc, report);
    gm_json_devices(&doc, report);
    gm_json_slices(&doc, "categories", report->categories, report->category_count, report->totals.allocated);
    if (report->roles == NULL) /* not inferred */
        gm_json_null(&doc.json, "roles");
    else
        gm_json_slices(&doc, "roles", report->roles, report->role_count, report->totals.allocated);
    gm_section_blocks(&doc, report);
    gm_json_fragmentation(&doc, &report->fragmentation, true);
    gm_json_timeline(&doc, report);
    gm_section_findings(&doc, report);

    /* What follows is more than the schema asks for. */
    gm_section_headline(&doc, report);
    gm_section_end(&doc, report);
    gm_section_marks(&doc, report);
    gm_section_to_do(&doc, report);
    gm_section_ignored(&doc, report);
    gm_section_sites(&doc, report);
    gm_json_number(&doc.json, "call_sites_total", report->site_total);
    gm_ledger_tell(&doc, &report->ledger);
    gm_section_histogram(&doc, report);
    gm_section_settings(&doc, report);
    gm_section_trials(&doc, report);
    gm_section_host(&doc, report);
    gm_section_warnings(&doc, report);
    gm_json_string(&doc.json, "name", report->run_name);
    gm_json_string(&doc.json, "created", report->timestamp);
    gm_doc_end(&doc);
}
