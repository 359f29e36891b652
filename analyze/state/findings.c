/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings: what is worth a person's attention, with the numbers that show it and what to do. Nothing is said about
 * small amounts, and no setting is recommended that is in force already.
 */
#include "analyze/base/size.h"
#include "analyze/state/pass.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FINDINGS = 32 };

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
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    const char *detail = n < 0 ? NULL : gm_arena_copy(&list->pass->report->arena, text, (size_t)n);
    if (n >= 0)
        free(text);
    list->failed |= detail == NULL;
    if (detail != NULL && list->n < MAX_FINDINGS)
        list->rows[list->n++] = (struct gm_finding){id, severity, title, detail, bytes};
}

/* part as percent of whole, in tenths ("12.3"). */
static const char *percent(char out[24], uint64_t part, uint64_t whole)
{
    double tenths = whole == 0 ? 0 : 1000.0 * (double)part / (double)whole;
    uint64_t rounded = tenths >= 1e12 ? UINT64_C(1000000000000) : (uint64_t)(tenths + 0.5);
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

static bool expandable_is_on(const struct gm_pass *pass)
{
    const struct gm_setting *setting = gm_snapshot_setting(pass->snapshot, "expandable_segments");
    return pass->evidence.expandable_bytes > 0 || (setting != NULL && setting->integer != 0) ||
           gm_alloc_conf_has(pass->snapshot, "expandable_segments:True");
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

static void find_missing_records(struct list *list, const struct gm_report *report)
{
    uint64_t without = gm_sat_sub(report->totals.allocated, report->snapshot.live_bytes_with_stack);
    struct shown t;
    if (without >= GM_MIB && is_share(without, report->totals.allocated, 0.25))
        add(list, "no-stacks", GM_INFO, without, "Much allocated memory has no stack trace",
            "%s of %s allocated (%s %%) was allocated while no stacks were recorded, so it cannot be attributed. Call "
            "torch.cuda.memory._record_memory_history(max_entries=1000000) before the model is created.",
            gm_size_format(t.size[0], without), gm_size_format(t.size[1], report->totals.allocated),
            percent(t.percent[0], without, report->totals.allocated));
    if (list->pass->evidence.events == 0 && report->totals.reserved >= GM_MIB)
        add(list, "no-trace", GM_INFO, GM_REPORT_NONE, "The file has no trace of events",
            "It shows the state at the time of the dump only; peaks before it are unknown. "
            "torch.cuda.memory._record_memory_history(max_entries=1000000) before the part of interest records the "
            "events, too.");
    if (list->pass->evidence.overflowed_devices > 0)
        add(list, "trace-overflowed", GM_INFO, GM_REPORT_NONE, "The trace lost its oldest events",
            "The recorder's ring was full on %" PRIu64 " device%s: the trace begins in the middle of the run, and what "
            "was freed before its first event is unknown. Record with a larger max_entries, or start recording "
            "later.",
            list->pass->evidence.overflowed_devices, plural(list->pass->evidence.overflowed_devices));
}

static void find_ooms(struct list *list)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    char asked[64] = "", left[96] = "";
    if (e->ooms == 0)
        return;
    if (e->oom_size != GM_ABSENT)
        snprintf(asked, sizeof asked, " The first one asked for %s", gm_size_format(t.size[0], e->oom_size));
    if (e->oom_size != GM_ABSENT && e->oom_free != GM_ABSENT)
        snprintf(left, sizeof left, " while the driver had %s left", gm_size_format(t.size[1], e->oom_free));
    const struct gm_device_report *d = list->pass->devices;
    while (d->device != e->oom_device)
        d++;
    add(list, "out-of-memory", GM_CRITICAL, e->oom_size == GM_ABSENT ? GM_REPORT_NONE : e->oom_size,
        "The trace contains out-of-memory errors",
        "%" PRIu64 " allocation%s failed.%s%s%s At the end of the trace device %" PRId64 " had %s allocated and %s "
        "cached, of which %s could go back to the driver: the categories show who holds the first, FRAGMENTATION "
        "whether the second could have served.",
        e->ooms, plural(e->ooms), asked, left, asked[0] != '\0' ? "." : "", d->device,
        gm_size_format(t.size[2], d->totals.allocated), gm_size_format(t.size[3], d->totals.inactive),
        gm_size_format(t.size[4], d->fragmentation.empty_cache));
}

/* ---- cached memory ------------------------------------------------------------------------------------------------
 */

static void find_grade(struct list *list, const struct gm_report *report)
{
    static const char *const titles[] = {"", "Allocator efficiency is poor", "Allocator efficiency is good",
                                         "Allocator efficiency is excellent"};
    const struct gm_totals *totals = &report->totals;
    enum gm_grade grade = gm_grade_of(gm_totals_efficiency(totals));
    uint64_t unused = gm_sat_sub(totals->reserved, totals->allocated);
    struct shown t;
    if (grade == GM_GRADE_NONE || totals->reserved < GM_MIB)
        return;
    bool is_serious = grade == GM_GRADE_POOR && unused >= 512 * GM_MIB;
    add(list, "allocator-efficiency", is_serious ? GM_WARNING : GM_INFO, unused, titles[grade],
        "%s of %s reserved is allocated: %s %% (over 98 %% is excellent, 95 to 98 %% good, below 95 %% poor).%s",
        gm_size_format(t.size[0], totals->allocated), gm_size_format(t.size[1], totals->reserved),
        percent(t.percent[0], totals->allocated, totals->reserved),
        grade == GM_GRADE_POOR && !is_serious ? " The unused rest is small in bytes." : "");
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
    if (totals->inactive < 100 * GM_MIB || !is_share(totals->inactive, totals->reserved, 0.1))
        return;
    add(list, "large-cache", GM_WARNING, totals->inactive, "More than 10 % of reserved memory is cached and unused",
        "%s of %s reserved (%s %%) is cached: %s lies in memory that could go back to the driver (torch.cuda."
        "empty_cache() would return %s), %s is stranded next to live blocks.%s A cache left by a past peak is harmless "
        "unless another process, NCCL or a later and larger block needs the memory.",
        gm_size_format(t.size[0], totals->inactive), gm_size_format(t.size[1], totals->reserved),
        percent(t.percent[0], totals->inactive, totals->reserved), gm_size_format(t.size[2], f->releasable),
        gm_size_format(t.size[3], f->empty_cache), gm_size_format(t.size[4], f->stranded),
        largest_holder(holder, report));
}

static void find_large_blocks(struct list *list, const struct gm_report *report)
{
    const struct gm_fragmentation *f = &report->fragmentation;
    struct shown t;
    if (f->unused_over_100mib.blocks == 0)
        return;
    add(list, "large-unused-blocks", GM_WARNING, f->unused_over_100mib.bytes, "Large blocks are unused",
        "%" PRIu64
        " cached block%s of over 100 MiB hold%s %s, the largest %s. They serve again when a request of about "
        "their size comes on the same stream; if none does, they are what torch.cuda.empty_cache() after the peak is "
        "for (it would return %s now).",
        f->unused_over_100mib.blocks, plural(f->unused_over_100mib.blocks),
        f->unused_over_100mib.blocks == 1 ? "s" : "", gm_size_format(t.size[0], f->unused_over_100mib.bytes),
        gm_size_format(t.size[1], f->largest_inactive), gm_size_format(t.size[2], f->empty_cache));
}

static void find_thin_segments(struct list *list, const struct gm_report *report)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    if (e->thin_inactive < 64 * GM_MIB || !is_share(e->thin_inactive, report->totals.reserved, 0.02))
        return;
    const struct gm_pin_row *pin = report->fragmentation.pin_count > 0 ? &report->fragmentation.pins[0] : NULL;
    add(list, "pinned-segments", GM_WARNING, e->thin_inactive, "A few live blocks keep whole segments from going back",
        "%" PRIu64 " segment%s with at most a tenth in use hold%s %s of cached memory; %" PRIu64 " live block%s "
        "(%" PRIu64 " of at most 1 MiB) keep%s them. %s%s%s Allocating long-lived tensors before the large temporary "
        "ones, or copying the survivors (x = x.clone()) before torch.cuda.empty_cache(), frees such segments.",
        e->thin_segments, plural(e->thin_segments), e->thin_segments == 1 ? "s" : "",
        gm_size_format(t.size[0], e->thin_inactive), e->thin_live, plural(e->thin_live), e->thin_small,
        e->thin_live == 1 ? "s" : "", pin != NULL ? "The block that pins most was made at: " : "",
        pin != NULL ? pin->block.site : "", pin != NULL ? "." : "");
}

static void find_expandable(struct list *list, const struct gm_report *report)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    if (expandable_is_on(list->pass) || gm_alloc_conf_has(list->pass->snapshot, "cudaMallocAsync") ||
        e->stranded_fixed < 256 * GM_MIB || !is_share(e->stranded_fixed, report->totals.reserved, 0.05))
        return;
    add(list, "try-expandable-segments", GM_INFO, e->stranded_fixed,
        "Expandable segments may shrink the stranded memory",
        "%s (%s %% of reserved) is cached inside partly used cudaMalloc segments and cannot go back or be joined "
        "across "
        "them. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may avoid much of that. Check: run the same steps with "
        "it, take a snapshot at the same point and compare reserved bytes%s.",
        gm_size_format(t.size[0], e->stranded_fixed), percent(t.percent[0], e->stranded_fixed, report->totals.reserved),
        list->pass->snapshot->has_settings ? ""
                                           : " (this file does not record the settings: make sure it is not on yet)");
}

static void find_private_and_streams(struct list *list, const struct gm_report *report)
{
    const struct gm_evidence *e = &list->pass->evidence;
    struct shown t;
    if (e->cached_private >= 100 * GM_MIB && is_share(e->cached_private, report->totals.reserved, 0.02))
        add(list, "private-pool-cache", GM_INFO, e->cached_private, "Private pools hold cached memory",
            "%s (%s %% of reserved) is cached in private pools (CUDA graphs, MemPool). empty_cache() does not return "
            "it "
            "while the graph or pool lives, and no other pool can use it. Graphs that share one pool "
            "(pool=graph.pool()) share this memory.",
            gm_size_format(t.size[0], e->cached_private),
            percent(t.percent[0], e->cached_private, report->totals.reserved));
    if (e->cached_side >= 256 * GM_MIB && is_share(e->cached_side, report->totals.reserved, 0.1))
        add(list, "side-stream-cache", GM_INFO, e->cached_side, "Side streams keep a cache of their own",
            "%s (%s %% of reserved) is cached for streams other than the default one. A block can be reused on its own "
            "stream only; allocating on the main stream and calling record_stream where the tensor is used on another "
            "keeps one cache.",
            gm_size_format(t.size[0], e->cached_side), percent(t.percent[0], e->cached_side, report->totals.reserved));
}

/* ---- live memory and settings ---------------------------------------------------------------------------------------
 */

static void find_rounding(struct list *list, const struct gm_report *report)
{
    const struct gm_totals *totals = &report->totals;
    struct shown t;
    bool rounds_up = false;
    if (totals->rounding < 64 * GM_MIB || !is_share(totals->rounding, totals->active, 0.03))
        return;
    for (size_t i = 0; i < report->setting_count; i++)
        rounds_up |=
            strncmp(report->settings[i].key, "roundup_power2_divisions", 24) == 0 && !report->settings[i].is_default;
    add(list, "rounding-waste", GM_WARNING, totals->rounding, "Rounding up of requests costs memory",
        "Live blocks are %s larger than what was asked for (%s %% of active). %s",
        gm_size_format(t.size[0], totals->rounding), percent(t.percent[0], totals->rounding, totals->active),
        rounds_up ? "roundup_power2_divisions is set: more divisions, or none, round less."
                  : "Requests just over 1 MiB, or large blocks reused for slightly smaller requests, cause this; sizes "
                    "that repeat from step to step (padded batches) avoid it.");
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

static void find_conflicts(struct list *list)
{
    const struct gm_snapshot *s = list->pass->snapshot;
    const struct gm_setting *split = gm_snapshot_setting(s, "max_split_size");
    const struct gm_setting *gc = gm_snapshot_setting(s, "garbage_collection_threshold");
    struct shown t;
    bool has_split = split != NULL && split->type == GM_SETTING_INTEGER && split->integer > 0;
    if (has_split && expandable_is_on(list->pass))
        add(list, "conflicting-settings", GM_WARNING, GM_REPORT_NONE,
            "max_split_size and expandable segments work against each other",
            "max_split_size_mb is in force (%s) together with expandable_segments:True. Blocks at or above that size "
            "are "
            "then neither split nor joined to smaller requests, so expandable segments may grow without need. Remove "
            "max_split_size_mb and compare reserved bytes.",
            gm_size_format(t.size[0], (uint64_t)split->integer));
    if (gc != NULL && gc->type == GM_SETTING_REAL && gc->real > 0 &&
        !gm_alloc_conf_has(s, "per_process_memory_fraction"))
        add(list, "gc-threshold-without-limit", GM_INFO, GM_REPORT_NONE,
            "garbage_collection_threshold may have no effect",
            "It acts only when a memory limit is in force (torch.cuda.set_per_process_memory_fraction or "
            "per_process_memory_fraction), and the recorded settings text names none.");
}

static int compare(const void *left, const void *right)
{
    const struct gm_finding *a = left, *b = right;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    uint64_t x = a->bytes == GM_REPORT_NONE ? 0 : a->bytes, y = b->bytes == GM_REPORT_NONE ? 0 : b->bytes;
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(a->id, b->id);
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
    find_expandable(&list, report);
    find_private_and_streams(&list, report);
    find_rounding(&list, report);
    find_pending(&list, report);
    find_conflicts(&list);
    find_missing_records(&list, report);
    qsort(list.rows, list.n, sizeof *list.rows, compare);
    report->findings = list.rows;
    report->finding_count = list.n;
    return !list.failed;
}
