/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and sentences of a fleet.
 */
#include "analyze/document/fleet_sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

const char *gm_fleet_iteration(struct gm_doc *d, int64_t iteration)
{
    return iteration == GM_FLEET_NONE ? "no iteration" : gm_doc_printf(d, "%" PRId64, iteration);
}

const char *gm_fleet_column_name(struct gm_doc *d, const struct gm_fleet_column *column)
{
    return column->iteration == GM_FLEET_NONE ? "no iteration"
                                              : gm_doc_printf(d, "iteration %" PRId64, column->iteration);
}

bool gm_fleet_has_iterations(const struct gm_fleet *f)
{
    return f->column_count > 1 || (f->column_count == 1 && f->columns[0].iteration != GM_FLEET_NONE);
}

const char *gm_fleet_item_name(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_item *item)
{
    const char *label = f->rows[item->row].label;
    if (item->rank == GM_FLEET_NONE)
        return gm_doc_printf(d, GM_QUOTED, label);
    return item->iteration == GM_FLEET_NONE ? label
                                            : gm_doc_printf(d, "%s, iteration %" PRId64, label, item->iteration);
}

/* As ranges, of which `most` are told. */
static void add_numbers(struct gm_text *out, const int64_t *numbers, size_t count, size_t most)
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

const char *gm_fleet_numbers(struct gm_doc *d, const int64_t *numbers, size_t count)
{
    struct gm_text text = {0};
    add_numbers(&text, numbers, count, 12);
    return gm_doc_take(d, &text);
}

/* Those that have no rank, by their names. */
static void add_unnamed(struct gm_text *out, const struct gm_fleet *f, const struct gm_fleet_group *group, size_t most)
{
    size_t unnamed = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct gm_fleet_item *item = &f->items[group->items[i]];
        if (item->rank == GM_FLEET_NONE && unnamed++ < most)
            gm_text_printf(out, "%s%s", out->length > 0 ? ", " : "", f->rows[item->row].label);
    }
    if (unnamed > most)
        gm_text_printf(out, " and %zu more", unnamed - most);
}

const char *gm_fleet_members(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_group *group,
                             size_t most)
{
    int64_t *ranks = gm_doc_rows(d, group->count, sizeof *ranks);
    struct gm_text text = {0};
    size_t n = 0;
    for (size_t i = 0; ranks != NULL && i < group->count; i++)
        if (f->items[group->items[i]].rank != GM_FLEET_NONE)
            ranks[n++] = f->items[group->items[i]].rank;
    if (n > 0) {
        gm_text_add(&text, n == 1 ? "rank " : "ranks ");
        add_numbers(&text, ranks, n, most);
    }
    add_unnamed(&text, f, group, most);
    return gm_doc_take(d, &text);
}

const char *gm_fleet_line_text(struct gm_doc *d, const struct gm_fleet_line *line)
{
    const char *growing = line->is_growing ? " (growing)" : "";
    if (!isfinite(line->slope))
        return "n/a";
    const char *slope = gm_doc_delta_bytes(d, (int64_t)fmin(fmax(round(line->slope), -9e18), 9e18));
    if (!isfinite(line->error))
        return gm_doc_printf(d, "%s%s", slope, growing);
    return gm_doc_printf(d, "%s +- %s%s", slope, gm_doc_bytes(d, (uint64_t)fmin(fmax(round(line->error), 0), 9e18)),
                         growing);
}

const char *gm_fleet_iterations(struct gm_doc *d, double value)
{
    const double most = fmin(fmax(value, 0), 1e15);
    return gm_doc_printf(d, most < 99.95 ? "%.1f" : "%.0f", most < 99.95 ? most : floor(most));
}

uint64_t gm_fleet_mean(const struct gm_fleet_spread *s)
{
    return s->mean < 0x1p64 ? (uint64_t)s->mean : UINT64_MAX - 1;
}

const char *gm_fleet_oom_text(struct gm_doc *d, const struct gm_fleet *f, const struct gm_fleet_item *item)
{
    const struct gm_fleet_oom *oom = &item->oom;
    const char *free = "", *reserved = "";
    if (oom->device_free != GM_REPORT_NONE)
        free = gm_doc_printf(d, ", %s free on the device", gm_doc_bytes(d, oom->device_free));
    if (oom->reserved != GM_REPORT_NONE)
        reserved = gm_doc_printf(d, ", %s reserved by PyTorch", gm_doc_bytes(d, oom->reserved));
    return gm_doc_printf(d, "%s ran out of memory at event %s of device %" PRId64 ": %s asked by " GM_QUOTED "%s%s",
                         gm_fleet_item_name(d, f, item), gm_doc_count(d, oom->event), oom->device,
                         gm_doc_bytes(d, oom->asked), oom->site, free, reserved);
}

const char *gm_fleet_read_text(struct gm_doc *d, const struct gm_fleet *f)
{
    const char *iterations = !gm_fleet_has_iterations(f)
                                 ? ""
                                 : gm_doc_printf(d, ", %zu iteration%s", f->column_count, gm_plural(f->column_count));
    return gm_doc_printf(d, "%zu of %zu snapshots, %zu rank%s%s", f->read_count, f->item_count, f->row_count,
                         gm_plural(f->row_count), iterations);
}

/* ---- the verdict ------------------------------------------------------------------------------------------------- */

static void add_imbalance(struct gm_text *out, struct gm_doc *d, const struct gm_fleet *f)
{
    char ratio[GM_NUMBER_TEXT];
    const struct gm_fleet_column *c = &f->columns[f->reference];
    if (c->ranks < 2 || c->reserved.most_item == SIZE_MAX)
        return;
    gm_text_printf(out, " The highest rank reserves %s times the mean (%s, mean %s)%s%s.",
                   gm_ratio_format(ratio, gm_fleet_imbalance(&c->reserved)), gm_doc_bytes(d, c->reserved.most),
                   gm_doc_bytes(d, gm_fleet_mean(&c->reserved)), gm_fleet_has_iterations(f) ? " at " : "",
                   gm_fleet_has_iterations(f) ? gm_fleet_column_name(d, c) : "");
}

/* How many, and the farthest by name. */
static void add_odd(struct gm_text *out, struct gm_doc *d, const struct gm_fleet *f)
{
    enum { NAMED = 3 };
    if (f->odd_total == 0)
        return;
    gm_text_printf(out, " %zu rank%s unlike the others: ", f->odd_total, f->odd_total == 1 ? " is" : "s are");
    for (size_t i = 0; i < f->odd_count && i < NAMED; i++) {
        const struct gm_fleet_odd *odd = &f->odds[i];
        const bool is_held = llabs(odd->held_delta) > llabs(odd->reserved_delta);
        gm_text_printf(out, "%s%s (%s %s)", i > 0 ? "; " : "", gm_fleet_item_name(d, f, &f->items[odd->item]),
                       gm_doc_delta_bytes(d, is_held ? odd->held_delta : odd->reserved_delta),
                       is_held ? "held" : "reserved");
    }
    gm_text_add(out, f->odd_total > NAMED ? "; ..." : ".");
}

static void add_oom(struct gm_text *out, struct gm_doc *d, const struct gm_fleet *f)
{
    if (f->oom_count == 0)
        return;
    gm_text_printf(out, " Out of memory: %s", gm_fleet_oom_text(d, f, &f->items[f->ooms[0]]));
    if (f->oom_count > 1)
        gm_text_printf(out, "; it was the first of %zu", f->oom_count);
    gm_text_add_char(out, '.');
}

static size_t growing_of(const struct gm_fleet *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->growth_count; i++)
        n += f->growths[i].reserved.is_growing || f->growths[i].allocated_end.is_growing;
    return n;
}

/* By what is reserved; those that do not know it come last, by what they hold. */
static bool is_above(const struct gm_fleet_item *a, const struct gm_fleet_item *b)
{
    const bool has_a = gm_fleet_knows(a, GM_LEVEL_RESERVED), has_b = gm_fleet_knows(b, GM_LEVEL_RESERVED);
    if (has_a != has_b)
        return has_a;
    return has_a ? gm_fleet_reserved(a) > gm_fleet_reserved(b) : gm_fleet_held(a) > gm_fleet_held(b);
}

const char *gm_fleet_verdict(struct gm_doc *d, const struct gm_fleet *f)
{
    const struct gm_fleet_item *top = NULL;
    struct gm_text text = {0};
    const size_t unread = f->item_count - f->read_count, growing = growing_of(f);
    for (size_t i = 0; i < f->item_count; i++)
        if (f->items[i].status == GM_OK && (top == NULL || is_above(&f->items[i], top)))
            top = &f->items[i];
    if (top == NULL)
        return "No snapshot could be read.";
    const bool is_reserved = gm_fleet_knows(top, GM_LEVEL_RESERVED);
    gm_text_printf(&text, "Peak %s %s on %s.", is_reserved ? "reserved" : "requested",
                   gm_doc_bytes(d, is_reserved ? gm_fleet_reserved(top) : gm_fleet_held(top)),
                   gm_fleet_item_name(d, f, top));
    add_oom(&text, d, f);
    add_imbalance(&text, d, f);
    add_odd(&text, d, f);
    if (unread > 0)
        gm_text_printf(&text, " %zu snapshot%s could not be read and %s left out.", unread, gm_plural(unread),
                       unread == 1 ? "is" : "are");
    if (growing > 0)
        gm_text_printf(&text, " %zu rank%s from iteration to iteration.", growing, growing == 1 ? " grows" : "s grow");
    return gm_doc_take(d, &text);
}
