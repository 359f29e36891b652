/* SPDX-License-Identifier: Apache-2.0
 *
 * --from and --to: a place in the trace as the moment that its event led to.
 */
#include "analyze/base/arithmetic.h"

#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/report/numbers.h"
#include "analyze/timeline/trace_pass.h"

/* The first event with a time, or count. */
static size_t first_with_time(const struct gm_history *h)
{
    size_t i = 0;
    while (i < h->count && gm_history_time(h, i) == GM_REPORT_NONE)
        i++;
    return i;
}

/* For `from` the first event at or after the time, for `to` the last one at or before it. GM_NEVER: there is none. */
static uint32_t event_by_time(const struct gm_history *h, uint64_t since, bool is_from)
{
    size_t first = first_with_time(h);
    uint32_t found = GM_NEVER;
    uint64_t start = gm_history_time(h, first);
    if (first == h->count)
        return GM_NEVER;
    uint64_t time = gm_known_add(start, since);
    for (size_t i = first; i < h->count; i++) {
        uint64_t t = gm_history_time(h, i);
        if (t == GM_REPORT_NONE)
            continue;
        if (is_from && t >= time)
            return (uint32_t)i;
        if (!is_from && t <= time)
            found = (uint32_t)i;
    }
    return found;
}

static uint32_t event_by_step(const struct gm_steps *steps, uint64_t number, bool is_from)
{
    for (size_t i = 0; i < steps->row_count; i++)
        if (steps->rows[i].number == number)
            return (uint32_t)(is_from ? steps->rows[i].first_event : steps->rows[i].last_event);
    return GM_NEVER;
}

static enum gm_status fail_time(const struct gm_history *h, const char *option, uint64_t since, struct gm_error *err)
{
    const size_t first = first_with_time(h);
    char asked[GM_NUMBER_TEXT], last[GM_NUMBER_TEXT];
    if (first == h->count)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: the events of device %lld have no times", option,
                       (long long)h->device);
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                   "%s: device %lld has no event %s after its first or later; the last one is %s after it", option,
                   (long long)h->device, gm_duration_format(asked, since),
                   gm_since_us_format(last, gm_history_time(h, first), gm_history_time(h, h->count - 1)));
}

static enum gm_status fail(const struct gm_trace_pass *pass, const struct gm_place *place, bool is_from,
                           struct gm_error *err)
{
    const struct gm_history *h = &pass->history;
    const struct gm_steps *steps = &pass->out->steps;
    const char *option = is_from ? "--from" : "--to";
    unsigned long long value = place->value;
    long long device = h->device;
    if (place->kind == GM_PLACE_EVENT)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: device %lld has no event %llu, only %zu event%s", option,
                       device, value, h->count, gm_plural(h->count));
    if (place->kind == GM_PLACE_TIME)
        return fail_time(h, option, value, err);
    if (steps->row_count == 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: no steps were found on device %lld", option, device);
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: device %lld has no step %llu, only %llu to %llu%s", option,
                   device, value, (unsigned long long)steps->rows[0].number,
                   (unsigned long long)steps->rows[steps->row_count - 1].number,
                   steps->row_count < steps->row_total ? " (not all can be named)" : "");
}

static enum gm_status resolve(const struct gm_trace_pass *pass, const struct gm_place *place, bool is_from,
                              uint32_t *moment, struct gm_error *err)
{
    const struct gm_history *h = &pass->history;
    uint32_t event = GM_NEVER;
    switch (place->kind) {
    case GM_PLACE_NONE:
        *moment = is_from ? 0 : (uint32_t)h->count;
        return GM_OK;
    case GM_PLACE_EVENT:
        event = place->value < h->count ? (uint32_t)place->value : GM_NEVER;
        break;
    case GM_PLACE_TIME:
        event = event_by_time(h, place->value, is_from);
        break;
    case GM_PLACE_STEP:
        event = event_by_step(&pass->out->steps, place->value, is_from);
        break;
    }
    if (event == GM_NEVER)
        return fail(pass, place, is_from, err);
    *moment = event + 1;
    return GM_OK;
}

enum gm_status gm_trace_window(struct gm_trace_pass *pass, struct gm_error *err)
{
    const struct gm_timeline_options *options = pass->options;
    uint32_t from = 0, to = 0;
    if (!gm_has_window(options))
        return GM_OK;
    enum gm_status status = resolve(pass, &options->from, true, &from, err);
    GM_THEN(status, resolve(pass, &options->to, false, &to, err));
    if (status != GM_OK)
        return status;
    if (from > to)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--from (event %u) is after --to (event %u) on device %lld",
                       from - 1, to == 0 ? 0 : to - 1, (long long)pass->history.device);
    pass->from = from;
    pass->to = to;
    return GM_OK;
}

/* What the command line left out, as a sentence for the reports: "Only allocations of stream 7 of at least 1.00 MiB;
 * peaks are looked for from event 100 to event 200." */

static void add_allocations(struct gm_text *out, const struct gm_timeline_options *options)
{
    char size[GM_SIZE_TEXT];
    if (!options->has_stream && options->min_size == 0)
        return;
    gm_text_add(out, "Only allocations");
    if (options->has_stream)
        gm_text_printf(out, " of stream %lld", (long long)options->stream);
    if (options->min_size > 0)
        gm_text_printf(out, " of at least %s", gm_size_format(size, options->min_size));
}

static void add_window(struct gm_text *out, const struct gm_trace_pass *pass, bool has_window)
{
    const struct gm_timeline_options *options = pass->options;
    if (!gm_has_window(options))
        return;
    gm_text_add(out, out->length == 0 ? "Peaks" : "; peaks");
    gm_text_add(out, " are looked for");
    if (!has_window)
        gm_text_add(out, " in the whole trace: this device has no such place as --from or --to asks for");
    if (has_window && options->from.kind != GM_PLACE_NONE) {
        gm_text_add(out, " from event ");
        gm_text_add_count(out, gm_event_of_moment(pass->from));
        gm_text_add(out, " on");
    }
    if (has_window && options->to.kind != GM_PLACE_NONE) {
        gm_text_add(out, " up to event ");
        gm_text_add_count(out, gm_event_of_moment(pass->to));
    }
}

bool gm_trace_filter(struct gm_trace_pass *pass, bool has_window)
{
    struct gm_text text = {0};
    add_allocations(&text, pass->options);
    add_window(&text, pass, has_window);
    if (text.length == 0 && !text.failed)
        return true;
    gm_text_add_char(&text, '.');
    pass->out->filter = gm_text_take(&text, &pass->report->arena);
    return pass->out->filter != NULL;
}
