/* SPDX-License-Identifier: Apache-2.0
 *
 * --summary: how well the memory is used, when most of it is reserved, and over all devices.
 */
#include "analyze/report/numbers.h"
#include "replay/cli/judged.h"

#include <inttypes.h>

enum { INDENT = 29 };

/* "event 12, member 1, step 3" */
static void add_moment(struct gm_doc *doc, const struct gm_replay_device *device)
{
    const struct gm_whatif_peak *peak = &device->whatif.peak;
    uint64_t member, step;
    if (peak->event == GM_NEVER)
        gm_text_add(doc->out, "before the first event");
    else
        gm_text_printf(doc->out, "event %s", gm_doc_count(doc, peak->event));
    if (gm_replay_member_of(device, peak->part, &member, &step))
        gm_text_printf(doc->out, ", member %" PRIu64 ", step %" PRIu64, member, step);
    else if (peak->part != SIZE_MAX && peak->part > 0 && peak->part + 1 < device->part_count)
        gm_text_printf(doc->out, ", step %" PRIu64, device->part_number[peak->part]);
}

void gm_replay_peak_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_whatif_peak *peak = &device->whatif.peak;
    uint64_t capacity = gm_replay_capacity(run),
             unused = peak->reserved > peak->allocated ? peak->reserved - peak->allocated : 0;
    char a[GM_NUMBER_TEXT];
    gm_text_printf(doc->out, "  at the peak of reserved memory, %s (", gm_bytes_format(a, peak->reserved));
    add_moment(doc, device);
    gm_text_add(doc->out, "):\n");
    if (capacity != UINT64_MAX)
        gm_text_printf(doc->out, "    of the device's memory   %s %%\n",
                       gm_percent_format(a, peak->reserved, capacity, 1));
    gm_text_printf(doc->out, "    utilisation              %s %%, %s allocated\n",
                   gm_percent_format(a, peak->allocated, peak->reserved, 1), gm_doc_bytes(doc, peak->allocated));
    gm_text_printf(doc->out, "    fragmentation            %s %%, %s reserved and not allocated\n",
                   gm_percent_format(a, unused, peak->reserved, 1), gm_doc_bytes(doc, unused));
    if (peak->largest_free != GM_ABSENT)
        gm_text_printf(doc->out, "    largest free block       %s\n", gm_bytes_format(a, peak->largest_free));
    gm_text_printf(doc->out, "  at the peak of requested memory, %s:\n",
                   gm_bytes_format(a, (uint64_t)device->whatif.stats.requested_bytes[GM_STAT_ALL].peak));
    gm_text_add(doc->out, "    by role                 ");
    gm_replay_holder_words(doc, run, index, false, INDENT);
    gm_text_add(doc->out, "    by category             ");
    gm_replay_holder_words(doc, run, index, true, INDENT);
}

void gm_replay_peak_json(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_whatif_peak *peak = &run->devices[index].whatif.peak;
    uint64_t capacity = gm_replay_capacity(run);
    gm_json_open(&doc->json, "at_peak_reserved", '{');
    gm_json_number(&doc->json, "event", peak->event == GM_NEVER ? GM_REPORT_NONE : peak->event);
    gm_json_number(&doc->json, "reserved_bytes", peak->reserved);
    gm_json_number(&doc->json, "allocated_bytes", peak->allocated);
    gm_json_number(&doc->json, "active_bytes", peak->active);
    gm_json_number(&doc->json, "requested_bytes", peak->requested);
    gm_json_number(&doc->json, "largest_free_bytes",
                   peak->largest_free == GM_ABSENT ? GM_REPORT_NONE : peak->largest_free);
    gm_json_percent(&doc->json, "utilisation_percent", peak->allocated, peak->reserved);
    gm_json_percent(&doc->json, "of_memory_percent", peak->reserved,
                    capacity == UINT64_MAX ? GM_REPORT_NONE : capacity);
    gm_json_close(&doc->json, '}');
    gm_replay_holder_json(doc, run, index);
}

void gm_replay_aggregate_words(struct gm_doc *doc, const struct gm_replay_run *run)
{
    uint64_t reserved = 0, allocated = 0, most_allocated = 0, capacity = gm_replay_capacity(run);
    char c[GM_NUMBER_TEXT];
    for (size_t i = 0; i < run->device_count; i++) {
        const struct gm_stats *s = run->options->verify ? &run->devices[i].verify.stats : &run->devices[i].whatif.stats;
        uint64_t peak = (uint64_t)s->allocated_bytes[GM_STAT_ALL].peak;
        reserved += (uint64_t)s->reserved_bytes[GM_STAT_ALL].peak;
        allocated += peak;
        most_allocated = peak > most_allocated ? peak : most_allocated;
    }
    gm_text_printf(doc->out, "all devices (%zu): peaks add up to %s reserved, %s allocated\n", run->device_count,
                   gm_doc_bytes(doc, reserved), gm_doc_bytes(doc, allocated));
    gm_text_printf(doc->out, "highest of one device: %s reserved, %s allocated\n",
                   gm_bytes_format(c, gm_replay_peak_reserved(run)), gm_doc_bytes(doc, most_allocated));
    if (capacity != UINT64_MAX)
        gm_text_printf(doc->out, "utilisation of the device's memory: %s %%\n",
                       gm_percent_format(c, gm_replay_peak_reserved(run), capacity, 1));
}
