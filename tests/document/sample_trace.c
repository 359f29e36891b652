/* SPDX-License-Identifier: Apache-2.0
 *
 * Samples with an analysed trace. The state at the end is that of `small` (1024 MiB reserved, 770 active, 768
 * allocated) and the books lead there; at the peak 1000 MiB are requested, 1010 active, 1006 allocated, 1200 reserved.
 */
#include "sample_parts.h"

#include "analyze/base/size.h"

#include <stdio.h>
#include <string.h>

#define M(n) (UINT64_C(n) * GM_MIB)
#define START UINT64_C(1700000000000000) /* microseconds: time of event 0 */

/* The report's only device again, with `n` copies that may be changed. */
struct gm_device_report *sample_own_devices(struct gm_report *r, size_t n)
{
    struct gm_device_report *d = gm_arena_calloc(&r->arena, n, sizeof *d);
    for (size_t i = 0; d != NULL && i < n; i++) {
        d[i] = r->devices[0];
        d[i].device = (int64_t)i;
    }
    if (d == NULL)
        return NULL;
    r->devices = d;
    r->device_count = n;
    return d;
}

/* ---- train ------------------------------------------------------------------------------------------------------ */

static const struct gm_slice peak_categories[] = {
    {"Attention", 0x0072b2, M(500), 10}, {"MLP", 0xe69f00, M(300), 20}, {"Optimizer step", 0x009e73, M(100), 9},
    {"Embedding", 0, M(10), 1},          {"Loss", 0, M(10), 1},         {"Norm", 0, M(10), 1},
    {"Convolution", 0, M(10), 1},        {"Dropout", 0, M(10), 1},      {"Communication", 0, M(10), 1},
    {"Autocast", 0, M(10), 1},           {"Checkpoint", 0, M(10), 1},   {"Data", 0, M(10), 2},
    {"Unknown", 0x999999, M(10), 3}};
static const struct gm_slice peak_roles[] = {{"Optimizer state", 0x009e73, M(400), 12},
                                             {"Parameter", 0, M(200), 6},
                                             {"Gradient", 0, M(200), 6},
                                             {"Activation", 0, M(150), 17},
                                             {"Temporary", 0, M(30), 5},
                                             {"Unknown", 0, M(20), 5}};
static const struct gm_slice peak_lifetimes[] = {
    {"before the trace, never freed", 0, M(600), 18}, {"whole step", 0, M(300), 20}, {"temporary", 0, M(100), 13}};
static const struct gm_slice end_roles[] = {{"Optimizer state", 0x009e73, M(512), 1}, {"Parameter", 0, M(256), 2}};
static const struct gm_frame_row site_frames[] = {
    {"c10::cuda::CUDACachingAllocator::Native::malloc", "CUDACachingAllocator.cpp", GM_REPORT_NONE},
    {"softmax", "/usr/lib/python3.11/site-packages/torch/nn/functional.py", 1888},
    {"forward", "/home/user/project/model/attention.py", 88},
    {"train_step", "/home/user/project/train.py", 120}};
static const struct gm_group_row peak_groups[] = {
    {"forward", "Attention", "Activation", 0, M(700), 31, NULL, NULL, M(420), NULL, 0},
    {"step", "Optimizer step", "Optimizer state", 0, M(300), 20, NULL, NULL, M(800), NULL, 0}};
static const struct gm_next_peak next_peaks[] = {
    {{3000, START + 1500000, {M(950), M(955), M(960), M(1100)}}, "forward  model/attention.py:88", M(150), 14, 3},
    {{1000, START + 500000, {M(700), M(705), M(710), M(900)}}, "no stack recorded", M(400), GM_REPORT_NONE, 1}};
static const uint64_t call_bytes[] = {M(200), M(200), M(100)};
static const struct gm_module_node module_nodes[] = {
    {.bytes = M(1000), .blocks = 40, .own = M(300), .use = {M(300), 0, 0, M(600), M(100), 0}, .first_child = 1},
    {.function = "forward",
     .file = "/home/u/model/gpt.py",
     .caller = "/home/u/train.py",
     .caller_line = 56,
     .depth = 1,
     .first_child = 2,
     .bytes = M(700),
     .blocks = 30,
     .own = M(200),
     .use = {0, 0, 0, M(600), M(100), 0},
     .calls = 1,
     .least = M(700),
     .most = M(700)},
    {.function = "forward",
     .file = "/home/u/model/gpt.py",
     .caller = "/home/u/model/gpt.py",
     .caller_line = 36,
     .parent = 1,
     .depth = 2,
     .bytes = M(500),
     .blocks = 20,
     .own = M(500),
     .use = {0, 0, 0, M(500), 0, 0},
     .calls = 3,
     .least = M(100),
     .most = M(200),
     .call_bytes = call_bytes,
     .call_count = COUNT(call_bytes)}};
static const struct gm_layers_row module_layers[] = {{"Parameter", 12, 16, M(20), M(60)}};
static const struct gm_tag_row operator_rows[] = {
    {"aten::mm", NULL, M(600), 20, {0, 0, 0, M(600), 0, 0}},
    {"functional.gelu", "nn/functional.py", M(100), 10, {0, 0, 0, 0, M(100), 0}}};
static const struct gm_saving savings[] = {{"forward  model/attention.py:88", M(150), M(880), M(120)},
                                           {"forward  model/mlp.py:17", M(100), M(800), M(80)},
                                           {"step  optim/adam.py:76", M(50), M(760), M(40)},
                                           {"loss  model/loss.py:5", M(20), M(740), M(20)},
                                           {"embed  model/embed.py:9", M(10), M(730), M(10)}};
static const struct gm_role_reason reasons[] = {
    {"Optimizer state", "made in an optimizer's step, lives on after it", 95, 12, M(400), 1, M(512)},
    {"Parameter", "older than the trace and never freed; sizes are those of the gradients", 85, 6, M(200), 2, M(256)},
    {"Gradient", "its stack has AccumulateGrad", 99, 6, M(200), 0, 0},
    {"Activation", "made in forward, freed in backward", 80, 17, M(150), 0, 0},
    {"Temporary", "freed before the next allocation", 90, 5, M(30), 0, 0},
    {"Unknown", "nothing tells", 0, 5, M(20), 0, 0}};
static const struct gm_disagreement disagreements[] = {
    {"free-without-alloc", "frees had no alloc in the trace", 214, M(30), 17, true},
    {"free-of-free", "frees of addresses at which nothing was live, so that this line has to be broken", 2, 1024, 99,
     false}};
static const struct gm_part streams[] = {
    {"stream 0", 0, 0, 0, false, {M(900), M(905), M(910), M(1100)}, {M(769), M(768), M(770), M(1000)}, NULL, 0},
    {"stream 1", 94, 0, 0, false, {M(150), M(151), M(152), M(160)}, {0, 0, 0, M(24)}, NULL, 0}};

static const char *const first_sites[] = {"no stack recorded", "forward  model/attention.py:88",
                                          "forward  model/mlp.py:17", "step  optim/adam.py:76"};

/* 25 of 40 sites: 400, 150, 100, 50 and 21 of 10 MiB, 910 in all; 90 MiB in 15 more. */
static bool set_peak_sites(struct gm_report *r, struct gm_peak_detail *detail)
{
    enum { LISTED = 25 };
    static const uint64_t bytes[] = {M(400), M(150), M(100), M(50)};
    struct gm_group_row *rows = gm_arena_calloc(&r->arena, LISTED, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < LISTED; i++) {
        rows[i] = (struct gm_group_row){
            .label = i < 4 ? first_sites[i] : gm_arena_printf(&r->arena, "part_%zu  model/part.py:%zu", i, i),
            .category = i == 0 ? "No stack recorded" : "Attention",
            .role = i == 0  ? "Parameter"
                    : i < 4 ? "Activation"
                            : NULL,
            .bytes = i < 4 ? bytes[i] : M(10),
            .blocks = i < 4 ? 1 + i : 1,
            .peak_without = i < 4 ? M(1000) - bytes[i] + (i == 1 ? M(30) : 0) : M(990)};
        rows[i].source_note = i == 2 ? "several files of the checkout fit" : NULL;
        if (i == 1) {
            rows[i].source = "probs = torch.softmax(scores, dim=-1)";
            rows[i].frames = site_frames;
            rows[i].frame_count = COUNT(site_frames);
        }
    }
    rows[24].peak_without = GM_REPORT_NONE;
    detail->sites = rows;
    detail->site_count = LISTED;
    detail->site_total = 40;
    detail->site_rest_bytes = M(90);
    detail->site_rest_blocks = 20;
    return true;
}

/* 30 steps that grow by 2 MiB each; the 29th is where the peak is. */
static bool set_steps(struct gm_report *r, struct gm_steps *s)
{
    enum { N = 30 };
    static const struct gm_band bands[] = {
        {"ProfilerStep#28", GM_PHASE_OTHER, 0, true, 4900, 5199, START + 2400000, START + 2600000},
        {"backward", GM_PHASE_BACKWARD, 1, false, 4950, 5050, START + 2450000, START + 2550000}};
    static const struct gm_group_row survivors[] = {
        {"append  train.py:41", "Loss", NULL, 0, M(58), 29, NULL, NULL, GM_REPORT_NONE, NULL, 0},
        {"no stack recorded", "No stack recorded", NULL, 0, M(2), 4, NULL, NULL, GM_REPORT_NONE, NULL, 0}};
    struct gm_step_row *rows = gm_arena_calloc(&r->arena, N, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < N; i++) {
        const uint64_t end = M(600) + 2 * i * GM_MIB, peak = i == 28 ? M(1000) : M(900) + 2 * i * GM_MIB;
        rows[i] = (struct gm_step_row){.label = gm_arena_printf(&r->arena, "ProfilerStep#%zu", i),
                                       .number = i,
                                       .first_event = 180 * i,
                                       .last_event = 180 * i + 179,
                                       .from_us = START + 90000 * i,
                                       .to_us = START + 90000 * i + 80000,
                                       .peak = {peak, peak, peak + M(10), M(1200)},
                                       .end = {end, end, end, M(1200)},
                                       .peak_event = i == 28 ? 4999 : 180 * i + 90,
                                       .growth = 2 * (int64_t)GM_MIB,
                                       .allocs = 100,
                                       .alloc_bytes = M(5000)};
        for (int p = 0; p < GM_PHASE_COUNT; p++)
            rows[i].phase_peak[p] = GM_REPORT_NONE;
        rows[i].phase_peak[GM_PHASE_FORWARD] = peak - M(100);
        rows[i].phase_peak[GM_PHASE_BACKWARD] = peak;
        if (i % 2 == 0)
            rows[i].phase_peak[GM_PHASE_OPTIMIZER] = end;
    }
    rows[28].first_event = 4900;
    rows[28].last_event = 5199;
    rows[27].last_event = 4899;
    rows[29].first_event = 5200;
    rows[29].last_event = 5399;
    rows[29].is_partial = true;
    *s = (struct gm_steps){.source = "ProfilerStep annotations",
                           .certainty = 100,
                           .rows = rows,
                           .row_count = N,
                           .row_total = N,
                           .covered = 29.5,
                           .warm_up = 1,
                           .bands = bands,
                           .band_count = COUNT(bands),
                           .pattern = GM_PATTERN_GROWTH,
                           .pattern_detail = "The bytes at the end of a step grow by 2.00 MiB in each of 29 steps.",
                           .slope = 2.0 * (double)GM_MIB,
                           .steps_to_oom = 1234,
                           .capacity = M(4096),
                           .survivors = survivors,
                           .survivor_count = COUNT(survivors)};
    return true;
}

static const struct gm_growth_row growths[] = {
    {.event = 100, .time_us = START + 50000, .bytes = M(600), .asked = M(600), .pool = "large", .is_first = true},
    {.event = 3000,
     .time_us = START + 1500000,
     .bytes = M(300),
     .asked = M(280),
     .pool = "large",
     .site = "forward  model/attention.py:88",
     .cached = M(310),
     .unusable = {M(290), M(20), 0, 0, 0},
     .largest_hole = M(120),
     .pending = M(4)},
    {.event = 4000,
     .time_us = START + 2000000,
     .bytes = M(20),
     .asked = GM_REPORT_NONE,
     .pool = "small",
     .stream = 94,
     .site = "forward  model/mlp.py:17",
     .cached = M(30),
     .unusable = {0, M(30), 0, 0, 0},
     .is_retry = true}};
static const struct gm_pinner_row pinners[] = {{.site = "forward  model/mlp.py:17",
                                                .category = "MLP",
                                                .bytes = M(2),
                                                .requested = M(2) - 100,
                                                .address = 0x7f0028000000,
                                                .pinned_bytes = M(180),
                                                .event = 4999,
                                                .age_events = 2000,
                                                .age_us = 1000000},
                                               {.site = "no stack recorded",
                                                .category = "No stack recorded",
                                                .bytes = M(1),
                                                .requested = M(1),
                                                .address = 0x7f0029000000,
                                                .pinned_bytes = M(9),
                                                .event = 4999,
                                                .age_events = GM_REPORT_NONE,
                                                .age_us = GM_REPORT_NONE}};
static const struct gm_site_stat rounding[] = {
    {.site = "forward  model/attention.py:88", .category = "Attention", .allocs = 6, .bytes = M(156), .waste = M(6)},
    {.site = "forward  model/mlp.py:17", .category = "MLP", .allocs = 2, .bytes = M(102), .waste = M(2)}};
static const struct gm_site_stat churn[] = {{.site = "softmax  model/attention.py:90",
                                             .category = "Attention",
                                             .allocs = 120000,
                                             .temporary_allocs = 1234,
                                             .bytes = M(90000),
                                             .median_life_us = 45},
                                            {.site = "forward  model/mlp.py:17",
                                             .category = "MLP",
                                             .allocs = 60000,
                                             .bytes = M(9000),
                                             .median_life_us = GM_REPORT_NONE}};

static bool set_history(struct gm_report *r, struct gm_fragmentation_history *h)
{
    enum { SAMPLES = 40 };
    struct gm_fragmentation_sample *samples = gm_arena_calloc(&r->arena, SAMPLES, sizeof *samples);
    if (samples == NULL)
        return false;
    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = (struct gm_fragmentation_sample){135 * i, START + 67500 * i, M(100), (150 + i) * GM_MIB,
                                                      i == 20 ? M(140) : (40 + i) * GM_MIB};
    *h = (struct gm_fragmentation_history){.samples = samples,
                                           .sample_count = SAMPLES,
                                           .growths = growths,
                                           .growth_count = COUNT(growths),
                                           .growth_total = 5,
                                           .growth_bytes = M(1000),
                                           .growth_avoidable_bytes = M(300),
                                           .growths_avoidable = 1,
                                           .growths_examined = 4,
                                           .pinners = pinners,
                                           .pinner_count = COUNT(pinners),
                                           .rounding = rounding,
                                           .rounding_count = COUNT(rounding),
                                           .rounding_bytes = M(10),
                                           .churn = churn,
                                           .churn_count = COUNT(churn),
                                           .temporary_allocs = 1234,
                                           .temporary_bytes = M(5),
                                           .driver_allocs = 6,
                                           .driver_frees = 2,
                                           .driver_cycles = 2,
                                           .retries = 1};
    return true;
}

static const struct gm_reconciliation books = {.is_reconstructed = true,
                                               .at_start = {M(755), M(760), M(760), M(900)},
                                               .at_end = {M(770) - M(1) / 2, M(768), M(770), M(1024)},
                                               .snapshot = {M(770) - M(1) / 2, M(768), M(770), M(1024)},
                                               .end_blocks = 7,
                                               .end_blocks_same = 7,
                                               .sizes_from_snapshot = 1,
                                               .sizes_from_snapshot_bytes = 512,
                                               .baseline_blocks = 18,
                                               .baseline_bytes = M(760),
                                               .never_freed_blocks = 1,
                                               .never_freed_bytes = M(40),
                                               .unsplit_bytes = 4096,
                                               .first_time_us = START,
                                               .last_time_us = START + 2700000,
                                               .disagreements = disagreements,
                                               .disagreement_count = COUNT(disagreements),
                                               .coverage =
                                                   "The trace covers 30 steps / 2.7 s; 214 frees had no alloc in it."};
static const struct gm_levels peak_levels = {M(1000), M(1006), M(1010), M(1200)};

void sample_set_trace(struct gm_device_report *d)
{
    d->trace = (struct gm_trace_counts){.events = 5400,
                                        .allocs = 2500,
                                        .frees = 2460,
                                        .segment_allocs = 6,
                                        .segment_frees = 2,
                                        .max_entries = 2000000,
                                        .overflowed = 0,
                                        .span_us = 2700000,
                                        .peak_reserved = M(1210)};
}

static const uint64_t tried_peaks[][1] = {{M(1206)}, {M(1030)}, {M(1210)}, {M(1342)}, {M(1100)}};
#define PLAYED(runs, mib, peaks, retries)                                                                              \
    {                                                                                                                  \
        runs, M(mib), tried_peaks[peaks], retries, 0, 0                                                                \
    }
static const struct gm_advice_trial tried[] = {
    {"max_split_size_mb:128", {true, M(1206), tried_peaks[0], 0, M(1198), M(1210)}, PLAYED(true, 1100, 4, 1234), 0},
    {"expandable_segments:True",
     {true, M(1030), tried_peaks[1], 0, M(1030), M(1030)},
     PLAYED(true, 1030, 1, 0),
     M(176)},
    {"", PLAYED(true, 1210, 2, 0), PLAYED(false, 1100, 4, 1), 0},
    {"roundup_power2_divisions:8", PLAYED(true, 1342, 3, 0), PLAYED(true, 1100, 4, 2), 0}};

/* Recorded: 1210 MiB. Replayed from an empty allocator: 1206; then 176 less. With a limit there are retries. */
static bool set_advice(struct gm_report *r)
{
    struct gm_settings_advice *advice = gm_arena_calloc(&r->arena, 1, sizeof *advice);
    struct gm_advice_device *device = gm_arena_calloc(&r->arena, 1, sizeof *device);
    if (advice == NULL || device == NULL)
        return false;
    *device = (struct gm_advice_device){.device = 0,
                                        .events = 5400,
                                        .allocs = 1800,
                                        .exact = 1799,
                                        .peak_requested = M(1000),
                                        .recorded = M(1210),
                                        .before = M(1206),
                                        .start_at_peak = M(120),
                                        .limit = GM_REPORT_NONE};
    *advice = (struct gm_settings_advice){.verdict = GM_ADVICE_GIVEN,
                                          .recorded = "max_split_size_mb:128",
                                          .devices = device,
                                          .device_count = 1,
                                          .before = M(1206),
                                          .threshold = M(64),
                                          .baseline = tried,
                                          .tried = tried + 1,
                                          .tried_count = COUNT(tried) - 1,
                                          .best = 0};
    r->advice = advice;
    return true;
}

bool sample_train(struct gm_report *r)
{
    if (!sample_small(r))
        return false;
    struct gm_device_report *d = sample_own_devices(r, 1);
    struct gm_peak *peak = gm_arena_calloc(&r->arena, 1, sizeof *peak);
    struct gm_device_timeline *t = gm_arena_calloc(&r->arena, 1, sizeof *t);
    struct gm_block_row *blocks = gm_arena_calloc(&r->arena, r->top_block_count, sizeof *blocks);
    if (d == NULL || peak == NULL || t == NULL || blocks == NULL)
        return false;
    sample_set_trace(d);
    memcpy(blocks, r->top_blocks, r->top_block_count * sizeof *blocks);
    blocks[0].role = "Optimizer state";
    r->top_blocks = blocks;
    r->snapshot.events = 5400;
    *peak = (struct gm_peak){M(1000), 4999, START + 2499000, peak_categories, COUNT(peak_categories), peak_levels};
    t->reconciliation = books;
    t->peak_allocated = (struct gm_moment){5001, START + 2500000, {M(999), M(1008), M(1009), M(1200)}};
    t->peak_active = (struct gm_moment){5000, START + 2499500, {M(998), M(1007), M(1012), M(1200)}};
    t->peak_reserved = (struct gm_moment){5100, START + 2550000, {M(800), M(801), M(802), M(1210)}};
    t->streams = streams;
    t->stream_count = COUNT(streams);
    t->peak = (struct gm_peak_detail){.times = 2,
                                      .roles = peak_roles,
                                      .role_count = COUNT(peak_roles),
                                      .lifetimes = peak_lifetimes,
                                      .lifetime_count = COUNT(peak_lifetimes),
                                      .groups = peak_groups,
                                      .group_count = COUNT(peak_groups),
                                      .group_total = COUNT(peak_groups),
                                      .group_by = "function",
                                      .next = next_peaks,
                                      .next_count = COUNT(next_peaks),
                                      .savings = savings,
                                      .saving_count = COUNT(savings)};
    t->reasons = reasons;
    t->modules = (struct gm_modules){.nodes = module_nodes,
                                     .node_count = COUNT(module_nodes),
                                     .layers = module_layers,
                                     .layer_count = COUNT(module_layers)};
    t->modules.tags[GM_TAG_OPERATOR] = (struct gm_tag_table){
        operator_rows, COUNT(operator_rows), 3, {.bytes = M(50), .blocks = 3}, {.bytes = M(250), .blocks = 7}};
    t->reason_count = COUNT(reasons);
    t->filter = "Only allocations of at least 1.00 MiB, and events 0 to 5,399.";
    r->roles = end_roles;
    r->role_count = COUNT(end_roles);
    r->peaks = peak;
    r->timelines = t;
    return set_peak_sites(r, &t->peak) && set_steps(r, &t->steps) && set_history(r, &t->fragmentation) && set_advice(r);
}

/* ---- out of memory, on two devices ------------------------------------------------------------------------------ */

static const struct gm_hole holes[] = {{M(90), M(2), "forward  model/mlp.py:17", 1000000},
                                       {M(60), 0, NULL, GM_REPORT_NONE}};
static const struct gm_group_row grew[] = {
    {"forward  model/attention.py:88", "Attention", "Activation", 0, M(150), 12, NULL, NULL, GM_REPORT_NONE, NULL, 0},
    {"step  optim/adam.py:76", "Optimizer step", "Optimizer state", 0, M(20), 1, NULL, NULL, GM_REPORT_NONE, NULL, 0}};
static const struct gm_oom_row ooms[] = {
    {.event = 5000,
     .time_us = START + 2500000,
     .asked = M(512),
     .device_free = M(100),
     .pool = "large",
     .site = "forward  model/attention.py:88",
     .levels = {M(1000), M(1006), M(1010), M(1200)},
     .pending = M(4),
     .categories = peak_categories,
     .category_count = COUNT(peak_categories),
     .roles = peak_roles,
     .role_count = COUNT(peak_roles),
     .unusable = {M(150), M(30), M(10), 0, 0},
     .largest_hole = M(90),
     .holes = holes,
     .hole_count = COUNT(holes),
     .grew = grew,
     .grew_count = COUNT(grew),
     .grew_since = "since step 12",
     .verdict = GM_OOM_CAPACITY,
     .verdict_detail = "Even if all 190.0 MiB that were cached had been one hole, 512.0 MiB would not have fitted."},
    {.event = 5200,
     .time_us = GM_REPORT_NONE,
     .asked = M(80),
     .device_free = GM_REPORT_NONE,
     .stream = 94,
     .levels = {M(900), M(900), M(900), M(1200)},
     .unusable = {0, 0, 0, M(200), M(100)},
     .verdict = GM_OOM_FRAGMENTATION}};

bool sample_oom(struct gm_report *r)
{
    static const struct gm_disagreement none[1];
    if (!sample_train(r))
        return false;
    struct gm_device_report *d = sample_own_devices(r, 2);
    struct gm_peak *peaks = gm_arena_calloc(&r->arena, 2, sizeof *peaks);
    struct gm_device_timeline *t = gm_arena_calloc(&r->arena, 2, sizeof *t);
    if (d == NULL || peaks == NULL || t == NULL)
        return false;
    peaks[1] = r->peaks[0];
    t[1] = r->timelines[0];
    r->advice->verdict = GM_ADVICE_NOT_JUDGED;
    r->advice->reason = "the trace has more than 1,000,000 events";
    r->advice->command = "gmreplay --sweep 'runs/out of memory.pickle'";
    r->advice->recorded = NULL;
    r->advice->devices[0].exact = r->advice->devices[0].start_at_peak = GM_REPORT_NONE;
    r->advice->baseline = NULL;
    r->advice->tried_count = 0;
    d[1].trace.ooms = 5;
    t[1].ooms = ooms;
    t[1].oom_count = COUNT(ooms);
    t[1].filter = NULL;
    t[1].steps = (struct gm_steps){.steps_to_oom = GM_REPORT_NONE, .capacity = GM_REPORT_NONE};
    t[1].peak.groups = NULL;
    t[1].peak.group_count = t[1].peak.group_total = 0;
    t[1].peak.next_count = t[1].peak.saving_count = 0;
    t[1].reconciliation.disagreements = none;
    t[1].reconciliation.disagreement_count = 0;
    t[1].reconciliation.end_blocks_same = 6; /* the books do not balance */
    t[1].reconciliation.at_end.active -= 512;
    t[1].reconciliation.residual_active = -512;
    /* device 0: nothing but what was live before the trace */
    static const struct gm_slice only = {"No stack recorded", 0x999999, M(100), 3};
    peaks[0] = (struct gm_peak){M(100), GM_REPORT_NONE, GM_REPORT_NONE, &only, 1, {M(100), M(100), M(100), M(120)}};
    t[0].reconciliation = (struct gm_reconciliation){.is_reconstructed = true,
                                                     .at_start = {M(100), M(100), M(100), M(120)},
                                                     .at_end = {M(100), M(100), M(100), M(120)},
                                                     .snapshot = {M(100), M(100), M(100), M(120)},
                                                     .end_blocks = 4,
                                                     .end_blocks_same = 4,
                                                     .baseline_blocks = 3,
                                                     .baseline_bytes = M(100),
                                                     .first_time_us = GM_REPORT_NONE,
                                                     .last_time_us = GM_REPORT_NONE};
    t[0].peak_allocated = t[0].peak_active = t[0].peak_reserved =
        (struct gm_moment){GM_REPORT_NONE, GM_REPORT_NONE, {M(100), M(100), M(100), M(120)}};
    d[0].trace.peak_reserved = M(120);
    d[0].trace.events = 1;
    r->peaks = peaks;
    r->timelines = t;
    return true;
}

/* ---- not reconstructed; no events ------------------------------------------------------------------------------- */

bool sample_opaque(struct gm_report *r)
{
    static const struct gm_disagreement odd[] = {{"alloc-over-live", "allocs were at addresses that were still live",
                                                  1700, GM_REPORT_NONE, GM_REPORT_NONE, false}};
    static const struct gm_oom_row oom = {.event = 7,
                                          .time_us = GM_REPORT_NONE,
                                          .asked = M(512),
                                          .device_free = GM_REPORT_NONE,
                                          .levels = {M(1000), 0, 0, M(1200)}};
    if (!sample_small(r))
        return false;
    struct gm_device_report *d = sample_own_devices(r, 1);
    struct gm_peak *peak = gm_arena_calloc(&r->arena, 1, sizeof *peak);
    struct gm_device_timeline *t = gm_arena_calloc(&r->arena, 1, sizeof *t);
    if (d == NULL || peak == NULL || t == NULL)
        return false;
    sample_set_trace(d);
    d->trace.ooms = 1;
    /* zeroes where nothing is known must not be told as figures */
    *peak =
        (struct gm_peak){M(1000), 4999, GM_REPORT_NONE, peak_categories, COUNT(peak_categories), {0, 0, 0, M(1200)}};
    t->reconciliation.reason = "1,700 allocations lie inside others, so their addresses cannot be trusted";
    t->reconciliation.first_time_us = t->reconciliation.last_time_us = GM_REPORT_NONE;
    t->reconciliation.disagreements = odd;
    t->reconciliation.disagreement_count = COUNT(odd);
    t->peak_reserved = (struct gm_moment){5100, GM_REPORT_NONE, {M(800), 0, 0, M(1210)}};
    t->ooms = &oom;
    t->oom_count = 1;
    r->peaks = peak;
    r->timelines = t;
    /* the recording ran into a limit, and nothing is worth a change */
    if (!set_advice(r))
        return false;
    r->advice->verdict = GM_ADVICE_NO_GAIN;
    r->advice->threshold = M(200);
    r->advice->is_limited = true;
    r->advice->devices[0].limit = M(1220);
    r->advice->devices[0].is_limit_exact = true;
    r->advice->devices[0].was_refused = true;
    r->advice->devices[0].limit_event = 4321;
    r->advice->devices[0].limit_reserved = M(1180);
    r->advice->devices[0].limit_left = M(40);
    return true;
}

bool sample_still(struct gm_report *r)
{
    if (!sample_small(r))
        return false;
    struct gm_device_report *d = sample_own_devices(r, 1);
    r->peaks = gm_arena_calloc(&r->arena, 1, sizeof *r->peaks);
    r->timelines = gm_arena_calloc(&r->arena, 1, sizeof *r->timelines);
    if (d == NULL || r->peaks == NULL || r->timelines == NULL)
        return false;
    d->trace = (struct gm_trace_counts){
        .max_entries = GM_REPORT_NONE, .overflowed = -1, .span_us = GM_REPORT_NONE, .peak_reserved = GM_REPORT_NONE};
    r->snapshot.events = 0;
    return true;
}
