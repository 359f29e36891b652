/* SPDX-License-Identifier: Apache-2.0
 *
 * What only analysis.json says, or says in an order of its own: what was read, the allocator's state of each device,
 * and the frame of "timeline". Without a reconstruction allocated and active bytes are null.
 */
#include "analyze/document/sections.h"

#define KEY(unit, key, field) GM_KEY(unit, key, ROW, field)

/* ---- what was read ----------------------------------------------------------------------------------------------- */

#define ROW struct gm_report
static void add_salvaged(const struct gm_cell_of *c)
{
    static const struct gm_column columns[] = {
        KEY(GM_COUNT, "offset", snapshot.salvaged_offset),
        KEY(GM_TEXT, "reason", snapshot.salvaged_reason),
    };
    const struct gm_report *report = c->row;
    GM_OBJECT(c->doc, "salvaged", columns, report->snapshot.is_salvaged ? report : NULL, NULL);
}

void gm_section_snapshot(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        KEY(GM_PATH, "path", snapshot.path),
        KEY(GM_BYTES, "bytes", snapshot.disk_bytes),
        KEY(GM_TEXT, "format", snapshot.format),
        KEY(GM_TEXT, "compression", snapshot.compression),
        KEY(GM_COUNT, "segments", snapshot.segments),
        KEY(GM_COUNT, "blocks", snapshot.blocks),
        KEY(GM_COUNT, "events", snapshot.events),
        KEY(GM_COUNT, "unique_stacks", snapshot.unique_stacks),
        KEY(GM_COUNT, "unique_frames", snapshot.unique_frames),
        KEY(GM_COUNT, "live_blocks_with_stack", snapshot.live_blocks_with_stack),
        KEY(GM_BYTES, "live_bytes_with_stack", snapshot.live_bytes_with_stack),
        GM_NESTED(NULL, add_salvaged),
    };
    GM_OBJECT(d, "snapshot", columns, report, NULL);
    GM_OBJECT(d, "totals", gm_totals_columns, report->lacks_end ? NULL : &report->totals, NULL);
}

void gm_section_host(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        KEY(GM_BYTES, "reserved_bytes", host_reserved),
        KEY(GM_BYTES, "active_bytes", host_active),
    };
    const bool is_known = report->host_reserved != GM_REPORT_NONE || report->host_active != GM_REPORT_NONE;
    GM_OBJECT(d, "host_memory", columns, is_known ? report : NULL, NULL);
}
#undef ROW

GM_CELL(s, severity_of, struct gm_finding, row, gm_severity_name(row->severity));

void gm_section_findings(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "id", struct gm_finding, id),        GM_GET(GM_TEXT, GM_JSON, "severity", NULL, severity_of),
        GM_KEY(GM_TEXT, "title", struct gm_finding, title),  GM_KEY(GM_TEXT, "detail", struct gm_finding, detail),
        GM_KEY(GM_BYTES, "bytes", struct gm_finding, bytes),
    };
    GM_TABLE(d, columns, report->diagnosis.findings, report->diagnosis.finding_count, .key = "findings");
}

/* What fell under --ignore, and the rules. */
void gm_section_ignored(struct gm_doc *d, const struct gm_report *report)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_TEXT, "id", struct gm_finding, id),
        GM_GET(GM_TEXT, GM_JSON, "severity", NULL, severity_of),
        GM_FIELD(GM_TEXT, GM_ALL, "title", "Finding", struct gm_finding, title),
        GM_KEY(GM_TEXT, "detail", struct gm_finding, detail),
        GM_FIELD(GM_BYTES, GM_ALL | GM_BLANK, "bytes", "Bytes", struct gm_finding, bytes),
        GM_FIELD(GM_SITE, GM_ALL | GM_UNDER, "site", "Site", struct gm_finding, site),
        GM_FIELD(GM_NAME, GM_ALL, "rule", "Rule", struct gm_finding, ignored_by),
    };
    static const struct gm_column rules[] = {
        GM_FIELD(GM_NAME, GM_ALL, "rule", "Rule", struct gm_ignore_rule, text),
        GM_FIELD(GM_PATH, GM_ALL, "place", "Written in", struct gm_ignore_rule, place),
        GM_FIELD(GM_COUNT, GM_ALL, "findings", "Findings", struct gm_ignore_rule, findings),
    };
    const struct gm_diagnosis *diagnosis = &report->diagnosis;
    char words[GM_IGNORED_TEXT];
    if (diagnosis->ignore_rule_count == 0 && !gm_doc_is(d, GM_JSON))
        return;
    gm_doc_fold(d, NULL, "Ignored");
    gm_doc_tell(d, "%s.", gm_ignored_format(words, diagnosis));
    if (diagnosis->ignored_count > 0 || gm_doc_is(d, GM_JSON))
        GM_TABLE(d, columns, diagnosis->ignored, diagnosis->ignored_count, .key = "ignored");
    GM_TABLE(d, rules, diagnosis->ignore_rules, diagnosis->ignore_rule_count, .key = "ignore_rules");
    gm_doc_close(d);
}

/* ---- the allocator's state --------------------------------------------------------------------------------------- */

static void add_stack(const struct gm_cell_of *c)
{
    const struct gm_pin_row *pin = c->row;
    gm_json_frames(c->doc, pin->block.frames, pin->block.frame_count);
}

#define ROW struct gm_pin_row
static const struct gm_column pin_columns[] = {
    KEY(GM_BYTES, "pinned_bytes", pinned_bytes),
    KEY(GM_COUNT, "sharers", sharers),
    KEY(GM_COUNT, "segment_address", segment_address),
    KEY(GM_BYTES, "segment_bytes", segment_bytes),
    KEY(GM_BYTES, "bytes", block.bytes),
    KEY(GM_BYTES, "requested_bytes", block.requested),
    KEY(GM_COUNT, "address", block.address),
    KEY(GM_HANDLE, "device", block.device),
    KEY(GM_HANDLE, "stream", block.stream),
    KEY(GM_TEXT, "pool", block.pool),
    KEY(GM_TEXT, "category", block.category),
    KEY(GM_SITE, "site", block.site),
    GM_NESTED("frames", add_stack),
};
#undef ROW

static const struct gm_column amount_columns[] = {
    GM_KEY(GM_COUNT, "blocks", struct gm_amount, blocks),
    GM_KEY(GM_BYTES, "bytes", struct gm_amount, bytes),
};

void gm_json_fragmentation(struct gm_doc *d, const struct gm_fragmentation *f, bool with_stacks)
{
#define ROW struct gm_fragmentation
    static const struct gm_column columns[] = {
        KEY(GM_COUNT, "inactive_blocks", inactive_blocks),
        KEY(GM_BYTES, "largest_inactive_bytes", largest_inactive),
        GM_INSIDE("unused_over_100MiB", amount_columns, struct gm_fragmentation, unused_over_100mib),
        KEY(GM_BYTES, "releasable_bytes", releasable),
        KEY(GM_BYTES, "empty_cache_bytes", empty_cache),
        KEY(GM_BYTES, "stranded_bytes", stranded),
    };
#undef ROW
    struct gm_table pins = {.key = "pins", .in = GM_JSON, GM_COLUMNS(pin_columns), GM_ROWS(f->pins, f->pin_count)};
    pins.column_count -= with_stacks ? 0 : 1;
    gm_doc_open(d, "fragmentation", NULL);
    GM_FIELDS(d, columns, f, NULL);
    gm_doc_table(d, &pins);
    gm_doc_close(d);
}

static void add_pool_id(const struct gm_cell_of *c)
{
    const struct gm_pool_row *pool = c->row;
    const uint64_t id[2] = {pool->id_first, pool->id_second};
    if (pool->id_first == GM_REPORT_NONE)
        gm_json_null(&c->doc->json, "id");
    else
        GM_LIST(c->doc, "id", GM_COUNT, id, 2);
}

static void add_device(const struct gm_cell_of *c)
{
    static const struct gm_column streams[] = {
        GM_KEY(GM_HANDLE, "stream", struct gm_stream_row, stream),
        GM_KEY(GM_COUNT, "number", struct gm_stream_row, number),
        GM_INSIDE(NULL, gm_totals_columns, struct gm_stream_row, totals),
    };
    static const struct gm_column pools[] = {
        GM_KEY(GM_TEXT, "pool", struct gm_pool_row, name),
        GM_KEY(GM_TEXT, "kind", struct gm_pool_row, kind),
        GM_NESTED("id", add_pool_id),
        GM_KEY(GM_BOOL, "private", struct gm_pool_row, is_private),
        GM_KEY(GM_BOOL, "expandable", struct gm_pool_row, has_expandable),
        GM_INSIDE(NULL, gm_totals_columns, struct gm_pool_row, totals),
    };
    const struct gm_device_report *device = c->row;
    gm_json_signed(&c->doc->json, "device", device->device);
    if (((const struct gm_report *)c->of)->lacks_end)
        return;
    GM_FIELDS(c->doc, gm_totals_columns, &device->totals, NULL);
    GM_TABLE(c->doc, streams, device->streams, device->stream_count, .key = "streams");
    GM_TABLE(c->doc, pools, device->pools, device->pool_count, .key = "pools");
    gm_json_slices(c->doc, "categories", device->categories, device->category_count, device->totals.allocated);
    gm_json_fragmentation(c->doc, &device->fragmentation, false);
    gm_ledger_tell(c->doc, &device->ledger);
}

void gm_json_devices(struct gm_doc *d, const struct gm_report *report)
{
    gm_doc_nested(d, "devices", add_device, GM_NESTED_ROWS(report->devices, report->device_count), report);
}

/* ---- the trace --------------------------------------------------------------------------------------------------- */

/* The keys of a moment, and what people read of the place that it lies in. */
struct told_moment {
    uint64_t event, time_us, since;
    struct gm_levels levels;
    uint64_t cached;
    const char *step, *phase;
};

#define ROW struct told_moment
static const struct gm_column moment_columns[] = {
    KEY(GM_EVENT, "event", event),
    KEY(GM_TIME, "time_us", time_us),
    KEY(GM_DURATION, "since_first_us", since),
    GM_INSIDE(NULL, gm_levels_columns, struct told_moment, levels),
    KEY(GM_BYTES, "cached_bytes", cached),
    KEY(GM_TEXT, "step", step),
    KEY(GM_TEXT, "phase", phase),
};
#undef ROW

static struct told_moment moment_of(const struct gm_view *v, const struct gm_moment *moment)
{
    const struct gm_levels l = gm_view_levels(v, moment->levels);
    const struct gm_step_row *step = gm_view_step(v, moment->event);
    const enum gm_phase phase = gm_view_phase(v, moment->event);
    return (struct told_moment){moment->event,
                                moment->time_us,
                                gm_less(moment->time_us, v->timeline->reconciliation.first_time_us),
                                l,
                                gm_less(l.reserved, l.active),
                                step == NULL ? NULL : step->label,
                                phase == GM_PHASE_OTHER ? NULL : gm_phase_name(phase)};
}

void gm_json_moment(struct gm_doc *d, const struct gm_view *v, const struct gm_moment *moment)
{
    const struct told_moment told = moment_of(v, moment);
    gm_doc_fields(d, moment_columns, sizeof moment_columns / sizeof *moment_columns - 2, &told, NULL);
}

static void add_peaks(struct gm_doc *d, const struct gm_view *v)
{
    const struct gm_device_timeline *t = v->timeline;
    const struct gm_moment peak = gm_view_peak(v);
    const struct {
        const char *key;
        const struct gm_moment *moment;
        bool is_known;
    } peaks[] = {{"requested", &peak, true},
                 {"allocated", &t->peak_allocated, v->is_reconstructed},
                 {"active", &t->peak_active, v->is_reconstructed},
                 {"reserved", &t->peak_reserved, v->has_reserved && t->peak_reserved.levels.reserved > 0}};
    gm_doc_open(d, "peaks", NULL);
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++) {
        const struct told_moment told = moment_of(v, peaks[i].moment);
        GM_OBJECT(d, peaks[i].key, moment_columns, peaks[i].is_known ? &told : NULL, NULL);
    }
    gm_doc_close(d);
}

static void add_parts(struct gm_doc *d, const struct gm_view *v)
{
#define ROW struct gm_part
    static const struct gm_column streams[] = {
        KEY(GM_HANDLE, "stream", stream),
        KEY(GM_TEXT, "name", name),
        GM_INSIDE("peak", gm_levels_columns, struct gm_part, peak),
        GM_INSIDE("at_end", gm_levels_columns, struct gm_part, at_end),
    };
    static const struct gm_column pools[] = {
        KEY(GM_TEXT, "pool", name),
        GM_INSIDE("peak", gm_levels_columns, struct gm_part, peak),
        GM_INSIDE("at_end", gm_levels_columns, struct gm_part, at_end),
    };
#undef ROW
    const struct gm_device_timeline *t = v->timeline;
    const bool is_known = v->is_reconstructed;
    GM_TABLE(d, streams, t->streams, is_known ? t->stream_count : 0, .key = "streams");
    GM_TABLE(d, pools, t->pools, is_known ? t->pool_count : 0, .key = "pools");
}

/* The contract's keys about the peak, which are null without a view. */
static void add_contract(struct gm_doc *d, const struct gm_device_report *device, const struct gm_view *v)
{
    struct contract {
        uint64_t requested, allocated, active, reserved, event, time_us;
    };
#define ROW struct contract
    static const struct gm_column columns[] = {
        KEY(GM_BYTES, "peak_requested_bytes", requested),
        KEY(GM_BYTES, "peak_allocated_bytes", allocated),
        KEY(GM_BYTES, "peak_active_bytes", active),
        KEY(GM_BYTES, "peak_reserved_bytes", reserved),
        KEY(GM_EVENT, "peak_event", event),
        KEY(GM_TIME, "peak_time_us", time_us),
    };
#undef ROW
    const uint64_t none = GM_REPORT_NONE;
    struct contract row = {none, none, none, device->trace.peak_reserved, none, none};
    if (v != NULL)
        row = (struct contract){v->peak->requested,
                                v->is_reconstructed ? v->timeline->peak_allocated.levels.allocated : none,
                                v->is_reconstructed ? v->timeline->peak_active.levels.active : none,
                                gm_view_peak_reserved(v),
                                v->peak->event,
                                v->peak->time_us};
    GM_FIELDS(d, columns, &row, NULL);
    if (v == NULL) {
        gm_json_null(&d->json, "categories_at_peak");
        gm_json_null(&d->json, "roles_at_peak");
        return;
    }
    gm_json_slices(d, "categories_at_peak", v->peak->categories, v->peak->category_count, v->peak->requested);
    gm_json_inferred(d, "roles_at_peak", v->timeline->peak.roles, v->timeline->peak.role_count, v->peak->requested);
}

static void add_view(struct gm_doc *d, const struct gm_view *v)
{
    const uint64_t times = v->timeline->peak.times;
    gm_json_string(&d->json, "filter", v->timeline->filter);
    add_peaks(d, v);
    gm_section_reconciliation(d, v);
    add_parts(d, v);
    gm_json_number(&d->json, "peak_times", times > 0 ? times : GM_REPORT_NONE);
    gm_section_roles(d, v);
#define TELL(name, title, is_worth, is_folded, is_of_all) gm_section_##name(d, v);
    GM_VIEW_SECTIONS(TELL)
#undef TELL
}

GM_CELL(b, overflowed, struct gm_trace_counts, row, row->overflowed > 0);

static void add_traced(struct gm_doc *d, const struct gm_device_report *device, const struct gm_view *v)
{
    static const struct gm_column others[] = {
        GM_KEY(GM_COUNT, "other_events", struct gm_trace_counts, others),
        GM_KEY(GM_COUNT, "max_entries", struct gm_trace_counts, max_entries),
        GM_KEY(GM_DURATION, "span_us", struct gm_trace_counts, span_us),
        GM_GET(GM_BOOL, GM_JSON, "overflowed", NULL, overflowed),
    };
    const bool is_known = device->trace.overflowed >= 0;
    gm_json_open(&d->json, NULL, '{');
    gm_json_signed(&d->json, "device", device->device);
    gm_trace_counts_tell(d, &device->trace);
    add_contract(d, device, v);
    gm_doc_fields(d, others, is_known ? 4 : 3, &device->trace, NULL);
    if (!is_known)
        gm_json_null(&d->json, "overflowed");
    if (v != NULL)
        add_view(d, v);
    gm_json_close(&d->json, '}');
}

void gm_json_timeline(struct gm_doc *d, const struct gm_report *report)
{
    bool any = false;
    for (size_t i = 0; i < report->device_count; i++)
        any = any || report->devices[i].trace.events > 0;
    if (!any)
        return;
    gm_doc_open(d, "timeline", NULL);
    gm_json_open(&d->json, "devices", '[');
    for (size_t i = 0; i < report->device_count; i++) {
        struct gm_view v;
        const bool has_view = gm_view_of(&v, report, i);
        if (report->devices[i].trace.events > 0)
            add_traced(d, &report->devices[i], has_view ? &v : NULL);
    }
    gm_json_close(&d->json, ']');
    gm_doc_close(d);
}
