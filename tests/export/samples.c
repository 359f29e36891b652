/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/export/samples.h"

#include "analyze/base/freed.h"

#include <stdlib.h>
#include <string.h>

const char *sample_name(enum sample sample)
{
    static const char *const names[SAMPLE_COUNT] = {"one", "two", "hostile", "no_trace", "deep"};
    return names[sample];
}

static void *need(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

/* ---- trees: rows in any order in which callers come first -------------------------------------------------------- */

struct row {
    uint32_t parent;
    const char *name, *filename;
    uint64_t line, self_bytes, self_blocks;
};

/* Children in the order of their rows. */
static void set_tree(struct gm_report *report, struct gm_flame *flame, const struct row *rows, size_t count)
{
    struct gm_flame_node *nodes = need(gm_arena_calloc(&report->arena, count, sizeof *nodes));
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        nodes[i] = (struct gm_flame_node){.name = row->name,
                                          .filename = row->filename,
                                          .line = row->line,
                                          .parent = row->parent,
                                          .depth = i == 0 ? 0 : nodes[row->parent].depth + 1,
                                          .is_python = true,
                                          .self_bytes = row->self_bytes,
                                          .self_blocks = row->self_blocks};
        uint32_t *link = i == 0 ? NULL : &nodes[row->parent].first_child;
        while (link != NULL && *link != 0)
            link = &nodes[*link].next_sibling;
        if (link != NULL)
            *link = (uint32_t)i;
    }
    for (size_t i = count; i-- > 0;) {
        nodes[i].bytes += nodes[i].self_bytes;
        nodes[i].blocks += nodes[i].self_blocks;
        if (i > 0) {
            nodes[nodes[i].parent].bytes += nodes[i].bytes;
            nodes[nodes[i].parent].blocks += nodes[i].blocks;
        }
    }
    *flame = (struct gm_flame){nodes, count};
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

struct device {
    struct gm_device_report *report;
    struct gm_device_timeline *timeline;
    struct gm_peak *peak;
};

static struct device *add_devices(struct gm_report *r, struct device *devices, size_t n)
{
    struct gm_device_report *reports = need(gm_arena_calloc(&r->arena, n, sizeof *reports));
    struct gm_device_timeline *timelines = need(gm_arena_calloc(&r->arena, n, sizeof *timelines));
    struct gm_peak *peaks = need(gm_arena_calloc(&r->arena, n, sizeof *peaks));
    for (size_t i = 0; i < n; i++) {
        reports[i].device = (int64_t)i;
        devices[i] = (struct device){&reports[i], &timelines[i], &peaks[i]};
    }
    r->devices = reports;
    r->device_count = n;
    r->timelines = timelines;
    r->peaks = peaks;
    return devices;
}

static struct gm_levels levels(uint64_t requested, uint64_t allocated, uint64_t active, uint64_t reserved)
{
    return (struct gm_levels){requested, allocated, active, reserved};
}

static const struct gm_sample *copy(struct gm_report *r, const struct gm_sample *v, size_t n)
{
    return memcpy(need(gm_arena_calloc(&r->arena, n, sizeof *v)), v, n * sizeof *v);
}

/* One device, times, steps, an annotation, an oom. The peak of reserved bytes is between two samples. */
static void fill_one(struct gm_report *r)
{
    enum { T = 1000000 };
    static const struct row rows[] = {
        {0, "all", NULL, GM_REPORT_NONE, 0, 0},      {0, "main", "/app/train.py", 10, 0, 0},
        {1, "forward", "/app/model.py", 20, 100, 1}, {2, "linear", "/torch/nn.py", 30, 700, 3},
        {1, "step", "/torch/optim.py", 40, 200, 2},  {0, "(no stack recorded)", "", GM_REPORT_NONE, 24, 1}};
    const struct gm_sample samples[] = {{0, T + 5, levels(400, 512, 512, 2048)},
                                        {3, T + 90, levels(1024, 1536, 1536, 2048)},
                                        {9, T + 300, levels(24, 512, 512, 2048)}};
    static const struct gm_step_row steps[] = {{.label = "ProfilerStep#1",
                                                .number = 1,
                                                .first_event = 1,
                                                .last_event = 4,
                                                .from_us = T + 10,
                                                .to_us = T + 100,
                                                .peak = {1024, 1536, 1536, 2048},
                                                .growth = -12},
                                               {.label = "ProfilerStep#2",
                                                .number = 2,
                                                .first_event = 5,
                                                .last_event = 9,
                                                .from_us = T + 100,
                                                .to_us = T + 300,
                                                .peak = {900, 1024, 1024, 4096},
                                                .growth = 7}};
    static const struct gm_band bands[] = {
        {.name = "ProfilerStep#1",
         .is_step = true,
         .first_event = 1,
         .last_event = 4,
         .from_us = T + 10,
         .to_us = T + 100},
        {.name = "backward",
         .phase = GM_PHASE_BACKWARD,
         .first_event = 2,
         .last_event = 3,
         .from_us = T + 20,
         .to_us = T + 95},
        {.name = "overlaps", .first_event = 3, .last_event = 4, .from_us = T + 90, .to_us = T + 110},
        {.name = "inner", .depth = 1, .first_event = 2, .last_event = 2, .from_us = T + 30, .to_us = T + 31}};
    static const struct gm_oom_row ooms[] = {{.event = 5,
                                              .time_us = T + 120,
                                              .asked = 3 << 20,
                                              .device_free = GM_REPORT_NONE,
                                              .site = "grow \"it\"  /app/model.py:3"}};
    struct device d;
    add_devices(r, &d, 1);
    d.report->trace.events = 10;
    set_tree(r, &d.timeline->flame, rows, sizeof rows / sizeof *rows);
    *d.peak = (struct gm_peak){.requested = 1024, .event = 3, .time_us = T + 90, .levels = samples[1].levels};
    d.timeline->curve = (struct gm_curve){.has_times = true, .is_by_time = true, .start_us = T + 5, .x_end = 295};
    d.timeline->samples = copy(r, samples, 3);
    d.timeline->sample_count = 3;
    d.timeline->peak_allocated = d.timeline->peak_active = (struct gm_moment){3, T + 90, samples[1].levels};
    d.timeline->peak_reserved = (struct gm_moment){6, T + 130, levels(900, 1024, 1024, 4096)};
    d.timeline->steps = (struct gm_steps){.rows = steps, .row_count = 2, .bands = bands, .band_count = 4};
    d.timeline->ooms = ooms;
    d.timeline->oom_count = 1;
}

/* Devices 0 and 1 with stacks, device 2 without events; no times; all peaks of device 1 are before its first event. */
static void fill_two(struct gm_report *r)
{
    static const struct row first[] = {{0, "all", NULL, GM_REPORT_NONE, 0, 0}, {0, "main", "a.py", 1, 512, 1}};
    static const struct row second[] = {{0, "all", NULL, GM_REPORT_NONE, 0, 0},
                                        {0, "main", "a.py", 1, 1000, 2},
                                        {1, "main", "a.py", 1, 24, 1}}; /* calls itself */
    const struct gm_sample samples0[] = {{0, GM_REPORT_NONE, levels(512, 512, 512, 2048)}};
    const struct gm_sample samples1[] = {{0, GM_REPORT_NONE, levels(24, 512, 1024, 2048)},
                                         {1, GM_REPORT_NONE, levels(0, 0, 0, 0)}};
    struct device d[3];
    add_devices(r, d, 3);
    d[0].report->trace.events = 1;
    d[1].report->trace.events = 2;
    d[1].report->device = 7;
    d[2].report->device = 8;
    for (int i = 0; i < 2; i++)
        d[i].timeline->curve = (struct gm_curve){.start_us = GM_REPORT_NONE, .x_end = i + 1};
    set_tree(r, &d[0].timeline->flame, first, 2);
    set_tree(r, &d[1].timeline->flame, second, 3);
    d[0].timeline->samples = copy(r, samples0, 1);
    d[0].timeline->sample_count = 1;
    d[1].timeline->samples = copy(r, samples1, 2);
    d[1].timeline->sample_count = 2;
    *d[0].peak = (struct gm_peak){512, 0, GM_REPORT_NONE, NULL, 0, samples0[0].levels};
    d[0].timeline->peak_allocated = d[0].timeline->peak_active = d[0].timeline->peak_reserved =
        (struct gm_moment){0, GM_REPORT_NONE, samples0[0].levels};
    const struct gm_levels before = levels(1024, 1536, 1536, 2048);
    *d[1].peak = (struct gm_peak){1024, GM_REPORT_NONE, GM_REPORT_NONE, NULL, 0, before};
    d[1].timeline->peak_allocated = d[1].timeline->peak_active = d[1].timeline->peak_reserved =
        (struct gm_moment){GM_REPORT_NONE, GM_REPORT_NONE, before};
}

/* Names that could break a format, the largest numbers, bytes at the root, blocks without bytes, time going back. */
static void fill_hostile(struct gm_report *r)
{
    static const struct row rows[] = {{0, "all", NULL, GM_REPORT_NONE, 5, 1},
                                      {0, "a;b \"c\" \\d", "/x;y/\xc3\xa9\xe2\x82\xac.py", 7, UINT64_C(1) << 62, 1},
                                      {1, "</script>{}[],", NULL, GM_REPORT_NONE, 0, 3},
                                      {1, "", "??", 0, 1, 1}};
    const struct gm_sample samples[] = {{0, 90, levels(1, 1, 1, 1)},
                                        {1, 80, levels(2, 2, 2, GM_REPORT_NONE)},
                                        {2, 100, levels(UINT64_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 1, 1)}};
    static const struct gm_band bands[] = {
        {.name = "backwards \"\\", .depth = 4000000, .first_event = 5, .last_event = 1, .from_us = 99, .to_us = 3}};
    struct device d;
    add_devices(r, &d, 1);
    d.report->trace.events = 3;
    set_tree(r, &d.timeline->flame, rows, sizeof rows / sizeof *rows);
    d.timeline->curve = (struct gm_curve){.has_times = true, .is_by_time = true, .start_us = 85, .x_end = 20};
    d.timeline->samples = copy(r, samples, 3);
    d.timeline->sample_count = 3;
    *d.peak = (struct gm_peak){UINT64_MAX - 1, 2, 100, NULL, 0, samples[2].levels};
    d.timeline->peak_allocated = d.timeline->peak_active = d.timeline->peak_reserved =
        (struct gm_moment){2, 100, samples[2].levels};
    d.timeline->steps = (struct gm_steps){.bands = bands, .band_count = 1};
}

/* A stack of 20,000 frames, with bytes at every hundredth: neither recursion nor quadratic time. */
static void fill_deep(struct gm_report *r)
{
    enum { DEEP = 20000 };
    GM_FREED struct row *rows = need(calloc(DEEP, sizeof *rows));
    for (uint32_t i = 0; i < DEEP; i++)
        rows[i] =
            (struct row){i == 0 ? 0 : i - 1, i == 0 ? "all" : "again", "r.py", i % 1000, i % 4000 == 3999 ? i : 0, 1};
    for (uint32_t i = 0; i < DEEP; i++)
        rows[i].self_blocks = rows[i].self_bytes > 0;
    struct device d;
    add_devices(r, &d, 1);
    d.report->trace.events = 1;
    set_tree(r, &d.timeline->flame, rows, DEEP);
}

void sample_fill(struct gm_report *report, enum sample sample)
{
    *report = (struct gm_report){.run_name = "a \"run\"", .timestamp = "2025-11-14 14:30:25"};
    report->snapshot.path = "/some/where \\ else/snapshot.pickle";
    struct device d;
    switch (sample) {
    case SAMPLE_ONE:
        fill_one(report);
        break;
    case SAMPLE_TWO:
        fill_two(report);
        break;
    case SAMPLE_HOSTILE:
        fill_hostile(report);
        break;
    case SAMPLE_DEEP:
        fill_deep(report);
        break;
    case SAMPLE_NO_TRACE:
    case SAMPLE_COUNT:
        add_devices(report, &d, 1);
        break;
    }
}
