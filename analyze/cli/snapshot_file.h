/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot as a program's output.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/snapshot/snapshot.h"

/* Writes it as a pickle, compressed if `path` ends in .zst or .gz; - is stdout. A signal in the middle ends the program
 * as soon as the hidden file is gone. GM_E_WRITE, GM_E_PIPE, GM_E_NOMEM. */
enum gm_status gm_put_snapshot(const struct gm_snapshot *snapshot, const char *path, struct gm_error *err);
