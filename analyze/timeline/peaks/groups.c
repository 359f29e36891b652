/* SPDX-License-Identifier: Apache-2.0
 *
 * Live bytes by stack and role, merged into rows. Which stacks belong together is in grouping.c.
 */
#include "analyze/timeline/peaks/groups.h"

#include "analyze/base/order.h"
#include "analyze/timeline/levels.h"

#include <stdlib.h>
#include <string.h>

bool gm_live_start(struct gm_live *live, struct gm_trace_pass *pass)
{
    *live = (struct gm_live){.pass = pass, .first = calloc((size_t)pass->snapshot->stacks.count + 1, sizeof(uint32_t))};
    return live->first != NULL;
}

void gm_live_free(struct gm_live *live)
{
    free(live->first);
    free(live->cells.v);
    *live = (struct gm_live){0};
}

bool gm_live_add(struct gm_live *live, size_t allocation, uint64_t bytes)
{
    uint32_t stack = live->pass->history.stack[allocation];
    uint8_t role = gm_role_of(live->pass, allocation);
    const struct gm_amount one = {bytes, 1};
    for (uint32_t i = live->first[stack]; i != 0; i = live->cells.v[i - 1].next)
        if (live->cells.v[i - 1].role == role) {
            gm_amount_add(&live->cells.v[i - 1].amount, &one);
            return true;
        }
    struct gm_live_cell cell = {.stack = stack, .next = live->first[stack], .role = role, .amount = one};
    if (!GM_VEC_PUSH(&live->cells, cell))
        return false;
    live->first[stack] = (uint32_t)live->cells.n;
    return true;
}

bool gm_live_add_moment(struct gm_live *live, uint32_t moment)
{
    const struct gm_history *h = &live->pass->history;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_history_is_active(h, a, moment) && !gm_is_hidden(live->pass, a) &&
            !gm_live_add(live, a, h->requested[a]))
            return false;
    return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

struct sum {
    struct gm_amount amount;
    const char *label;
    uint32_t group;
    uint32_t first; /* its first cell, + 1; the others by gather.next */
};

struct gather {
    const struct gm_live *live;
    struct gm_grouping *grouping;
    struct sum *sums; /* [group] */
    size_t count;
    uint32_t *next;   /* [cell] the next of the same group, + 1 */
    uint64_t *weight; /* scratch: [category], then [role] */
};

GM_ORDERING(by_bytes, struct sum, GM_DOWN(amount.bytes) || GM_BY(strcmp(a->label, b->label)) || GM_UP(group));

/* One sum per group that holds something, sorted. */
static bool gather(struct gather *g)
{
    size_t cells = g->live->cells.n;
    uint32_t *group = malloc((cells + 1) * sizeof *group);
    g->next = calloc(cells + 1, sizeof *g->next);
    bool ok = group != NULL && g->next != NULL;
    for (size_t i = 0; ok && i < cells; i++) {
        group[i] = gm_grouping_of(g->grouping, g->live->cells.v[i].stack, g->live->cells.v[i].role);
        ok = group[i] != GM_NEVER;
    }
    size_t groups = g->grouping->labels.n;
    g->sums = ok ? calloc(groups + 1, sizeof *g->sums) : NULL;
    ok = g->sums != NULL;
    for (size_t i = 0; ok && i < cells; i++) {
        struct sum *sum = &g->sums[group[i]];
        gm_amount_add(&sum->amount, &g->live->cells.v[i].amount);
        g->next[i] = sum->first;
        sum->first = (uint32_t)i + 1;
    }
    for (size_t k = 0; ok && k < groups; k++)
        if (g->sums[k].first != 0) {
            struct sum *sum = &g->sums[g->count++];
            *sum = g->sums[k];
            sum->group = (uint32_t)k;
            sum->label = g->grouping->labels.v[k];
        }
    if (ok && g->count > 1)
        qsort(g->sums, g->count, sizeof *g->sums, by_bytes);
    free(group);
    return ok;
}

static uint32_t heaviest(const uint64_t *weight, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < count; i++)
        if (weight[i] > weight[best])
            best = i;
    return best;
}

/* The stack of most of the group's bytes; ties: the lowest. A stack's cells are summed unless roles tell them apart. */
static uint32_t main_stack(const struct gather *g, const struct sum *sum)
{
    const struct gm_live_cell *cells = g->live->cells.v;
    uint32_t best = GM_NEVER;
    uint64_t most = 0;
    for (uint32_t i = sum->first; i != 0; i = g->next[i - 1]) {
        const struct gm_live_cell *cell = &cells[i - 1];
        struct gm_amount amount = cell->amount;
        for (uint32_t k = cell->next; k != 0 && g->grouping->by != GM_GROUP_ROLE; k = cells[k - 1].next)
            gm_amount_add(&amount, &cells[k - 1].amount);
        if (best == GM_NEVER || amount.bytes > most || (amount.bytes == most && cell->stack < best)) {
            best = cell->stack;
            most = amount.bytes;
        }
    }
    return best;
}

static bool make_row(const struct gather *g, const struct sum *sum, struct gm_group_row *row)
{
    struct gm_trace_pass *pass = g->live->pass;
    const struct gm_category_rules *rules = pass->options->rules;
    uint32_t categories = gm_category_count(rules);
    uint64_t *roles = g->weight + categories;
    memset(g->weight, 0, (categories + GM_ROLE_COUNT) * sizeof *g->weight);
    for (uint32_t i = sum->first; i != 0; i = g->next[i - 1]) {
        const struct gm_live_cell *cell = &g->live->cells.v[i - 1];
        uint32_t category = gm_classify(pass->options->classifier, (struct gm_stack_id){cell->stack});
        g->weight[category] = gm_clamp((gm_i128)g->weight[category] + cell->amount.bytes);
        roles[cell->role] = gm_clamp((gm_i128)roles[cell->role] + cell->amount.bytes);
    }
    uint32_t category = heaviest(g->weight, categories);
    const char *name = gm_category_name(rules, category);
    size_t depth;
    const struct gm_frame_row *frames = gm_names_frames(pass->names, (struct gm_stack_id){main_stack(g, sum)}, &depth);
    *row = (struct gm_group_row){.label = sum->label,
                                 .category = gm_arena_copy(&pass->report->arena, name, strlen(name)),
                                 .role = pass->role == NULL ? NULL : gm_role_name(heaviest(roles, GM_ROLE_COUNT)),
                                 .color = gm_category_color(rules, category),
                                 .bytes = sum->amount.bytes,
                                 .blocks = sum->amount.blocks,
                                 .peak_without = GM_REPORT_NONE,
                                 .frames = depth == 0 ? NULL : frames,
                                 .frame_count = depth};
    const struct gm_frame_row *telling =
        g->grouping->by == GM_GROUP_NONE ? gm_names_telling_frame(pass->names, (struct gm_stack_id){main_stack(g, sum)})
                                         : NULL;
    return row->category != NULL && frames != NULL &&
           (telling == NULL ||
            gm_trace_source(pass, telling->filename, telling->line, &row->source, &row->source_note));
}

static bool publish(struct gather *g, struct gm_group_table *table, size_t top)
{
    struct gm_arena *arena = &g->live->pass->report->arena;
    table->total = g->count;
    table->count = g->count < top ? g->count : top;
    table->rows = gm_arena_calloc(arena, table->count, sizeof *table->rows);
    uint32_t *group = gm_arena_calloc(arena, table->count, sizeof *group);
    g->weight = malloc((gm_category_count(g->live->pass->options->rules) + GM_ROLE_COUNT) * sizeof *g->weight);
    bool ok = table->rows != NULL && group != NULL && g->weight != NULL;
    for (size_t i = 0; ok && i < table->count; i++) {
        group[i] = g->sums[i].group;
        ok = make_row(g, &g->sums[i], &table->rows[i]);
    }
    struct gm_amount rest = {0};
    for (size_t i = table->count; i < g->count; i++)
        gm_amount_add(&rest, &g->sums[i].amount);
    table->group = group;
    table->rest_bytes = rest.bytes;
    table->rest_blocks = rest.blocks;
    return ok;
}

bool gm_group_rows(struct gm_group_table *table, const struct gm_live *live, struct gm_grouping *grouping, size_t top)
{
    struct gather g = {.live = live, .grouping = grouping};
    *table = (struct gm_group_table){0};
    bool ok = gather(&g) && publish(&g, table, top);
    free(g.sums);
    free(g.next);
    free(g.weight);
    return ok;
}
