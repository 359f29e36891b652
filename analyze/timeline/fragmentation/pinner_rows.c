/* SPDX-License-Identifier: Apache-2.0
 *
 * The blocks that kept most cached bytes from going back (noted by pinners.c), in words.
 */
#include "analyze/timeline/fragmentation/fragmentation.h"

#include "analyze/base/order.h"

#include <stdlib.h>

GM_ORDERING(by_pinned, struct gm_watch_pin, GM_DOWN(bytes) || GM_UP(allocation));

bool gm_fragmentation_pinners(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &pass->history;
    struct gm_watch *w = pass->watch;
    size_t n = pass->options->top < w->pin_count ? pass->options->top : w->pin_count;
    struct gm_pinner_row *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    bool ok = rows != NULL;
    if (w->pin_count > 1)
        qsort(w->pins, w->pin_count, sizeof *w->pins, by_pinned);
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_watch_pin *pin = &w->pins[i];
        uint32_t a = pin->allocation, born = h->born[a];
        rows[i] = (struct gm_pinner_row){.site = gm_names_site(pass->names, (struct gm_stack_id){h->stack[a]}),
                                         .bytes = h->block[a],
                                         .requested = h->requested[a],
                                         .address = gm_history_address(h, a),
                                         .pinned_bytes = pin->bytes,
                                         .event = gm_event_of_moment(pin->moment),
                                         .age_events = born == 0 ? GM_REPORT_NONE : pin->moment - born,
                                         .age_us = GM_REPORT_NONE};
        if (born > 0 && pin->moment > 0)
            rows[i].age_us = gm_time_between(h, born - 1, pin->moment - 1);
        ok = rows[i].site != NULL && gm_category_of_stack(pass, h->stack[a], &rows[i].category, &rows[i].color);
    }
    out->pinners = rows;
    out->pinner_count = n;
    return ok;
}
