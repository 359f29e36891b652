/* SPDX-License-Identifier: Apache-2.0
 *
 * The run as Chrome trace events: counters for the four kinds of bytes, slices for steps and annotations, instants for
 * peaks and for running out of memory. A device is a process. Time is microseconds since the first event of the trace;
 * without usable times the number of the event takes its place. All events of a device are sorted by time.
 */
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/base/vec.h"
#include "analyze/export/formats.h"

#include <inttypes.h>
#include <stdlib.h>

/* Where a slice is drawn: steps on track 1, annotations below by nesting, the deepest ones together. */
enum { STEP_TRACK = 1, FIRST_BAND_TRACK = 2, TRACKS = 64 };

enum kind { SLICE, SAMPLE, PEAK, OOM };

struct mark {
    uint64_t ts, end; /* end: of a slice */
    uint32_t track;
    enum kind kind;
    bool is_step;
    size_t index; /* in the report's list of that kind */
};

struct marks GM_VEC(struct mark);

static const struct {
    const char *what;
    size_t offset;
} kinds[] = {{"allocated", offsetof(struct gm_levels, allocated)},
             {"active", offsetof(struct gm_levels, active)},
             {"requested", offsetof(struct gm_levels, requested)},
             {"reserved", offsetof(struct gm_levels, reserved)}};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct device {
    const struct gm_device_timeline *timeline;
    const struct gm_peak *peak;
    int64_t id, pid;
    bool is_by_time; /* else an event counts as a microsecond */
    uint64_t start_us;
    struct marks marks;
    uint64_t shown[KINDS]; /* what the counters were set to */
    bool has_track[TRACKS];
};

static uint64_t level(const struct gm_levels *levels, size_t kind)
{
    return *(const uint64_t *)(const void *)((const char *)levels + kinds[kind].offset);
}

/* ---- where things are on the axis
 * ------------------------------------------------------------------------------------ */

/* An event, with the time that the report gives for it, if any. Before event 0 is 0. */
static uint64_t place(const struct device *d, uint64_t event, uint64_t time_us)
{
    if (!d->is_by_time)
        return event == GM_REPORT_NONE ? 0 : event;
    return time_us == GM_REPORT_NONE || time_us < d->start_us ? 0 : time_us - d->start_us;
}

static bool add_mark(struct device *d, struct mark mark)
{
    if (mark.kind == SLICE && mark.end < mark.ts)
        mark.end = mark.ts;
    if (mark.kind == SLICE)
        d->has_track[mark.track] = true;
    return GM_VEC_PUSH(&d->marks, mark);
}

static bool add_slices(struct device *d)
{
    const struct gm_steps *steps = &d->timeline->steps;
    bool ok = true;
    for (size_t i = 0; ok && i < steps->row_count; i++) {
        const struct gm_step_row *row = &steps->rows[i];
        ok = add_mark(d, (struct mark){.ts = place(d, row->first_event, row->from_us),
                                       .end = place(d, row->last_event, row->to_us) + !d->is_by_time,
                                       .track = STEP_TRACK,
                                       .kind = SLICE,
                                       .is_step = true,
                                       .index = i});
    }
    for (size_t i = 0; ok && i < steps->band_count; i++) {
        const struct gm_band *band = &steps->bands[i];
        if (band->is_step && steps->row_count > 0)
            continue; /* it is one of the rows */
        unsigned depth = band->depth < TRACKS - FIRST_BAND_TRACK ? band->depth : TRACKS - FIRST_BAND_TRACK - 1;
        ok = add_mark(d, (struct mark){.ts = place(d, band->first_event, band->from_us),
                                       .end = place(d, band->last_event, band->to_us) + !d->is_by_time,
                                       .track = FIRST_BAND_TRACK + depth,
                                       .kind = SLICE,
                                       .index = i});
    }
    return ok;
}

/* Peaks by number: of requested bytes, then the three of the timeline. */
static struct gm_moment peak_moment(const struct device *d, size_t i)
{
    const struct gm_device_timeline *t = d->timeline;
    return i == 0   ? (struct gm_moment){d->peak->event, d->peak->time_us, d->peak->levels}
           : i == 1 ? t->peak_allocated
           : i == 2 ? t->peak_active
                    : t->peak_reserved;
}

static bool collect(struct device *d)
{
    const struct gm_device_timeline *t = d->timeline;
    bool ok = add_slices(d);
    uint64_t latest = 0; /* where time runs backwards in the trace, it stands still here */
    for (size_t i = 0; ok && i < t->sample_count; i++) {
        uint64_t ts = place(d, t->samples[i].event, t->samples[i].time_us);
        latest = ts > latest ? ts : latest;
        ok = add_mark(d, (struct mark){.ts = latest, .kind = SAMPLE, .index = i});
    }
    for (size_t i = 0; ok && i < KINDS; i++) {
        struct gm_moment m = peak_moment(d, i);
        ok = add_mark(d, (struct mark){.ts = place(d, m.event, m.time_us), .kind = PEAK, .index = i});
    }
    for (size_t i = 0; ok && i < t->oom_count; i++)
        ok = add_mark(d, (struct mark){.ts = place(d, t->ooms[i].event, t->ooms[i].time_us), .kind = OOM, .index = i});
    return ok;
}

GM_ORDERING(by_time, struct mark, GM_UP(ts) || GM_UP(kind) || (a->kind == SLICE && GM_UP(track)) || GM_UP(index));

static void sort(struct marks *marks)
{
    GM_SORT(marks->v, marks->n, by_time);
}

/* All by time. Slices of one track must not overlap: what two share is left to the earlier one. */
static void arrange(struct marks *marks)
{
    uint64_t track_end[TRACKS] = {0};
    sort(marks);
    for (size_t i = 0; i < marks->n; i++) {
        struct mark *mark = &marks->v[i];
        if (mark->kind != SLICE)
            continue;
        if (mark->ts < track_end[mark->track])
            mark->ts = track_end[mark->track];
        if (mark->end < mark->ts)
            mark->end = mark->ts;
        track_end[mark->track] = mark->end;
    }
    sort(marks);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void add_number(struct gm_text *out, const char *key, uint64_t v)
{
    if (v != GM_REPORT_NONE)
        gm_text_printf(out, ",\"%s\":%" PRIu64, key, v);
}

/* {"ph":"X","pid":0,"ts":12 */
static void begin(struct gm_text *out, const struct device *d, char phase, uint64_t ts)
{
    gm_text_printf(out, ",\n{\"ph\":\"%c\",\"pid\":%" PRId64 ",\"ts\":%" PRIu64, phase, d->pid, ts);
}

/* A counter keeps its value until the next one, so only changes are written, and the ends of the curve. */
static void add_counters(struct gm_text *out, struct device *d, const struct mark *mark)
{
    const struct gm_sample *sample = &d->timeline->samples[mark->index];
    bool is_end = mark->index == 0 || mark->index + 1 == d->timeline->sample_count;
    for (size_t k = 0; k < KINDS; k++) {
        uint64_t value = level(&sample->levels, k);
        if (value == GM_REPORT_NONE || (!is_end && value == d->shown[k]))
            continue;
        d->shown[k] = value;
        begin(out, d, 'C', mark->ts);
        gm_text_printf(out, ",\"name\":\"%s\",\"args\":{\"bytes\":%" PRIu64 "}}", kinds[k].what, value);
    }
}

static void add_slice(struct gm_text *out, const struct device *d, const struct mark *mark)
{
    begin(out, d, 'X', mark->ts);
    gm_text_printf(out, ",\"dur\":%" PRIu64 ",\"tid\":%" PRIu32 ",\"cat\":\"%s\",\"name\":", mark->end - mark->ts,
                   mark->track, mark->is_step ? "step" : "annotation");
    const struct gm_steps *steps = &d->timeline->steps;
    static const char args[] = ",\"args\":{\"first event\":%" PRIu64 ",\"last event\":%" PRIu64;
    if (!mark->is_step) {
        const struct gm_band *band = &steps->bands[mark->index];
        gm_export_string(out, band->name);
        gm_text_printf(out, args, band->first_event, band->last_event);
    } else {
        const struct gm_step_row *row = &steps->rows[mark->index];
        gm_export_string(out, row->label);
        gm_text_printf(out, args, row->first_event, row->last_event);
        add_number(out, "peak requested bytes", row->peak.requested);
        add_number(out, "requested bytes at its end", row->end.requested);
        gm_text_printf(out, ",\"growth bytes\":%" PRId64, row->growth);
    }
    gm_text_add(out, "}}");
}

static void add_peak(struct gm_text *out, const struct device *d, const struct mark *mark)
{
    static const char *const names[KINDS] = {"peak requested", "peak allocated", "peak active", "peak reserved"};
    struct gm_moment m = peak_moment(d, mark->index);
    begin(out, d, 'i', mark->ts);
    gm_text_printf(out, ",\"s\":\"p\",\"tid\":1,\"name\":\"%s\",\"args\":{\"event\":", names[mark->index]);
    if (m.event == GM_REPORT_NONE)
        gm_text_add(out, "\"before the first\"");
    else
        gm_text_printf(out, "%" PRIu64, m.event);
    for (size_t k = 0; k < KINDS; k++)
        add_number(out, kinds[k].what, level(&m.levels, k));
    gm_text_add(out, "}}");
}

static void add_oom(struct gm_text *out, const struct device *d, const struct mark *mark)
{
    const struct gm_oom_row *oom = &d->timeline->ooms[mark->index];
    char asked[GM_SIZE_TEXT];
    begin(out, d, 'i', mark->ts);
    gm_text_printf(out, ",\"s\":\"p\",\"tid\":1,\"name\":\"out of memory: %s asked for\",\"args\":{\"event\":%" PRIu64,
                   oom->asked == GM_REPORT_NONE ? "?" : gm_size_format(asked, oom->asked), oom->event);
    add_number(out, "asked", oom->asked);
    add_number(out, "device free", oom->device_free);
    if (oom->site != NULL) {
        gm_text_add(out, ",\"site\":");
        gm_export_string(out, oom->site);
    }
    gm_text_add(out, "}}");
}

static void add_tracks(struct gm_text *out, const struct device *d)
{
    gm_text_printf(out,
                   "{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":1,\"name\":\"process_name\",\"args\":{\"name\":"
                   "\"device %" PRId64 "%s\"}}",
                   d->pid, d->id, d->is_by_time ? "" : " (1 us = 1 event)");
    for (uint32_t track = STEP_TRACK; track < TRACKS; track++) {
        if (!d->has_track[track])
            continue;
        gm_text_printf(out, ",\n{\"ph\":\"M\",\"pid\":%" PRId64 ",\"tid\":%" PRIu32 ",\"name\":\"thread_name\",",
                       d->pid, track);
        if (track == STEP_TRACK)
            gm_text_add(out, "\"args\":{\"name\":\"steps\"}}");
        else
            gm_text_printf(out, "\"args\":{\"name\":\"annotations, depth %" PRIu32 "\"}}", track - FIRST_BAND_TRACK);
    }
}

static void add_device(struct gm_text *out, struct device *d)
{
    add_tracks(out, d);
    arrange(&d->marks);
    for (size_t i = 0; i < d->marks.n; i++) {
        const struct mark *mark = &d->marks.v[i];
        if (mark->kind == SAMPLE)
            add_counters(out, d, mark);
        else if (mark->kind == SLICE)
            add_slice(out, d, mark);
        else if (mark->kind == PEAK)
            add_peak(out, d, mark);
        else
            add_oom(out, d, mark);
    }
}

/* All devices begin at the same time, if they have times. */
static bool find_axis(const struct gm_report *report, uint64_t *start_us)
{
    *start_us = GM_REPORT_NONE;
    for (size_t i = 0; i < report->device_count; i++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, i);
        if (timeline == NULL)
            continue;
        if (!timeline->curve.has_times)
            return false;
        if (timeline->curve.start_us < *start_us)
            *start_us = timeline->curve.start_us;
    }
    return true;
}

void gm_export_perfetto(struct gm_text *out, const struct gm_report *report)
{
    uint64_t start_us;
    bool is_by_time = find_axis(report, &start_us);
    gm_text_add(out, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"exporter\":\"gmanalyze " GM_VERSION "\",\"run\":");
    gm_export_string(out, report->run_name);
    gm_text_add(out, ",\"snapshot\":");
    gm_export_string(out, report->snapshot.path);
    if (is_by_time && start_us != GM_REPORT_NONE)
        gm_text_printf(out, ",\"ts 0 in microseconds since 1970\":\"%" PRIu64 "\"", start_us);
    gm_text_add(out, "},\n\"traceEvents\":[");
    const char *before = "\n";
    for (size_t i = 0; i < report->device_count; i++) {
        struct device d = {.timeline = gm_export_timeline(report, i), .is_by_time = is_by_time, .start_us = start_us};
        if (d.timeline == NULL)
            continue;
        d.peak = &report->peaks[i];
        d.id = report->devices[i].device;
        d.pid = d.id + 1; /* viewers keep process 0 for the idle one */
        if (!collect(&d))
            out->failed = true;
        gm_text_add(out, before);
        add_device(out, &d);
        before = ",\n";
        free(d.marks.v);
    }
    gm_text_add(out, "\n]}\n");
}
