/* SPDX-License-Identifier: Apache-2.0
 *
 * The last three of the five lines: the first of what is to do, and why, and where. Why: running out of memory, and
 * what was found. Do this: the fix, what it saves of the peak of reserved bytes, what is reserved then, its price.
 * Where: the line to change; of what has none, the line that makes most of the peak.
 */
#include "analyze/base/ascii.h"
#include "analyze/diagnose/rules.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TENTH = 10, SHORT_TITLE = 30 /* bytes */ };

/* One that a replay has shown to leave less in pieces. */
static bool has_setting(const struct gm_case *c)
{
    for (size_t i = 0; i < c->to_do_count; i++)
        if (c->to_do[i].rank == GM_RANK_WRONG_FIGURES)
            return true;
    return false;
}

/* What is told after it is `next`, or NULL: beside a long one there is no room for a card. */
static void add_oom(struct gm_case *c, struct gm_heading *line, const struct gm_view *highest, const char *next)
{
    const struct gm_view *v = &c->view;
    static const char *const words[] = {"", " (capacity)", " (fragmentation)", " (capacity and fragmentation)"};
    const struct gm_oom_row *first = gm_case_oom(c);
    const bool names_card = c->report->oom_card != NULL && (next == NULL || strlen(next) <= SHORT_TITLE);
    const enum gm_oom_verdict verdict = first == NULL ? GM_OOM_UNKNOWN : first->verdict;
    const bool is_in_pieces = verdict == GM_OOM_FRAGMENTATION || verdict == GM_OOM_BOTH;
    char device[2 * GM_NUMBER_TEXT] = "", times[4 * GM_NUMBER_TEXT] = "", missing[4 * GM_NUMBER_TEXT],
                    s[GM_NUMBER_TEXT];
    uint64_t ooms = 0;
    size_t devices = 0;
    for (size_t i = 0; i < c->report->device_count; i++) {
        ooms = gm_plus(ooms, c->report->devices[i].trace.ooms);
        devices += c->report->devices[i].trace.ooms > 0;
    }
    if (v->index != highest->index && devices == 1)
        snprintf(device, sizeof device, "device %" PRId64 " ", v->device->device);
    if (devices > 1)
        snprintf(times, sizeof times, " %s times on %zu devices", gm_count_format(s, ooms), devices);
    else if (ooms > 1)
        snprintf(times, sizeof times, " %s times", gm_count_format(s, ooms));
    snprintf(missing, sizeof missing, "%s", words[verdict]);
    if (verdict == GM_OOM_CAPACITY && first->missing > 0 && first->missing != GM_REPORT_NONE)
        snprintf(missing, sizeof missing, ", %s %s short%s", ooms > 1 ? "first" : "at least",
                 gm_bytes_format(s, first->missing),
                 names_card ? gm_case_printf(c, " (%s has it)", c->report->oom_card) : "");
    if (is_in_pieces && gm_oom_is_full(first)) /* what the cache lacks is little beside what is in use */
        snprintf(missing, sizeof missing, ", %s %% in use",
                 gm_share_format(s, first->levels.requested, first->levels.reserved));
    gm_headline_add(c, line, "%s%s of memory%s%s", device, ooms > 1 ? "out" : "ran out", times, missing);
    if (verdict == GM_OOM_FRAGMENTATION && !gm_oom_is_full(first) && !has_setting(c))
        gm_headline_add(c, line, "enough was cached, but not in one piece");
}

/* The first of what is to do; after running out of memory the first that would help against that. NULL: nothing. */
static const struct gm_finding *first_of(const struct gm_case *c, const struct gm_to_do **told)
{
    size_t i = 0;
    while (c->has_oom && i < c->to_do_count &&
           (c->to_do[i].rank == GM_RANK_OUT_OF_MEMORY || c->to_do[i].rank == GM_RANK_OTHERS))
        i++;
    i = i < c->to_do_count ? i : 0;
    *told = &c->report->diagnosis.to_do[i];
    return i < c->to_do_count ? &c->to_do[i] : NULL;
}

/* Why it is healthy: how much of what is reserved at the peak is in use. */
static void add_use(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    const struct gm_levels then = gm_view_peak(v).levels;
    char share[GM_NUMBER_TEXT];
    if (then.reserved != GM_REPORT_NONE && then.active != GM_REPORT_NONE && then.reserved > 0)
        gm_headline_add(c, line, "%s %% in use", gm_share_format(share, then.active, then.reserved));
}

static bool is_free(const char *cost)
{
    return cost == NULL || strncmp(cost, "none", strlen("none")) == 0;
}

/* Whether it is told as a choice: not what costs next to nothing and is half of the peak. */
static bool is_told_as_choice(const struct gm_finding *f)
{
    return gm_is_choice(f) && !(is_free(f->cost) && f->remedy->saving.alone != GM_REPORT_NONE &&
                                f->remedy->saving.alone >= f->remedy->saving.before / 2);
}

static void make_why(struct gm_case *c, struct gm_heading *line, const struct gm_finding *f,
                     const struct gm_to_do *told, const struct gm_view *highest)
{
    line->label = "Why";
    line->are_sentences = true;
    if (c->has_oom)
        add_oom(c, line, highest, f == NULL || f->rank == GM_RANK_OUT_OF_MEMORY ? NULL : f->title);
    if (c->report->diagnosis.is_healthy && f != NULL && (is_told_as_choice(f) || gm_is_minor(f)))
        gm_headline_add(c, line, "No %s mistake; %c%s", gm_is_minor(f) ? "large" : "known",
                        tolower((unsigned char)told->title[0]), told->title + 1);
    else if (f != NULL && !c->has_oom)
        gm_headline_add(c, line, "%s", told->title);
    else if (f != NULL && f->rank != GM_RANK_OUT_OF_MEMORY)
        gm_headline_add(c, line, "%c%s", tolower((unsigned char)f->title[0]), f->title + 1);
    if (f != NULL && highest != NULL && f->id != NULL && strcmp(f->id, "healthy") == 0)
        add_use(c, line, highest);
    if (line->count == 0)
        gm_headline_add(c, line, "nothing stands out%s",
                        highest == NULL ? "" : ", and no single call site makes the peak");
}

/* In few words. */
static void add_price(struct gm_case *c, struct gm_heading *line, const char *cost)
{
    if (!is_free(cost))
        gm_headline_add(c, line, "price: %.*s", (int)strcspn(cost, ":;"), cost);
}

enum { LARGER = 2 /* times what is to do first: then who reads one line must hear of it */ };

static bool is_told_beside(const struct gm_finding *f, const struct gm_finding *first)
{
    const uint64_t saves = first->remedy == NULL ? 0 : first->remedy->saving.alone;
    const bool is_setting = gm_is_much_of_setting(f);
    if ((!is_setting && !gm_is_large_choice(f)) || f->remedy->saving.alone == GM_REPORT_NONE)
        return false;
    return gm_is_choice(first) ? is_setting : saves != GM_REPORT_NONE && f->remedy->saving.alone / LARGER >= saves;
}

/* The choice or setting that saves most, if that is much more than what is to do first, which costs less, or mends
 * more; beside a choice, a setting. NULL: there is none. */
static const struct gm_finding *larger_one(const struct gm_case *c, const struct gm_finding *first)
{
    const struct gm_finding *most = NULL;
    if (first->rank != GM_RANK_MISTAKE && !gm_is_much_of_setting(first))
        return NULL;
    for (size_t i = 0; i < c->to_do_count; i++) {
        const struct gm_finding *f = &c->to_do[i];
        if (f != first && is_told_beside(f, first) &&
            (most == NULL || f->remedy->saving.alone > most->remedy->saving.alone))
            most = f;
    }
    return most;
}

/* In one piece, since a narrow line drops its end: "fused attention saves 2.53 GiB; by choice checkpoint the layers
 * 7.49 GiB". */
static void add_both(struct gm_case *c, struct gm_heading *line, const struct gm_finding *f,
                     const struct gm_finding *other)
{
    char size[GM_NUMBER_TEXT];
    const struct gm_remedy *r = f->remedy;
    const bool is_of_end = r != NULL && gm_remedy_tells_end(r);
    const char *saves =
        r == NULL
            ? ""
            : gm_case_printf(c, " saves %s%s", gm_bytes_format(size, is_of_end ? r->saving.at_end : r->saving.alone),
                             is_of_end ? " at the end" : "");
    gm_headline_add(c, line, "%s%s%s; %s%s %s", gm_is_choice(f) ? "by choice: " : "", gm_to_do_brief(f), saves,
                    gm_is_choice(other) ? "by choice " : "", gm_to_do_brief(other),
                    gm_bytes_format(size, other->remedy->saving.alone));
    add_price(c, line, gm_is_choice(f) ? f->cost : other->cost);
}

/* Its changes of the program would do, too, which the brief names first. */
static bool is_setting_instead(const struct gm_finding *f)
{
    return f->remedy != NULL && f->remedy->settings != NULL && f->remedy->settings_save != 0 && f->brief != NULL;
}

/* Replayed without a limit, it needs a hundredth more than what there was when memory ran out. */
static bool is_beyond_refusal(const struct gm_case *c, uint64_t replayed)
{
    const uint64_t most = gm_view_levels(&c->view, c->view.timeline->peak_reserved.levels).reserved;
    return c->has_oom && most != GM_REPORT_NONE && replayed > most + most / 100;
}

/* Of a choice its price comes before what is reserved then: a narrow line drops its end. */
static void make_do(struct gm_case *c, struct gm_heading *line, const struct gm_finding *f)
{
    const struct gm_remedy_saving *saving = f == NULL || f->remedy == NULL ? NULL : &f->remedy->saving;
    const bool is_choice = f != NULL && is_told_as_choice(f) && !c->has_oom;
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], change[GM_SIZE_CHANGE_TEXT];
    line->label = "Do this";
    if (f == NULL) {
        gm_headline_add_nothing(c, line, "nothing");
        return;
    }
    const struct gm_finding *larger = larger_one(c, f);
    if (larger != NULL) {
        add_both(c, line, f, larger);
        return;
    }
    gm_headline_add(c, line, "%s%s%s", is_choice && c->report->diagnosis.is_healthy ? "nothing; " : "",
                    is_choice ? "by choice: " : "",
                    is_setting_instead(f)
                        ? gm_case_printf(c, "%s, or %.*s", gm_to_do_brief(f), (int)strcspn(f->brief, ","), f->brief)
                    : f->brief != NULL ? f->brief
                    : f->fix != NULL   ? f->fix
                                       : f->title);
    if (f->rank != GM_RANK_MISTAKE || saving == NULL || saving->alone == GM_REPORT_NONE)
        return;
    if (gm_remedy_tells_end(f->remedy)) {
        gm_headline_add(c, line, "saves %s %s", gm_bytes_format(a, saving->at_end),
                        gm_remedy_is_of_cache(f->remedy) ? "from then on" : "at the end");
        gm_headline_add(c, line, "then %s reserved", gm_bytes_format(b, saving->end_before - saving->at_end));
        add_price(c, line, f->cost);
        return;
    }
    /* Of what was reserved, where the recording did with less than its replay. */
    const uint64_t then = saving->before - saving->alone, before = gm_min(saving->before, saving->recorded);
    gm_headline_add(c, line, "saves %s", gm_bytes_format(a, saving->recorded > then ? before - then : saving->alone));
    if (is_choice)
        add_price(c, line, f->cost);
    const char *fits = saving->card == NULL || saving->rank > 0 || before <= saving->card_usable
                           ? ""
                           : gm_case_printf(c, " (fits on %s)", saving->card);
    if (saving->recorded <= then || is_beyond_refusal(c, before)) /* "then" would be more than was reserved, or other */
        gm_headline_add(c, line, "replayed: %s reserved%s", gm_size_format_change(change, saving->before, then), fits);
    else
        gm_headline_add(c, line, "then %s reserved%s", gm_bytes_format(b, then), fits);
    if (!is_choice)
        add_price(c, line, f->cost);
}

/* The call site that holds most at the peak, of those with a stack. */
static void add_largest(struct gm_case *c, struct gm_heading *line, const struct gm_view *v)
{
    const struct gm_peak_detail *detail = &v->timeline->peak;
    const struct gm_group_row *most = NULL;
    char size[GM_NUMBER_TEXT], share[GM_NUMBER_TEXT];
    for (size_t i = 0; i < detail->site_count; i++)
        if (gm_site_has_stack(detail->sites[i].label) && (most == NULL || detail->sites[i].bytes > most->bytes))
            most = &detail->sites[i];
    if (most == NULL) {
        gm_headline_add(c, line, "no stack recorded for what was live");
        return;
    }
    gm_headline_add(c, line, "%s%s (%s %%) of it",
                    most->bytes < v->peak->requested / TENTH ? "no line makes a tenth; most, " : "",
                    gm_bytes_format(size, most->bytes), gm_share_format(share, most->bytes, v->peak->requested));
    line->site = most->label;
}

/* So many bytes of a place as name the line, and the one that it was called from, if that comes next. */
static size_t with_caller(const char *site)
{
    static const char from[] = GM_SITE_FROM;
    const size_t n = gm_site_innermost(site);
    return gm_begins_with(site + n, strlen(site + n), from)
               ? n + sizeof from - 1 + strcspn(site + n + sizeof from - 1, ",")
               : n;
}

void gm_headline_of_to_do(struct gm_case *c, const struct gm_view *highest)
{
    struct gm_heading *lines = c->report->diagnosis.headline;
    const struct gm_to_do *told;
    const struct gm_finding *f = first_of(c, &told);
    make_why(c, &lines[2], f, told, highest);
    make_do(c, &lines[3], f);
    lines[4].label = "Where";
    if (f != NULL && f->site != NULL)
        lines[4].site = gm_case_printf(c, "%.*s", (int)with_caller(f->site), f->site);
    else if (highest != NULL)
        add_largest(c, &lines[4], highest);
    else
        gm_headline_where(c, &lines[4]);
}
