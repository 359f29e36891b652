/* SPDX-License-Identifier: Apache-2.0
 *
 * Timelines made by hand; see traces.h. Their sums add up: layers to active, slices and sites to the peak.
 */
#include "tests/render/traces.h"

#include "analyze/base/size.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 14, PER_COLUMN = 7 /* events */, COLUMN_US = 2345, SITES = 26 };

static void *need(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

/* Where something is made: a report, what was asked for, and its arena. */
struct maker {
    struct gm_report *report;
    const struct trace_plan *plan;
    size_t device;
    uint64_t seed;
};

static void *get(struct maker *m, size_t count, size_t size)
{
    return need(gm_arena_calloc(&m->report->arena, count + 1, size));
}

static uint64_t draw(struct maker *m, uint64_t below)
{
    m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (m->seed >> 33) % below;
}

static const char *name_or(struct maker *m, const char *usual)
{
    return m->plan->name != NULL ? m->plan->name : usual;
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

/* Bytes of a layer in a column: some stand, some come with the first step, the others go up and down. */
static uint64_t layer_bytes(struct maker *m, size_t column, size_t layer)
{
    const struct trace_plan *plan = m->plan;
    const uint64_t unit = plan->unit * (10 - m->device % 4) / 10;
    const size_t per_step = plan->columns / (plan->steps > 0 ? plan->steps : 6) + 1;
    const size_t in_step = column % per_step, half = per_step / 2 + 1;
    const uint64_t wave = in_step < half ? in_step * 100 / half : (per_step - in_step) * 100 / half;
    if (plan->shape == TRACE_NOTHING)
        return 0;
    if (layer == 0)
        return 20 * unit;
    if (plan->shape == TRACE_FLAT || (plan->shape == TRACE_SPIKE && column != plan->columns / 3))
        return layer < 5 ? unit * (5 - layer) : 0;
    if (plan->shape == TRACE_SPIKE)
        return unit * 12;
    if (layer == 1)
        return column > per_step ? 14 * unit : 0;
    return unit * (LAYERS - layer) * wave / 200 + draw(m, unit / 20 + 1);
}

static void make_curve(struct maker *m, struct gm_device_timeline *t)
{
    const size_t n = m->plan->columns;
    struct gm_curve_column *columns = get(m, n, sizeof *columns);
    struct gm_layer *layers = get(m, LAYERS, sizeof *layers);
    uint64_t *bytes = get(m, n * LAYERS, sizeof *bytes), reserved = 0;
    for (size_t i = 0; i < LAYERS; i++)
        layers[i] = (struct gm_layer){i == 3 ? name_or(m, sample_categories[i].name) : sample_categories[i].name,
                                      sample_categories[i].color};
    for (size_t i = 0; i < n; i++) {
        struct gm_curve_column *c = &columns[i];
        uint64_t active = 0;
        for (size_t k = 0; k < LAYERS; k++)
            active += bytes[i * LAYERS + k] = layer_bytes(m, i, k);
        if (active > reserved)
            reserved = active + active / 20;
        c->first_event = i * PER_COLUMN;
        c->last_event = c->first_event + PER_COLUMN - 1;
        c->high_event = c->first_event + 3;
        c->x0 = m->plan->is_by_time ? (double)(i * COLUMN_US) : (double)c->first_event;
        c->x1 = m->plan->is_by_time ? (double)((i + 1) * COLUMN_US) : (double)(c->last_event + 1);
        c->pending = m->plan->has_pending && i % 90 > 60 ? active / 12 : 0;
        c->high = (struct gm_levels){active - active / 200, active - c->pending, active, reserved};
        c->low = (struct gm_levels){active / 2, active / 2, active / 2, reserved};
    }
    t->curve = (struct gm_curve){.has_times = m->plan->is_by_time,
                                 .is_by_time = m->plan->is_by_time,
                                 .layers_by = "category",
                                 .start_us = m->plan->is_by_time ? UINT64_C(1700000000000000) : GM_REPORT_NONE,
                                 .x_end = n > 0 ? columns[n - 1].x1 : 0,
                                 .columns = columns,
                                 .column_count = n,
                                 .layers = layers,
                                 .layer_bytes = bytes,
                                 .layer_count = LAYERS};
}

static uint64_t time_of(const struct maker *m, uint64_t event)
{
    return m->plan->is_by_time ? UINT64_C(1700000000000000) + event * COLUMN_US / PER_COLUMN : GM_REPORT_NONE;
}

/* The highest column as the peak, for both kinds. */
static void make_peaks(struct maker *m, struct gm_device_timeline *t, struct gm_peak *peak)
{
    const struct gm_curve *curve = &t->curve;
    size_t best = 0;
    *peak = (struct gm_peak){.event = GM_REPORT_NONE, .time_us = GM_REPORT_NONE};
    t->peak_active = t->peak_allocated = t->peak_reserved =
        (struct gm_moment){.event = GM_REPORT_NONE, .time_us = GM_REPORT_NONE};
    if (curve->column_count == 0)
        return;
    for (size_t i = 1; i < curve->column_count; i++)
        if (curve->columns[i].high.active > curve->columns[best].high.active)
            best = i;
    const struct gm_curve_column *c = &curve->columns[best], *last = &curve->columns[curve->column_count - 1];
    *peak = (struct gm_peak){c->high.requested, c->high_event, time_of(m, c->high_event), NULL, 0, c->high};
    t->peak_active = t->peak_allocated = (struct gm_moment){c->high_event, peak->time_us, c->high};
    size_t first = 0;
    while (curve->columns[first].high.reserved < last->high.reserved)
        first++;
    const uint64_t event = curve->columns[first].high_event;
    t->peak_reserved = (struct gm_moment){event, time_of(m, event), curve->columns[first].high};
    if (!m->plan->is_reconstructed)
        peak->levels = (struct gm_levels){GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE};
}

/* ---- what the peak was made of ----------------------------------------------------------------------------------- */

static const struct gm_slice *make_slices(struct maker *m, uint64_t total, size_t n, const char *const *names)
{
    struct gm_slice *v = get(m, n, sizeof *v);
    uint64_t left = total;
    for (size_t i = 0; i < n; i++) { /* 40 % of what is left each, so they are in order; the last two are alike */
        uint64_t bytes = i + 1 == n ? left : left / 5 * 2 + (i + 2 == n ? left / 10 : 0);
        v[i] = (struct gm_slice){names != NULL ? names[i] : sample_categories[i].name,
                                 sample_categories[(i * (names != NULL ? 5 : 1)) % SAMPLE_CATEGORIES].color, bytes,
                                 bytes / GM_MIB + 1};
        left -= bytes;
    }
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && v[k].bytes > v[k - 1].bytes; k--) {
            struct gm_slice s = v[k];
            v[k] = v[k - 1];
            v[k - 1] = s;
        }
    return v;
}

static void make_detail(struct maker *m, struct gm_device_timeline *t, struct gm_peak *peak)
{
    static const char *const roles[] = {"Optimizer state", "Activation", "Parameter", "Gradient",
                                        "Temporary",       "Workspace",  "Unknown"};
    static const char *const lives[] = {"before the trace, never freed", "within one step", "several steps",
                                        "temporary"};
    static const char *const sites[] = {
        "forward  torchtitan/models/llama3/model/attention_with_a_rather_long_file_name.py:188",
        "_init_group  torch/optim/adamw.py:160", "no stack recorded",
        "linear_backward_with_a_name_that_goes_on_and_on_and_on_for_a_while  torch/nn/modules/linear.py:125"};
    struct gm_peak_detail *d = &t->peak;
    peak->categories = make_slices(m, peak->requested, 12, NULL);
    peak->category_count = 12;
    if (m->plan->has_roles) {
        d->roles = make_slices(m, peak->requested, 7, roles);
        d->role_count = 7;
        d->lifetimes = make_slices(m, peak->requested, 4, lives);
        d->lifetime_count = 4;
    }
    struct gm_group_row *rows = get(m, SITES, sizeof *rows);
    uint64_t left = peak->requested;
    for (size_t i = 0; i < SITES; i++) {
        uint64_t bytes = left / 6;
        rows[i] = (struct gm_group_row){.label = name_or(m, sites[i % 4]),
                                        .category = i == 2 ? name_or(m, "Attention") : sample_categories[i % 9].name,
                                        .role = m->plan->has_roles ? roles[i % 7] : NULL,
                                        .color = sample_categories[i % 9].color,
                                        .bytes = bytes,
                                        .blocks = 1 + i * i * 37,
                                        .peak_without = m->plan->has_roles && i < 12 ? peak->requested - bytes / 2
                                                                                     : GM_REPORT_NONE};
        left -= bytes;
    }
    d->sites = rows;
    d->site_count = peak->requested > 0 ? SITES : 0;
    d->site_total = d->site_count > 0 ? 431 : 0;
    d->site_rest_bytes = left;
    d->site_rest_blocks = 40321;
}

/* ---- flame ------------------------------------------------------------------------------------------------------- */

/* A node under `parent` with `bytes` of it; its own children take what is a tenth at least. */
static void grow(struct maker *m, struct gm_flame_node *nodes, size_t *n, uint32_t parent, uint64_t bytes)
{
    static const char *const functions[] = {"forward",
                                            "_call_impl",
                                            "linear",
                                            "train_step",
                                            "backward",
                                            "scaled_dot_product_attention",
                                            "at::native::empty_cuda(c10::ArrayRef)"};
    const uint32_t at = (uint32_t)*n;
    if (*n >= 900 || nodes[parent].depth > 90)
        return;
    const size_t pick = draw(m, 7);
    nodes[(*n)++] = (struct gm_flame_node){.name = name_or(m, functions[pick]),
                                           .filename = pick == 6 ? NULL : "torch/nn/modules/module.py",
                                           .line = pick == 6 ? GM_REPORT_NONE : 100 + draw(m, 900),
                                           .parent = parent,
                                           .depth = nodes[parent].depth + 1,
                                           .color = sample_categories[draw(m, 12)].color,
                                           .is_python = pick != 6,
                                           .bytes = bytes,
                                           .blocks = bytes / 4096 + 1};
    uint64_t left = bytes;
    uint32_t before = 0;
    const uint64_t children = nodes[parent].depth < 12 ? 1 : 1 + draw(m, 3);
    for (uint64_t i = 0; i < children && left > bytes / 10 && bytes > m->plan->unit / 50; i++) {
        const uint64_t share = children == 1 ? left - left / 50 : left / 2;
        const uint32_t child = (uint32_t)*n;
        grow(m, nodes, n, at, share);
        if (child == *n)
            break;
        if (before == 0)
            nodes[at].first_child = child;
        else
            nodes[before].next_sibling = child;
        before = child;
        left -= share;
    }
    nodes[at].self_bytes = left;
}

static void make_flame(struct maker *m, struct gm_device_timeline *t, const struct gm_peak *peak)
{
    struct gm_flame_node *nodes = get(m, 1000, sizeof *nodes);
    size_t n = 1;
    nodes[0] = (struct gm_flame_node){.name = "all", .bytes = peak->requested, .blocks = 4321, .line = GM_REPORT_NONE};
    if (peak->requested > 0) {
        nodes[0].first_child = 1;
        nodes[n++] = (struct gm_flame_node){.name = name_or(m, "(no stack recorded)"),
                                            .line = GM_REPORT_NONE,
                                            .depth = 1,
                                            .color = 0xc9ced4,
                                            .bytes = peak->requested / 10 * 6,
                                            .self_bytes = peak->requested / 10 * 6,
                                            .next_sibling = 2};
        grow(m, nodes, &n, 0, peak->requested / 10 * 4);
    }
    t->flame = (struct gm_flame){nodes, n};
}

/* ---- steps, memory that ran out, segments ------------------------------------------------------------------------ */

static void make_steps(struct maker *m, struct gm_device_timeline *t)
{
    const size_t steps = m->plan->steps;
    struct gm_band *bands = get(m, steps * 4 + 1, sizeof *bands);
    const uint64_t events = m->plan->columns * PER_COLUMN, per_step = steps > 0 ? events / steps : 0;
    size_t n = 0;
    for (size_t i = 0; i < steps; i++) {
        static const enum gm_phase phases[] = {GM_PHASE_FORWARD, GM_PHASE_BACKWARD, GM_PHASE_OPTIMIZER};
        const uint64_t first = i * per_step;
        bands[n++] =
            (struct gm_band){.name = name_or(m, need(gm_arena_printf(&m->report->arena, "ProfilerStep#%zu", i))),
                             .is_step = true,
                             .first_event = first,
                             .last_event = first + per_step - 1,
                             .from_us = time_of(m, first),
                             .to_us = time_of(m, first + per_step - 1)};
        for (size_t p = 0; p < 3; p++) {
            const uint64_t from = first + per_step * p / 3, to = first + per_step * (p + 1) / 3;
            bands[n++] = (struct gm_band){"phase", phases[p], 1, false, from, to, time_of(m, from), time_of(m, to)};
        }
    }
    if (steps > 0)
        bands[n++] = (struct gm_band){name_or(m, "warm-up and everything else that has a name"),
                                      GM_PHASE_OTHER,
                                      0,
                                      false,
                                      0,
                                      events / 3,
                                      time_of(m, 0),
                                      time_of(m, events / 3)};
    t->steps.bands = bands;
    t->steps.band_count = n;
}

static void make_ooms(struct maker *m, struct gm_device_timeline *t)
{
    struct gm_oom_row *rows = get(m, m->plan->ooms, sizeof *rows);
    for (size_t i = 0; i < m->plan->ooms; i++) {
        const uint64_t event = m->plan->columns * PER_COLUMN * (i * i + 3) / (m->plan->ooms * m->plan->ooms + 4);
        rows[i] = (struct gm_oom_row){.event = event, .time_us = time_of(m, event), .asked = (2 + i) * GM_GIB};
    }
    t->ooms = rows;
    t->oom_count = m->plan->ooms;
}

static void make_segment(struct maker *m, struct gm_map_segment *s, uint64_t bytes, size_t i)
{
    const size_t most = bytes > 100 * GM_MIB ? 1000 : 30;
    struct gm_map_block *blocks = get(m, most, sizeof *blocks);
    uint64_t offset = 0;
    size_t n = 0;
    while (offset < bytes && n < most) {
        uint64_t want = bytes / (n % 7 == 0 ? 10 : 60) / 512 * 512 + 512 * (1 + draw(m, 64));
        if (want > bytes - offset || n + 1 == most)
            want = bytes - offset;
        const uint64_t dice = draw(m, 20);
        const size_t c = draw(m, 12);
        blocks[n++] = (struct gm_map_block){offset, want,
                                            dice < 5    ? 0
                                            : dice == 5 ? 2
                                                        : 1,
                                            dice < 5 ? 0 : sample_categories[c].color,
                                            dice < 5 ? NULL : sample_categories[c].name};
        offset += want;
    }
    *s = (struct gm_map_segment){UINT64_C(0x7f1200000000) + i * GM_GIB,
                                 bytes,
                                 i % 9 == 4           ? name_or(m, "private (0,2) large")
                                 : bytes < 4 * GM_MIB ? "small"
                                                      : "large",
                                 i % 11 == 7 ? 3 : 0,
                                 blocks,
                                 n,
                                 i % 7 == 6 ? i : 0};
}

static void make_map(struct maker *m, struct gm_device_timeline *t)
{
    const size_t n = m->plan->segments;
    struct gm_map_segment *v = get(m, n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        make_segment(m, &v[i], i == 0 ? m->plan->unit * 12 + 512 : i < n / 2 ? 20 * GM_MIB : 2 * GM_MIB, i);
    t->map = (struct gm_segment_map){v, n, n > 5 ? n + 123 : n, n > 5 ? 123 * 2 * GM_MIB : 0};
}

void trace_add(struct gm_report *report, const struct trace_plan *plan)
{
    struct maker m = {report, plan, 0, 42};
    struct gm_device_timeline *timelines = get(&m, report->device_count, sizeof *timelines);
    struct gm_peak *peaks = get(&m, report->device_count, sizeof *peaks);
    struct gm_device_report *devices = get(&m, report->device_count, sizeof *devices);
    if (report->device_count > 0)
        memcpy(devices, report->devices, report->device_count * sizeof *devices);
    for (; m.device < report->device_count; m.device++) {
        struct gm_device_timeline *t = &timelines[m.device];
        make_curve(&m, t);
        make_peaks(&m, t, &peaks[m.device]);
        make_detail(&m, t, &peaks[m.device]);
        make_flame(&m, t, &peaks[m.device]);
        make_steps(&m, t);
        make_ooms(&m, t);
        make_map(&m, t);
        t->reconciliation.is_reconstructed = plan->is_reconstructed;
        t->reconciliation.reason = plan->is_reconstructed ? NULL : "the segments at the end are not in the file";
        t->reconciliation.first_time_us = t->curve.start_us;
        t->reconciliation.coverage = name_or(&m, "The trace covers 2.4 steps / 3.1 s; 214 frees had no alloc in it.");
        devices[m.device].trace.events = plan->columns * PER_COLUMN;
        devices[m.device].trace.span_us = plan->is_by_time ? plan->columns * COLUMN_US : GM_REPORT_NONE;
    }
    report->devices = devices;
    report->peaks = peaks;
    report->timelines = timelines;
}
