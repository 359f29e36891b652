/* SPDX-License-Identifier: Apache-2.0
 *
 * The peak: what grows towards it, which site makes it, which device has it.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- growth ------------------------------------------------------------------------------------------------------ */

static uint64_t growth_per_step(const struct gm_device_timeline *t)
{
    return t->steps.pattern == GM_PATTERN_GROWTH && t->steps.slope < 1e18 ? (uint64_t)t->steps.slope : 0;
}

/* Whether a run out of memory was ended by what grew from step to step: at least a tenth of the peak. */
static bool was_ended_by_growth(const struct gm_view *v)
{
    const struct gm_steps *steps = &v->timeline->steps;
    return growth_per_step(v->timeline) > 0 && steps->survivor_count > 0 &&
           steps->slope * (double)steps->row_count >= (double)v->peak->requested / 10;
}

/* A leak before what is large: it ends the run however large the rest is. */
static void put_brief_growth(struct gm_case *c, struct gm_finding *f)
{
    const struct gm_steps *steps = &c->view.timeline->steps;
    const struct gm_group_row *site = gm_advice_site(&c->view);
    if (c->has_oom ? !was_ended_by_growth(&c->view) : steps->pattern != GM_PATTERN_GROWTH)
        return;
    f->brief = "keep nothing of a step: .item(), .detach(), bounded lists";
    f->site = steps->grown_at != NULL ? steps->grown_at : site != NULL ? site->label : NULL;
}

/* Of a cache of keys and values, how many tensors there are at the end of a step, and their bytes. */
struct cached {
    size_t tensors;
    uint64_t bytes;
};

static struct cached cached_at(const struct gm_lives *l, const struct gm_step_row *step)
{
    struct cached cached = {0};
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_KV_CACHE) && l->h->born[a] <= step->last_event &&
            l->h->freed[a] > step->last_event) {
            cached.tensors++;
            cached.bytes += gm_requested(l->h, a);
        }
    return cached;
}

/* Whether most of it is, since the middle of the run, a cache's that has as many tensors as then, each longer: it is of
 * a text that grows. */
static bool is_of_text(const struct gm_lives *l, const struct gm_steps *steps)
{
    const size_t to = steps->row_count - gm_min(steps->row_count, 2); /* the last is cut off */
    const size_t from = (to + steps->warm_up) / 2;
    if (from >= to)
        return false;
    const struct cached before = cached_at(l, &steps->rows[from]), after = cached_at(l, &steps->rows[to]);
    return after.tensors == before.tensors &&
           (double)gm_sat_sub(after.bytes, before.bytes) >=
               steps->slope / 2 * (double)(steps->rows[to].number - steps->rows[from].number);
}

static void find_growth(struct gm_case *c, const struct gm_rule *rule)
{
    const size_t d = gm_case_device_with_most(c, growth_per_step);
    const struct gm_steps *steps = &c->report->timelines[d].steps;
    const uint64_t slope = growth_per_step(&c->report->timelines[d]);
    struct gm_text t = {0};
    if (slope < 64 * GM_KIB || steps->pattern_detail == NULL ||
        (c->lives != NULL && d == c->view.index && is_of_text(c->lives, steps)))
        return;
    if (c->report->device_count > 1)
        gm_text_printf(&t, "Device %" PRId64 ". ", c->report->devices[d].device);
    gm_text_add(&t, steps->pattern_detail);
    gm_text_add(&t, " Look for tensors that outlive their step: losses summed without .item() or .detach(), lists, "
                    "caches, hooks.");
    struct gm_finding *f = gm_case_add(c, rule, GM_WARNING, slope, &t);
    if (!c->has_view)
        return;
    f->rank = c->has_oom && !was_ended_by_growth(&c->view) ? GM_RANK_OTHERS : GM_RANK_GROWTH;
    put_brief_growth(c, f);
}

/* ---- one site ---------------------------------------------------------------------------------------------------- */

static uint64_t best_saving(const struct gm_device_timeline *t)
{
    return t->peak.saving_count > 0 ? t->peak.savings[0].saved : 0;
}

/* What a device holds of that call site at its peak; NULL if it is not listed. */
static const struct gm_group_row *site_named(const struct gm_device_timeline *t, const char *site)
{
    for (size_t i = 0; i < t->peak.site_count; i++)
        if (strcmp(t->peak.sites[i].label, site) == 0)
            return &t->peak.sites[i];
    return NULL;
}

/* is_lasting: no line that makes such memory can be left out. */
static const char *advice_for(const struct gm_report *report, size_t d, const char *site, bool *is_lasting)
{
    struct gm_role_advice advice = {.of_site = NULL};
    const struct gm_view view = {
        .device = &report->devices[d], .peak = &report->peaks[d], .timeline = &report->timelines[d]};
    const struct gm_group_row *row = site_named(view.timeline, site);
    gm_advice_of(&advice, row == NULL ? NULL : row->role, &view, view.device->trace.allocs > 0);
    *is_lasting = advice.is_lasting;
    return advice.of_site != NULL ? advice.of_site
                                  : "Whether the memory can be spared, recomputed or moved away from the peak is worth "
                                    "a look there first.";
}

enum { LEAST_LIST = 64 /* blocks: more than most models have layers */, LEAST_SITE_MIB = 256 };

/* The site that made so many of the activations, and others so few, that a list or a hook keeps them: a graph would
 * keep what the layers beside it made, too. NULL: there is none. */
static const struct gm_saving *list_of(const struct gm_device_timeline *t)
{
    for (size_t i = 0; i < t->peak.saving_count; i++) {
        const struct gm_group_row *row = site_named(t, t->peak.savings[i].label);
        if (row != NULL && row->role != NULL && strcmp(row->role, "Activation") == 0 && row->blocks >= LEAST_LIST &&
            gm_is_share(row->bytes, gm_slice_named(t->peak.roles, t->peak.role_count, row->role).bytes, 0.9))
            return &t->peak.savings[i];
    }
    return NULL;
}

static bool is_much(const struct gm_saving *s, uint64_t peak)
{
    return s != NULL && s->saved >= LEAST_SITE_MIB * GM_MIB && gm_is_share(s->saved, peak, 0.1);
}

static void find_site(struct gm_case *c, const struct gm_rule *rule)
{
    const size_t d = gm_case_device_with_most(c, best_saving);
    const struct gm_device_report *device = &c->report->devices[d];
    const uint64_t peak = c->report->peaks[d].requested;
    const struct gm_saving *kept = device->trace.events == 0 ? list_of(&c->report->timelines[d]) : NULL;
    const struct gm_saving *s = is_much(kept, peak) ? kept : c->report->timelines[d].peak.savings;
    char size[3][GM_SIZE_TEXT];
    struct gm_finding *f;
    bool is_lasting = false;
    if (best_saving(&c->report->timelines[d]) == 0 || !is_much(s, peak) || !gm_site_has_stack(s->label))
        return; /* little, or nothing that a person could change */
    const bool is_kept = s == kept;
    const char *advice =
        is_kept ? "They are activations, and hardly any other line's are there: no graph keeps them, but a list, a "
                  "dictionary or a hook. Move them to the host, reduce them at once, or del what is done with."
                : advice_for(c->report, d, s->label, &is_lasting);
    gm_size_format(size[0], s->bytes_at_peak);
    gm_size_format(size[1], peak);
    if (device->trace.events == 0) { /* no history: the "peak" is what is live at the end */
        f = gm_case_say(c, rule, GM_INFO, s->saved,
                        "%s holds %s of %s requested that are live on device %" PRId64
                        ": no other call site holds as much. %s",
                        s->label, size[0], size[1], device->device, advice);
        f->title = is_kept ? "Many tensors of one line are kept" : "One call site holds much of what is live";
        f->rank = is_kept ? GM_RANK_SITE : f->rank;
        f->unit = NULL;
    } else {
        f = gm_case_say(c, rule, GM_INFO, s->saved,
                        "%s holds %s at the peak of device %" PRId64
                        ". Without it the peak of requested bytes would fall from %s to %s: no other call site saves "
                        "as much. %s",
                        s->label, size[0], device->device, size[1], gm_size_format(size[2], s->peak_after), advice);
        f->remedy = is_lasting ? NULL : gm_case_drop_site(c, device->device, s->label, true);
    }
    f->brief = is_kept ? ".cpu() them, or del the list" : "see what that line makes, and what keeps it";
    f->site = s->label;
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

enum { IDLE = 20 /* parts of the highest peak: what is less is no work of note */ };

/* Whether no other device has that call site of a device's peak. */
static bool is_own(const struct gm_report *report, size_t d, const struct gm_group_row *site)
{
    bool is_own = gm_site_has_stack(site->label);
    for (size_t other = 0; is_own && other < report->device_count; other++)
        is_own = other == d || site_named(&report->timelines[other], site->label) == NULL;
    return is_own;
}

const char *gm_case_site_with_most(const struct gm_case *c, size_t d)
{
    const struct gm_peak_detail *peak = &c->report->timelines[d].peak;
    for (size_t i = 0; i < peak->site_count; i++)
        if (gm_site_has_stack(peak->sites[i].label))
            return peak->sites[i].label;
    return NULL;
}

bool gm_case_is_dealt(const struct gm_case *c, const char *site)
{
    uint64_t here = 0, elsewhere = 0;
    for (size_t d = 0; d < c->report->device_count; d++) {
        const struct gm_group_row *row = site_named(&c->report->timelines[d], site);
        uint64_t *most = d == c->view.index ? &here : &elsewhere;
        *most = gm_max(*most, row != NULL ? row->bytes : 0);
    }
    return elsewhere > 0 && elsewhere <= here / 2;
}

enum { PART_OF_OWN = 20 /* of the difference: what is less is no work of its own */ };

/* Without what only that device makes, site by site. */
static void drop_own(struct gm_case *c, struct gm_set *set, size_t most, uint64_t least)
{
    const struct gm_lives *l = c->lives;
    const struct gm_peak_detail *peak = &c->report->timelines[most].peak;
    for (size_t i = 0; i < peak->site_count && peak->sites[i].bytes >= least; i++)
        for (size_t a = 0; is_own(c->report, most, &peak->sites[i]) && a < l->h->allocation_count; a++)
            if (strcmp(gm_lives_site(c->lives, gm_lives_stack(l, a)), peak->sites[i].label) == 0)
                gm_set_drop(set, a);
}

static bool is_weight_of_peak(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_PARAMETER) && gm_lives_at_peak(l, a);
}

static uint64_t weights_at_peak(const struct gm_case *c, size_t d)
{
    const struct gm_peak_detail *peak = &c->report->timelines[d].peak;
    return gm_slice_named(peak->roles, peak->role_count, "Parameter").bytes;
}

/* Whether one of two devices has a quarter more weights: it is layers that were dealt out, and no batch. */
static bool has_other_weights(const struct gm_case *c, size_t one, size_t other)
{
    const uint64_t a = weights_at_peak(c, one), b = weights_at_peak(c, other);
    return a > gm_sat_add(b, b / 4) || b > gm_sat_add(a, a / 4);
}

/* Where weights were moved from the one device to the other, most of those that are there. NULL: they were not. */
static const char *moved_at(struct gm_case *c, size_t least)
{
    struct gm_lives *l = c->lives;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t freed = gm_let_go(l->h, a) > l->h->count ? 0 : gm_let_go(l->h, a);
        const uint32_t stack =
            freed == 0 ? GM_STACK_EMPTY : gm_event_stack(&l->snapshot->events, l->h->first + freed - 1).v;
        if ((l->by[stack] & GM_BY_MOVING) == 0)
            continue;
        const struct gm_group_row *row = site_named(&c->report->timelines[least], gm_lives_site(l, stack));
        if (row != NULL && row->bytes > weights_at_peak(c, least) / 2)
            return gm_lives_place(l, stack);
    }
    return NULL;
}

/* The line that made nearly all weights of that device, but for single ones, or moved those of the other one away, if
 * it has a quarter more of them: layers were dealt out, and no batch. NULL: it has not, or no line did. */
static const char *dealt_at(struct gm_case *c, size_t most, size_t least)
{
    struct gm_set set = {.v = NULL};
    if (!has_other_weights(c, most, least) || weights_at_peak(c, most) < weights_at_peak(c, least) ||
        c->lives == NULL || c->view.index != most)
        return NULL;
    const char *moved = moved_at(c, least);
    if (moved != NULL)
        return moved;
    GM_FREED uint32_t *made = gm_lives_of_stacks(c->lives, sizeof *made);
    uint32_t most_made = 0;
    if (made == NULL)
        return NULL;
    for (size_t a = 0; a < c->lives->h->allocation_count; a++) {
        uint32_t *of_stack = &made[gm_lives_stack(c->lives, a)];
        *of_stack += is_weight_of_peak(c->lives, a);
        most_made = *of_stack > most_made ? *of_stack : most_made;
    }
    for (size_t a = 0; a < c->lives->h->allocation_count; a++)
        if (is_weight_of_peak(c->lives, a) && (most_made == 1 || made[gm_lives_stack(c->lives, a)] > 1))
            gm_set_drop(&set, a);
    const char *line = gm_lives_caller(c->lives, &set, false);
    gm_case_free_set(c, &set);
    return line;
}

/* The largest tensor that stays: it is on one device, wherever that is. */
static uint64_t largest_lasting(const struct gm_lives *l)
{
    uint64_t largest = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_lasting(l, a) && gm_lives_at_peak(l, a))
            largest = gm_max(largest, gm_requested(l->h, a));
    return largest;
}

enum { LEAST_PARTS = 3 };

static bool is_kept_at_peak(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_ACTIVATION) && gm_lives_at_peak(l, a) && l->h->born[a] > 0;
}

/* The stack that makes fewest activations of the peak, but some: the parts of a model begin with it. 0: there is none.
 */
static uint32_t beginning_of_parts(const struct gm_lives *l, size_t *parts)
{
    GM_FREED uint32_t *counts = gm_lives_of_stacks(l, sizeof *counts);
    uint32_t first = 0;
    if (counts == NULL)
        return 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        counts[gm_lives_stack(l, a)] += is_kept_at_peak(l, a);
    for (uint32_t i = 1; i < l->snapshot->stacks.count; i++)
        if ((l->by[i] & GM_BY_NOBODY) == 0 && counts[i] >= LEAST_PARTS && (first == 0 || counts[i] < counts[first]))
            first = i;
    for (uint32_t i = 1, fewest = counts[first]; i < l->snapshot->stacks.count; i++)
        first = (l->by[i] & GM_BY_NOBODY) == 0 && fewest > 0 && counts[i] == fewest + 1 ? i : first;
    *parts = first == 0 ? 0 : counts[first];
    return first;
}

/* The higher one of two peaks where parts of the model, as a whole, have moved from the end of the one device to the
 * other one, so that it is as low as it can be. */
static uint64_t after_moving(const struct gm_lives *l, uint64_t peak, uint64_t other, bool is_first)
{
    size_t parts, met = 0;
    const uint32_t beginning = beginning_of_parts(l, &parts);
    uint64_t lasting = 0, all = 0, before = 0, best = peak;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        lasting += gm_lives_is_of_weights(l, a) && gm_lives_at_peak(l, a) ? gm_requested(l->h, a) : 0;
        all += is_kept_at_peak(l, a) ? gm_requested(l->h, a) : 0;
    }
    for (size_t a = 0; beginning != 0 && a < l->h->allocation_count; a++) {
        if (!is_kept_at_peak(l, a))
            continue;
        if (gm_lives_stack(l, a) == beginning && met++ > 0) {
            const uint64_t head = before + lasting / parts * (met - 1);
            const uint64_t moved = is_first ? all + lasting - head : head;
            best = gm_min(best, gm_max(peak - gm_min(moved, peak), other + moved));
        }
        before += gm_requested(l->h, a);
    }
    return best == peak ? (peak + other) / 2 : best; /* in smaller parts, if none of those helps */
}

/* Makes everything else so much smaller. What has a segment of its own stays a multiple of its grain, so that no more
 * than before is lost to that. */
static void shrink_all(const struct gm_lives *l, struct gm_set *set, double part)
{
    const uint64_t grain = 2 * GM_MIB, own = 10 * GM_MIB;
    double left[GM_ROLE_COUNT] = {0};
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint64_t size = gm_requested(l->h, a);
        double *of_role = &left[l->role[a]], wanted = part * (double)((size + grain - 1) / grain * grain) + *of_role;
        uint64_t bytes = (uint64_t)(part * (double)size);
        if (bytes >= own && wanted >= (double)own) {
            bytes = (uint64_t)(wanted / (double)grain + 0.5) * grain;
            *of_role = wanted - (double)bytes;
        }
        gm_set_shrink(set, a, bytes);
    }
}

/* What makes it even: without the call sites that no other device has, if they make three quarters of the difference,
 * and all devices do the rest; else with everything as much smaller as the mean is, or, of two, the best cut. */
static void put_even(struct gm_case *c, struct gm_finding *f, size_t most, size_t other, uint64_t mean, bool is_pair,
                     bool is_dealt)
{
    const uint64_t peak = c->report->peaks[most].requested, least = (peak - mean) / PART_OF_OWN;
    const struct gm_peak_detail *detail = &c->report->timelines[most].peak;
    struct gm_set set = {.v = NULL};
    const struct gm_group_row *largest = NULL;
    uint64_t own = 0;
    for (size_t i = 0; i < detail->site_count && detail->sites[i].bytes >= least; i++)
        if (is_own(c->report, most, &detail->sites[i])) {
            own += detail->sites[i].bytes;
            largest = largest == NULL ? &detail->sites[i] : largest;
        }
    const bool are_weights = largest != NULL && largest->role != NULL && strcmp(largest->role, "Parameter") == 0;
    if (own >= (peak - mean) / 2 && !(is_dealt && are_weights))
        f->site = largest->label;
    if (c->lives == NULL || c->view.index != most)
        return;
    const uint64_t others = c->report->peaks[other].requested;
    const bool is_apart =
        own >= (peak - mean) / 4 * 3 && others >= peak / IDLE && !(are_weights && peak - own < others / 2);
    if (is_apart)
        drop_own(c, &set, most, least);
    else
        mean = gm_max(mean, largest_lasting(c->lives));
    if (!is_apart && is_pair)
        mean = gm_max(mean, after_moving(c->lives, peak, others, most < other));
    if (!is_apart)
        shrink_all(c->lives, &set, (double)mean / (double)peak);
    f->remedy = gm_case_remedy_of(c, &set);
    gm_case_free_set(c, &set);
}

enum { LEAST_UNEVEN_MIB = 128 };
#define UNEVEN 1.25

/* Whether it does a part of the work, by its peak or by how much it makes; not a stray tensor. */
static bool has_work(const struct gm_report *report, size_t d, size_t highest)
{
    enum { OF_PEAK = 20, OF_ALLOCS = 50, LEAST = 8 /* allocations: fewer are no work */ };
    const uint64_t allocs = report->devices[d].trace.allocs;
    return allocs > 0 && (report->peaks[d].requested >= report->peaks[highest].requested / OF_PEAK ||
                          (allocs >= LEAST && allocs >= report->devices[highest].trace.allocs / OF_ALLOCS));
}

/* " forward  net.py:3 holds 29.7 GiB in 12 blocks there and 1.8 GiB in 12 on device 0." if both devices run that line:
 * then it is the same work, on parts of unlike size. */
static const char *same_line(struct gm_case *c, const char *site, size_t most, size_t least)
{
    const struct gm_group_row *rows[2];
    const size_t devices[2] = {most, least};
    char size[2][GM_SIZE_TEXT], count[2][GM_NUMBER_TEXT];
    for (size_t i = 0; i < 2; i++) {
        rows[i] = site == NULL ? NULL : site_named(&c->report->timelines[devices[i]], site);
        if (rows[i] == NULL)
            return "";
        gm_size_format(size[i], rows[i]->bytes);
        gm_count_format(count[i], rows[i]->blocks);
    }
    return gm_case_printf(c, " %s holds %s in %s blocks there and %s in %s on device %" PRId64 ".", site, size[0],
                          count[0], size[1], count[1], c->report->devices[least].device);
}

/* Devices that work: one that peaks far above the mean runs out first. */
static void find_uneven(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_device_report *devices = c->report->devices;
    const struct gm_peak *peaks = c->report->peaks;
    size_t most = 0, least = 0, n = 0;
    double sum = 0;
    for (size_t d = 0; d < c->report->device_count; d++)
        most = devices[d].trace.allocs > 0 && peaks[d].requested > peaks[most].requested ? d : most;
    for (size_t d = 0; d < c->report->device_count; d++) {
        if (!has_work(c->report, d, most))
            continue;
        least = n == 0 || peaks[d].requested < peaks[least].requested ? d : least;
        sum += (double)peaks[d].requested;
        n++;
    }
    const uint64_t peak = n < 2 ? 0 : peaks[most].requested, mean = n < 2 ? 0 : (uint64_t)(sum / (double)n);
    const bool is_out = n >= 2 && devices[most].trace.ooms > 0;
    char size[3][GM_SIZE_TEXT];
    if (n < 2 || peak < mean + LEAST_UNEVEN_MIB * GM_MIB || (double)peak < UNEVEN * (double)mean ||
        (c->has_oom && !is_out)) /* where memory ran out, less was in use */
        return;
    const char *site = gm_case_site_with_most(c, most), *same = same_line(c, site, most, least);
    const char *dealt = dealt_at(c, most, least);
    const bool is_batch = same[0] != '\0' && dealt == NULL; /* the same code on each */
    struct gm_finding *f = gm_case_say(
        c, rule, GM_WARNING, peak - mean,
        "The peak of requested bytes was %s on device %" PRId64 " and %s on device %" PRId64
        "; the mean of %zu devices is %s.%s Device %" PRId64 " %s while others hold less: split the %s by the memory "
        "that they take.",
        gm_size_format(size[0], peak), devices[most].device, gm_size_format(size[1], peaks[least].requested),
        devices[least].device, n, gm_size_format(size[2], mean), same, devices[most].device,
        is_out ? "ran out of memory" : "runs out of memory first", is_batch ? "batch" : "batch, or the layers,");
    gm_case_is_mistake(f, rule, NULL);
    if (is_batch) {
        f->fix = "Give each device as much work: parts of equal size in tokens, nodes or pixels, not in items";
        f->snippet = "- parts = batch.chunk(devices)\n"
                     "+ parts = equal_work(batch, devices)  # by tokens or nodes";
    }
    f->site = dealt != NULL ? dealt : site;
    put_even(c, f, most, least, mean, n == 2 && has_other_weights(c, most, least), dealt != NULL);
}

static const struct gm_rule rules[] = {
    {.id = "memory-growth",
     .title = "Live memory grows from step to step",
     .find = find_growth,
     .unit = " a step",
     .needs_trace = true,
     .when =
         "the ends of steps grow steadily ([steps](steps.md)), by at least 64 KiB a step; not where as many tensors "
         "of a cache of keys and values as before get longer",
     .what_to_do = "Look at the call site named: tensors that outlive their step"},
    {.id = "peak-by-one-site",
     .title = "One call site carries much of the peak",
     .find = find_site,
     .unit = " less without it",
     .needs_trace = true,
     .severity = "info",
     .when = "without one call site the peak of requested bytes (without a trace: what is live) would be at least 256 "
             "MiB and 10 % lower; not for memory without a stack. Without a trace 64 or more activations of one line, "
             "a tenth of which other lines have, are kept by a list or a hook, and come first",
     .what_to_do = "Look there first"},
    {.id = "uneven-devices",
     .title = "One device needs much more than others",
     .find = find_uneven,
     .unit = " above the mean",
     .needs_trace = true,
     .brief = "even out the devices",
     .fix = "Split the batch, or the layers, by the memory that they take, and collect results on the host",
     .snippet = "- first, rest = layers[:n].to(0), layers[n:].to(1)\n"
                "+ first, rest = layers[:m].to(0), layers[m:].to(1)  # half the bytes",
     .means = "The program fits its devices together, and not the one that has most to do.",
     .when =
         "the highest peak of requested bytes of a device is 128 MiB and a quarter above the mean of the devices that "
         "have a twentieth of it, or make a fiftieth as many allocations; if memory ran out, on that device, too",
     .what_to_do = "Split the batch, or the layers, by the memory that they take"},
};
const struct gm_theme gm_theme_peak = GM_THEME(rules);
