/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/fleet_model.h"

#include "analyze/base/bisect.h"
#include "analyze/base/order.h"

static uint64_t peak_or(const struct gm_fleet_item *item, enum gm_level level, uint64_t total)
{
    return item->has_trace && item->peaks[level] != GM_REPORT_NONE ? item->peaks[level] : total;
}

uint64_t gm_fleet_reserved(const struct gm_fleet_item *item)
{
    return peak_or(item, GM_LEVEL_RESERVED, item->totals.reserved);
}

bool gm_fleet_knows(const struct gm_fleet_item *item, enum gm_level level)
{
    return !item->lacks_end || item->peaks[level] != GM_REPORT_NONE;
}

uint64_t gm_fleet_allocated(const struct gm_fleet_item *item)
{
    return peak_or(item, GM_LEVEL_ALLOCATED, item->totals.allocated);
}

uint64_t gm_fleet_held(const struct gm_fleet_item *item)
{
    return item->has_trace ? peak_or(item, GM_LEVEL_REQUESTED, 0) : item->totals.allocated;
}

uint64_t gm_fleet_use_held(const struct gm_fleet_item *item, const struct gm_fleet_use *use)
{
    return item->has_trace ? use->peak : use->end;
}

double gm_fleet_imbalance(const struct gm_fleet_spread *spread)
{
    return spread->mean > 0 ? (double)spread->most / spread->mean : 0;
}

static int compare_cell(const struct gm_fleet_item *item, size_t row, size_t column)
{
    return item->row != row ? GM_ORDER(item->row, row) : GM_ORDER(item->column, column);
}

size_t gm_fleet_find(const struct gm_fleet *fleet, size_t row, size_t column)
{
    size_t low = 0;
    GM_BISECT(low, fleet->item_count, i, compare_cell(&fleet->items[i], row, column) < 0);
    const bool is_there = low < fleet->item_count && compare_cell(&fleet->items[low], row, column) == 0;
    return is_there ? fleet->items[low].shown : SIZE_MAX;
}

void gm_fleet_free(struct gm_fleet *fleet)
{
    gm_arena_free(&fleet->arena);
    *fleet = (struct gm_fleet){0};
}
