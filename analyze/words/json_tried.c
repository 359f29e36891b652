/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis.json: "settings_advice".
 */
#include "analyze/words/sections.h"
#include "analyze/words/tried.h"

static void add_devices(struct gm_json *json, const struct gm_settings_advice *advice)
{
    gm_json_open(json, "devices", '[');
    for (size_t d = 0; d < advice->device_count; d++) {
        const struct gm_advice_device *device = &advice->devices[d];
        gm_json_open_flat(json, NULL, '{');
        gm_json_signed(json, "device", device->device);
        gm_json_number(json, "events", device->events);
        gm_json_number(json, "allocs", device->allocs);
        gm_json_number(json, "exact_addresses", device->exact);
        gm_json_number(json, "peak_requested_bytes", device->peak_requested);
        gm_json_number(json, "recorded_peak_reserved_bytes", device->recorded);
        gm_json_number(json, "replayed_peak_reserved_bytes",
                       advice->baseline != NULL ? advice->baseline->roomy.peaks[d] : GM_REPORT_NONE);
        gm_json_number(json, "start_bytes_at_peak", device->start_at_peak);
        gm_json_bool(json, "ended_out_of_memory", device->was_refused);
        gm_json_number(json, "limit_bytes", device->limit);
        if (device->limit != GM_REPORT_NONE) {
            gm_json_bool(json, "limit_is_exact", device->is_limit_exact);
            gm_json_number(json, "limit_event", device->limit_event);
        }
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_replay(struct gm_json *json, const struct gm_settings_advice *advice, const struct gm_tried_row *row)
{
    gm_json_bool(json, "runs", row->replay->runs);
    gm_json_number(json, "peak_reserved_bytes", row->replay->runs ? row->replay->peak : GM_REPORT_NONE);
    if (row->has_change)
        gm_json_signed(json, "change_bytes", row->change);
    else
        gm_json_null(json, "change_bytes");
    if (row->replay->high > 0) {
        gm_json_open_flat(json, "peak_reserved_range_bytes", '[');
        gm_json_number(json, NULL, row->replay->low);
        gm_json_number(json, NULL, row->replay->high);
        gm_json_close(json, ']');
    } else {
        gm_json_null(json, "peak_reserved_range_bytes");
    }
    gm_json_number(json, "num_alloc_retries", row->replay->retries);
    gm_json_open_flat(json, "devices", '[');
    for (size_t d = 0; d < advice->device_count; d++)
        gm_json_number(json, NULL, row->replay->peaks[d]);
    gm_json_close(json, ']');
}

static void add_trial(struct gm_json *json, const char *key, const struct gm_settings_advice *advice, size_t i)
{
    const struct gm_tried_row roomy = gm_tried_row(advice, i, false);
    gm_json_open_flat(json, key, '{');
    gm_json_string(json, "settings", roomy.settings);
    gm_json_number(json, "saved_bytes", i == 0 ? GM_REPORT_NONE : advice->tried[i - 1].saved);
    add_replay(json, advice, &roomy);
    if (advice->is_limited) {
        const struct gm_tried_row limited = gm_tried_row(advice, i, true);
        gm_json_open_flat(json, "limited", '{');
        add_replay(json, advice, &limited);
        gm_json_close(json, '}');
    } else {
        gm_json_null(json, "limited");
    }
    gm_json_close(json, '}');
}

static void add_tried(struct gm_json *json, const struct gm_settings_advice *advice)
{
    if (advice->baseline == NULL)
        gm_json_null(json, "baseline");
    else
        add_trial(json, "baseline", advice, 0);
    gm_json_open(json, "tried", '[');
    for (size_t i = 1; i <= advice->tried_count; i++)
        add_trial(json, NULL, advice, i);
    gm_json_close(json, ']');
}

void gm_json_tried(struct gm_json *json, const struct gm_report *report)
{
    const struct gm_settings_advice *advice = report->advice;
    if (advice == NULL) {
        gm_json_null(json, "settings_advice");
        return;
    }
    const bool is_given = advice->verdict == GM_ADVICE_GIVEN;
    gm_json_open(json, "settings_advice", '{');
    gm_json_string(json, "verdict", gm_tried_verdict_name(advice->verdict));
    gm_json_string(json, "reason", advice->reason);
    gm_json_string(json, "command", advice->command);
    gm_json_string(json, "settings", is_given ? advice->tried[advice->best].settings : NULL);
    gm_json_number(json, "before_bytes", advice->baseline != NULL ? advice->baseline->roomy.peak : GM_REPORT_NONE);
    gm_json_number(json, "after_bytes", is_given ? advice->tried[advice->best].roomy.peak : GM_REPORT_NONE);
    gm_json_number(json, "saved_bytes", is_given ? advice->tried[advice->best].saved : GM_REPORT_NONE);
    gm_json_number(json, "threshold_bytes", advice->threshold);
    gm_json_bool(json, "is_by_chance", advice->is_by_chance);
    gm_json_string(json, "recorded_settings", advice->recorded);
    add_devices(json, advice);
    add_tried(json, advice);
    gm_json_close(json, '}');
}
