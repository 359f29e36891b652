/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/fleet_parts.h"

#include "analyze/base/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gm_fleet_add_column(struct gm_text *out, const struct gm_fleet_column *column)
{
    if (column->iteration == GM_FLEET_NONE)
        gm_text_add(out, "no iteration");
    else
        gm_text_printf(out, "iteration %" PRId64, column->iteration);
}

bool gm_fleet_has_iterations(const struct gm_fleet *fleet)
{
    return fleet->column_count > 1 || (fleet->column_count == 1 && fleet->columns[0].iteration != GM_FLEET_NONE);
}

void gm_fleet_add_item(struct gm_text *out, const struct gm_fleet *fleet, const struct gm_fleet_item *item)
{
    gm_text_add(out, fleet->rows[item->row].label);
    if (item->iteration != GM_FLEET_NONE && item->rank != GM_FLEET_NONE)
        gm_text_printf(out, ", iteration %" PRId64, item->iteration);
}

void gm_fleet_add_numbers(struct gm_text *out, const int64_t *numbers, size_t count, size_t most)
{
    size_t ranges = 0, end;
    for (size_t i = 0; i < count; i = end, ranges++) {
        for (end = i + 1; end < count && numbers[end] == numbers[end - 1] + 1;)
            end++;
        if (ranges == most) {
            gm_text_printf(out, " and %zu more", count - i);
            return;
        }
        gm_text_printf(out, "%s%" PRId64, ranges > 0 ? ", " : "", numbers[i]);
        if (end - i > 1)
            gm_text_printf(out, "-%" PRId64, numbers[end - 1]);
    }
}

void gm_fleet_add_members(struct gm_text *out, const struct gm_fleet *fleet, const struct gm_fleet_group *group,
                          size_t most)
{
    int64_t *ranks = calloc(group->count + 1, sizeof *ranks);
    size_t n = 0, unnamed = 0;
    if (ranks == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < group->count; i++)
        if (fleet->items[group->items[i]].rank != GM_FLEET_NONE)
            ranks[n++] = fleet->items[group->items[i]].rank;
    if (n > 0) {
        gm_text_add(out, n == 1 ? "rank " : "ranks ");
        gm_fleet_add_numbers(out, ranks, n, most);
    }
    for (size_t i = 0; i < group->count; i++) {
        const struct gm_fleet_item *item = &fleet->items[group->items[i]];
        if (item->rank != GM_FLEET_NONE)
            continue;
        if (unnamed < most)
            gm_text_printf(out, "%s%s", n + unnamed > 0 ? ", " : "", fleet->rows[item->row].label);
        unnamed++;
    }
    if (unnamed > most)
        gm_text_printf(out, " and %zu more", unnamed - most);
    free(ranks);
}

void gm_fleet_add_site(struct gm_text *out, const struct gm_fleet_site *site)
{
    gm_text_add(out, site->label);
    if (site->via != NULL)
        gm_text_printf(out, " (%s)", site->via);
}

char *gm_fleet_ratio(char out[GM_NUMBER_TEXT], double value)
{
    const uint64_t thousandths = (uint64_t)(fmin(fmax(value, 0), 1e15) * 1000 + 0.5);
    snprintf(out, GM_NUMBER_TEXT, "%" PRIu64 ".%03u", thousandths / 1000, (unsigned)(thousandths % 1000));
    return out;
}

char *gm_fleet_delta_text(char out[GM_NUMBER_TEXT], int64_t delta)
{
    char text[GM_SIZE_TEXT];
    snprintf(out, GM_NUMBER_TEXT, "%s", gm_size_format_delta(text, delta));
    return out;
}

char *gm_fleet_iterations(char out[GM_NUMBER_TEXT], double value)
{
    const double most = fmin(fmax(value, 0), 1e15);
    snprintf(out, GM_NUMBER_TEXT, most < 99.95 ? "%.1f" : "%.0f", most < 99.95 ? most : floor(most));
    return out;
}

static int64_t to_bytes(double value)
{
    return (int64_t)fmin(fmax(round(value), -9e18), 9e18);
}

char *gm_fleet_slope(char out[GM_NUMBER_TEXT], double bytes)
{
    if (!isfinite(bytes)) {
        snprintf(out, GM_NUMBER_TEXT, "n/a");
        return out;
    }
    return gm_fleet_delta_text(out, to_bytes(bytes));
}

void gm_fleet_add_line(struct gm_text *out, const struct gm_fleet_line *line)
{
    char slope[GM_NUMBER_TEXT], error[GM_SIZE_TEXT];
    gm_text_add(out, gm_fleet_slope(slope, line->slope));
    if (isfinite(line->error))
        gm_text_printf(out, " +- %s", gm_size_format(error, (uint64_t)to_bytes(fmax(line->error, 0))));
}

size_t gm_fleet_growing(const struct gm_fleet *fleet)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->growth_count; i++)
        n += fleet->growths[i].reserved.is_growing || fleet->growths[i].allocated_end.is_growing;
    return n;
}

/* ---- sentences -----------------------------------------------------------------------------------------------------
 */

void gm_fleet_add_oom(struct gm_text *out, const struct gm_fleet *fleet, const struct gm_fleet_item *item)
{
    char text[GM_NUMBER_TEXT];
    const struct gm_fleet_oom *oom = &item->oom;
    gm_fleet_add_item(out, fleet, item);
    gm_text_printf(out, " ran out of memory at event %s", gm_count_format(text, oom->event));
    gm_text_printf(out, " of device %" PRId64 ": ", oom->device);
    gm_text_printf(out, "%s asked by %s", gm_bytes_format(text, oom->asked), oom->site);
    if (oom->device_free != GM_REPORT_NONE)
        gm_text_printf(out, ", %s free on the device", gm_bytes_format(text, oom->device_free));
    if (oom->reserved != GM_REPORT_NONE)
        gm_text_printf(out, ", %s reserved by PyTorch", gm_bytes_format(text, oom->reserved));
}

static void add_imbalance(struct gm_text *out, const struct gm_fleet *fleet)
{
    char text[GM_NUMBER_TEXT], most[GM_NUMBER_TEXT];
    const struct gm_fleet_column *c = &fleet->columns[fleet->reference];
    if (c->ranks < 2 || c->reserved.most_item == SIZE_MAX)
        return;
    gm_text_printf(out, " The highest rank reserves %s times the mean",
                   gm_fleet_ratio(text, gm_fleet_imbalance(&c->reserved)));
    gm_text_printf(out, " (%s, mean %s)", gm_bytes_format(most, c->reserved.most),
                   gm_bytes_format(text, c->reserved.mean < 0x1p64 ? (uint64_t)c->reserved.mean : UINT64_MAX - 1));
    if (gm_fleet_has_iterations(fleet)) {
        gm_text_add(out, " at ");
        gm_fleet_add_column(out, c);
    }
    gm_text_add_char(out, '.');
}

/* How many, and the farthest by name. */
static void add_odd(struct gm_text *out, const struct gm_fleet *fleet)
{
    enum { NAMED = 3 };
    char text[GM_NUMBER_TEXT];
    if (fleet->odd_total == 0)
        return;
    gm_text_printf(out, " %zu rank%s unlike the others: ", fleet->odd_total, fleet->odd_total == 1 ? " is" : "s are");
    for (size_t i = 0; i < fleet->odd_count && i < NAMED; i++) {
        const struct gm_fleet_odd *odd = &fleet->odds[i];
        gm_text_add(out, i > 0 ? "; " : "");
        gm_fleet_add_item(out, fleet, &fleet->items[odd->item]);
        const bool is_held = llabs(odd->held_delta) > llabs(odd->reserved_delta);
        gm_text_printf(out, " (%s %s)", gm_fleet_delta_text(text, is_held ? odd->held_delta : odd->reserved_delta),
                       is_held ? "held" : "reserved");
    }
    gm_text_add(out, fleet->odd_total > NAMED ? "; ..." : ".");
}

void gm_fleet_add_verdict(struct gm_text *out, const struct gm_fleet *fleet)
{
    char text[GM_NUMBER_TEXT];
    size_t top = SIZE_MAX;
    for (size_t i = 0; i < fleet->item_count; i++)
        if (fleet->items[i].status == GM_OK &&
            (top == SIZE_MAX || gm_fleet_reserved(&fleet->items[i]) > gm_fleet_reserved(&fleet->items[top])))
            top = i;
    if (top == SIZE_MAX) {
        gm_text_add(out, "No snapshot could be read.");
        return;
    }
    gm_text_printf(out, "Peak reserved %s on ", gm_bytes_format(text, gm_fleet_reserved(&fleet->items[top])));
    gm_fleet_add_item(out, fleet, &fleet->items[top]);
    gm_text_add_char(out, '.');
    if (fleet->oom_count > 0) {
        gm_text_add(out, " Out of memory: ");
        gm_fleet_add_oom(out, fleet, &fleet->items[fleet->ooms[0]]);
        gm_text_add(out, fleet->oom_count > 1 ? "; it was the first of " : ".");
        if (fleet->oom_count > 1)
            gm_text_printf(out, "%zu.", fleet->oom_count);
    }
    add_imbalance(out, fleet);
    add_odd(out, fleet);
    if (fleet->read_count < fleet->item_count)
        gm_text_printf(out, " %zu snapshot%s could not be read and %s left out.", fleet->item_count - fleet->read_count,
                       gm_plural(fleet->item_count - fleet->read_count),
                       fleet->item_count - fleet->read_count == 1 ? "is" : "are");
    if (gm_fleet_growing(fleet) > 0)
        gm_text_printf(out, " %zu rank%s from iteration to iteration.", gm_fleet_growing(fleet),
                       gm_fleet_growing(fleet) == 1 ? " grows" : "s grow");
}
