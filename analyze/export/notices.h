/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run has to say to those who look at code, not at reports: each finding, failed check and grown call site as a
 * notice with a place in the sources, in the forms that CI systems read. docs/ci.md says what each becomes there.
 */
#pragma once

#include "analyze/base/sources.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/report/comparison.h"
#include "analyze/report/fleet_model.h"

#include <stdbool.h>

enum gm_notice_level { GM_NOTICE_PASSED, GM_NOTICE_NOTE, GM_NOTICE_WARNING, GM_NOTICE_ERROR };

struct gm_notice {
    enum gm_notice_level level; /* passed: a check that was asked for; only JUnit tells it */
    bool is_failure;            /* raises the exit code */
    bool is_error;              /* of an input that could not be read */
    const char *rule;           /* stable, kebab-case: a finding's id, an option, "unreadable", "grown-call-site" */
    const char *title;          /* one line */
    const char *text;           /* the rest; NULL */
    const char *subject;        /* the snapshot's path */
    const char *site;           /* as in reports; NULL */
    const char *file;           /* in the checkout, '/' between its parts; NULL: not there */
    uint64_t line;              /* from 1; 0: not known */
};

struct gm_notices { /* zero-initialise */
    struct gm_arena arena;
    struct GM_VEC(struct gm_notice) all;
    bool failed; /* no memory */
};

/* Where files are looked for: a folder's sources, and what goes before their paths ("src/"). NULL: nowhere. */
struct gm_notice_places {
    struct gm_sources *sources;
    char *prefix; /* NULL: "" */
};

/* Adds a copy, its strings included. With `places` and a site but no file, the site is looked up there; its `line`
 * counts where the site does not say one. */
void gm_notices_add(struct gm_notices *notices, const struct gm_notice *notice, const struct gm_notice_places *places);
/* That the snapshot was analysed, or with `error` (NULL: none) that it could not be. */
void gm_notices_add_read(struct gm_notices *notices, const char *subject, const char *error);
void gm_notices_free(struct gm_notices *notices);

/* A report's findings; those from `fail_on` (enum gm_severity, negative: none) on are failures. */
void gm_notices_of_report(struct gm_notices *notices, const struct gm_report *report, int fail_on,
                          const struct gm_notice_places *places);
/* What grew over the limit, and the call sites that grew most: each at least a hundredth of all growth, at most c->top
 * for each pair. They are warnings if the run is over the limit. */
void gm_notices_of_comparison(struct gm_notices *notices, const struct gm_comparison *c,
                              const struct gm_notice_places *places);

/* What gmfleet found in many snapshots: those that could not be read or ran out of memory, ranks that are unlike the
 * others, and those that grow. */
void gm_notices_of_fleet(struct gm_notices *notices, const struct gm_fleet *fleet,
                         const struct gm_notice_places *places);

enum gm_notice_form { GM_NOTICES_GITHUB, GM_NOTICES_GITLAB, GM_NOTICES_JUNIT, GM_NOTICES_SARIF, GM_NOTICES_FORMS };
extern const char *const gm_notice_forms[GM_NOTICES_FORMS + 1]; /* "github", as on the command line; then a NULL */

/* Appends the whole file; sets out->failed if there is no memory. */
void gm_notices_write(struct gm_text *out, const struct gm_notices *notices, enum gm_notice_form form,
                      const char *program, const char *version);
