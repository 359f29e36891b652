/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/tried.h"

#include "analyze/base/size.h"
#include "analyze/words/numbers.h"
#include "analyze/words/view.h"

const char *gm_tried_verdict_name(enum gm_advice_verdict verdict)
{
    static const char *const names[] = {[GM_ADVICE_GIVEN] = "advised",
                                        [GM_ADVICE_NO_GAIN] = "no-gain",
                                        [GM_ADVICE_NO_ROOM] = "no-room",
                                        [GM_ADVICE_NOT_JUDGED] = "not-judged"};
    return names[verdict];
}

const char *gm_tried_settings(const char *settings)
{
    return settings == NULL || settings[0] == '\0' ? "PyTorch's defaults" : settings;
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

uint64_t gm_tried_base(const struct gm_settings_advice *advice)
{
    return advice->before != GM_REPORT_NONE ? advice->before : gm_tried_recorded(advice);
}

static void put_method(struct gm_text *out, const struct gm_settings_advice *advice)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_printf(out,
                   "The requests of the trace were served again by a model of the allocator, from an empty one and on "
                   "a device without limit. When it followed the recording, it chose %s of the %s recorded addresses.",
                   gm_count_format(a, sum(advice, exact)), gm_count_format(b, sum(advice, allocs)));
    if (advice->before != GM_REPORT_NONE && sum(advice, start) > 0)
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
        gm_text_printf(out,
                       " None of the settings below lowers peak reserved memory by %s (1 %%, at least 64 MiB), so "
                       "none is advised.",
                       gm_bytes_format(a, advice->threshold));
        break;
    case GM_ADVICE_GIVEN:
        put_method(out, advice);
        break;
    }
}

void gm_tried_short(struct gm_text *out, const struct gm_settings_advice *advice)
{
    char change[GM_SIZE_CHANGE_TEXT];
    const struct gm_advice_trial *best = &advice->tried[advice->best];
    gm_text_printf(out, "%s (replayed: %s reserved)", gm_tried_settings(best->settings),
                   gm_size_format_change(change, advice->before, best->peak));
}
