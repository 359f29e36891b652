/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of interest as rows of the report: the largest allocated blocks and those that pin most cached memory.
 */
#include "analyze/state/state_pass.h"

#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

/* The k largest of many without sorting them all: a heap of the best k so far with the worst of them at its root. */

GM_ORDERING(compare, struct gm_top_key,
            GM_DOWN(bytes) || GM_UP(device) || GM_UP(address) || GM_UP(index)); /* the better one first */

static bool top_new(struct gm_top *top, size_t k, size_t candidates)
{
    *top = (struct gm_top){.k = k < candidates ? k : candidates};
    top->keys = calloc(top->k + 1, sizeof *top->keys);
    return top->keys != NULL;
}

static void top_free(struct gm_top *top)
{
    free(top->keys);
    *top = (struct gm_top){0};
}

static void swap(struct gm_top_key *a, struct gm_top_key *b)
{
    struct gm_top_key kept = *a;
    *a = *b;
    *b = kept;
}

static void sift_up(struct gm_top *top, size_t i)
{
    for (; i > 0 && compare(&top->keys[(i - 1) / 2], &top->keys[i]) < 0; i = (i - 1) / 2)
        swap(&top->keys[(i - 1) / 2], &top->keys[i]);
}

static void sift_down(struct gm_top *top)
{
    for (size_t i = 0, child; (child = 2 * i + 1) < top->n; i = child) {
        if (child + 1 < top->n && compare(&top->keys[child + 1], &top->keys[child]) > 0)
            child++;
        if (compare(&top->keys[child], &top->keys[i]) <= 0)
            return;
        swap(&top->keys[child], &top->keys[i]);
    }
}

static void top_offer(struct gm_top *top, const struct gm_top_key *key)
{
    if (top->n < top->k) {
        top->keys[top->n++] = *key;
        sift_up(top, top->n - 1);
    } else if (top->k > 0 && compare(key, &top->keys[0]) < 0) {
        top->keys[0] = *key;
        sift_down(top);
    }
}

/* largest first; no more offers */
static void top_sort(struct gm_top *top)
{
    if (top->n > 1)
        qsort(top->keys, top->n, sizeof *top->keys, compare);
}

static bool fill_block_row(struct gm_pass *pass, struct gm_block_row *row, size_t block)
{
    const struct gm_snapshot *s = pass->snapshot;
    const struct gm_category_rules *rules = pass->options->rules;
    size_t segment = s->blocks.segment[block];
    uint32_t stream = s->segments.stream[segment].v;
    struct gm_stack_id stack = s->blocks.stack[block];
    uint32_t category = gm_classify(pass->classifier, stack);
    const char *name = gm_category_name(rules, category);
    row->bytes = s->blocks.size[block];
    row->requested = gm_block_requested(&s->blocks, block);
    row->address = s->blocks.address[block];
    row->device = s->segments.device[segment];
    row->stream = stream == 0 ? 0 : s->streams[stream];
    row->stream_number = pass->stream_number[stream];
    row->pool = gm_pool_name(&pass->report->arena, s, segment);
    row->category = gm_arena_copy(&pass->report->arena, name, strlen(name));
    row->color = gm_category_color(rules, category);
    row->frames = gm_names_frames(&pass->names, stack, &row->frame_count);
    row->site = gm_names_site(&pass->names, stack);
    return row->pool != NULL && row->category != NULL && row->frames != NULL && row->site != NULL;
}

static void offer_allocated(struct gm_pass *pass, struct gm_top *top)
{
    const struct gm_snapshot *s = pass->snapshot;
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        for (size_t i = device->first; i < device->first + device->count; i++) {
            size_t segment = pass->order[i], first = s->segments.block_first[segment];
            for (size_t b = first; b < first + s->segments.block_count[segment]; b++)
                if (s->blocks.state[b] == GM_BLOCK_ACTIVE_ALLOCATED)
                    top_offer(top, &(struct gm_top_key){s->blocks.size[b], s->blocks.address[b], device->device, b});
        }
    }
    top_sort(top);
}

bool gm_pass_top_blocks(struct gm_pass *pass)
{
    struct gm_top top;
    if (!top_new(&top, pass->options->top, pass->report->totals.allocated_blocks))
        return false;
    offer_allocated(pass, &top);
    struct gm_block_row *rows = gm_arena_calloc(&pass->report->arena, top.n, sizeof *rows);
    bool has_memory = rows != NULL;
    for (size_t i = 0; has_memory && i < top.n; i++)
        has_memory = fill_block_row(pass, &rows[i], top.keys[i].index);
    pass->report->top_blocks = rows;
    pass->report->top_block_count = has_memory ? top.n : 0;
    top_free(&top);
    return has_memory;
}

static bool pin_row(struct gm_pass *pass, struct gm_pin_row *row, const struct gm_pin *pin)
{
    row->pinned_bytes = pin->bytes;
    row->sharers = pin->sharers;
    row->segment_address = pin->from;
    row->segment_bytes = pin->to - pin->from;
    return fill_block_row(pass, &row->block, pin->block);
}

static bool device_pins(struct gm_pass *pass, size_t d)
{
    const struct gm_device_pass *device = &pass->device_passes[d];
    struct gm_fragmentation *f = &pass->devices[d].fragmentation;
    struct gm_top top;
    if (!top_new(&top, pass->options->top, device->pins.n))
        return false;
    for (size_t i = 0; i < device->pins.n; i++) {
        uint64_t address = pass->snapshot->blocks.address[device->pins.v[i].block];
        top_offer(&top, &(struct gm_top_key){device->pins.v[i].bytes, address, device->device, i});
    }
    top_sort(&top);
    struct gm_pin_row *rows = gm_arena_calloc(&pass->report->arena, top.n, sizeof *rows);
    bool has_memory = rows != NULL;
    for (size_t i = 0; has_memory && i < top.n; i++)
        has_memory = pin_row(pass, &rows[i], &device->pins.v[top.keys[i].index]);
    f->pins = rows;
    f->pin_count = has_memory ? top.n : 0;
    top_free(&top);
    return has_memory;
}

/* The largest over all devices are among the largest of each device. */
static bool all_pins(struct gm_pass *pass)
{
    size_t candidates = 0;
    for (size_t d = 0; d < pass->device_count; d++)
        candidates += pass->devices[d].fragmentation.pin_count;
    struct gm_top top;
    if (!top_new(&top, pass->options->top, candidates))
        return false;
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_fragmentation *f = &pass->devices[d].fragmentation;
        for (size_t i = 0; i < f->pin_count; i++)
            top_offer(&top, &(struct gm_top_key){f->pins[i].pinned_bytes, f->pins[i].block.address,
                                                 pass->devices[d].device, i});
    }
    top_sort(&top);
    struct gm_pin_row *rows = gm_arena_calloc(&pass->report->arena, top.n, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < top.n; i++) {
        size_t d = 0;
        while (pass->devices[d].device != top.keys[i].device)
            d++;
        rows[i] = pass->devices[d].fragmentation.pins[top.keys[i].index];
    }
    pass->report->fragmentation.pins = rows;
    pass->report->fragmentation.pin_count = rows != NULL ? top.n : 0;
    top_free(&top);
    return rows != NULL;
}

bool gm_pass_pin_rows(struct gm_pass *pass)
{
    for (size_t d = 0; d < pass->device_count; d++)
        if (!device_pins(pass, d))
            return false;
    return all_pins(pass);
}
