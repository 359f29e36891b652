/* SPDX-License-Identifier: Apache-2.0
 *
 * Two snapshots and more: what gmdiff writes into diff.json.
 */
#include "analyze/compare/compare.h"
#include "analyze/compare/summary_make.h"
#include "analyze/document/documents.h"
#include "analyze/run/run_names.h"
#include "render/page/core/opened.h"

#include <stdlib.h>

enum { TOP = 50, POINTS = 2000, MOST_RUNS = 256 }; /* as gmdiff's */

static enum gm_status summarise(struct gm_summary *summary, uint32_t handle, struct gm_error *err)
{
    const struct gm_opened *o = gm_opened_get(handle);
    char name[GM_NAME_SIZE];
    if (o == NULL)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no such snapshot is open");
    gm_name_detect(name, o->snapshot.source.path);
    const struct gm_summary_options options = {.rules = o->rules, .device = -1, .points = POINTS};
    return gm_summary_make(summary, &o->snapshot, name, &options, err);
}

static const struct gm_page_result *compare(struct gm_summary *made, const struct gm_summary **runs,
                                            const uint32_t *handles, uint32_t count)
{
    const struct gm_compare_options options = {.top = TOP};
    GM_FREED_BY(gm_comparison_free) struct gm_comparison comparison = {0};
    struct gm_text json = {0};
    struct gm_error err;
    enum gm_status status = GM_OK;
    for (uint32_t i = 0; status == GM_OK && i < count; i++) {
        runs[i] = &made[i];
        status = summarise(&made[i], handles[i], &err);
    }
    GM_THEN(status, gm_compare(&comparison, runs, count, &options, &err));
    if (status == GM_OK)
        gm_diff_document(&json, GM_JSON, &comparison, NULL);
    return status == GM_OK ? gm_answer_json(&json) : gm_answer_fail(&err);
}

const struct gm_page_result *gm_page_compare(const uint32_t *handles, uint32_t count)
{
    gm_answer_begin();
    if (count < 2 || count > MOST_RUNS)
        return gm_answer_refuse("two snapshots are compared, or more");
    GM_FREED struct gm_summary *made = calloc(count, sizeof *made);
    const struct gm_summary **runs = gm_answer_memory(count, sizeof(const struct gm_summary *));
    const struct gm_page_result *result =
        made != NULL && runs != NULL ? compare(made, runs, handles, count) : gm_answer_no_memory();
    for (uint32_t i = 0; made != NULL && i < count; i++)
        gm_summary_free(&made[i]);
    return result;
}
