/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model, third part: what is concluded from all the rest (analyze/diagnose), as plain data. Included by
 * report.h; the same rules hold.
 */
#pragma once

#include "analyze/report/remedy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gm_severity { GM_INFO, GM_WARNING, GM_CRITICAL };
const char *gm_severity_name(enum gm_severity severity); /* "info", "warning", "critical" */

/* Where a finding stands in the list of what to do: what ends a run, then what says that the figures are wrong, then
 * what saves most with what a person can change; the rest by severity, as the findings are. */
enum gm_to_do_rank {
    GM_RANK_OUT_OF_MEMORY = -9,
    GM_RANK_WRONG_FIGURES,
    GM_RANK_MISTAKE, /* among themselves by what they save */
    GM_RANK_GROWTH,
    GM_RANK_LARGE_SETTING,
    GM_RANK_SITE,
    GM_RANK_SETTING,
    GM_RANK_CACHE,
    GM_RANK_ROLE,
    GM_RANK_OTHERS /* 0 */
};

/* Between a place and the line that it was called from: "forward  layers.py:12, from train.py:30". */
#define GM_SITE_FROM ", from "

struct gm_finding {
    const char *id; /* stable, kebab-case: "large-unused-blocks" */
    enum gm_severity severity;
    const char *title;  /* one line, no numbers needed to understand it */
    const char *detail; /* evidence and what to do, one paragraph */
    uint64_t bytes;     /* what is at stake; GM_REPORT_NONE if it has none */
    const char *unit;   /* what the bytes are, to follow them: " a step"; NULL: the title says it */
    const char *brief;  /* a clause for one line; NULL: the title will do */
    const char *site;   /* the place that it blames; NULL: none. `brief` ends so that it may follow */
    enum gm_to_do_rank rank;
    struct gm_remedy *remedy; /* what mending it does to allocations; replayed between the two halves of a diagnosis.
                               * NULL: it names none */
    const char *fix, *cost;   /* the call that mends it, and its price; NULL */
    const char *snippet;      /* the fix as lines of a diff; NULL */
    const char *ignored_by;   /* of an ignored one: the rule's text */
};
/* What is not to be told (analyze/diagnose/ignore.h): findings of that id, at that site. */
struct gm_ignore_rule {
    const char *text;      /* as it was written: "ID", "ID:SITE" */
    const char *place;     /* where: "--ignore", "FILE:3" */
    const char *id, *site; /* site NULL: any, or none */
    uint64_t findings;     /* that fell under it, and under none before it */
};
/* For qsort: most severe first, then most bytes, then by id. */
int gm_finding_order(const void *left, const void *right);

/* A line that stands on top of a report: a label and pieces, the most important first. A narrow output leaves the last
 * ones out. */
enum { GM_HEADLINES = 5, GM_HEADLINE_PIECES = 10 };
struct gm_heading {
    const char *label;
    const char *pieces[GM_HEADLINE_PIECES]; /* as hostile as the names in the report */
    size_t count;                           /* 0, and no site: the line is left out */
    const char *site;                       /* stands behind the last piece and ": ", or alone; NULL: none */
    bool are_sentences;                     /* half a piece still says something */
};

enum gm_reliability { GM_NO_TRACE, GM_INCOMPLETE, GM_DOUBTFUL, GM_RELIABLE };
const char *gm_reliability_name(enum gm_reliability reliability); /* "no-trace" ... */

struct gm_to_do {
    enum gm_severity severity;
    const char *title, *detail;
    const char *finding;            /* its id; NULL: it is none */
    const char *site, *fix, *cost;  /* as in gm_finding */
    const char *brief;              /* what to do, in a few words */
    const char *snippet;            /* as lines of a diff, the first one the place where it is known; NULL */
    bool is_choice;                 /* it has a price, and nothing is wrong without it */
    struct gm_remedy_saving saving; /* of its remedy */
};

struct gm_diagnosis {
    const struct gm_finding *findings; /* gm_finding_order */
    size_t finding_count;
    const struct gm_finding *ignored; /* likewise; they count for nothing below */
    size_t ignored_count;
    struct gm_ignore_rule *ignore_rules; /* set before gm_diagnose; not the report's own */
    size_t ignore_rule_count;
    bool is_judged;                           /* mistakes were looked for, allocation by allocation */
    bool is_healthy;                          /* and there is none, but for choices */
    struct gm_heading headline[GM_HEADLINES]; /* of the peak; without a trace, of the end */
    struct gm_heading at_end[GM_HEADLINES];
    struct gm_heading summary[GM_HEADLINES]; /* the same with marks, for a terminal */
    enum gm_reliability reliability;
    const char *const *doubts; /* why not to trust the trace, device by device, a sentence or two each */
    size_t doubt_count;
    struct gm_remedy *of_site;    /* of the call site among what to do; NULL: there is none */
    const char *oom_place;        /* the line that first ran out of memory, and the program's own; NULL: not known */
    const char *oom_pass;         /* what called the modules that made what was there then; NULL: none did */
    const struct gm_to_do *to_do; /* what to do first, first */
    size_t to_do_count;
};
/* "2 findings ignored by 1 rule, nothing fell under 1 other". */
enum { GM_IGNORED_TEXT = 120 };
const char *gm_ignored_format(char text[GM_IGNORED_TEXT], const struct gm_diagnosis *diagnosis);
