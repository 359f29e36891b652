/* SPDX-License-Identifier: Apache-2.0
 *
 * --find: the largest value with which COMMAND fits. It is taken for granted that it fits with all smaller ones, too;
 * so what is known is one value that fits and a larger one that does not, and the gap between them is closed. Where two
 * values that fit are known, a line through their memory tells about where the end is: that is tried; and every third
 * try halves the gap, so that it ends soon whatever the memory does.
 */
#include "analyze/base/bisect.h"
#include "replay/dry/cli/gmdry.h"

/* The largest one that fits, or the smallest one that does not; SIZE_MAX: none was tried. */
static size_t end_of(const struct gm_dry_find *find, bool fits)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < find->tries.n; i++)
        if (find->tries.v[i].fits == fits &&
            (best == SIZE_MAX || (find->tries.v[i].index > find->tries.v[best].index) == fits))
            best = i;
    return best;
}

const struct gm_dry_try *gm_dry_find_largest(const struct gm_dry_find *find)
{
    const size_t i = end_of(find, true);
    return i == SIZE_MAX ? NULL : &find->tries.v[i];
}

const struct gm_dry_try *gm_dry_find_failing(const struct gm_dry_find *find)
{
    const size_t i = end_of(find, false);
    return i == SIZE_MAX ? NULL : &find->tries.v[i];
}

/* The largest value that fits by a line through the two largest that did: `low`, if that is the last one, up to `high`
 * (or more). SIZE_MAX: there is no line. */
static size_t guess(const struct gm_dry_find *find, size_t low, size_t high)
{
    const struct gm_dry_try *a = NULL, *b = gm_dry_find_largest(find);
    for (size_t i = 0; i < find->tries.n; i++) {
        const struct gm_dry_try *t = &find->tries.v[i];
        if (t->fits && t != b && (a == NULL || t->index > a->index))
            a = t;
    }
    if (a == NULL || b->bytes <= a->bytes)
        return SIZE_MAX;
    const double slope = (double)(b->bytes - a->bytes) / (b->value - a->value);
    const double left = find->capacity > b->bytes ? (double)(find->capacity - b->bytes) : 0;
    char text[GM_DRY_VALUE];
    GM_BISECT(low, high, i, gm_dry_range_value(find->range, i + 1, text) <= b->value + left / slope);
    return low;
}

size_t gm_dry_find_next(const struct gm_dry_find *find)
{
    const struct gm_dry_try *fits = gm_dry_find_largest(find), *fails = gm_dry_find_failing(find);
    const size_t count = find->range->count;
    if (find->tries.n == 0)
        return 0;
    if (fits == NULL)
        return count;
    const size_t low = fits->index, high = fails == NULL ? count : fails->index, gap = high - low;
    if (gap == 1)
        return count;
    if (find->tries.n == 1) /* a second point of the line: not far, as that is quick */
        return low + 1 + (gap - 1) / 8;
    const size_t at = guess(find, low, high);
    if (at == SIZE_MAX || (fails != NULL && find->tries.n % 3 == 0))
        return fails == NULL ? count - 1 : low + gap / 2;
    if (at >= high) /* the line was wrong, or all fit */
        return fails == NULL ? count - 1 : high - 1 - (gap - 2) / 16;
    return at == low ? low + 1 : at;
}
