/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot.sqlite: what the file says, and what was concluded of each allocation, as tables for questions that no
 * report answers (docs/exports.md). The only code that meets SQLite.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/state/categories.h"
#include "analyze/timeline/trace_analyze.h"

#include <stdbool.h>

#define GM_SQLITE_FILE "snapshot.sqlite"

/* GM_E_MISSING where the program was built without SQLite. */
enum gm_status gm_sqlite_check(struct gm_error *err);

/* All of the same snapshot, the report judged. */
struct gm_sqlite_source {
    const struct gm_report *report;
    const struct gm_snapshot *snapshot;
    const struct gm_kept *kept; /* of the whole trace */
    const struct gm_category_rules *rules;
};

/* Fills the empty file at `path`; nothing else is made beside it. `gives_up` is asked now and then. On failure
 * (GM_E_NOMEM, GM_E_WRITE, GM_E_MISSING, else GM_E_INTERNAL) the file is of no use. */
enum gm_status gm_sqlite_write(const char *path, const struct gm_sqlite_source *source, bool (*gives_up)(void),
                               struct gm_error *err);
