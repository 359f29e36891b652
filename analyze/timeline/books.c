/* SPDX-License-Identifier: Apache-2.0
 *
 * The books into the report, and one sentence on what the trace covers.
 */
#include "analyze/timeline/pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Contradictions before what a trace that begins in the middle of a run brings along; then most bytes. */
static int by_weight(const void *left, const void *right)
{
    const struct gm_disagreement *a = left, *b = right;
    if (a->is_expected != b->is_expected)
        return a->is_expected ? 1 : -1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->id, b->id);
}

static const char *seconds(char out[32], uint64_t us)
{
    if (us < 1000)
        snprintf(out, 32, "%" PRIu64 " us", us);
    else if (us < 1000000)
        snprintf(out, 32, "%" PRIu64 ".%" PRIu64 " ms", us / 1000, us % 1000 / 100);
    else
        snprintf(out, 32, "%" PRIu64 ".%02" PRIu64 " s", us / 1000000, us % 1000000 / 10000);
    return out;
}

static const char *coverage(const struct gm_trace_pass *pass)
{
    const struct gm_timeline_books *b = &pass->out->books;
    const struct gm_trace_counts *counts = &pass->report->devices[pass->index].trace;
    char span[32], steps[64] = "", text[512];
    double covered = gm_steps_covered(pass);
    if (covered >= 0 && covered < 1e9)
        snprintf(steps, sizeof steps, "%.1f steps", covered);
    size_t n = (size_t)snprintf(text, sizeof text, "The trace covers %s%s%s: %zu events", steps,
                                steps[0] != '\0' && counts->span_us != GM_REPORT_NONE ? " / " : "",
                                counts->span_us != GM_REPORT_NONE ? seconds(span, counts->span_us)
                                : steps[0] != '\0'                ? ""
                                                                  : "an unknown time",
                                pass->history.count);
    if (counts->overflowed == 1)
        n += (size_t)snprintf(text + n, sizeof text - n, ", the newest of a full ring");
    uint64_t orphans = 0;
    for (size_t i = 0; i < b->disagreement_count; i++)
        if (strcmp(b->disagreements[i].id, "free-without-alloc") == 0)
            orphans = b->disagreements[i].count;
    if (orphans > 0)
        n += (size_t)snprintf(text + n, sizeof text - n, "; %" PRIu64 " frees had no alloc in it", orphans);
    snprintf(text + n, sizeof text - n, ".");
    return gm_arena_copy(&pass->report->arena, text, strlen(text));
}

bool gm_trace_books(struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    struct gm_timeline_books *out = &pass->out->books;
    *out = h->books;
    struct gm_disagreement *rows = gm_arena_calloc(&pass->report->arena, out->disagreement_count, sizeof *rows);
    if (rows == NULL)
        return false;
    memcpy(rows, h->disagreements, out->disagreement_count * sizeof *rows);
    qsort(rows, out->disagreement_count, sizeof *rows, by_weight);
    out->disagreements = rows;
    if (h->count > 0)
        out->coverage = coverage(pass);
    return h->count == 0 || out->coverage != NULL;
}
