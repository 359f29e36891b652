/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger: rows from the blocks that must sum to the reserved bytes, next to what the file itself states per
 * segment. What does not agree is counted by cause and said in words.
 */
#include "analyze/state/state_pass.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/text.h"

#include <inttypes.h>

/* Segments by what is wrong with them. */
struct causes {
    uint64_t size, gaps, allocated, active, requested, over_requested;
};

static void add_stated(uint64_t *sum, uint64_t stated)
{
    if (*sum != GM_REPORT_NONE)
        *sum = stated == GM_ABSENT ? GM_REPORT_NONE : gm_sat_add(*sum, stated);
}

static bool disagrees(uint64_t stated, uint64_t found)
{
    return stated != GM_ABSENT && stated != found;
}

static void check_segment(struct gm_ledger *ledger, struct causes *causes, const struct gm_segments *g, size_t segment,
                          const struct gm_segment_sums *sums)
{
    const struct gm_totals *t = &sums->totals;
    bool size = sums->block_bytes != t->reserved, gaps = !sums->tiles && !size;
    bool allocated = disagrees(g->allocated_size[segment], t->allocated);
    bool active = disagrees(g->active_size[segment], t->active);
    bool requested = !sums->lacks_requested && disagrees(g->requested_size[segment], t->requested);
    causes->size += size;
    causes->gaps += gaps;
    causes->allocated += allocated;
    causes->active += active;
    causes->requested += requested;
    causes->over_requested += sums->over_requested;
    ledger->segments_disagreeing += size || gaps || allocated || active || requested;
    add_stated(&ledger->stated_allocated, g->allocated_size[segment]);
    add_stated(&ledger->stated_active, g->active_size[segment]);
    add_stated(&ledger->stated_requested, g->requested_size[segment]);
    ledger->allocated_requested = gm_sat_add(ledger->allocated_requested, sums->allocated_requested);
}

static void add_cause(struct gm_text *text, uint64_t segments, const char *what)
{
    if (segments > 0)
        gm_text_printf(text, "%s%" PRIu64 " segment%s %s", text->length > 0 ? "; " : "", segments,
                       segments == 1 ? "" : "s", what);
}

/* NULL with *failed unset: everything agrees. */
static const char *explain(struct gm_pass *pass, const struct gm_ledger *ledger, const struct causes *causes,
                           bool *failed)
{
    if (ledger->residual == 0 && ledger->segments_disagreeing == 0 && causes->over_requested == 0)
        return NULL;
    struct gm_text text = {0};
    add_cause(&text, causes->size, "whose blocks do not sum to the segment's size");
    add_cause(&text, causes->gaps, "whose blocks leave gaps or overlap");
    add_cause(&text, causes->allocated, "whose stated allocated size is not the sum of its allocated blocks");
    add_cause(&text, causes->active, "whose stated active size is not the sum of its active blocks");
    add_cause(&text, causes->requested, "whose stated requested size is not the sum over its active blocks");
    add_cause(&text, causes->over_requested, "with a block that claims more requested bytes than it has");
    if (text.length == 0)
        gm_text_add(&text, "the numbers are too large to be added up");
    if (pass->snapshot->source.is_salvaged)
        gm_text_add(&text, "; the file is damaged and only its readable part was counted");
    else
        gm_text_add(&text,
                    "; the file was changed after it was written, or its writer was not PyTorch's allocator. Figures "
                    "here are sums of the blocks");
    const char *copy = gm_text_take(&text, &pass->report->arena);
    *failed = copy == NULL;
    return copy;
}

static bool finish(struct gm_pass *pass, struct gm_ledger *ledger, const struct causes *causes,
                   const struct gm_totals *totals, const struct gm_fragmentation *fragmentation)
{
    bool failed = false;
    ledger->allocated_rounding = gm_sat_sub(totals->allocated, ledger->allocated_requested);
    ledger->pending = totals->pending;
    ledger->releasable = fragmentation->releasable;
    ledger->stranded = fragmentation->stranded;
    ledger->sum = gm_sat_add(gm_sat_add(ledger->allocated_requested, ledger->allocated_rounding),
                             gm_sat_add(gm_sat_add(ledger->pending, ledger->releasable), ledger->stranded));
    ledger->reserved = totals->reserved;
    ledger->residual = gm_signed_gap(ledger->reserved, ledger->sum);
    if (totals->segments == 0)
        ledger->stated_allocated = ledger->stated_active = ledger->stated_requested = GM_REPORT_NONE;
    ledger->explanation = explain(pass, ledger, causes, &failed);
    return !failed;
}

bool gm_pass_ledger(struct gm_pass *pass)
{
    const struct gm_segments *g = &pass->snapshot->segments;
    struct causes all = {0};
    for (size_t d = 0; d < pass->device_count; d++) {
        const struct gm_device_pass *device = &pass->device_passes[d];
        struct gm_device_report *out = &pass->devices[d];
        struct causes causes = {0};
        for (size_t i = device->first; i < device->first + device->count; i++) {
            check_segment(&out->ledger, &causes, g, pass->order[i], &pass->sums[i]);
            check_segment(&pass->report->ledger, &all, g, pass->order[i], &pass->sums[i]);
        }
        if (!finish(pass, &out->ledger, &causes, &out->totals, &out->fragmentation))
            return false;
    }
    return finish(pass, &pass->report->ledger, &all, &pass->report->totals, &pass->report->fragmentation);
}
