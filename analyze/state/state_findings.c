/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings: what is worth a person's attention, with the numbers that show it and what to do. Nothing is said about
 * small amounts, and no setting is recommended that is in force already.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "analyze/state/state_pass.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FINDINGS = 32, CACHE_MINIMUM_MIB = 100 };

struct list {
    struct gm_pass *pass;
    struct gm_finding *rows;
    size_t n;
    bool failed;
};

static void add(struct list *list, const char *id, enum gm_severity severity, uint64_t bytes, const char *title,
                const char *format, ...) __attribute__((format(printf, 6, 7)));

static void add(struct list *list, const char *id, enum gm_severity severity, uint64_t bytes, const char *title,
                const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *detail = gm_arena_vprintf(&list->pass->report->arena, format, args);
    va_end(args);
    list->failed |= detail == NULL;
    if (detail != NULL && list->n < MAX_FINDINGS)
        list->rows[list->n++] = (struct gm_finding){id, severity, title, detail, bytes > 0 ? bytes : GM_REPORT_NONE};
}

/* part as percent of whole, in tenths ("12.3"); "<0.1" for what is there and would round to 0.0. */
static const char *percent(char out[24], uint64_t part, uint64_t whole)
{
    double tenths = whole == 0 ? 0 : 1000.0 * (double)part / (double)whole;
    uint64_t rounded = tenths >= 1e12 ? UINT64_C(1000000000000) : (uint64_t)(tenths + 0.5);
    if (rounded == 0 && part > 0 && whole > 0)
        snprintf(out, 24, "<0.1");
    else
        snprintf(out, 24, "%" PRIu64 ".%u", rounded / 10, (unsigned)(rounded % 10));
    return out;
}

static bool is_share(uint64_t part, uint64_t whole, double at_least)
{
    return whole > 0 && (double)part >= at_least * (double)whole;
}

/* The numbers of a finding as text; each use has its own slot. */
struct shown {
    char size[6][GM_SIZE_TEXT], percent[2][24];
};

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- the file itself ----------------------------------------------------------------------------------------------
 */

static void find_damage(struct list *list, const struct gm_report *report)
{
    if (report->snapshot.is_salvaged)
        add(list, "salvaged-file", GM_WARNING, GM_REPORT_NONE,
            "The file is damaged; only its readable part was analysed",
            "Reading stopped at byte %" PRIu64 "%s%s. Everything complete before that is in this report; totals are "
            "lower bounds. Dump the snapshot again, if you can, before you rely on them.",
            report->snapshot.salvaged_offset, report->snapshot.salvaged_reason != NULL ? ": " : "",
            report->snapshot.salvaged_reason != NULL ? report->snapshot.salvaged_reason : "");
    const struct gm_ledger *ledger = &report->ledger;
    if (ledger->explanation == NULL)
        return;
    uint64_t off = ledger->residual < 0 ? (uint64_t) - (ledger->residual + 1) + 1 : (uint64_t)ledger->residual;
    struct shown t;
    add(list, "books-do-not-balance", GM_WARNING, off, "The file's numbers do not add up",
        "Reserved is %s, the rows of the ledger sum to %s (difference %s%s). Cause: %s.",
        gm_size_format(t.size[0], ledger->reserved), gm_size_format(t.size[1], ledger->sum),
        ledger->residual < 0 ? "-" : "", gm_size_format(t.size[2], off), ledger->explanation);
}

/* Without allocations there is no history, whatever marks and frees a trace holds. */
static bool has_allocs(const struct list *list)
{
    for (size_t d = 0; d < list->pass->device_count; d++)
        if (list->pass->devices[d].trace.allocs > 0)
            return true;
    return false;
}

static void find_no_history(struct list *list, const struct gm_report *report)
{
    const uint64_t events = list->pass->evidence.events;
    if (events == 0 && report->snapshot.segments == 0 && !report->snapshot.is_salvaged)
        add(list, "empty-snapshot", GM_INFO, GM_REPORT_NONE, "The snapshot is empty",
            "No memory was reserved when it was dumped, and no event was recorded. It was dumped in a process that "
            "did not use the device, before the first or after the last of its memory. Dump in the process that runs "
            "the model, each rank its own, while the memory is held; "
            "torch.cuda.memory._record_memory_history(max_entries=100_000) before the model is created keeps what was "
            "freed, too.");
    else if (events == 0 && report->totals.reserved >= GM_MIB)
        add(list, "no-trace", GM_INFO, GM_REPORT_NONE, "The file has no trace of events",
            "It shows the state at the time of the dump only; peaks before it are unknown. "
            "torch.cuda.memory._record_memory_history(max_entries=100_000), or more entries, before the part of "
            "interest records the events, too.");
    else if (events > 0 && !has_allocs(list))
        add(list, "no-trace", GM_INFO, GM_REPORT_NONE, "The trace holds no allocation",
            "It has %" PRIu64 " event%s, none of which is an allocation: the peak told here is that of this rest only, "
            "earlier ones are unknown. Only the newest max_entries events are kept (a single one by default in early "
            "versions of PyTorch 2): torch.cuda.memory._record_memory_history(max_entries=100_000), or more entries, "
            "before the part of interest.",
            events, plural(events));
}

static void find_missing_records(struct list *list, const struct gm_report *report)
{
    uint64_t without = gm_sat_sub(report->totals.allocated, report->snapshot.live_bytes_with_stack);
    struct shown t;
    if (without >= GM_MIB && is_share(without, report->totals.allocated, 0.25))
        add(list, "no-stacks", GM_INFO, without, "Much allocated memory has no stack trace",
            "%s of %s allocated (%s %%) was allocated while no stacks were recorded, so it cannot be attributed. Call "
            "torch.cuda.memory._record_memory_history(max_entries=100_000), or more entries, before the model is "
            "created.",
            gm_size_format(t.size[0], without), gm_size_format(t.size[1], report->totals.allocated),
            percent(t.percent[0], without, report->totals.allocated));
    find_no_history(list, report);
    if (list->pass->evidence.overflowed_devices > 0)
        add(list, "trace-overflowed", GM_INFO, GM_REPORT_NONE, "The trace lost its oldest events",
            "The recorder's ring was full on %" PRIu64 " device%s: the trace begins in the middle of the run, and what "
            "was freed before its first event is unknown. Record with a larger max_entries, or start recording "
            "later.",
            list->pass->evidence.overflowed_devices, plural(list->pass->evidence.overflowed_devices));
}

static const struct gm_device_report *oom_device(const struct list *list)
{
    const struct gm_device_report *d = list->pass->devices;
    while (d->device != list->pass->evidence.oom_device)
        d++;
    return d;
}

static bool most_was_freed_after_oom(const struct gm_evidence *e)
{
    return e->ooms > 0 && e->oom_live != GM_ABSENT && e->oom_freed > e->oom_live / 2;
}

/* The cache at the end is mostly what the exception of an out-of-memory error released: it tells nothing about how the
 * program uses its cache. */
static bool cache_is_wreckage(const struct list *list)
{
    const struct gm_evidence *e = &list->pass->evidence;
    return most_was_freed_after_oom(e) && e->oom_freed >= oom_device(list)->totals.inactive / 2;
}

static enum gm_severity unless_wreckage(const struct list *list, enum gm_severity severity)
{
    return cache_is_wreckage(list) ? GM_INFO : severity;
}

static const char *wreckage_note(const struct list *list)
{
    return cache_is_wreckage(list) ? " This is mostly what the step that ran out of memory left when it was given up, "
                                     "not why it failed."
                                   : "";
}

/* What was live when the allocation failed, and what the snapshot still shows of it. */
static void describe_oom_live(char *out, size_t room, const struct gm_evidence *e)
{
    struct shown t;
    out[0] = '\0';
    if (e->oom_live == GM_ABSENT)
        return;
    gm_size_format(t.size[0], e->oom_live);
    gm_size_format(t.size[1], e->oom_freed);
    if (e->oom_freed == 0)
        snprintf(out, room, " When it failed, %s was live (requested bytes).", t.size[0]);
    else
        snprintf(out, room,
                 " When it failed, %s was live (requested bytes); %s was freed afterwards, before the "
                 "snapshot was taken.",
                 t.size[0], t.size[1]);
}

static void find_ooms(struct list *list)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    char asked[96] = "", left[96] = "", live[192];
    if (e->ooms == 0)
        return;
    if (e->oom_size != GM_ABSENT)
        snprintf(asked, sizeof asked, " and asked for %s", gm_size_format(t.size[0], e->oom_size));
    if (e->oom_free != GM_ABSENT)
        snprintf(left, sizeof left, " while the driver had %s left", gm_size_format(t.size[1], e->oom_free));
    describe_oom_live(live, sizeof live, e);
    add(list, "out-of-memory", GM_CRITICAL, e->oom_size == GM_ABSENT ? GM_REPORT_NONE : e->oom_size,
        "The trace contains out-of-memory errors",
        "%" PRIu64 " allocation%s failed. The first one was on device %" PRId64 "%s%s.%s %s", e->ooms, plural(e->ooms),
        e->oom_device, asked, left, live,
        most_was_freed_after_oom(e)
            ? "So the snapshot shows what survived the error, not what filled the device: look at the trace before it, "
              "or dump from an observer (torch._C._cuda_attach_out_of_memory_observer), which is called before "
              "anything is freed."
            : "The categories and the largest blocks show who holds what is still live.");
}

/* ---- cached memory ------------------------------------------------------------------------------------------------
 */

static bool cache_is_large(const struct gm_totals *totals)
{
    return totals->inactive >= CACHE_MINIMUM_MIB * GM_MIB && is_share(totals->inactive, totals->reserved, 0.1);
}

/* Where large-cache does not say it already. An excellent grade needs no action: see find_nothing. */
static void find_grade(struct list *list, const struct gm_report *report)
{
    const struct gm_totals *totals = &report->totals;
    enum gm_grade grade = gm_grade_of(gm_totals_efficiency(totals));
    uint64_t unused = gm_sat_sub(totals->reserved, totals->allocated);
    struct shown t;
    if (grade == GM_GRADE_NONE || grade == GM_GRADE_EXCELLENT || totals->reserved < GM_MIB || cache_is_large(totals))
        return;
    bool is_serious = grade == GM_GRADE_POOR && unused >= 512 * GM_MIB;
    bool is_small = unused < CACHE_MINIMUM_MIB * GM_MIB;
    add(list, "allocator-efficiency", is_serious ? unless_wreckage(list, GM_WARNING) : GM_INFO, unused,
        grade == GM_GRADE_POOR ? "Allocator efficiency is poor" : "Allocator efficiency is good",
        "%s of %s reserved is allocated: %s %% (over 98 %% is excellent, 95 to 98 %% good, below 95 %% poor).%s%s",
        gm_size_format(t.size[0], totals->allocated), gm_size_format(t.size[1], totals->reserved),
        percent(t.percent[0], totals->allocated, totals->reserved),
        grade == GM_GRADE_POOR && is_small ? " The unused rest is small in bytes." : "",
        is_small ? "" : wreckage_note(list));
}

/* " Device 1 holds 78.0 GiB of the cache." if there are several devices, else "". */
static const char *largest_holder(char out[80], const struct gm_report *report)
{
    char size[GM_SIZE_TEXT];
    const struct gm_device_report *most = report->devices;
    for (size_t d = 1; d < report->device_count; d++)
        if (report->devices[d].totals.inactive > most->totals.inactive)
            most = &report->devices[d];
    out[0] = '\0';
    if (report->device_count > 1)
        snprintf(out, 80, " Device %" PRId64 " holds %s of the cache.", most->device,
                 gm_size_format(size, most->totals.inactive));
    return out;
}

static void find_cache(struct list *list, const struct gm_report *report)
{
    const struct gm_totals *totals = &report->totals;
    const struct gm_fragmentation *f = &report->fragmentation;
    struct shown t;
    char holder[80];
    if (!cache_is_large(totals))
        return;
    const char *why = gm_report_empty_cache_differs(report);
    add(list, "large-cache", unless_wreckage(list, GM_WARNING), totals->inactive,
        "More than 10 % of reserved memory is cached and unused",
        "%s of %s reserved (%s %%) is cached: %s lies in memory that could go back to the driver (torch.cuda."
        "empty_cache() would return %s), %s is stranded next to live blocks.%s%s%s Allocator efficiency, allocated of "
        "reserved, is %s %%: %s.%s%s",
        gm_size_format(t.size[0], totals->inactive), gm_size_format(t.size[1], totals->reserved),
        percent(t.percent[0], totals->inactive, totals->reserved), gm_size_format(t.size[2], f->releasable),
        gm_size_format(t.size[3], f->empty_cache), gm_size_format(t.size[4], f->stranded), why != NULL ? " " : "",
        why != NULL ? why : "", largest_holder(holder, report),
        percent(t.percent[1], totals->allocated, totals->reserved),
        gm_grade_name(gm_grade_of(gm_totals_efficiency(totals))), wreckage_note(list),
        cache_is_wreckage(list) ? ""
                                : " A cache left by a past peak is harmless unless another process, NCCL or a later "
                                  "and larger block needs the memory.");
}

static void find_large_blocks(struct list *list, const struct gm_report *report)
{
    const struct gm_fragmentation *f = &report->fragmentation;
    struct shown t;
    if (f->unused_over_100mib.blocks == 0)
        return;
    const uint64_t blocks = f->unused_over_100mib.blocks;
    char what[96];
    if (blocks == 1)
        snprintf(what, sizeof what, "One cached block is over 100 MiB: %s. It serves",
                 gm_size_format(t.size[0], f->unused_over_100mib.bytes));
    else
        snprintf(what, sizeof what, "%" PRIu64 " cached blocks of over 100 MiB hold %s, the largest %s. They serve",
                 blocks, gm_size_format(t.size[0], f->unused_over_100mib.bytes),
                 gm_size_format(t.size[1], f->largest_inactive));
    add(list, "large-unused-blocks", unless_wreckage(list, GM_WARNING), f->unused_over_100mib.bytes,
        "Large blocks are unused",
        "%s again when a request of about %s size comes on the same stream; if none does, torch.cuda.empty_cache() "
        "after the peak gives back what lies in no segment with a live block (it would return %s now).%s",
        what, blocks == 1 ? "its" : "their", gm_size_format(t.size[2], f->empty_cache), wreckage_note(list));
}

static void find_thin_segments(struct list *list, const struct gm_report *report)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    if (e->thin_inactive < 64 * GM_MIB || !is_share(e->thin_inactive, report->totals.reserved, 0.02))
        return;
    const struct gm_pin_row *pin = report->fragmentation.pin_count > 0 ? &report->fragmentation.pins[0] : NULL;
    add(list, "pinned-segments", unless_wreckage(list, GM_WARNING), e->thin_inactive,
        "A few live blocks keep whole segments from going back",
        "%" PRIu64 " segment%s with at most a tenth in use hold%s %s of cached memory; %" PRIu64 " live block%s "
        "(%" PRIu64 " of at most 1 MiB) keep%s them. %s%s%s Allocating long-lived tensors before the large temporary "
        "ones, or copying the survivors (x = x.clone()) before torch.cuda.empty_cache(), frees such segments.%s",
        e->thin_segments, plural(e->thin_segments), e->thin_segments == 1 ? "s" : "",
        gm_size_format(t.size[0], e->thin_inactive), e->thin_live, plural(e->thin_live), e->thin_small,
        e->thin_live == 1 ? "s" : "", pin != NULL ? "The block that pins most was made at: " : "",
        pin != NULL ? pin->block.site : "", pin != NULL ? "." : "", wreckage_note(list));
}

/* With a trace its growths say more, and a replay tells what a setting would do (replay/trials). */
static void find_stranded(struct list *list, const struct gm_report *report)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    if (has_allocs(list) || report->expandable_is_on || list->pass->conf.backend == GM_BACKEND_ASYNC ||
        e->stranded_fixed < 256 * GM_MIB || !is_share(e->stranded_fixed, report->totals.reserved, 0.05))
        return;
    add(list, "stranded-memory", GM_INFO, e->stranded_fixed, "Cached memory is stranded between live blocks",
        "%s (%s %% of reserved) is cached inside partly used cudaMalloc segments: it cannot go back to the driver, and "
        "serves no request that is larger than its pieces. What another allocator setting would do can be replayed "
        "from a trace, which this file does not have.",
        gm_size_format(t.size[0], e->stranded_fixed),
        percent(t.percent[0], e->stranded_fixed, report->totals.reserved));
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

static void find_private_and_streams(struct list *list, const struct gm_report *report)
{
    const struct gm_evidence *e = &list->pass->evidence;
    uint64_t side = cached_on_side_streams(report);
    struct shown t;
    if (e->cached_private >= 100 * GM_MIB && is_share(e->cached_private, report->totals.reserved, 0.02))
        add(list, "private-pool-cache", GM_INFO, e->cached_private, "Private pools hold cached memory",
            "%s (%s %% of reserved) is cached in private pools (CUDA graphs, MemPool). empty_cache() does not return "
            "it "
            "while the graph or pool lives, and no other pool can use it. Graphs that share one pool "
            "(pool=graph.pool()) share this memory.",
            gm_size_format(t.size[0], e->cached_private),
            percent(t.percent[0], e->cached_private, report->totals.reserved));
    if (side >= 256 * GM_MIB && is_share(side, report->totals.reserved, 0.1))
        add(list, "side-stream-cache", GM_INFO, side, "Side streams keep a cache of their own",
            "%s (%s %% of reserved) is cached for streams other than the default one. A block can be reused on its own "
            "stream only; allocating on the main stream and calling record_stream where the tensor is used on another "
            "keeps one cache.",
            gm_size_format(t.size[0], side), percent(t.percent[0], side, report->totals.reserved));
}

/* ---- live memory and settings ---------------------------------------------------------------------------------------
 */

static void find_rounding(struct list *list, const struct gm_report *report)
{
    const struct gm_totals *totals = &report->totals;
    struct shown t;
    if (totals->rounding < 64 * GM_MIB || !is_share(totals->rounding, totals->active, 0.03))
        return;
    add(list, "rounding-waste", GM_WARNING, totals->rounding, "Rounding up of requests costs memory",
        "Live blocks are %s larger than what was asked for (%s %% of active). %s",
        gm_size_format(t.size[0], totals->rounding), percent(t.percent[0], totals->rounding, totals->active),
        gm_report_rounds_up(report)
            ? "roundup_power2_divisions is set: it rounds up on purpose."
            : "Requests just over 1 MiB, or large blocks reused for slightly smaller requests, cause this; sizes that "
              "repeat from step to step (padded batches) avoid it.");
}

static void find_pending(struct list *list, const struct gm_report *report)
{
    struct shown t;
    if (report->totals.pending < 16 * GM_MIB || !is_share(report->totals.pending, report->totals.reserved, 0.005))
        return;
    add(list, "pending-frees", GM_INFO, report->totals.pending, "Freed memory waits for other streams",
        "%s was freed by the program but may still be in use on another stream (record_stream), so it cannot be reused "
        "yet. Freeing it later, after the other stream was waited for, or not calling record_stream where an event "
        "wait exists already, shortens this.",
        gm_size_format(t.size[0], report->totals.pending));
}

static void find_conflicts(struct list *list, const struct gm_report *report)
{
    const struct gm_conf *conf = &list->pass->conf;
    struct shown t;
    if (conf->rules.max_split != UINT64_MAX && report->expandable_is_on)
        add(list, "conflicting-settings", GM_WARNING, GM_REPORT_NONE,
            "max_split_size and expandable segments work against each other",
            "max_split_size_mb is in force (%s) together with expandable_segments:True. Blocks at or above that size "
            "are then neither split nor joined to smaller requests, so expandable segments may grow without need.",
            gm_size_format(t.size[0], conf->rules.max_split));
    if (conf->gc_threshold > 0 && conf->memory_fraction >= 1)
        add(list, "gc-threshold-without-limit", GM_INFO, GM_REPORT_NONE,
            "garbage_collection_threshold may have no effect",
            "It acts only when a memory limit is in force (torch.cuda.set_per_process_memory_fraction or "
            "per_process_memory_fraction), and the recorded settings text names none.");
}

/* The best there is to say, where nothing else was. Categories are sorted. */
static void find_nothing(struct list *list, const struct gm_report *report)
{
    const struct gm_totals *totals = &report->totals;
    struct shown t;
    if (list->n > 0 || totals->reserved < GM_MIB || report->category_count == 0 ||
        gm_grade_of(gm_totals_efficiency(totals)) != GM_GRADE_EXCELLENT)
        return;
    const struct gm_slice *largest = &report->categories[0];
    add(list, "nothing-to-reclaim", GM_INFO, GM_REPORT_NONE, "Nothing to reclaim",
        "%s of %s reserved is allocated (%s %%): it is what the program holds. The largest category is %s with %s "
        "(%s %%).",
        gm_size_format(t.size[0], totals->allocated), gm_size_format(t.size[1], totals->reserved),
        percent(t.percent[0], totals->allocated, totals->reserved), largest->name,
        gm_size_format(t.size[2], largest->bytes), percent(t.percent[1], largest->bytes, totals->allocated));
}

bool gm_pass_findings(struct gm_pass *pass)
{
    struct gm_report *report = pass->report;
    struct list list = {.pass = pass, .rows = gm_arena_calloc(&report->arena, MAX_FINDINGS, sizeof *list.rows)};
    if (list.rows == NULL)
        return false;
    find_damage(&list, report);
    find_ooms(&list);
    find_grade(&list, report);
    find_cache(&list, report);
    find_large_blocks(&list, report);
    find_thin_segments(&list, report);
    find_stranded(&list, report);
    find_private_and_streams(&list, report);
    find_rounding(&list, report);
    find_pending(&list, report);
    find_conflicts(&list, report);
    find_missing_records(&list, report);
    find_nothing(&list, report);
    qsort(list.rows, list.n, sizeof *list.rows, gm_finding_order);
    report->findings = list.rows;
    report->finding_count = list.n;
    return !list.failed;
}
