/* SPDX-License-Identifier: Apache-2.0
 *
 * The timeline, column by column, and what a moment is.
 */
#include "render/page/core/page_levels.h"

#include <math.h>

enum { MOST_COLUMNS = 16384 };

struct columns { /* of the answer */
    uint32_t *first, *last, *at;
    double *total, *requested, *allocated, *reserved, *layer;
};

static void add_columns(struct columns *c, uint32_t n, uint32_t layers)
{
    c->first = gm_answer_add("first", GM_PAGE_U32, n);
    c->last = gm_answer_add("last", GM_PAGE_U32, n);
    c->at = gm_answer_add("at", GM_PAGE_U32, n);
    c->total = gm_answer_add("total", GM_PAGE_F64, n);
    c->requested = gm_answer_add("requested", GM_PAGE_F64, n);
    c->allocated = gm_answer_add("allocated", GM_PAGE_F64, n);
    c->reserved = gm_answer_add("reserved", GM_PAGE_F64, n);
    c->layer = gm_answer_add("layer", GM_PAGE_F64, (size_t)n * layers);
}

static void fill(const struct columns *c, uint32_t i, const struct gm_page_device *d,
                 const struct gm_page_layers *layers, const struct gm_page_column *column)
{
    uint64_t bytes[GM_PAGE_MOST_LAYERS];
    const struct gm_page_sums sums = gm_page_sums_at(d, column->at, layers, bytes);
    c->first[i] = column->first;
    c->last[i] = column->last;
    c->at[i] = column->at;
    c->total[i] = (double)sums.active;
    c->requested[i] = (double)sums.requested;
    c->allocated[i] = (double)sums.allocated;
    c->reserved[i] = (double)gm_page_most_reserved(d, column->first, column->last);
    for (uint32_t l = 0; l < layers->count; l++)
        c->layer[(size_t)i * layers->count + l] = (double)bytes[l];
}

bool gm_page_is_range(double from, double to, uint32_t columns)
{
    const bool is_sound = isfinite(from) && isfinite(to) && from <= to && columns > 0 && columns <= MOST_COLUMNS;
    if (!is_sound)
        gm_answer_refuse("no such part of the axis");
    return is_sound;
}

double gm_page_edge(double from, double to, uint32_t columns, uint32_t i)
{
    return i == columns ? to : from + (to - from) * (double)i / (double)columns;
}

struct gm_page_device *gm_page_part(uint32_t handle, uint32_t device, uint32_t split, double from, double to,
                                    uint32_t columns, const struct gm_page_layers **layers)
{
    struct gm_opened *o;
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    if (d == NULL || !gm_page_is_range(from, to, columns))
        return NULL;
    *layers = gm_opened_layers(o, d, split);
    return *layers == NULL ? NULL : d;
}

const struct gm_page_result *gm_page_timeline(uint32_t handle, uint32_t device, uint32_t split, uint32_t axis,
                                              double from, double to, uint32_t columns)
{
    const struct gm_page_layers *layers;
    struct columns c;
    const struct gm_page_device *d = gm_page_part(handle, device, split, from, to, columns, &layers);
    if (d == NULL)
        return NULL;
    gm_answer_layers(layers);
    add_columns(&c, columns, layers->count);
    for (uint32_t i = 0; gm_answer_is_whole() && i < columns; i++) {
        const struct gm_page_column column =
            gm_page_column_of(d, axis, gm_page_edge(from, to, columns, i), gm_page_edge(from, to, columns, i + 1));
        fill(&c, i, d, layers, &column);
    }
    return gm_answer_end();
}

void gm_answer_levels(const struct gm_page_device *d, uint32_t moment, const char *requested)
{
    const struct gm_page_sums sums = gm_page_sums_at(d, moment, NULL, NULL);
    gm_answer_number(requested, (double)sums.requested);
    gm_answer_number("allocated", (double)sums.allocated);
    gm_answer_number("active", (double)sums.active);
    gm_answer_number("reserved", (double)gm_page_reserved(d, moment));
}

static const struct gm_page_result *tell(const struct gm_page_device *d, uint32_t axis, uint32_t moment)
{
    gm_answer_u32("moment", moment);
    gm_answer_number("time", gm_page_has_times(d) ? gm_page_place(d, GM_PAGE_BY_TIME, moment) : (double)NAN);
    gm_answer_number("x", gm_page_place(d, axis, moment));
    gm_answer_levels(d, moment, "requested");
    return gm_answer_end();
}

const struct gm_page_result *gm_page_at(uint32_t handle, uint32_t device, uint32_t axis, double x)
{
    const struct gm_page_device *d = gm_opened_device(handle, device, NULL);
    return d == NULL ? NULL : tell(d, axis, gm_page_moment_at(d, axis, x));
}

bool gm_page_is_moment(const struct gm_page_device *d, uint32_t moment)
{
    if (moment >= gm_page_moments(d))
        gm_answer_refuse("the trace has no such moment");
    return moment < gm_page_moments(d);
}

const struct gm_page_result *gm_page_where(uint32_t handle, uint32_t device, uint32_t axis, uint32_t moment)
{
    const struct gm_page_device *d = gm_opened_device(handle, device, NULL);
    return d == NULL || !gm_page_is_moment(d, moment) ? NULL : tell(d, axis, moment);
}
