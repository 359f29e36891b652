/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks at the end, in one walk: by size and category, the largest, and by call site (site_labels.c), whatever
 * happened below it: where the list of the largest names forty equal blocks, a site is the one line that made them.
 * Then those that pin most cached memory.
 */
#include "analyze/state/state_pass.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"

#include <stdlib.h>
#include <string.h>

/* ---- the largest of many ----------------------------------------------------------------------------------------- */

struct top_key {
    uint64_t bytes, address;
    int64_t device;
    size_t index;
};

/* The best k so far and some more: sorted and cut whenever it is full. */
struct top {
    struct top_key *keys; /* [2 * k + 1] */
    size_t n, k;
    bool was_cut; /* the first k are sorted */
};

GM_ORDERING(by_key, struct top_key,
            GM_DOWN(bytes) || GM_UP(device) || GM_UP(address) || GM_UP(index)); /* the better one first */

static bool top_new(struct top *top, size_t k, size_t candidates)
{
    *top = (struct top){.k = k < candidates ? k : candidates};
    top->keys = calloc(2 * top->k + 1, sizeof *top->keys);
    return top->keys != NULL;
}

static void top_cut(struct top *top)
{
    GM_SORT(top->keys, top->n, by_key);
    top->n = top->n < top->k ? top->n : top->k;
    top->was_cut = true;
}

static void top_offer(struct top *top, const struct top_key *key)
{
    if (top->k == 0 || (top->was_cut && by_key(key, &top->keys[top->k - 1]) > 0))
        return;
    top->keys[top->n++] = *key;
    if (top->n == 2 * top->k + 1)
        top_cut(top);
}

/* ---- by size and category ---------------------------------------------------------------------------------------- */

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

GM_ORDERING(by_bytes, struct gm_slice, GM_DOWN(bytes) || GM_BY(strcmp(a->name, b->name)));

const struct gm_slice *gm_slices_sort(struct gm_slice *slices, size_t n, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; slices != NULL && i < n; i++)
        if (slices[i].blocks > 0)
            slices[kept++] = slices[i];
    GM_SORT(slices, kept, by_bytes);
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

/* ---- one walk over all blocks ------------------------------------------------------------------------------------ */

struct tally {
    struct gm_pass *pass;
    struct gm_amount *of_device, *of_all; /* [category] */
    struct gm_amount *of_stack;           /* [gm_stack_id] */
    struct top top;
};

static void visit_block(struct tally *t, int64_t device, size_t b)
{
    const struct gm_blocks *blocks = &t->pass->snapshot->blocks;
    struct gm_report *report = t->pass->report;
    const struct gm_amount one = {blocks->size[b], 1};
    size_t bin = 0;
    while (bin + 1 < GM_HISTOGRAM_BINS && one.bytes >= bins[bin + 1].from)
        bin++;
    const bool is_active = blocks->state[b] != GM_BLOCK_INACTIVE;
    gm_amount_add(is_active ? &report->histogram[bin].active : &report->histogram[bin].cached, &one);
    if (blocks->state[b] != GM_BLOCK_ACTIVE_ALLOCATED)
        return;
    const uint32_t category = gm_classify(t->pass->classifier, blocks->stack[b]);
    gm_amount_add(&t->of_device[category], &one);
    gm_amount_add(&t->of_stack[blocks->stack[b].v], &one);
    top_offer(&t->top, &(struct top_key){one.bytes, blocks->address[b], device, b});
    if (category != gm_category_count(t->pass->options->rules) - 1) {
        report->snapshot.live_blocks_with_stack++;
        report->snapshot.live_bytes_with_stack = gm_sat_add(report->snapshot.live_bytes_with_stack, one.bytes);
    }
}

static bool visit_devices(struct tally *t)
{
    struct gm_pass *pass = t->pass;
    const struct gm_category_rules *rules = pass->options->rules;
    const uint32_t categories = gm_category_count(rules);
    struct gm_arena *arena = &pass->report->arena;
    const struct gm_segments *g = &pass->snapshot->segments;
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        memset(t->of_device, 0, categories * sizeof *t->of_device);
        for (size_t i = device->first; i < device->first + device->count; i++) {
            size_t segment = pass->order[i], first = g->block_first[segment];
            for (size_t b = first; b < first + g->block_count[segment]; b++)
                visit_block(t, device->device, b);
        }
        pass->devices[d].categories = gm_slices_make(arena, rules, t->of_device, &pass->devices[d].category_count);
        if (pass->devices[d].categories == NULL)
            return false;
        for (uint32_t c = 0; c < categories; c++)
            gm_amount_add(&t->of_all[c], &t->of_device[c]);
    }
    top_cut(&t->top);
    pass->report->categories = gm_slices_make(arena, rules, t->of_all, &pass->report->category_count);
    return pass->report->categories != NULL;
}

/* ---- rows of blocks ---------------------------------------------------------------------------------------------- */

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
    row->stream = gm_stream_handle(s, stream);
    row->stream_number = pass->stream_number[stream];
    row->pool = gm_pool_name(&pass->report->arena, s, segment);
    row->category = gm_arena_copy(&pass->report->arena, name, strlen(name));
    row->color = gm_category_color(rules, category);
    row->frames = gm_names_frames(&pass->names, stack, &row->frame_count);
    row->site = gm_names_site(&pass->names, stack);
    return row->pool != NULL && row->category != NULL && row->frames != NULL && row->site != NULL;
}

static bool publish_top(struct gm_pass *pass, const struct top *top)
{
    struct gm_block_row *rows = gm_arena_calloc(&pass->report->arena, top->n, sizeof *rows);
    bool has_memory = rows != NULL;
    for (size_t i = 0; has_memory && i < top->n; i++)
        has_memory = fill_block_row(pass, &rows[i], top->keys[i].index);
    pass->report->top_blocks = rows;
    pass->report->top_block_count = has_memory ? top->n : 0;
    return has_memory;
}

/* ---- rows of call sites ------------------------------------------------------------------------------------------ */

GM_ORDERING(by_place, struct gm_site_row, GM_BY(strcmp(a->site, b->site)) || GM_BY(strcmp(a->category, b->category)));

GM_ORDERING(by_site_bytes, struct gm_site_row, GM_DOWN(bytes) || GM_BY(by_place(a, b)));

/* Adds up rows of one place and category; returns how many are left. */
static size_t merge(struct gm_site_row *rows, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_place(&rows[kept - 1], &rows[i]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        rows[kept - 1].bytes = gm_sat_add(rows[kept - 1].bytes, rows[i].bytes);
        rows[kept - 1].blocks += rows[i].blocks;
    }
    return kept;
}

static bool add_rows(struct gm_pass *pass, const struct gm_amount *amounts, struct gm_site_row *rows, size_t *n)
{
    const struct gm_category_rules *rules = pass->options->rules;
    for (uint32_t stack = 0; stack < pass->snapshot->stacks.count; stack++) {
        if (amounts[stack].blocks == 0)
            continue;
        uint32_t category = gm_classify(pass->classifier, (struct gm_stack_id){stack});
        struct gm_site_row *row = &rows[(*n)++];
        row->site = gm_names_site(&pass->names, (struct gm_stack_id){stack});
        row->category = gm_category_name(rules, category);
        row->color = gm_category_color(rules, category);
        row->bytes = amounts[stack].bytes;
        row->blocks = amounts[stack].blocks;
        if (row->site == NULL)
            return false;
    }
    return true;
}

/* Publishes the first rows; category names become the report's own. */
static bool publish_sites(struct gm_pass *pass, const struct gm_site_row *rows, size_t n)
{
    size_t shown = n < pass->options->top ? n : pass->options->top;
    struct gm_site_row *own = gm_arena_calloc(&pass->report->arena, shown, sizeof *own);
    if (own == NULL)
        return false;
    for (size_t i = 0; i < shown; i++) {
        own[i] = rows[i];
        own[i].category = gm_arena_copy(&pass->report->arena, rows[i].category, strlen(rows[i].category));
        if (own[i].category == NULL)
            return false;
    }
    pass->report->sites = own;
    pass->report->site_count = shown;
    pass->report->site_total = n;
    return true;
}

static bool make_sites(struct gm_pass *pass, const struct gm_amount *amounts)
{
    size_t n = 0, used = 0;
    for (size_t i = 0; i < pass->snapshot->stacks.count; i++)
        used += amounts[i].blocks > 0;
    GM_FREED struct gm_site_row *rows = calloc(used + 1, sizeof *rows);
    bool ok = rows != NULL && add_rows(pass, amounts, rows, &n);
    if (ok) {
        qsort(rows, n, sizeof *rows, by_place);
        n = merge(rows, n);
        qsort(rows, n, sizeof *rows, by_site_bytes);
        ok = publish_sites(pass, rows, n);
    }
    return ok;
}

bool gm_pass_blocks(struct gm_pass *pass)
{
    const size_t categories = gm_category_count(pass->options->rules), stacks = pass->snapshot->stacks.count;
    GM_FREED struct gm_amount *amounts = calloc(2 * categories + stacks + 1, sizeof *amounts);
    if (amounts == NULL)
        return false;
    struct tally t = {pass, amounts, amounts + categories, amounts + 2 * categories, {0}};
    start_histogram(pass->report);
    const bool ok = top_new(&t.top, pass->options->top, pass->report->totals.allocated_blocks) && visit_devices(&t) &&
                    (pass->options->is_brief || (publish_top(pass, &t.top) && make_sites(pass, t.of_stack)));
    free(t.top.keys);
    return ok;
}

/* ---- pins
 * ------------------------------------------------------------------------------------------------------------ */

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
    struct top top;
    if (!top_new(&top, pass->options->top, device->pins.n))
        return false;
    for (size_t i = 0; i < device->pins.n; i++) {
        uint64_t address = pass->snapshot->blocks.address[device->pins.v[i].block];
        top_offer(&top, &(struct top_key){device->pins.v[i].bytes, address, device->device, i});
    }
    top_cut(&top);
    struct gm_pin_row *rows = gm_arena_calloc(&pass->report->arena, top.n, sizeof *rows);
    bool has_memory = rows != NULL;
    for (size_t i = 0; has_memory && i < top.n; i++)
        has_memory = pin_row(pass, &rows[i], &device->pins.v[top.keys[i].index]);
    f->pins = rows;
    f->pin_count = has_memory ? top.n : 0;
    free(top.keys);
    return has_memory;
}

/* The largest over all devices are among the largest of each device. */
static bool all_pins(struct gm_pass *pass)
{
    size_t candidates = 0;
    for (size_t d = 0; d < pass->device_count; d++)
        candidates += pass->devices[d].fragmentation.pin_count;
    struct top top;
    if (!top_new(&top, pass->options->top, candidates))
        return false;
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_fragmentation *f = &pass->devices[d].fragmentation;
        for (size_t i = 0; i < f->pin_count; i++)
            top_offer(&top,
                      &(struct top_key){f->pins[i].pinned_bytes, f->pins[i].block.address, pass->devices[d].device, i});
    }
    top_cut(&top);
    struct gm_pin_row *rows = gm_arena_calloc(&pass->report->arena, top.n, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < top.n; i++) {
        size_t d = 0;
        while (pass->devices[d].device != top.keys[i].device)
            d++;
        rows[i] = pass->devices[d].fragmentation.pins[top.keys[i].index];
    }
    pass->report->fragmentation.pins = rows;
    pass->report->fragmentation.pin_count = rows != NULL ? top.n : 0;
    free(top.keys);
    return rows != NULL;
}

bool gm_pass_pin_rows(struct gm_pass *pass)
{
    for (size_t d = 0; d < pass->device_count; d++)
        if (!device_pins(pass, d))
            return false;
    return all_pins(pass);
}
