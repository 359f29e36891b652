/* SPDX-License-Identifier: Apache-2.0
 *
 * gmtrace info.
 */
#include "replay/handover/cli/gmtrace.h"

struct info_device {
    int64_t device;
    uint64_t events, first_us, last_us; /* since 1970; GM_REPORT_NONE: not known */
    uint64_t ring;                      /* events that the recorder holds at most */
    const char *lost;                   /* whether older ones are gone */
    uint64_t steps, reserved, peak_reserved, peak_requested, peak_event;
};

struct info_step {
    int64_t device;
    uint64_t number, first, last;
    bool is_partial;
};

/* clang-format off */
static const struct gm_column file_columns[] = {
    GM_FIELD(GM_TEXT, GM_ALL, "format", "Format", struct gm_report, snapshot.format),
    GM_FIELD(GM_TEXT, GM_ALL, "compression", "Compression", struct gm_report, snapshot.compression),
    GM_FIELD(GM_EXACT, GM_ALL, "bytes", "On disk", struct gm_report, snapshot.disk_bytes),
    GM_FIELD(GM_COUNT, GM_ALL, "segments", "Segments", struct gm_report, snapshot.segments),
    GM_FIELD(GM_COUNT, GM_ALL, "blocks", "Blocks", struct gm_report, snapshot.blocks),
    GM_FIELD(GM_COUNT, GM_ALL, "events", "Events", struct gm_report, snapshot.events),
    GM_FIELD(GM_COUNT, GM_ALL, "stacks", "Distinct stacks", struct gm_report, snapshot.unique_stacks),
    GM_FIELD(GM_COUNT, GM_ALL, "frames", "Distinct frames", struct gm_report, snapshot.unique_frames),
};
static const struct gm_column device_columns[] = {
    GM_FIELD(GM_ID, GM_ALL, "device", "Device", struct info_device, device),
    GM_FIELD(GM_COUNT, GM_ALL, "events", "Events", struct info_device, events),
    GM_FIELD(GM_COUNT, GM_ALL, "ring", "Ring", struct info_device, ring),
    GM_FIELD(GM_TEXT, GM_ALL, "older_events", "Older", struct info_device, lost),
    GM_FIELD(GM_COUNT, GM_JSON, "first_time_us", NULL, struct info_device, first_us),
    GM_FIELD(GM_COUNT, GM_JSON, "last_time_us", NULL, struct info_device, last_us),
    GM_FIELD(GM_COUNT, GM_ALL, "steps", "Steps", struct info_device, steps),
    GM_FIELD(GM_BYTES, GM_ALL, "reserved_bytes", "Reserved", struct info_device, reserved),
    GM_FIELD(GM_BYTES, GM_ALL, "peak_reserved_bytes", "Its peak", struct info_device, peak_reserved),
    GM_FIELD(GM_BYTES, GM_ALL, "peak_requested_bytes", "Requested", struct info_device, peak_requested),
    GM_FIELD(GM_EVENT, GM_ALL, "peak_event", "Event", struct info_device, peak_event),
};
static const struct gm_column step_columns[] = {
    GM_FIELD(GM_ID, GM_ALL, "device", "Device", struct info_step, device),
    GM_FIELD(GM_COUNT, GM_ALL, "step", "Step", struct info_step, number),
    GM_FIELD(GM_COUNT, GM_ALL, "first_event", "First event", struct info_step, first),
    GM_FIELD(GM_COUNT, GM_ALL, "last_event", "Last event", struct info_step, last),
    GM_FIELD(GM_BOOL, GM_ALL, "is_cut_off", "Cut off", struct info_step, is_partial),
};
/* clang-format on */

static const char *lost_words(enum gm_truth overflowed)
{
    return overflowed == GM_TRUTH_ABSENT ? "not told" : overflowed == GM_TRUE ? "lost" : "none";
}

static struct info_device info_of(const struct gm_recording *r, size_t i)
{
    const struct gm_kept_device *kept = &r->kept.v[i];
    const struct gm_history *h = &kept->history;
    const struct gm_snapshot *s = &r->snapshot;
    const bool has_trace = h->device >= 0 && (uint64_t)h->device < s->trace_count;
    const struct gm_trace *trace = has_trace ? &s->traces[h->device] : NULL;
    const bool has_peak = h->count > 0 && r->report.peaks != NULL;
    return (struct info_device){
        .device = r->report.devices[i].device,
        .events = h->count,
        .first_us = gm_history_time(h, 0),
        .last_us = gm_history_time(h, h->count - 1),
        .ring = trace == NULL ? GM_REPORT_NONE : trace->max_entries,
        .lost = trace == NULL ? NULL : lost_words(trace->overflowed),
        .steps = kept->step_count,
        .reserved = r->report.devices[i].totals.reserved,
        .peak_reserved = has_peak ? r->report.timelines[i].peak_reserved.levels.reserved : GM_REPORT_NONE,
        .peak_requested = has_peak ? r->report.peaks[i].requested : GM_REPORT_NONE,
        .peak_event = has_peak ? r->report.peaks[i].event : GM_REPORT_NONE,
    };
}

static void say_steps(struct gm_doc *doc, const struct gm_recording *r)
{
    size_t count = 0, n = 0;
    for (size_t d = 0; d < r->kept.count; d++)
        count += r->kept.v[d].step_count;
    struct info_step *rows = gm_doc_rows(doc, count, sizeof *rows);
    for (size_t d = 0; rows != NULL && d < r->kept.count; d++)
        for (size_t i = 0; i < r->kept.v[d].step_count; i++) {
            const struct gm_kept_step *step = &r->kept.v[d].steps[i];
            rows[n++] = (struct info_step){r->kept.v[d].history.device, step->number, step->first, step->last,
                                           step->is_partial};
        }
    GM_TABLE(doc, step_columns, rows, n, .key = "steps", .title = n > 0 ? "Steps" : NULL, .txt_max = 40,
             .cut = GM_CUT_MIDDLE);
}

void gm_info_document(struct gm_text *out, enum gm_form form, const struct gm_recording *r)
{
    struct gm_doc doc;
    const size_t count = r->report.device_count;
    gm_doc_begin(&doc, form, out);
    if (form == GM_JSON) {
        gm_json_string(&doc.json, "schema", "gmtrace.info/1");
        gm_json_string(&doc.json, "path", r->report.snapshot.path);
    }
    GM_FIELDS(&doc, file_columns, &r->report, NULL);
    struct info_device *rows = gm_doc_rows(&doc, count, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < count; i++)
        rows[i] = info_of(r, i);
    GM_TABLE(&doc, device_columns, rows, rows == NULL ? 0 : count, .key = "devices", .title = "Devices");
    say_steps(&doc, r);
    gm_doc_end(&doc);
}
