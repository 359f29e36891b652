/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of analysis.json that speak of the allocator's state: totals, devices, fragmentation, ledger.
 */
#include "analyze/words/json_parts.h"

void gm_json_totals(struct gm_json *json, const struct gm_totals *t)
{
    gm_json_number(json, "reserved_bytes", t->reserved);
    gm_json_number(json, "allocated_bytes", t->allocated);
    gm_json_number(json, "active_bytes", t->active);
    gm_json_number(json, "requested_bytes", t->requested);
    gm_json_number(json, "inactive_bytes", t->inactive);
    gm_json_number(json, "rounding_bytes", t->rounding);
    gm_json_percent(json, "efficiency_percent", t->allocated, t->reserved);
    gm_json_number(json, "pending_bytes", t->pending);
    gm_json_number(json, "segments", t->segments);
    gm_json_number(json, "blocks", t->blocks);
    gm_json_number(json, "active_blocks", t->active_blocks);
    gm_json_number(json, "allocated_blocks", t->allocated_blocks);
    gm_json_number(json, "inactive_blocks", t->inactive_blocks);
}

void gm_json_peaks(struct gm_json *json, const char *key, const uint64_t peaks[GM_LEVEL_COUNT])
{
    static const char *const keys[GM_LEVEL_COUNT] = {"peak_requested_bytes", "peak_allocated_bytes",
                                                     "peak_active_bytes", "peak_reserved_bytes"};
    if (peaks == NULL) {
        gm_json_null(json, key);
        return;
    }
    gm_json_open(json, key, '{');
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        gm_json_number(json, keys[i], peaks[i]);
    gm_json_close(json, '}');
}

void gm_json_slices(struct gm_json *json, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole)
{
    gm_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "name", slices[i].name);
        gm_json_number(json, "bytes", slices[i].bytes);
        gm_json_number(json, "blocks", slices[i].blocks);
        gm_json_percent(json, "percent", slices[i].bytes, whole);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

void gm_json_frames(struct gm_json *json, const struct gm_frame_row *frames, size_t count)
{
    gm_json_open(json, "frames", '[');
    for (size_t i = 0; i < count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "name", frames[i].name);
        gm_json_string(json, "filename", frames[i].filename);
        gm_json_number(json, "line", frames[i].line);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_pin(struct gm_json *json, const struct gm_pin_row *pin, bool with_stack)
{
    const struct gm_block_row *block = &pin->block;
    if (with_stack)
        gm_json_open(json, NULL, '{');
    else
        gm_json_open_flat(json, NULL, '{');
    gm_json_number(json, "pinned_bytes", pin->pinned_bytes);
    gm_json_number(json, "sharers", pin->sharers);
    gm_json_number(json, "segment_address", pin->segment_address);
    gm_json_number(json, "segment_bytes", pin->segment_bytes);
    gm_json_number(json, "bytes", block->bytes);
    gm_json_number(json, "requested_bytes", block->requested);
    gm_json_number(json, "address", block->address);
    gm_json_signed(json, "device", block->device);
    gm_json_signed(json, "stream", block->stream);
    gm_json_string(json, "pool", block->pool);
    gm_json_string(json, "category", block->category);
    gm_json_string(json, "site", block->site);
    if (with_stack)
        gm_json_frames(json, block->frames, block->frame_count);
    gm_json_close(json, '}');
}

void gm_json_fragmentation(struct gm_json *json, const struct gm_fragmentation *f, bool with_stacks)
{
    gm_json_open(json, "fragmentation", '{');
    gm_json_number(json, "inactive_blocks", f->inactive_blocks);
    gm_json_number(json, "largest_inactive_bytes", f->largest_inactive);
    gm_json_open_flat(json, "unused_over_100MiB", '{');
    gm_json_number(json, "blocks", f->unused_over_100mib.blocks);
    gm_json_number(json, "bytes", f->unused_over_100mib.bytes);
    gm_json_close(json, '}');
    gm_json_number(json, "releasable_bytes", f->releasable);
    gm_json_number(json, "empty_cache_bytes", f->empty_cache);
    gm_json_number(json, "stranded_bytes", f->stranded);
    gm_json_open(json, "pins", '[');
    for (size_t i = 0; i < f->pin_count; i++)
        add_pin(json, &f->pins[i], with_stacks);
    gm_json_close(json, ']');
    gm_json_close(json, '}');
}

void gm_json_ledger(struct gm_json *json, const struct gm_ledger *l)
{
    gm_json_open(json, "ledger", '{');
    gm_json_number(json, "allocated_requested_bytes", l->allocated_requested);
    gm_json_number(json, "allocated_rounding_bytes", l->allocated_rounding);
    gm_json_number(json, "pending_bytes", l->pending);
    gm_json_number(json, "releasable_bytes", l->releasable);
    gm_json_number(json, "stranded_bytes", l->stranded);
    gm_json_number(json, "sum_bytes", l->sum);
    gm_json_number(json, "reserved_bytes", l->reserved);
    gm_json_signed(json, "residual_bytes", l->residual);
    gm_json_number(json, "stated_allocated_bytes", l->stated_allocated);
    gm_json_number(json, "stated_active_bytes", l->stated_active);
    gm_json_number(json, "stated_requested_bytes", l->stated_requested);
    gm_json_number(json, "segments_disagreeing", l->segments_disagreeing);
    gm_json_string(json, "explanation", l->explanation);
    gm_json_close(json, '}');
}

static void add_pool(struct gm_json *json, const struct gm_pool_row *pool)
{
    gm_json_open_flat(json, NULL, '{');
    gm_json_string(json, "pool", pool->name);
    gm_json_string(json, "kind", pool->kind);
    if (pool->id_first == GM_REPORT_NONE) {
        gm_json_null(json, "id");
    } else {
        gm_json_open_flat(json, "id", '[');
        gm_json_number(json, NULL, pool->id_first);
        gm_json_number(json, NULL, pool->id_second);
        gm_json_close(json, ']');
    }
    gm_json_bool(json, "private", pool->is_private);
    gm_json_bool(json, "expandable", pool->has_expandable);
    gm_json_totals(json, &pool->totals);
    gm_json_close(json, '}');
}

static void add_device(struct gm_json *json, const struct gm_device_report *device)
{
    gm_json_open(json, NULL, '{');
    gm_json_signed(json, "device", device->device);
    gm_json_totals(json, &device->totals);
    gm_json_open(json, "streams", '[');
    for (size_t i = 0; i < device->stream_count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_signed(json, "stream", device->streams[i].stream);
        gm_json_number(json, "number", device->streams[i].number);
        gm_json_totals(json, &device->streams[i].totals);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
    gm_json_open(json, "pools", '[');
    for (size_t i = 0; i < device->pool_count; i++)
        add_pool(json, &device->pools[i]);
    gm_json_close(json, ']');
    gm_json_slices(json, "categories", device->categories, device->category_count, device->totals.allocated);
    gm_json_fragmentation(json, &device->fragmentation, false);
    gm_json_ledger(json, &device->ledger);
    gm_json_close(json, '}');
}

void gm_json_devices(struct gm_json *json, const struct gm_report *report)
{
    gm_json_open(json, "devices", '[');
    for (size_t i = 0; i < report->device_count; i++)
        add_device(json, &report->devices[i]);
    gm_json_close(json, ']');
}

/* Keys by reason: they are the enum's, spelt once and for all. */
void gm_json_unusable(struct gm_json *json, const uint64_t *unusable)
{
    static const char *const keys[GM_UNUSABLE_COUNT] = {"hole_too_small", "wrong_stream", "wrong_pool", "whole_segment",
                                                        "fits"};
    if (unusable == NULL) {
        gm_json_null(json, "unusable_bytes");
        return;
    }
    gm_json_open_flat(json, "unusable_bytes", '{');
    for (int i = 0; i < GM_UNUSABLE_COUNT; i++)
        gm_json_number(json, keys[i], unusable[i]);
    gm_json_close(json, '}');
}
