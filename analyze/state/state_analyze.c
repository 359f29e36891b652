/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the passes in order: find the devices, sum their blocks, then everything that is derived from the sums.
 */
#include "analyze/state/state_pass.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/freed.h"
#include "analyze/base/order.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- totals ----------------------------------------------------------------------------------------------------- */

/* Totals: one walk over all blocks, summed per segment, then per device and over all. */

void gm_totals_add(struct gm_totals *to, const struct gm_totals *from)
{
    to->reserved = gm_sat_add(to->reserved, from->reserved);
    to->allocated = gm_sat_add(to->allocated, from->allocated);
    to->pending = gm_sat_add(to->pending, from->pending);
    to->active = gm_sat_add(to->active, from->active);
    to->requested = gm_sat_add(to->requested, from->requested);
    to->inactive = gm_sat_add(to->inactive, from->inactive);
    to->rounding = gm_sat_sub(to->active, to->requested);
    to->segments += from->segments;
    to->blocks += from->blocks;
    to->active_blocks += from->active_blocks;
    to->allocated_blocks += from->allocated_blocks;
    to->inactive_blocks += from->inactive_blocks;
}

static void add_active(struct gm_segment_sums *sums, const struct gm_blocks *blocks, size_t b)
{
    struct gm_totals *t = &sums->totals;
    uint64_t size = blocks->size[b], requested = gm_block_requested(blocks, b);
    t->active_blocks++;
    t->active = gm_sat_add(t->active, size);
    t->requested = gm_sat_add(t->requested, requested);
    sums->over_requested |= requested > size;
    sums->lacks_requested |= blocks->requested[b] == GM_ABSENT;
    if (blocks->state[b] == GM_BLOCK_ACTIVE_ALLOCATED) {
        t->allocated_blocks++;
        t->allocated = gm_sat_add(t->allocated, size);
        sums->allocated_requested = gm_sat_add(sums->allocated_requested, requested);
    } else {
        t->pending = gm_sat_add(t->pending, size);
    }
}

static void sum_segment(struct gm_segment_sums *sums, const struct gm_snapshot *s, size_t segment)
{
    const struct gm_blocks *blocks = &s->blocks;
    struct gm_totals *t = &sums->totals;
    size_t first = s->segments.block_first[segment], count = s->segments.block_count[segment];
    uint64_t at = s->segments.address[segment];
    *sums = (struct gm_segment_sums){.tiles = true};
    t->segments = 1;
    t->reserved = s->segments.total_size[segment];
    t->blocks = count;
    for (size_t b = first; b < first + count; b++) {
        uint64_t size = blocks->size[b];
        sums->tiles &= blocks->address[b] == at;
        at = gm_sat_add(at, size);
        sums->block_bytes = gm_sat_add(sums->block_bytes, size);
        if (blocks->state[b] == GM_BLOCK_INACTIVE) {
            t->inactive_blocks++;
            t->inactive = gm_sat_add(t->inactive, size);
        } else {
            add_active(sums, blocks, b);
        }
    }
    t->rounding = gm_sat_sub(t->active, t->requested);
}

static void sum_host(struct gm_report *report, const struct gm_snapshot *s)
{
    report->host_reserved = report->host_active = GM_REPORT_NONE;
    if (s->host_segments.count == 0)
        return;
    report->host_reserved = report->host_active = 0;
    for (size_t i = 0; i < s->host_segments.count; i++)
        report->host_reserved = gm_sat_add(report->host_reserved, s->host_segments.total_size[i]);
    for (size_t b = 0; b < s->host_blocks.count; b++)
        if (s->host_blocks.state[b] != GM_BLOCK_INACTIVE)
            report->host_active = gm_sat_add(report->host_active, s->host_blocks.size[b]);
}

static void sum_devices(struct gm_pass *pass)
{
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        struct gm_totals *totals = &pass->devices[d].totals;
        for (size_t i = device->first; i < device->first + device->count; i++) {
            sum_segment(&pass->sums[i], pass->snapshot, pass->order[i]);
            gm_totals_add(totals, &pass->sums[i].totals);
        }
        gm_totals_add(&pass->report->totals, totals);
    }
    sum_host(pass->report, pass->snapshot);
}

struct entry {
    int64_t device;
    uint32_t segment; /* UINT32_MAX: a device that only has events */
};

GM_ORDERING(compare, struct entry, GM_UP(device) || GM_UP(segment));

static bool is_wanted(const struct gm_pass *pass, int64_t device)
{
    return pass->options->device < 0 || pass->options->device == device;
}

/* Wanted segments and traces, by device, segments in the file's order before the mark of a trace. */
static struct entry *list_entries(const struct gm_pass *pass, size_t *n)
{
    const struct gm_snapshot *s = pass->snapshot;
    struct entry *entries = malloc((s->segments.count + s->trace_count + 1) * sizeof *entries);
    bool is_sorted = true;
    *n = 0;
    if (entries == NULL)
        return NULL;
    for (size_t i = 0; i < s->segments.count; i++)
        if (is_wanted(pass, s->segments.device[i]))
            entries[(*n)++] = (struct entry){s->segments.device[i], (uint32_t)i};
    for (size_t d = 0; d < s->trace_count; d++)
        if (s->traces[d].count > 0 && is_wanted(pass, (int64_t)d))
            entries[(*n)++] = (struct entry){(int64_t)d, UINT32_MAX};
    for (size_t i = 1; i < *n; i++)
        is_sorted &= compare(&entries[i - 1], &entries[i]) <= 0;
    if (!is_sorted)
        qsort(entries, *n, sizeof *entries, compare);
    return entries;
}

static bool set_up_devices(struct gm_pass *pass, const struct entry *entries, size_t n)
{
    size_t devices = 0, segments = 0;
    for (size_t i = 0; i < n; i++)
        devices += i == 0 || entries[i].device != entries[i - 1].device;
    pass->order = calloc(n + 1, sizeof *pass->order);
    pass->sums = calloc(n + 1, sizeof *pass->sums);
    pass->device_passes = calloc(devices + 1, sizeof *pass->device_passes);
    pass->devices = gm_arena_calloc(&pass->report->arena, devices, sizeof *pass->devices);
    if (pass->order == NULL || pass->sums == NULL || pass->device_passes == NULL || pass->devices == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || entries[i].device != entries[i - 1].device) {
            pass->devices[pass->device_count].device = entries[i].device;
            pass->device_passes[pass->device_count++] =
                (struct gm_device_pass){.device = entries[i].device, .first = segments};
        }
        if (entries[i].segment != UINT32_MAX) {
            pass->order[segments++] = entries[i].segment;
            pass->device_passes[pass->device_count - 1].count++;
        }
    }
    pass->report->devices = pass->devices;
    pass->report->device_count = pass->device_count;
    pass->report->is_of_one_device = pass->options->device >= 0;
    return true;
}

/* 0 is the default stream, the others are numbered as they come. */
static void number_streams(struct gm_pass *pass)
{
    const struct gm_snapshot *s = pass->snapshot;
    uint32_t next = 1;
    for (size_t d = 0; d < pass->device_count; d++)
        for (size_t i = 0; i < pass->device_passes[d].count; i++) {
            uint32_t stream = s->segments.stream[pass->order[pass->device_passes[d].first + i]].v;
            if (stream != 0 && s->streams[stream] != 0 && pass->stream_number[stream] == 0)
                pass->stream_number[stream] = next++;
        }
}

static bool describe_source(struct gm_report *report, const struct gm_snapshot *s)
{
    const struct gm_source_info *source = &s->source;
    report->snapshot.path = gm_clean_copy(&report->arena, source->path != NULL ? source->path : "");
    report->snapshot.disk_bytes = source->disk_bytes;
    report->snapshot.format = source->format;
    report->snapshot.compression = gm_compression_name(source->compression);
    report->snapshot.segments = s->segments.count;
    report->snapshot.blocks = s->blocks.count;
    for (size_t d = 0; d < s->trace_count; d++)
        report->snapshot.events += s->traces[d].count;
    report->snapshot.is_salvaged = source->is_salvaged;
    report->snapshot.salvaged_offset = source->salvaged_offset;
    if (source->salvaged_reason != NULL)
        report->snapshot.salvaged_reason = gm_clean_copy(&report->arena, source->salvaged_reason);
    report->snapshot.unique_stacks = s->stacks.count > GM_STACK_EMPTY + 1 ? s->stacks.count - GM_STACK_EMPTY - 1 : 0;
    report->snapshot.unique_frames = s->frames.count > 1 ? s->frames.count - 1 : 0;
    return report->snapshot.path != NULL &&
           (source->salvaged_reason == NULL || report->snapshot.salvaged_reason != NULL);
}

static bool allocate_memos(struct gm_pass *pass)
{
    const struct gm_snapshot *s = pass->snapshot;
    pass->stream_number = calloc((size_t)s->stream_count + 1, sizeof *pass->stream_number);
    return gm_names_init(&pass->names, s, &pass->report->arena) && pass->stream_number != NULL;
}

static bool run_passes(struct gm_pass *pass)
{
    number_streams(pass);
    sum_devices(pass);
    const bool is_brief = pass->options->is_brief;
    return gm_pass_trace(pass) && (is_brief || gm_pass_fragmentation(pass)) && gm_pass_ledger(pass) &&
           (is_brief || gm_pass_device_rows(pass)) && gm_pass_blocks(pass) && (is_brief || gm_pass_pin_rows(pass)) &&
           gm_pass_settings(pass);
}

static void clean_up(struct gm_pass *pass)
{
    for (size_t d = 0; d < pass->device_count; d++) {
        GM_FREE_ALL(pass->device_passes[d].reservations.v, pass->device_passes[d].pins.v);
    }
    GM_FREE_ALL(pass->device_passes, pass->order, pass->sums, pass->stream_number);
    gm_names_free(&pass->names);
    if (pass->classifier != pass->options->classifier)
        gm_classifier_free(pass->classifier);
}

enum gm_status gm_state_analyze(struct gm_report *report, const struct gm_snapshot *snapshot,
                                const struct gm_state_options *options, struct gm_error *err)
{
    struct gm_pass pass = {
        .snapshot = snapshot, .options = options, .report = report, .conf = gm_settings_recorded(snapshot, NULL)};
    *report = (struct gm_report){
        .lacks_end = snapshot->profile != NULL,
        .expandable_is_on = pass.conf.expandable_segments,
        .evidence = {.max_split = pass.conf.rules.max_split,
                     .is_async = pass.conf.backend == GM_BACKEND_ASYNC,
                     .has_idle_gc_limit = pass.conf.gc_threshold > 0 && pass.conf.memory_fraction >= 1}};
    size_t n;
    struct entry *entries = list_entries(&pass, &n);
    enum gm_status status = GM_OK;
    if (entries == NULL)
        status = gm_no_memory(err);
    else if (options->device >= 0 && n == 0)
        status = gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "device %" PRId64 " has no segment and no event in this file",
                         options->device);
    else if (!set_up_devices(&pass, entries, n) || !allocate_memos(&pass) || !describe_source(report, snapshot))
        status = gm_no_memory(err);
    free(entries);
    pass.classifier = options->classifier;
    if (status == GM_OK && pass.classifier == NULL)
        status = gm_classifier_new(&pass.classifier, options->rules, snapshot, err);
    if (status == GM_OK && !run_passes(&pass))
        status = gm_no_memory(err);
    clean_up(&pass);
    if (status != GM_OK)
        gm_report_free(report);
    return status;
}
