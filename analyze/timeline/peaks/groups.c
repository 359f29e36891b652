/* SPDX-License-Identifier: Apache-2.0
 *
 * Live bytes by stack and role, merged into rows.
 */
#include "analyze/timeline/peaks/groups.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/report/frame_kind.h"
#include "analyze/timeline/trace_pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- which stacks belong together ------------------------------------------------------------------------------- */

/* To which group a stack belongs. Equal labels are one group, but whole stacks are told apart however alike their
 * labels are. */

enum { CALLERS_SHOWN = 2 };

bool gm_grouping_start(struct gm_grouping *grouping, struct gm_trace_pass *pass, enum gm_group_by by, size_t depth)
{
    *grouping = (struct gm_grouping){.pass = pass, .by = by, .depth = depth};
    grouping->of_stack = calloc((size_t)pass->snapshot->stacks.count + 1, sizeof *grouping->of_stack);
    return grouping->of_stack != NULL;
}

void gm_grouping_free(struct gm_grouping *grouping)
{
    free(grouping->of_stack);
    gm_intern_free(&grouping->shared);
    GM_FREE_ALL(grouping->of_shared.v, grouping->labels.v);
    *grouping = (struct gm_grouping){0};
}

static const char *category_name(struct gm_trace_pass *pass, uint32_t category)
{
    const char *name = gm_category_name(pass->options->rules, category);
    return gm_arena_copy(&pass->report->arena, name, strlen(name));
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static uint32_t new_group(struct gm_grouping *grouping, const char *label)
{
    if (grouping->labels.n >= GM_NEVER - 1 || !GM_VEC_PUSH(&grouping->labels, label))
        return GM_NEVER;
    return (uint32_t)grouping->labels.n - 1;
}

/* The group with this label. */
static uint32_t group_called(struct gm_grouping *grouping, const char *label)
{
    uint32_t number = gm_intern_add_lasting(&grouping->shared, label, strlen(label));
    if (number == GM_INTERN_NONE)
        return GM_NEVER;
    if (number == grouping->of_shared.n) { /* a new one */
        uint32_t group = new_group(grouping, label);
        if (group == GM_NEVER || !GM_VEC_PUSH(&grouping->of_shared, group))
            return GM_NEVER;
    }
    return grouping->of_shared.v[number];
}

static void add_function(struct gm_text *t, const struct gm_frame_row *frame)
{
    const char *tail = gm_names_path_tail(frame->filename);
    if (frame->name[0] == '\0')
        gm_text_add(t, "unknown function");
    gm_text_add_bytes(t, frame->name, (size_t)gm_names_shown(frame->name));
    if (tail[0] != '\0' && strcmp(tail, "??") != 0)
        gm_text_printf(t, "  %s", tail);
}

/* A function and its file: functions of one name in two files are two. C++ names stand for themselves. */
static const char *function_label(struct gm_grouping *grouping, struct gm_stack_id stack,
                                  const struct gm_frame_row *telling)
{
    if (!gm_frame_is_python(telling->filename))
        return gm_names_site(grouping->pass->names, stack);
    struct gm_text t = {0};
    add_function(&t, telling);
    return gm_text_take(&t, &grouping->pass->report->arena);
}

/* The call site and its callers in Python outside PyTorch, `callers` of them: "a < b < c". */
static const char *stack_label(struct gm_grouping *grouping, struct gm_stack_id stack,
                               const struct gm_frame_row *telling, size_t callers)
{
    size_t count;
    const struct gm_frame_row *frames = gm_names_frames(grouping->pass->names, stack, &count);
    const char *site = gm_names_site(grouping->pass->names, stack);
    if (frames == NULL || site == NULL)
        return NULL;
    const struct gm_snapshot *s = grouping->pass->snapshot;
    const struct gm_frame_id *ids = gm_stack_frames(s, stack, &count);
    struct gm_text t = {0};
    gm_text_add(&t, site);
    for (size_t i = (size_t)(telling - frames) + 1; i < count && callers > 0; i++) {
        unsigned file = gm_names_file_kind(grouping->pass->names, s->frames.filename[ids[i].v]);
        if ((file & GM_FILE_IS_PYTHON) == 0 || (file & GM_FILE_IS_TORCH) != 0)
            continue;
        gm_text_add(&t, " < ");
        add_function(&t, &frames[i]);
        if (frames[i].line != GM_REPORT_NONE)
            gm_text_printf(&t, ":%" PRIu64, frames[i].line);
        callers--;
    }
    return gm_text_take(&t, &grouping->pass->report->arena);
}

/* ---- which group ------------------------------------------------------------------------------------------------- */

static uint32_t group_by_frame(struct gm_grouping *grouping, struct gm_stack_id stack,
                               const struct gm_frame_row *telling)
{
    const char *label = NULL;
    switch (grouping->by) {
    case GM_GROUP_FUNCTION:
        label = function_label(grouping, stack, telling);
        break;
    case GM_GROUP_FILE:
        label =
            telling->filename[0] == '\0' || strcmp(telling->filename, "??") == 0 ? "unknown file" : telling->filename;
        break;
    case GM_GROUP_STACK:
        label = stack_label(grouping, stack, telling, grouping->depth == 0 ? CALLERS_SHOWN : grouping->depth - 1);
        if (grouping->depth == 0)
            return label == NULL ? GM_NEVER : new_group(grouping, label);
        break;
    default:
        label = gm_names_site(grouping->pass->names, stack);
        break;
    }
    return label == NULL ? GM_NEVER : group_called(grouping, label);
}

static uint32_t find_group(struct gm_grouping *grouping, struct gm_stack_id stack)
{
    struct gm_trace_pass *pass = grouping->pass;
    if (grouping->by == GM_GROUP_CATEGORY) {
        const char *name = category_name(pass, gm_classify(pass->options->classifier, stack));
        return name == NULL ? GM_NEVER : group_called(grouping, name);
    }
    const char *site = gm_names_site(pass->names, stack); /* also what says that there is no memory */
    if (site == NULL)
        return GM_NEVER;
    const struct gm_frame_row *telling = gm_names_telling_frame(pass->names, stack);
    return telling == NULL ? group_called(grouping, site) : group_by_frame(grouping, stack, telling);
}

uint32_t gm_grouping_of(struct gm_grouping *grouping, uint32_t stack, uint8_t role)
{
    bool is_by_role = grouping->by == GM_GROUP_ROLE;
    uint32_t *known = is_by_role ? &grouping->of_role[role] : &grouping->of_stack[stack];
    if (*known == 0)
        *known = 1 + (is_by_role ? group_called(grouping, gm_role_name(role))
                                 : find_group(grouping, (struct gm_stack_id){stack}));
    return *known - 1; /* GM_NEVER + 1 is 0 */
}

bool gm_live_start(struct gm_live *live, struct gm_trace_pass *pass)
{
    *live = (struct gm_live){.pass = pass, .first = calloc((size_t)pass->snapshot->stacks.count + 1, sizeof(uint32_t))};
    return live->first != NULL;
}

void gm_live_free(struct gm_live *live)
{
    GM_FREE_ALL(live->first, live->cells.v);
    *live = (struct gm_live){0};
}

bool gm_live_add(struct gm_live *live, size_t allocation, uint64_t bytes)
{
    uint32_t stack = gm_stack_of(&live->pass->history, allocation);
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
            !gm_live_add(live, a, gm_requested(h, a)))
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
    GM_FREED uint32_t *group = malloc((cells + 1) * sizeof *group);
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
    GM_SORT(g->sums, g->count, by_bytes);
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
    size_t depth;
    const struct gm_frame_row *frames = gm_names_frames(pass->names, (struct gm_stack_id){main_stack(g, sum)}, &depth);
    *row = (struct gm_group_row){.label = sum->label,
                                 .category = category_name(pass, category),
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
    GM_FREE_ALL(g.sums, g.next, g.weight);
    return ok;
}

/* ---- numbers by call site --------------------------------------------------------------------------------------- */

bool gm_site_sums_start(struct gm_site_sums *sums, struct gm_trace_pass *pass)
{
    *sums = (struct gm_site_sums){.of_stack = calloc((size_t)pass->snapshot->stacks.count + 1, sizeof *sums->of_stack)};
    return gm_grouping_start(&sums->grouping, pass, GM_GROUP_NONE, 0) && sums->of_stack != NULL;
}

void gm_site_sums_free(struct gm_site_sums *sums)
{
    gm_grouping_free(&sums->grouping);
    GM_FREE_ALL(sums->of_stack, sums->rows.v);
    *sums = (struct gm_site_sums){0};
}

static bool add_stack(struct gm_site_sums *sums, uint32_t stack, const uint64_t *v)
{
    uint32_t group = gm_grouping_of(&sums->grouping, stack, GM_ROLE_UNKNOWN);
    if (group == GM_NEVER)
        return false;
    while (sums->rows.n <= group) { /* groups are numbered in the order in which they are met */
        struct gm_site_sum fresh = {.site = sums->grouping.labels.v[sums->rows.n], .stack = stack};
        if (!GM_VEC_PUSH(&sums->rows, fresh))
            return false;
    }
    struct gm_site_sum *row = &sums->rows.v[group];
    for (int i = 0; i < GM_SITE_VALUES; i++)
        row->v[i] = gm_known_add(row->v[i], v[i]);
    if (v[0] > row->most) {
        row->most = v[0];
        row->stack = stack;
    }
    return true;
}

bool gm_site_sums_add_up(struct gm_site_sums *sums)
{
    bool ok = true;
    for (uint32_t s = 0; ok && s <= sums->grouping.pass->snapshot->stacks.count; s++) {
        const uint64_t *v = sums->of_stack[s];
        ok = (v[0] == 0 && v[2] == 0) || add_stack(sums, s, v);
    }
    return ok;
}

GM_ORDERING(by_value, struct gm_site_sum, GM_DOWN(v[0]) || GM_BY(strcmp(a->site, b->site)));

size_t gm_site_sums_top(struct gm_site_sums *sums, size_t most)
{
    size_t n = 0;
    GM_SORT(sums->rows.v, sums->rows.n, by_value);
    while (n < sums->rows.n && n < most && sums->rows.v[n].v[0] > 0)
        n++;
    return n;
}

bool gm_category_of_stack(struct gm_trace_pass *pass, uint32_t stack, const char **name, uint32_t *color)
{
    const struct gm_category_rules *rules = pass->options->rules;
    uint32_t category = gm_classify(pass->options->classifier, (struct gm_stack_id){stack});
    *name = category_name(pass, category);
    *color = gm_category_color(rules, category);
    return *name != NULL;
}

bool gm_site_rows(struct gm_site_sums *sums, size_t most, const struct gm_group_row **rows, size_t *count)
{
    struct gm_trace_pass *pass = sums->grouping.pass;
    const size_t n = gm_site_sums_top(sums, most);
    struct gm_group_row *out = gm_arena_calloc(&pass->report->arena, n, sizeof *out);
    bool ok = out != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const struct gm_site_sum *sum = &sums->rows.v[i];
        out[i] = (struct gm_group_row){
            .label = sum->site, .bytes = sum->v[0], .blocks = sum->v[1], .peak_without = GM_REPORT_NONE};
        out[i].frames = gm_names_frames(pass->names, (struct gm_stack_id){sum->stack}, &out[i].frame_count);
        ok = out[i].frames != NULL && gm_category_of_stack(pass, sum->stack, &out[i].category, &out[i].color);
    }
    *rows = out;
    *count = ok ? n : 0;
    return ok;
}
