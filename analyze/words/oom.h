/* SPDX-License-Identifier: Apache-2.0
 *
 * Words for running out of memory and for why memory grew.
 */
#ifndef GM_WORDS_OOM_H
#define GM_WORDS_OOM_H

#include "analyze/report/report.h"
#include "analyze/report/view.h"

#include <stdint.h>

enum { GM_STREAM_TEXT = 40 };

/* "capacity", "fragmentation", "capacity and fragmentation", "unknown" */
const char *gm_oom_verdict_name(enum gm_oom_verdict verdict);
/* The number of a stream as in the tables; its handle if it is in none. Returns out. */
char *gm_stream_format(char out[GM_STREAM_TEXT], const struct gm_view *view, int64_t stream);
/* Cached bytes for which no reason is known; 0 where it is not known how much was cached. */
uint64_t gm_oom_not_attributed(const struct gm_view *view, const struct gm_oom_row *oom);

#endif
