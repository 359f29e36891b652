/* SPDX-License-Identifier: Apache-2.0
 *
 * --fail-growth: what grew by more than is allowed. Exact: integers only.
 */
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/base/vec.h"
#include "analyze/compare/comparison_parts.h"

#include <stdlib.h>
#include <string.h>

/* "12.5" as 12,500,000 millionths; what follows the sixth decimal counts as more, so it is rounded up. */
static bool parse_percent(const char *text, size_t n, uint64_t *millionths)
{
    uint64_t whole = 0, part = 0, unit = 100000;
    bool any = false, is_more = false;
    size_t i = 0;
    for (; i < n && text[i] >= '0' && text[i] <= '9'; i++, any = true) {
        whole = whole * 10 + (uint64_t)(text[i] - '0');
        if (whole > 1000000000)
            return false;
    }
    if (i < n && text[i] == '.')
        for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++, any = true) {
            part += unit * (uint64_t)(text[i] - '0');
            is_more = is_more || (unit == 0 && text[i] != '0');
            unit /= 10;
        }
    *millionths = whole * 1000000 + part + is_more;
    return any && i == n;
}

bool gm_growth_limit_parse(struct gm_growth_limit *limit, const char *text)
{
    size_t n = strlen(text);
    while (n > 0 && text[n - 1] == ' ')
        n--;
    *limit = (struct gm_growth_limit){.is_set = true, .text = text};
    if (n == 0 || text[n - 1] != '%')
        return gm_size_parse(text, &limit->bytes);
    limit->is_percent = true;
    n--;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    return parse_percent(text, n, &limit->millionths);
}

static bool is_over(const struct gm_growth_limit *limit, uint64_t base, uint64_t after)
{
    if (after <= base)
        return false;
    const gm_i128 growth = (gm_i128)after - (gm_i128)base;
    if (!limit->is_percent)
        return growth > (gm_i128)limit->bytes;
    return growth * 100000000 > (gm_i128)base * (gm_i128)limit->millionths;
}

struct found {
    const struct gm_growth_limit *limit;
    struct GM_VEC(struct gm_growth) rows;
    bool failed;
};

static void look_at(struct found *f, size_t run, int64_t device, const char *what, uint64_t base, uint64_t after)
{
    if (!is_over(f->limit, base, after))
        return;
    const struct gm_growth row = {run, device, what, base, after};
    if (!GM_VEC_PUSH(&f->rows, row))
        f->failed = true;
}

/* A peak that one of the two does not know is replaced by the totals of both; where one lacks these, too, by what was
 * requested. */
static void look_at_level(struct found *f, size_t run, const struct gm_diff_device *d, enum gm_level level,
                          bool lacks_end)
{
    static const struct gm_summary_device nothing = {.events = 0};
    const bool is_reserved = level == GM_LEVEL_RESERVED;
    const struct gm_summary_device *b = d->base != NULL ? d->base : &nothing;
    const struct gm_summary_device *a = d->after != NULL ? d->after : &nothing;
    const int64_t device = d->after != NULL ? a->device : b->device;
    const uint64_t x = b->peaks[level].bytes, y = a->peaks[level].bytes;
    if (x != GM_REPORT_NONE && y != GM_REPORT_NONE)
        look_at(f, run, device, is_reserved ? "peak reserved" : "peak allocated", x, y);
    else if (lacks_end && !is_reserved)
        look_at(f, run, device, "peak requested", b->peaks[GM_LEVEL_REQUESTED].bytes,
                a->peaks[GM_LEVEL_REQUESTED].bytes);
    else if (!lacks_end)
        look_at(f, run, device, is_reserved ? "reserved" : "allocated",
                is_reserved ? b->totals.reserved : b->totals.allocated,
                is_reserved ? a->totals.reserved : a->totals.allocated);
}

/* Without a trace there are no peaks: the totals of the files count. */
static void look_at_totals(struct found *f, size_t run, const struct gm_totals *base, const struct gm_totals *after)
{
    look_at(f, run, -1, "reserved", base->reserved, after->reserved);
    look_at(f, run, -1, "allocated", base->allocated, after->allocated);
}

GM_ORDERING(worst_first, struct gm_growth,
            GM_BY(GM_ORDER(b->after - b->base, a->after - a->base)) || GM_UP(run) || GM_UP(device) ||
                GM_BY(strcmp(b->what, a->what)) /* reserved before allocated */);

bool gm_compare_growth(struct gm_comparison *c)
{
    struct found f = {.limit = &c->limit};
    for (size_t i = 0; c->limit.is_set && i < c->pair_count; i++) {
        const struct gm_diff_pair *pair = &c->pairs[i];
        const bool lacks_end = c->runs[0]->lacks_end || c->runs[pair->after]->lacks_end;
        if (!c->runs[0]->has_trace || !c->runs[pair->after]->has_trace)
            look_at_totals(&f, pair->after, &c->runs[0]->totals, &c->runs[pair->after]->totals);
        else
            for (size_t d = 0; d < pair->device_count; d++) {
                look_at_level(&f, pair->after, &pair->devices[d], GM_LEVEL_RESERVED, lacks_end);
                look_at_level(&f, pair->after, &pair->devices[d], GM_LEVEL_ALLOCATED, lacks_end);
            }
    }
    GM_SORT(f.rows.v, f.rows.n, worst_first);
    c->growths = f.failed ? NULL : gm_arena_array(&c->arena, f.rows.v, f.rows.n, sizeof *f.rows.v);
    c->growth_count = c->growths != NULL ? f.rows.n : 0;
    free(f.rows.v);
    return c->growths != NULL;
}
