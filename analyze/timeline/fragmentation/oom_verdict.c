/* SPDX-License-Identifier: Apache-2.0
 *
 * Capacity or fragmentation: whether the request would have been served if the cached bytes had been usable. The rule
 * with its numbers is in docs/fragmentation.md.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

enum { NEARLY_FULL_PERCENT = 95 };

static const char *const where[GM_UNUSABLE_COUNT] = {
    [GM_UNUSABLE_HOLE_TOO_SMALL] = "in holes that were too small, next to live blocks",
    [GM_UNUSABLE_WRONG_STREAM] = "for other streams",
    [GM_UNUSABLE_WRONG_POOL] = "in other pools",
    [GM_UNUSABLE_WHOLE_SEGMENT] = "in whole segments that had not gone back",
    [GM_UNUSABLE_FITS] = "in blocks that were large enough, which a rule of the allocator withheld",
};

/* What the driver has to give for a request of `asked` rounded bytes: a segment. */
static uint64_t segment_for(uint64_t asked, const struct gm_rules *rules)
{
    const uint64_t unit = 2 * GM_MIB;
    if (asked <= GM_MIB)
        return GM_SMALL_SEGMENT;
    if (asked < 10 * GM_MIB)
        return rules->large_segment;
    return asked > UINT64_MAX - unit ? asked : (asked + unit - 1) / unit * unit;
}

static void add_reasons(struct gm_text *t, const struct gm_oom_row *row)
{
    char size[GM_SIZE_TEXT];
    const char *before = ": ";
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++) {
        if (row->unusable[i] == 0 || row->unusable[i] == GM_REPORT_NONE)
            continue;
        gm_text_printf(t, "%s%s %s", before, gm_size_format(size, row->unusable[i]), where[i]);
        before = ", ";
    }
}

static void tell_unknown(struct gm_text *t, const struct gm_oom_row *row)
{
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT];
    gm_size_format(a, row->asked);
    if (row->asked == GM_REPORT_NONE)
        gm_text_add(t, "The event does not say how much was asked for");
    else if (row->levels.reserved == GM_REPORT_NONE)
        gm_text_printf(t, "%s was asked for; how much was cached is not known, because the trace could not be followed",
                       a);
    else if (row->device_free == GM_REPORT_NONE)
        gm_text_printf(t, "%s was asked for and %s was cached; what the driver had left is not recorded", a,
                       gm_size_format(b, row->levels.reserved - row->levels.active));
    else
        gm_text_printf(t,
                       "%s was asked for while the driver had %s left, which is enough: a memory limit "
                       "(per_process_memory_fraction) was in force, or other processes used the device",
                       a, gm_size_format(b, row->device_free));
}

static void tell_known(struct gm_text *t, const struct gm_oom_row *row)
{
    char asked[GM_SIZE_TEXT], left[GM_SIZE_TEXT], size[GM_SIZE_TEXT], hole[GM_SIZE_TEXT];
    uint64_t cached = row->levels.reserved - row->levels.active;
    uint64_t device_free = row->device_free == GM_REPORT_NONE ? 0 : row->device_free;
    gm_text_printf(t, "%s was asked for, the driver had %s left, and ", gm_size_format(asked, row->asked),
                   row->device_free == GM_REPORT_NONE ? "an unknown amount" : gm_size_format(left, device_free));
    if (row->verdict == GM_OOM_CAPACITY) {
        gm_text_printf(t, "%s was cached", gm_size_format(size, cached));
        gm_text_printf(t, ": even with all of it %s was missing beside %s in use", gm_size_format(size, row->missing),
                       gm_size_format(hole, row->levels.active));
    } else {
        gm_text_printf(t, "%s was cached but could not be used (largest hole %s)", gm_size_format(size, cached),
                       gm_size_format(hole, row->largest_hole));
        add_reasons(t, row);
    }
    if (row->verdict == GM_OOM_BOTH)
        gm_text_printf(t, "; yet %s of %s was in use, so a little more would have failed anyway",
                       gm_size_format(size, row->levels.active),
                       gm_size_format(hole, gm_known_add(row->levels.reserved, device_free)));
    if (row->pending > 0)
        gm_text_printf(t, "; of what was in use, %s was freed and waited for other streams",
                       gm_size_format(size, row->pending));
}

static enum gm_oom_verdict judge(const struct gm_oom_row *row, uint64_t need)
{
    if (row->asked == GM_REPORT_NONE || row->levels.reserved == GM_REPORT_NONE)
        return GM_OOM_UNKNOWN;
    uint64_t cached = row->levels.reserved - row->levels.active;
    bool is_free_known = row->device_free != GM_REPORT_NONE;
    uint64_t device_free = is_free_known ? row->device_free : 0, all = gm_known_add(row->levels.reserved, device_free);
    if (is_free_known && device_free >= need)
        return GM_OOM_UNKNOWN;
    if (cached < row->asked && gm_known_add(device_free, cached) < need)
        return is_free_known ? GM_OOM_CAPACITY : GM_OOM_UNKNOWN;
    return is_free_known && row->levels.active > all / 100 * NEARLY_FULL_PERCENT ? GM_OOM_BOTH : GM_OOM_FRAGMENTATION;
}

bool gm_oom_judge(struct gm_arena *arena, struct gm_oom_row *row, const struct gm_rules *rules)
{
    uint64_t need = row->asked == GM_REPORT_NONE ? 0 : segment_for(row->asked, rules);
    struct gm_text t = {0};
    row->verdict = judge(row, need);
    if (row->verdict == GM_OOM_CAPACITY) /* what the driver had left is known then, and all of it is too little */
        row->missing = need - row->device_free - (row->levels.reserved - row->levels.active);
    if (row->verdict == GM_OOM_UNKNOWN)
        tell_unknown(&t, row);
    else
        tell_known(&t, row);
    gm_text_add_char(&t, '.');
    row->verdict_detail = t.failed ? NULL : gm_arena_copy(arena, t.data, t.length);
    gm_text_free(&t);
    return row->verdict_detail != NULL;
}
