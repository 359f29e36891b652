/* SPDX-License-Identifier: Apache-2.0
 *
 * The best there is to say, where nothing else was.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <string.h>

enum { SLACK_MIB = 512 };

static void find_nothing(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_totals *totals = &c->report->totals;
    char size[3][GM_SIZE_TEXT], share[2][GM_NUMBER_TEXT];
    if (c->n > 0 || c->lives != NULL || totals->reserved < GM_MIB || c->report->category_count == 0 ||
        gm_grade_of(gm_totals_efficiency(totals)) != GM_GRADE_EXCELLENT)
        return;
    const struct gm_slice *largest = &c->report->categories[0];
    gm_case_say(c, rule, GM_INFO, GM_REPORT_NONE,
                "%s of %s reserved is allocated (%s %%): it is what the program holds. The largest category is %s with "
                "%s (%s %%).",
                gm_size_format(size[0], totals->allocated), gm_size_format(size[1], totals->reserved),
                gm_share_format(share[0], totals->allocated, totals->reserved), largest->name,
                gm_size_format(size[2], largest->bytes), gm_share_format(share[1], largest->bytes, totals->allocated));
}

/* Most of the peak must be known by its role, or nobody can tell. */
static bool is_understood(const struct gm_view *v)
{
    const struct gm_peak_detail *peak = &v->timeline->peak;
    const uint64_t unknown = gm_slice_named(peak->roles, peak->role_count, "Unknown").bytes;
    return peak->role_count > 0 && unknown <= v->peak->requested / 2;
}

/* Whether the peak of reserved bytes is that of what was requested, but for an eighth. */
static bool is_filled(const struct gm_view *v)
{
    const uint64_t reserved = gm_view_peak_reserved(v);
    return reserved != GM_REPORT_NONE && gm_sat_sub(reserved, v->peak->requested) <= reserved / 8 + SLACK_MIB * GM_MIB;
}

static void tell_why(struct gm_text *t, const struct gm_view *v, bool has_minor)
{
    const struct gm_peak_detail *peak = &v->timeline->peak;
    const struct gm_levels then = gm_view_peak(v).levels;
    char allocs[GM_NUMBER_TEXT], used[GM_NUMBER_TEXT], size[GM_SIZE_TEXT];
    gm_text_printf(t, "None of the mistakes of the catalogue%s is among the %s allocations of the trace. ",
                   has_minor ? " that would save a twentieth" : "", gm_count_format(allocs, v->device->trace.allocs));
    if (then.reserved != GM_REPORT_NONE && then.active != GM_REPORT_NONE)
        gm_text_printf(
            t, "At the peak %s %% of what is reserved is in use: ", gm_share_format(used, then.active, then.reserved));
    else
        gm_text_add(t, "The peak: ");
    for (size_t i = 0; i < peak->role_count && i < 3; i++)
        gm_text_printf(t, "%s%s %s", i > 0 ? ", " : "", peak->roles[i].name,
                       gm_size_format(size, peak->roles[i].bytes));
    gm_text_add_char(t, '.');
}

/* Neither who made it is known nor what it is for: that it outlives steps tells it of weights only. */
static bool is_unrecorded(const struct gm_lives *l, size_t a)
{
    return l->h->born[a] == 0 && gm_lives_stack(l, a) <= GM_STACK_EMPTY && !gm_lives_is_of_weights(l, a) &&
           !gm_lives_is_role(l, a, GM_ROLE_WORKSPACE);
}

static void find_begun_late(struct gm_case *c, const struct gm_rule *rule)
{
    const uint64_t bytes = gm_lives_sum_at_peak(c->lives, is_unrecorded);
    char size[GM_SIZE_TEXT], share[GM_NUMBER_TEXT];
    if (!gm_is_share(bytes, c->lives->at_peak, 0.5))
        return;
    struct gm_finding *f =
        gm_case_say(c, rule, GM_INFO, bytes,
                    "%s of the peak (%s %%) were there before the trace begins, without a stack, and are no weights: "
                    "which code made them is not known, and no verdict on them is due. Record from before the model is "
                    "made, or with a larger max_entries.",
                    gm_size_format(size, bytes), gm_share_format(share, bytes, c->lives->at_peak));
    f->brief = "record earlier: what makes the peak was there before";
}

static void find_healthy(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_text t = {0};
    bool is_healthy = c->has_view && !c->has_oom && c->report->diagnosis.doubt_count == 0 && is_understood(&c->view) &&
                      is_filled(&c->view) && gm_case_found(c, "forward-only") == NULL &&
                      gm_case_found(c, "weights-only") == NULL && gm_case_found(c, "begun-late") == NULL &&
                      gm_case_found(c, "no-lines") == NULL;
    bool has_minor = false;
    for (size_t i = 0; i < c->n; i++) {
        has_minor |= gm_is_minor(&c->findings[i]);
        is_healthy &=
            c->findings[i].severity == GM_INFO && !gm_is_worth_setting(&c->findings[i]) &&
            (c->findings[i].rank != GM_RANK_MISTAKE || gm_is_choice(&c->findings[i]) || gm_is_minor(&c->findings[i]));
    }
    if (!is_healthy)
        return;
    tell_why(&t, &c->view, has_minor);
    struct gm_finding *f = gm_case_add(c, rule, GM_INFO, 0, &t);
    f->brief = "nothing";
}

static const struct gm_rule rules[] = {
    {.id = "begun-late",
     .title = "Most of the peak was made before the recording began",
     .find_in_lives = find_begun_late,
     .rank = GM_RANK_SITE,
     .severity = "info",
     .when =
         "half of the peak is older than the trace, has no stack, and is no weight, gradient, state of an optimizer "
         "or workspace",
     .what_to_do = "Call `_record_memory_history` before the model is made, or with a larger `max_entries`"},
    {.id = "healthy",
     .title = "No known mistake: the peak is what the program needs",
     .find = find_healthy,
     .is_last = true,
     .severity = "info",
     .when = "a trace was looked at allocation by allocation, and there is no mistake that saves 5 % (choices are "
             "none), no warning, "
             "no doubt about the trace and no out-of-memory; half of the peak has a role, and reserved memory is at "
             "most an eighth and 512 MiB above requested",
     .what_to_do = "Nothing"},
    {.id = "nothing-to-reclaim",
     .title = "Nothing to reclaim",
     .find = find_nothing,
     .severity = "info",
     .when = "no other finding, at least 1 MiB reserved and over 98 % of it allocated",
     .what_to_do = "Nothing: what is allocated is what the program holds. Look at its largest category"},
};
const struct gm_theme gm_theme_healthy = GM_THEME(rules);
