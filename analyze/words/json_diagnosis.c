/* SPDX-License-Identifier: Apache-2.0
 *
 * What analysis.json says of the whole: the headline, how far the trace can be trusted, what to do.
 */
#include "analyze/words/json_parts.h"

/* "headline": the lines that stand on top of every report. */
static void add_headline(struct gm_doc *d, const char *key, const struct gm_heading *lines)
{
    gm_json_open(&d->json, key, '[');
    for (size_t i = 0; i < GM_HEADLINES; i++) {
        const struct gm_heading *line = &lines[i];
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

void gm_json_diagnosis(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_diagnosis *diagnosis = &report->diagnosis;
    add_headline(d, "headline", diagnosis->headline);
    add_headline(d, "headline_at_end", diagnosis->at_end);
    gm_json_open(&d->json, "reliability", '{');
    gm_json_string(&d->json, "verdict", gm_reliability_name(diagnosis->reliability));
    GM_LIST(d, "reasons", GM_TEXT, diagnosis->doubts, diagnosis->doubt_count);
    gm_json_close(&d->json, '}');
    gm_json_open(&d->json, "to_do", '[');
    for (size_t i = 0; i < diagnosis->to_do_count; i++) {
        const struct gm_to_do *item = &diagnosis->to_do[i];
        gm_json_open(&d->json, NULL, '{');
        gm_json_string(&d->json, "severity", gm_severity_name(item->severity));
        gm_json_string(&d->json, "title", item->title);
        gm_json_string(&d->json, "detail", item->detail);
        gm_json_string(&d->json, "finding", item->finding);
        gm_json_close(&d->json, '}');
    }
    gm_json_close(&d->json, ']');
}
