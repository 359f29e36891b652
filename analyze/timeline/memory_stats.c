/* SPDX-License-Identifier: Apache-2.0
 *
 * PyTorch's counters for the report: those that the address space came to, if they end as the snapshot has it; else
 * what the snapshot itself tells.
 */
#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/size.h"
#include "analyze/timeline/trace_pass.h"

/* What the snapshot's segments and blocks come to. */
static struct gm_stats stats_of_snapshot(const struct gm_trace_pass *pass)
{
    const struct gm_snapshot *s = pass->snapshot;
    const struct gm_segments *g = &s->segments;
    const uint64_t max_split = gm_settings_recorded(s, NULL).rules.max_split;
    struct gm_stats stats = {.num_ooms = 0};
    for (size_t i = 0; i < g->count; i++) {
        if (g->device[i] != pass->history.device)
            continue;
        const bool small = pass->history.pools[pass->history.final_pool[i]].is_small;
        const bool is_expandable = g->is_expandable[i] == GM_TRUE, is_split = g->block_count[i] > 1;
        gm_stats_add(stats.reserved_bytes, small, (int64_t)g->total_size[i]);
        if (!is_expandable)
            gm_stats_segment(&stats, small, g->total_size[i], 1, max_split);
        for (size_t b = g->block_first[i]; b < g->block_first[i] + g->block_count[i]; b++) {
            const struct gm_space_block block = {
                .size = s->blocks.size[b], .use = gm_space_use_of(s->blocks.state[b]), .is_expandable = is_expandable};
            gm_stats_begin_block(&stats, &block, small, is_split, gm_block_requested(&s->blocks, b), max_split);
        }
    }
    return stats;
}

static bool end_alike(const struct gm_stats *a, const struct gm_stats *b)
{
    bool is = a->oversize_allocations.current == b->oversize_allocations.current &&
              a->oversize_segments.current == b->oversize_segments.current;
    for (int i = 0; i < GM_STAT_KINDS; i++) {
#define X(name) is &= a->name[i].current == b->name[i].current;
        GM_STAT_MAP(X)
#undef X
    }
    return is;
}

static struct gm_usage usage_of(const struct gm_stat *stat, bool is_whole)
{
    const uint64_t none = GM_REPORT_NONE;
    return (struct gm_usage){(uint64_t)stat->current, is_whole ? (uint64_t)stat->peak : none,
                             is_whole ? (uint64_t)stat->allocated : none, is_whole ? (uint64_t)stat->freed : none};
}

static void fill(struct gm_usage_table *table, const struct gm_stats *stats, bool is_whole)
{
    static const int kinds[GM_USAGE_POOLS] = {GM_STAT_ALL, GM_STAT_LARGE_POOL, GM_STAT_SMALL_POOL};
    int row = 0;
#define X(name, title)                                                                                                 \
    for (int k = 0; k < GM_USAGE_POOLS; k++)                                                                           \
        table->rows[row][k] = usage_of(&stats->name[kinds[k]], is_whole);                                              \
    row++;
    GM_USAGE_MAP(X)
#undef X
    table->oversize_allocations = usage_of(&stats->oversize_allocations, is_whole);
    table->oversize_segments = usage_of(&stats->oversize_segments, is_whole);
}

/* Successful retries give segments back directly before the growth, and each failure is a retry, too. What garbage
 * collection gives back looks the same. */
static uint64_t retries_of(const struct gm_trace_pass *pass, uint64_t ooms)
{
    const bool has_garbage = gm_settings_recorded(pass->snapshot, NULL).gc_threshold > 0;
    return has_garbage ? GM_REPORT_NONE : gm_plus(pass->out->fragmentation.retries, ooms);
}

static const char *note_of(struct gm_trace_pass *pass, bool is_whole)
{
    const struct gm_history *h = &pass->history;
    const uint64_t reserved = h->reconciliation.at_start.reserved;
    char size[GM_SIZE_TEXT];
    if (h->count == 0)
        return "There is no trace: peaks and totals are not known, nor out-of-memory events and retries.";
    if (!is_whole)
        return "The trace does not lead to the snapshot: only what is in use at the end is known.";
    if (reserved == 0 && pass->report->devices[pass->index].trace.overflowed != 1)
        return NULL;
    return gm_arena_printf(&pass->report->arena,
                           "The trace begins when %s %s reserved: peaks, totals, out-of-memory events and retries are "
                           "those since then, and what was before is not in the file.",
                           gm_size_format(size, reserved), reserved == 0 ? "was" : "were");
}

bool gm_trace_memory(struct gm_trace_pass *pass, struct gm_memory_summary *out)
{
    const struct gm_history *h = &pass->history;
    const struct gm_stats of_snapshot = stats_of_snapshot(pass);
    const bool is_whole = h->count > 0 && h->is_reconstructed && end_alike(&h->stats, &of_snapshot);
    *out = (struct gm_memory_summary){.device = h->device, .ooms = GM_REPORT_NONE, .retries = GM_REPORT_NONE};
    out->note = note_of(pass, is_whole);
    out->at_end.event = gm_event_of_moment((uint32_t)h->count);
    fill(&out->at_end, is_whole ? &h->stats : &of_snapshot, is_whole);
    if (!is_whole)
        return h->count == 0 || out->note != NULL;
    struct gm_usage_table *peak = gm_arena_calloc(&pass->report->arena, 1, sizeof *peak);
    if (peak == NULL)
        return false;
    peak->event = gm_event_of_moment(h->stats_peak_moment);
    fill(peak, &h->stats_at_peak, true);
    out->at_peak = peak;
    out->ooms = pass->report->devices[pass->index].trace.ooms;
    out->retries = retries_of(pass, out->ooms);
    return true;
}
