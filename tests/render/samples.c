/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports made by hand; see samples.h. Their books balance except where that is the point.
 */
#include "tests/render/samples.h"

#include "analyze/base/size.h"
#include "tests/render/traces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[SAMPLE_COUNT] = {"typical",    "eight",      "twenty", "many_small", "one_category",
                                                "empty",      "all_cached", "absurd", "hostile",    "bare",
                                                "many_steps", "flat",       "spike",  "nothing",    "ragged"};

const char *sample_name(enum sample sample)
{
    return names[sample];
}

static void *need(void *p)
{
    if (p == NULL)
        abort();
    return p;
}

const struct sample_category sample_categories[] = {{"Attention", 0x3366aa},
                                                    {"MLP", 0xdd7733},
                                                    {"Optimizer step", 0x228866},
                                                    {"Gradient", 0xaa4499},
                                                    {"Embedding", 0xddcc66},
                                                    {"Communication", 0x66ccee},
                                                    {"FSDP", 0x774411},
                                                    {"Normalization", 0x99bb44},
                                                    {"Loss", 0xcc6677},
                                                    {"KV cache", 0x332288},
                                                    {"cuBLAS/cuDNN workspace", 0x888833},
                                                    {"Linear/MatMul", 0x117799},
                                                    {"Activation", 0xee99aa},
                                                    {"Convolution", 0x555555},
                                                    {"Other", 0x9aa0a6},
                                                    {"No stack recorded", 0xc9ced4}};

static const char *const sites[] = {
    "forward  torchtitan/models/llama3/model/attention_with_a_rather_long_file_name.py:188",
    "forward  torchtitan/models/llama3/model/model.py:231",
    "_init_group  torch/optim/adamw.py:160",
    "linear_backward_with_a_name_that_goes_on_and_on_and_on_for_a_while  torch/nn/modules/linear.py:125",
    "all_gather_copy_in  torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:56",
    "cross_entropy  torch/nn/functional.py:3104",
    "at::native::empty_cuda(c10::ArrayRef<long>, ...)  aten/src/ATen/native/cuda/EmptyTensor.cpp:84",
    "no stack recorded",
};
enum { SITES = sizeof sites / sizeof *sites };

/* Slices of `total`, each 60% of what is left; the rest goes to the last. */
static struct gm_slice *slices(struct gm_report *r, uint64_t total, size_t count)
{
    struct gm_slice *v = need(gm_arena_calloc(&r->arena, count, sizeof *v));
    uint64_t left = total;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = i + 1 == count ? left : left / 10 * 3;
        const char *name =
            i < SAMPLE_CATEGORIES ? sample_categories[i].name : need(gm_arena_printf(&r->arena, "Custom class %zu", i));
        v[i] = (struct gm_slice){name, sample_categories[i % SAMPLE_CATEGORIES].color, bytes, bytes / GM_MIB + 1};
        left -= bytes;
    }
    for (size_t i = 1; i < count; i++) /* largest first */
        for (size_t k = i; k > 0 && v[k].bytes > v[k - 1].bytes; k--) {
            struct gm_slice t = v[k];
            v[k] = v[k - 1];
            v[k - 1] = t;
        }
    return v;
}

static struct gm_totals totals(uint64_t allocated, uint64_t pending, uint64_t inactive, uint64_t rounding)
{
    struct gm_totals t = {.allocated = allocated,
                          .pending = pending,
                          .active = allocated + pending,
                          .inactive = inactive,
                          .reserved = allocated + pending + inactive,
                          .rounding = rounding,
                          .requested = allocated + pending - rounding,
                          .segments = 40,
                          .blocks = 4311,
                          .active_blocks = 4215,
                          .allocated_blocks = allocated > 0 ? 4211 : 0,
                          .inactive_blocks = 96};
    return t;
}

static struct gm_ledger ledger(const struct gm_totals *t)
{
    struct gm_ledger l = {.allocated_requested = t->allocated - t->rounding,
                          .allocated_rounding = t->rounding,
                          .pending = t->pending,
                          .releasable = t->inactive / 3,
                          .stranded = t->inactive - t->inactive / 3,
                          .sum = t->reserved,
                          .reserved = t->reserved};
    return l;
}

static void add_blocks(struct gm_report *r, size_t count, uint64_t largest)
{
    struct gm_block_row *v = need(gm_arena_calloc(&r->arena, count, sizeof *v));
    uint64_t bytes = largest;
    for (size_t i = 0; i < count; i++) {
        size_t c = (i * 7) % 12;
        v[i] = (struct gm_block_row){.bytes = bytes,
                                     .requested = bytes,
                                     .address = UINT64_C(0x7f0000000000) + i * GM_MIB,
                                     .device = r->device_count > 0 ? r->devices[i % r->device_count].device : 0,
                                     .pool = "large",
                                     .category = sample_categories[c].name,
                                     .color = sample_categories[c].color,
                                     .site = sites[i % SITES]};
        if (i % 3 == 2)
            bytes -= bytes / 7;
    }
    r->top_blocks = v;
    r->top_block_count = count;
}

static const char *const bin_labels[GM_HISTOGRAM_BINS] = {
    "up to 512 B", "512 B - 4 KiB", "4 - 32 KiB",   "32 - 256 KiB",    "256 KiB - 1 MiB", "1 - 4 MiB",
    "4 - 16 MiB",  "16 - 64 MiB",   "64 - 256 MiB", "256 MiB - 1 GiB", "1 - 4 GiB",       "4 GiB and more"};

static void add_histogram(struct gm_report *r, uint64_t active, uint64_t cached)
{
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++)
        r->histogram[i] = (struct gm_histogram_bin){.from = i == 0 ? 0 : UINT64_C(512) << (2 * (i - 1)),
                                                    .to = UINT64_C(512) << (2 * i),
                                                    .label = bin_labels[i]};
    r->histogram[11].to = UINT64_MAX;
    static const unsigned shares[GM_HISTOGRAM_BINS] = {0, 1, 2, 3, 10, 24, 60, 300, 250, 200, 150, 0};
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        r->histogram[i].active.bytes = active / 1000 * shares[i];
        r->histogram[i].active.blocks = active > 0 && shares[i] > 0 ? 2600 / (i * i) + 3 : 0;
        r->histogram[i].cached.bytes = cached / 1000 * shares[GM_HISTOGRAM_BINS - 1 - i];
        r->histogram[i].cached.blocks = cached > 0 && i > 0 && i < 11 ? 30 - 2 * i : 0;
    }
}

/* `count` devices; device i has the i-th of a few shapes. */
static void add_devices(struct gm_report *r, size_t count, uint64_t unit, size_t categories)
{
    struct gm_device_report *v = need(gm_arena_calloc(&r->arena, count, sizeof *v));
    struct gm_totals sum = {0};
    for (size_t i = 0; i < count; i++) {
        struct gm_device_report *d = &v[i];
        d->device = (int64_t)i;
        uint64_t allocated = unit * (100 - 9 * (i % 8)), inactive = unit * (1 + 4 * ((i * 3) % 8));
        d->totals = totals(allocated, i % 3 == 1 ? unit / 2 : 0, inactive, allocated / 200);
        if (i == 13)
            d->totals = (struct gm_totals){0};
        d->ledger = ledger(&d->totals);
        d->categories = slices(r, d->totals.allocated, categories);
        d->category_count = categories;
        sum.reserved += d->totals.reserved;
        sum.allocated += d->totals.allocated;
        sum.pending += d->totals.pending;
        sum.active += d->totals.active;
        sum.requested += d->totals.requested;
        sum.inactive += d->totals.inactive;
        sum.rounding += d->totals.rounding;
        sum.allocated_blocks += d->totals.allocated_blocks;
        r->ledger.allocated_requested += d->ledger.allocated_requested;
        r->ledger.allocated_rounding += d->ledger.allocated_rounding;
        r->ledger.pending += d->ledger.pending;
        r->ledger.releasable += d->ledger.releasable;
        r->ledger.stranded += d->ledger.stranded;
        r->ledger.reserved += d->ledger.reserved;
        r->ledger.sum += d->ledger.sum;
    }
    r->devices = v;
    r->device_count = count;
    r->totals = sum;
    r->fragmentation.releasable = r->ledger.releasable;
    r->fragmentation.stranded = r->ledger.stranded;
    r->fragmentation.empty_cache = r->ledger.releasable;
}

static void usual(struct gm_report *r, size_t devices, size_t categories)
{
    add_devices(r, devices, 731 * GM_MIB / 2 + 12345, categories);
    r->categories = slices(r, r->totals.allocated, categories);
    r->category_count = categories;
    add_blocks(r, 50, r->totals.allocated / devices / 30);
    add_histogram(r, r->totals.active, r->totals.inactive);
}

static void absurd(struct gm_report *r)
{
    add_devices(r, 1, UINT64_C(1) << 20, 3);
    struct gm_device_report *d = need(gm_arena_calloc(&r->arena, 1, sizeof *d));
    *d = r->devices[0];
    d->device = INT64_MIN;
    d->totals = totals(UINT64_C(1) << 62, UINT64_C(1) << 61, UINT64_C(1) << 62, 1);
    d->ledger = ledger(&d->totals);
    d->ledger.residual = INT64_MIN;
    r->devices = d;
    r->totals = d->totals;
    r->ledger = d->ledger;
    r->fragmentation.empty_cache = UINT64_MAX;
    r->categories = slices(r, UINT64_C(1) << 62, 16);
    r->category_count = 16;
    add_blocks(r, 30, UINT64_C(1) << 62);
    add_histogram(r, UINT64_C(1) << 62, 1000);
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        r->histogram[i].active.blocks = UINT64_C(1) << 62 >> (5 * i);
        r->histogram[i].cached.blocks = 1;
    }
}

static void hostile(struct gm_report *r)
{
    usual(r, 2, 12);
    char *giant = need(gm_arena_calloc(&r->arena, 4097, 1));
    memset(giant, 'W', 4096);
    static const char *const bad[] = {
        "<script>alert('x')</script>  <img src=x onerror=alert(1)>/a&b.py:1",
        "\xe5\x89\x8d\xe5\x90\x91\xe4\xbc\xa0\xe6\x92\xad  "
        "\xe6\xa8\xa1\xe5\x9e\x8b/\xe6\xb3\xa8\xe6\x84\x8f\xe5\x8a\x9b.py:42",
        "\xd0\xbf\xd1\x80\xd1\x8f\xd0\xbc\xd0\xbe\xd0\xb9_\xd0\xbf\xd1\x80\xd0\xbe\xd1\x85\xd0\xbe\xd0\xb4  "
        "src/\xd0\xbc\xd0\xbe\xd0\xb4\xd0\xb5\xd0\xbb\xd1\x8c.py:7",
        "replaced \xef\xbf\xbd\xef\xbf\xbd bytes  a/b/c.py:1",
        "",
        "\xf0\x9f\x94\xa5 emoji and \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d right to left  x.py:3",
        "%s%n%d {0} $HOME `id` | & \\ \"quoted\"  "
        "C:\\models\\very\\long\\windows\\path\\to\\some\\module\\attention.py:9",
    };
    struct gm_block_row *v = need(gm_arena_calloc(&r->arena, 30, sizeof *v));
    memcpy(v, r->top_blocks, 30 * sizeof *v);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        v[i].site = bad[i];
    v[7].site = giant;
    v[8].category = giant;
    v[9].category = "<b>bold</b> & more";
    v[29].category = giant;
    r->top_blocks = v;
    r->top_block_count = 30;
    struct gm_slice *s = need(gm_arena_calloc(&r->arena, r->category_count, sizeof *s));
    memcpy(s, r->categories, r->category_count * sizeof *s);
    s[0].name = giant;
    s[1].name = "\xe6\xb3\xa8\xe6\x84\x8f\xe5\x8a\x9b <script>";
    s[1].color = 0xffffff;
    s[2].name = "";
    s[2].color = 0x000000;
    r->categories = s;
    r->run_name = giant;
    r->snapshot.is_salvaged = true;
    r->snapshot.salvaged_offset = UINT64_MAX;
}

static const struct trace_plan usual_trace = {.shape = TRACE_TRAINING,
                                              .columns = 1500,
                                              .steps = 6,
                                              .is_by_time = true,
                                              .is_reconstructed = true,
                                              .has_roles = true,
                                              .has_pending = true,
                                              .ooms = 1,
                                              .segments = 40,
                                              .unit = 240 * GM_MIB};

/* The samples that have a trace. */
static void add_trace(struct gm_report *report, enum sample sample)
{
    struct trace_plan plan = usual_trace;
    switch (sample) {
    case SAMPLE_TYPICAL:
    case SAMPLE_EIGHT:
    case SAMPLE_TWENTY:
        break;
    case SAMPLE_ONE_CATEGORY: /* one event */
        plan = (struct trace_plan){.columns = 1, .unit = 512, .segments = 1, .is_reconstructed = true};
        break;
    case SAMPLE_ABSURD:
        plan.unit = UINT64_C(1) << 55;
        plan.ooms = 9;
        break;
    case SAMPLE_HOSTILE:
        plan.name = report->run_name;
        plan.has_pending = false;
        break;
    case SAMPLE_BARE:
        plan = (struct trace_plan){.columns = 40, .unit = 1000000, .segments = 3};
        break;
    case SAMPLE_MANY_STEPS:
        plan.steps = 5000;
        plan.ooms = 5;
        plan.segments = 200;
        break;
    case SAMPLE_FLAT:
        plan.shape = TRACE_FLAT;
        plan.steps = 60;
        plan.ooms = 0;
        break;
    case SAMPLE_SPIKE:
        plan.shape = TRACE_SPIKE;
        plan.columns = 4000;
        plan.steps = 0;
        break;
    case SAMPLE_NOTHING:
        plan.shape = TRACE_NOTHING;
        plan.segments = 0;
        break;
    case SAMPLE_RAGGED:
        plan.name = "<b>&\"\xe6\xb3\xa8\xe6\x84\x8f\"</b>  a/very/long/path/to/a/module_with_a_name.py:123";
        plan.steps = 33;
        plan.columns = 777;
        break;
    default:
        return;
    }
    trace_add(report, &plan);
}

void sample_make(struct gm_report *report, enum sample sample)
{
    *report = (struct gm_report){.run_name = "iter10_rank0", .timestamp = "2025-11-14 14:30:25"};
    switch (sample) {
    case SAMPLE_TYPICAL:
        usual(report, 1, 12);
        break;
    case SAMPLE_EIGHT:
        usual(report, 8, 12);
        break;
    case SAMPLE_TWENTY:
        usual(report, 20, 12);
        break;
    case SAMPLE_MANY_SMALL:
        usual(report, 1, 30);
        break;
    case SAMPLE_ONE_CATEGORY:
        usual(report, 1, 1);
        add_blocks(report, 1, report->totals.allocated);
        report->totals = totals(report->totals.allocated, 0, 0, 0);
        ((struct gm_device_report *)(uintptr_t)report->devices)[0].totals = report->totals;
        report->ledger = ledger(&report->totals);
        add_histogram(report, 0, 0);
        report->histogram[11].active = (struct gm_amount){report->totals.allocated, 1};
        break;
    case SAMPLE_EMPTY:
        add_histogram(report, 0, 0);
        break;
    case SAMPLE_ALL_CACHED:
        usual(report, 1, 1);
        report->totals = totals(0, 0, 3 * GM_GIB, 0);
        ((struct gm_device_report *)(uintptr_t)report->devices)[0].totals = report->totals;
        report->ledger = ledger(&report->totals);
        report->category_count = 0;
        report->top_block_count = 0;
        add_histogram(report, 0, 3 * GM_GIB);
        break;
    case SAMPLE_ABSURD:
        absurd(report);
        break;
    case SAMPLE_HOSTILE:
        hostile(report);
        break;
    case SAMPLE_BARE:
    case SAMPLE_MANY_STEPS:
    case SAMPLE_FLAT:
    case SAMPLE_SPIKE:
    case SAMPLE_NOTHING:
        usual(report, 1, 12);
        break;
    case SAMPLE_RAGGED:
        usual(report, 3, 12);
        break;
    case SAMPLE_COUNT:
        abort();
    }
    add_trace(report, sample);
}

/* Read by LeakSanitizer: fontconfig 2.14 loses 288 bytes whenever it parses the system's configuration. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig.so\n";
}
