/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.html: the page that the build made, which is compiled in, and the runs that a program puts into it.
 */
#pragma once

#include "analyze/base/text.h"

#include <stdbool.h>

/* A program that was built without the page's toolchain has none. */
bool gm_page_is_there(void);

struct gm_page_run {
    const char *name;      /* shown for it */
    const char *query;     /* for page_open (render/page/core/page_core.h) */
    const char *trace;     /* a .gmtrace */
    size_t trace_length;   /* bytes */
    struct gm_text report; /* its analysis.json as gzip; empty: the page makes it itself */
};
/* Appends the page with these runs in it, in their order; none: the empty one. `rules`: text of the categories that
 * they were analysed with; NULL: the default ones. Only if gm_page_is_there. */
void gm_page_write(struct gm_text *out, const struct gm_page_run *runs, size_t count, const char *rules);
