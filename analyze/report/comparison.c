/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/comparison.h"

#include "analyze/base/arithmetic.h"

#include <string.h>

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

bool gm_diff_all_traced(const struct gm_comparison *c)
{
    for (size_t i = 0; i < c->run_count; i++)
        if (!c->runs[i]->has_trace)
            return false;
    return true;
}

const struct gm_slices *gm_summary_categories(const struct gm_summary *run, bool at_peak)
{
    return at_peak ? &run->categories_at_peak : &run->categories;
}

uint64_t gm_summary_category_bytes(const struct gm_summary *run, bool at_peak, const char *name)
{
    const struct gm_slices *slices = gm_summary_categories(run, at_peak);
    for (size_t i = 0; i < slices->n; i++)
        if (strcmp(slices->v[i].name, name) == 0)
            return slices->v[i].bytes;
    return slices->v == NULL ? GM_REPORT_NONE : 0;
}

static bool is_taken(const struct gm_slice *taken, size_t n, const char *name)
{
    while (n > 0 && strcmp(taken[n - 1].name, name) != 0)
        n--;
    return n > 0;
}

const struct gm_slice *gm_diff_next_category(const struct gm_comparison *c, const size_t *runs, size_t count,
                                             bool at_peak, const struct gm_slice *taken, size_t n)
{
    const struct gm_slice *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct gm_slices *slices = gm_summary_categories(c->runs[runs == NULL ? i : runs[i]], at_peak);
        for (size_t k = 0; k < slices->n; k++) {
            const struct gm_slice *slice = &slices->v[k];
            const bool is_larger = best == NULL || slice->bytes > best->bytes ||
                                   (slice->bytes == best->bytes && strcmp(slice->name, best->name) < 0);
            if (slice->bytes > 0 && is_larger && !is_taken(taken, n, slice->name))
                best = slice;
        }
    }
    return best;
}

uint64_t gm_summary_level(const struct gm_summary *run, enum gm_level level, bool at_peak)
{
    const uint64_t end[GM_LEVEL_COUNT] = {run->totals.requested, run->totals.allocated, run->totals.active,
                                          run->totals.reserved};
    return at_peak ? run->peaks[level] : end[level];
}

size_t gm_summary_first_step(const struct gm_summary_device *device)
{
    for (size_t i = 0; i < device->step_count; i++)
        if (!device->steps[i].is_partial)
            return i;
    return 0;
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
