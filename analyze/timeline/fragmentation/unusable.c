/* SPDX-License-Identifier: Apache-2.0
 *
 * Why cached bytes did not serve a request. The first of these that holds of a free block decides
 * (docs/fragmentation.md):
 *
 *   1. right pool and stream, and it is as large as the request      refused by a rule of the allocator
 *   2. an unsplit segment, or whole pages, of the default pools      could have gone back to the driver
 *   3. another pool                                                  wrong pool
 *   4. another stream                                                wrong stream
 *   5. what is left: right pool and stream, too small                hole too small
 *
 * Only 2 can hold of a part of a block. Private pools are left out there: while they are in use nothing of them goes
 * back.
 */
#include "analyze/timeline/fragmentation/fragmentation.h"


struct gm_unusable_sums gm_unusable_of(const struct gm_watch *watch, const struct gm_watch_look *look,
                                       const struct gm_history_pool *wanted)
{
    struct gm_unusable_sums sums = {0};
    uint64_t *by_reason = sums.by_reason;
    if (look->part_count == 0 && look->reserved != look->active) {
        for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
            by_reason[i] = GM_REPORT_NONE;
        sums.largest_hole = sums.right = GM_REPORT_NONE;
        return sums;
    }
    for (uint32_t i = 0; i < look->part_count; i++) {
        const struct gm_watch_part *part = &watch->parts.v[look->first_part + i];
        const struct gm_history_pool *pool = &watch->history->pools[part->pool];
        bool is_right_pool = gm_watch_is_pool(pool, wanted);
        if (is_right_pool && part->is_same_stream) {
            uint64_t whole = gm_history_pool_is_default(pool) ? part->whole_too_small : 0;
            by_reason[GM_UNUSABLE_FITS] += part->fits;
            by_reason[GM_UNUSABLE_WHOLE_SEGMENT] += whole;
            by_reason[GM_UNUSABLE_HOLE_TOO_SMALL] += part->cached - part->fits - whole;
            sums.right += part->cached;
            sums.largest_hole = part->largest > sums.largest_hole ? part->largest : sums.largest_hole;
        } else {
            uint64_t whole = gm_history_pool_is_default(pool) ? part->whole : 0;
            by_reason[GM_UNUSABLE_WHOLE_SEGMENT] += whole;
            by_reason[is_right_pool ? GM_UNUSABLE_WRONG_STREAM : GM_UNUSABLE_WRONG_POOL] += part->cached - whole;
        }
    }
    return sums;
}

const char *gm_site_or_null(struct gm_trace_pass *pass, struct gm_stack_id stack, bool *ok)
{
    const char *site = stack.v == 0 ? NULL : gm_names_site(pass->names, stack);
    *ok &= stack.v == 0 || site != NULL;
    return site;
}

uint64_t gm_time_between(const struct gm_history *h, uint32_t from, uint32_t to)
{
    uint64_t a = gm_history_time(h, from), b = gm_history_time(h, to);
    return a == GM_REPORT_NONE || b == GM_REPORT_NONE ? GM_REPORT_NONE : b > a ? b - a : 0;
}
