/* SPDX-License-Identifier: Apache-2.0
 *
 * What the allocator did over time: growth that its cache could have spared, calls of the driver, rounding, churn.
 */
#include "analyze/diagnose/rules.h"

#include <inttypes.h>

enum { SHOWN_SITES = 3 };

bool gm_case_is_short(const struct gm_case *c)
{
    uint64_t refused = c->report->evidence.ooms;
    for (size_t d = 0; c->report->timelines != NULL && d < c->report->device_count; d++)
        refused += c->report->timelines[d].fragmentation.retries;
    return refused > 0;
}

static uint64_t avoidable(const struct gm_device_timeline *t)
{
    return t->fragmentation.growth_avoidable_bytes;
}

/* The largest growth whose request the holes of its own pool and stream would have held. */
static void put_example(struct gm_text *t, const struct gm_fragmentation_history *f)
{
    char event[GM_NUMBER_TEXT], size[4][GM_SIZE_TEXT];
    for (size_t i = 0; i < f->growth_count; i++) {
        const struct gm_growth_row *g = &f->growths[i];
        uint64_t small = g->unusable[GM_UNUSABLE_HOLE_TOO_SMALL];
        if (small == GM_REPORT_NONE || g->asked == GM_REPORT_NONE || small < g->asked)
            continue;
        gm_text_printf(t, " For example at event %s, by %s for a request of %s", gm_count_format(event, g->event),
                       gm_size_format(size[0], g->bytes), gm_size_format(size[1], g->asked));
        if (g->site != NULL)
            gm_text_printf(t, " (%s)", g->site);
        gm_text_printf(t, ", while %s lay in holes of at most %s next to live blocks.", gm_size_format(size[2], small),
                       gm_size_format(size[3], g->largest_hole));
        return;
    }
}

static void find_avoidable_growth(struct gm_case *c, const struct gm_rule *rule)
{
    const size_t d = gm_case_device_with_most(c, avoidable);
    const struct gm_device_timeline *timeline = &c->report->timelines[d];
    const struct gm_fragmentation_history *f = &timeline->fragmentation;
    /* Growths are those of the whole trace, whatever part of it the peaks are of. */
    const uint64_t whole = c->report->devices[d].trace.peak_reserved, bytes = f->growth_avoidable_bytes;
    const uint64_t peak = whole != GM_REPORT_NONE ? whole : timeline->peak_reserved.levels.reserved;
    /* What was in use at most has to be reserved all the same. */
    const uint64_t spared = gm_min(bytes, gm_less(peak, timeline->peak_active.levels.active));
    const bool is_much = spared >= GM_GIB && gm_is_share(spared, peak, 0.1);
    char n[2][GM_NUMBER_TEXT], size[3][GM_SIZE_TEXT];
    struct gm_text t = {0};
    if (bytes < 256 * GM_MIB || !gm_is_share(bytes, peak, 0.05))
        return;
    gm_text_printf(&t,
                   "On device %" PRId64 ", %s of %s growths (%s of %s%s) came although enough was cached in the right "
                   "pool and stream, only not in one piece; reserved memory peaked at %s.",
                   c->report->devices[d].device, gm_count_format(n[0], f->growths_avoidable),
                   gm_count_format(n[1], f->growth_total), gm_size_format(size[0], bytes),
                   gm_size_format(size[1], f->growth_bytes), f->growths_examined < f->growth_total ? ", or more" : "",
                   gm_size_format(size[2], peak));
    put_example(&t, f);
    if (c->report->expandable_is_on)
        gm_text_add(&t, " Expandable segments are on already: blocks that live long between short-lived ones keep the "
                        "holes apart; allocate them first.");
    struct gm_finding *found = gm_case_add(c, rule, is_much && gm_case_is_short(c) ? GM_WARNING : GM_INFO, bytes, &t);
    found->rank = is_much ? GM_RANK_CACHE : GM_RANK_OTHERS;
    found->brief = "allocate what lives long before what is large and passes";
}

/* What all devices asked of the driver. */
struct traffic {
    uint64_t retries, cycles, allocs, frees;
};

static struct traffic traffic_of(const struct gm_report *report)
{
    struct traffic sum = {0};
    for (size_t d = 0; d < report->device_count; d++) {
        const struct gm_fragmentation_history *f = &report->timelines[d].fragmentation;
        sum.retries += f->retries;
        sum.cycles += f->driver_cycles;
        sum.allocs += f->driver_allocs;
        sum.frees += f->driver_frees;
    }
    return sum;
}

static void find_retries(struct gm_case *c, const struct gm_rule *rule)
{
    const struct traffic sum = traffic_of(c->report);
    char retries[GM_NUMBER_TEXT], frees[GM_NUMBER_TEXT];
    if (sum.retries > 0)
        gm_case_say(c, rule, sum.retries >= 3 ? GM_WARNING : GM_INFO, 0,
                    "%s request%s found the device full: the allocator waited for the device, gave its cache back (%s "
                    "segment%s or pages in all) and asked again. Each such retry costs milliseconds, and the next one "
                    "may fail. A lower peak avoids them.",
                    gm_count_format(retries, sum.retries), gm_plural(sum.retries), gm_count_format(frees, sum.frees),
                    gm_plural(sum.frees));
}

static void find_driver_traffic(struct gm_case *c, const struct gm_rule *rule)
{
    const struct traffic sum = traffic_of(c->report);
    char n[3][GM_NUMBER_TEXT];
    if (sum.retries == 0 && sum.cycles >= 10)
        gm_case_say(c, rule, GM_INFO, 0,
                    "Memory went back to the driver and was taken again %s times (%s segments or pages were freed, %s "
                    "were allocated). Each of these calls waits for the device; torch.cuda.empty_cache() in a loop is "
                    "the usual cause.",
                    gm_count_format(n[0], sum.cycles), gm_count_format(n[1], sum.frees),
                    gm_count_format(n[2], sum.allocs));
}

/* ---- rounding ---------------------------------------------------------------------------------------------------- */

static uint64_t rounding(const struct gm_device_timeline *t)
{
    return t->fragmentation.rounding_bytes;
}

static bool is_much_rounding(uint64_t bytes, uint64_t active)
{
    return bytes >= 64 * GM_MIB && gm_is_share(bytes, active, 0.03);
}

static void put_peak_rounding(struct gm_text *t, const struct gm_case *c, size_t d)
{
    const struct gm_fragmentation_history *f = &c->report->timelines[d].fragmentation;
    char size[2][GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    gm_text_printf(t,
                   "At the peak of active bytes on device %" PRId64
                   " blocks were %s larger than what was asked for (%s %% of active). Most of it:",
                   c->report->devices[d].device, gm_size_format(size[0], f->rounding_bytes),
                   gm_share_format(share, f->rounding_bytes, c->report->timelines[d].peak_active.levels.active));
    for (size_t i = 0; i < f->rounding_count && i < SHOWN_SITES; i++)
        gm_text_printf(t, "%s %s (%s of %s)", i > 0 ? "," : "", f->rounding[i].site,
                       gm_size_format(size[0], f->rounding[i].waste), gm_size_format(size[1], f->rounding[i].bytes));
}

/* At the peak; where that has little of it, or there is none, at the end. */
static void find_rounding(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_totals *end = &c->report->totals;
    const bool has_trace = c->report->timelines != NULL && c->report->device_count > 0;
    const size_t d = has_trace ? gm_case_device_with_most(c, rounding) : 0;
    uint64_t bytes = has_trace ? rounding(&c->report->timelines[d]) : 0;
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    struct gm_text t = {0};
    if (bytes > 0 && is_much_rounding(bytes, c->report->timelines[d].peak_active.levels.active)) {
        put_peak_rounding(&t, c, d);
    } else if (is_much_rounding(end->rounding, end->active)) {
        bytes = end->rounding;
        gm_text_printf(&t, "Live blocks are %s larger than what was asked for (%s %% of active)",
                       gm_size_format(size, bytes), gm_share_format(share, bytes, end->active));
    } else {
        return;
    }
    gm_text_add(&t, gm_report_rounds_up(c->report)
                        ? ". roundup_power2_divisions is set: it rounds up on purpose."
                        : ". Requests just over 1 MiB, or large blocks reused for slightly smaller requests, cause "
                          "this; sizes that repeat from step to step (padded batches) avoid it.");
    gm_case_add(c, rule, GM_WARNING, bytes, &t);
}

/* ---- churn ------------------------------------------------------------------------------------------------------- */

static uint64_t temporaries(const struct gm_device_timeline *t)
{
    return t->fragmentation.temporary_allocs;
}

static void find_churn(struct gm_case *c, const struct gm_rule *rule)
{
    const size_t d = gm_case_device_with_most(c, temporaries);
    const struct gm_fragmentation_history *f = &c->report->timelines[d].fragmentation;
    const uint64_t allocs = c->report->devices[d].trace.allocs;
    const struct gm_site_stat *most = NULL;
    char n[2][GM_NUMBER_TEXT], size[GM_SIZE_TEXT];
    struct gm_text t = {0};
    if (f->temporary_allocs < 1000 || !gm_is_share(f->temporary_allocs, allocs, 0.25))
        return;
    for (size_t i = 0; i < f->churn_count; i++)
        if (most == NULL || f->churn[i].temporary_allocs > most->temporary_allocs)
            most = &f->churn[i];
    gm_text_printf(&t,
                   "On device %" PRId64 ", %s of %s allocations (%s in all) were freed before the next one was made.",
                   c->report->devices[d].device, gm_count_format(n[0], f->temporary_allocs),
                   gm_count_format(n[1], allocs), gm_size_format(size, f->temporary_bytes));
    if (most != NULL)
        gm_text_printf(&t, " Most of them, %s, come from %s.", gm_count_format(n[0], most->temporary_allocs),
                       most->site);
    gm_text_add(&t, " The allocator serves them from its cache, so they cost time on the host rather than memory; an "
                    "out= argument, an in-place operation or a fused kernel avoids them.");
    gm_case_add(c, rule, GM_INFO, 0, &t);
}

static const struct gm_rule rules[] = {
    {.id = "growth-despite-cache",
     .title = "Reserved memory grew although enough was cached",
     .find = find_avoidable_growth,
     .needs_trace = true,
     .severity =
         "info, or warning where the driver refused memory, and 1 GiB and 10 % of peak reserved could be spared",
     .when = "avoidable growths ([fragmentation](fragmentation.md)) of a device are at least 256 MiB and 5 % of its "
             "peak of reserved bytes",
     .what_to_do = "Allocate long-lived tensors first; whether another setting helps, a replay tells"},
    {.id = "allocation-retries",
     .title = "The driver refused memory until the cache was given back",
     .find = find_retries,
     .needs_trace = true,
     .severity = "warning, or info below 3",
     .when = "the driver refused a request and the cache was given back",
     .what_to_do = "Lower the peak"},
    {.id = "driver-traffic",
     .title = "Memory goes back and forth between allocator and driver",
     .find = find_driver_traffic,
     .needs_trace = true,
     .severity = "info",
     .when = "no retry, but memory went back and was taken again at least 10 times",
     .what_to_do = "No `empty_cache()` in a loop"},
    {.id = "rounding-waste",
     .title = "Rounding up of requests costs memory",
     .find = find_rounding,
     .when = "active is at least 64 MiB and 3 % larger than requested: at the peak of active bytes of a device, or at "
             "the end where there is no such peak",
     .what_to_do = "Fewer different sizes"},
    {.id = "temporary-churn",
     .title = "Many allocations live for a moment only",
     .find = find_churn,
     .needs_trace = true,
     .severity = "info",
     .when = "at least 1,000 allocations and a quarter of a device's were freed before the next one was made",
     .what_to_do = "`out=`, in-place operations, fused kernels: it saves time, not memory"},
};
const struct gm_theme gm_theme_allocator = GM_THEME(rules);
