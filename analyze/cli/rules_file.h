/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules that a command line asks for.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/cli/call.h"
#include "analyze/diagnose/ignore.h"
#include "analyze/state/categories.h"

/* Of categories: from the file at `path`, whose text is then in *text; NULL: the built-in ones. */
enum gm_status gm_rules_load(struct gm_category_rules **rules, const char *path, struct gm_text *text,
                             struct gm_error *err);
/* What --ignore and --ignore-file say. */
enum gm_status gm_ignore_load(struct gm_ignore *ignore, const struct gm_usual_options *options, struct gm_error *err);
/* Warns of rules that nothing fell under, and frees them. */
void gm_ignore_end(struct gm_ignore *ignore, struct gm_call *call);
