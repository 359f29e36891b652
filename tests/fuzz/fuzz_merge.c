/* SPDX-License-Identifier: Apache-2.0
 *
 * gmtrace merge: what is made of a snapshot and itself, and of two pieces of a file that are one each, holds together.
 */
#include "analyze/formats/load.h"
#include "replay/handover/merge.h"
#include "tests/formats/model_check.h"
#include "tests/fuzz/fuzz.h"

static void check(enum gm_status status, struct gm_merged *merged, const struct gm_error *err, size_t most_events)
{
    if (status == GM_OK) {
        HOLDS(gm_model_check(&merged->snapshot) == NULL);
        HOLDS(merged->snapshot.events.count <= most_events);
        gm_merged_free(merged);
    } else {
        HOLDS(err->message[0] != '\0');
    }
}

static void merge(const struct gm_snapshot *a, const struct gm_snapshot *b)
{
    const struct gm_merge_part parts[] = {{a, "a"}, {b, "b"}};
    const size_t events = a->events.count + b->events.count;
    struct gm_merged merged;
    for (int after_gap = 0; after_gap < 2; after_gap++) {
        struct gm_error err = {0};
        const enum gm_status status = gm_merge_dumps(&merged, parts, 2, after_gap != 0, &err);
        check(status, &merged, &err, a == b ? a->events.count : events);
    }
    struct gm_error err = {0};
    const enum gm_status status = gm_merge_ranks(&merged, parts, 2, &err);
    check(status, &merged, &err, events);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct gm_load_options options = {.salvage = true};
    struct gm_snapshot a, b;
    if (gm_snapshot_load_bytes(&a, data, size, "fuzz", &options, NULL) != GM_OK)
        return 0;
    if (a.profile == NULL)
        merge(&a, &a);
    if (gm_snapshot_load_bytes(&b, data, size / 2, "half", &options, NULL) == GM_OK) {
        if (a.profile == NULL && b.profile == NULL) {
            merge(&a, &b);
            merge(&b, &a);
        }
        gm_snapshot_free(&b);
    }
    gm_snapshot_free(&a);
    return 0;
}
