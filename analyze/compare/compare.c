/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/compare/compare.h"

#include "analyze/base/ascii.h"
#include "analyze/base/freed.h"
#include "analyze/base/vec.h"
#include "analyze/compare/comparison_parts.h"
#include "analyze/report/frame_kind.h"

#include <string.h>

/* ---- functions --------------------------------------------------------------------------------------------------- */

/* Both runs by function: the frames that call sites are shown by, whatever was called below and whoever called. Where
 * another precision or another script makes every stack a new one, this still tells what grew. */

/* "forward  attention.py" of "forward  model/attention.py". */
static const char *function_of(struct gm_arena *arena, const char *site)
{
    const char *gap = strstr(site, "  ");
    const char *slash = gap == NULL ? NULL : strrchr(gap, '/');
    if (slash == NULL)
        return site;
    return gm_arena_printf(arena, "%.*s  %s", (int)(gap - site), site, slash + 1);
}

/* The sites of a run by function; equal names added up. */
static bool sum(struct gm_comparison *c, const struct gm_summary *run, bool at_peak, struct gm_slices *out)
{
    GM_FREED struct GM_VEC(struct gm_slice) sums = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < run->site_count; i++) {
        const struct gm_summary_site *site = &run->sites[i];
        const struct gm_amount *amount = at_peak ? &site->peak : &site->end;
        const struct gm_slice slice = {function_of(&c->arena, site->site), site->color, amount->bytes, amount->blocks};
        ok = slice.name != NULL && (amount->blocks == 0 || GM_VEC_PUSH(&sums, slice));
    }
    const size_t n = ok ? gm_slices_merge(sums.v, sums.n) : 0;
    *out = (struct gm_slices){ok ? gm_arena_array(&c->arena, sums.v, n, sizeof *sums.v) : NULL, n};
    return out->v != NULL;
}

static bool compare_functions(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *b = c->runs[0], *a = c->runs[pair->after];
    struct gm_slices base, after;
    if (!sum(c, b, false, &base) || !sum(c, a, false, &after) ||
        !gm_compare_by_name(c, &pair->functions, &base, &after, b->totals.allocated, a->totals.allocated))
        return false;
    if (!b->has_trace || !a->has_trace)
        return true;
    return sum(c, b, true, &base) && sum(c, a, true, &after) &&
           gm_compare_by_name(c, &pair->functions_at_peak, &base, &after, b->peaks[GM_LEVEL_REQUESTED],
                              a->peaks[GM_LEVEL_REQUESTED]);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* What the runs are called, so that they are told apart: by what was found in their paths if that differs, else by
 * their files' names, else by the ends of their paths, else with a number. What all have in common at the beginning is
 * left out of long labels. */

enum { LONG = 20 };

static bool all_differ(const char *const *labels, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(labels[i], labels[k]) == 0)
                return false;
    return true;
}

/* The last `parts` parts of a path without the suffixes of snapshots. NULL: no memory. */
static const char *tail_of(struct gm_arena *arena, const char *path, int parts)
{
    static const char *const suffixes[] = {".gz", ".zst", ".pickle", ".pkl", ".snap", ".json", ".html", ".gmtrace"};
    const char *s = gm_path_last(path, parts);
    size_t n = strlen(s);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (n > strlen(suffixes[i]) && gm_ends_with(s, n, suffixes[i]))
            n -= strlen(suffixes[i]);
    return gm_arena_copy(arena, s, n);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

/* Leaves out whole words that all labels begin with, if one of them is long. */
static void shorten(const char **labels, size_t n)
{
    size_t longest = 0, common = strlen(labels[0]), words = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(labels[i]);
        size_t same = 0;
        while (same < common && same < length && labels[i][same] == labels[0][same])
            same++;
        common = same;
        longest = length > longest ? length : longest;
    }
    for (size_t i = 0; i < common && longest - words > LONG; i++) {
        bool leaves = true; /* every label goes on with a word */
        for (size_t k = 0; k < n; k++)
            leaves = leaves && is_word(labels[k][i + 1]);
        if (leaves && !is_word(labels[0][i]))
            words = i + 1;
    }
    for (size_t i = 0; i < n; i++)
        labels[i] += words;
}

static bool number_equal(struct gm_comparison *c, const char **labels)
{
    for (size_t i = c->run_count; i-- > 1;) {
        size_t before = 0;
        for (size_t k = 0; k < i; k++)
            before += strcmp(labels[i], labels[k]) == 0;
        if (before > 0 && (labels[i] = gm_arena_printf(&c->arena, "%s_%zu", labels[i], before + 1)) == NULL)
            return false;
    }
    return true;
}

static bool compare_labels(struct gm_comparison *c)
{
    const char **labels = gm_arena_calloc(&c->arena, c->run_count, sizeof *labels);
    if (labels == NULL)
        return false;
    c->labels = labels;
    for (size_t i = 0; i < c->run_count; i++)
        labels[i] = c->runs[i]->name == NULL ? c->runs[i]->path : c->runs[i]->name;
    for (int parts = 1; parts <= 4 && !all_differ(labels, c->run_count); parts++)
        for (size_t i = 0; i < c->run_count; i++)
            if ((labels[i] = tail_of(&c->arena, c->runs[i]->path, parts)) == NULL)
                return false;
    shorten(labels, c->run_count);
    return number_equal(c, labels);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool same_table(const struct gm_diff_sums *sums)
{
    bool same = sums->delta == 0 && sums->residual == 0;
    for (int k = 0; k < GM_DIFF_KINDS; k++)
        same = same && sums->counts[k] == 0;
    return same;
}

static bool is_same(const struct gm_comparison *c, const struct gm_diff_pair *pair)
{
    const struct gm_summary *base = c->runs[0], *after = c->runs[pair->after];
    const struct gm_diff_sums *const tables[] = {&pair->categories.sums,
                                                 &pair->roles.sums,
                                                 &pair->pools.sums,
                                                 &pair->pools_reserved.sums,
                                                 &pair->categories_at_peak.sums,
                                                 &pair->roles_at_peak.sums,
                                                 &pair->pools_at_peak.sums,
                                                 &pair->sites.sums,
                                                 &pair->sites_at_peak.sums};
    bool same = memcmp(&base->totals, &after->totals, sizeof base->totals) == 0 &&
                memcmp(base->peaks, after->peaks, sizeof base->peaks) == 0 && pair->fact_count == 0 &&
                base->has_trace == after->has_trace && base->device_count == after->device_count;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        same = same && same_table(tables[i]);
    return same;
}

static bool compare_pair(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    bool ok = gm_compare_devices(c, pair) && gm_compare_tables(c, pair) && gm_compare_sites(c, pair) &&
              compare_functions(c, pair) && gm_compare_facts(c, pair) && gm_compare_flame(c, pair);
    pair->is_same = ok && is_same(c, pair);
    return ok;
}

static bool compare_all(struct gm_comparison *c)
{
    struct gm_diff_pair *pairs = gm_arena_calloc(&c->arena, c->run_count, sizeof *pairs);
    c->pairs = pairs;
    bool ok = pairs != NULL && compare_labels(c);
    for (size_t i = 1; ok && i < c->run_count; i++) {
        pairs[i - 1].after = i;
        ok = compare_pair(c, &pairs[i - 1]);
        c->pair_count = i;
    }
    return ok && gm_compare_timeline(c) && gm_compare_series(c) && gm_compare_growth(c);
}

enum gm_status gm_compare(struct gm_comparison *comparison, const struct gm_summary *const *runs, size_t count,
                          const struct gm_compare_options *options, struct gm_error *err)
{
    *comparison = (struct gm_comparison){.limit = options->limit, .top = options->top, .run_count = count};
    comparison->runs = gm_arena_array(&comparison->arena, runs, count, sizeof *runs);
    bool ok = comparison->runs != NULL;
    if (ok && options->limit.text != NULL)
        ok = (comparison->limit.text =
                  gm_arena_copy(&comparison->arena, options->limit.text, strlen(options->limit.text))) != NULL;
    if (ok && compare_all(comparison))
        return GM_OK;
    gm_comparison_free(comparison);
    return gm_no_memory(err);
}
