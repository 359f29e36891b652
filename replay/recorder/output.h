/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a recording goes.
 */
#ifndef GM_REPLAY_RECORDER_OUTPUT_H
#define GM_REPLAY_RECORDER_OUTPUT_H

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/snapshot/snapshot.h"

/* The path that `pattern` means: %p is the process, %r its rank among those that work together (0 if it is alone), %%
 * a percent sign. */
void gm_record_path(struct gm_text *out, const char *pattern);
/* Writes the snapshot as a .gmtrace, under a hidden name that is renamed when all of it is there. */
enum gm_status gm_record_write(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err);

#endif
