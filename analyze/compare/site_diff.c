/* SPDX-License-Identifier: Apache-2.0
 *
 * Call sites of two runs, matched by their whole normalised stacks.
 */
#include "analyze/base/intern.h"
#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/compare/comparison_parts.h"

#include <stdlib.h>
#include <string.h>

struct matching {
    struct gm_comparison *c;
    struct gm_intern frames, stacks;
    struct GM_VEC(uint32_t) numbers;
    struct gm_text key;
    struct matched {
        const struct gm_summary_site *base, *after;
    } * sites;                             /* by number in stacks */
    const struct gm_summary *base, *after; /* for the order */
};

/* The frames of both runs under common numbers: of_frame[frame of the run]. NULL: no memory. */
static uint32_t *number_frames(struct matching *m, const struct gm_summary *s)
{
    uint32_t *of_frame = malloc((s->frame_count + 1) * sizeof *of_frame);
    bool ok = of_frame != NULL;
    for (size_t i = 0; ok && i < s->frame_count; i++) {
        const struct gm_summary_frame *f = &s->frames[i];
        m->key.length = 0;
        gm_text_add_bytes(&m->key, f->name, strlen(f->name) + 1);
        gm_text_add_bytes(&m->key, f->file, strlen(f->file) + 1);
        gm_text_add_char(&m->key, f->is_python ? 'p' : 'n');
        of_frame[i] = m->key.failed ? GM_INTERN_NONE : gm_intern_add(&m->frames, m->key.data, m->key.length);
        ok = of_frame[i] != GM_INTERN_NONE;
    }
    if (ok)
        return of_frame;
    free(of_frame);
    return NULL;
}

static bool add_run(struct matching *m, const struct gm_summary *s, bool is_base)
{
    GM_FREED uint32_t *of_frame = number_frames(m, s);
    bool ok = of_frame != NULL;
    for (size_t i = 0; ok && i < s->site_count; i++) {
        const struct gm_summary_site *site = &s->sites[i];
        m->numbers.n = 0;
        ok = GM_VEC_ROOM(&m->numbers, site->frame_count + 1) && m->numbers.v != NULL;
        for (size_t k = 0; ok && k < site->frame_count; k++)
            m->numbers.v[m->numbers.n++] = of_frame[site->frames[k]];
        uint32_t number =
            ok ? gm_intern_add(&m->stacks, m->numbers.v, m->numbers.n * sizeof *m->numbers.v) : GM_INTERN_NONE;
        ok = number != GM_INTERN_NONE;
        if (ok && is_base)
            m->sites[number].base = site;
        else if (ok)
            m->sites[number].after = site;
    }
    return ok;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The same whichever run is BASE. */
static const char *smaller(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == NULL ? b : a;
    return strcmp(a, b) <= 0 ? a : b;
}

static void describe(struct gm_diff_site *row)
{
    const struct gm_summary_site *b = row->base, *a = row->after;
    const struct gm_summary_site *main = b == NULL ? a : b;
    if (a != NULL && b != NULL) {
        row->row.name = smaller(b->site, a->site);
        row->via = smaller(b->via, a->via);
        row->category = smaller(b->category, a->category);
        row->row.color = row->category == b->category ? b->color : a->color;
        return;
    }
    if (main == NULL)
        return;
    row->row.name = main->site;
    row->via = main->via;
    row->category = main->category;
    row->row.color = main->color;
}

static int compare_text(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b);
}

static const struct gm_summary_frame *frame_of(const struct gm_diff_site *row, const struct matching *m, size_t i)
{
    const struct gm_summary *s = row->base != NULL ? m->base : m->after;
    const struct gm_summary_site *site = row->base != NULL ? row->base : row->after;
    return &s->frames[site->frames[i]];
}

static int compare_stacks(const struct gm_diff_site *a, const struct gm_diff_site *b, const struct matching *m)
{
    const size_t x = (a->base != NULL ? a->base : a->after)->frame_count;
    const size_t y = (b->base != NULL ? b->base : b->after)->frame_count;
    for (size_t i = 0; i < x && i < y; i++) {
        const struct gm_summary_frame *f = frame_of(a, m, i), *g = frame_of(b, m, i);
        int order = compare_text(f->name, g->name);
        if (order == 0)
            order = compare_text(f->file, g->file);
        if (order != 0)
            return order;
    }
    return GM_ORDER(x, y);
}

static int by_change(const void *left, const void *right, void *matching)
{
    const struct gm_diff_site *a = left, *b = right;
    if ((a->moved == NULL) != (b->moved == NULL))
        return a->moved == NULL ? -1 : 1;
    int order = gm_diff_row_order(&a->row, &b->row);
    if (order == 0)
        order = compare_text(a->via, b->via);
    if (order == 0)
        order = compare_text(a->category, b->category);
    return order != 0 ? order : compare_stacks(a, b, matching);
}

GM_ORDERING_OF_POINTERS(by_label, struct gm_diff_site,
                        GM_BY(strcmp(a->row.name, b->row.name)) || GM_BY(compare_text(a->via, b->via)) ||
                            GM_BY(compare_text(a->category, b->category)) || GM_BY(GM_ORDER(a, b)));

static bool same_label(const struct gm_diff_site *a, const struct gm_diff_site *b)
{
    return strcmp(a->row.name, b->row.name) == 0 && compare_text(a->via, b->via) == 0 &&
           compare_text(a->category, b->category) == 0;
}

/* Numbers rows that read alike: their stacks differ elsewhere. */
static bool number_twins(struct gm_diff_site *rows, size_t n)
{
    GM_FREED struct gm_diff_site **order = malloc((n + 1) * sizeof *order);
    if (order == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        order[i] = &rows[i];
    GM_SORT(order, n, by_label);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && same_label(order[i - 1], order[i]))
            order[i]->twin = order[i - 1]->twin + 1;
        else if (i + 1 < n && same_label(order[i], order[i + 1]))
            order[i]->twin = 1;
    }
    return true;
}

/* ---- what moved -------------------------------------------------------------------------------------------------- */

/* Of a row that is new or gone: what it holds in the run that has it. */
static const struct gm_amount *amount_of(const struct gm_diff_site *row)
{
    return row->row.kind == GM_DIFF_NEW ? &row->row.after : &row->row.base;
}

/* Whether two rows hold as many bytes, in as many blocks of one category. */
GM_ORDERING(compare_held, struct gm_diff_site,
            GM_BY(GM_ORDER(amount_of(b)->bytes, amount_of(a)->bytes)) ||
                GM_BY(GM_ORDER(amount_of(b)->blocks, amount_of(a)->blocks)) ||
                GM_BY(compare_text(a->category, b->category)));

/* Equal ones side by side, in the order of their names whichever run is BASE. */
static int by_held(const void *left, const void *right, void *matching)
{
    const struct gm_diff_site *a = *(struct gm_diff_site *const *)left, *b = *(struct gm_diff_site *const *)right;
    const int order = compare_held(a, b);
    return order != 0 ? order : by_change(a, b, matching);
}

static void move(struct gm_diff_sums *sums, struct gm_diff_tally *tally, struct gm_diff_site *row,
                 const struct gm_summary_site *other)
{
    sums->counts[row->row.kind]--;
    tally->deltas[row->row.kind] -= row->row.delta;
    row->row.kind = GM_DIFF_MOVED;
    row->moved = other;
    sums->counts[GM_DIFF_MOVED]++;
    tally->deltas[GM_DIFF_MOVED] += row->row.delta;
}

/* Two rows, one gone and one new, that hold the same are one thing under another name, if no third one does. */
static bool find_moved(struct matching *m, struct gm_diff_sums *sums, struct gm_diff_tally *tally,
                       struct gm_diff_site *rows, size_t count)
{
    size_t n = 0;
    GM_FREED struct gm_diff_site **order = malloc((count + 1) * sizeof *order);
    if (order == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (rows[i].row.kind == GM_DIFF_NEW || rows[i].row.kind == GM_DIFF_GONE)
            order[n++] = &rows[i];
    if (n > 1)
        qsort_r(order, n, sizeof *order, by_held, m);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && compare_held(order[i], order[end]) == 0;)
            end++;
        if (end - i != 2 || order[i]->row.kind == order[i + 1]->row.kind)
            continue;
        struct gm_diff_site *gone = order[i]->row.kind == GM_DIFF_GONE ? order[i] : order[i + 1];
        struct gm_diff_site *new = gone == order[i] ? order[i + 1] : order[i];
        move(sums, tally, gone, new->after);
        move(sums, tally, new, gone->base);
    }
    return true;
}

static bool make_table(struct matching *m, struct gm_diff_site_table *out, bool at_peak, uint64_t base_total,
                       uint64_t after_total)
{
    const size_t n = m->stacks.entries.n;
    size_t count = 0;
    struct gm_diff_tally tally = {0};
    GM_FREED struct gm_diff_site *rows = malloc((n + 1) * sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct gm_diff_site row = {.base = m->sites[i].base, .after = m->sites[i].after};
        if (row.base != NULL)
            row.row.base = at_peak ? row.base->peak : row.base->end;
        if (row.after != NULL)
            row.row.after = at_peak ? row.after->peak : row.after->end;
        if (row.row.base.blocks == 0 && row.row.after.blocks == 0)
            continue; /* it holds nothing then */
        bool changed = gm_diff_row_changed(&row.row, row.row.base.blocks > 0, row.row.after.blocks > 0);
        gm_diff_count(&out->sums, &tally, &row.row);
        describe(&row);
        if (changed)
            rows[count++] = row;
    }
    bool ok = find_moved(m, &out->sums, &tally, rows, count);
    if (count > 1)
        qsort_r(rows, count, sizeof *rows, by_change, m);
    ok = ok && number_twins(rows, count);
    out->count = count;
    out->rows = gm_arena_array(&m->c->arena, rows, count, sizeof *rows);
    gm_diff_finish(&out->sums, &tally, base_total, after_total);
    return ok && out->rows != NULL;
}

bool gm_compare_sites(struct gm_comparison *c, struct gm_diff_pair *pair)
{
    const struct gm_summary *b = c->runs[0], *a = c->runs[pair->after];
    struct matching m = {.c = c, .base = b, .after = a};
    m.sites = calloc(b->site_count + a->site_count + 1, sizeof *m.sites);
    bool ok = m.sites != NULL && add_run(&m, b, true) && add_run(&m, a, false) &&
              make_table(&m, &pair->sites, false, b->totals.allocated, a->totals.allocated) &&
              (!b->has_trace || !a->has_trace ||
               make_table(&m, &pair->sites_at_peak, true, b->peaks[GM_LEVEL_REQUESTED], a->peaks[GM_LEVEL_REQUESTED]));
    gm_intern_free(&m.frames);
    gm_intern_free(&m.stacks);
    GM_FREE_ALL(m.numbers.v, m.key.data, m.sites);
    return ok;
}
