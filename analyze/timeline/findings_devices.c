/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about devices as wholes: whether what they cache at the end was used by a peak, and whether one needs much
 * more than the others.
 */
#include "analyze/timeline/finding_list.h"

#include "analyze/base/size.h"
#include "analyze/timeline/trace_pass.h"

#include <inttypes.h>

/* Of what device d has reserved at the end, what was never active at one moment of the trace. */
static uint64_t never_used(const struct gm_finding_list *list, size_t d)
{
    const struct gm_device_report *device = &list->report->devices[d];
    const struct gm_device_timeline *out = list->passes[d].out;
    uint64_t used = device->totals.active;
    if (device->trace.events > 0 && out->books.is_reconstructed && out->peak_active.levels.active != GM_REPORT_NONE &&
        out->peak_active.levels.active > used)
        used = out->peak_active.levels.active;
    return device->totals.reserved > used ? device->totals.reserved - used : 0;
}

/* A cache that the run's own peak filled is no waste: the next peak is served from it. */
static void excuse_cache(struct gm_finding_list *list)
{
    static const char *const ids[] = {"large-cache", "large-unused-blocks", "allocator-efficiency"};
    const struct gm_totals *totals = &list->report->totals;
    uint64_t unused = 0;
    for (size_t d = 0; d < list->report->device_count; d++)
        unused += never_used(list, d);
    if (unused >= totals->reserved / 10) /* as the finding of a large cache itself */
        return;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct gm_finding *row = gm_finding_known(list, ids[i]);
        struct gm_text t = {0};
        if (row == NULL || row->severity != GM_WARNING || row->bytes == GM_REPORT_NONE || unused > row->bytes / 2)
            continue;
        gm_text_printf(&t, "%s The trace shows what it served: at the peak%s all", row->detail,
                       list->report->device_count > 1 ? "s of the devices" : "");
        if (unused > 0) {
            gm_text_add(&t, " but ");
            gm_finding_put_size(&t, unused);
        }
        gm_text_add(&t, " of the reserved memory was in use; the next such peak needs it again.");
        const char *detail = t.failed ? NULL : gm_arena_copy(&list->report->arena, t.data, t.length);
        gm_text_free(&t);
        list->failed |= detail == NULL;
        row->severity = GM_INFO;
        row->detail = detail != NULL ? detail : row->detail;
    }
}

/* Devices that work (256 MiB at their peak): one that peaks far above the mean runs out first. */
static void find_uneven(struct gm_finding_list *list)
{
    size_t most = 0, least = 0, n = 0;
    double sum = 0;
    for (size_t d = 0; d < list->report->device_count; d++) {
        const uint64_t peak = list->passes[d].peak->requested;
        if (list->report->devices[d].trace.allocs == 0 || peak < 256 * GM_MIB)
            continue;
        most = n == 0 || peak > list->passes[most].peak->requested ? d : most;
        least = n == 0 || peak < list->passes[least].peak->requested ? d : least;
        sum += (double)peak;
        n++;
    }
    if (n < 2)
        return;
    const uint64_t peak = list->passes[most].peak->requested, mean = (uint64_t)(sum / (double)n);
    struct gm_text t = {0};
    if (peak < mean + GM_GIB || (double)peak < 1.5 * (double)mean)
        return;
    gm_text_add(&t, "The peak of requested bytes was ");
    gm_finding_put_size(&t, peak);
    gm_text_printf(&t, " on device %" PRId64 " and ", list->report->devices[most].device);
    gm_finding_put_size(&t, list->passes[least].peak->requested);
    gm_text_printf(&t, " on device %" PRId64 "; the mean of %zu devices is ", list->report->devices[least].device, n);
    gm_finding_put_size(&t, mean);
    gm_text_printf(&t, ". Device %" PRId64 " %s while others hold less", list->report->devices[most].device,
                   list->report->devices[most].trace.ooms > 0 ? "ran out of memory" : "runs out of memory first");
    gm_text_add(&t, ": split the batch, or the layers, by the memory that they take.");
    gm_finding_add(list, "uneven-devices", list->report->devices[most].trace.ooms > 0 ? GM_WARNING : GM_INFO,
                   peak - mean, "One device needs much more memory than the others", &t);
}

void gm_findings_of_devices(struct gm_finding_list *list)
{
    find_uneven(list);
    excuse_cache(list);
}
