/* SPDX-License-Identifier: Apache-2.0
 *
 * --csv: a row for what is before the first step, for each step, and for what comes after the last one.
 */
#include "replay/cli/gmreplay.h"

#include <inttypes.h>
#include <time.h>

__extension__ typedef unsigned __int128 wide;

static void add_gib(struct gm_text *out, uint64_t bytes)
{
    uint64_t thousandths = (uint64_t)(((wide)bytes * 1000 + (UINT64_C(1) << 29)) >> 30);
    gm_text_printf(out, ",%" PRIu64 ".%03u", thousandths / 1000, (unsigned)(thousandths % 1000));
}

/* The time of the last event before `end`, as in 2026-01-31T12:00:00.123456Z; empty without times. */
static void add_time(struct gm_text *out, const struct gm_history *h, uint32_t end)
{
    uint64_t us = end == 0 ? gm_history_time(h, 0) : gm_history_time(h, end - 1);
    time_t seconds = (time_t)(us / 1000000);
    struct tm utc;
    char text[32];
    if (us == GM_REPORT_NONE || gmtime_r(&seconds, &utc) == NULL || utc.tm_year > 8099)
        return;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    gm_text_printf(out, "%s.%06uZ", text, (unsigned)(us % 1000000));
}

void gm_replay_csv(struct gm_text *out, struct gm_replay_run *run)
{
    gm_text_add(out, "timestamp,member,step,allocated_GB,reserved_GB,current_GB\n");
    for (size_t d = 0; d < run->device_count; d++) {
        const struct gm_replay_device *device = &run->devices[d];
        const struct gm_history *h = &run->kept.v[run->device_of[d]].history;
        bool has_ended = device->whatif.has_failed && device->whatif.failure.is_at_start;
        for (size_t i = 0; i < device->part_count && !has_ended; i++) {
            const struct gm_whatif_part *part = &device->parts[i];
            has_ended = device->whatif.has_failed && device->whatif.failure.event < part->end;
            add_time(out, h, part->end);
            gm_text_printf(out, ",%" PRId64 ",", h->device);
            if (i == 0 || i + 1 == device->part_count)
                gm_text_add(out, i == 0 ? "init" : "final");
            else
                gm_text_printf(out, "%" PRIu64, device->part_number[i]);
            add_gib(out, part->peak_allocated);
            add_gib(out, part->peak_reserved);
            add_gib(out, part->allocated_at_end);
            gm_text_add_char(out, '\n');
        }
    }
}
