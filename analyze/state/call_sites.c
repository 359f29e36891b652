/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocated bytes by call site: the place in the user's code where the blocks were made (site_labels.c), whatever
 * happened below it. Where the list of largest blocks names forty equal blocks, this names the one line that made them.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/state/state_pass.h"

#include <stdlib.h>
#include <string.h>

/* Sums the allocated blocks by stack; amounts[stack]. */
static void sum_stacks(const struct gm_pass *pass, struct gm_amount *amounts)
{
    const struct gm_segments *g = &pass->snapshot->segments;
    const struct gm_blocks *blocks = &pass->snapshot->blocks;
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        for (size_t i = device->first; i < device->first + device->count; i++) {
            size_t first = g->block_first[pass->order[i]], end = first + g->block_count[pass->order[i]];
            for (size_t b = first; b < end; b++) {
                struct gm_amount *amount = &amounts[blocks->stack[b].v];
                if (blocks->state[b] != GM_BLOCK_ACTIVE_ALLOCATED)
                    continue;
                amount->bytes = gm_sat_add(amount->bytes, blocks->size[b]);
                amount->blocks++;
            }
        }
    }
}

GM_ORDERING(by_place, struct gm_site_row, GM_BY(strcmp(a->site, b->site)) || GM_BY(strcmp(a->category, b->category)));

GM_ORDERING(by_bytes, struct gm_site_row, GM_DOWN(bytes) || GM_BY(by_place(a, b)));

/* Adds up rows of one place and category; returns how many are left. */
static size_t merge(struct gm_site_row *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_place(&rows[kept - 1], &rows[i]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        rows[kept - 1].bytes = gm_sat_add(rows[kept - 1].bytes, rows[i].bytes);
        rows[kept - 1].blocks += rows[i].blocks;
    }
    return kept;
}

static bool add_rows(struct gm_pass *pass, const struct gm_amount *amounts, struct gm_site_row *rows, size_t *n)
{
    const struct gm_category_rules *rules = pass->options->rules;
    for (uint32_t stack = 0; stack < pass->snapshot->stacks.count; stack++) {
        if (amounts[stack].blocks == 0)
            continue;
        uint32_t category = gm_classify(pass->classifier, (struct gm_stack_id){stack});
        struct gm_site_row *row = &rows[(*n)++];
        row->site = gm_names_site(&pass->names, (struct gm_stack_id){stack});
        row->category = gm_category_name(rules, category);
        row->color = gm_category_color(rules, category);
        row->bytes = amounts[stack].bytes;
        row->blocks = amounts[stack].blocks;
        if (row->site == NULL)
            return false;
    }
    return true;
}

/* Publishes the first rows; category names become the report's own. */
static bool publish(struct gm_pass *pass, const struct gm_site_row *rows, size_t n)
{
    size_t shown = n < pass->options->top ? n : pass->options->top;
    struct gm_site_row *own = gm_arena_calloc(&pass->report->arena, shown, sizeof *own);
    if (own == NULL)
        return false;
    for (size_t i = 0; i < shown; i++) {
        own[i] = rows[i];
        own[i].category = gm_arena_copy(&pass->report->arena, rows[i].category, strlen(rows[i].category));
        if (own[i].category == NULL)
            return false;
    }
    pass->report->sites = own;
    pass->report->site_count = shown;
    pass->report->site_total = n;
    return true;
}

bool gm_pass_call_sites(struct gm_pass *pass)
{
    size_t stacks = pass->snapshot->stacks.count, n = 0;
    struct gm_amount *amounts = calloc(stacks + 1, sizeof *amounts);
    struct gm_site_row *rows = NULL;
    bool ok = false;
    if (amounts != NULL) {
        sum_stacks(pass, amounts);
        size_t used = 0;
        for (size_t i = 0; i < stacks; i++)
            used += amounts[i].blocks > 0;
        rows = calloc(used + 1, sizeof *rows);
    }
    if (rows != NULL && add_rows(pass, amounts, rows, &n)) {
        qsort(rows, n, sizeof *rows, by_place);
        n = merge(rows, n);
        qsort(rows, n, sizeof *rows, by_bytes);
        ok = publish(pass, rows, n);
    }
    free(rows);
    free(amounts);
    return ok;
}
