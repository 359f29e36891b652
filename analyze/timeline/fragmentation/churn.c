/* SPDX-License-Identifier: Apache-2.0
 *
 * Churn: allocations that were made and freed in the trace, by call site. A temporary is one that was freed before any
 * other allocation was made on the device: its memory could have served the one before. Allocations are numbered in
 * the order in which they were made, so one walk over them is enough.
 */
#include "analyze/timeline/fragmentation/fragmentation.h"

#include "analyze/base/order.h"

#include <stdlib.h>

enum { LIVES = 4096 }; /* of a call site that are looked at for the median: all, or each k-th */

struct sums {
    uint64_t allocs, bytes, temporary;
};

struct churn {
    struct gm_trace_pass *pass;
    struct sums *by_stack;  /* [gm_stack_id] */
    uint32_t *row_of_stack; /* [gm_stack_id] row of the table, + 1; 0: none */
};

/* Made and freed in the window that is reported on; not one whose free is missing. */
static bool is_churn(const struct gm_trace_pass *pass, uint32_t a)
{
    const struct gm_history *h = &pass->history;
    return h->born[a] > pass->from && h->freed[a] != GM_NEVER && h->freed[a] <= pass->to &&
           h->of_event[h->freed[a] - 1] == a && !gm_is_hidden(pass, a);
}

static void count(struct churn *c, uint32_t a, bool is_temporary, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &c->pass->history;
    struct sums *s = &c->by_stack[h->stack[a]];
    uint64_t bytes = h->requested[a], room = UINT64_MAX - 1;
    s->allocs++;
    s->bytes = bytes > room - s->bytes ? room : s->bytes + bytes;
    if (!is_temporary)
        return;
    s->temporary++;
    out->temporary_allocs++;
    out->temporary_bytes = bytes > room - out->temporary_bytes ? room : out->temporary_bytes + bytes;
}

static void count_all(struct churn *c, struct gm_fragmentation_history *out)
{
    const struct gm_history *h = &c->pass->history;
    uint32_t before = GM_NEVER; /* the allocation made last */
    for (uint32_t a = 0; a < h->allocation_count; a++) {
        if (h->born[a] == 0)
            continue;
        if (before != GM_NEVER && is_churn(c->pass, before))
            count(c, before, h->let_go[before] < h->born[a], out);
        before = a;
    }
    if (before != GM_NEVER && is_churn(c->pass, before))
        count(c, before, true, out);
}

/* ---- how long they live ------------------------------------------------------------------------------------------ */

struct lives {
    uint64_t *v; /* of all rows */
    size_t first, n;
    uint64_t every, seen; /* each `every`-th is taken */
};

static void collect(const struct churn *c, struct lives *lives)
{
    const struct gm_history *h = &c->pass->history;
    for (uint32_t a = 0; a < h->allocation_count; a++) {
        uint32_t row = h->born[a] == 0 ? 0 : c->row_of_stack[h->stack[a]];
        if (row == 0 || !is_churn(c->pass, a))
            continue;
        struct lives *l = &lives[row - 1];
        if (l->seen++ % l->every != 0)
            continue;
        uint64_t life = gm_time_between(h, h->born[a] - 1, h->let_go[a] - 1);
        if (life != GM_REPORT_NONE)
            l->v[l->first + l->n++] = life;
    }
}

/* The median life of each row; the lower of the two middle ones. */
static bool find_medians(const struct churn *c, struct gm_site_stat *rows, size_t n)
{
    size_t room = 0;
    struct lives *lives = calloc(n + 1, sizeof *lives);
    for (size_t i = 0; lives != NULL && i < n; i++) {
        lives[i].every = rows[i].allocs / LIVES + (rows[i].allocs % LIVES != 0);
        lives[i].first = room;
        room += (size_t)(rows[i].allocs / lives[i].every) + 1;
    }
    uint64_t *v = malloc((room + 1) * sizeof *v);
    bool ok = lives != NULL && v != NULL;
    for (size_t i = 0; ok && i < n; i++)
        lives[i].v = v;
    if (ok)
        collect(c, lives);
    for (size_t i = 0; ok && i < n; i++) {
        if (lives[i].n == 0)
            continue;
        qsort(v + lives[i].first, lives[i].n, sizeof *v, gm_by_number);
        rows[i].median_life_us = v[lives[i].first + (lives[i].n - 1) / 2];
    }
    free(lives);
    free(v);
    return ok;
}

/* ----------------------------------------------------------------------------------------------------------------- */

static bool fill_rows(struct churn *c, struct gm_site_sums *sites, struct gm_fragmentation_history *out)
{
    struct gm_trace_pass *pass = c->pass;
    size_t stacks = pass->snapshot->stacks.count;
    /* Sorting moves rows away from their groups: what a stack's group is called tells its row again. */
    gm_site_sums_sort(sites, 0);
    size_t n = pass->options->top < sites->rows.n ? pass->options->top : sites->rows.n;
    struct gm_site_stat *rows = gm_arena_calloc(&pass->report->arena, n, sizeof *rows);
    uint32_t *row_of_group = calloc(sites->rows.n + 1, sizeof *row_of_group);
    bool ok = rows != NULL && row_of_group != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_site_sum *sum = &sites->rows.v[i];
        rows[i] = (struct gm_site_stat){.site = sum->site,
                                        .allocs = sum->v[0],
                                        .bytes = sum->v[1],
                                        .temporary_allocs = sum->v[2],
                                        .median_life_us = GM_REPORT_NONE};
        row_of_group[gm_grouping_of(&sites->grouping, sum->stack, GM_ROLE_UNKNOWN)] = (uint32_t)i + 1;
        ok = gm_category_of_stack(pass, sum->stack, &rows[i].category, &rows[i].color);
    }
    for (uint32_t s = 0; ok && s < stacks; s++)
        if (c->by_stack[s].allocs > 0)
            c->row_of_stack[s] = row_of_group[gm_grouping_of(&sites->grouping, s, GM_ROLE_UNKNOWN)];
    ok = ok && find_medians(c, rows, n);
    free(row_of_group);
    out->churn = rows;
    out->churn_count = n;
    return ok;
}

bool gm_fragmentation_churn(struct gm_trace_pass *pass, struct gm_fragmentation_history *out)
{
    size_t stacks = pass->snapshot->stacks.count;
    struct gm_site_sums sites = {0};
    struct churn c = {.pass = pass,
                      .by_stack = calloc(stacks + 1, sizeof *c.by_stack),
                      .row_of_stack = calloc(stacks + 1, sizeof *c.row_of_stack)};
    bool ok = c.by_stack != NULL && c.row_of_stack != NULL && gm_site_sums_start(&sites, pass);
    if (ok)
        count_all(&c, out);
    for (uint32_t s = 0; ok && s < stacks; s++) {
        const uint64_t v[GM_SITE_VALUES] = {c.by_stack[s].allocs, c.by_stack[s].bytes, c.by_stack[s].temporary};
        ok = v[0] == 0 || gm_site_sums_add(&sites, s, v);
    }
    ok = ok && fill_rows(&c, &sites, out);
    gm_site_sums_free(&sites);
    free(c.by_stack);
    free(c.row_of_stack);
    return ok;
}
