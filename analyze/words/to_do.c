/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/to_do.h"

#include "analyze/document/numbers.h"
#include "analyze/words/finding.h"

#include <stdlib.h>
#include <string.h>

/* What ends a run, then what says that the figures are wrong, then what saves most with what a person can change; the
 * rest by severity, as the findings are. */
enum { OUT_OF_MEMORY, WRONG_FIGURES, GROWTH, LARGE_SETTING, SITE, SETTING, CACHE, ROLE, OTHERS };

static bool is(const struct gm_finding *f, const char *id)
{
    return strcmp(f->id, id) == 0;
}

/* The first device that ran out of memory. */
static bool find_oom(struct gm_view *v, const struct gm_report *report)
{
    for (size_t i = 0; i < report->device_count; i++)
        if (gm_view_of(v, report, i) && v->device->trace.ooms > 0)
            return true;
    return false;
}

bool gm_to_do_ended_by_growth(const struct gm_view *v)
{
    const struct gm_steps *steps = &v->timeline->steps;
    return steps->pattern == GM_PATTERN_GROWTH && steps->survivor_count > 0 && steps->slope >= 1 &&
           steps->slope < 1e18 && steps->slope * (double)steps->row_count >= (double)v->peak->requested / 10;
}

static int rank_of(const struct gm_to_do_list *list, const struct gm_finding *f)
{
    const bool is_in_pieces =
        list->view.timeline->oom_count > 0 && list->view.timeline->ooms[0].verdict == GM_OOM_FRAGMENTATION;
    if (is(f, "out-of-memory"))
        return OUT_OF_MEMORY;
    if (is(f, "books-do-not-balance"))
        return list->has_oom ? OTHERS : WRONG_FIGURES;
    if (is(f, "memory-growth"))
        return list->has_oom && !gm_to_do_ended_by_growth(&list->view) ? OTHERS : GROWTH;
    if (is(f, "replayed-settings"))
        return is_in_pieces ? WRONG_FIGURES : f->severity == GM_WARNING ? LARGE_SETTING : SETTING;
    if (is(f, "growth-despite-cache") && f->severity == GM_WARNING && f->bytes != GM_REPORT_NONE)
        return CACHE;
    return OTHERS;
}

static void add(struct gm_to_do_list *list, struct gm_to_do item)
{
    if (list->n == GM_TO_DO_MOST)
        return;
    size_t at = list->n++;
    for (; at > 0 && list->v[at - 1].rank > item.rank; at--)
        list->v[at] = list->v[at - 1];
    list->v[at] = item;
}

/* The finding is of that call site: it begins with its name. */
static bool is_of(const struct gm_finding *f, const struct gm_group_row *site)
{
    return is(f, "peak-by-one-site") && strncmp(f->detail, site->label, strlen(site->label)) == 0;
}

void gm_to_do_make(struct gm_to_do_list *list, const struct gm_report *report)
{
    struct gm_view view;
    *list = (struct gm_to_do_list){0};
    list->has_oom = find_oom(&view, report);
    list->has_view = list->has_oom || gm_view_highest(&view, report);
    if (list->has_view)
        list->view = view;
    const struct gm_group_row *site = list->has_view ? gm_advice_site(&list->view) : NULL;
    struct gm_to_do of_site = {.site = site, .rank = SITE}, of_role = {.rank = ROLE};
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct gm_finding *f = &report->findings[i];
        if (site != NULL && is_of(f, site))
            of_site.finding = f;
        else
            add(list, (struct gm_to_do){.finding = f, .rank = list->has_view ? rank_of(list, f) : OTHERS});
    }
    if (site != NULL)
        add(list, of_site);
    if (list->has_view && gm_advice_role(&of_role.role, &list->view))
        add(list, of_role);
}

bool gm_to_do_helps(const struct gm_to_do *item)
{
    return item->rank > WRONG_FIGURES ? item->rank < OTHERS
                                      : item->rank == WRONG_FIGURES && is(item->finding, "replayed-settings");
}

enum gm_severity gm_to_do_severity(const struct gm_to_do *item)
{
    return item->finding != NULL ? item->finding->severity : GM_INFO;
}

void gm_to_do_title(struct gm_text *out, const struct gm_to_do_list *list, size_t i)
{
    const struct gm_to_do *item = &list->v[i];
    const uint64_t peak = list->has_view ? list->view.peak->requested : 0;
    char a[GM_FINDING_BYTES], b[GM_NUMBER_TEXT];
    if (item->finding != NULL) {
        gm_text_printf(out, "%s%s", item->finding->title, gm_finding_bytes(a, item->finding));
    } else if (item->site != NULL) {
        gm_text_printf(out, "One call site carries much of the peak (%s less without it)",
                       gm_bytes_format(a, peak - item->site->peak_without));
    } else {
        gm_text_printf(out, "%c%s %s %% of the peak (%s)", item->role.subject[0] - ('a' - 'A'), item->role.subject + 1,
                       gm_share_format(b, item->role.bytes, peak), gm_bytes_format(a, item->role.bytes));
    }
}

void gm_to_do_detail(struct gm_text *out, const struct gm_to_do_list *list, size_t i)
{
    const struct gm_to_do *item = &list->v[i];
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    if (item->finding != NULL) {
        gm_text_add(out, item->finding->detail);
    } else if (item->site != NULL) {
        const uint64_t peak = list->view.peak->requested;
        gm_text_printf(out, "%s: without it the peak would be %s, %s %% less. More under SAVINGS.", item->site->label,
                       gm_bytes_format(a, item->site->peak_without),
                       gm_share_format(b, peak - item->site->peak_without, peak));
    } else {
        gm_text_printf(out, "%c%s.",
                       item->role.in_full[0] >= 'a' && item->role.in_full[0] <= 'z'
                           ? item->role.in_full[0] - ('a' - 'A')
                           : item->role.in_full[0],
                       item->role.in_full + 1);
    }
}
