/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines on top, as text.
 */
#ifndef GM_WORDS_HEADLINE_H
#define GM_WORDS_HEADLINE_H

#include "analyze/base/text.h"
#include "analyze/report/report.h"

/* One line of at most `columns`; nothing if it is left out. */
void gm_headline_line(struct gm_text *out, const struct gm_heading *line, size_t columns);

#endif
