/* SPDX-License-Identifier: Apache-2.0
 *
 * A result of gm_diff on its way, for gmdiff, which reads its inputs itself: new, each input summarised (by any
 * thread), concluded.
 */
#pragma once

#include "analyze/cli/diff_options.h"
#include "analyze/cli/page_runs.h"
#include "analyze/formats/load.h"
#include "analyze/lib/libgm.h"
#include "analyze/report/summary.h"
#include "analyze/run/run_names.h"

#define GM_DIFF_JSON "diff.json"

struct gm_diff_input {
    const char *path;
    enum gm_status status; /* of reading it */
    struct gm_error error;
    struct gm_summary summary; /* if status is GM_OK */
    bool is_salvaged;
    struct gm_page_trace page; /* if somebody made it */
    struct gm_load_progress reading;
};

/* What stands behind the result. */
struct gm_diffed {
    const struct gm_diff_options *options; /* whoever made the result keeps these three */
    const struct gm_category_rules *rules;
    const struct gm_text *rules_text;
    time_t when;
    size_t count;
    struct gm_diff_input *inputs;    /* [count]: the first is BASE */
    struct gm_comparison comparison; /* of those that could be read */
    char name[GM_NAME_SIZE];         /* of the run, as its directory has it */
};

/* `of`: the first five. `loaded`: the inputs, if they stay (gm_diff); NULL: pages are what somebody made before. NULL:
 * there is no memory. */
struct gm_result *gm_diff_new(struct gm_loaded *const *loaded, const struct gm_diffed *of);
static inline struct gm_diffed *gm_diff_of(const struct gm_result *result)
{
    return result->found;
}
/* The snapshot of the input, which may be gone afterwards. */
enum gm_status gm_diff_summarise(struct gm_diff_input *input, const struct gm_snapshot *snapshot,
                                 const struct gm_diffed *d, struct gm_error *err);
/* The comparison, and the verdict. */
enum gm_status gm_diff_conclude(struct gm_result *result, struct gm_error *err);
