/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports at random; see random_report.h.
 */
#include "tests/render/random_report.h"

#include "analyze/base/order.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static uint64_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t x = *seed ^ *seed >> 31;
    return x * UINT64_C(0x9e3779b97f4a7c15) >> 3;
}

/* Any magnitude is as likely as any other. */
static uint64_t random_bytes(uint64_t *seed)
{
    return next_random(seed) % 5 == 0 ? 0 : next_random(seed) >> (next_random(seed) % 61);
}

static char *random_name(struct gm_report *r, uint64_t *seed)
{
    static const char *const pieces[] = {"a", "W",   "i", "/", "  ", ".py:1", "\xc3\xa9", "\xe6\xb3\xa8",
                                         "_", "<b>", "%s"};
    size_t n = next_random(seed) % 4 == 0 ? next_random(seed) % 90 : next_random(seed) % 12;
    char *name = gm_arena_calloc(&r->arena, n * 8 + 1, 1);
    assert_non_null(name);
    for (size_t i = 0; i < n; i++)
        strcat(name, pieces[next_random(seed) % (sizeof pieces / sizeof *pieces)]);
    return name;
}

GM_ORDERING(largest_first, struct gm_slice, GM_DOWN(bytes));

static struct gm_slice *random_slices(struct gm_report *r, uint64_t *seed, size_t n)
{
    struct gm_slice *v = gm_arena_calloc(&r->arena, n + 1, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = (struct gm_slice){random_name(r, seed), (uint32_t)(next_random(seed) & 0xffffff), random_bytes(seed),
                                 random_bytes(seed)};
    qsort(v, n, sizeof *v, largest_first);
    return v;
}

static void random_totals(struct gm_totals *t, struct gm_ledger *l, uint64_t *seed)
{
    *t = (struct gm_totals){.reserved = random_bytes(seed),
                            .allocated = random_bytes(seed),
                            .pending = random_bytes(seed),
                            .inactive = random_bytes(seed),
                            .allocated_blocks = random_bytes(seed)};
    *l = (struct gm_ledger){.allocated_requested = random_bytes(seed),
                            .allocated_rounding = random_bytes(seed),
                            .pending = random_bytes(seed),
                            .releasable = random_bytes(seed),
                            .stranded = random_bytes(seed),
                            .reserved = t->reserved,
                            .residual = (int64_t)(random_bytes(seed) << 2)};
}

/* ---- timelines --------------------------------------------------------------------------------------------------- */

static void *get(struct gm_report *r, size_t count, size_t size)
{
    void *p = gm_arena_calloc(&r->arena, count + 1, size);
    assert_non_null(p);
    return p;
}

static struct gm_levels random_levels(uint64_t *seed)
{
    struct gm_levels l = {random_bytes(seed), random_bytes(seed), random_bytes(seed), random_bytes(seed)};
    return l;
}

/* Sometimes NONE. */
static uint64_t random_event(uint64_t *seed)
{
    return next_random(seed) % 9 == 0 ? GM_REPORT_NONE : random_bytes(seed) >> (next_random(seed) % 50);
}

static void random_curve(struct gm_report *r, struct gm_curve *curve, uint64_t *seed)
{
    const size_t n = next_random(seed) % 5 == 0 ? next_random(seed) % 4000 : next_random(seed) % 200;
    const size_t layers = next_random(seed) % 30;
    struct gm_curve_column *columns = get(r, n, sizeof *columns);
    struct gm_layer *names = get(r, layers, sizeof *names);
    uint64_t *bytes = get(r, n * layers, sizeof *bytes);
    curve->has_times = next_random(seed) % 3 != 0;
    curve->is_by_time = curve->has_times && next_random(seed) % 3 != 0;
    curve->start_us = random_bytes(seed);
    curve->x_end = n == 0 ? 0 : (double)(random_bytes(seed) >> (next_random(seed) % 60));
    for (size_t i = 0; i < layers; i++)
        names[i] = (struct gm_layer){random_name(r, seed), (uint32_t)(next_random(seed) & 0xffffff)};
    for (size_t i = 0; i < n * layers; i++)
        bytes[i] = random_bytes(seed);
    for (size_t i = 0; i < n; i++) {
        columns[i].first_event = i * 3;
        columns[i].last_event = i * 3 + (next_random(seed) % 4 == 0 ? (uint64_t)-1 : 2); /* some have no event */
        columns[i].low = random_levels(seed);
        columns[i].high = random_levels(seed);
        columns[i].high_event = random_event(seed);
        columns[i].pending = random_bytes(seed);
    }
    curve->columns = columns;
    curve->column_count = n;
    curve->layers = names;
    curve->layer_bytes = bytes;
    curve->layer_count = layers;
}

static void random_steps(struct gm_report *r, struct gm_device_timeline *t, uint64_t *seed)
{
    const size_t n = next_random(seed) % 3 == 0 ? next_random(seed) % 3000 : next_random(seed) % 20;
    struct gm_band *bands = get(r, n, sizeof *bands);
    for (size_t i = 0; i < n; i++)
        bands[i] = (struct gm_band){.name = i % 50 == 0 ? random_name(r, seed) : "step 7",
                                    .phase = (enum gm_phase)(next_random(seed) % GM_PHASE_COUNT),
                                    .depth = (unsigned)(next_random(seed) % 4),
                                    .is_step = next_random(seed) % 2 == 0,
                                    .first_event = random_event(seed),
                                    .last_event = random_event(seed),
                                    .from_us = random_event(seed),
                                    .to_us = random_event(seed)};
    t->steps.bands = bands;
    t->steps.band_count = n;
    t->oom_count = next_random(seed) % 6;
    struct gm_oom_row *ooms = get(r, t->oom_count, sizeof *ooms);
    for (size_t i = 0; i < t->oom_count; i++)
        ooms[i] = (struct gm_oom_row){.event = random_event(seed), .asked = random_bytes(seed)};
    t->ooms = ooms;
}

static void random_detail(struct gm_report *r, struct gm_peak_detail *d, uint64_t *seed)
{
    struct gm_group_row *rows = get(r, 40, sizeof *rows);
    for (size_t i = 0; i < 40; i++)
        rows[i] = (struct gm_group_row){.label = random_name(r, seed),
                                        .category = random_name(r, seed),
                                        .role = next_random(seed) % 2 == 0 ? NULL : random_name(r, seed),
                                        .color = (uint32_t)(next_random(seed) & 0xffffff),
                                        .bytes = random_bytes(seed),
                                        .blocks = random_bytes(seed),
                                        .peak_without = random_event(seed)};
    d->sites = rows;
    d->site_count = next_random(seed) % 40;
    d->site_total = d->site_count + next_random(seed) % 2 * random_bytes(seed) % 1000;
    d->site_rest_bytes = random_bytes(seed);
    d->role_count = next_random(seed) % 10;
    d->roles = random_slices(r, seed, d->role_count);
    d->lifetime_count = next_random(seed) % 10;
    d->lifetimes = random_slices(r, seed, d->lifetime_count);
}

/* Links that may lead anywhere. */
static void random_flame(struct gm_report *r, struct gm_flame *flame, uint64_t *seed)
{
    const size_t n = next_random(seed) % 300;
    struct gm_flame_node *nodes = get(r, n, sizeof *nodes);
    for (size_t i = 0; i < n; i++)
        nodes[i] = (struct gm_flame_node){.name = random_name(r, seed),
                                          .filename = next_random(seed) % 3 == 0 ? NULL : random_name(r, seed),
                                          .line = random_event(seed),
                                          .first_child = (uint32_t)(next_random(seed) % (n + 5)),
                                          .next_sibling = (uint32_t)(next_random(seed) % (n + 5)),
                                          .color = (uint32_t)(next_random(seed) & 0xffffff),
                                          .is_python = next_random(seed) % 2 == 0,
                                          .bytes = random_bytes(seed) >> (i == 0 ? 0 : 3),
                                          .blocks = random_bytes(seed),
                                          .self_bytes = random_bytes(seed)};
    *flame = (struct gm_flame){nodes, n};
}

static void random_map(struct gm_report *r, struct gm_segment_map *map, uint64_t *seed)
{
    const size_t n = next_random(seed) % 120;
    struct gm_map_segment *v = get(r, n, sizeof *v);
    for (size_t i = 0; i < n; i++) {
        const size_t blocks = next_random(seed) % 20;
        struct gm_map_block *b = get(r, blocks, sizeof *b);
        uint64_t offset = 0;
        for (size_t k = 0; k < blocks; k++) { /* mostly one after the other, sometimes not */
            const uint64_t bytes = random_bytes(seed) >> 6;
            b[k] = (struct gm_map_block){next_random(seed) % 9 == 0 ? random_bytes(seed) : offset, bytes,
                                         (uint8_t)(next_random(seed) % 4), (uint32_t)(next_random(seed) & 0xffffff),
                                         k % 3 == 0 ? NULL : random_name(r, seed)};
            offset += bytes;
        }
        v[i] = (struct gm_map_segment){next_random(seed),
                                       next_random(seed) % 9 == 0 ? random_bytes(seed) : offset,
                                       random_name(r, seed),
                                       (uint32_t)(next_random(seed) % 3),
                                       b,
                                       blocks,
                                       next_random(seed) % 9 == 0 ? (size_t)random_bytes(seed) : 0};
    }
    *map = (struct gm_segment_map){v, n, n + next_random(seed) % 2 * random_bytes(seed) % 9, random_bytes(seed)};
}

static void random_timelines(struct gm_report *r, struct gm_device_report *devices, uint64_t *seed)
{
    struct gm_device_timeline *timelines = get(r, r->device_count, sizeof *timelines);
    struct gm_peak *peaks = get(r, r->device_count, sizeof *peaks);
    for (size_t i = 0; i < r->device_count; i++) {
        struct gm_device_timeline *t = &timelines[i];
        if (next_random(seed) % 5 == 0)
            continue;
        devices[i].trace.events = 1 + random_bytes(seed);
        devices[i].trace.span_us = random_event(seed);
        random_curve(r, &t->curve, seed);
        random_steps(r, t, seed);
        random_detail(r, &t->peak, seed);
        random_flame(r, &t->flame, seed);
        random_map(r, &t->map, seed);
        t->reconciliation.is_reconstructed = next_random(seed) % 2 == 0;
        t->reconciliation.reason = next_random(seed) % 2 == 0 ? NULL : random_name(r, seed);
        t->reconciliation.coverage = next_random(seed) % 2 == 0 ? NULL : random_name(r, seed);
        t->reconciliation.first_time_us = random_event(seed);
        t->filter = next_random(seed) % 2 == 0 ? NULL : random_name(r, seed);
        t->peak_reserved = (struct gm_moment){random_event(seed), random_event(seed), random_levels(seed)};
        t->peak_active = (struct gm_moment){random_event(seed), random_event(seed), random_levels(seed)};
        peaks[i] =
            (struct gm_peak){random_bytes(seed), random_event(seed), random_event(seed), NULL, 0, random_levels(seed)};
        if (next_random(seed) % 4 == 0)
            peaks[i].levels.active = GM_REPORT_NONE;
        peaks[i].category_count = next_random(seed) % 20;
        peaks[i].categories = random_slices(r, seed, peaks[i].category_count);
    }
    r->timelines = timelines;
    r->peaks = peaks;
}

void random_report(struct gm_report *r, uint64_t seed)
{
    *r = (struct gm_report){.run_name = NULL};
    r->run_name = random_name(r, &seed);
    random_totals(&r->totals, &r->ledger, &seed);
    r->snapshot.is_salvaged = next_random(&seed) % 2 == 0;
    r->device_count = next_random(&seed) % 4 == 0 ? next_random(&seed) % 40 : next_random(&seed) % 4;
    struct gm_device_report *devices = gm_arena_calloc(&r->arena, r->device_count + 1, sizeof *devices);
    assert_non_null(devices);
    for (size_t i = 0; i < r->device_count; i++) {
        random_totals(&devices[i].totals, &devices[i].ledger, &seed);
        devices[i].device = (int64_t)(i * (1 + seed % 3));
        devices[i].category_count = next_random(&seed) % 20;
        devices[i].categories = random_slices(r, &seed, devices[i].category_count);
    }
    if (next_random(&seed) % 4 != 0)
        random_timelines(r, devices, &seed);
    r->devices = devices;
    r->category_count = next_random(&seed) % 50;
    r->categories = random_slices(r, &seed, r->category_count);
    r->top_block_count = next_random(&seed) % 40;
    struct gm_block_row *blocks = gm_arena_calloc(&r->arena, r->top_block_count + 1, sizeof *blocks);
    assert_non_null(blocks);
    uint64_t bytes = random_bytes(&seed);
    for (size_t i = 0; i < r->top_block_count; i++) {
        blocks[i] = (struct gm_block_row){.bytes = bytes,
                                          .device = (int64_t)(next_random(&seed) >> (next_random(&seed) % 61)),
                                          .category = random_name(r, &seed),
                                          .color = (uint32_t)(next_random(&seed) & 0xffffff),
                                          .site = random_name(r, &seed)};
        bytes -= bytes / (1 + next_random(&seed) % 30);
    }
    r->top_blocks = blocks;
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++)
        r->histogram[i] = (struct gm_histogram_bin){.label = random_name(r, &seed),
                                                    .active = {random_bytes(&seed), random_bytes(&seed)},
                                                    .cached = {random_bytes(&seed), random_bytes(&seed)}};
}
