/* SPDX-License-Identifier: Apache-2.0
 *
 * dump_books FILE: the books of every device with a trace, one JSON object a line. For check_residual.py.
 */
#include "tests/timeline/each_history.h"

#include <inttypes.h>

static void levels(const char *name, const struct gm_levels *l)
{
    printf(",\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", name, l->requested, l->allocated, l->active,
           l->reserved);
}

static void dump(const struct gm_history *h)
{
    const struct gm_reconciliation *b = &h->reconciliation;
    printf("{\"device\":%" PRId64 ",\"events\":%zu,\"reconstructed\":%s,\"residual_active\":%" PRId64
           ",\"residual_reserved\":%" PRId64 ",\"worst\":%" PRId64 ",\"end_blocks\":%" PRIu64 ",\"same\":%" PRIu64
           ",\"from_snapshot\":%" PRIu64 ",\"from_snapshot_bytes\":%" PRIu64 ",\"baseline\":%" PRIu64
           ",\"never_freed\":%" PRIu64 ",\"unsplit\":%" PRIu64,
           h->device, h->count, b->is_reconstructed ? "true" : "false", b->residual_active, b->residual_reserved,
           b->worst_residual, b->end_blocks, b->end_blocks_same, b->sizes_from_snapshot, b->sizes_from_snapshot_bytes,
           b->baseline_bytes, b->never_freed_bytes, b->unsplit_bytes);
    levels("start", &b->at_start);
    levels("end", &b->at_end);
    levels("snapshot", &b->snapshot);
    printf(",\"disagreements\":{");
    for (size_t i = 0; i < b->disagreement_count; i++)
        printf("%s\"%s\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", i > 0 ? "," : "", h->disagreements[i].id,
               h->disagreements[i].count, h->disagreements[i].bytes, h->disagreements[i].first_event);
    printf("}}\n");
}

int main(int argc, char **argv)
{
    return gm_each_history(argc, argv, dump);
}
