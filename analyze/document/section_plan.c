/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes a run fit on a card.
 */
#include "analyze/document/documents.h"

enum { BAR = 16 };

static union gm_value bar_of(const struct gm_cell_of *c)
{
    const struct gm_card_plan *plan = c->of;
    const struct gm_plan_step *step = c->row;
    uint64_t most = 1;
    for (size_t i = 0; i < plan->step_count; i++)
        most = plan->steps[i].peak > most ? plan->steps[i].peak : most;
    return (union gm_value){
        .s = gm_doc_printf(c->doc, "%.*s", (int)((double)step->peak / (double)most * BAR), "################")};
}

static union gm_value price_of(const struct gm_cell_of *c)
{
    const char *price = ((const struct gm_plan_step *)c->row)->price;
    return (union gm_value){
        .s = price == NULL ? NULL : gm_doc_printf(c->doc, "%s%s", gm_doc_is(c->doc, GM_TXT) ? "price: " : "", price)};
}

void gm_section_plan(struct gm_doc *d, const struct gm_card_plan *plan)
{
    static const struct gm_column steps[] = {
        GM_KEY(GM_TEXT, "fix", struct gm_plan_step, what),
        GM_KEY(GM_TEXT, "costs", struct gm_plan_step, costs),
        GM_FIELD(GM_TEXT, GM_READ, NULL, "Fixes, one after the other", struct gm_plan_step, name),
        GM_FIELD(GM_BYTES, GM_READ | GM_JSON, "peak_reserved_bytes", "Reserved", struct gm_plan_step, peak),
        GM_FIELD(GM_BYTES, GM_READ | GM_JSON | GM_BLANK, "saves_bytes", "Saves", struct gm_plan_step, saved),
        GM_GET(GM_TEXT, GM_READ, NULL, "", bar_of),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Price", price_of),
    };
    static const struct gm_column alone[] = {
        GM_KEY(GM_TEXT, "fix", struct gm_plan_step, what),
        GM_KEY(GM_TEXT, "costs", struct gm_plan_step, costs),
        GM_KEY(GM_BYTES, "peak_reserved_bytes", struct gm_plan_step, peak),
    };
    if (plan == NULL)
        return;
    gm_doc_open(d, "plan", gm_doc_printf(d, "Plan for %s", plan->title));
    if (gm_doc_is(d, GM_JSON)) {
        const bool is_known = plan->step_count > 0 && !(plan->is_enough && plan->is_open);
        gm_json_string(&d->json, "gpu", plan->card);
        gm_json_number(&d->json, "usable_bytes", plan->usable);
        gm_json_number(&d->json, "capacity_bytes", plan->capacity);
        (is_known ? gm_json_bool(&d->json, "is_enough", plan->is_enough) : gm_json_null(&d->json, "is_enough"));
        gm_json_string(&d->json, "recorded_end", plan->is_open ? plan->ended : NULL);
        gm_json_number(&d->json, "num_alloc_retries", plan->is_enough ? plan->retries : GM_REPORT_NONE);
        gm_json_number(&d->json, "missing_bytes",
                       plan->is_enough || plan->step_count == 0 ? GM_REPORT_NONE : plan->missing);
    }
    gm_doc_tell(d, "%s usable, %s without what is to spare: %s.", gm_doc_bytes(d, plan->usable),
                gm_doc_bytes(d, plan->capacity), plan->verdict);
    if (plan->step_count > 0)
        gm_doc_tell(d, "Each peak is replayed, from an empty allocator: also that of the run as it was recorded.");
    GM_TABLE(d, steps, plan->steps, plan->step_count, .key = "steps", .of = plan);
    if (gm_doc_is(d, GM_JSON))
        GM_TABLE(d, alone, plan->alone, plan->alone_count, .key = "alone", .of = plan);
    gm_doc_close(d);
}
