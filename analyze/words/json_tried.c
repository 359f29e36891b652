/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis.json: "settings_advice".
 */
#include "analyze/words/json_parts.h"
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
        gm_json_number(json, "replayed_peak_reserved_bytes", device->before);
        gm_json_number(json, "start_bytes_at_peak", device->start_at_peak);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_tried(struct gm_json *json, const struct gm_settings_advice *advice)
{
    gm_json_open(json, "tried", '[');
    for (size_t i = 0; i < advice->tried_count; i++) {
        const struct gm_advice_trial *trial = &advice->tried[i];
        gm_json_open_flat(json, NULL, '{');
        gm_json_string(json, "settings", trial->settings);
        gm_json_number(json, "peak_reserved_bytes", trial->peak);
        gm_json_number(json, "saved_bytes", trial->saved);
        gm_json_open_flat(json, "devices", '[');
        for (size_t d = 0; d < advice->device_count; d++)
            gm_json_number(json, NULL, trial->peaks[d]);
        gm_json_close(json, ']');
        gm_json_close(json, '}');
    }
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
    gm_json_number(json, "before_bytes", advice->before);
    gm_json_number(json, "after_bytes", is_given ? advice->tried[advice->best].peak : GM_REPORT_NONE);
    gm_json_number(json, "saved_bytes", is_given ? advice->tried[advice->best].saved : GM_REPORT_NONE);
    gm_json_number(json, "threshold_bytes", advice->threshold);
    gm_json_string(json, "recorded_settings", advice->recorded);
    add_devices(json, advice);
    add_tried(json, advice);
    gm_json_close(json, '}');
}
