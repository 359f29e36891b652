/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/diagnose.h"

#include "analyze/diagnose/ahead.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"
#include "analyze/report/remedy.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct gm_theme *const themes[] = {
    &gm_theme_gradients, &gm_theme_streams,  &gm_theme_pins,     &gm_theme_operators, &gm_theme_inference,
    &gm_theme_weights,   &gm_theme_kept,     &gm_theme_features, &gm_theme_odd,       &gm_theme_run,
    &gm_theme_training,  &gm_theme_file,     &gm_theme_oom,      &gm_theme_cache,     &gm_theme_allocator,
    &gm_theme_peak,      &gm_theme_settings, &gm_theme_healthy};
enum { THEMES = sizeof themes / sizeof *themes };

const struct gm_rule *gm_rule_at(size_t i)
{
    for (size_t t = 0; t < THEMES; t++) {
        if (i < themes[t]->count)
            return &themes[t]->rules[i];
        i -= themes[t]->count;
    }
    return NULL;
}

const struct gm_rule *gm_rule_named(const char *id)
{
    size_t i = 0;
    while (gm_rule_at(i) != NULL && strcmp(gm_rule_at(i)->id, id) != 0)
        i++;
    return gm_rule_at(i);
}

/* ---- for the rules ----------------------------------------------------------------------------------------------- */

const char *gm_case_take(struct gm_case *c, struct gm_text *text)
{
    const char *copy = gm_text_take(text, &c->report->arena);
    c->failed |= copy == NULL;
    return copy == NULL ? "" : copy;
}

static const char *print(struct gm_case *c, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static const char *print(struct gm_case *c, const char *format, va_list args)
{
    const char *text = gm_arena_vprintf(&c->report->arena, format, args);
    c->failed |= text == NULL;
    return text == NULL ? "" : text;
}

const char *gm_case_printf(struct gm_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = print(c, format, args);
    va_end(args);
    return text;
}

/* Without the marks of Markdown: `code`, [a link](to). */
static const char *plain(struct gm_case *c, const char *markdown)
{
    struct gm_text text = {0};
    for (const char *s = markdown; *s != '\0'; s++) {
        const char *end = *s == ']' && s[1] == '(' ? strchr(s, ')') : NULL;
        if (end == NULL && *s != '`' && *s != '[')
            gm_text_add_char(&text, *s);
        s = end != NULL ? end : s;
    }
    return gm_case_take(c, &text);
}

static struct gm_finding *add(struct gm_case *c, const struct gm_rule *rule, enum gm_severity severity, uint64_t bytes,
                              const char *detail)
{
    c->findings[c->n] = (struct gm_finding){.id = rule->id,
                                            .severity = severity,
                                            .title = rule->title,
                                            .detail = detail,
                                            .bytes = bytes > 0 ? bytes : GM_REPORT_NONE,
                                            .unit = rule->unit,
                                            .fix = plain(c, rule->what_to_do),
                                            .rank = rule->rank};
    struct gm_finding *added = &c->findings[c->n];
    c->n += c->n + 1 < c->room; /* the last is a spare one, so that there is always one to return */
    return added;
}

struct gm_finding *gm_case_add(struct gm_case *c, const struct gm_rule *rule, enum gm_severity severity, uint64_t bytes,
                               struct gm_text *detail)
{
    return add(c, rule, severity, bytes, gm_case_take(c, detail));
}

struct gm_finding *gm_case_say(struct gm_case *c, const struct gm_rule *rule, enum gm_severity severity, uint64_t bytes,
                               const char *detail, ...)
{
    va_list args;
    va_start(args, detail);
    const char *text = print(c, detail, args);
    va_end(args);
    return add(c, rule, severity, bytes, text);
}

void gm_case_free_set(struct gm_case *c, struct gm_set *set)
{
    c->failed |= set->failed;
    free(set->v);
}

struct gm_remedy *gm_case_remedy_with(struct gm_case *c, const struct gm_set *set)
{
    struct gm_remedy *remedy = gm_case_remedy(c, c->view.device->device);
    const size_t n = c->asked == NULL ? set->n : 0; /* who asks ahead replays nothing */
    const struct gm_remedy_change *changes = gm_arena_array(&c->report->arena, set->v, n, sizeof *changes);
    c->failed |= changes == NULL;
    if (remedy == NULL || changes == NULL)
        return NULL;
    remedy->changes = changes;
    remedy->count = n;
    return remedy;
}

struct gm_remedy *gm_case_remedy_of(struct gm_case *c, const struct gm_set *set)
{
    struct gm_remedy *remedy = gm_case_remedy_with(c, set);
    for (size_t i = 0; remedy != NULL && i < set->n; i++)
        gm_lives_take(c->lives, set->v[i].allocation,
                      set->v[i].bytes > 0 && set->v[i].bytes != GM_REMEDY_AS_RECORDED ? GM_TAKEN_IN_PART : GM_TAKEN);
    return remedy;
}

void gm_case_is_mistake(struct gm_finding *f, const struct gm_rule *rule, const struct gm_library_option *option)
{
    f->rank = GM_RANK_MISTAKE;
    f->brief = option != NULL ? option->brief : rule->brief;
    f->fix = option != NULL ? option->fix : rule->fix;
    f->cost = rule->cost != NULL ? rule->cost : "none";
    f->snippet = option != NULL ? option->snippet : rule->snippet;
}

static uint64_t least_of_mistake(const struct gm_case *c)
{
    return gm_max(c->lives->at_peak / GM_LEAST_SHARE, (uint64_t)GM_LEAST_REMEDY_MIB << 20);
}

bool gm_case_may_accuse(const struct gm_case *c, bool (*may_be)(const struct gm_lives *, size_t))
{
    return c->asks_all || gm_lives_sum_at_peak(c->lives, may_be) >= least_of_mistake(c);
}

static struct gm_finding *accuse(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set, bool is_of_reserved,
                                 const char *line, const char *evidence)
{
    struct gm_finding *f = NULL;
    struct gm_blame blame;
    struct gm_text t = {0};
    char bytes[GM_SIZE_TEXT], share[GM_NUMBER_TEXT], blocks[GM_NUMBER_TEXT];
    gm_set_add_cut_off(c->lives, set);
    if (set->n > 0)
        gm_lives_blame(c->lives, set, &blame);
    c->failed |= set->failed;
    if (!c->failed && set->n > 0 && (is_of_reserved || blame.bytes >= least_of_mistake(c))) {
        if (blame.bytes > 0)
            gm_text_printf(
                &t, "%s at the peak (%s %%), in %s block%s, %s of it made in %s: ", gm_size_format(bytes, blame.bytes),
                gm_share_format(share, blame.bytes, c->lives->at_peak), gm_count_format(blocks, blame.blocks),
                gm_plural(blame.blocks), blame.is_most ? "most" : "the largest part", blame.site);
        else
            gm_text_printf(&t, "Made in %s: ", blame.site);
        const struct gm_library_option *option = gm_library_option_for(c->lives, rule->id, blame.stack, line);
        gm_text_printf(&t, "%s. %s.", evidence, option != NULL ? option->fix : rule->fix);
        f = gm_case_add(c, rule, rule->is_choice ? GM_INFO : GM_WARNING, blame.bytes, &t);
        gm_case_is_mistake(f, rule, option);
        f->site = line != NULL ? line : blame.site;
        f->remedy = gm_case_remedy_of(c, set);
        if (f->remedy != NULL) {
            f->remedy->has_price = rule->is_choice;
            f->remedy->grows = rule->grows;
        }
    }
    free(set->v);
    return f;
}

struct gm_finding *gm_case_accuse(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set,
                                  bool is_of_reserved, const char *evidence)
{
    return accuse(c, rule, set, is_of_reserved, NULL, evidence);
}

struct gm_finding *gm_case_accuse_line(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set,
                                       const char *line, const char *evidence)
{
    return accuse(c, rule, set, false, line, evidence);
}

struct gm_finding *gm_case_accuse_backward(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set,
                                           uint32_t moment, const char *evidence)
{
    const char *line = /* what is older than the trace was made by the same line, most likely */
        set->n == 0 ? NULL : gm_lives_backward(c->lives, moment == 0 ? (uint32_t)c->lives->h->count : moment, false);
    struct gm_finding *f = gm_case_accuse(c, rule, set, false, evidence);
    if (f != NULL && line != NULL)
        f->site = line;
    return f;
}

void gm_case_is_choice(struct gm_finding *f)
{
    if (f == NULL || f->remedy == NULL)
        return;
    f->severity = GM_INFO;
    f->remedy->has_price = true;
}

const struct gm_oom_row *gm_case_oom(const struct gm_case *c)
{
    return c->has_oom && c->view.timeline->oom_count > 0 ? &c->view.timeline->ooms[0] : NULL;
}

bool gm_case_has_allocs(const struct gm_case *c)
{
    for (size_t d = 0; d < c->report->device_count; d++)
        if (c->report->devices[d].trace.allocs > 0)
            return true;
    return false;
}

size_t gm_case_device_with_most(const struct gm_case *c, uint64_t (*amount)(const struct gm_device_timeline *))
{
    const struct gm_device_timeline *t = c->report->timelines;
    size_t most = 0;
    for (size_t d = 1; d < c->report->device_count; d++)
        if (amount(&t[d]) > amount(&t[most]))
            most = d;
    return most;
}

const struct gm_finding *gm_case_found(const struct gm_case *c, const char *id)
{
    if (c->asked != NULL && strcmp(c->asked, id) != 0)
        *c->asks_of_others = true;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->findings[i].id, id) == 0)
            return &c->findings[i];
    return NULL;
}

const struct gm_settings_advice *gm_case_advice(const struct gm_case *c)
{
    if (c->asked == NULL)
        return c->report->advice;
    *c->asks_of_others = true;
    return NULL; /* replays write there */
}

struct gm_remedy *gm_case_remedy(struct gm_case *c, int64_t device)
{
    struct gm_remedy *remedy = gm_arena_calloc(&c->report->arena, 1, sizeof *remedy);
    c->failed |= remedy == NULL;
    if (remedy != NULL)
        *remedy = (struct gm_remedy){.device = device, .saving = GM_REMEDY_NOT_REPLAYED};
    return remedy;
}

struct gm_remedy *gm_case_drop_site(struct gm_case *c, int64_t device, const char *site, bool is_guess)
{
    struct gm_remedy *remedy = gm_case_remedy(c, device);
    if (remedy != NULL) {
        remedy->site = site;
        remedy->is_guess = is_guess;
    }
    return remedy;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* The first device that ran out of memory, else the one with the highest peak. */
static void find_view(struct gm_case *c)
{
    for (size_t i = 0; i < c->report->device_count && !c->has_oom; i++)
        c->has_oom = gm_view_of(&c->view, c->report, i) && c->view.device->trace.ooms > c->view.device->trace.outlived;
    c->has_view = c->has_oom || gm_view_highest(&c->view, c->report);
}

static enum gm_status end(const struct gm_case *c, struct gm_error *err)
{
    return c->failed ? gm_no_memory(err) : GM_OK;
}

/* Whether it is found anew each time. */
static bool is_asked_last(const char *id)
{
    const struct gm_rule *rule = gm_rule_named(id);
    return rule != NULL && rule->is_last;
}

/* Of what no replay was made: whether only one could tell, or the trace is not to be trusted so far, or it is too
 * little to be why the peak is what it is. */
static bool is_open(const struct gm_case *c, const struct gm_finding *f)
{
    const struct gm_remedy *r = f->remedy;
    const bool is_little = c->has_view && !r->grows && f->bytes < c->view.peak->requested / GM_MINOR_MISTAKE;
    return c->report->diagnosis.doubt_count > 0 ||
           (r->is_asked && (is_little || (r->is_of_end && gm_remedy_is_of_cache(r))));
}

/* Whether a replay of one of them has shown that it saves something of what is reserved. */
static bool has_saving(const struct gm_finding *findings, size_t n)
{
    size_t i = 0;
    while (i < n && (findings[i].rank != GM_RANK_MISTAKE || findings[i].remedy == NULL ||
                     findings[i].remedy->saving.alone == GM_REPORT_NONE || gm_remedy_is_in_vain(findings[i].remedy)))
        i++;
    return i < n;
}

/* Whether a replay has shown that it saves nothing to speak of, or there is none to tell; less requested alone counts
 * where nothing else saves anything. */
static bool is_in_vain(const struct gm_case *c, const struct gm_finding *f, bool has_better)
{
    if (f->rank != GM_RANK_MISTAKE || f->remedy == NULL)
        return false;
    if (f->remedy->saving.requested > 0)
        return has_better;
    return f->remedy->saving.alone == GM_REPORT_NONE ? is_open(c, f) : gm_remedy_is_in_vain(f->remedy);
}

static void keep(struct gm_case *c, const struct gm_finding *findings, size_t n)
{
    const bool has_better = has_saving(findings, n);
    for (size_t i = 0; i < n; i++)
        if (!is_in_vain(c, &findings[i], has_better) && !is_asked_last(findings[i].id))
            c->findings[c->n++] = findings[i];
    for (size_t i = 0; i < c->n; i++)
        if (c->findings[i].remedy != NULL && gm_remedy_tells_end(c->findings[i].remedy))
            c->findings[i].bytes = c->findings[i].remedy->saving.at_end;
        else if (c->findings[i].remedy != NULL && c->findings[i].remedy->saving.requested > 0)
            c->findings[i].bytes = c->findings[i].remedy->saving.requested;
}

/* What a replay has shown to save little, or only a replay could show, warns of nothing, unless it is what memory ran
 * out for. */
static void play_down(struct gm_case *c)
{
    const struct gm_oom_row *oom = gm_case_oom(c);
    for (size_t i = 0; i < c->n; i++) {
        struct gm_finding *f = &c->findings[i];
        if (f->remedy != NULL && f->remedy->is_of_holes && f->remedy->saving.alone != GM_REPORT_NONE)
            f->severity = GM_WARNING;
        if (f->rank == GM_RANK_MISTAKE && f->remedy != NULL && gm_remedy_is_minor(f->remedy) &&
            (!c->has_oom || (oom != NULL && oom->missing != GM_REPORT_NONE && f->remedy->saving.alone < oom->missing)))
            f->severity = GM_INFO;
    }
}

/* Without what a replay has shown to be in vain; then with what follows from that. What is ignored is asked, too. */
static void judge(struct gm_case *c)
{
    struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    c->room = diagnosis->finding_count + diagnosis->ignored_count + 3;
    c->findings = gm_arena_calloc(&c->report->arena, c->room, sizeof *c->findings);
    c->failed |= c->findings == NULL;
    if (c->failed)
        return;
    keep(c, diagnosis->findings, diagnosis->finding_count);
    keep(c, diagnosis->ignored, diagnosis->ignored_count);
    play_down(c);
    for (size_t i = 0; gm_rule_at(i) != NULL && !c->failed; i++)
        if (gm_rule_at(i)->is_last)
            gm_rule_at(i)->find(c, gm_rule_at(i));
    if (c->failed)
        return;
    qsort(c->findings, c->n, sizeof *c->findings, gm_finding_order);
    gm_ignore_set_aside(c);
    diagnosis->findings = c->findings;
    diagnosis->finding_count = c->n;
    diagnosis->is_healthy = gm_case_found(c, "healthy") != NULL;
}

enum gm_status gm_diagnose_tell(struct gm_report *report, struct gm_error *err)
{
    struct gm_case c = {.report = report};
    const struct gm_diagnosis first = report->diagnosis;
    report->diagnosis = (struct gm_diagnosis){.findings = first.findings,
                                              .finding_count = first.finding_count,
                                              .ignored = first.ignored,
                                              .ignored_count = first.ignored_count,
                                              .ignore_rules = first.ignore_rules,
                                              .ignore_rule_count = first.ignore_rule_count,
                                              .of_site = first.of_site,
                                              .oom_place = first.oom_place,
                                              .oom_pass = first.oom_pass,
                                              .is_judged = first.is_judged};
    find_view(&c);
    gm_reliability_tell(&c);
    if (first.is_judged)
        judge(&c);
    c.has_oom = c.has_oom && !gm_case_ignores(&c, "out-of-memory");
    gm_to_do_rank(&c);
    gm_to_do_tell(&c);
    gm_headline_of_end(&c);
    return end(&c, err);
}

struct gm_diagnosing {
    struct gm_case c;
    struct gm_lives lives;
    struct gm_ahead *ahead; /* NULL: there is no history to look at */
};

/* The device's allocations, if they were kept and a peak shows. */
static bool start_lives(struct gm_diagnosing *d, const struct gm_snapshot *snapshot, const struct gm_kept *kept,
                        bool is_ahead)
{
    struct gm_case *c = &d->c;
    const bool is_there = c->has_view && kept != NULL && c->view.index < kept->count && c->view.peak->requested > 0 &&
                          c->view.device->trace.allocs > 0;
    if (!is_there)
        return true;
    c->lives = &d->lives;
    d->ahead = gm_ahead_start(c, &d->lives, snapshot, &kept->v[c->view.index], is_ahead);
    return d->ahead != NULL;
}

enum gm_status gm_diagnose_begin(struct gm_diagnosing **begun, struct gm_report *report,
                                 const struct gm_snapshot *snapshot, const struct gm_kept *kept, enum gm_asking asking,
                                 struct gm_error *err)
{
    struct gm_diagnosing *d = *begun = calloc(1, sizeof *d);
    if (d == NULL)
        return gm_no_memory(err);
    d->c = (struct gm_case){.report = report, .room = 1, .asks_all = asking == GM_ASK_ALL};
    find_view(&d->c);
    d->c.failed = !start_lives(d, snapshot, kept, asking == GM_ASK_AHEAD);
    return end(&d->c, err);
}

static void ask_all(struct gm_diagnosing *d)
{
    struct gm_case *c = &d->c;
    const bool has_trace = c->report->timelines != NULL && c->report->device_count > 0;
    for (size_t i = 0; gm_rule_at(i) != NULL; i++)
        c->room++;
    c->findings = gm_arena_calloc(&c->report->arena, c->room, sizeof *c->findings);
    c->failed = c->findings == NULL || (d->ahead != NULL && !gm_ahead_wait(d->ahead));
    d->lives.failed = &c->failed;
    for (size_t i = 0; gm_rule_at(i) != NULL && !c->failed; i++) {
        const struct gm_rule *rule = gm_rule_at(i);
        if (rule->is_last || (rule->needs_trace && !has_trace) || gm_ahead_finds_nothing(d->ahead, i))
            continue;
        if (rule->find != NULL)
            rule->find(c, rule);
        else if (c->lives != NULL)
            rule->find_in_lives(c, rule);
    }
}

void gm_diagnosing_free(struct gm_diagnosing *d)
{
    if (d == NULL)
        return;
    gm_ahead_free(d->ahead);
    gm_lives_free(&d->lives);
    free(d);
}

enum gm_status gm_diagnose_end(struct gm_diagnosing *d, struct gm_error *err)
{
    struct gm_case *c = &d->c;
    struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    ask_all(d);
    if (c->failed)
        return end(c, err);
    qsort(c->findings, c->n, sizeof *c->findings, gm_finding_order);
    gm_ignore_set_aside(c);
    diagnosis->of_site = NULL;
    diagnosis->is_judged = c->lives != NULL;
    diagnosis->findings = c->findings;
    diagnosis->finding_count = c->n;
    return gm_diagnose_tell(c->report, err);
}

enum gm_status gm_diagnose(struct gm_report *report, const struct gm_snapshot *snapshot, const struct gm_kept *kept,
                           struct gm_error *err)
{
    struct gm_diagnosing *d;
    enum gm_status status = gm_diagnose_begin(&d, report, snapshot, kept, GM_ASK_IN_TURN, err);
    GM_THEN(status, gm_diagnose_end(d, err));
    gm_diagnosing_free(d);
    return status;
}
