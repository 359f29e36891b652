/* SPDX-License-Identifier: Apache-2.0
 *
 * gmtrace merge.
 */
#include "replay/handover/cli/gmtrace.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "analyze/fleet/place.h"
#include "replay/handover/cut.h"
#include "replay/handover/merge.h"

#include <stdlib.h>

struct input {
    struct gm_snapshot snapshot;
    const char *path;
    int64_t rank, last; /* -1, GM_ABSENT_TIME: not known */
    size_t place;       /* on the command line */
};

GM_ORDERING(by_rank, struct input, GM_UP(rank) || GM_UP(place));
GM_ORDERING(by_time, struct input, GM_UP(last) || GM_UP(place));

/* By what they say of themselves, if all of them do: a shell has rank10 before rank2. */
static void sort(struct input *inputs, size_t n, bool of_ranks)
{
    bool is_said = true;
    for (size_t i = 0; i < n; i++)
        is_said &= of_ranks ? inputs[i].rank >= 0 : inputs[i].last != GM_ABSENT_TIME;
    if (is_said)
        qsort(inputs, n, sizeof *inputs, of_ranks ? by_rank : by_time);
}

static enum gm_status load_all(struct input *inputs, size_t n, const struct gm_verb_options *o, struct gm_call *call,
                               char *const *paths)
{
    for (size_t i = 0; i < n; i++) {
        struct gm_error err = {.offset = GM_NO_OFFSET};
        const enum gm_status status = gm_trace_load(&inputs[i].snapshot, o, call, paths[i], &err);
        if (status != GM_OK) {
            gm_call_fail(call, paths[i], &err);
            return status;
        }
        inputs[i].path = paths[i];
        inputs[i].rank = gm_place_detect(paths[i]).rank;
        inputs[i].last = gm_last_time(&inputs[i].snapshot);
        inputs[i].place = i;
    }
    return GM_OK;
}

static void tell_device_of_dumps(struct gm_text *text, const struct gm_merge_share *share, size_t n)
{
    uint64_t events = 0, least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        events += share[i].added;
        least = i == 0 ? least : gm_min(least, share[i].shared);
        most = gm_max(most, share[i].shared);
    }
    gm_text_printf(text, "device %lld: ", (long long)share->device);
    gm_text_add_count(text, events);
    gm_text_printf(text, " events of %zu snapshot%s", n, n == 1 ? "" : "s");
    if (n > 1) {
        gm_text_add(text, ", with ");
        gm_text_add_count(text, least);
        if (most > least) {
            gm_text_add(text, " to ");
            gm_text_add_count(text, most);
        }
        gm_text_add(text, " in common with the one before");
    }
    gm_text_add_char(text, '\n');
}

static void tell_merged(const struct gm_verb_options *o, struct gm_call *call, const struct gm_merged *merged,
                        const struct input *inputs)
{
    struct gm_text text = {0};
    for (size_t i = 0, n; i < merged->share_count; i += n) {
        const struct gm_merge_share *share = &merged->shares[i];
        for (n = 1; i + n < merged->share_count && share[n].device == share->device;)
            n++;
        if (!o->ranks) {
            tell_device_of_dumps(&text, share, n);
            continue;
        }
        gm_text_printf(&text, "device %lld: device %lld of %s, ", (long long)share->device,
                       (long long)share->own_device, inputs[share->part].path);
        gm_text_add_count(&text, share->added);
        gm_text_add(&text, " events\n");
    }
    if (merged->first_part > 0)
        gm_text_printf(&text, "left out, for events are missing after them: %zu snapshot%s before %s\n",
                       merged->first_part, merged->first_part == 1 ? "" : "s", inputs[merged->first_part].path);
    gm_trace_tell(call, o, &text);
}

static void merge(const struct gm_verb_options *o, struct gm_call *call, const struct input *inputs, size_t n)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    GM_FREED_BY(gm_merged_free) struct gm_merged merged = {.first_part = 0};
    GM_FREED_BY(gm_snapshot_free) struct gm_snapshot clean = {.trace_count = 0};
    GM_FREED struct gm_merge_part *parts = calloc(n, sizeof *parts);
    for (size_t i = 0; parts != NULL && i < n; i++)
        parts[i] = (struct gm_merge_part){&inputs[i].snapshot, inputs[i].path};
    enum gm_status status = parts == NULL ? gm_no_memory(&err)
                            : o->ranks    ? gm_merge_ranks(&merged, parts, n, &err)
                                          : gm_merge_dumps(&merged, parts, n, o->after_gap, &err);
    GM_THEN(status, gm_trace_settle(&clean, &merged.snapshot, &err));
    gm_call_time(call, "merge");
    if (status == GM_OK) {
        gm_trace_write(call, &clean, o->output);
        tell_merged(o, call, &merged, inputs);
    } else {
        gm_call_fail(call, NULL, &err);
    }
}

void gm_trace_merge(const struct gm_verb_options *o, struct gm_call *call, char *const *paths)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    size_t n = 2; /* there are so many at least */
    while (paths[n] != NULL)
        n++;
    struct input *inputs = calloc(n, sizeof *inputs);
    if (inputs == NULL) {
        gm_no_memory(&err);
        gm_call_fail(call, NULL, &err);
        return;
    }
    const enum gm_status status = load_all(inputs, n, o, call, paths);
    gm_call_time(call, "load");
    if (status == GM_OK) {
        sort(inputs, n, o->ranks);
        merge(o, call, inputs, n);
    }
    for (size_t i = 0; i < n; i++)
        gm_snapshot_free(&inputs[i].snapshot);
    free(inputs);
}
