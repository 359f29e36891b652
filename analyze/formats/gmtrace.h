/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a .gmtrace file: a snapshot in few bytes. docs/gmtrace.md is the specification; gmtrace_write.c writes it.
 */
#ifndef GM_FORMATS_GMTRACE_H
#define GM_FORMATS_GMTRACE_H

#include "analyze/formats/source.h"
#include "analyze/snapshot/snapshot.h"

/* Reads all of *source into *snapshot, which is to be freed by gm_snapshot_free. Of snapshot->source only what the file
 * itself remembers is filled in: bare list of segments, salvaged. On failure *snapshot is empty. */
enum gm_status gm_gmtrace_decode(struct gm_source *source, struct gm_snapshot *snapshot, struct gm_error *err);

#endif
