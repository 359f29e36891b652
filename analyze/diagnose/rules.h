/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/diagnose: the table of what can be found. A row is one mistake or fact worth a person's attention;
 * the rows of one theme stand in one file (find_*.c) with the functions that find them. Rows are asked in order: what a
 * mistake takes of the allocations, later ones leave alone. Nothing is said about small amounts; thresholds are beside
 * the functions, and in words in the rows, of which docs/findings.md is made (./dev test tells when it is stale).
 */
#pragma once

#include "analyze/base/arithmetic.h"
#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/report/numbers.h"
#include "analyze/report/report.h"
#include "analyze/report/view.h"

struct gm_lives; /* lives.h */

/* A run while it is diagnosed. */
struct gm_case {
    struct gm_report *report;
    struct gm_finding *findings;
    size_t n, room;
    bool failed;            /* there is no memory */
    bool asks_all;          /* GM_ASK_ALL */
    bool has_view, has_oom; /* of the device that ran out of memory first, or has the highest peak */
    struct gm_view view;
    struct gm_lives *lives;         /* of that device; NULL: there is no history to look at */
    const struct gm_finding *to_do; /* gm_to_do_rank: what to do first, first */
    size_t to_do_count;
    const char *asked;    /* ahead.h: the rule that is asked before its turn; NULL: none is */
    bool *asks_of_others; /* then: whether it asked for what others find, or replays */
};

struct gm_rule {
    const char *id, *title;
    void (*find)(struct gm_case *, const struct gm_rule *);
    /* In its place, if it is called only where there are allocations to look at. */
    void (*find_in_lives)(struct gm_case *, const struct gm_rule *);
    const char *unit;        /* struct gm_finding; NULL */
    enum gm_to_do_rank rank; /* likewise */
    bool needs_trace;        /* `find` is called only if there is a device, and the report has timelines */
    bool is_in_turn;         /* with find_in_lives: it looks at what replays learn, and is not asked ahead */
    bool is_last;            /* it asks what else was found, after the replays */
    bool is_choice;          /* no mistake: what a person may want to pay for with time or accuracy */
    bool grows;              /* what it is about takes more with each round: no mistake of that kind is minor */
    const char *brief;       /* of a mistake: the fix in at most 28 characters, for the headline */
    const char *fix, *cost;  /* the call that mends it, NULL; what that costs, NULL: "none" */
    const char *snippet;     /* the fix as a diff of 1 to 4 lines: "- total += loss\n+ total += loss.item()". NULL */
    /* docs/findings.md: what a fix mends, for who never met it; how severe (NULL: "warning"), under which conditions,
     * what helps */
    const char *means, *severity, *when, *what_to_do;
};
struct gm_theme {
    const struct gm_rule *rules;
    size_t count;
};
#define GM_THEME(rules)                                                                                                \
    {                                                                                                                  \
        rules, sizeof(rules) / sizeof *(rules)                                                                         \
    }
extern const struct gm_theme gm_theme_kept, gm_theme_training, gm_theme_inference, gm_theme_features, gm_theme_weights,
    gm_theme_operators, gm_theme_gradients, gm_theme_streams, gm_theme_pins, gm_theme_odd, gm_theme_run;
extern const struct gm_theme gm_theme_file, gm_theme_oom, gm_theme_cache, gm_theme_allocator, gm_theme_peak,
    gm_theme_settings, gm_theme_healthy;

/* library_options.c: what mends a finding where code of a library made what it is about: its option, in place of the
 * rule's fix. */
struct gm_library_option {
    const char *id;                    /* of the rule */
    const char *in;                    /* how the path begins, from the package on */
    const char *brief, *fix, *snippet; /* as those of rules */
};
/* The i-th; NULL: there is none. */
const struct gm_library_option *gm_library_option_at(size_t i);
/* Of what was made with that stack, at a line of the same package, if one is given; NULL: there is none. */
const struct gm_library_option *gm_library_option_for(struct gm_lives *l, const char *id, uint32_t stack,
                                                      const char *line);

enum { GM_LEAST_SHARE = 100 /* of the peak: what holds less is no mistake worth a word */ };

/* Appends a finding of the rule with its texts; further fields may be set in what is returned, which is never NULL.
 * `bytes`: 0 for none. Takes the text. */
struct gm_finding *gm_case_add(struct gm_case *c, const struct gm_rule *rule, enum gm_severity severity, uint64_t bytes,
                               struct gm_text *detail);
struct gm_finding *gm_case_say(struct gm_case *c, const struct gm_rule *rule, enum gm_severity severity, uint64_t bytes,
                               const char *detail, ...) __attribute__((format(printf, 5, 6)));
/* Makes a mistake of a finding, with the fix of its rule, or that option. */
void gm_case_is_mistake(struct gm_finding *f, const struct gm_rule *rule, const struct gm_library_option *option);
/* Appends a mistake: of these allocations, and what mending it does to them. Nothing if there are none, or if they hold
 * less than a hundredth of the peak and `is_of_reserved` does not say that they cost more than they hold. The site is
 * that of most of them, unless it is set in what is returned; NULL: nothing was appended. Frees the set. */
struct gm_set;
struct gm_finding *gm_case_accuse(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set,
                                  bool is_of_reserved, const char *evidence);
/* The same, of that line, which is where a library's option has to be of, too. */
struct gm_finding *gm_case_accuse_line(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set,
                                       const char *line, const char *evidence);
/* Whether there can be a mistake that is accused of part of those which may be of it, and none that costs more than it
 * holds: they have as much at the peak. So what is dear need not be asked of most runs. */
bool gm_case_may_accuse(const struct gm_case *c, bool (*may_be)(const struct gm_lives *, size_t));
/* The same, of the line that called backward() last before that moment, if there is one. */
struct gm_finding *gm_case_accuse_backward(struct gm_case *c, const struct gm_rule *rule, struct gm_set *set,
                                           uint32_t moment, const char *evidence);
/* Frees a set that is no mistake's. */
void gm_case_free_set(struct gm_case *c, struct gm_set *set);
/* Makes a choice of a mistake: what it saves has a price. NULL is fine. */
void gm_case_is_choice(struct gm_finding *f);
/* Of the device whose allocations are looked at; they are left to other mistakes, or taken. NULL: no memory. */
struct gm_remedy *gm_case_remedy_with(struct gm_case *c, const struct gm_set *set);
struct gm_remedy *gm_case_remedy_of(struct gm_case *c, const struct gm_set *set);
/* A string of the report; "" if there is no memory. */
const char *gm_case_printf(struct gm_case *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *gm_case_take(struct gm_case *c, struct gm_text *text); /* frees it */

/* find_oom.c: " The smallest card ...", where memory ran out and the report names one; else "". */
const char *gm_case_card(struct gm_case *c);

/* Without allocations there is no history, whatever marks and frees a trace holds. */
bool gm_case_has_allocs(const struct gm_case *c);
/* The first time that memory ran out on the device looked at; NULL: it did not, or it is not known when. */
const struct gm_oom_row *gm_case_oom(const struct gm_case *c);
/* The device for which `amount` is most; the first of equals. There must be timelines. */
size_t gm_case_device_with_most(const struct gm_case *c, uint64_t (*amount)(const struct gm_device_timeline *));
/* find_peak.c: whether that call site put at most half as much on any other device as on the one that is looked at, but
 * something: parts of a model that were dealt out. */
bool gm_case_is_dealt(const struct gm_case *c, const char *site);
/* find_run.c: what was reserved before the trace, and `*live` in blocks; `*highest`: the event after which most is
 * reserved, for the first time. */
uint64_t gm_case_reserved_at_start(const struct gm_case *c, uint64_t *live, uint32_t *highest);
/* The call site that holds most at the peak of that device of the report; NULL: none has a name. */
const char *gm_case_site_with_most(const struct gm_case *c, size_t d);
static inline bool gm_is_share(uint64_t part, uint64_t whole, double at_least)
{
    return whole > 0 && (double)part >= at_least * (double)whole;
}
/* Remedies on that device that nobody has replayed: without any change; without the allocations of a call site, whose
 * name must last. NULL: no memory. */
struct gm_remedy *gm_case_remedy(struct gm_case *c, int64_t device);
struct gm_remedy *gm_case_drop_site(struct gm_case *c, int64_t device, const char *site, bool is_guess);

/* ---- what the themes share --------------------------------------------------------------------------------------- */

/* Whether the cache at the end is mostly what the exception of an out-of-memory error released: it tells nothing about
 * how the program uses its cache. */
bool gm_case_is_wreckage(const struct gm_case *c);
/* find_cache.c: then says so. */
void gm_case_put_wreckage(const struct gm_case *c, struct gm_text *detail);
/* ignore.c: moves what falls under the report's rules from c->findings to `ignored`. */
void gm_ignore_set_aside(struct gm_case *c);
bool gm_case_ignores(const struct gm_case *c, const char *id);
/* Whether nearly all that was reserved then was in use: better settings may serve that request, and hardly the next. */
static inline bool gm_oom_is_full(const struct gm_oom_row *oom)
{
    return gm_is_share(oom->levels.requested, oom->levels.reserved, 0.9);
}
/* find_allocator.c: whether the driver ever refused memory: what is reserved beyond need has harmed nobody else. */
bool gm_case_is_short(const struct gm_case *c);
/* The finding of that id, so far; NULL: none. */
const struct gm_finding *gm_case_found(const struct gm_case *c, const char *id);
/* What replays said of other settings, which nobody knows who is asked ahead. NULL: nothing. */
const struct gm_settings_advice *gm_case_advice(const struct gm_case *c);

/* role_advice.c: what people do about the memory of one role. What lasts from step to step (parameters, their
 * gradients, optimizer state) nobody leaves out: such call sites are no advice, their role is. */
struct gm_role_advice {
    const char *role;
    const char *subject;  /* "activations are" */
    const char *in_short; /* a clause of few words */
    const char *in_full;  /* a clause */
    const char *of_site;  /* a sentence: of a site that holds such memory; NULL: nothing special */
    bool is_lasting;
    uint64_t bytes; /* requested, at the peak */
};
/* The role that holds most of the peak. false: none of those with advice holds a quarter of it. */
bool gm_advice_role(struct gm_role_advice *advice, const struct gm_view *view);
/* The same for one role; false: there is none. `has_trace`: else it is no evidence that something is not in it. */
bool gm_advice_of(struct gm_role_advice *advice, const char *role, const struct gm_view *view, bool has_trace);
/* The call site without which the peak would be lowest. NULL: none has a name and saves enough to be worth a look. */
const struct gm_group_row *gm_advice_site(const struct gm_view *view);

/* to_do.c: so many bytes of a place as name the line itself, and not from where it was called. */
size_t gm_site_innermost(const char *site);
/* to_do.c: c->to_do, of the findings of the report and of what else would lower the peak. */
void gm_to_do_rank(struct gm_case *c);
/* Whether it is a setting that a replay has shown to save enough to be something to do. */
bool gm_is_worth_setting(const struct gm_finding *f);
/* The same, if it saves a tenth. */
bool gm_is_much_of_setting(const struct gm_finding *f);
/* Whether it is no mistake, but what less memory would cost. */
static inline bool gm_is_choice(const struct gm_finding *f)
{
    return f->rank == GM_RANK_MISTAKE && f->severity == GM_INFO && f->remedy != NULL && f->remedy->has_price;
}
/* Whether it is a mistake that costs too little to be why the peak is what it is: said, but no warning. */
static inline bool gm_is_minor(const struct gm_finding *f)
{
    return f->rank == GM_RANK_MISTAKE && f->severity == GM_INFO && f->remedy != NULL && gm_remedy_is_minor(f->remedy);
}
/* The same as a choice, if it saves a fifth, or nobody knows how much. */
bool gm_is_large_choice(const struct gm_finding *f);
/* As it stands in a list beside what it saves. */
const char *gm_to_do_brief(const struct gm_finding *f);
/* reliability.c, to_do.c: parts of report->diagnosis. */
void gm_reliability_tell(struct gm_case *c);
void gm_to_do_tell(struct gm_case *c);
/* headline_of_end.c: all lines on top, and those of the state at the end, of what is to do. */
void gm_headline_of_end(struct gm_case *c);
/* headline_of_peak.c: those with a trace; false: there is none that tells. */
bool gm_headline_of_peak(struct gm_case *c);
/* headline_of_to_do.c: why, what to do, and where. `highest`: NULL without a trace. */
void gm_headline_of_to_do(struct gm_case *c, const struct gm_view *highest);
/* headline_of_end.c: the largest site that has a stack. */
void gm_headline_where(struct gm_case *c, struct gm_heading *line);
/* Where there is nothing to do: that, or how many findings are ignored. */
void gm_headline_add_nothing(struct gm_case *c, struct gm_heading *line, const char *nothing);
/* Appends a piece; ignored if there are too many. */
void gm_headline_add(struct gm_case *c, struct gm_heading *line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
