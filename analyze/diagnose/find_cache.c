/* SPDX-License-Identifier: Apache-2.0
 *
 * What is cached at the end: how much, why it does not go back, and whether the run's own peak used it.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEAST_MIB = 100 };
#define MUCH 0.25 /* of reserved: more to be done about than about what is live */

/* ---- how severe -------------------------------------------------------------------------------------------------- */

/* Of what device d has reserved at the end, what was never active at one moment of the trace. */
static uint64_t never_used(const struct gm_report *report, size_t d)
{
    const struct gm_device_report *device = &report->devices[d];
    const struct gm_device_timeline *t = &report->timelines[d];
    uint64_t used = device->totals.active, peak = t->peak_active.levels.active;
    if (device->trace.events > 0 && t->reconciliation.is_reconstructed && peak != GM_REPORT_NONE && peak > used)
        used = peak;
    return gm_sat_sub(device->totals.reserved, used);
}

/* A cache that the run's own peak filled is no waste: the next peak is served from it. Then says so, of all of it and
 * of its parts. */
static bool put_excuse(struct gm_text *detail, const struct gm_report *report)
{
    uint64_t unused = 0;
    char size[GM_SIZE_TEXT];
    if (report->timelines == NULL || report->device_count == 0)
        return false;
    for (size_t d = 0; d < report->device_count; d++)
        unused += never_used(report, d);
    if (unused >= report->totals.reserved / 10 ||
        unused > report->totals.inactive / 2) /* the first as a large cache itself */
        return false;
    gm_text_printf(detail,
                   " The trace shows what it served: at the peak%s all%s%s of the reserved memory was in use; the next "
                   "such peak needs it again.",
                   report->device_count > 1 ? "s of the devices" : "", unused > 0 ? " but " : "",
                   unused > 0 ? gm_size_format(size, unused) : "");
    return true;
}

void gm_case_put_wreckage(const struct gm_case *c, struct gm_text *detail)
{
    if (gm_case_is_wreckage(c))
        gm_text_add(detail, " This is mostly what the step that ran out of memory left when it was given up, not why "
                            "it failed.");
}

/* Adds what the end alone makes a warning; what a run out of memory left behind, or its peak filled, is none, nor is
 * anything of the end where the peak was looked at: then the peak's own findings warn. */
static struct gm_finding *add_of_end(struct gm_case *c, const struct gm_rule *rule, uint64_t bytes,
                                     struct gm_text *detail, bool may_be_of_peak)
{
    bool is_excused = gm_case_is_wreckage(c) || (may_be_of_peak && put_excuse(detail, c->report));
    return gm_case_add(c, rule, is_excused || c->lives != NULL ? GM_INFO : GM_WARNING, bytes, detail);
}

/* ---- the rules --------------------------------------------------------------------------------------------------- */

static bool cache_is_large(const struct gm_totals *totals)
{
    return totals->inactive >= LEAST_MIB * GM_MIB && gm_is_share(totals->inactive, totals->reserved, 0.1);
}

/* Poor, and by so much that it is worth a warning. */
static bool is_poor(const struct gm_totals *totals)
{
    return gm_grade_of(gm_totals_efficiency(totals)) == GM_GRADE_POOR &&
           gm_sat_sub(totals->reserved, totals->allocated) >= 512 * GM_MIB;
}

/* Where large-cache does not say it already. An excellent grade needs no action: see find_healthy.c. */
static void find_grade(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_totals *totals = &c->report->totals;
    const enum gm_grade grade = gm_grade_of(gm_totals_efficiency(totals));
    const uint64_t unused = gm_sat_sub(totals->reserved, totals->allocated);
    const bool is_small = unused < LEAST_MIB * GM_MIB;
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    struct gm_text t = {0};
    if (grade == GM_GRADE_NONE || grade == GM_GRADE_EXCELLENT || totals->reserved < GM_MIB || cache_is_large(totals))
        return;
    gm_text_printf(
        &t, "%s of %s reserved is allocated: %s %% (over 98 %% is excellent, 95 to 98 %% good, below 95 %% poor).%s",
        gm_size_format(a, totals->allocated), gm_size_format(b, totals->reserved),
        gm_share_format(share, totals->allocated, totals->reserved),
        grade == GM_GRADE_POOR && is_small ? " The unused rest is small in bytes." : "");
    if (!is_small)
        gm_case_put_wreckage(c, &t);
    struct gm_rule named = *rule;
    named.title = grade == GM_GRADE_POOR ? rule->title : "Allocator efficiency is good";
    if (is_poor(totals))
        add_of_end(c, &named, unused, &t, true);
    else
        gm_case_add(c, &named, GM_INFO, unused, &t);
}

/* " Device 1 holds 78.0 GiB of the cache." if there are several devices. */
static void put_largest_holder(struct gm_text *t, const struct gm_report *report)
{
    const struct gm_device_report *most = report->devices;
    char size[GM_SIZE_TEXT];
    for (size_t d = 1; d < report->device_count; d++)
        if (report->devices[d].totals.inactive > most->totals.inactive)
            most = &report->devices[d];
    if (report->device_count < 2)
        return;
    gm_text_printf(t, " Device %" PRId64 " holds %s of the cache.", most->device,
                   gm_size_format(size, most->totals.inactive));
}

static void find_cache(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_totals *totals = &c->report->totals;
    const struct gm_fragmentation *f = &c->report->fragmentation;
    char size[5][GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    struct gm_text t = {0};
    if (!cache_is_large(totals))
        return;
    gm_text_printf(&t,
                   "%s of %s reserved (%s %%) is cached: %s lies in memory that could go back to the driver "
                   "(torch.cuda.empty_cache() would return %s), %s is stranded next to live blocks.",
                   gm_size_format(size[0], totals->inactive), gm_size_format(size[1], totals->reserved),
                   gm_share_format(share, totals->inactive, totals->reserved), gm_size_format(size[2], f->releasable),
                   gm_size_format(size[3], f->empty_cache), gm_size_format(size[4], f->stranded));
    const char *why = gm_report_empty_cache_differs(c->report);
    if (why != NULL)
        gm_text_printf(&t, " %s", why);
    put_largest_holder(&t, c->report);
    gm_text_printf(&t, " Allocator efficiency, allocated of reserved, is %s %%: %s.",
                   gm_share_format(share, totals->allocated, totals->reserved),
                   gm_grade_name(gm_grade_of(gm_totals_efficiency(totals))));
    gm_case_put_wreckage(c, &t);
    if (!gm_case_is_wreckage(c))
        gm_text_add(&t, " A cache left by a past peak is harmless unless another process, NCCL or a later and larger "
                        "block needs the memory.");
    struct gm_finding *added = add_of_end(c, rule, totals->inactive, &t, true);
    if (added->severity == GM_WARNING && gm_is_share(f->empty_cache, totals->reserved, MUCH)) {
        added->rank = GM_RANK_CACHE;
        added->brief = gm_case_printf(c, "torch.cuda.empty_cache() returns %s of the cache",
                                      gm_size_format(size[0], f->empty_cache));
    }
}

static void find_large_blocks(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_fragmentation *f = &c->report->fragmentation;
    const uint64_t blocks = f->unused_over_100mib.blocks;
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT];
    struct gm_text t = {0};
    if (blocks == 0)
        return;
    gm_size_format(a, f->unused_over_100mib.bytes);
    if (blocks == 1)
        gm_text_printf(&t, "One cached block is over 100 MiB: %s. It serves", a);
    else
        gm_text_printf(&t, "%" PRIu64 " cached blocks of over 100 MiB hold %s, the largest %s. They serve", blocks, a,
                       gm_size_format(b, f->largest_inactive));
    gm_text_printf(&t, " again when a request of about %s size comes on the same stream",
                   blocks == 1 ? "its" : "their");
    const bool is_told = cache_is_large(&c->report->totals); /* what goes back, and that it is much */
    if (is_told)
        gm_text_add(&t, ".");
    else
        gm_text_printf(
            &t,
            "; if none does, torch.cuda.empty_cache() after the peak gives back what lies in no segment with "
            "a live block (it would return %s now).",
            gm_size_format(b, f->empty_cache));
    gm_case_put_wreckage(c, &t);
    struct gm_finding *added = add_of_end(c, rule, f->unused_over_100mib.bytes, &t, true);
    if (is_told || !is_poor(&c->report->totals)) /* all of what is cached is no warning, or has one */
        added->severity = GM_INFO;
}

/* With a trace its growths say more, and a replay tells what a setting would do. */
static void find_stranded(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_evidence *e = &c->report->evidence;
    const uint64_t reserved = c->report->totals.reserved;
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (gm_case_has_allocs(c) || c->report->expandable_is_on || e->is_async || e->stranded_fixed < 256 * GM_MIB ||
        !gm_is_share(e->stranded_fixed, reserved, 0.05))
        return;
    gm_case_say(c, rule, GM_INFO, e->stranded_fixed,
                "%s (%s %% of reserved) is cached inside partly used cudaMalloc segments: it cannot go back to the "
                "driver, and serves no request that is larger than its pieces. What another allocator setting would do "
                "can be replayed from a trace of allocations, which this file does not have.",
                gm_size_format(size, e->stranded_fixed), gm_share_format(share, e->stranded_fixed, reserved));
}

static void find_private(struct gm_case *c, const struct gm_rule *rule)
{
    const uint64_t cached = c->report->evidence.cached_private, reserved = c->report->totals.reserved;
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (cached >= 100 * GM_MIB && gm_is_share(cached, reserved, 0.02))
        gm_case_say(c, rule, GM_INFO, cached,
                    "%s (%s %% of reserved) is cached in private pools (CUDA graphs, MemPool). empty_cache() does not "
                    "return it while the graph or pool lives, and no other pool can use it. Graphs that share one pool "
                    "(pool=graph.pool()) share this memory.",
                    gm_size_format(size, cached), gm_share_format(share, cached, reserved));
}

/* Inactive bytes of side streams, on devices where they are not all there is. */
static uint64_t cached_on_side_streams(const struct gm_report *report)
{
    uint64_t cached = 0;
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_device_report *device = &report->devices[d];
        uint64_t side = 0;
        size_t in_use = 0;
        for (size_t i = 0; i < device->stream_count; i++) {
            in_use += device->streams[i].totals.reserved > 0;
            side = device->streams[i].number == 0 ? side : gm_sat_add(side, device->streams[i].totals.inactive);
        }
        if (in_use >= 2)
            cached = gm_sat_add(cached, side);
    }
    return cached;
}

static void find_side_streams(struct gm_case *c, const struct gm_rule *rule)
{
    const uint64_t cached = cached_on_side_streams(c->report), reserved = c->report->totals.reserved;
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (cached >= 256 * GM_MIB && gm_is_share(cached, reserved, 0.1))
        gm_case_say(c, rule, GM_INFO, cached,
                    "%s (%s %% of reserved) is cached for streams other than the default one. A block can be reused on "
                    "its own stream only; allocating on the main stream and calling record_stream where the tensor is "
                    "used on another keeps one cache.",
                    gm_size_format(size, cached), gm_share_format(share, cached, reserved));
}

static void find_pending(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_totals *totals = &c->report->totals;
    char size[GM_SIZE_TEXT];
    if (totals->pending >= 16 * GM_MIB && gm_is_share(totals->pending, totals->reserved, 0.005))
        gm_case_say(c, rule, GM_INFO, totals->pending,
                    "%s was freed by the program but may still be in use on another stream (record_stream), so it "
                    "cannot be reused yet. Freeing it later, after the other stream was waited for, or not calling "
                    "record_stream where an event wait exists already, shortens this.",
                    gm_size_format(size, totals->pending));
}

static const struct gm_rule rules[] = {
    {.id = "large-cache",
     .title = "More than 10 % of reserved memory is cached and unused",
     .find = find_cache,
     .severity = "info where a trace was looked at, or after an error; else warning",
     .when = "inactive memory is at least 100 MiB and 10 % of reserved. Names the allocator's efficiency, too",
     .what_to_do = "Nothing, if another peak will use it; else `torch.cuda.empty_cache()` after the peak"},
    {.id = "large-unused-blocks",
     .title = "Large blocks are unused",
     .find = find_large_blocks,
     .severity = "info where a trace was looked at, after an error, or where `large-cache` tells of all that is cached "
                 "or that is no warning; else warning",
     .when = "any inactive block of over 100 MiB",
     .what_to_do = "Look for the step that needed such a block once; `torch.cuda.empty_cache()` after it"},
    {.id = "allocator-efficiency",
     .title = "Allocator efficiency is poor",
     .find = find_grade,
     .unit = " unused",
     .severity =
         "info where a trace was looked at, after an error, if it is good, or if less than 512 MiB are unused; else "
         "warning",
     .when = "allocated is at most 98 % of reserved (at least 1 MiB), and `large-cache` does not say it. Good from 95 "
             "%, poor below; called small below 100 MiB",
     .what_to_do = "`torch.cuda.empty_cache()` after the peak, if something else needs the memory"},
    {.id = "stranded-memory",
     .title = "Cached memory is stranded between live blocks",
     .find = find_stranded,
     .severity = "info",
     .when = "there is no trace with an allocation, and at least 256 MiB and 5 % of reserved are stranded in "
             "`cudaMalloc` segments of the default pools; not if expandable segments or `cudaMallocAsync` are on, nor "
             "after an error",
     .what_to_do = "Record a trace: it tells what left the memory in pieces, and settings can be replayed on it"},
    {.id = "private-pool-cache",
     .title = "Private pools hold cached memory",
     .find = find_private,
     .severity = "info",
     .when = "at least 100 MiB and 2 % of reserved are inactive in private pools",
     .what_to_do = "Let CUDA graphs share one pool"},
    {.id = "side-stream-cache",
     .title = "Side streams keep a cache of their own",
     .find = find_side_streams,
     .severity = "info",
     .when = "at least 256 MiB and 10 % of reserved are inactive on streams other than the default one, of devices "
             "where two streams or more have reserved memory",
     .what_to_do = "Allocate on the main stream and call `record_stream`"},
    {.id = "pending-frees",
     .title = "Freed memory waits for other streams",
     .find = find_pending,
     .severity = "info",
     .when = "at least 16 MiB and 0.5 % of reserved are freed but may be in use on another stream",
     .what_to_do = "Wait for the other stream before freeing, or leave out `record_stream` where an event is waited "
                   "for anyway"},
};
const struct gm_theme gm_theme_cache = GM_THEME(rules);
