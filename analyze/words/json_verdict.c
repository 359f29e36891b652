/* SPDX-License-Identifier: Apache-2.0
 *
 * What analysis.json says of the whole: the headline, how far the trace can be trusted, what to do.
 */
#include "analyze/words/doubt.h"
#include "analyze/words/json_parts.h"
#include "analyze/words/to_do.h"
#include "analyze/words/verdict.h"

/* "headline": the lines that stand on top of every report. */
static void add_headline(struct gm_doc *d, const char *key, const struct gm_verdict *verdict)
{
    gm_json_open(&d->json, key, '[');
    for (size_t i = 0; i < GM_VERDICT_LINES; i++) {
        const struct gm_verdict_line *line = &verdict->lines[i];
        struct gm_text text = {0};
        for (size_t k = 0; k < line->count; k++)
            gm_text_printf(&text, "%s%s", k > 0 ? ", " : "", line->pieces[k]);
        if (line->site != NULL)
            gm_text_printf(&text, ": %s", line->site);
        const char *whole = gm_doc_take(d, &text);
        if (line->count == 0)
            continue;
        gm_json_open_flat(&d->json, NULL, '{');
        gm_json_string(&d->json, "label", line->label);
        gm_json_string(&d->json, "text", whole);
        gm_json_close(&d->json, '}');
    }
    gm_json_close(&d->json, ']');
}

/* How far the figures of the trace can be believed. */
enum reliability { NO_TRACE, INCOMPLETE, DOUBTFUL, RELIABLE };

static enum reliability reliability_of(const struct gm_report *report, size_t doubts)
{
    struct gm_view v;
    bool all_known = true;
    for (size_t i = 0; i < report->device_count; i++)
        all_known = all_known && (!gm_view_of(&v, report, i) || v.is_reconstructed);
    if (gm_view_count(report) == 0)
        return NO_TRACE;
    return doubts > 0 ? DOUBTFUL : all_known ? RELIABLE : INCOMPLETE;
}

static void add_reliability(struct gm_doc *d, const struct gm_report *report)
{
    static const char *const names[] = {
        [NO_TRACE] = "no-trace", [INCOMPLETE] = "incomplete", [DOUBTFUL] = "doubtful", [RELIABLE] = "reliable"};
    const char **reasons = gm_doc_rows(d, report->device_count, sizeof *reasons);
    size_t n = 0;
    for (size_t i = 0; reasons != NULL && i < report->device_count; i++) {
        struct gm_view v;
        struct gm_text why = {0};
        const bool is_doubtful = gm_view_of(&v, report, i) && gm_doubt_add(&why, &v, report->device_count > 1);
        const char *text = gm_doc_take(d, &why);
        if (is_doubtful)
            reasons[n++] = text;
    }
    gm_json_open(&d->json, "reliability", '{');
    gm_json_string(&d->json, "verdict", names[reliability_of(report, n)]);
    if (reasons != NULL)
        GM_LIST(d, "reasons", GM_TEXT, reasons, n);
    gm_json_close(&d->json, '}');
}

static void add_to_do(struct gm_doc *d, const struct gm_report *report)
{
    struct gm_to_do_list list;
    gm_to_do_make(&list, report);
    gm_json_open(&d->json, "to_do", '[');
    for (size_t i = 0; i < list.n; i++) {
        struct gm_text title = {0}, detail = {0};
        gm_to_do_title(&title, &list, i);
        gm_to_do_detail(&detail, &list, i);
        gm_json_open(&d->json, NULL, '{');
        gm_json_string(&d->json, "severity", gm_severity_name(gm_to_do_severity(&list.v[i])));
        gm_json_string(&d->json, "title", gm_doc_take(d, &title));
        gm_json_string(&d->json, "detail", gm_doc_take(d, &detail));
        gm_json_string(&d->json, "finding", list.v[i].finding == NULL ? NULL : list.v[i].finding->id);
        gm_json_close(&d->json, '}');
    }
    gm_json_close(&d->json, ']');
}

void gm_json_verdict(struct gm_doc *d, const struct gm_report *report)
{
    struct gm_verdict verdict;
    gm_verdict_make(&verdict, report);
    add_headline(d, "headline", &verdict);
    gm_verdict_of_end(&verdict, report);
    add_headline(d, "headline_at_end", &verdict);
    add_reliability(d, report);
    add_to_do(d, report);
}
