/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/export/formats.h"

#include <inttypes.h>

static void add_row(struct gm_text *out, int64_t device, const struct gm_join_event *e)
{
    const char *const told[] = {e->operation, e->shapes, e->types, e->values, e->formula, e->module};
    const uint64_t numbers[] = {e->event, e->time_us, e->address, e->requested, e->block, e->freed};
    gm_text_printf(out, "%" PRId64, device);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        gm_text_add_csv_number(out, numbers[i]);
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        gm_text_add_char(out, ',');
        gm_text_add_csv(out, told[i] == NULL ? "" : told[i]);
    }
    gm_text_printf(out, ",%d,%" PRIu64 ",%" PRIu64 ",", e->is_backward, e->kernels, e->device_ns);
    gm_text_add_csv(out, e->kernel == NULL ? "" : e->kernel);
    gm_text_add_char(out, '\n');
}

void gm_export_joined(struct gm_text *out, const struct gm_report *report)
{
    gm_text_add(out,
                "device,event,time_us,address,requested_bytes,block_bytes,freed_event,operator,shapes,types,values,"
                "formula,module,is_backward,kernels,kernel_time_ns,kernel\n");
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_timeline *timeline = gm_export_timeline(report, d);
        for (size_t i = 0; timeline != NULL && timeline->join != NULL && i < timeline->join->event_count; i++)
            add_row(out, report->devices[d].device, &timeline->join->events[i]);
    }
}
