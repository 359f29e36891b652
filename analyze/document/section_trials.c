/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocator settings that were tried by replaying the trace. JSON: "settings_advice", null without a trace.
 */
#include "analyze/document/sections.h"

#include <inttypes.h>

enum { LIMITS_SHOWN = 4 };

/* ---- what was done ----------------------------------------------------------------------------------------------- */

/* Sums over the devices. */
static struct gm_advice_device sums_of(const struct gm_settings_advice *advice)
{
    struct gm_advice_device sum = {0};
    for (size_t i = 0; i < advice->device_count; i++) {
        const struct gm_advice_device *device = &advice->devices[i];
        sum.recorded = gm_plus(sum.recorded, device->recorded);
        sum.peak_requested = gm_plus(sum.peak_requested, device->peak_requested);
        sum.exact = gm_plus(sum.exact, device->exact);
        sum.allocs = gm_plus(sum.allocs, device->allocs);
        sum.start_at_peak = gm_plus(sum.start_at_peak, device->start_at_peak);
        sum.was_refused |= device->was_refused;
    }
    return sum;
}

static void put_limits(struct gm_text *out, struct gm_doc *d, const struct gm_settings_advice *advice)
{
    size_t shown = 0;
    for (size_t i = 0; i < advice->device_count; i++) {
        const struct gm_advice_device *device = &advice->devices[i];
        if (device->limit != GM_REPORT_NONE && shown++ < LIMITS_SHOWN)
            gm_text_printf(out, " On device %" PRId64 " the recording had %s%s: with %s reserved, %s %s (event %s).",
                           device->device, device->is_limit_exact ? "" : "at most ", gm_doc_bytes(d, device->limit),
                           gm_doc_bytes(d, device->limit_reserved), gm_doc_bytes(d, device->limit_left),
                           device->is_limit_exact ? "were left when a request was refused" : "more were too much",
                           gm_doc_count(d, device->limit_event));
    }
    if (sums_of(advice).was_refused)
        gm_text_add(out,
                    " It ended out of memory; what the program would have asked for next is in no figure, and with "
                    "a limit the refused request is asked for once more.");
}

static void put_method(struct gm_text *out, struct gm_doc *d, const struct gm_settings_advice *advice)
{
    const struct gm_advice_device sum = sums_of(advice);
    gm_text_printf(
        out,
        "The requests of the trace were served again by a model of the allocator, from an empty one and on "
        "a device without limit%s. When it followed the recording, it chose %s of the %s recorded addresses.",
        advice->is_limited ? ", then with the limit that the recording ran into" : "", gm_doc_count(d, sum.exact),
        gm_doc_count(d, sum.allocs));
    put_limits(out, d, advice);
    if (sum.start_at_peak > 0)
        gm_text_printf(out,
                       " At the peak %s were live since before the trace; their order is not recorded, they were "
                       "requested by ascending address.",
                       gm_doc_bytes(d, sum.start_at_peak));
}

static void put_no_room(struct gm_text *out, struct gm_doc *d, const struct gm_settings_advice *advice)
{
    const struct gm_advice_device sum = sums_of(advice);
    const char *requested = gm_doc_bytes(d, sum.peak_requested), *recorded = gm_doc_bytes(d, sum.recorded);
    if (sum.peak_requested > sum.recorded)
        gm_text_printf(out,
                       "Not replayed: %s was requested at the peak, but only %s ever reserved, so the trace does not "
                       "tell what was.",
                       requested, recorded);
    else
        gm_text_printf(
            out,
            "Not replayed, because no setting can save enough: peak reserved memory was %s, and the program had "
            "asked for %s at its peak%s. A change is advised if it saves %s (1 %% of reserved, at least 64 MiB).",
            recorded, requested, advice->device_count > 1 ? " (sums over the devices)" : "",
            gm_doc_bytes(d, advice->threshold));
}

static void put_no_gain(struct gm_text *out, struct gm_doc *d, const struct gm_settings_advice *advice)
{
    if (advice->is_by_chance)
        gm_text_printf(out,
                       " %s saves enough here, but not wherever the driver may put segments, so it is not advised.",
                       gm_settings_name(advice->tried[advice->best].settings));
    else
        gm_text_printf(out,
                       " None of the settings below lowers peak reserved memory by %s (1 %%, at least 64 MiB)%s, so "
                       "none is advised.",
                       gm_doc_bytes(d, advice->threshold),
                       advice->is_limited ? " without costing retries with the limit" : "");
}

/* Of equal free blocks the lowest is taken, and nobody knows which one that will be. */
static void put_range(struct gm_text *out, struct gm_doc *d, const char *what, const struct gm_advice_replay *replay)
{
    if (replay->low < replay->high)
        gm_text_printf(
            out, " %s needs %s to %s, by where the driver puts segments; the table has it with the lowest places.",
            what, gm_doc_bytes(d, replay->low), gm_doc_bytes(d, replay->high));
}

/* One paragraph: what was done and how far it can be believed, or why it was not. */
static const char *summary_of(struct gm_doc *d, const struct gm_settings_advice *advice)
{
    struct gm_text out = {0};
    if (advice->verdict == GM_ADVICE_NOT_JUDGED)
        gm_text_printf(&out, "Settings were not judged: %s.", advice->reason != NULL ? advice->reason : "unknown");
    if (advice->verdict == GM_ADVICE_NO_ROOM)
        put_no_room(&out, d, advice);
    if (advice->verdict == GM_ADVICE_NO_GAIN || advice->verdict == GM_ADVICE_GIVEN) {
        const struct gm_advice_trial *best = &advice->tried[advice->best];
        put_method(&out, d, advice);
        if (advice->verdict == GM_ADVICE_NO_GAIN)
            put_no_gain(&out, d, advice);
        put_range(&out, d, "The baseline", &advice->baseline->roomy);
        put_range(&out, d, gm_settings_name(best->settings), &best->roomy);
    }
    return gm_doc_take(d, &out);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* A replay, compared with that of the baseline with the same memory. */
struct replay {
    const struct gm_advice_replay *replay;
    bool runs;
    uint64_t peak, retries; /* GM_REPORT_NONE: a request failed */
    int64_t change;         /* bytes; GM_SIGNED_NONE: not both run, or it is the baseline */
};

struct trial {
    const char *settings, *name;
    uint64_t saved;
    struct replay roomy, limited;
};

static struct replay replay_of(const struct gm_advice_replay *now, const struct gm_advice_replay *base)
{
    const bool is_compared = now != base && now->runs && base->runs;
    return (struct replay){now, now->runs, now->runs ? now->peak : GM_REPORT_NONE, now->retries,
                           is_compared ? (int64_t)(now->peak - base->peak) : GM_SIGNED_NONE};
}

/* The baseline first, then those that were tried. */
static struct trial trial_of(struct gm_doc *d, const struct gm_settings_advice *advice, size_t i)
{
    const struct gm_advice_trial *base = advice->baseline, *trial = i == 0 ? base : &advice->tried[i - 1];
    const char *name = gm_settings_name(trial->settings);
    return (struct trial){trial->settings,
                          i == 0 ? gm_doc_printf(d, "baseline: " GM_QUOTED, name) : gm_doc_printf(d, GM_QUOTED, name),
                          i == 0 ? GM_REPORT_NONE : trial->saved, replay_of(&trial->roomy, &base->roomy),
                          replay_of(&trial->limited, &base->limited)};
}

static union gm_value peak_of(const struct gm_cell_of *c)
{
    const struct replay *replay = (const void *)((const char *)c->row + c->column->offset);
    return (union gm_value){.s = replay->runs ? gm_doc_bytes(c->doc, replay->peak) : "out of memory"};
}

#define PEAK(field)                                                                                                    \
    {                                                                                                                  \
        NULL, "Peak reserved", GM_READ, GM_FIGURE, offsetof(struct trial, field), 0, peak_of, NULL, 0, NULL, 0         \
    }

static void say_trials(struct gm_doc *d, const struct gm_settings_advice *advice)
{
    static const struct gm_column roomy[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, "With unlimited memory", struct trial, name),
        PEAK(roomy),
        GM_FIELD(GM_DELTA, GM_READ | GM_BLANK, NULL, "Change", struct trial, roomy.change),
    };
    static const struct gm_column limited[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, "With the limit of the recording", struct trial, name),
        PEAK(limited),
        GM_FIELD(GM_DELTA, GM_READ | GM_BLANK, NULL, "Change", struct trial, limited.change),
        GM_FIELD(GM_COUNT, GM_READ, NULL, "Retries", struct trial, limited.retries),
    };
    const size_t count = advice->tried_count + 1;
    struct trial *rows = gm_doc_rows(d, count, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < count; i++)
        rows[i] = trial_of(d, advice, i);
    if (rows == NULL)
        return;
    GM_TABLE(d, roomy, rows, count, .in = GM_READ);
    if (advice->is_limited)
        GM_TABLE(d, limited, rows, count, .in = GM_READ);
    gm_doc_tell(d, "The recording itself reserved %s at its peak.", gm_doc_bytes(d, sums_of(advice).recorded));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_ranges(const struct gm_cell_of *c)
{
    const struct gm_settings_advice *advice = c->of;
    const struct gm_advice_replay *replay = ((const struct replay *)c->row)->replay;
    const uint64_t range[2] = {replay->low, replay->high};
    if (replay->high > 0)
        GM_LIST(c->doc, "peak_reserved_range_bytes", GM_BYTES, range, 2);
    else
        gm_json_null(&c->doc->json, "peak_reserved_range_bytes");
    GM_LIST(c->doc, "devices", GM_BYTES, replay->peaks, advice->device_count);
}

static const struct gm_column replay_columns[] = {
    GM_KEY(GM_BOOL, "runs", struct replay, runs),
    GM_KEY(GM_BYTES, "peak_reserved_bytes", struct replay, peak),
    GM_KEY(GM_DELTA, "change_bytes", struct replay, change),
    GM_KEY(GM_COUNT, "num_alloc_retries", struct replay, retries),
    GM_NESTED(NULL, add_ranges),
};

static void add_limited(const struct gm_cell_of *c)
{
    const struct gm_settings_advice *advice = c->of;
    const struct trial *trial = c->row;
    GM_OBJECT(c->doc, "limited", replay_columns, advice->is_limited ? &trial->limited : NULL, advice);
}

static const struct gm_column trial_columns[] = {
    GM_KEY(GM_TEXT, "settings", struct trial, settings),
    GM_KEY(GM_BYTES, "saved_bytes", struct trial, saved),
    GM_INSIDE(NULL, replay_columns, struct trial, roomy),
    GM_NESTED("limited", add_limited),
};

static void add_devices(struct gm_doc *d, const struct gm_settings_advice *advice)
{
#define KEY(unit, key, field) GM_KEY(unit, key, struct gm_advice_device, field)
    static const struct gm_column columns[] = {
        KEY(GM_HANDLE, "device", device),
        KEY(GM_COUNT, "events", events),
        KEY(GM_COUNT, "allocs", allocs),
        KEY(GM_COUNT, "exact_addresses", exact),
        KEY(GM_BYTES, "peak_requested_bytes", peak_requested),
        KEY(GM_BYTES, "recorded_peak_reserved_bytes", recorded),
        KEY(GM_BYTES, "start_bytes_at_peak", start_at_peak),
        KEY(GM_BOOL, "ended_out_of_memory", was_refused),
        KEY(GM_BYTES, "limit_bytes", limit),
        KEY(GM_BOOL, "limit_is_exact", is_limit_exact),
        KEY(GM_COUNT, "limit_event", limit_event),
    };
#undef KEY
    const size_t all = sizeof columns / sizeof *columns;
    gm_json_open(&d->json, "devices", '[');
    for (size_t i = 0; i < advice->device_count; i++) {
        const bool has_limit = advice->devices[i].limit != GM_REPORT_NONE;
        gm_json_open_flat(&d->json, NULL, '{');
        gm_doc_fields(d, columns, has_limit ? all : all - 2, &advice->devices[i], NULL);
        gm_json_number(&d->json, "replayed_peak_reserved_bytes",
                       advice->baseline != NULL ? advice->baseline->roomy.peaks[i] : GM_REPORT_NONE);
        gm_json_close(&d->json, '}');
    }
    gm_json_close(&d->json, ']');
}

static void add_trials(struct gm_doc *d, const struct gm_settings_advice *advice)
{
    struct trial baseline = {.settings = NULL};
    if (advice->baseline != NULL)
        baseline = trial_of(d, advice, 0);
    GM_OBJECT(d, "baseline", trial_columns, advice->baseline == NULL ? NULL : &baseline, advice);
    gm_json_open(&d->json, "tried", '[');
    for (size_t i = 1; i <= advice->tried_count; i++) {
        const struct trial trial = trial_of(d, advice, i);
        GM_OBJECT(d, NULL, trial_columns, &trial, advice);
    }
    gm_json_close(&d->json, ']');
}

static void add_advice(struct gm_doc *d, const struct gm_settings_advice *advice)
{
    static const char *const verdicts[] = {[GM_ADVICE_GIVEN] = "advised",
                                           [GM_ADVICE_NO_GAIN] = "no-gain",
                                           [GM_ADVICE_NO_ROOM] = "no-room",
                                           [GM_ADVICE_NOT_JUDGED] = "not-judged"};
    const struct gm_advice_trial *best = advice->verdict == GM_ADVICE_GIVEN ? &advice->tried[advice->best] : NULL;
    gm_json_string(&d->json, "verdict", verdicts[advice->verdict]);
    gm_json_string(&d->json, "reason", advice->reason);
    gm_json_string(&d->json, "command", advice->command);
    gm_json_string(&d->json, "settings", best == NULL ? NULL : best->settings);
    gm_json_number(&d->json, "before_bytes", advice->before == 0 ? GM_REPORT_NONE : advice->before);
    gm_json_number(&d->json, "after_bytes", best == NULL ? GM_REPORT_NONE : best->roomy.peak);
    gm_json_number(&d->json, "saved_bytes", best == NULL ? GM_REPORT_NONE : best->saved);
    gm_json_number(&d->json, "threshold_bytes", advice->threshold);
    gm_json_bool(&d->json, "is_by_chance", advice->is_by_chance);
    gm_json_string(&d->json, "recorded_settings", advice->recorded);
    add_devices(d, advice);
    add_trials(d, advice);
}

void gm_section_trials(struct gm_doc *d, const struct gm_report *report)
{
    const struct gm_settings_advice *advice = report->advice;
    if (advice == NULL) {
        if (gm_doc_is(d, GM_JSON))
            gm_json_null(&d->json, "settings_advice");
        return;
    }
    gm_doc_fold(d, "settings_advice", "Other allocator settings");
    if (gm_doc_is(d, GM_JSON))
        add_advice(d, advice);
    gm_doc_tell(d, "%s", summary_of(d, advice));
    if (advice->command != NULL)
        gm_doc_tell(d, "To find out: " GM_QUOTED, advice->command);
    if (advice->tried_count > 0 && !gm_doc_is(d, GM_JSON))
        say_trials(d, advice);
    gm_doc_close(d);
}
