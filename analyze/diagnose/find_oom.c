/* SPDX-License-Identifier: Apache-2.0
 *
 * Out of memory: with the history of allocations if there is one, else what single events and the end show.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <inttypes.h>

enum { SHOWN = 3 };

/* ---- of the history ---------------------------------------------------------------------------------------------- */

const char *gm_case_card(struct gm_case *c)
{
    return !c->has_oom || c->report->oom_card == NULL
               ? ""
               : gm_case_printf(c, " The smallest card with as much as that request needed is %s.",
                                c->report->oom_card);
}

static void put_slices(struct gm_text *t, const struct gm_slice *slices, size_t count)
{
    char size[GM_SIZE_TEXT];
    for (size_t i = 0; i < count && i < SHOWN; i++)
        gm_text_printf(t, "%s%s %s", i > 0 ? ", " : ": ", slices[i].name, gm_size_format(size, slices[i].bytes));
}

static void put_grew(struct gm_text *t, const struct gm_oom_row *oom)
{
    char size[GM_SIZE_TEXT];
    if (oom->grew_count == 0)
        return;
    gm_text_printf(t, " Grew most %s: ", oom->grew_since);
    for (size_t i = 0; i < oom->grew_count && i < SHOWN; i++)
        gm_text_printf(t, "%s%s +%s", i > 0 ? ", " : "", oom->grew[i].label, gm_size_format(size, oom->grew[i].bytes));
    gm_text_add_char(t, '.');
}

static void put_advice(struct gm_text *t, const struct gm_case *c, const struct gm_oom_row *oom, uint64_t left)
{
    if ((oom->verdict == GM_OOM_FRAGMENTATION || oom->verdict == GM_OOM_BOTH) && c->report->expandable_is_on)
        gm_text_add(t, " Expandable segments are on already: what pins the largest holes is in the section on out of "
                       "memory.");
    if (left >= oom->levels.requested)
        return;
    char size[GM_SIZE_TEXT];
    gm_text_printf(t, " %s was freed afterwards, before the snapshot was taken%s.",
                   gm_size_format(size, oom->levels.requested - left),
                   left < oom->levels.requested / 2
                       ? ": the tables of live memory show what survived the error, not what filled the device"
                       : "");
}

static void tell_history(struct gm_case *c, const struct gm_rule *rule, const struct gm_device_report *device,
                         const struct gm_oom_row *oom)
{
    static const char *const titles[] = {[GM_OOM_UNKNOWN] = "The trace contains out-of-memory errors",
                                         [GM_OOM_CAPACITY] = "Out of memory: what was live filled the device",
                                         [GM_OOM_FRAGMENTATION] = "Out of memory although enough was cached",
                                         [GM_OOM_BOTH] =
                                             "Out of memory: the device was nearly full, and its cache in pieces"};
    struct gm_text t = {0};
    char ooms[GM_NUMBER_TEXT], event[GM_NUMBER_TEXT], live[GM_SIZE_TEXT];
    gm_text_printf(&t,
                   "%s allocation%s failed. The first, event %s of device %" PRId64 "%s%s. %s When it failed, %s "
                   "was live (requested bytes)",
                   gm_count_format(ooms, c->report->evidence.ooms), gm_plural(c->report->evidence.ooms),
                   gm_count_format(event, oom->event), device->device, oom->site != NULL ? ", was made by " : "",
                   oom->site != NULL ? oom->site : "", oom->verdict_detail,
                   gm_size_format(live, oom->levels.requested));
    put_slices(&t, oom->categories, oom->category_count);
    gm_text_add_char(&t, '.');
    put_grew(&t, oom);
    gm_text_add(&t, gm_case_card(c));
    put_advice(&t, c, oom, device->totals.requested);
    if (!c->has_oom)
        gm_text_add(&t, " Each time the call itself went on with less, as a convolution that tries one algorithm after "
                        "another.");
    struct gm_finding *f =
        gm_case_add(c, rule, c->has_oom ? GM_CRITICAL : GM_INFO, oom->asked == GM_REPORT_NONE ? 0 : oom->asked, &t);
    f->title = c->has_oom ? titles[oom->verdict] : "Calls were refused memory, and went on with less";
    f->rank = c->has_oom ? f->rank : GM_RANK_OTHERS;
}

/* ---- of the end -------------------------------------------------------------------------------------------------- */

static bool most_was_freed(const struct gm_evidence *e)
{
    return e->ooms > 0 && e->oom_live != GM_REPORT_NONE && e->oom_freed > e->oom_live / 2;
}

bool gm_case_is_wreckage(const struct gm_case *c)
{
    const struct gm_evidence *e = &c->report->evidence;
    const struct gm_device_report *device = c->report->devices;
    if (!most_was_freed(e))
        return false;
    while (device->device != e->oom_device)
        device++;
    return e->oom_freed >= device->totals.inactive / 2;
}

static void tell_end(struct gm_case *c, const struct gm_rule *rule, const struct gm_evidence *e)
{
    struct gm_text t = {0};
    char size[GM_SIZE_TEXT];
    gm_text_printf(&t, "%" PRIu64 " allocation%s failed. The first one was on device %" PRId64, e->ooms,
                   gm_plural(e->ooms), e->oom_device);
    if (e->oom_size != GM_REPORT_NONE)
        gm_text_printf(&t, " and asked for %s", gm_size_format(size, e->oom_size));
    if (e->oom_free != GM_REPORT_NONE)
        gm_text_printf(&t, " while the driver had %s left", gm_size_format(size, e->oom_free));
    gm_text_add_char(&t, '.');
    if (e->oom_live != GM_REPORT_NONE) {
        gm_text_printf(&t, " When it failed, %s was live (requested bytes)", gm_size_format(size, e->oom_live));
        if (e->oom_freed > 0)
            gm_text_printf(&t, "; %s was freed afterwards, before the snapshot was taken",
                           gm_size_format(size, e->oom_freed));
        gm_text_add_char(&t, '.');
    }
    gm_text_add(&t, most_was_freed(e)
                        ? " So the snapshot shows what survived the error, not what filled the device: look at the "
                          "trace before it, or dump from an observer (torch._C._cuda_attach_out_of_memory_observer), "
                          "which is called before anything is freed."
                        : " The categories and the largest blocks show who holds what is still live.");
    gm_case_add(c, rule, GM_CRITICAL, e->oom_size == GM_REPORT_NONE ? 0 : e->oom_size, &t);
}

/* In the thread of a backward pass there is no Python: then the line that called it. */
static const char *place_of(struct gm_lives *l)
{
    const uint32_t stack = gm_lives_stack_at(l, l->first_oom);
    return (l->by[stack] & GM_BY_NOBODY) != 0 ? gm_lives_backward(l, l->first_oom, false) : gm_lives_place(l, stack);
}

/* Of the line, and of the pass in whose midst it stands. */
static void find_places(struct gm_case *c)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    for (size_t i = 0; i < l->there.n; i++)
        if ((gm_lives_by(l, l->there.v[i]) & GM_BY_MODULE) != 0 && gm_is_made(l->h, l->there.v[i]))
            gm_set_drop(&set, l->there.v[i]);
    c->report->diagnosis.oom_place = place_of(l);
    c->report->diagnosis.oom_pass = set.n == 0 ? NULL : gm_lives_caller(l, &set, true);
    gm_case_free_set(c, &set);
}

static void find_oom(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_report *report = c->report;
    for (size_t d = 0; report->timelines != NULL && d < report->device_count; d++)
        if (report->timelines[d].oom_count > 0) {
            if (c->lives != NULL && d == c->view.index && c->lives->first_oom < c->lives->h->count)
                find_places(c);
            tell_history(c, rule, &report->devices[d], &report->timelines[d].ooms[0]);
            return;
        }
    if (report->evidence.ooms > 0)
        tell_end(c, rule, &report->evidence);
}

static const struct gm_rule rules[] = {
    {.id = "out-of-memory",
     .title = "The trace contains out-of-memory errors",
     .find = find_oom,
     .unit = " asked for",
     .rank = GM_RANK_OUT_OF_MEMORY,
     .severity = "critical, or info where each time the call that failed went on: the next request, before anything is "
                 "freed, is of its stack, or it has failed there several times in a row",
     .when = "the trace has an out-of-memory event",
     .what_to_do = "The verdict says whether memory was too little or in pieces ([fragmentation](fragmentation.md)). "
                   "Then the categories live at that moment, and who grew last. If less than half of it was left when "
                   "the snapshot was taken, the tables of live memory show the survivors only: dump from an "
                   "out-of-memory observer ([recording](recording.md))"},
};
const struct gm_theme gm_theme_oom = GM_THEME(rules);
