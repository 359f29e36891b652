/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace of torch.profiler: what each operator used, what is stated of devices (docs/kineto.md).
 */
#include "analyze/document/sections.h"

#include <inttypes.h>
#include <string.h>

enum { OPERATORS_SHOWN = 20, SHAPES_SHOWN = 12, MODULES_SHOWN = 12, COPIES_SHOWN = 12 };

static const char *duration(struct gm_doc *doc, int64_t ns)
{
    const uint64_t us = (uint64_t)(ns < 0 ? -(ns / 1000) : ns / 1000);
    return gm_doc_printf(doc, "%s%s", ns <= -1000 ? "-" : "", gm_doc_duration(doc, us));
}

GM_CELL(s, self_time_of, struct gm_operator_row, row, duration(c->doc, row->self.time_ns));

#define OPERATOR(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_operator_row, field)
/* People read of the devices' memory where there is any, else of the host's. */
#define COLUMNS(of_device, of_host)                                                                                    \
    OPERATOR(GM_DELTA, GM_JSON | (of_device), "self_device_bytes", "Self", self.device_bytes),                         \
        OPERATOR(GM_DELTA, GM_JSON | (of_device), "device_bytes", "Total", total.device_bytes),                        \
        OPERATOR(GM_DELTA, GM_JSON | (of_host), "self_host_bytes", "Self", self.host_bytes),                           \
        OPERATOR(GM_DELTA, GM_JSON | (of_host), "host_bytes", "Total", total.host_bytes),                              \
        GM_GET(GM_FIGURE, GM_READ, NULL, "Self time", self_time_of),                                                   \
        OPERATOR(GM_SIGNED, GM_JSON, "self_time_ns", NULL, self.time_ns),                                              \
        OPERATOR(GM_SIGNED, GM_JSON, "time_ns", NULL, total.time_ns),                                                  \
        OPERATOR(GM_SIGNED, GM_JSON, "self_device_time_ns", NULL, self.device_time_ns),                                \
        OPERATOR(GM_SIGNED, GM_JSON, "device_time_ns", NULL, total.device_time_ns),                                    \
        OPERATOR(GM_COUNT, GM_ALL, "calls", "Calls", calls), OPERATOR(GM_NAME, GM_ALL, "name", "Name", name),          \
        OPERATOR(GM_BOOL, GM_JSON, "annotation", NULL, is_annotation),                                                 \
        OPERATOR(GM_BOOL, GM_JSON, "on_device", NULL, is_on_device),                                                   \
        OPERATOR(GM_NAME, GM_ALL | GM_UNDER | GM_BLANK, "shapes", "Shapes", shapes),                                   \
        OPERATOR(GM_NAME, GM_JSON, "stack", NULL, stack)
static const struct gm_column device_columns[] = {COLUMNS(GM_READ, 0)};
static const struct gm_column host_columns[] = {COLUMNS(0, GM_READ)};
enum { COLUMN_COUNT = sizeof device_columns / sizeof *device_columns };

static void tell_operators(struct gm_doc *d, const struct gm_profile_report *p, const struct gm_operator_table *rows,
                           const char *key, const char *title, size_t shown)
{
    const bool is_told = rows->count > 0 && title != NULL;
    GM_TABLE_OF(d, p->has_device_memory ? device_columns : host_columns, COLUMN_COUNT, rows->v, rows->count, .key = key,
                .title = title, .in = is_told ? GM_ALL : GM_JSON, .txt_max = shown, .md_max = shown);
}

#define STATED(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_stated_memory, field)
GM_CELL(s, stated_device, struct gm_stated_memory, s,
        s->device < 0 ? "host" : gm_doc_printf(c->doc, "%" PRId64, s->device));

static const struct gm_column stated_columns[] = {
    GM_GET(GM_FIGURE, GM_READ, NULL, "Device", stated_device),
    STATED(GM_ID, GM_JSON, "device", NULL, device),
    STATED(GM_NAME, GM_JSON, "name", NULL, name),
    STATED(GM_BYTES, GM_JSON, "capacity_bytes", NULL, capacity),
    STATED(GM_BYTES, GM_JSON, "warning_bytes", NULL, limits[0]),
    STATED(GM_BYTES, GM_JSON, "high_bytes", NULL, limits[1]),
    STATED(GM_BYTES, GM_JSON, "critical_bytes", NULL, limits[2]),
    STATED(GM_TEXT, GM_JSON, "pressure", NULL, pressure),
    STATED(GM_COUNT, GM_ALL, "allocs", "Allocs", allocs),
    STATED(GM_COUNT, GM_ALL, "frees", "Frees", frees),
    STATED(GM_BYTES, GM_ALL, "first_allocated_bytes", "At first", allocated.first),
    STATED(GM_BYTES, GM_ALL, "peak_allocated_bytes", "Peak", allocated.peak),
    STATED(GM_BYTES, GM_ALL, "last_allocated_bytes", "At last", allocated.last),
    STATED(GM_BYTES, GM_JSON, "first_reserved_bytes", NULL, reserved.first),
    STATED(GM_BYTES, GM_ALL, "peak_reserved_bytes", "Peak reserved", reserved.peak),
    STATED(GM_BYTES, GM_JSON, "last_reserved_bytes", NULL, reserved.last),
    STATED(GM_COUNT, GM_JSON, "peak_allocated_us", NULL, allocated.peak_us),
    STATED(GM_COUNT, GM_JSON, "peak_reserved_us", NULL, reserved.peak_us),
    STATED(GM_DELTA, GM_ALL, "net_bytes", "Net", net_bytes),
    STATED(GM_SIGNED, GM_JSON, "most_net_bytes", NULL, most_net_bytes),
    STATED(GM_NAME, GM_ALL | GM_UNDER, "peak_site", "At the peak", peak_site),
};

static int64_t change(uint64_t before, uint64_t after)
{
    const bool is_known = before != GM_REPORT_NONE && after != GM_REPORT_NONE;
    return is_known ? gm_signed_gap(after, before) : GM_SIGNED_NONE;
}

#define COPY(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_copy_row, field)
GM_CELL(s, copy_time, struct gm_copy_row, row, duration(c->doc, row->time_ns));

GM_CELL(i, copy_change, struct gm_copy_row, row, change(row->before, row->after));

static const struct gm_column copy_columns[] = {
    COPY(GM_ID, GM_ALL, "device", "Device", device),
    COPY(GM_NAME, GM_ALL, "stream", "Stream", stream),
    COPY(GM_TEXT, GM_JSON, "direction", NULL, direction),
    COPY(GM_COUNT, GM_ALL, "copies", "Copies", copies),
    COPY(GM_BYTES, GM_ALL, "bytes", "Bytes", bytes),
    GM_GET(GM_FIGURE, GM_READ, NULL, "Took", copy_time),
    COPY(GM_SIGNED, GM_JSON, "time_ns", NULL, time_ns),
    COPY(GM_BYTES, GM_JSON, "allocated_before_bytes", NULL, before),
    COPY(GM_BYTES, GM_JSON, "allocated_after_bytes", NULL, after),
    GM_GET(GM_DELTA, GM_JSON, "allocated_change_bytes", NULL, copy_change),
    COPY(GM_NAME, GM_ALL, "name", "Name", name),
};

#define BURST(unit, in, key, title, field) GM_FIELD(unit, in, key, title, struct gm_copy_burst, field)
GM_CELL(i, burst_change, struct gm_copy_burst, row, change(row->before, row->after));

GM_CELL(s, burst_place, struct gm_copy_burst, row,
        row->step == NULL ? row->direction : gm_doc_printf(c->doc, "%s, in %s", row->direction, row->step));

static const struct gm_column burst_columns[] = {
    BURST(GM_ID, GM_ALL, "device", "Device", device),
    BURST(GM_COUNT, GM_JSON, "start_us", NULL, start_us),
    BURST(GM_COUNT, GM_ALL, "copies", "Copies", copies),
    BURST(GM_BYTES, GM_ALL, "bytes", "Bytes", bytes),
    BURST(GM_SIGNED, GM_JSON, "time_ns", NULL, time_ns),
    BURST(GM_BYTES, GM_ALL, "allocated_before_bytes", "Before", before),
    BURST(GM_BYTES, GM_ALL, "allocated_after_bytes", "After", after),
    GM_GET(GM_DELTA, GM_ALL, "allocated_change_bytes", "Change", burst_change),
    BURST(GM_DELTA, GM_ALL, "host_change_bytes", "Host", host_bytes),
    BURST(GM_TEXT, GM_JSON, "direction", NULL, direction),
    BURST(GM_NAME, GM_JSON, "step", NULL, step),
    GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "Direction", burst_place),
};

/* What offloading did, in one sentence: all that went to the host, and the most that one burst made of it. */
static void say_offloading(struct gm_doc *d, const struct gm_profile_report *p)
{
    uint64_t bytes = 0, most = 0, bursts = 0;
    for (size_t i = 0; i < p->burst_count; i++) {
        const struct gm_copy_burst *b = &p->bursts[i];
        if (strcmp(b->direction, "to the host") != 0 || b->before == GM_REPORT_NONE || b->after == GM_REPORT_NONE)
            continue;
        const uint64_t fell = gm_sat_sub(b->before, b->after);
        bursts++;
        bytes = gm_known_add(bytes, b->bytes);
        most = fell > most ? fell : most;
    }
    if (bursts > 0)
        gm_doc_say(
            d, GM_SAY_ITEM, GM_READ, NULL,
            "%s burst%s of copies to the host moved %s; what the device had allocated fell by at most %s in one.",
            gm_doc_count(d, bursts), gm_plural(bursts), gm_doc_bytes(d, bytes), gm_doc_bytes(d, most));
}

static void tell_copies(struct gm_doc *d, const struct gm_profile_report *p)
{
    const unsigned in = p->copy_count > 0 ? GM_ALL : GM_JSON;
    GM_TABLE(d, copy_columns, p->copies, p->copy_count, .key = "copies", .title = "Copies", .in = in,
             .txt_max = COPIES_SHOWN, .md_max = COPIES_SHOWN);
    GM_TABLE(d, burst_columns, p->bursts, p->burst_count, .key = "copy_bursts",
             .title = "Copies in bursts, and what the device had allocated before and after", .in = in,
             .txt_max = COPIES_SHOWN, .md_max = COPIES_SHOWN);
    say_offloading(d, p);
}

static void tell_stated(struct gm_doc *d, const struct gm_profile_report *p)
{
    GM_TABLE(d, stated_columns, p->stated, p->stated_count, .key = "stated", .title = "As the memory events state it");
    for (size_t i = 0; i < p->stated_count; i++) {
        const struct gm_stated_memory *s = &p->stated[i];
        if (s->pressure == NULL)
            continue;
        gm_doc_say(d, GM_SAY_ITEM, GM_READ, NULL,
                   "Device %" PRId64 "%s%s%s %s: %s is a warning, %s high, %s critical. The peak is %s%s.", s->device,
                   s->name == NULL ? "" : ", ", s->name == NULL ? "" : s->name,
                   s->is_of_option ? ", held against the card of --gpu with" : " has", gm_doc_bytes(d, s->capacity),
                   gm_doc_bytes(d, s->limits[0]), gm_doc_bytes(d, s->limits[1]), gm_doc_bytes(d, s->limits[2]),
                   s->pressure, strcmp(s->pressure, "below") == 0 ? " all of them" : "");
    }
}

static const struct gm_column count_columns[] = {
    GM_KEY(GM_COUNT, "spans", struct gm_profile_report, spans),
    GM_KEY(GM_COUNT, "memory_events", struct gm_profile_report, memory_events),
    GM_KEY(GM_COUNT, "threads", struct gm_profile_report, threads),
    GM_KEY(GM_COUNT, "other_events", struct gm_profile_report, other_events),
    GM_KEY(GM_COUNT, "odd_events", struct gm_profile_report, odd_events),
    GM_KEY(GM_ID, "rank", struct gm_profile_report, rank),
    GM_KEY(GM_ID, "world_size", struct gm_profile_report, world_size),
    GM_KEY(GM_DURATION, "span_us", struct gm_profile_report, span_us),
    GM_KEY(GM_BOOL, "has_memory", struct gm_profile_report, has_memory),
    GM_KEY(GM_BOOL, "has_shapes", struct gm_profile_report, has_shapes),
    GM_KEY(GM_BOOL, "has_python", struct gm_profile_report, has_python),
    GM_KEY(GM_BOOL, "modules_are_annotations", struct gm_profile_report, modules_are_annotations),
    GM_KEY(GM_BOOL, "edges_are_rounded", struct gm_profile_report, has_rounded_edges),
};

static void tell_counts(struct gm_doc *d, const struct gm_profile_report *p)
{
    GM_FIELDS(d, count_columns, p, NULL);
    gm_doc_tell(d, "A trace of torch.profiler: %s spans and %s memory events of %s threads and streams in %s%s.",
                gm_doc_count(d, p->spans), gm_doc_count(d, p->memory_events), gm_doc_count(d, p->threads),
                gm_doc_duration(d, p->span_us),
                p->rank < 0 ? ""
                            : gm_doc_printf(d, ", rank %lld of %lld", (long long)p->rank, (long long)p->world_size));
    gm_doc_tell(d, "It does not tell segments, streams of allocations, nor what of a block was requested.%s%s%s",
                p->has_memory         ? ""
                : p->asked_for_memory ? " No memory was allocated or freed."
                                      : " No memory was recorded: profile_memory=True.",
                p->has_shapes ? "" : " No shapes: record_shapes=True.",
                p->has_python ? "" : " No Python functions: with_stack=True.");
}

void gm_section_profile(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_profile_report *p = report->profile;
    if (p == NULL)
        return;
    gm_doc_open(d, "profile", "Operators");
    tell_counts(d, p);
    tell_stated(d, p);
    if (p->has_memory)
        gm_doc_tell(d,
                    "Bytes below are of %s: what was handed out less what came back. Self is without what is inside.",
                    p->has_device_memory ? "devices" : "the host");
    tell_operators(d, p, &p->operators, "operators", "By operator, as key_averages() counts", OPERATORS_SHOWN);
    tell_copies(d, p);
    tell_operators(d, p, &p->modules, "modules", p->modules_are_annotations ? "By annotation" : "By module",
                   MODULES_SHOWN);
    if (p->has_shapes)
        tell_operators(d, p, &p->shapes, "by_shapes", "By operator and shapes", SHAPES_SHOWN);
    if (p->has_python)
        tell_operators(d, p, &p->stacks, "by_stack", NULL, 0);
    gm_doc_close(d);
}
