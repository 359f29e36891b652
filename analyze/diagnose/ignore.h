/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings that somebody does not want to be told: rules "ID" or "ID:SITE", as --ignore and --ignore-file have them.
 * What falls under one is found all the same, and stands apart in the diagnosis (struct gm_diagnosis, `ignored`).
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/report/report.h"

#include <stdatomic.h>

/* The rules of one call, for any number of reports. Zero-initialise it. */
struct gm_ignore {
    struct gm_arena arena;
    struct gm_ignore_vec GM_VEC(struct gm_ignored_by) rules;
    atomic_size_t reports; /* that were diagnosed with them */
};
struct gm_ignored_by {
    struct gm_ignore_rule rule;
    atomic_size_t found; /* of all reports */
};

/* Appends the rule text[0 .. length); `place` is where it was written, for messages: "--ignore", "FILE:3". GM_E_USAGE
 * if no finding has that id, with the nearest one in the message. */
enum gm_status gm_ignore_add(struct gm_ignore *ignore, const char *text, size_t length, const char *place,
                             struct gm_error *err);
void gm_ignore_words(struct gm_text *out); /* the ids of all findings, a line each */
/* The rules of a file: one a line; empty lines do not count, nor what follows a '#' at the beginning of a line or
 * behind a blank. */
enum gm_status gm_ignore_add_lines(struct gm_ignore *ignore, const char *text, size_t length, const char *path,
                                   struct gm_error *err);
/* Before gm_diagnose: the report's diagnosis gets the rules, which must last as long as it. */
enum gm_status gm_ignore_ask(const struct gm_ignore *ignore, struct gm_report *report, struct gm_error *err);
/* After it: counts what fell under each. Threads may. */
void gm_ignore_count(struct gm_ignore *ignore, const struct gm_report *report);
/* The next rule from *i on that nothing fell under in any report, and *i behind it; NULL: there is none, or there was
 * no report. */
const struct gm_ignore_rule *gm_ignore_unused(const struct gm_ignore *ignore, size_t *i);
void gm_ignore_free(struct gm_ignore *ignore);
