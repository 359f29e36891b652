/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/comparison.h"

#include "analyze/base/arithmetic.h"

const char *gm_level_name(enum gm_level level)
{
    static const char *const names[GM_LEVEL_COUNT] = {"requested", "allocated", "active", "reserved"};
    return names[level];
}

const char *gm_diff_kind_name(enum gm_diff_kind kind)
{
    static const char *const names[GM_DIFF_KINDS] = {"new", "gone", "grown", "shrunk", "moved"};
    return names[kind];
}

const char *gm_law_name(enum gm_law law)
{
    static const char *const names[] = {"none", "constant", "linear", "quadratic", "linear and quadratic"};
    return names[law];
}

int64_t gm_diff_delta(uint64_t base, uint64_t after)
{
    if (base == GM_REPORT_NONE || after == GM_REPORT_NONE)
        return 0;
    return gm_signed_gap(after, base);
}

int64_t gm_diff_minus(int64_t a, int64_t b)
{
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference))
        return a < 0 ? -INT64_MAX : INT64_MAX;
    return difference == INT64_MIN ? -INT64_MAX : difference;
}

uint64_t gm_diff_size(int64_t delta)
{
    return delta < 0 ? 0 - (uint64_t)delta : (uint64_t)delta;
}

void gm_summary_free(struct gm_summary *summary)
{
    gm_arena_free(&summary->arena);
    *summary = (struct gm_summary){0};
}

void gm_comparison_free(struct gm_comparison *comparison)
{
    gm_arena_free(&comparison->arena);
    *comparison = (struct gm_comparison){0};
}
