/* SPDX-License-Identifier: Apache-2.0
 *
 * Roles in the report: what each reason decided, the roles of the blocks at the end, and those of the largest blocks.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/timeline/roles/role_work.h"
#include "analyze/timeline/trace_pass.h"

#include <stdlib.h>
#include <string.h>

static void add(uint64_t *bytes, uint64_t more)
{
    *bytes = gm_known_add(*bytes, more);
}

/* Whether the allocation is an allocated block of the snapshot; *bytes is the block's size. */
static bool is_at_end(const struct gm_history *h, size_t a, uint64_t *bytes)
{
    const struct gm_blocks *blocks = &h->snapshot->blocks;
    if (gm_final_block(h, a) == GM_NO_BLOCK || blocks->state[gm_final_block(h, a)] != GM_BLOCK_ACTIVE_ALLOCATED)
        return false;
    *bytes = blocks->size[gm_final_block(h, a)];
    return true;
}

GM_ORDERING(by_weight, struct gm_role_reason,
            GM_DOWN(bytes_at_peak) || GM_DOWN(bytes_at_end) || GM_BY(strcmp(a->reason, b->reason)));

/* Rules that decided nothing that was there at the peak or at the end are left out. */
bool gm_trace_role_reasons(struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    size_t rules = gm_role_rule_count(), n = 0;
    struct gm_role_reason *rows = gm_arena_calloc(&pass->report->arena, rules, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        struct gm_role_reason *row = &rows[pass->reason[a]];
        uint64_t bytes;
        if (gm_history_is_active(h, a, pass->peak_moment) && !gm_is_hidden(pass, a)) {
            row->blocks_at_peak++;
            add(&row->bytes_at_peak, gm_requested(h, a));
        }
        if (is_at_end(h, a, &bytes)) {
            row->blocks_at_end++;
            add(&row->bytes_at_end, bytes);
        }
    }
    for (size_t i = 0; i < rules; i++) {
        struct gm_role_rule rule = gm_role_rule(i);
        if (rows[i].blocks_at_peak == 0 && rows[i].blocks_at_end == 0)
            continue;
        struct gm_role_reason row = rows[i];
        row.role = gm_role_name(rule.role);
        row.reason = rule.reason;
        row.certainty = rule.certainty;
        rows[n++] = row;
    }
    GM_SORT(rows, n, by_weight);
    pass->out->reasons = rows;
    pass->out->reason_count = n;
    return true;
}

/* ---- the state at the end --------------------------------------------------------------------------------------- */

/* The role of every block of the snapshot. What no history knows (two blocks at one address) is unknown. */
static uint8_t *roles_of_blocks(const struct gm_report *report, const struct gm_trace_pass *passes)
{
    size_t n = report->device_count == 0 ? 0 : passes[0].snapshot->blocks.count;
    uint8_t *role = malloc(n + 1);
    for (size_t b = 0; role != NULL && b < n; b++)
        role[b] = GM_ROLE_UNKNOWN;
    for (size_t d = 0; role != NULL && d < report->device_count; d++) {
        const struct gm_history *h = &passes[d].history;
        for (size_t a = 0; a < h->allocation_count; a++)
            if (gm_final_block(h, a) != GM_NO_BLOCK)
                role[gm_final_block(h, a)] = passes[d].role[a];
    }
    return role;
}

/* The device's row in the report, or device_count. */
static size_t device_row(const struct gm_report *report, int64_t device)
{
    size_t low = 0;
    GM_BISECT(low, report->device_count, i, report->devices[i].device < device);
    return low < report->device_count && report->devices[low].device == device ? low : report->device_count;
}

GM_ORDERING_OF_POINTERS(by_place, struct gm_block_row, GM_UP(device) || GM_UP(address) || GM_BY(GM_ORDER(a, b)));

/* The first row of the sorted ones at or after this place. */
static size_t find_row(struct gm_block_row *const *rows, size_t n, int64_t device, uint64_t address)
{
    size_t low = 0;
    GM_BISECT(low, n, i, rows[i]->device < device || (rows[i]->device == device && rows[i]->address < address));
    return low;
}

struct ends {
    struct gm_report *report;
    const struct gm_snapshot *snapshot;
    const uint8_t *role; /* [block] */
    struct gm_amount amounts[GM_ROLE_COUNT];
    struct gm_block_row **rows; /* of top_blocks, by device and address */
    size_t row_count;
};

static void visit_block(struct ends *e, int64_t device, size_t b)
{
    const struct gm_blocks *blocks = &e->snapshot->blocks;
    if (blocks->state[b] != GM_BLOCK_ACTIVE_ALLOCATED)
        return;
    struct gm_amount *amount = &e->amounts[e->role[b]];
    amount->blocks++;
    amount->bytes = gm_clamp((gm_i128)amount->bytes + blocks->size[b]);
    for (size_t i = find_row(e->rows, e->row_count, device, blocks->address[b]);
         i < e->row_count && e->rows[i]->device == device && e->rows[i]->address == blocks->address[b]; i++)
        if (e->rows[i]->role == NULL && e->rows[i]->bytes == blocks->size[b]) {
            e->rows[i]->role = gm_role_name(e->role[b]);
            break;
        }
}

static void visit_blocks(struct ends *e)
{
    const struct gm_segments *g = &e->snapshot->segments;
    for (size_t s = 0; s < g->count; s++) {
        if (device_row(e->report, g->device[s]) == e->report->device_count)
            continue;
        for (size_t b = g->block_first[s]; b < g->block_first[s] + g->block_count[s]; b++)
            visit_block(e, g->device[s], b);
    }
}

bool gm_trace_state_roles(struct gm_report *report, const struct gm_trace_pass *passes)
{
    size_t n = report->top_block_count;
    GM_FREED uint8_t *role = roles_of_blocks(report, passes);
    struct gm_block_row *rows = gm_arena_array(&report->arena, report->top_blocks, n, sizeof *rows);
    GM_FREED struct gm_block_row **sorted = malloc((n + 1) * sizeof *sorted);
    struct ends e = {.report = report, .role = role, .rows = sorted, .row_count = n};
    size_t count;
    if (role == NULL || rows == NULL || sorted == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &rows[i];
    GM_SORT(sorted, n, by_place);
    if (report->device_count > 0) {
        e.snapshot = passes[0].snapshot;
        visit_blocks(&e);
    }
    const struct gm_slice *slices = gm_role_slices(&report->arena, e.amounts, &count);
    if (slices == NULL)
        return false;
    report->roles = slices;
    report->role_count = count;
    report->top_blocks = rows;
    return true;
}
