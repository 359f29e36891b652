/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_parts.h"

#include "analyze/base/size.h"
#include "analyze/diagnose/diagnose.h"

#include <stdio.h>
#include <string.h>

const char *const sample_names[] = {"small", "empty", "eight",  "hostile", "flood", "train",
                                    "oom",   "evil",  "opaque", "still",   NULL};
const char *const sample_charts[] = {"memory_overview.png", "Allocated and cached memory (by category).",
                                     "top_consumers.png", "The 30 largest blocks.", NULL};
const char *const hostile_charts[] = {"a b](javascript:alert(1)).png",
                                      "alt ![x](y) \"<img src=x onerror=alert(1)>\" `|", "x|y.png",
                                      "](http://evil.example)", NULL};

static const char *const bin_labels[GM_HISTOGRAM_BINS] = {
    "512 B - 4 KiB",   "4 KiB - 32 KiB",   "32 KiB - 256 KiB", "256 KiB - 1 MiB", "1 MiB - 2 MiB",   "2 MiB - 10 MiB",
    "10 MiB - 20 MiB", "20 MiB - 100 MiB", "100 - 200 MiB",    "200 - 500 MiB",   "500 MiB - 1 GiB", "1 GiB or more"};

static void set_bins(struct gm_report *r)
{
    static const uint64_t from[GM_HISTOGRAM_BINS] = {
        0,           4 * GM_KIB,  32 * GM_KIB,  256 * GM_KIB, GM_MIB,       2 * GM_MIB,
        10 * GM_MIB, 20 * GM_MIB, 100 * GM_MIB, 200 * GM_MIB, 500 * GM_MIB, GM_GIB};
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        r->histogram[i].from = from[i];
        r->histogram[i].to = i + 1 < GM_HISTOGRAM_BINS ? from[i + 1] : UINT64_MAX;
        r->histogram[i].label = bin_labels[i];
    }
}

static void set_trace_absent(struct gm_trace_counts *t)
{
    *t = (struct gm_trace_counts){
        .max_entries = GM_REPORT_NONE, .overflowed = -1, .span_us = GM_REPORT_NONE, .peak_reserved = GM_REPORT_NONE};
}

/* Derives the ledger from totals and fragmentation, as a consistent file would give it. */
static struct gm_ledger ledger_of(const struct gm_totals *t, const struct gm_fragmentation *f)
{
    struct gm_ledger l = {.allocated_requested = t->allocated - t->rounding,
                          .allocated_rounding = t->rounding,
                          .pending = t->pending,
                          .releasable = f->releasable,
                          .stranded = f->stranded,
                          .reserved = t->reserved,
                          .stated_allocated = t->allocated,
                          .stated_active = t->active,
                          .stated_requested = t->requested};
    l.sum = l.allocated_requested + l.allocated_rounding + l.pending + l.releasable + l.stranded;
    l.residual = (int64_t)(l.reserved - l.sum);
    return l;
}

/* ---- small ------------------------------------------------------------------------------------------------------ */

static const struct gm_frame_row attention_frames[] = {
    {"c10::cuda::CUDACachingAllocator::Native::malloc", "CUDACachingAllocator.cpp", GM_REPORT_NONE},
    {"at::_ops::empty_memory_format::call", "??", 0},
    {"softmax", "/usr/lib/python3.11/site-packages/torch/nn/functional.py", 1888},
    {"forward", "/home/user/project/model/attention.py", 88},
    {"_call_impl", "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py", 1747},
    {"forward", "/home/user/project/model/block.py", 41},
    {"train_step", "/home/user/project/train.py", 120},
    {"PyEval_EvalCode", "??", 0}};
static const struct gm_frame_row mlp_frames[] = {
    {"linear", "/usr/lib/python3.11/site-packages/torch/nn/functional.py", 2134},
    {"forward", "/home/user/project/model/mlp.py", 17}};
static const struct gm_totals small_totals = {.reserved = 1024 * GM_MIB,
                                              .allocated = 768 * GM_MIB,
                                              .pending = 2 * GM_MIB,
                                              .active = 770 * GM_MIB,
                                              .requested = 770 * GM_MIB - GM_MIB / 2,
                                              .inactive = 254 * GM_MIB,
                                              .rounding = GM_MIB / 2,
                                              .segments = 4,
                                              .blocks = 7,
                                              .active_blocks = 4,
                                              .allocated_blocks = 3,
                                              .inactive_blocks = 3};
static const struct gm_slice small_slices[] = {{"Attention", 0x0072b2, 512 * GM_MIB, 1},
                                               {"MLP", 0xe69f00, 256 * GM_MIB, 2}};
static const struct gm_block_row small_blocks[] = {
    {512 * GM_MIB, 512 * GM_MIB, 0x7f0000000000, 0, 0, 0, "large", "Attention", 0x0072b2, NULL,
     "forward  model/attention.py:88", attention_frames, COUNT(attention_frames)},
    {128 * GM_MIB, 128 * GM_MIB - GM_MIB / 2, 0x7f0020000000, 0, 0, 0, "large", "MLP", 0xe69f00, NULL,
     "forward  model/mlp.py:17", mlp_frames, COUNT(mlp_frames)},
    {128 * GM_MIB, 128 * GM_MIB, 0x7f0028000000, 0, 0, 0, "large", "MLP", 0xe69f00, NULL, "forward  model/mlp.py:17",
     mlp_frames, COUNT(mlp_frames)}};
static const struct gm_site_row small_sites[] = {
    {"forward  model/attention.py:88", "Attention", 0x0072b2, 512 * GM_MIB, 1},
    {"forward  model/mlp.py:17", "MLP", 0xe69f00, 256 * GM_MIB, 2}};
static const struct gm_pin_row small_pins[] = {
    {{128 * GM_MIB, 128 * GM_MIB, 0x7f0028000000, 0, 0, 0, "large", "MLP", 0xe69f00, NULL, "forward  model/mlp.py:17",
      mlp_frames, COUNT(mlp_frames)},
     104 * GM_MIB,
     1,
     0x7f0028000000,
     232 * GM_MIB}};
static const struct gm_stream_row small_streams[] = {{0, 0, {0}}};
static const struct gm_pool_row small_pools[] = {{"large", "large", 0, 0, false, false, {0}}};
static const struct gm_finding small_findings[] = {
    {.id = "cache-over-10-percent",
     .severity = GM_WARNING,
     .title = "Much of the reserved memory is cached and unused",
     .detail = "254.0 MiB of 1.00 GiB (24.8 %) is cached. It has a colon:here and an=equals_sign, which stay what they "
               "are when a line is broken.",
     .bytes = 254 * GM_MIB},
    {.id = "no-history",
     .title = "Some blocks have no stack",
     .detail = "Record from the start of the program.",
     .bytes = GM_REPORT_NONE}};
static const struct gm_setting_row small_settings[] = {{"PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:128", false},
                                                       {"expandable_segments", "False", true},
                                                       {"garbage_collection_threshold", "0.0", true},
                                                       {"roundup_power2_divisions.1", "0", true},
                                                       {"roundup_power2_divisions.2", "0", true},
                                                       {"roundup_power2_divisions.4", "8", false},
                                                       {"pinned.x", "", true}};
static const char *const small_warnings[] = {"unknown key 'flavour' in a segment (4 times)"};

static void set_source(struct gm_report *r, const char *path)
{
    r->run_name = "small";
    r->timestamp = "2025-11-14 14:30:25";
    r->snapshot.path = path;
    r->snapshot.format = "pickle";
    r->snapshot.compression = "none";
    r->host_reserved = r->host_active = GM_REPORT_NONE;
    set_bins(r);
}

/* Copies the device's share from the report's own figures: right where there is one device. */
static bool set_only_device(struct gm_report *r)
{
    struct gm_device_report *d = gm_arena_calloc(&r->arena, 1, sizeof *d);
    struct gm_stream_row *stream = gm_arena_calloc(&r->arena, 1, sizeof *stream);
    struct gm_pool_row *pool = gm_arena_calloc(&r->arena, 1, sizeof *pool);
    if (d == NULL || stream == NULL || pool == NULL)
        return false;
    *stream = small_streams[0];
    *pool = small_pools[0];
    stream->totals = pool->totals = d->totals = r->totals;
    d->fragmentation = r->fragmentation;
    d->ledger = r->ledger;
    d->streams = stream;
    d->pools = pool;
    d->stream_count = d->pool_count = 1;
    d->categories = r->categories;
    d->category_count = r->category_count;
    set_trace_absent(&d->trace);
    r->devices = d;
    r->device_count = 1;
    return true;
}

bool sample_small(struct gm_report *r)
{
    set_source(r, "/data/runs/iteration_1/rank0_memory_snapshot.pickle");
    r->snapshot.disk_bytes = 3 * GM_MIB;
    r->snapshot.segments = 4;
    r->snapshot.blocks = 7;
    r->snapshot.events = 1234567;
    r->snapshot.unique_stacks = 2;
    r->snapshot.unique_frames = 10;
    r->snapshot.live_blocks_with_stack = 3;
    r->snapshot.live_bytes_with_stack = 768 * GM_MIB;
    r->totals = small_totals;
    r->fragmentation = (struct gm_fragmentation){
        3, 150 * GM_MIB, {150 * GM_MIB, 1}, 150 * GM_MIB, 104 * GM_MIB, 150 * GM_MIB, small_pins, COUNT(small_pins)};
    r->ledger = ledger_of(&r->totals, &r->fragmentation);
    r->categories = small_slices;
    r->category_count = COUNT(small_slices);
    r->top_blocks = small_blocks;
    r->top_block_count = COUNT(small_blocks);
    r->sites = small_sites;
    r->site_count = r->site_total = COUNT(small_sites);
    r->diagnosis.findings = small_findings;
    r->diagnosis.finding_count = COUNT(small_findings);
    r->settings = small_settings;
    r->setting_count = COUNT(small_settings);
    r->warnings = small_warnings;
    r->warning_count = COUNT(small_warnings);
    r->histogram[10].active = (struct gm_amount){512 * GM_MIB, 1};
    r->histogram[8].active = (struct gm_amount){256 * GM_MIB, 2};
    r->histogram[5].active = (struct gm_amount){2 * GM_MIB, 1};
    r->histogram[8].cached = (struct gm_amount){250 * GM_MIB, 2};
    r->histogram[5].cached = (struct gm_amount){4 * GM_MIB, 1};
    r->host_reserved = 256 * GM_MIB;
    r->host_active = 128 * GM_MIB;
    if (!set_only_device(r))
        return false;
    struct gm_device_report *d = gm_arena_calloc(&r->arena, 1, sizeof *d);
    if (d == NULL)
        return false;
    *d = r->devices[0];
    d->trace = (struct gm_trace_counts){.events = 1234567,
                                        .allocs = 600000,
                                        .frees = 599997,
                                        .ooms = 1,
                                        .segment_allocs = 6,
                                        .segment_frees = 2,
                                        .others = 34561,
                                        .max_entries = 2000000,
                                        .overflowed = 0,
                                        .span_us = 83456789,
                                        .peak_reserved = 1200 * GM_MIB};
    r->devices = d;
    return true;
}

static bool make_empty(struct gm_report *r)
{
    set_source(r, "-");
    r->run_name = "stdin";
    return true;
}

/* ---- eight devices ---------------------------------------------------------------------------------------------- */

static bool set_device(struct gm_report *r, struct gm_device_report *d, int64_t number)
{
    struct gm_stream_row *streams = gm_arena_calloc(&r->arena, 2, sizeof *streams);
    struct gm_pool_row *pools = gm_arena_calloc(&r->arena, 2, sizeof *pools);
    struct gm_slice *slices = gm_arena_calloc(&r->arena, 2, sizeof *slices);
    if (streams == NULL || pools == NULL || slices == NULL)
        return false;
    uint64_t n = (uint64_t)number + 1;
    /* n * 100 MiB requested, as much again in the cache, of which a quarter is stranded; device 7 holds events only */
    uint64_t half = number == 7 ? 0 : n * 100 * GM_MIB;
    d->device = number;
    d->totals = (struct gm_totals){.reserved = 2 * half,
                                   .allocated = half,
                                   .active = half,
                                   .requested = half,
                                   .inactive = half,
                                   .segments = 2,
                                   .blocks = 22,
                                   .active_blocks = 20,
                                   .allocated_blocks = 20,
                                   .inactive_blocks = 2};
    d->fragmentation.inactive_blocks = 2;
    d->fragmentation.largest_inactive = half / 4 * 3;
    d->fragmentation.releasable = d->fragmentation.empty_cache = half / 4 * 3;
    d->fragmentation.stranded = half / 4;
    d->ledger = ledger_of(&d->totals, &d->fragmentation);
    streams[0] = (struct gm_stream_row){0, 0, d->totals};
    streams[1] = (struct gm_stream_row){-81985529216486896, 1, {0}};
    pools[0] = (struct gm_pool_row){"large", "large", 0, 0, false, true, d->totals};
    pools[1] = (struct gm_pool_row){"private (0,2) small", "small", 0, 2, true, false, {0}};
    slices[0] = (struct gm_slice){"Optimizer step", 0x009e73, half / 2, 10};
    slices[1] = (struct gm_slice){"Backward pass", 0xd55e00, half / 2, 10};
    d->streams = streams;
    d->pools = pools;
    d->categories = slices;
    d->stream_count = d->pool_count = d->category_count = 2;
    set_trace_absent(&d->trace);
    return true;
}

#define OPTIMIZER_ROW(bytes, address, device, category, frames)                                                        \
    {                                                                                                                  \
        bytes, bytes, address, device, 0, 0, "large", category, 0x009e73, NULL, "step  optim/adam.py:76", frames,      \
            COUNT(frames)                                                                                              \
    }
#define LONG_ROW(bytes, address, frames)                                                                               \
    {                                                                                                                  \
        bytes, bytes, address, 3, 0, 0, "large", "Optimizer step", 0x009e73, NULL,                                     \
            "zeropower_via_newtonschulz5  optim/orthogonal_momentum.py:176", frames, COUNT(frames)                     \
    }
#define STACKLESS_ROW(bytes, address, device)                                                                          \
    {                                                                                                                  \
        bytes, bytes, address, device, 0, 0, "large", "No stack recorded", 0x999999, NULL, "no stack recorded", NULL,  \
            0                                                                                                          \
    }

/* The same place by two ways. */
static const struct gm_frame_row first_step_frames[] = {{"step", "/home/user/optim/adam.py", 76},
                                                        {"train", "/home/user/train.py", 12}};
static const struct gm_frame_row other_step_frames[] = {{"step", "/home/user/optim/adam.py", 76},
                                                        {"train", "/home/user/train.py", 15}};

/* As torch 2.x records them: capture and dispatch around the user's own frames. */
static const struct gm_frame_row noisy_frames[] = {
    {"torch::unwind::unwind()", "??", 0},
    {"torch::CapturedTraceback::gather(bool, bool, bool)", "??", 0},
    {"c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long)", "??", 0},
    {"at::detail::empty_generic(c10::ArrayRef<long>)", "??", 0},
    {"c10::impl::wrap_kernel_functor_unboxed_<at::Tensor ()>::call()", "??", 0},
    {"c10::impl::wrap_kernel_functor_unboxed_<at::Tensor (long)>::call()", "??", 0},
    {"at::_ops::mm::redispatch(c10::DispatchKeySet)", "/pytorch/build/RedispatchFunctions.cpp", 1},
    {"zeropower_via_newtonschulz5", "/home/user/optim/orthogonal_momentum.py", 176},
    {"step", "/home/user/optim/orthogonal_momentum.py", 80},
    {"_PyEval_EvalFrameDefault", "ceval.c", 0},
    {"own_3", "/home/user/a.py", 3},
    {"own_4", "/home/user/a.py", 4},
    {"own_5", "/home/user/a.py", 5},
    {"own_6", "/home/user/a.py", 6},
    {"own_7", "/home/user/a.py", 7},
    {"own_8", "/home/user/a.py", 8},
    {"own_9", "/home/user/a.py", 9},
    {"own_10", "/home/user/a.py", 10},
    {"own_11", "/home/user/a.py", 11},
    {"own_12", "/home/user/a.py", 12},
    {"_start", "??", 0}};

/* Runs of equal blocks: 2-6, 9-11, 13-15, 16-18, 20-22 and 23-25; the others only look like it. */
static const struct gm_block_row eight_blocks[] = {
    OPTIMIZER_ROW(64 * GM_MIB, 0x1000000000, 0, "Optimizer step", first_step_frames),
    STACKLESS_ROW(32 * GM_MIB, 0x1100000000, 0),
    STACKLESS_ROW(32 * GM_MIB, 0x1200000000, 0),
    STACKLESS_ROW(32 * GM_MIB, 0x1300000000, 0),
    STACKLESS_ROW(32 * GM_MIB, 0x1400000000, 0),
    STACKLESS_ROW(32 * GM_MIB, 0x1500000000, 0),
    STACKLESS_ROW(32 * GM_MIB, 0x1100000000, 1),
    STACKLESS_ROW(32 * GM_MIB, 0x1200000000, 1),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1100000000, 2, "Optimizer step", first_step_frames),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1200000000, 2, "Optimizer step", first_step_frames),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1300000000, 2, "Optimizer step", first_step_frames),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1000000000, 3, "Optimizer step", first_step_frames),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1100000000, 3, "Training step", other_step_frames),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1200000000, 3, "Training step", first_step_frames),
    OPTIMIZER_ROW(16 * GM_MIB, 0x1300000000, 3, "Training step", first_step_frames),
    OPTIMIZER_ROW(8 * GM_MIB, 0x1400000000, 3, "Training step", first_step_frames),
    OPTIMIZER_ROW(8 * GM_MIB, 0x1500000000, 3, "Training step", other_step_frames),
    OPTIMIZER_ROW(8 * GM_MIB, 0x1600000000, 3, "Training step", first_step_frames),
    OPTIMIZER_ROW(4 * GM_MIB, 0x1700000000, 3, "Training step", other_step_frames),
    LONG_ROW(2 * GM_MIB, 0x1800000000, noisy_frames),
    LONG_ROW(2 * GM_MIB, 0x1900000000, first_step_frames),
    LONG_ROW(2 * GM_MIB, 0x1a00000000, noisy_frames),
    LONG_ROW(1 * GM_MIB, 0x1b00000000, noisy_frames),
    LONG_ROW(1 * GM_MIB, 0x1c00000000, first_step_frames),
    LONG_ROW(1 * GM_MIB, 0x1d00000000, noisy_frames)};

/* Three equal pins of one page range, one of the next range, one of a segment. */
#define EIGHT_PIN(site, bytes, address, pinned, sharers, range, range_bytes)                                           \
    {                                                                                                                  \
        {bytes, bytes, address, 3, 0, 0, "large", "Optimizer step", 0x009e73, NULL, site, NULL, 0}, pinned, sharers,   \
            range, range_bytes                                                                                         \
    }
static const struct gm_pin_row eight_pins[] = {
    EIGHT_PIN("step  optim/adam.py:76", 202 * GM_MIB, 0x2000000000, 12 * GM_MIB, 4, 0x2000000000, 20 * GM_MIB),
    EIGHT_PIN("step  optim/adam.py:76", 202 * GM_MIB, 0x2100000000, 12 * GM_MIB, 4, 0x2000000000, 20 * GM_MIB),
    EIGHT_PIN("step  optim/adam.py:76", 202 * GM_MIB, 0x2200000000, 12 * GM_MIB, 4, 0x2000000000, 20 * GM_MIB),
    EIGHT_PIN("step  optim/adam.py:76", 202 * GM_MIB, 0x2300000000, 12 * GM_MIB, 1, 0x2300000000, 20 * GM_MIB),
    EIGHT_PIN("no stack recorded", 2 * GM_MIB, 0x3000000000, 1 * GM_MIB, 1, 0x3000000000, 20 * GM_MIB)};

/* 24 of 57 call sites, 192 MiB, 184 MiB ... 8 MiB: 2400 of 2800 MiB; the third has no stack. */
static bool set_sites(struct gm_report *r)
{
    enum { LISTED = 24 };
    struct gm_site_row *rows = gm_arena_calloc(&r->arena, LISTED, sizeof *rows);
    if (rows == NULL)
        return false;
    for (size_t i = 0; i < LISTED; i++) {
        const char *site = gm_arena_printf(&r->arena, "step_%zu  train/file.py:%zu", i, i + 1);
        rows[i] = (struct gm_site_row){site, "Optimizer step", 0x009e73, (LISTED - i) * 8 * GM_MIB, 1 + i % 3};
    }
    rows[2].site = "no stack recorded";
    rows[2].category = "No stack recorded";
    rows[4].site = "forward  some_package_with_a_name/transformer.py:1234";
    rows[5].site = "parametrize_everything_again  a_package/a_file_with_a_long_name.py:77";
    rows[6].site = "f  a_package/a_file_whose_name_alone_is_longer_than_any_cell_could_be.py:7";
    rows[7].site = "generated::SomeFunctionWithAVeryLongNameBackward0_apply";
    rows[8].category = "Autocast/precision cast";
    r->sites = rows;
    r->site_count = LISTED;
    r->site_total = 57;
    return true;
}

static bool make_eight(struct gm_report *r)
{
    set_source(r, "runs/step_5/all.pickle.zst");
    r->run_name = "step5";
    r->snapshot.compression = "zstd";
    r->snapshot.is_salvaged = true;
    r->snapshot.salvaged_offset = 1048576;
    r->snapshot.salvaged_reason = "the file ends inside a string";
    struct gm_device_report *d = gm_arena_calloc(&r->arena, 8, sizeof *d);
    struct gm_slice *slices = gm_arena_calloc(&r->arena, 2, sizeof *slices);
    if (d == NULL || slices == NULL)
        return false;
    slices[0] = (struct gm_slice){"Backward pass", 0xd55e00, 0, 0};
    slices[1] = (struct gm_slice){"Optimizer step", 0x009e73, 0, 0};
    for (int i = 0; i < 8; i++) {
        if (!set_device(r, &d[i], i))
            return false;
        struct gm_totals *t = &r->totals;
        t->reserved += d[i].totals.reserved;
        t->allocated += d[i].totals.allocated;
        t->inactive += d[i].totals.inactive;
        t->inactive_blocks += 2;
        t->segments += 2;
        t->blocks += 22;
        r->fragmentation.releasable += d[i].fragmentation.releasable;
        r->fragmentation.stranded += d[i].fragmentation.stranded;
        for (int k = 0; k < 2; k++) {
            slices[k].bytes += d[i].totals.allocated / 2;
            slices[k].blocks += 10;
        }
    }
    r->totals.active = r->totals.requested = r->totals.allocated;
    r->totals.active_blocks = r->totals.allocated_blocks = 160;
    r->snapshot.live_blocks_with_stack = 150;
    r->snapshot.live_bytes_with_stack = 2000 * GM_MIB;
    r->fragmentation.empty_cache = r->fragmentation.releasable;
    r->fragmentation.inactive_blocks = 16;
    r->fragmentation.largest_inactive = 525 * GM_MIB;
    r->ledger = ledger_of(&r->totals, &r->fragmentation);
    /* the file contradicts itself by 4096 bytes on device 3, and states no requested bytes */
    d[3].ledger.reserved -= 4096;
    d[3].ledger.residual = -4096;
    d[3].totals.reserved -= 4096;
    r->totals.reserved -= 4096;
    r->ledger.reserved -= 4096;
    r->ledger.residual = -4096;
    r->ledger.stated_allocated += 512;
    r->ledger.stated_requested = GM_REPORT_NONE;
    r->ledger.segments_disagreeing = 1;
    r->ledger.explanation = "The blocks of 1 segment add up to more than its total_size.";
    d[7].trace.events = 3;
    d[7].trace.ooms = 2;
    d[7].trace.segment_maps = 1;
    d[7].trace.overflowed = 1;
    d[7].trace.peak_reserved = 0;
    r->devices = d;
    r->device_count = 8;
    r->categories = slices;
    r->category_count = 2;
    r->snapshot.segments = 16;
    r->snapshot.blocks = 176;
    r->snapshot.events = 3;
    r->settings = small_settings;
    r->setting_count = 0; /* recorded, but empty */
    r->top_blocks = eight_blocks;
    r->top_block_count = COUNT(eight_blocks);
    r->fragmentation.pins = eight_pins;
    r->fragmentation.pin_count = COUNT(eight_pins);
    return set_sites(r);
}

/* ---- hostile ---------------------------------------------------------------------------------------------------- */

const char *const hostile_texts[HOSTILE] = {
    "a|b",
    "a\\|b",
    "a\\\\|b|",
    "`",
    "``x`",
    "`a|b`",
    "<script>alert(1)</script>",
    "</details></table><h1>x",
    "<!-- hidden -->",
    "<!--",
    "-->",
    "[click](javascript:alert(1))",
    "![img](http://evil.example/x.png)",
    "http://evil.example/x",
    "www.evil.example",
    "mail@evil.example",
    "@octocat please",
    "see #123 and octo/repo#4 or GH-5",
    "deadbeefcafe0123 d6fde92930d4715a2b49857d24b940956b26d2d3",
    "&lt;b&gt; &amp; &",
    "*bold* **x** _em_ __y__ ~~z~~",
    "$x^2$ and $$y$$ :tada: :+1:",
    "- item",
    "+ item",
    "1. one",
    "> quote",
    "# heading",
    "---",
    "===",
    "```c",
    "~~~",
    "    code",
    "[ ] task",
    "[^1] [ref]: x",
    "trailing\\",
    "operator|=(std::vector<int, A<B>>&&)",
    "line\nbreak\r\nand\ttab",
    "\x1b[31mred\x07",
    "bad utf8 \xff\xc3(",
    "\xe2\x80\xaeright to left",
    "\xe4\xb8\xad\xe6\x96\x87\xe6\x96\x87\xe4\xbb\xb6 \xf0\x9f\x98\x80 wide",
    "\"quoted\" 'single' \\ %s %n {0} ${x}",
    "",
    " ",
    "|",
    "||",
    "| --- | --- |",
};

bool sample_hostile(struct gm_report *r)
{
    sample_small(r);
    struct gm_slice *slices = gm_arena_calloc(&r->arena, HOSTILE, sizeof *slices);
    struct gm_block_row *blocks = gm_arena_calloc(&r->arena, HOSTILE, sizeof *blocks);
    struct gm_pin_row *pins = gm_arena_calloc(&r->arena, HOSTILE, sizeof *pins);
    struct gm_finding *findings = gm_arena_calloc(&r->arena, HOSTILE, sizeof *findings);
    struct gm_setting_row *settings = gm_arena_calloc(&r->arena, HOSTILE, sizeof *settings);
    struct gm_site_row *sites = gm_arena_calloc(&r->arena, HOSTILE, sizeof *sites);
    if (slices == NULL || blocks == NULL || pins == NULL || findings == NULL || settings == NULL || sites == NULL)
        return false;
    for (size_t i = 0; i < HOSTILE; i++) {
        const char *s = hostile_texts[i];
        struct gm_frame_row *frames = gm_arena_calloc(&r->arena, 3, sizeof *frames);
        if (frames == NULL)
            return false;
        frames[0] = (struct gm_frame_row){s, s, i};
        frames[1] = (struct gm_frame_row){"forward", s, GM_REPORT_NONE};
        frames[2] = (struct gm_frame_row){s, gm_arena_printf(&r->arena, "/home/%s.py", s), GM_REPORT_NONE - 1};
        slices[i] = (struct gm_slice){s, 0, 1, 1};
        blocks[i] = (struct gm_block_row){
            GM_MIB, GM_REPORT_NONE, UINT64_MAX - i, INT64_MIN, INT64_MAX, UINT32_MAX, s, s, 0, s, s, frames, 3};
        sites[i] = (struct gm_site_row){s, s, 0, (HOSTILE - i) * GM_KIB, i == 0 ? UINT64_MAX - 1 : 1};
        pins[i] = (struct gm_pin_row){blocks[i], UINT64_MAX - 1, UINT64_MAX - 1, 0, UINT64_MAX - 1};
        findings[i] =
            (struct gm_finding){.id = s, .severity = GM_CRITICAL, .title = s, .detail = s, .bytes = UINT64_MAX - 1};
        settings[i] = (struct gm_setting_row){s, s, i % 2 == 0};
    }
    r->run_name = "evil|`<b>@x #1";
    r->snapshot.path = "/tmp/evil|`path`/<img src=x>/[a](b)\n/@x.pickle";
    r->snapshot.is_salvaged = true;
    r->snapshot.salvaged_reason = "string 'a|b` <script> @octocat #1' is cut";
    r->ledger.explanation = "segment <b>|`x` @octocat";
    r->categories = slices;
    r->top_blocks = blocks;
    r->sites = sites;
    r->site_count = r->site_total = HOSTILE;
    r->fragmentation.pins = pins;
    r->diagnosis.findings = findings;
    r->settings = settings;
    r->warnings = hostile_texts;
    r->category_count = r->top_block_count = r->fragmentation.pin_count = r->diagnosis.finding_count = HOSTILE;
    r->setting_count = r->warning_count = HOSTILE;
    return set_only_device(r);
}

/* ---- flood ------------------------------------------------------------------------------------------------------ */

static bool make_flood(struct gm_report *r)
{
    enum { N = 2000, LONG = 1000, FRAMES = 60 };
    make_eight(r);
    char *name = gm_arena_calloc(&r->arena, LONG + 1, 1);
    struct gm_slice *slices = gm_arena_calloc(&r->arena, N, sizeof *slices);
    struct gm_block_row *blocks = gm_arena_calloc(&r->arena, 50, sizeof *blocks);
    struct gm_frame_row *frames = gm_arena_calloc(&r->arena, FRAMES, sizeof *frames);
    struct gm_finding *findings = gm_arena_calloc(&r->arena, N, sizeof *findings);
    struct gm_device_report *devices = gm_arena_calloc(&r->arena, N, sizeof *devices);
    struct gm_site_row *sites = gm_arena_calloc(&r->arena, N, sizeof *sites);
    const char **warnings = gm_arena_calloc(&r->arena, N, sizeof *warnings);
    if (name == NULL || slices == NULL || blocks == NULL || frames == NULL || findings == NULL || devices == NULL ||
        warnings == NULL || sites == NULL)
        return false;
    for (size_t i = 0; i < LONG; i++)
        name[i] = "`|x"[i % 3];
    for (size_t i = 0; i < N; i++) {
        slices[i] = (struct gm_slice){name, 0, GM_MIB, 1};
        if (i < FRAMES)
            frames[i] = (struct gm_frame_row){name, name, i};
        findings[i] = (struct gm_finding){
            .id = "id", .severity = GM_WARNING, .title = name, .detail = name, .bytes = GM_REPORT_NONE};
        devices[i] = r->devices[3];
        devices[i].device = (int64_t)i;
        warnings[i] = name;
        sites[i] = (struct gm_site_row){name, name, 0, GM_MIB, UINT64_MAX - 1};
    }
    for (size_t i = 0; i < 50; i++)
        blocks[i] = (struct gm_block_row){GM_MIB, GM_MIB, i, 0, 0, 0, "large", name, 0, NULL, name, frames, FRAMES - i};
    r->categories = slices;
    r->category_count = N;
    r->top_blocks = blocks;
    r->top_block_count = 50;
    r->diagnosis.findings = findings;
    r->diagnosis.finding_count = N;
    r->devices = devices;
    r->device_count = N;
    r->sites = sites;
    r->site_count = N;
    r->site_total = SIZE_MAX - 1;
    r->warnings = warnings;
    r->warning_count = N;
    return true;
}

bool sample_report(struct gm_report *report, const char *name)
{
    static bool (*const make[])(struct gm_report *) = {sample_small,  make_empty,   make_eight, sample_hostile,
                                                       make_flood,    sample_train, sample_oom, sample_evil,
                                                       sample_opaque, sample_still};
    *report = (struct gm_report){0};
    for (size_t i = 0; sample_names[i] != NULL; i++)
        if (strcmp(sample_names[i], name) == 0)
            return make[i](report) && gm_diagnose_tell(report, NULL) == GM_OK;
    return false;
}
