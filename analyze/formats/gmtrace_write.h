/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a snapshot as a .gmtrace file: everything that struct gm_snapshot holds but the path, size and format of the
 * file that it came from. docs/gmtrace.md is the specification; analyze/formats/gmtrace*.c read it.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/text.h"
#include "analyze/snapshot/snapshot.h"

/* Appends the file to *out. On failure *out holds a part of it. The same snapshot gives the same bytes. */
enum gm_status gm_write_gmtrace(const struct gm_snapshot *snapshot, struct gm_text *out, struct gm_error *err);
/* The same in a third of the time and a tenth more bytes: for what is made along the way. */
enum gm_status gm_write_gmtrace_quickly(const struct gm_snapshot *snapshot, struct gm_text *out, struct gm_error *err);
