/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis.json, schema gmanalyze.analysis/1: see docs/json.md. The order of the keys is part of it.
 */
#include "analyze/words/json_parts.h"
#include "analyze/words/sections.h"
#include "analyze/words/words.h"

static void add_snapshot(struct gm_json *json, const struct gm_report *report)
{
    gm_json_open(json, "snapshot", '{');
    gm_json_string(json, "path", report->snapshot.path);
    gm_json_number(json, "bytes", report->snapshot.disk_bytes);
    gm_json_string(json, "format", report->snapshot.format);
    gm_json_string(json, "compression", report->snapshot.compression);
    gm_json_number(json, "segments", report->snapshot.segments);
    gm_json_number(json, "blocks", report->snapshot.blocks);
    gm_json_number(json, "events", report->snapshot.events);
    gm_json_number(json, "unique_stacks", report->snapshot.unique_stacks);
    gm_json_number(json, "unique_frames", report->snapshot.unique_frames);
    gm_json_number(json, "live_blocks_with_stack", report->snapshot.live_blocks_with_stack);
    gm_json_number(json, "live_bytes_with_stack", report->snapshot.live_bytes_with_stack);
    if (report->snapshot.is_salvaged) {
        gm_json_open(json, "salvaged", '{');
        gm_json_number(json, "offset", report->snapshot.salvaged_offset);
        gm_json_string(json, "reason", report->snapshot.salvaged_reason);
        gm_json_close(json, '}');
    } else {
        gm_json_null(json, "salvaged");
    }
    gm_json_close(json, '}');
}

static void add_block(struct gm_json *json, const struct gm_block_row *block, size_t rank)
{
    gm_json_open(json, NULL, '{');
    gm_json_number(json, "rank", rank);
    gm_json_number(json, "bytes", block->bytes);
    gm_json_number(json, "requested_bytes", block->requested);
    gm_json_number(json, "address", block->address);
    gm_json_signed(json, "device", block->device);
    gm_json_signed(json, "stream", block->stream);
    gm_json_string(json, "category", block->category);
    gm_json_string(json, "role", block->role);
    gm_json_frames(json, block->frames, block->frame_count);
    gm_json_number(json, "stream_number", block->stream_number);
    gm_json_string(json, "pool", block->pool);
    gm_json_string(json, "site", block->site);
    gm_json_close(json, '}');
}

static void add_findings(struct gm_json *json, const struct gm_report *report)
{
    gm_json_open(json, "findings", '[');
    for (size_t i = 0; i < report->diagnosis.finding_count; i++) {
        const struct gm_finding *f = &report->diagnosis.findings[i];
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "id", f->id);
        gm_json_string(json, "severity", gm_severity_name(f->severity));
        gm_json_string(json, "title", f->title);
        gm_json_string(json, "detail", f->detail);
        gm_json_number(json, "bytes", f->bytes);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_settings(struct gm_json *json, const struct gm_report *report)
{
    if (report->settings == NULL) {
        gm_json_null(json, "settings");
        return;
    }
    gm_json_open(json, "settings", '[');
    for (size_t i = 0; i < report->setting_count; i++) {
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "key", report->settings[i].key);
        gm_json_string(json, "value", report->settings[i].value);
        gm_json_bool(json, "default", report->settings[i].is_default);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_host(struct gm_json *json, const struct gm_report *report)
{
    if (report->host_reserved == GM_REPORT_NONE && report->host_active == GM_REPORT_NONE) {
        gm_json_null(json, "host_memory");
        return;
    }
    gm_json_open_flat(json, "host_memory", '{');
    gm_json_number(json, "reserved_bytes", report->host_reserved);
    gm_json_number(json, "active_bytes", report->host_active);
    gm_json_close(json, '}');
}

void gm_words_json(struct gm_text *out, const struct gm_report *report)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_JSON, out);
    struct gm_json *json = &doc.json;
    gm_json_string(json, "schema", "gmanalyze.analysis/1");
    add_snapshot(json, report);
    gm_json_open(json, "totals", '{');
    gm_json_totals(json, &report->totals);
    gm_json_close(json, '}');
    gm_json_devices(json, report);
    gm_json_slices(json, "categories", report->categories, report->category_count, report->totals.allocated);
    if (report->roles == NULL) /* not inferred */
        gm_json_null(json, "roles");
    else
        gm_json_slices(json, "roles", report->roles, report->role_count, report->totals.allocated);
    gm_json_open(json, "top_blocks", '[');
    for (size_t i = 0; i < report->top_block_count; i++)
        add_block(json, &report->top_blocks[i], i + 1);
    gm_json_close(json, ']');
    gm_json_fragmentation(json, &report->fragmentation, true);
    gm_json_timeline(&doc, report);
    add_findings(json, report);

    /* What follows is more than the schema asks for. */
    gm_json_diagnosis(&doc, report);
    gm_section_sites(&doc, report);
    gm_json_number(json, "call_sites_total", report->site_total);
    gm_json_ledger(json, &report->ledger);
    gm_section_fragmentation(&doc, report);
    add_settings(json, report);
    gm_json_tried(json, report);
    add_host(json, report);
    gm_json_open(json, "warnings", '[');
    for (size_t i = 0; i < report->warning_count; i++)
        gm_json_string(json, NULL, report->warnings[i]);
    gm_json_close(json, ']');
    gm_json_string(json, "name", report->run_name);
    gm_json_string(json, "created", report->timestamp);
    gm_doc_end(&doc);
}
