/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings that need the history of a run. They join those of the state (analyze/state/state_findings.c); where both
 * see the same matter, what is said here replaces what is said there. Thresholds: docs/findings.md.
 */
#include "analyze/timeline/finding_list.h"
#include "analyze/timeline/fragmentation/fragmentation.h"

#include "analyze/base/size.h"
#include "analyze/base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 16, SHOWN_SITES = 3 };

struct gm_finding *gm_finding_known(struct gm_finding_list *list, const char *id)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->rows[i].id, id) == 0)
            return &list->rows[i];
    return NULL;
}

void gm_finding_add(struct gm_finding_list *list, const char *id, enum gm_severity severity, uint64_t bytes,
                    const char *title, struct gm_text *detail)
{
    struct gm_finding *row = gm_finding_known(list, id);
    const char *copy = detail->failed ? NULL : gm_arena_copy(&list->report->arena, detail->data, detail->length);
    gm_text_free(detail);
    list->failed |= copy == NULL;
    list->has_news = true;
    if (copy == NULL)
        return;
    if (row == NULL)
        row = &list->rows[list->n++]; /* fewer ids here than ROOM */
    *row = (struct gm_finding){id, severity, title, copy, bytes > 0 ? bytes : GM_REPORT_NONE};
}

void gm_finding_put_size(struct gm_text *t, uint64_t bytes)
{
    char size[GM_SIZE_TEXT];
    gm_text_add(t, gm_size_format(size, bytes));
}

static void put_percent(struct gm_text *t, uint64_t part, uint64_t whole)
{
    double tenths = whole == 0 ? 0 : 1000.0 * (double)part / (double)whole;
    uint64_t rounded = tenths >= 1e12 ? UINT64_C(1000000000000) : (uint64_t)(tenths + 0.5);
    gm_text_printf(t, "%" PRIu64 ".%u %%", rounded / 10, (unsigned)(rounded % 10));
}

static bool is_share(uint64_t part, uint64_t whole, double at_least)
{
    return whole > 0 && (double)part >= at_least * (double)whole;
}

static int64_t device_of(const struct gm_finding_list *list, size_t d)
{
    return list->report->devices[d].device;
}

/* ---- out of memory ------------------------------------------------------------------------------------------------
 */

static void put_live(struct gm_text *t, const struct gm_oom_row *oom)
{
    gm_text_add(t, " When it failed, ");
    gm_finding_put_size(t, oom->levels.requested);
    gm_text_add(t, " was live (requested bytes)");
    for (size_t i = 0; i < oom->category_count && i < SHOWN_SITES; i++) {
        gm_text_printf(t, "%s%s ", i > 0 ? ", " : ": ", oom->categories[i].name);
        gm_finding_put_size(t, oom->categories[i].bytes);
    }
    gm_text_add_char(t, '.');
}

static void put_grew(struct gm_text *t, const struct gm_oom_row *oom)
{
    if (oom->grew_count == 0)
        return;
    gm_text_printf(t, " Grew most %s: ", oom->grew_since);
    for (size_t i = 0; i < oom->grew_count && i < SHOWN_SITES; i++) {
        gm_text_printf(t, "%s%s +", i > 0 ? ", " : "", oom->grew[i].label);
        gm_finding_put_size(t, oom->grew[i].bytes);
    }
    gm_text_add_char(t, '.');
}

static void put_oom_advice(struct gm_text *t, const struct gm_finding_list *list, const struct gm_oom_row *oom,
                           size_t d)
{
    uint64_t left = list->report->devices[d].totals.requested;
    if ((oom->verdict == GM_OOM_FRAGMENTATION || oom->verdict == GM_OOM_BOTH) && list->report->expandable_is_on)
        gm_text_add(t, " Expandable segments are on already: what pins the largest holes is in the section on out of "
                       "memory.");
    if (left >= oom->levels.requested)
        return;
    gm_text_add_char(t, ' ');
    gm_finding_put_size(t, oom->levels.requested - left);
    gm_text_add(t, " was freed afterwards, before the snapshot was taken");
    gm_text_add(t, left < oom->levels.requested / 2
                       ? ": the tables of live memory show what survived the error, not what filled the device."
                       : ".");
}

static void find_oom(struct gm_finding_list *list)
{
    static const char *const titles[] = {[GM_OOM_UNKNOWN] = "The trace contains out-of-memory errors",
                                         [GM_OOM_CAPACITY] = "Out of memory: what was live filled the device",
                                         [GM_OOM_FRAGMENTATION] = "Out of memory although enough was cached",
                                         [GM_OOM_BOTH] =
                                             "Out of memory: the device was nearly full, and its cache in pieces"};
    uint64_t ooms = 0;
    size_t d = list->report->device_count;
    for (size_t i = list->report->device_count; i > 0; i--) {
        ooms += list->report->devices[i - 1].trace.ooms;
        d = list->passes[i - 1].out->oom_count > 0 ? i - 1 : d;
    }
    if (d == list->report->device_count)
        return;
    const struct gm_oom_row *oom = &list->passes[d].out->ooms[0];
    struct gm_text t = {0};
    gm_text_add_count(&t, ooms);
    gm_text_printf(&t, " allocation%s failed. The first, event ", ooms == 1 ? "" : "s");
    gm_text_add_count(&t, oom->event);
    gm_text_printf(&t, " of device %" PRId64, device_of(list, d));
    if (oom->site != NULL)
        gm_text_printf(&t, ", was made by %s", oom->site);
    gm_text_printf(&t, ". %s", oom->verdict_detail);
    put_live(&t, oom);
    put_grew(&t, oom);
    put_oom_advice(&t, list, oom, d);
    gm_finding_add(list, "out-of-memory", GM_CRITICAL, oom->asked == GM_REPORT_NONE ? 0 : oom->asked,
                   titles[oom->verdict], &t);
}

/* ---- growth -------------------------------------------------------------------------------------------------------
 */

static size_t device_with_most(const struct gm_finding_list *list, uint64_t (*bytes)(const struct gm_device_timeline *))
{
    size_t most = 0;
    for (size_t d = 1; d < list->report->device_count; d++)
        if (bytes(list->passes[d].out) > bytes(list->passes[most].out))
            most = d;
    return most;
}

static uint64_t avoidable(const struct gm_device_timeline *t)
{
    return t->fragmentation.growth_avoidable_bytes;
}

/* The largest growth whose request the holes of its own pool and stream would have held. */
static void put_example(struct gm_text *t, const struct gm_fragmentation_history *f)
{
    for (size_t i = 0; i < f->growth_count; i++) {
        const struct gm_growth_row *g = &f->growths[i];
        uint64_t small = g->unusable[GM_UNUSABLE_HOLE_TOO_SMALL];
        if (small == GM_REPORT_NONE || g->asked == GM_REPORT_NONE || small < g->asked)
            continue;
        gm_text_add(t, " For example at event ");
        gm_text_add_count(t, g->event);
        gm_text_add(t, ", by ");
        gm_finding_put_size(t, g->bytes);
        gm_text_add(t, " for a request of ");
        gm_finding_put_size(t, g->asked);
        if (g->site != NULL)
            gm_text_printf(t, " (%s)", g->site);
        gm_text_add(t, ", while ");
        gm_finding_put_size(t, small);
        gm_text_add(t, " lay in holes of at most ");
        gm_finding_put_size(t, g->largest_hole);
        gm_text_add(t, " next to live blocks.");
        return;
    }
}

static void find_avoidable_growth(struct gm_finding_list *list)
{
    size_t d = device_with_most(list, avoidable);
    const struct gm_device_timeline *out = list->passes[d].out;
    const struct gm_fragmentation_history *f = &out->fragmentation;
    /* Growths are those of the whole trace, whatever part of it the peaks are of. */
    const uint64_t whole = list->report->devices[d].trace.peak_reserved;
    uint64_t bytes = f->growth_avoidable_bytes,
             peak = whole != GM_REPORT_NONE ? whole : out->peak_reserved.levels.reserved;
    struct gm_text t = {0};
    if (bytes < 256 * GM_MIB || !is_share(bytes, peak, 0.05))
        return;
    gm_text_printf(&t, "On device %" PRId64 ", ", device_of(list, d));
    gm_text_add_count(&t, f->growths_avoidable);
    gm_text_add(&t, " of ");
    gm_text_add_count(&t, f->growth_total);
    gm_text_add(&t, " growths (");
    gm_finding_put_size(&t, bytes);
    gm_text_add(&t, " of ");
    gm_finding_put_size(&t, f->growth_bytes);
    gm_text_add(&t, f->growths_examined < f->growth_total ? ", or more" : "");
    gm_text_add(&t, ") came although enough was cached in the right pool and stream, only not in one piece; reserved "
                    "memory peaked at ");
    gm_finding_put_size(&t, peak);
    gm_text_add_char(&t, '.');
    put_example(&t, f);
    if (list->report->expandable_is_on)
        gm_text_add(&t, " Expandable segments are on already: blocks that live long between short-lived ones keep the "
                        "holes apart; allocate them first.");
    gm_finding_add(list, "growth-despite-cache", bytes >= GM_GIB && is_share(bytes, peak, 0.1) ? GM_WARNING : GM_INFO,
                   bytes, "Reserved memory grew although enough was cached", &t);
}

static void find_driver_traffic(struct gm_finding_list *list)
{
    uint64_t retries = 0, cycles = 0, allocs = 0, frees = 0;
    for (size_t d = 0; d < list->report->device_count; d++) {
        const struct gm_fragmentation_history *f = &list->passes[d].out->fragmentation;
        retries += f->retries;
        cycles += f->driver_cycles;
        allocs += f->driver_allocs;
        frees += f->driver_frees;
    }
    struct gm_text t = {0};
    if (retries > 0) {
        gm_text_add_count(&t, retries);
        gm_text_printf(&t,
                       " request%s found the device full: the allocator waited for the device, gave its cache back (",
                       retries == 1 ? "" : "s");
        gm_text_add_count(&t, frees);
        gm_text_printf(&t,
                       " segment%s or pages in all) and asked again. Each such retry costs milliseconds, and the next "
                       "one may fail. A lower peak avoids them.",
                       frees == 1 ? "" : "s");
        gm_finding_add(list, "allocation-retries", retries >= 3 ? GM_WARNING : GM_INFO, 0,
                       "The driver refused memory until the cache was given back", &t);
    } else if (cycles >= 10) {
        gm_text_add(&t, "Memory went back to the driver and was taken again ");
        gm_text_add_count(&t, cycles);
        gm_text_add(&t, " times (");
        gm_text_add_count(&t, frees);
        gm_text_add(&t, " segments or pages were freed, ");
        gm_text_add_count(&t, allocs);
        gm_text_add(&t, " were allocated). Each of these calls waits for the device; torch.cuda.empty_cache() in a "
                        "loop is the usual cause.");
        gm_finding_add(list, "driver-traffic", GM_INFO, 0, "Memory goes back and forth between allocator and driver",
                       &t);
    }
}

/* ---- steps --------------------------------------------------------------------------------------------------------
 */

static uint64_t growth_per_step(const struct gm_device_timeline *t)
{
    return t->steps.pattern == GM_PATTERN_GROWTH && t->steps.slope > 0 && t->steps.slope < 1e18
               ? (uint64_t)t->steps.slope
               : 0;
}

static void find_pattern(struct gm_finding_list *list)
{
    size_t d = device_with_most(list, growth_per_step);
    const struct gm_steps *steps = &list->passes[d].out->steps;
    uint64_t slope = growth_per_step(list->passes[d].out);
    struct gm_text t = {0};
    if (slope < 64 * GM_KIB || steps->pattern_detail == NULL)
        return;
    if (list->report->device_count > 1)
        gm_text_printf(&t, "Device %" PRId64 ". ", device_of(list, d));
    gm_text_add(&t, steps->pattern_detail);
    gm_text_add(&t, " Look for tensors that outlive their step: losses summed without .item() or .detach(), lists, "
                    "caches, hooks.");
    gm_finding_add(list, "memory-growth", GM_WARNING, slope, "Live memory grows from step to step", &t);
}

/* ---- rounding, churn, savings -------------------------------------------------------------------------------------
 */

static uint64_t rounding(const struct gm_device_timeline *t)
{
    return t->fragmentation.rounding_bytes;
}

static void find_rounding(struct gm_finding_list *list)
{
    size_t d = device_with_most(list, rounding);
    const struct gm_device_timeline *out = list->passes[d].out;
    const struct gm_fragmentation_history *f = &out->fragmentation;
    struct gm_text t = {0};
    if (f->rounding_bytes < 64 * GM_MIB || !is_share(f->rounding_bytes, out->peak_active.levels.active, 0.03))
        return;
    gm_text_printf(&t, "At the peak of active bytes on device %" PRId64 " blocks were ", device_of(list, d));
    gm_finding_put_size(&t, f->rounding_bytes);
    gm_text_add(&t, " larger than what was asked for (");
    put_percent(&t, f->rounding_bytes, out->peak_active.levels.active);
    gm_text_add(&t, " of active). Most of it:");
    for (size_t i = 0; i < f->rounding_count && i < SHOWN_SITES; i++) {
        gm_text_printf(&t, "%s %s (", i > 0 ? "," : "", f->rounding[i].site);
        gm_finding_put_size(&t, f->rounding[i].waste);
        gm_text_add(&t, " of ");
        gm_finding_put_size(&t, f->rounding[i].bytes);
        gm_text_add_char(&t, ')');
    }
    gm_text_add(&t, gm_report_rounds_up(list->report)
                        ? ". roundup_power2_divisions is set: it rounds up on purpose."
                        : ". Requests just over 1 MiB, or large blocks reused for slightly smaller requests, cause "
                          "this; sizes that repeat from step to step (padded batches) avoid it.");
    gm_finding_add(list, "rounding-waste", GM_WARNING, f->rounding_bytes, "Rounding up of requests costs memory", &t);
}

static uint64_t temporaries(const struct gm_device_timeline *t)
{
    return t->fragmentation.temporary_allocs;
}

static void find_churn(struct gm_finding_list *list)
{
    size_t d = device_with_most(list, temporaries);
    const struct gm_fragmentation_history *f = &list->passes[d].out->fragmentation;
    uint64_t allocs = list->report->devices[d].trace.allocs;
    const struct gm_site_stat *most = NULL;
    struct gm_text t = {0};
    if (f->temporary_allocs < 1000 || !is_share(f->temporary_allocs, allocs, 0.25))
        return;
    for (size_t i = 0; i < f->churn_count; i++)
        if (most == NULL || f->churn[i].temporary_allocs > most->temporary_allocs)
            most = &f->churn[i];
    gm_text_printf(&t, "On device %" PRId64 ", ", device_of(list, d));
    gm_text_add_count(&t, f->temporary_allocs);
    gm_text_add(&t, " of ");
    gm_text_add_count(&t, allocs);
    gm_text_add(&t, " allocations (");
    gm_finding_put_size(&t, f->temporary_bytes);
    gm_text_add(&t, " in all) were freed before the next one was made.");
    if (most != NULL) {
        gm_text_add(&t, " Most of them, ");
        gm_text_add_count(&t, most->temporary_allocs);
        gm_text_printf(&t, ", come from %s.", most->site);
    }
    gm_text_add(&t, " The allocator serves them from its cache, so they cost time on the host rather than memory; an "
                    "out= argument, an in-place operation or a fused kernel avoids them.");
    gm_finding_add(list, "temporary-churn", GM_INFO, 0, "Many allocations live for a moment only", &t);
}

static uint64_t best_saving(const struct gm_device_timeline *t)
{
    return t->peak.saving_count > 0 ? t->peak.savings[0].saved : 0;
}

/* Of most of what the site holds at the peak; GM_ROLE_UNKNOWN if it is not listed or has none. */
static enum gm_role role_of(const struct gm_peak_detail *peak, const char *site)
{
    for (size_t i = 0; i < peak->site_count; i++) {
        if (strcmp(peak->sites[i].label, site) != 0)
            continue;
        for (int role = 0; role < GM_ROLE_COUNT; role++)
            if (peak->sites[i].role != NULL && strcmp(peak->sites[i].role, gm_role_name((enum gm_role)role)) == 0)
                return (enum gm_role)role;
    }
    return GM_ROLE_UNKNOWN;
}

/* What can be done about memory of that role; it is of most of what the site holds. `has_trace`: a history of
 * allocations, so that what is not in it did not happen. */
static const char *advice_for(enum gm_role role, const struct gm_device_timeline *out, uint64_t peak, bool has_trace)
{
    const bool has_backward = !has_trace || gm_steps_has_phase(&out->steps, GM_PHASE_BACKWARD, GM_REPORT_NONE);
    const bool is_forward =
        has_trace && peak != GM_REPORT_NONE && gm_steps_has_phase(&out->steps, GM_PHASE_FORWARD, peak);
    switch (role) {
    case GM_ROLE_PARAMETER:
        return "They are parameters: a smaller type, sharding or offloading lowers them.";
    case GM_ROLE_OPTIMIZER_STATE:
        return "It is optimizer state: sharding, offloading or an optimizer that keeps less lowers it.";
    case GM_ROLE_GRADIENT:
        return is_forward || !has_backward
                   ? "Most of it are gradients of an earlier backward pass, kept through a forward pass: "
                     "optimizer.zero_grad(set_to_none=True) before it frees them, unless they are accumulated."
                   : "They are gradients: sharding lowers them, or an optimizer step inside the backward pass.";
    case GM_ROLE_ACTIVATION:
        return has_backward ? "They are activations: checkpointing recomputes them; a smaller batch or sequence makes "
                              "fewer."
                            : "They are activations, and the trace has no backward pass: if none follows, "
                              "torch.inference_mode() keeps none of them; else checkpointing recomputes them.";
    default:
        return "Whether the memory can be spared, recomputed or moved away from the peak is worth a look there first.";
    }
}

static void find_saving(struct gm_finding_list *list)
{
    size_t d = device_with_most(list, best_saving);
    const struct gm_device_timeline *out = list->passes[d].out;
    uint64_t saved = best_saving(out), peak = list->passes[d].peak->requested;
    struct gm_text t = {0};
    if (saved < 256 * GM_MIB || !is_share(saved, peak, 0.1))
        return;
    const struct gm_saving *s = &out->peak.savings[0];
    const bool has_trace = list->report->devices[d].trace.allocs > 0;
    const char *advice = advice_for(role_of(&out->peak, s->label), out, list->passes[d].peak->event, has_trace);
    if (strcmp(s->label, "no stack recorded") == 0) /* nothing that a person could change */
        return;
    gm_text_printf(&t, "%s holds ", s->label);
    gm_finding_put_size(&t, s->bytes_at_peak);
    if (list->report->devices[d].trace.events == 0) { /* no history: the "peak" is what is live at the end */
        gm_text_add(&t, " of ");
        gm_finding_put_size(&t, peak);
        gm_text_printf(&t, " requested that are live on device %" PRId64 ": no other call site holds as much. %s",
                       device_of(list, d), advice);
        gm_finding_add(list, "peak-by-one-site", GM_INFO, saved, "One call site holds much of what is live", &t);
        return;
    }
    gm_text_printf(&t, " at the peak of device %" PRId64 ". Without it the peak of requested bytes would fall from ",
                   device_of(list, d));
    gm_finding_put_size(&t, peak);
    gm_text_add(&t, " to ");
    gm_finding_put_size(&t, s->peak_after);
    gm_text_printf(&t, ": no other call site saves as much. %s", advice);
    gm_finding_add(list, "peak-by-one-site", GM_INFO, saved, "One call site carries much of the peak", &t);
}

bool gm_trace_findings(struct gm_report *report, const struct gm_trace_pass *passes)
{
    struct gm_finding_list list = {.report = report, .passes = passes, .n = report->finding_count};
    if (report->device_count == 0)
        return true;
    list.rows = gm_arena_calloc(&report->arena, list.n + ROOM, sizeof *list.rows);
    if (list.rows == NULL)
        return false;
    if (list.n > 0)
        memcpy(list.rows, report->findings, list.n * sizeof *list.rows);
    find_oom(&list);
    find_avoidable_growth(&list);
    find_driver_traffic(&list);
    find_pattern(&list);
    find_rounding(&list);
    find_churn(&list);
    find_saving(&list);
    gm_findings_of_devices(&list);
    struct gm_finding *nothing =
        gm_finding_known(&list, "nothing-to-reclaim"); /* it is said only where nothing else is */
    if (list.has_news && nothing != NULL)
        *nothing = list.rows[--list.n];
    qsort(list.rows, list.n, sizeof *list.rows, gm_finding_order);
    report->findings = list.rows;
    report->finding_count = list.n;
    return !list.failed;
}
