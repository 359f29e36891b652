/* SPDX-License-Identifier: Apache-2.0
 *
 * The four curves, their peaks, and the run cut into columns: one walk over the changes, which needs nothing but the
 * history. A second one is for the layers at the highest moment of each column. A layer is a role or a category.
 */
#include "analyze/timeline/trace_pass.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 1500, KINDS = 4, EXTREMES = 2 * KINDS, CROWDED_PERCENT = 10, LEAST_EVENTS = 100 };

/* The extremes of one column: of each kind the lowest and the highest moment. */
struct extreme {
    uint32_t event;
    struct gm_sums sums;
};

struct gm_curves {
    struct gm_trace_pass *pass;
    struct gm_walk walk;
    struct gm_sums sums;
    struct extreme peak[KINDS]; /* event: the moment */
    struct gm_curve_column *columns;
    size_t column_count;
    struct extreme extremes[EXTREMES];
    struct gm_sample *samples;
    size_t sample_count;
    gm_i128 *layer_sums;  /* [layer], of the moment that is walked */
    uint64_t *layer_high; /* [column * layers + layer] */
    uint32_t layers;
    uint64_t start_us;
    double x_end, per_column;
    bool has_times, is_by_time, is_by_role;
    size_t
        crowded; /* columns of an axis of time that have nearly all events; 0: these are spread, or it was asked for */
};

static gm_i128 kind_of(const struct gm_sums *s, int kind)
{
    return kind == 0 ? s->requested : kind == 1 ? s->allocated : kind == 2 ? s->active : s->reserved;
}

/* ---- the axis ---------------------------------------------------------------------------------------------------- */

/* Whether every event has a time, and where time begins and ends. */
static bool find_times(struct gm_curves *c, uint64_t *end_us)
{
    const struct gm_history *h = &c->pass->history;
    uint64_t low = GM_REPORT_NONE, high = 0;
    for (size_t i = 0; i < h->count; i++) {
        uint64_t t = gm_history_time(h, i);
        if (t == GM_REPORT_NONE)
            return false;
        low = t < low ? t : low;
        high = t > high ? t : high;
    }
    c->start_us = low;
    *end_us = high;
    return h->count > 0 && high > low;
}

GM_ORDERING(more_first, uint32_t, GM_BY(GM_ORDER(*b, *a)));

/* In how many of the columns, as equal parts of the time, nine of ten events are, at least. */
static size_t crowded_columns(const struct gm_curves *c, uint64_t end_us)
{
    const struct gm_history *h = &c->pass->history;
    const double span = (double)(end_us - c->start_us);
    uint32_t counts[COLUMNS] = {0};
    size_t n = 0;
    for (size_t i = 0; i < h->count; i++) {
        const double share = (double)(gm_history_time(h, i) - c->start_us) / span;
        counts[share < 1 ? (size_t)(share * (double)c->column_count) : c->column_count - 1]++;
    }
    GM_SORT(counts, c->column_count, more_first);
    for (uint64_t sum = 0; n < c->column_count && sum * 10 < h->count * UINT64_C(9); n++)
        sum += counts[n];
    return n;
}

/* Time, if the events have times; but bursts between which nothing happens are lines of a pixel on such an axis. */
static void choose_axis(struct gm_curves *c)
{
    const struct gm_history *h = &c->pass->history;
    const enum gm_axis wanted = c->pass->options->axis;
    uint64_t end_us = 0;
    c->has_times = find_times(c, &end_us);
    c->is_by_time = c->has_times && wanted != GM_AXIS_EVENT;
    if (c->is_by_time && wanted == GM_AXIS_CHOSEN && h->count >= LEAST_EVENTS) {
        const size_t crowded = crowded_columns(c, end_us);
        c->crowded = crowded * 100 < c->column_count * CROWDED_PERCENT ? crowded : 0;
        c->is_by_time = c->crowded == 0;
    }
    c->x_end = c->is_by_time ? (double)(end_us - c->start_us) : (double)h->count;
    if (c->column_count > 0)
        c->per_column = c->x_end / (double)c->column_count;
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

/* The first event after column k: the columns before it take all events up to there. Time that runs backwards does not
 * take an event back to an earlier column. */
static uint32_t end_of_column(const struct gm_curves *c, size_t k, uint32_t from)
{
    const struct gm_history *h = &c->pass->history;
    if (k + 1 == c->column_count)
        return (uint32_t)h->count;
    double x = c->per_column * (double)(k + 1);
    uint32_t i = from;
    if (!c->is_by_time)
        return (uint32_t)x > from ? (uint32_t)x : from;
    while (i < h->count && (double)(gm_history_time(h, i) - c->start_us) < x)
        i++;
    return i;
}

static inline void consider_low(struct gm_curves *c, int kind, uint32_t event)
{
    struct extreme *low = &c->extremes[2 * kind];
    if (kind_of(&c->sums, kind) < kind_of(&low->sums, kind))
        *low = (struct extreme){event, c->sums};
}

static inline void consider_peak(struct gm_curves *c, int kind, uint32_t event)
{
    const gm_i128 v = kind_of(&c->sums, kind);
    if (v > kind_of(&c->peak[kind].sums, kind) && event + 1 >= c->pass->from && event + 1 <= c->pass->to)
        c->peak[kind] = (struct extreme){event + 1, c->sums};
}

static inline void consider_high(struct gm_curves *c, int kind, uint32_t event)
{
    struct extreme *high = &c->extremes[2 * kind + 1];
    if (kind_of(&c->sums, kind) > kind_of(&high->sums, kind))
        *high = (struct extreme){event, c->sums};
    consider_peak(c, kind, event);
}

/* Without columns. */
static inline void consider_peaks(struct gm_curves *c, const struct gm_change *change)
{
    for (int kind = 0; change->kind == GM_CHANGE_ALLOC && kind < 3; kind++)
        consider_peak(c, kind, change->event);
    if (change->kind == GM_CHANGE_SEGMENT)
        consider_peak(c, 3, change->event);
}

/* Only what a change can have moved is looked at. Kinds: requested, allocated, active, reserved. */
static inline void consider(struct gm_curves *c, const struct gm_change *change)
{
    switch (change->kind) {
    case GM_CHANGE_ALLOC:
        for (int kind = 0; kind < 3; kind++)
            consider_high(c, kind, change->event);
        break;
    case GM_CHANGE_LET_GO:
        consider_low(c, 1, change->event);
        break;
    case GM_CHANGE_FREE:
        for (int kind = 0; kind < 3; kind++)
            consider_low(c, kind, change->event);
        break;
    case GM_CHANGE_SEGMENT:
        consider_low(c, 3, change->event);
        consider_high(c, 3, change->event);
        break;
    case GM_CHANGE_NONE:
        break;
    }
}

/* The window begins here: whatever the books are, they are the highest in it so far. */
static void begin_window(struct gm_curves *c, uint32_t moment)
{
    for (int kind = 0; kind < KINDS; kind++)
        c->peak[kind] = (struct extreme){moment, c->sums};
}

/* The books for readers: without block bytes what depends on them is not known; nor is what a trace does not state. */
static struct gm_levels levels_told(const struct gm_trace_pass *pass, const struct gm_sums *sums)
{
    struct gm_levels levels = gm_sums_told(sums);
    if (!pass->history.is_reconstructed)
        levels.allocated = levels.active = GM_REPORT_NONE;
    if (pass->report->devices[pass->index].trace.peak_reserved == GM_REPORT_NONE)
        levels.reserved = GM_REPORT_NONE;
    return levels;
}

static void tell(const struct gm_trace_pass *pass, struct gm_sample *sample, const struct extreme *at)
{
    *sample = (struct gm_sample){at->event, gm_history_time(&pass->history, at->event), levels_told(pass, &at->sums)};
}

GM_ORDERING(by_event, struct gm_sample, GM_UP(event));

/* The column's extremes and its last moment as samples, in order, each event once. */
static void add_samples(struct gm_curves *c, uint32_t last)
{
    struct gm_sample *out = c->samples + c->sample_count;
    size_t n = 0, kept = 0;
    for (int i = 0; i < EXTREMES; i++)
        if (c->extremes[i].event != GM_NEVER)
            tell(c->pass, &out[n++], &c->extremes[i]);
    tell(c->pass, &out[n++], &(struct extreme){last, c->sums});
    GM_SORT(out, n, by_event);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || out[kept - 1].event != out[i].event)
            out[kept++] = out[i];
    c->sample_count += kept;
}

/* Walks the events [walk.event, end). false: the sink does not want more, or cannot take it. */
static bool walk_levels(struct gm_curves *c, uint32_t end)
{
    const struct gm_sample_sink *sink = c->pass->options->every_event;
    int64_t device = c->pass->history.device;
    struct gm_change change;
    bool has_replaced = false;
    while (c->walk.event < end && gm_walk_next(&c->walk, &change)) {
        gm_sums_apply(&c->sums, c->pass, &change);
        if (c->walk.event == change.event) { /* the end of a replaced allocation: the event itself comes next */
            has_replaced = true;
            continue;
        }
        if (c->column_count == 0)
            consider_peaks(c, &change);
        else
            consider(c, &change);
        for (int kind = 0; has_replaced && kind < 3; kind++)
            consider_low(c, kind, change.event);
        has_replaced = false;
        if (change.event + 1 == c->pass->from)
            begin_window(c, change.event + 1);
        if (sink != NULL) {
            struct gm_sample sample;
            tell(c->pass, &sample, &(struct extreme){change.event, c->sums});
            if (!sink->put(sink->self, device, &sample))
                return false;
        }
    }
    return true;
}

static bool do_column(struct gm_curves *c, size_t k)
{
    struct gm_curve_column *column = &c->columns[k];
    uint32_t from = c->walk.event, end = end_of_column(c, k, from);
    for (int i = 0; i < EXTREMES; i++)
        c->extremes[i] = (struct extreme){GM_NEVER, c->sums};
    if (!walk_levels(c, end))
        return false;
    const struct extreme *active = &c->extremes[2 * 2 + 1];
    struct gm_levels told[EXTREMES];
    for (int i = 0; i < EXTREMES; i++)
        told[i] = gm_sums_told(&c->extremes[i].sums);
    *column = (struct gm_curve_column){
        .first_event = from,
        .last_event = end > from ? end - 1 : 0,
        .x0 = c->per_column * (double)k,
        .x1 = c->per_column * (double)(k + 1),
        .low = {told[0].requested, told[2].allocated, told[4].active, told[6].reserved},
        .high = {told[1].requested, told[3].allocated, told[5].active, told[7].reserved},
        .high_event = active->event == GM_NEVER ? (from > 0 ? from - 1 : GM_REPORT_NONE) : active->event,
        .pending = told[5].active - (told[5].allocated < told[5].active ? told[5].allocated : told[5].active)};
    if (end == from) {
        column->first_event = 1;
        column->last_event = 0;
    } else {
        add_samples(c, end - 1);
    }
    return true;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static uint32_t layer_of(const struct gm_curves *c, size_t a)
{
    return c->is_by_role ? c->pass->role[a] : c->pass->category[a];
}

static void apply_layer(struct gm_curves *c, const struct gm_change *change)
{
    const struct gm_trace_pass *pass = c->pass;
    if ((change->kind != GM_CHANGE_ALLOC && change->kind != GM_CHANGE_FREE) || gm_is_hidden(pass, change->allocation))
        return;
    gm_i128 bytes = gm_block_bytes(&pass->history, change->allocation);
    c->layer_sums[layer_of(c, change->allocation)] += change->kind == GM_CHANGE_ALLOC ? bytes : -bytes;
}

/* The sums as the highest of a column. */
static void note_layers(struct gm_curves *c, size_t column)
{
    uint64_t *row = c->layer_high + column * c->layers;
    for (uint32_t i = 0; i < c->layers; i++)
        row[i] = gm_clamp(c->layer_sums[i]);
}

static bool walk_layers(struct gm_curves *c)
{
    const struct gm_trace_pass *pass = c->pass;
    const struct gm_history *h = &pass->history;
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change change;
    c->is_by_role = pass->role != NULL && pass->options->layers_by == GM_LAYERS_BY_ROLE;
    c->layers = c->is_by_role ? GM_ROLE_COUNT : gm_category_count(pass->options->rules);
    c->layer_sums = calloc(c->layers, sizeof *c->layer_sums);
    c->layer_high = calloc((c->column_count + 1) * c->layers, sizeof *c->layer_high);
    if (c->layer_sums == NULL || c->layer_high == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] == 0 && h->freed[a] != 0 && !gm_is_hidden(pass, a))
            c->layer_sums[layer_of(c, a)] += gm_block_bytes(h, a);
    for (size_t k = 0; k < c->column_count; k++) {
        const struct gm_curve_column *column = &c->columns[k];
        if (column->high_event == GM_REPORT_NONE || column->high_event < walk.event)
            note_layers(c, k);
        while (walk.event <= column->last_event && column->first_event <= column->last_event &&
               gm_walk_next(&walk, &change)) {
            apply_layer(c, &change);
            if (change.event == column->high_event && walk.event > change.event)
                note_layers(c, k);
        }
    }
    return true;
}

/* ---- into the report -------------------------------------------------------------------------------------------- */

static struct gm_moment moment(const struct gm_curves *c, int kind)
{
    const struct extreme *peak = &c->peak[kind];
    uint64_t event = gm_event_of_moment(peak->event);
    return (struct gm_moment){event, gm_history_time(&c->pass->history, event), levels_told(c->pass, &peak->sums)};
}

struct order {
    uint64_t most;
    uint32_t layer;
};

GM_ORDERING(by_most, struct order, GM_DOWN(most) || GM_UP(layer));

static struct gm_layer describe(const struct gm_curves *c, uint32_t layer)
{
    const struct gm_category_rules *rules = c->pass->options->rules;
    if (c->is_by_role)
        return (struct gm_layer){gm_role_name(layer), gm_role_color(layer)};
    const char *name = gm_category_name(rules, layer);
    return (struct gm_layer){gm_arena_copy(&c->pass->report->arena, name, strlen(name)),
                             gm_category_color(rules, layer)};
}

/* Layers that ever hold anything, that with the highest column first. */
static bool publish_layers(struct gm_curves *c, struct gm_curve *curve)
{
    struct gm_arena *arena = &c->pass->report->arena;
    GM_FREED struct order *order = calloc(c->layers + 1, sizeof *order);
    size_t n = 0;
    if (order == NULL)
        return false;
    for (uint32_t k = 0; k < c->layers; k++) {
        uint64_t most = 0;
        for (size_t i = 0; i < c->column_count; i++)
            if (c->layer_high[i * c->layers + k] > most)
                most = c->layer_high[i * c->layers + k];
        if (most > 0)
            order[n++] = (struct order){most, k};
    }
    GM_SORT(order, n, by_most);
    struct gm_layer *layers = gm_arena_calloc(arena, n, sizeof *layers);
    uint64_t *bytes = gm_arena_calloc(arena, n * c->column_count, sizeof *bytes);
    bool ok = layers != NULL && bytes != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        layers[i] = describe(c, order[i].layer);
        ok = layers[i].name != NULL;
    }
    for (size_t column = 0; ok && column < c->column_count; column++)
        for (size_t i = 0; i < n; i++)
            bytes[column * n + i] = c->layer_high[column * c->layers + order[i].layer];
    curve->layers = layers;
    curve->layer_bytes = bytes;
    curve->layer_count = n;
    return ok;
}

static bool publish(struct gm_curves *c)
{
    struct gm_trace_pass *pass = c->pass;
    struct gm_device_timeline *out = pass->out;
    out->samples = gm_arena_array(&pass->report->arena, c->samples, c->sample_count, sizeof *out->samples);
    const char *note = c->crowded == 0
                           ? NULL
                           : gm_arena_printf(&pass->report->arena, "90 %% of the events are in %.1f %% of the time",
                                             100. * (double)c->crowded / (double)c->column_count);
    if (out->samples == NULL || (note == NULL && c->crowded > 0))
        return false;
    out->sample_count = c->sample_count;
    pass->peak_moment = c->peak[0].event;
    pass->peak_active_moment = c->peak[2].event;
    struct gm_moment peak = moment(c, 0);
    pass->peak->requested = peak.levels.requested;
    pass->peak->event = peak.event;
    pass->peak->time_us = peak.time_us;
    pass->peak->levels = peak.levels;
    out->peak_allocated = moment(c, 1);
    out->peak_active = moment(c, 2);
    out->peak_reserved = moment(c, 3);
    out->curve = (struct gm_curve){.has_times = c->has_times,
                                   .is_by_time = c->is_by_time,
                                   .axis_note = note,
                                   .layers_by = c->is_by_role ? "role" : "category",
                                   .start_us = c->has_times ? c->start_us : GM_REPORT_NONE,
                                   .x_end = c->x_end,
                                   .columns = c->columns,
                                   .column_count = c->column_count};
    return true;
}

bool gm_trace_begin_curves(struct gm_trace_pass *pass)
{
    struct gm_curves *c = pass->curves = calloc(1, sizeof *c);
    if (c == NULL)
        return false;
    c->pass = pass;
    const size_t most = pass->options->has_peaks_only ? 0 : COLUMNS;
    c->column_count = pass->history.count < most ? pass->history.count : most;
    c->columns = gm_arena_calloc(&pass->report->arena, c->column_count, sizeof *c->columns);
    c->samples = calloc(c->column_count * (EXTREMES + 1) + 1, sizeof *c->samples);
    pass->out->curve.columns = c->columns;
    pass->out->curve.column_count = c->column_count;
    return c->columns != NULL && c->samples != NULL;
}

bool gm_trace_levels(struct gm_trace_pass *pass)
{
    struct gm_curves *c = pass->curves;
    bool ok = true;
    if (!pass->options->has_peaks_only)
        choose_axis(c);
    c->walk = gm_walk_start(&pass->history);
    c->sums = gm_sums_start(pass);
    begin_window(c, 0); /* with --from, begun anew there */
    if (c->column_count == 0)
        return walk_levels(c, (uint32_t)pass->history.count);
    for (size_t k = 0; ok && k < c->column_count; k++)
        ok = do_column(c, k);
    return ok;
}

bool gm_trace_curves(struct gm_trace_pass *pass)
{
    const bool has_layers = !pass->options->has_peaks_only;
    const bool ok = (!has_layers || walk_layers(pass->curves)) && publish(pass->curves) &&
                    (!has_layers || publish_layers(pass->curves, &pass->out->curve));
    gm_trace_forget_curves(pass);
    return ok;
}

void gm_trace_forget_curves(struct gm_trace_pass *pass)
{
    struct gm_curves *c = pass->curves;
    if (c == NULL)
        return;
    GM_FREE_ALL(c->samples, c->layer_sums, c->layer_high, c);
    pass->curves = NULL;
}
