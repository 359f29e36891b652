/* SPDX-License-Identifier: Apache-2.0
 *
 * The live set at the peak of requested bytes.
 */
#include "analyze/timeline/levels.h"

#include "analyze/state/slices.h"

#include <stdlib.h>

static bool publish_categories(struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    struct gm_amount *amounts = calloc(gm_category_count(pass->options->rules) + 1, sizeof *amounts);
    if (amounts == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        struct gm_amount *amount = &amounts[pass->category[a]];
        if (!gm_history_is_active(h, a, pass->peak_moment) || gm_is_hidden(pass, a))
            continue;
        amount->bytes = gm_clamp((gm_i128)amount->bytes + h->requested[a]);
        amount->blocks++;
    }
    pass->peak->categories = gm_slices_make(&pass->report->arena, pass->options->rules, amounts,
                                            &pass->peak->category_count);
    free(amounts);
    return pass->peak->categories != NULL;
}

bool gm_trace_peak(struct gm_trace_pass *pass)
{
    return publish_categories(pass);
}
