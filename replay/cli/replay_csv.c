/* SPDX-License-Identifier: Apache-2.0
 *
 * --csv: a row for what is before the first step, for each step, and for what comes after the last one; with --limit
 * also how each stands to it.
 */
#include "replay/cli/gmreplay.h"
#include "replay/compute/compute_run.h"

#include <inttypes.h>
#include <time.h>

__extension__ typedef unsigned __int128 wide;

static void add_number(struct gm_text *out, const char *before, uint64_t bytes)
{
    uint64_t thousandths = (uint64_t)(((wide)bytes * 1000 + (UINT64_C(1) << 29)) >> 30);
    gm_text_printf(out, "%s%" PRIu64 ".%03u", before, thousandths / 1000, (unsigned)(thousandths % 1000));
}

static void add_gib(struct gm_text *out, uint64_t bytes)
{
    add_number(out, ",", bytes);
}

/* What is left of the limit in the part, negative above it, and the verdict. A part in which the replay, or the
 * recording, ran out of memory has none below the limit: what it would have needed next is not known. */
static void add_limit(struct gm_text *out, const struct gm_replay_device *device, size_t part, uint64_t limit)
{
    const uint64_t peak = device->parts[part].peak_reserved;
    const bool is_cut = part + 1 == device->whatif.parts_played && (device->whatif.has_failed || device->was_refused);
    add_number(out, peak > limit ? ",-" : ",", peak > limit ? peak - limit : limit - peak);
    gm_text_add(out, peak > limit ? ",FAIL" : device->whatif.has_failed && is_cut ? ",OOM" : is_cut ? "," : ",PASS");
}

/* As in 2026-01-31T12:00:00.123456Z; empty without times. */
static void add_time(struct gm_text *out, uint64_t us)
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm utc;
    char text[32];
    if (us == GM_REPORT_NONE || gmtime_r(&seconds, &utc) == NULL || utc.tm_year > 8099)
        return;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    gm_text_printf(out, "%s.%06uZ", text, (unsigned)(us % 1000000));
}

/* At the end of the part; empty if it had none, for the replay stopped in it. */
static void add_gpu(struct gm_text *out, const struct gm_replay_device *device, size_t part)
{
    const struct gm_compute_memory *m = gm_replay_gpu_part(device, part);
    if (m == NULL) {
        gm_text_add(out, ",,");
        return;
    }
    add_gib(out, m->used);
    add_gib(out, m->used > m->ours + m->scratch ? m->used - m->ours - m->scratch : 0);
}

/* Without --members the member is the device. */
static void add_row(struct gm_text *out, const struct gm_replay_device *device, size_t i, uint64_t limit)
{
    const struct gm_whatif_part *part = &device->parts[i];
    const struct gm_replay_repetition *r = &device->repetition;
    bool is_step = i > 0 && i + 1 < device->part_count;
    uint64_t member = i == 0 ? 1 : is_step && r->is_used ? (i - 1) / r->steps + 1 : r->members;
    uint64_t number = !is_step ? 0 : r->is_used ? (i - 1) % r->steps + 1 : device->part_number[i];
    add_time(out, gm_replay_part_time(device, i));
    if (r->members > 0)
        gm_text_printf(out, ",%" PRIu64 ",", member);
    else
        gm_text_printf(out, ",%" PRId64 ",", device->kept->history.device);
    if (is_step)
        gm_text_printf(out, "%" PRIu64, number);
    else
        gm_text_add(out, i == 0 ? "init" : "final");
    add_gib(out, part->peak_allocated);
    add_gib(out, part->peak_reserved);
    add_gib(out, part->allocated_at_end);
    if (device->gpu != NULL)
        add_gpu(out, device, i);
    if (limit != UINT64_MAX)
        add_limit(out, device, i, limit);
    gm_text_add_char(out, '\n');
}

void gm_replay_csv(struct gm_text *out, struct gm_replay_run *run)
{
    gm_text_add(out, "timestamp,member,step,allocated_GB,reserved_GB,current_GB");
    if (gm_replay_on_gpu(run->options))
        gm_text_add(out, ",device_used_GB,not_ours_GB");
    if (run->options->limit != UINT64_MAX)
        gm_text_add(out, ",margin_GB,verdict");
    gm_text_add_char(out, '\n');
    for (size_t d = 0; d < run->device_count; d++) {
        const struct gm_replay_device *device = &run->devices[d];
        for (size_t i = 0; i < device->whatif.parts_played; i++)
            add_row(out, device, i, run->options->limit);
    }
}
