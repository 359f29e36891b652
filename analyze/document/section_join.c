/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of torch.profiler beside the snapshot: how far the two agree, and what its operators made (docs/kineto.md).
 */
#include "analyze/document/sections.h"

#include <inttypes.h>

enum { ROWS = 20, SIZES = 15, STEPS = 12 };

/* ---- both files -------------------------------------------------------------------------------------------------- */

static const struct gm_column count_columns[] = {
    GM_KEY(GM_COUNT, "count", struct gm_join_count, count),
    GM_KEY(GM_BYTES, "bytes", struct gm_join_count, bytes),
};
#define SIDE(key, field) GM_INSIDE(key, count_columns, struct gm_join_side, field)
static const struct gm_column side_columns[] = {SIDE("allocations", all), SIDE("matched", matched),
                                                SIDE("not_recorded_by_other", outside),
                                                SIDE("device_not_in_other", elsewhere), SIDE("unknown", unknown)};

/* "8,120 of 8,192 allocations (99.1 %), 3.2 GiB of 3.2 GiB" */
static const char *share(struct gm_doc *d, const struct gm_join_side *s)
{
    return gm_doc_printf(d, "%s of %s allocations (%s %%) with %s of %s", gm_doc_count(d, s->matched.count),
                         gm_doc_count(d, s->all.count), gm_doc_share(d, s->matched.count, s->all.count),
                         gm_doc_bytes(d, s->matched.bytes), gm_doc_bytes(d, s->all.bytes));
}

/* "Of the trace, 12 allocations with 3.0 MiB were made while the snapshot did not record." */
static void say_count(struct gm_doc *d, const char *whose, const struct gm_join_count *c, const char *why)
{
    if (c->count > 0)
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL, "Of %s, %s allocations with %s %s.", whose, gm_doc_count(d, c->count),
                   gm_doc_bytes(d, c->bytes), why);
}

static void say_match(struct gm_doc *d, const struct gm_join_report *j)
{
    gm_doc_tell(d, "Joined with %s: of the trace %s are in the snapshot, of the snapshot %s are in the trace.", j->path,
                share(d, &j->trace), share(d, &j->snapshot));
    say_count(d, "the trace", &j->trace.outside, "were made while the snapshot did not record");
    say_count(d, "the trace", &j->trace.elsewhere, "are on devices of which the snapshot has no event");
    say_count(d, "the trace", &j->trace.unknown, "are not in the snapshot, which recorded then");
    say_count(d, "the snapshot", &j->snapshot.outside, "were made while the profiler did not record");
    say_count(d, "the snapshot", &j->snapshot.elsewhere, "are on devices of which the trace has no event");
    say_count(d, "the snapshot", &j->snapshot.unknown,
              "are not in the trace, which was recorded then: of threads that the profiler did not watch, perhaps");
    gm_doc_tell(d,
                "The trace's clock shows %.1f us more than the snapshot's (%+.1f us from first to last); half of the "
                "events are within %.1f us of that. The trace alone knows operators%s%s%s.",
                (double)j->offset_ns / 1e3, (double)j->drift_ns / 1e3, (double)j->spread_ns / 1e3,
                j->has_shapes ? ", their shapes" : "", j->has_modules ? ", modules" : "",
                j->kernels > 0 ? ", and when devices were busy" : "; it has no kernels");
}

GM_CELL(b, is_joined, struct gm_join_report, join, join->reason == NULL);

void gm_section_join(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_BOOL, GM_JSON, "joined", NULL, is_joined),
        GM_KEY(GM_PATH, "path", struct gm_join_report, path),
        GM_KEY(GM_TEXT, "not_joined_because", struct gm_join_report, reason),
        GM_KEY(GM_COUNT, "events_compared", struct gm_join_report, compared),
        GM_KEY(GM_COUNT, "events_matched", struct gm_join_report, agreed),
        GM_KEY(GM_SIGNED, "clock_offset_ns", struct gm_join_report, offset_ns),
        GM_KEY(GM_SIGNED, "clock_drift_ns", struct gm_join_report, drift_ns),
        GM_KEY(GM_COUNT, "clock_spread_ns", struct gm_join_report, spread_ns),
        GM_INSIDE("trace", side_columns, struct gm_join_report, trace),
        GM_INSIDE("snapshot", side_columns, struct gm_join_report, snapshot),
        GM_KEY(GM_COUNT, "kernels", struct gm_join_report, kernels),
        GM_KEY(GM_BOOL, "has_shapes", struct gm_join_report, has_shapes),
        GM_KEY(GM_BOOL, "has_modules", struct gm_join_report, has_modules),
    };
    const struct gm_join_report *j = report->join;
    if (j == NULL)
        return;
    gm_doc_open(d, "kineto", "Trace of torch.profiler");
    GM_FIELDS(d, columns, j, NULL);
    if (j->reason != NULL)
        gm_doc_tell(d, "Nothing of %s is joined: %s.", j->path, j->reason);
    else
        say_match(d, j);
    gm_doc_close(d);
}

/* ---- one device -------------------------------------------------------------------------------------------------- */

static const char *device_time(struct gm_doc *d, uint64_t ns)
{
    return gm_doc_duration(d, ns / 1000);
}

GM_CELL(u, rounding_at_peak, struct gm_join_row, row, gm_sat_sub(row->at_peak.allocated, row->at_peak.requested));
GM_CELL(u, rounding_of_all, struct gm_join_row, row, gm_sat_sub(row->all.allocated, row->all.requested));
GM_CELL(s, shown_name, struct gm_join_row, row,
        row->name == NULL ? "(none)" : gm_doc_printf(c->doc, "%s%s", row->name, row->is_backward ? ", backward" : ""));
GM_CELL(s, shown_kernels, struct gm_join_row, row,
        row->kernel == NULL ? NULL
                            : gm_doc_printf(c->doc, "%s in %s kernels, most in %s", device_time(c->doc, row->device_ns),
                                            gm_doc_count(c->doc, row->kernels), row->kernel));

#define ROW(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_join_row, field)
static const struct gm_column row_columns[] = {
    ROW(GM_BYTES, GM_ALL, "bytes_at_peak", "At peak", at_peak.requested),
    ROW(GM_COUNT, GM_ALL, "blocks_at_peak", "Blocks", at_peak.blocks),
    ROW(GM_BYTES, GM_JSON, "block_bytes_at_peak", NULL, at_peak.allocated),
    GM_GET(GM_BYTES, GM_ALL, "rounding_bytes_at_peak", "Rounding", rounding_at_peak),
    ROW(GM_BYTES, GM_ALL, "bytes", "Made", all.requested),
    ROW(GM_COUNT, GM_ALL, "blocks", "Times", all.blocks),
    ROW(GM_BYTES, GM_JSON, "block_bytes", NULL, all.allocated),
    GM_GET(GM_BYTES, GM_JSON, "rounding_bytes", NULL, rounding_of_all),
    ROW(GM_COUNT, GM_JSON, "calls", NULL, calls),
    ROW(GM_COUNT, GM_JSON, "kernels", NULL, kernels),
    ROW(GM_COUNT, GM_JSON, "device_time_ns", NULL, device_ns),
    ROW(GM_NAME, GM_JSON, "name", NULL, name),
    GM_GET(GM_NAME, GM_READ, NULL, "Name", shown_name),
    ROW(GM_BOOL, GM_JSON, "is_backward", NULL, is_backward),
    ROW(GM_NAME, GM_ALL | GM_UNDER | GM_BLANK, "shapes", "Shapes", shapes),
    ROW(GM_NAME, GM_JSON, "types", NULL, types),
    ROW(GM_NAME, GM_JSON, "kernel", NULL, kernel),
    GM_GET(GM_NAME, GM_READ | GM_UNDER | GM_BLANK, NULL, "Kernels", shown_kernels),
};

#define SIZE(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_join_size, field)
static const struct gm_column size_columns[] = {
    SIZE(GM_BYTES, GM_READ, NULL, "One", bytes),
    SIZE(GM_COUNT, GM_JSON, "bytes", NULL, bytes),
    SIZE(GM_COUNT, GM_ALL, "blocks_at_peak", "Blocks", blocks),
    SIZE(GM_BYTES, GM_ALL, "bytes_at_peak", "Together", total),
    SIZE(GM_NAME, GM_ALL, "name", "Made by", name),
    SIZE(GM_NAME, GM_ALL | GM_UNDER | GM_BLANK, "formula", "Is", formula),
};

GM_CELL(s, span_time, struct gm_join_span, span, device_time(c->doc, (uint64_t)span->span_ns));
GM_CELL(s, busy_time, struct gm_join_span, span, device_time(c->doc, (uint64_t)span->busy_ns));
GM_CELL(s, idle_time, struct gm_join_span, span, device_time(c->doc, (uint64_t)span->idle_ns));
static union gm_value busy_share(const struct gm_cell_of *c)
{
    const struct gm_join_span *span = c->row;
    return (union gm_value){.share = {(uint64_t)span->busy_ns, (uint64_t)span->span_ns}};
}
#define SPAN(unit, key, field) GM_FIELD(unit, GM_JSON, key, NULL, struct gm_join_span, field)
static const struct gm_column span_columns[] = {
    GM_FIELD(GM_NAME, GM_ALL, "name", "Name", struct gm_join_span, name),
    SPAN(GM_COUNT, "times", times),
    SPAN(GM_SIGNED, "span_ns", span_ns),
    SPAN(GM_SIGNED, "busy_ns", busy_ns),
    SPAN(GM_SIGNED, "idle_ns", idle_ns),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Lasts", span_time),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Busy", busy_time),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Idle", idle_time),
    GM_GET(GM_SHARE, GM_ALL, "busy_percent", "Busy %", busy_share),
};

static void tell_spans(struct gm_doc *d, const struct gm_join_span *rows, size_t n, const char *key, const char *title)
{
    GM_TABLE(d, span_columns, rows, n, .key = key, .title = title, .in = n > 0 ? GM_ALL : GM_JSON, .txt_max = STEPS,
             .md_max = STEPS);
}

static void say_peak(struct gm_doc *d, const struct gm_join_device *j)
{
    gm_doc_tell(d,
                "After event %s, when most is requested while both recorded (%s%s): %s were made by operators of the "
                "trace, %s before it%s.",
                gm_doc_event(d, j->event), gm_doc_bytes(d, j->requested),
                j->is_run_peak ? ", the run's peak" : "; the run's peak is at another time",
                gm_doc_bytes(d, j->matched.requested), gm_doc_bytes(d, j->before.requested),
                j->unknown.blocks == 0
                    ? ""
                    : gm_doc_printf(d, ", and of %s the trace does not tell", gm_doc_bytes(d, j->unknown.requested)));
    gm_doc_tell(d, "Rounding is what blocks are larger than what was requested. %s of %s at that peak are of a shape:",
                gm_doc_bytes(d, j->explained), gm_doc_bytes(d, j->matched.requested));
}

void gm_section_joined(struct gm_doc *d, const struct gm_view *v)
{
#define SUM(key, field) GM_INSIDE(key, sum_columns, struct gm_join_device, field)
    static const struct gm_column sum_columns[] = {
        GM_KEY(GM_COUNT, "blocks", struct gm_join_sum, blocks),
        GM_KEY(GM_BYTES, "bytes", struct gm_join_sum, requested),
        GM_KEY(GM_BYTES, "block_bytes", struct gm_join_sum, allocated),
    };
    static const struct gm_column columns[] = {
        GM_KEY(GM_EVENT, "event", struct gm_join_device, event),
        GM_KEY(GM_COUNT, "time_us", struct gm_join_device, time_us),
        GM_KEY(GM_BYTES, "requested_bytes", struct gm_join_device, requested),
        GM_KEY(GM_BOOL, "is_run_peak", struct gm_join_device, is_run_peak),
        SUM("matched", matched),
        SUM("made_before_trace", before),
        SUM("unknown", unknown),
        GM_KEY(GM_BYTES, "explained_bytes", struct gm_join_device, explained),
        GM_KEY(GM_COUNT, "blocks_of_other_size", struct gm_join_device, other_sizes),
    };
    const struct gm_join_device *j = v->timeline->join;
    if (j == NULL)
        return;
    gm_doc_open(d, "kineto", NULL);
    GM_FIELDS(d, columns, j, NULL);
    say_peak(d, j);
    GM_TABLE(d, size_columns, j->sizes, j->size_count, .key = "sizes", .txt_max = SIZES, .md_max = SIZES);
    GM_TABLE(d, row_columns, j->operators, j->operator_count, .key = "operators",
             .title = "By operator and shapes of its inputs", .txt_max = ROWS, .md_max = ROWS);
    GM_TABLE(d, row_columns, j->modules, j->module_count, .key = "modules", .title = "By module or annotation",
             .txt_max = ROWS, .md_max = ROWS);
    tell_spans(d, j->steps, j->step_count, "steps", "Steps: how long the device was busy");
    tell_spans(d, j->phases, j->phase_count, "phases", "Phases, likewise");
    gm_doc_close(d);
}
