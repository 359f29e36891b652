/* SPDX-License-Identifier: Apache-2.0
 *
 * What else than --help is made of a program's table: its manual page, the options' table of docs/cli.md, and the
 * scripts with which shells complete its command line.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/cli/options.h"

enum gm_manual { GM_MANUAL_MAN, GM_MANUAL_MARKDOWN, GM_MANUAL_BASH, GM_MANUAL_ZSH, GM_MANUAL_FISH };

void gm_manual(const struct gm_program *program, enum gm_manual form, struct gm_text *out);

/* Its forms for shells. */
void gm_completion(const struct gm_program *program, enum gm_manual shell, struct gm_text *out);
