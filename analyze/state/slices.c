/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocated bytes by category, per device and over all, and blocks by size.
 */

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/state/state_pass.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    uint64_t from;
    const char *label;
} bins[GM_HISTOGRAM_BINS] = {{0, "under 4 KiB"},
                             {4 * GM_KIB, "4 - 32 KiB"},
                             {32 * GM_KIB, "32 - 256 KiB"},
                             {256 * GM_KIB, "256 KiB - 1 MiB"},
                             {GM_MIB, "1 - 2 MiB"},
                             {2 * GM_MIB, "2 - 10 MiB"},
                             {10 * GM_MIB, "10 - 20 MiB"},
                             {20 * GM_MIB, "20 - 100 MiB"},
                             {100 * GM_MIB, "100 - 256 MiB"},
                             {256 * GM_MIB, "256 MiB - 1 GiB"},
                             {GM_GIB, "1 - 4 GiB"},
                             {4 * GM_GIB, "4 GiB and more"}};

static void start_histogram(struct gm_report *report)
{
    for (size_t i = 0; i < GM_HISTOGRAM_BINS; i++) {
        report->histogram[i].from = bins[i].from;
        report->histogram[i].to = i + 1 < GM_HISTOGRAM_BINS ? bins[i + 1].from : UINT64_MAX;
        report->histogram[i].label = bins[i].label;
    }
}

static void count(struct gm_amount *amount, uint64_t bytes)
{
    amount->blocks++;
    amount->bytes = gm_sat_add(amount->bytes, bytes);
}

GM_ORDERING(by_bytes, struct gm_slice, GM_DOWN(bytes) || GM_BY(strcmp(a->name, b->name)));

const struct gm_slice *gm_slices_sort(struct gm_slice *slices, size_t n, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; slices != NULL && i < n; i++)
        if (slices[i].blocks > 0)
            slices[kept++] = slices[i];
    if (kept > 1)
        qsort(slices, kept, sizeof *slices, by_bytes);
    *count = kept;
    return slices;
}

const struct gm_slice *gm_slices_make(struct gm_arena *arena, const struct gm_category_rules *rules,
                                      const struct gm_amount *amounts, size_t *slice_count)
{
    const uint32_t categories = gm_category_count(rules);
    struct gm_slice *slices = gm_arena_calloc(arena, categories, sizeof *slices);
    for (uint32_t c = 0; slices != NULL && c < categories; c++) {
        const char *name = amounts[c].blocks == 0 ? "" : gm_category_name(rules, c);
        name = gm_arena_copy(arena, name, strlen(name));
        slices[c] = (struct gm_slice){name, gm_category_color(rules, c), amounts[c].bytes, amounts[c].blocks};
        if (name == NULL)
            return NULL;
    }
    return gm_slices_sort(slices, categories, slice_count);
}

static void visit_block(struct gm_pass *pass, size_t b, struct gm_amount *amounts)
{
    const struct gm_blocks *blocks = &pass->snapshot->blocks;
    struct gm_report *report = pass->report;
    uint64_t size = blocks->size[b];
    size_t bin = 0;
    while (bin + 1 < GM_HISTOGRAM_BINS && size >= bins[bin + 1].from)
        bin++;
    bool is_active = blocks->state[b] != GM_BLOCK_INACTIVE;
    count(is_active ? &report->histogram[bin].active : &report->histogram[bin].cached, size);
    if (blocks->state[b] != GM_BLOCK_ACTIVE_ALLOCATED)
        return;
    uint32_t category = gm_classify(pass->classifier, blocks->stack[b]);
    count(&amounts[category], size);
    if (category != gm_category_count(pass->options->rules) - 1) {
        report->snapshot.live_blocks_with_stack++;
        report->snapshot.live_bytes_with_stack = gm_sat_add(report->snapshot.live_bytes_with_stack, size);
    }
}

static bool slice_devices(struct gm_pass *pass, struct gm_amount *amounts, struct gm_amount *all)
{
    uint32_t categories = gm_category_count(pass->options->rules);
    struct gm_arena *arena = &pass->report->arena;
    const struct gm_segments *g = &pass->snapshot->segments;
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        memset(amounts, 0, categories * sizeof *amounts);
        for (size_t i = device->first; i < device->first + device->count; i++) {
            size_t segment = pass->order[i], first = g->block_first[segment];
            for (size_t b = first; b < first + g->block_count[segment]; b++)
                visit_block(pass, b, amounts);
        }
        pass->devices[d].categories =
            gm_slices_make(arena, pass->options->rules, amounts, &pass->devices[d].category_count);
        if (pass->devices[d].categories == NULL)
            return false;
        for (uint32_t c = 0; c < categories; c++) {
            all[c].bytes = gm_sat_add(all[c].bytes, amounts[c].bytes);
            all[c].blocks += amounts[c].blocks;
        }
    }
    pass->report->categories = gm_slices_make(arena, pass->options->rules, all, &pass->report->category_count);
    return pass->report->categories != NULL;
}

bool gm_pass_slices(struct gm_pass *pass)
{
    uint32_t categories = gm_category_count(pass->options->rules);
    struct gm_amount *amounts = calloc(2 * (size_t)categories, sizeof *amounts);
    start_histogram(pass->report);
    bool has_memory = amounts != NULL && slice_devices(pass, amounts, amounts + categories);
    free(amounts);
    return has_memory;
}
