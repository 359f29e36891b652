/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/size.h"
#include "replay/trials/advice_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_DEVICES = 8 };

/* "100 %" only if it is; else cut, never rounded up. */
static void put_fidelity(struct gm_text *out, uint64_t exact, uint64_t allocs)
{
    uint64_t hundredths = (uint64_t)((double)exact / (double)(allocs == 0 ? 1 : allocs) * 10000);
    if (exact >= allocs)
        gm_text_add(out, "100 %");
    else
        gm_text_printf(out, "%" PRIu64 ".%02" PRIu64 " %%", hundredths / 100, hundredths % 100);
}

/* As it was recorded, with too little memory. */
static void put_limited(struct gm_text *out, const struct gm_advice_replay *before, const struct gm_advice_replay *now)
{
    if (!before->runs)
        gm_text_add(out,
                    "and with the memory that the recording had it runs, where the recorded settings run out of it, ");
    else
        gm_text_printf(out, "and with the memory that the recording had %" PRIu64 " retries instead of %" PRIu64 ", ",
                       now->retries, before->retries);
}

static void put_detail(struct gm_text *out, const struct gm_settings_advice *advice)
{
    const struct gm_advice_trial *best = &advice->tried[advice->best];
    uint64_t exact = 0, allocs = 0;
    char change[GM_SIZE_CHANGE_TEXT];
    if (best->settings[0] != '\0')
        gm_text_printf(out, GM_CONF_VARIABLE "=%s", best->settings);
    else
        gm_text_add(out, "PyTorch's default settings");
    if (advice->recorded[0] != '\0')
        gm_text_printf(out, " instead of %s", advice->recorded);
    gm_text_add(out, advice->is_limited ? " - replayed with unlimited memory: " : " - replayed: ");
    for (size_t d = 0; d < advice->device_count && d < SHOWN_DEVICES; d++) {
        const struct gm_advice_device *device = &advice->devices[d];
        const uint64_t before = advice->baseline->roomy.peaks[d];
        gm_text_printf(out, "%s reserved", gm_size_format_change(change, before, best->roomy.peaks[d]));
        if (device->recorded != before && !advice->is_limited)
            gm_text_printf(out, " (recorded: %s)", gm_size_format(change, device->recorded));
        if (advice->device_count > 1)
            gm_text_printf(out, " on device %" PRId64, device->device);
        gm_text_add(out, ", ");
    }
    if (advice->is_limited)
        put_limited(out, &advice->baseline->limited, &best->limited);
    for (size_t d = 0; d < advice->device_count; d++) {
        exact += advice->devices[d].exact;
        allocs += advice->devices[d].allocs;
    }
    gm_text_add(out, "address fidelity ");
    put_fidelity(out, exact, allocs);
    gm_text_add(out, ". That is: a model of the allocator, which chose ");
    gm_text_add_count(out, exact);
    gm_text_add(out, " of the ");
    gm_text_add_count(out, allocs);
    gm_text_add(out, " recorded addresses, served the same requests in the same order under both settings; what was "
                     "live before the trace was requested first.");
    if (best->settings[0] != '\0')
        gm_text_add(out, " (" GM_CONF_OLD_VARIABLE ".)");
}

bool gm_advice_finding_add(struct gm_report *report)
{
    const struct gm_settings_advice *advice = report->advice;
    const struct gm_advice_trial *best = &advice->tried[advice->best];
    struct gm_finding *rows = gm_arena_calloc(&report->arena, report->finding_count + 1, sizeof *rows);
    struct gm_text detail = {0};
    put_detail(&detail, advice);
    const char *copy = detail.failed ? NULL : gm_arena_copy(&report->arena, detail.data, detail.length);
    gm_text_free(&detail);
    if (rows == NULL || copy == NULL)
        return false;
    size_t n = 0;
    for (size_t i = 0; i < report->finding_count; i++) /* that one is said only where nothing else is */
        if (strcmp(report->findings[i].id, "nothing-to-reclaim") != 0)
            rows[n++] = report->findings[i];
    bool is_much = best->saved >= GM_GIB && best->saved >= advice->baseline->roomy.peak / 20;
    rows[n++] = (struct gm_finding){"replayed-settings", is_much ? GM_WARNING : GM_INFO,
                                    "Another allocator setting lowers peak reserved memory", copy, best->saved};
    qsort(rows, n, sizeof *rows, gm_finding_order);
    report->findings = rows;
    report->finding_count = n;
    return true;
}
