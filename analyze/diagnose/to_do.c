/* SPDX-License-Identifier: Apache-2.0
 *
 * The one list of what to do: findings, and what would lower the peak of the device whose peak is highest (or that ran
 * out of memory first). All are findings while they are ranked; the headline takes the first of them.
 */
#include "analyze/diagnose/diagnose.h"
#include "analyze/diagnose/rules.h"
#include "analyze/report/remedy.h"

#include <string.h>

enum {
    LEAST_MIB = 32, /* that a role holds, or it asks for nothing */
    PLACES = 2      /* of mistakes and choices: gm_remedy_place */
};

static const char *sentence(struct gm_case *c, const char *clause, const char *end)
{
    const char first = clause[0] >= 'a' && clause[0] <= 'z' ? (char)(clause[0] - ('a' - 'A')) : clause[0];
    return gm_case_printf(c, "%c%s%s", first, clause + 1, end);
}

/* What the call site that is worth most would save. */
static struct gm_finding of_site(struct gm_case *c, const struct gm_group_row *site)
{
    const uint64_t peak = c->view.peak->requested, saved = peak - site->peak_without;
    char size[GM_NUMBER_TEXT], share[GM_NUMBER_TEXT];
    struct gm_role_advice role;
    const bool is_of_role = gm_advice_of(&role, site->role, &c->view, true);
    gm_bytes_format(size, site->peak_without);
    gm_share_format(share, saved, peak);
    return (struct gm_finding){
        .title = "One call site carries much of the peak",
        .detail = gm_case_printf(c, "%s: without it the peak would be %s, %s %% less. More under SAVINGS.", site->label,
                                 size, share),
        .bytes = saved,
        .unit = " less without it",
        .brief = is_of_role ? role.in_short : "look at that line: what does it make, and keep?",
        .site = site->label,
        .rank = GM_RANK_SITE};
}

/* Whether something is trained: weights have gradients, or states of an optimizer. */
static bool trains(const struct gm_view *v)
{
    const struct gm_peak_detail *peak = &v->timeline->peak;
    return gm_steps_has_phase(&v->timeline->steps, GM_PHASE_BACKWARD, GM_REPORT_NONE) ||
           gm_steps_has_phase(&v->timeline->steps, GM_PHASE_OPTIMIZER, GM_REPORT_NONE) ||
           gm_slice_named(peak->roles, peak->role_count, "Gradient").name != NULL ||
           gm_slice_named(peak->roles, peak->role_count, "Optimizer state").name != NULL;
}

/* What lasts is not made smaller by another line of code: how much is gained by what people do about it. */
static const char *brief_of_lasting(struct gm_case *c, const struct gm_role_advice *role)
{
    enum { RANKS = 8 };
    const bool is_weights = strcmp(role->role, "Parameter") == 0;
    char less[GM_NUMBER_TEXT];
    if (is_weights && !trains(&c->view))
        return gm_case_printf(c, "weights in half as many bits (%s less by arithmetic)%s",
                              gm_bytes_format(less, role->bytes / 2),
                              gm_case_has_allocs(c) ? "" : ", and record a forward pass");
    if (is_weights || strcmp(role->role, "Gradient") == 0 || strcmp(role->role, "Optimizer state") == 0)
        return gm_case_printf(c, "%s (over %d ranks %s less by arithmetic)", role->in_short, RANKS,
                              gm_bytes_format(less, role->bytes - role->bytes / RANKS));
    return role->in_short;
}

/* What the role that holds most asks for. */
static struct gm_finding of_role(struct gm_case *c, const struct gm_role_advice *role)
{
    char share[GM_NUMBER_TEXT];
    gm_share_format(share, role->bytes, c->view.peak->requested);
    return (struct gm_finding){.title =
                                   sentence(c, gm_case_printf(c, "%s %s %% of the peak", role->subject, share), ""),
                               .detail = sentence(c, role->in_full, "."),
                               .bytes = role->bytes,
                               .brief = brief_of_lasting(c, role),
                               .rank = GM_RANK_ROLE};
}

static void insert(struct gm_finding *list, size_t *n, const struct gm_finding *item)
{
    size_t at = (*n)++;
    for (; at > 0 && list[at - 1].rank > item->rank; at--)
        list[at] = list[at - 1];
    list[at] = *item;
}

static bool is_replayed(const struct gm_finding *f)
{
    return f->remedy != NULL && f->remedy->saving.on_top != GM_REPORT_NONE;
}

/* Among themselves those that were replayed stand by what they save: each figure is on top of those above it. */
static void put_replayed_in_order(struct gm_finding *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            if (is_replayed(&list[i]) && is_replayed(&list[k]) &&
                list[k].remedy->saving.rank < list[i].remedy->saving.rank) {
                const struct gm_finding later = list[i];
                list[i] = list[k];
                list[k] = later;
            }
}

uint64_t gm_diagnose_weight(const struct gm_finding *f)
{
    if (is_replayed(f))
        return gm_remedy_weight(f->remedy);
    if (f->rank != GM_RANK_MISTAKE || f->bytes == GM_REPORT_NONE)
        return 0;
    if (f->remedy != NULL && gm_remedy_is_of_cache(f->remedy))
        return f->bytes / GM_LEAST_OF_LEFT;
    return f->remedy != NULL && f->remedy->grows ? gm_sat_add(f->bytes, f->bytes) : f->bytes;
}

static bool is_setting(const struct gm_finding *f)
{
    return f->rank == GM_RANK_LARGE_SETTING || f->rank == GM_RANK_SETTING;
}

bool gm_is_worth_setting(const struct gm_finding *f)
{
    return is_setting(f) && is_replayed(f) && f->remedy->saving.alone >= f->remedy->saving.before / GM_LEAST_OF_SETTING;
}

bool gm_is_much_of_setting(const struct gm_finding *f)
{
    return gm_is_worth_setting(f) && gm_remedy_place(f->remedy) == GM_STANDS_CHOICE;
}

bool gm_is_large_choice(const struct gm_finding *f)
{
    return gm_is_choice(f) &&
           (!is_replayed(f) || f->remedy->saving.alone >= f->remedy->saving.before / GM_LARGE_CHOICE);
}

static bool has_large_choice(const struct gm_case *c)
{
    bool has = false;
    for (size_t i = 0; i < c->report->diagnosis.finding_count; i++)
        has |= gm_is_large_choice(&c->report->diagnosis.findings[i]);
    return has;
}

/* Whether a setting would do where memory ran out in pieces, but a mistake makes most of what there is too much of. */
static bool is_outweighed(const struct gm_case *c, const struct gm_finding *f)
{
    bool is = false;
    for (size_t i = 0; f->remedy != NULL && f->remedy->settings != NULL && is_replayed(f) &&
                       i < c->report->diagnosis.finding_count && !is;
         i++) {
        const struct gm_finding *other = &c->report->diagnosis.findings[i];
        is = other->rank == GM_RANK_MISTAKE && is_replayed(other) && other->remedy->settings == NULL &&
             gm_remedy_place(other->remedy) == GM_STANDS_MISTAKE &&
             other->remedy->saving.alone / 2 >= f->remedy->saving.alone;
    }
    return is;
}

/* Mistakes, by what they save, then what has a price, and settings that save much; what saves little for its price
 * comes after that nothing is wrong. */
static int place_of(const struct gm_case *c, const struct gm_finding *f)
{
    const bool is_late = f->remedy != NULL && gm_remedy_is_of_cache(f->remedy) && /* the peak is what people look for */
                         (!is_replayed(f) || (gm_remedy_tells_end(f->remedy) && has_large_choice(c)));
    const int place = is_late          ? GM_STANDS_CHOICE
                      : is_replayed(f) ? (int)gm_remedy_place(f->remedy)
                                       : f->severity == GM_INFO;
    const bool is_of_list = f->rank == GM_RANK_MISTAKE || (is_setting(f) && is_replayed(f)) || is_outweighed(c, f);
    if (c->report->diagnosis.is_healthy && gm_is_choice(f) && !gm_is_large_choice(f))
        return PLACES * GM_RANK_OTHERS + 1;
    if (is_of_list && place < PLACES)
        return PLACES * GM_RANK_MISTAKE + place;
    return PLACES * (int)f->rank;
}

static bool is_before(const struct gm_case *c, const struct gm_finding *f, const struct gm_finding *other)
{
    const int place = place_of(c, f), others = place_of(c, other);
    if (place != others)
        return place < others;
    return (place / PLACES == GM_RANK_MISTAKE || gm_is_choice(f)) && gm_diagnose_weight(f) > gm_diagnose_weight(other);
}

/* A setting that saves little, or nothing beside what is mended above it, is a fact, and nothing to do. */
static bool is_worth_it(const struct gm_finding *f)
{
    return !is_setting(f) || !is_replayed(f) ||
           (gm_is_worth_setting(f) && f->remedy->saving.on_top >= f->remedy->saving.before / GM_LEAST_SHARE);
}

/* Whether a mistake says what grows from step to step: it tells of the same line, and what to do about it. */
static bool is_growth_told(const struct gm_diagnosis *diagnosis, const struct gm_finding *growth)
{
    if (growth->rank != GM_RANK_GROWTH || growth->site == NULL)
        return false;
    const size_t length = strlen(growth->site);
    for (size_t i = 0; i < diagnosis->finding_count; i++)
        for (const char *at = diagnosis->findings[i].detail;
             diagnosis->findings[i].rank == GM_RANK_MISTAKE && (at = strstr(at, growth->site)) != NULL; at++)
            if (at[length] < '0' || at[length] > '9')
                return true;
    return false;
}

/* What was looked for by single allocations makes a list without guesses, which stand in where nothing was found, and
 * without facts that ask for nothing. */
static void rank_judged(struct gm_case *c, struct gm_finding *list)
{
    const struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    bool has_mistake = false, has_choice = false;
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        has_mistake |= diagnosis->findings[i].rank == GM_RANK_MISTAKE;
        has_choice |= gm_is_large_choice(&diagnosis->findings[i]);
    }
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        const bool is_fact =
            f->severity == GM_INFO && ((f->rank == GM_RANK_CACHE && diagnosis->is_healthy) ||
                                       (f->rank == GM_RANK_OTHERS && (has_choice || strcmp(f->id, "healthy") != 0)));
        if (is_fact || !is_worth_it(f) ||
            (has_mistake && f->rank == GM_RANK_OUT_OF_MEMORY) || /* the headline has that */
            is_growth_told(diagnosis, f))
            continue;
        size_t at = c->to_do_count++;
        for (; at > 0 && is_before(c, f, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = *f;
    }
}

/* A site of what lasts: its line cannot be left out, and the table of call sites has what the peak would be without. */
static bool is_of_lasting(const struct gm_finding *f, const struct gm_group_row *site)
{
    return strcmp(f->id, "peak-by-one-site") == 0 && f->unit != NULL &&
           (site == NULL || strcmp(f->site, site->label) != 0);
}

/* A good grade asks for nothing, and what is stranded tells why a poor one is, of the same bytes. */
static bool is_plain_grade(const struct gm_case *c, const struct gm_finding *f)
{
    const struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    bool is_told = gm_grade_of(gm_totals_efficiency(&c->report->totals)) == GM_GRADE_GOOD;
    for (size_t i = 0; i < diagnosis->finding_count; i++)
        is_told |= strcmp(diagnosis->findings[i].id, "stranded-memory") == 0;
    return is_told && strcmp(f->id, "allocator-efficiency") == 0;
}

static void rank_guessed(struct gm_case *c, struct gm_finding *list)
{
    const struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    const struct gm_group_row *site = c->has_view ? gm_advice_site(&c->view) : NULL;
    struct gm_finding best = {.id = NULL};
    struct gm_role_advice role;
    if (site != NULL) {
        struct gm_remedy **remedy = &c->report->diagnosis.of_site;
        *remedy = *remedy != NULL ? *remedy : gm_case_drop_site(c, c->view.device->device, site->label, true);
        best = of_site(c, site);
        best.remedy = *remedy;
    }
    for (size_t i = 0; i < diagnosis->finding_count; i++) {
        const struct gm_finding *f = &diagnosis->findings[i];
        if (site != NULL && f->rank == GM_RANK_OTHERS && f->site != NULL && strcmp(f->site, site->label) == 0) {
            const struct gm_finding told = best;
            best = *f;
            best.brief = told.brief;
            best.rank = told.rank;
            best.remedy = f->remedy != NULL ? f->remedy : told.remedy;
        } else if (!is_of_lasting(f, site) && !is_plain_grade(c, f)) {
            insert(list, &c->to_do_count, f);
        }
    }
    if (site != NULL)
        insert(list, &c->to_do_count, &best);
    if (c->has_view && gm_advice_role(&role, &c->view) && role.bytes >= LEAST_MIB * GM_MIB) {
        best = of_role(c, &role);
        insert(list, &c->to_do_count, &best);
    }
    put_replayed_in_order(list, c->to_do_count);
}

void gm_to_do_rank(struct gm_case *c)
{
    const struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    struct gm_finding *list = gm_arena_calloc(&c->report->arena, diagnosis->finding_count + 2, sizeof *list);
    bool has_mistake = diagnosis->is_healthy;
    c->failed |= list == NULL;
    for (size_t i = 0; i < diagnosis->ignored_count; i++)
        has_mistake |= diagnosis->ignored[i].rank < GM_RANK_OTHERS;
    c->to_do = list;
    for (size_t i = 0; i < diagnosis->finding_count; i++)
        has_mistake |= diagnosis->findings[i].rank == GM_RANK_MISTAKE || gm_is_worth_setting(&diagnosis->findings[i]);
    if (list != NULL && has_mistake)
        rank_judged(c, list);
    else if (list != NULL)
        rank_guessed(c, list);
}

const char *gm_to_do_brief(const struct gm_finding *f)
{
    if (f->remedy != NULL && f->remedy->settings != NULL)
        return gm_settings_name(f->remedy->settings);
    if (f->remedy != NULL && f->remedy->is_guess)
        return "without that call site";
    return f->rank == GM_RANK_MISTAKE && f->brief != NULL ? f->brief : f->title;
}

size_t gm_site_innermost(const char *site)
{
    static const char *const others[] = {", which keeps ", ", which frees ", ", looked up in ",
                                         ", used in ",     ", around ",      GM_SITE_FROM};
    size_t length = strlen(site);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *end = strstr(site, others[i]);
        length = end != NULL && (size_t)(end - site) < length ? (size_t)(end - site) : length;
    }
    return length;
}

/* A diff with the place that is blamed above it; of settings, how they are passed. */
static const char *snippet_of(struct gm_case *c, const struct gm_finding *f)
{
    if (f->remedy != NULL && f->remedy->settings != NULL)
        return gm_case_printf(c, "- python train.py\n+ PYTORCH_ALLOC_CONF=%s python train.py", f->remedy->settings);
    if (f->snippet == NULL || f->site == NULL)
        return f->snippet;
    return gm_case_printf(c, "@@ %.*s @@\n%s", (int)gm_site_innermost(f->site), f->site, f->snippet);
}

/* Why a saving of reserved bytes is not what the finding counts in requested ones at its peak, if it is a tenth off. */
static const char *why_other(const struct gm_finding *f)
{
    enum { APART = 10 };
    const uint64_t bytes = f->bytes;
    if (f->rank != GM_RANK_MISTAKE || !is_replayed(f) || f->remedy->is_of_end || f->remedy->settings != NULL ||
        f->remedy->of_mistake || gm_is_choice(f) || bytes == GM_REPORT_NONE || bytes == 0)
        return NULL;
    const uint64_t saved = f->remedy->saving.alone;
    if (saved > bytes + bytes / APART)
        return "more than these bytes, since holes and rounding go with them, or more of them were there when most was "
               "reserved";
    return saved < bytes - bytes / APART ? "less than these bytes, since then another moment is the peak, or what is "
                                           "left does not fit together as well"
                                         : NULL;
}

static const char *detail_of(struct gm_case *c, const struct gm_finding *f)
{
    if (f->remedy != NULL && gm_remedy_tells_end(f->remedy)) {
        const struct gm_remedy_saving *saving = &f->remedy->saving;
        char less[GM_NUMBER_TEXT], all[GM_NUMBER_TEXT];
        return gm_case_printf(c,
                              gm_remedy_is_of_cache(f->remedy)
                                  ? "%s Replayed, the peak stays, but of %s that are reserved from then on to the end "
                                    "that saves %s, which nothing uses again."
                                  : "%s Replayed with empty_cache() at the end: of %s reserved then it saves %s, or "
                                    "more if what stays is on the host.",
                              f->detail, gm_bytes_format(all, saving->end_before),
                              gm_bytes_format(less, saving->at_end));
    }
    if (f->remedy != NULL && f->remedy->of_mistake && f->remedy->settings == NULL && is_replayed(f)) {
        char less[GM_NUMBER_TEXT];
        return gm_case_printf(c, "%s With each round as large as the one that makes most: %s less.", f->detail,
                              gm_bytes_format(less, f->remedy->saving.alone));
    }
    char size[GM_NUMBER_TEXT];
    if (f->remedy != NULL && f->remedy->saving.requested > 0)
        return gm_case_printf(c,
                              "%s Replayed, that lowers the peak of requested bytes by %s, but not what is reserved: "
                              "what is left does not fit together as well.",
                              f->detail, gm_bytes_format(size, f->remedy->saving.requested));
    const char *why = why_other(f);
    const bool is_open = c->has_oom && f->rank == GM_RANK_MISTAKE && is_replayed(f) && f->remedy->settings == NULL;
    if (why == NULL && !is_open)
        return f->detail;
    return gm_case_printf(c, "%s Of reserved memory that saves %s%s%s%s.", f->detail, is_open ? "at least " : "",
                          gm_bytes_format(size, f->remedy->saving.alone), why != NULL ? ", " : "",
                          why != NULL ? why : ", as far as the recording goes");
}

/* What a list of savings at the peak has of it: nothing, if it is about the end. */
static struct gm_remedy_saving saving_of(const struct gm_finding *f)
{
    struct gm_remedy_saving none = GM_REMEDY_NOT_REPLAYED;
    if (f->remedy == NULL || !gm_remedy_tells_end(f->remedy))
        return f->remedy == NULL ? none : f->remedy->saving;
    none.at_end = f->remedy->saving.at_end;
    none.rank = f->remedy->saving.rank; /* others are replayed with it */
    return none;
}

void gm_to_do_tell(struct gm_case *c)
{
    struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    struct gm_to_do *rows = gm_arena_calloc(&c->report->arena, c->to_do_count + 1, sizeof *rows);
    char size[GM_NUMBER_TEXT];
    c->failed |= rows == NULL;
    for (size_t i = 0; rows != NULL && i < c->to_do_count; i++) {
        const struct gm_finding *f = &c->to_do[i];
        const char *title = f->bytes == GM_REPORT_NONE
                                ? f->title
                                : gm_case_printf(c, "%s (%s%s)", f->title, gm_bytes_format(size, f->bytes),
                                                 f->unit != NULL ? f->unit : "");
        rows[diagnosis->to_do_count++] = (struct gm_to_do){.severity = f->severity,
                                                           .title = title,
                                                           .detail = detail_of(c, f),
                                                           .finding = f->id,
                                                           .site = f->site,
                                                           .fix = f->fix,
                                                           .cost = f->cost,
                                                           .brief = gm_to_do_brief(f),
                                                           .snippet = snippet_of(c, f),
                                                           .is_choice = gm_is_choice(f),
                                                           .saving = saving_of(f)};
    }
    diagnosis->to_do = rows;
}
