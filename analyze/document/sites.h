/* SPDX-License-Identifier: Apache-2.0
 *
 * Call sites as people read them.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/report/report.h"

#include <stddef.h>

/* A site in at most `columns`: of "name  folder/file.py:12" the folder goes first, then the end of the name,
 * then all of it: the file and its line stay whole as long as they fit. */
void gm_site_add(struct gm_text *out, const char *site, size_t columns);
/* The same where a line of GM_LINE has `columns` left and ends with the site: a file and line that do not fit them go
 * on a line of their own, right below. */
void gm_site_row(struct gm_text *out, const char *site, size_t columns);
/* The least columns that show a site's file and line; of a site without them, the beginning of its name. */
size_t gm_site_least(const char *site);
/* "name  file:line", of what is known of the two latter. */
void gm_frame_add(struct gm_text *out, const char *name, const char *file, uint64_t line);
