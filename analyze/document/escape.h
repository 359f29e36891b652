/* SPDX-License-Identifier: Apache-2.0
 *
 * Names from a file, made harmless for the format that they are written into. Every function takes any bytes.
 *
 * Markdown is what GitHub renders: a table row is cut at '|' before anything else is looked at, raw HTML is live, and
 * after rendering @user, #123, owner/repo#1, commit hashes, :emoji: and $math$ become links and pictures everywhere but
 * in code. So a name is shown as a code span, and in prose each word that could mean anything becomes one.
 */
#pragma once

#include "analyze/base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* A JSON string with its quotes; null for NULL. Ill-formed UTF-8 becomes U+FFFD. */
void gm_escape_json(struct gm_text *out, const char *s);
/* A code span, safe in a table cell too; "(empty)" for "". A '|' is written as an entity between two spans, because
 * renderers disagree on backslashes before it. */
void gm_escape_code(struct gm_text *out, const char *s);
/* Prose: harmless words as they are, all others as code spans; blanks become single ones. Safe in a table cell. */
void gm_escape_prose(struct gm_text *out, const char *s);
/* The same of what does not begin a line. */
void gm_escape_prose_on(struct gm_text *out, const char *s);
/* For the alt text of an image: ![here](..). */
void gm_escape_alt(struct gm_text *out, const char *s);
/* For the destination of an image: a relative file name, percent-encoded. */
void gm_escape_url(struct gm_text *out, const char *s);
/* s cut to `columns` (gm_columns_cut) and then escaped by one of the above. */
void gm_escape_cut(struct gm_text *out, const char *s, size_t columns, bool keep_tail,
                   void (*escape)(struct gm_text *, const char *));
