/* SPDX-License-Identifier: Apache-2.0
 *
 * --format FORM[=FILE]: what a call has to say to a CI (analyze/export/notices.h), to files or standard output.
 */
#pragma once

#include "analyze/cli/call.h"
#include "analyze/export/notices.h"

/* Of GM_ROW_FORMAT: adds to a struct gm_formats. */
bool gm_value_format(const char *text, void *value);
void gm_format_words(struct gm_text *out);

/* Whether one of them goes to standard output. */
bool gm_formats_take_stdout(const struct gm_formats *formats);
/* GM_E_USAGE if more than one thing wants standard output: --json -, a format, and the option `also` (NULL: none). */
enum gm_status gm_formats_check(const struct gm_usual_options *options, const char *also, struct gm_error *err);

/* Where --source says, else the working directory. Nothing without a format. gm_formats_close_places in any case. */
enum gm_status gm_formats_open_places(struct gm_notice_places *places, const struct gm_usual_options *options,
                                      struct gm_error *err);
void gm_formats_close_places(struct gm_notice_places *places);

/* Writes all files; what goes wrong is told. */
void gm_formats_put(struct gm_call *call, const struct gm_formats *formats, const struct gm_notices *notices);
