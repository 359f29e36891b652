/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/tried.h"

#include "analyze/base/size.h"
#include "analyze/document/numbers.h"
#include "analyze/report/view.h"

#include <inttypes.h>

enum { LIMITS_SHOWN = 4 };

struct gm_tried_row gm_tried_row(const struct gm_settings_advice *advice, size_t i, bool is_limited)
{
    const struct gm_advice_trial *base = advice->baseline, *trial = i == 0 ? base : &advice->tried[i - 1];
    const struct gm_advice_replay *then = is_limited ? &base->limited : &base->roomy;
    const struct gm_advice_replay *now = is_limited ? &trial->limited : &trial->roomy;
    return (struct gm_tried_row){.settings = trial->settings,
                                 .replay = now,
                                 .has_change = i > 0 && now->runs && then->runs,
                                 .change = (int64_t)(now->peak - then->peak)};
}

const char *gm_tried_verdict_name(enum gm_advice_verdict verdict)
{
    static const char *const names[] = {[GM_ADVICE_GIVEN] = "advised",
                                        [GM_ADVICE_NO_GAIN] = "no-gain",
                                        [GM_ADVICE_NO_ROOM] = "no-room",
                                        [GM_ADVICE_NOT_JUDGED] = "not-judged"};
    return names[verdict];
}

static uint64_t sum(const struct gm_settings_advice *advice, uint64_t (*value)(const struct gm_advice_device *))
{
    uint64_t sum = 0;
    for (size_t d = 0; d < advice->device_count; d++)
        sum = gm_plus(sum, value(&advice->devices[d]));
    return sum;
}

static uint64_t recorded(const struct gm_advice_device *device)
{
    return device->recorded;
}

static uint64_t requested(const struct gm_advice_device *device)
{
    return device->peak_requested;
}

static uint64_t exact(const struct gm_advice_device *device)
{
    return device->exact;
}

static uint64_t allocs(const struct gm_advice_device *device)
{
    return device->allocs;
}

static uint64_t start(const struct gm_advice_device *device)
{
    return device->start_at_peak;
}

uint64_t gm_tried_recorded(const struct gm_settings_advice *advice)
{
    return sum(advice, recorded);
}

static void put_limit(struct gm_text *out, const struct gm_advice_device *device)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT], d[GM_NUMBER_TEXT];
    gm_text_printf(out, " On device %" PRId64 " the recording had %s%s: with %s reserved, %s %s (event %s).",
                   device->device, device->is_limit_exact ? "" : "at most ", gm_bytes_format(a, device->limit),
                   gm_bytes_format(b, device->limit_reserved), gm_bytes_format(c, device->limit_left),
                   device->is_limit_exact ? "were left when a request was refused" : "more were too much",
                   gm_count_format(d, device->limit_event));
}

static void put_limits(struct gm_text *out, const struct gm_settings_advice *advice)
{
    bool was_refused = false;
    size_t shown = 0;
    for (size_t d = 0; d < advice->device_count; d++) {
        was_refused |= advice->devices[d].was_refused;
        if (advice->devices[d].limit != GM_REPORT_NONE && shown++ < LIMITS_SHOWN)
            put_limit(out, &advice->devices[d]);
    }
    if (was_refused)
        gm_text_add(out,
                    " It ended out of memory; what the program would have asked for next is in no figure, and with "
                    "a limit the refused request is asked for once more.");
}

static void put_method(struct gm_text *out, const struct gm_settings_advice *advice)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_printf(
        out,
        "The requests of the trace were served again by a model of the allocator, from an empty one and on "
        "a device without limit%s. When it followed the recording, it chose %s of the %s recorded addresses.",
        advice->is_limited ? ", then with the limit that the recording ran into" : "",
        gm_count_format(a, sum(advice, exact)), gm_count_format(b, sum(advice, allocs)));
    put_limits(out, advice);
    if (sum(advice, start) > 0)
        gm_text_printf(out,
                       " At the peak %s were live since before the trace; their order is not recorded, they were "
                       "requested by ascending address.",
                       gm_bytes_format(a, sum(advice, start)));
}

static void put_no_room(struct gm_text *out, const struct gm_settings_advice *advice)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    if (sum(advice, requested) > gm_tried_recorded(advice)) {
        gm_text_printf(out,
                       "Not replayed: %s was requested at the peak, but only %s ever reserved, so the trace does not "
                       "tell what was.",
                       gm_bytes_format(a, sum(advice, requested)), gm_bytes_format(b, gm_tried_recorded(advice)));
        return;
    }
    gm_text_printf(
        out,
        "Not replayed, because no setting can save enough: peak reserved memory was %s, and the program had "
        "asked for %s at its peak%s. A change is advised if it saves %s (1 %% of reserved, at least 64 MiB).",
        gm_bytes_format(a, gm_tried_recorded(advice)), gm_bytes_format(b, sum(advice, requested)),
        advice->device_count > 1 ? " (sums over the devices)" : "", gm_bytes_format(c, advice->threshold));
}

static void put_range(struct gm_text *out, const char *what, const struct gm_advice_replay *replay)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (replay->low < replay->high)
        gm_text_printf(
            out, " %s needs %s to %s, by where the driver puts segments; the table has it with the lowest places.",
            what, gm_bytes_format(a, replay->low), gm_bytes_format(b, replay->high));
}

/* Of equal free blocks the lowest is taken, and nobody knows which one that will be. */
static void put_ranges(struct gm_text *out, const struct gm_settings_advice *advice)
{
    put_range(out, "The baseline", &advice->baseline->roomy);
    put_range(out, gm_settings_name(advice->tried[advice->best].settings), &advice->tried[advice->best].roomy);
}

void gm_tried_summary(struct gm_text *out, const struct gm_settings_advice *advice)
{
    char a[GM_NUMBER_TEXT];
    switch (advice->verdict) {
    case GM_ADVICE_NOT_JUDGED:
        gm_text_printf(out, "Settings were not judged: %s.", advice->reason != NULL ? advice->reason : "unknown");
        break;
    case GM_ADVICE_NO_ROOM:
        put_no_room(out, advice);
        break;
    case GM_ADVICE_NO_GAIN:
        put_method(out, advice);
        if (advice->is_by_chance)
            gm_text_printf(out,
                           " %s saves enough here, but not wherever the driver may put segments, so it is not advised.",
                           gm_settings_name(advice->tried[advice->best].settings));
        else
            gm_text_printf(
                out,
                " None of the settings below lowers peak reserved memory by %s (1 %%, at least 64 MiB)%s, so "
                "none is advised.",
                gm_bytes_format(a, advice->threshold),
                advice->is_limited ? " without costing retries with the limit" : "");
        put_ranges(out, advice);
        break;
    case GM_ADVICE_GIVEN:
        put_method(out, advice);
        put_ranges(out, advice);
        break;
    }
}
