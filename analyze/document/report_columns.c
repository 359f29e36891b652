/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/report_columns.h"

#include <inttypes.h>

#define TOTAL(unit, key, field) GM_KEY(unit, key, struct gm_totals, field)
const struct gm_column gm_totals_columns[13] = {
    TOTAL(GM_BYTES, "reserved_bytes", reserved),
    TOTAL(GM_BYTES, "allocated_bytes", allocated),
    TOTAL(GM_BYTES, "active_bytes", active),
    TOTAL(GM_BYTES, "requested_bytes", requested),
    TOTAL(GM_BYTES, "inactive_bytes", inactive),
    TOTAL(GM_BYTES, "rounding_bytes", rounding),
    GM_PART(GM_JSON, "efficiency_percent", NULL, struct gm_totals, allocated, reserved),
    TOTAL(GM_BYTES, "pending_bytes", pending),
    TOTAL(GM_COUNT, "segments", segments),
    TOTAL(GM_COUNT, "blocks", blocks),
    TOTAL(GM_COUNT, "active_blocks", active_blocks),
    TOTAL(GM_COUNT, "allocated_blocks", allocated_blocks),
    TOTAL(GM_COUNT, "inactive_blocks", inactive_blocks),
};

const struct gm_column gm_levels_columns[4] = {
    GM_KEY(GM_BYTES, "requested_bytes", struct gm_levels, requested),
    GM_KEY(GM_BYTES, "allocated_bytes", struct gm_levels, allocated),
    GM_KEY(GM_BYTES, "active_bytes", struct gm_levels, active),
    GM_KEY(GM_BYTES, "reserved_bytes", struct gm_levels, reserved),
};

struct unusable {
    uint64_t of[GM_UNUSABLE_COUNT];
};
const struct gm_column gm_unusable_columns[5] = {
    GM_KEY(GM_BYTES, "hole_too_small", struct unusable, of[GM_UNUSABLE_HOLE_TOO_SMALL]),
    GM_KEY(GM_BYTES, "wrong_stream", struct unusable, of[GM_UNUSABLE_WRONG_STREAM]),
    GM_KEY(GM_BYTES, "wrong_pool", struct unusable, of[GM_UNUSABLE_WRONG_POOL]),
    GM_KEY(GM_BYTES, "whole_segment", struct unusable, of[GM_UNUSABLE_WHOLE_SEGMENT]),
    GM_KEY(GM_BYTES, "fits", struct unusable, of[GM_UNUSABLE_FITS]),
};

void gm_json_peaks(struct gm_doc *d, const char *key, const uint64_t peaks[GM_LEVEL_COUNT])
{
    struct peaks {
        uint64_t of[GM_LEVEL_COUNT];
    };
    static const struct gm_column columns[] = {
        GM_KEY(GM_BYTES, "peak_requested_bytes", struct peaks, of[GM_LEVEL_REQUESTED]),
        GM_KEY(GM_BYTES, "peak_allocated_bytes", struct peaks, of[GM_LEVEL_ALLOCATED]),
        GM_KEY(GM_BYTES, "peak_active_bytes", struct peaks, of[GM_LEVEL_ACTIVE]),
        GM_KEY(GM_BYTES, "peak_reserved_bytes", struct peaks, of[GM_LEVEL_RESERVED]),
    };
    GM_OBJECT(d, key, columns, peaks, NULL);
}

void gm_json_frames(struct gm_doc *d, const struct gm_frame_row *frames, size_t count)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_NAME, "name", struct gm_frame_row, name),
        GM_KEY(GM_PATH, "filename", struct gm_frame_row, filename),
        GM_KEY(GM_COUNT, "line", struct gm_frame_row, line),
    };
    GM_TABLE(d, columns, frames, count, .key = "frames", .in = GM_JSON);
}

static const struct gm_column slice_columns[] = {
    GM_FIELD(GM_TEXT, GM_ALL, "name", NULL, struct gm_slice, name),
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct gm_slice, bytes),
    GM_FIELD(GM_COUNT, GM_ALL | GM_BLANK, "blocks", "Blocks", struct gm_slice, blocks),
    GM_PART_OF(GM_ALL, "percent", "Share", struct gm_slice, bytes),
};

void gm_json_slices(struct gm_doc *d, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole)
{
    GM_TABLE(d, slice_columns, slices, count, .key = key, .in = GM_JSON, .of = &whole);
}

void gm_json_inferred(struct gm_doc *d, const char *key, const struct gm_slice *slices, size_t count, uint64_t whole)
{
    if (slices == NULL)
        gm_json_null(&d->json, key);
    else
        gm_json_slices(d, key, slices, count, whole);
}

void gm_section_slices(struct gm_doc *d, const char *title, const struct gm_slice *slices, size_t count, size_t most,
                       uint64_t whole)
{
    struct gm_slice rest = {.bytes = 0}, lacking = {.name = "not attributed", .blocks = GM_REPORT_NONE};
    uint64_t sum = 0;
    if (most == 0 || count <= most + 1) /* a row for one other would say less than that one */
        most = count;
    for (size_t i = 0; i < count; i++) {
        sum = gm_plus(sum, slices[i].bytes);
        rest.bytes = i < most ? 0 : gm_plus(rest.bytes, slices[i].bytes);
        rest.blocks = i < most ? 0 : gm_plus(rest.blocks, slices[i].blocks);
    }
    rest.name = gm_doc_printf(d, "%zu smaller", count - most);
    lacking.bytes = gm_less(whole, sum);
    const struct gm_slice feet[2] = {rest, lacking};
    const bool is_lacking = count > 0 && lacking.bytes != GM_REPORT_NONE && lacking.bytes != 0;
    GM_TABLE(d, slice_columns, slices, most, .title = title, .in = GM_READ, GM_FEET_OF(feet, count > most, is_lacking),
             .of = &whole);
}

const char *gm_stream_name(struct gm_doc *d, const struct gm_view *view, int64_t stream)
{
    const struct gm_device_report *device = view->device;
    for (size_t i = 0; i < device->stream_count; i++)
        if (device->streams[i].stream == stream)
            return gm_doc_printf(d, "%" PRIu32, device->streams[i].number);
    return stream == 0 ? "0" : gm_doc_printf(d, "0x%" PRIx64, (uint64_t)stream);
}

const char *gm_source_words(struct gm_doc *d, const char *text, const char *note)
{
    return text != NULL || note == NULL ? text : gm_doc_printf(d, "(%s)", note);
}
