/* SPDX-License-Identifier: Apache-2.0
 *
 * The books into the report, and one sentence on what the trace covers.
 */
#include "analyze/timeline/trace_pass.h"

#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/base/text.h"

#include <string.h>

/* Contradictions before what a trace that begins in the middle of a run brings along; then most bytes. */
GM_ORDERING(by_weight, struct gm_disagreement, GM_UP(is_expected) || GM_DOWN(bytes) || GM_BY(strcmp(a->id, b->id)));

/* "3 steps", "2.4 steps": a whole number has no fraction. */
static void add_steps(struct gm_text *t, double covered)
{
    const uint64_t tenths = (uint64_t)(covered * 10 + 0.5);
    gm_text_add_count(t, tenths / 10);
    if (tenths % 10 != 0)
        gm_text_printf(t, ".%u", (unsigned)(tenths % 10));
    gm_text_add(t, tenths == 10 ? " step" : " steps");
}

static const char *coverage(const struct gm_trace_pass *pass)
{
    const struct gm_reconciliation *b = &pass->out->reconciliation;
    const struct gm_trace_counts *counts = &pass->report->devices[pass->index].trace;
    const double covered = pass->out->steps.covered; /* 0 without steps */
    const bool has_steps = covered >= 0.05 && covered < 1e9,
               has_span = counts->span_us != GM_REPORT_NONE && pass->history.count > 1;
    char span[GM_SIZE_TEXT];
    struct gm_text t = {0};
    gm_text_add(&t, "The trace covers ");
    if (has_steps) {
        add_steps(&t, covered);
        gm_text_add(&t, ", ");
    }
    if (has_span) {
        gm_text_add(&t, gm_microseconds_format(span, counts->span_us));
        gm_text_add(&t, ", ");
    }
    gm_text_add_count(&t, pass->history.count);
    gm_text_add(&t, pass->history.count == 1 ? " event" : " events");
    gm_text_add(&t, counts->span_us != GM_REPORT_NONE ? "" : " without times");
    gm_text_add(&t, counts->overflowed == 1 ? " (the newest: the recorder's ring was full)" : "");
    uint64_t orphans = 0;
    for (size_t i = 0; i < b->disagreement_count; i++)
        if (strcmp(b->disagreements[i].id, "free-without-alloc") == 0)
            orphans = b->disagreements[i].count;
    if (orphans > 0) {
        gm_text_add(&t, "; ");
        gm_text_add_count(&t, orphans);
        gm_text_add(&t, orphans == 1 ? " free is of a block older than it" : " frees are of blocks older than it");
    }
    gm_text_add_char(&t, '.');
    return gm_text_take(&t, &pass->report->arena);
}

bool gm_trace_reconciliation(struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    struct gm_reconciliation *out = &pass->out->reconciliation;
    *out = h->reconciliation;
    struct gm_disagreement *rows =
        gm_arena_array(&pass->report->arena, h->disagreements, out->disagreement_count, sizeof *rows);
    if (rows == NULL)
        return false;
    GM_SORT(rows, out->disagreement_count, by_weight);
    out->disagreements = rows;
    if (h->count > 0)
        out->coverage = coverage(pass);
    return h->count == 0 || out->coverage != NULL;
}
