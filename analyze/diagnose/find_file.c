/* SPDX-License-Identifier: Apache-2.0
 *
 * The file itself: what is damaged, contradicts itself or was not recorded.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <inttypes.h>

#define MORE_ENTRIES "torch.cuda.memory._record_memory_history(max_entries=100_000), or more entries, "

static void find_salvaged(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_report *report = c->report;
    if (report->snapshot.is_salvaged)
        gm_case_say(c, rule, GM_WARNING, GM_REPORT_NONE,
                    "Reading stopped at byte %" PRIu64 "%s%s. Everything complete before that is in this report; "
                    "totals are lower bounds. Dump the snapshot again, if you can, before you rely on them.",
                    report->snapshot.salvaged_offset, report->snapshot.salvaged_reason != NULL ? ": " : "",
                    report->snapshot.salvaged_reason != NULL ? report->snapshot.salvaged_reason : "");
}

static void find_imbalance(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_ledger *ledger = &c->report->ledger;
    char reserved[GM_SIZE_TEXT], sum[GM_SIZE_TEXT], difference[GM_SIZE_TEXT];
    if (ledger->explanation == NULL)
        return;
    uint64_t off = ledger->residual < 0 ? 0 - (uint64_t)ledger->residual : (uint64_t)ledger->residual;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, off, "Reserved is %s, the rows of the ledger sum to %s (difference %s%s). Cause: %s.",
        gm_size_format(reserved, ledger->reserved), gm_size_format(sum, ledger->sum), ledger->residual < 0 ? "-" : "",
        gm_size_format(difference, off), ledger->explanation);
    f->rank = c->has_view && !c->has_oom ? GM_RANK_WRONG_FIGURES : GM_RANK_OTHERS;
}

/* Sizes and lives tell of some mistakes, but which line made what, and so of most, nobody can tell. */
static void find_no_lines(struct gm_case *c, const struct gm_rule *rule)
{
    char count[GM_NUMBER_TEXT];
    if (gm_lives_has_stacks(c->lives))
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_INFO, GM_REPORT_NONE,
        "None of the %s allocations of the trace has a stack: which line made what is not known, and most mistakes are "
        "told by that. Call torch.cuda.memory._record_memory_history with context=\"all\", as it does by itself.",
        gm_count_format(count, c->lives->h->allocation_count));
    f->brief = "record with stacks: without, most mistakes cannot be told";
}

static void find_no_stacks(struct gm_case *c, const struct gm_rule *rule)
{
    const uint64_t allocated = c->report->totals.allocated;
    const uint64_t without = gm_sat_sub(allocated, c->report->snapshot.live_bytes_with_stack);
    char part[GM_SIZE_TEXT], whole[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (without < GM_MIB || !gm_is_share(without, allocated, 0.25))
        return;
    struct gm_finding *f = gm_case_say(
        c, rule, GM_INFO, without,
        "%s of %s allocated (%s %%) was allocated while no stacks were recorded, so it cannot be "
        "attributed. Call " MORE_ENTRIES "before the model is created.",
        gm_size_format(part, without), gm_size_format(whole, allocated), gm_share_format(share, without, allocated));
    if (!c->has_view && gm_is_share(without, allocated, 0.5)) /* nothing else tells of it, either */
        f->rank = GM_RANK_ROLE;
}

static void find_empty(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_report *report = c->report;
    if (report->lacks_end && report->evidence.events == 0 && report->profile != NULL &&
        report->profile->asked_for_memory) {
        struct gm_finding *f = gm_case_say(
            c, rule, GM_INFO, GM_REPORT_NONE,
            "The trace was recorded with profile_memory=True, and has no [memory] event: nothing was allocated "
            "or freed in the steps that it covers, or by threads that the profiler does not watch. Have it "
            "record the first steps, too: schedule(wait=0, warmup=0, active=...).");
        f->title = "The trace has no memory events";
        f->brief = "have the profiler record the first steps, too";
    } else if (report->lacks_end && report->evidence.events == 0) {
        struct gm_finding *f =
            gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                        "A trace of torch.profiler has [memory] events only if it was asked for them. Record it with "
                        "profile_memory=True; record_shapes=True and with_stack=True tell what made each allocation.");
        f->title = "The trace has no memory events";
        f->brief = "profile_memory=True";
    } else if (report->evidence.events == 0 && report->snapshot.segments == 0 && !report->snapshot.is_salvaged)
        gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                    "No memory was reserved when it was dumped, and no event was recorded. It was dumped in a process "
                    "that did not use the device, before the first or after the last of its memory. Dump in the "
                    "process that runs the model, each rank its own, while the memory is held; "
                    "torch.cuda.memory._record_memory_history(max_entries=100_000) before the model is created keeps "
                    "what was freed, too.");
}

static void find_no_trace(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_report *report = c->report;
    const uint64_t events = report->evidence.events;
    if (events == 0 && report->totals.reserved >= GM_MIB)
        gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                    "It shows the state at the time of the dump only; peaks before it are unknown. " MORE_ENTRIES
                    "before the part of interest records the events, too.");
    else if (events > 0 && !gm_case_has_allocs(c))
        gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                    "It has %" PRIu64 " event%s, none of which is an allocation: the peak told here is that of this "
                    "rest only, earlier ones are unknown. Only the newest max_entries events are kept (a single one by "
                    "default in early versions of PyTorch 2): " MORE_ENTRIES "before the part of interest.",
                    events, gm_plural(events))
            ->title = "The trace holds no allocation";
}

static void find_overflow(struct gm_case *c, const struct gm_rule *rule)
{
    const uint64_t devices = c->report->evidence.overflowed_devices;
    if (devices > 0)
        gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                    "The recorder's ring was full on %" PRIu64 " device%s: the trace begins in the middle of the run, "
                    "and what was freed before its first event is unknown. Record with a larger max_entries, or start "
                    "recording later.",
                    devices, gm_plural(devices));
}

static const struct gm_rule rules[] = {
    {.id = "salvaged-file",
     .title = "The file is damaged; only its readable part was analysed",
     .find = find_salvaged,
     .when = "the file is damaged or cut off",
     .what_to_do = "Dump again; until then, totals are lower bounds"},
    {.id = "books-do-not-balance",
     .title = "The file's numbers do not add up",
     .find = find_imbalance,
     .when = "the rows of the ledger do not sum to reserved",
     .what_to_do = "Read the cause; do not rely on the totals"},
    {.id = "no-stacks",
     .title = "Much allocated memory has no stack trace",
     .find = find_no_stacks,
     .severity = "info",
     .when = "at least 1 MiB and 25 % of allocated have no stack",
     .what_to_do = "Record (`torch.cuda.memory._record_memory_history`) before the model is built"},
    {.id = "no-lines",
     .title = "The trace was recorded without stacks",
     .find_in_lives = find_no_lines,
     .rank = GM_RANK_SITE,
     .severity = "info",
     .when = "there are allocations in the trace, and none has a stack",
     .what_to_do = "Record with `context=\"all\"`, the default"},
    {.id = "empty-snapshot",
     .title = "The snapshot is empty",
     .find = find_empty,
     .rank = GM_RANK_SITE,
     .severity = "info",
     .when = "no segment and no event",
     .what_to_do = "Dump in the process that uses the device, while it holds its memory"},
    {.id = "no-trace",
     .title = "The file has no trace of events",
     .find = find_no_trace,
     .severity = "info",
     .when = "there is no event, and at least 1 MiB is reserved; or there are events, but none of them allocates",
     .what_to_do = "Record with `max_entries=100_000` or more"},
    {.id = "trace-overflowed",
     .title = "The trace lost its oldest events",
     .find = find_overflow,
     .severity = "info",
     .when = "the recorder's ring was full on a device",
     .what_to_do = "More `max_entries`, or start later"},
};
const struct gm_theme gm_theme_file = GM_THEME(rules);
