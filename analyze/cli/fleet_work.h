/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots to records, by several threads: the largest files first, so that none is left for the end. Never more
 * snapshots are in memory than there are threads.
 */
#ifndef GM_CLI_FLEET_WORK_H
#define GM_CLI_FLEET_WORK_H

#include "analyze/base/text.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/gmfleet.h"
#include "analyze/fleet/find.h"
#include "analyze/fleet/kept.h"

#include <stdatomic.h>

struct gm_fleet_task { /* one file */
    const struct gm_found_file *file;
    const char *name;      /* [GM_NAME_SIZE] of the run that --each makes; NULL without */
    bool has_key;          /* known in the process that did it */
    char key[GM_KEPT_KEY]; /* of its record, see analyze/fleet/kept.h */
    bool is_done, was_kept;
    enum gm_status status; /* of reading it */
    struct gm_text record;
};

/* Does one: from the kept record with --resume, else from the file; with --each also its run directory. */
void gm_fleet_task_run(struct gm_fleet_task *task, const struct gm_fleet_context *context);

/* The tasks by size, the largest first; of equals in their order. NULL: no memory. */
size_t *gm_fleet_order(const struct gm_fleet_task *tasks, size_t count);

/* What is done, files a second, time left. Who does a task counts it; gm_bar_stop at the end. */
struct gm_fleet_progress {
    struct gm_bar bar;
    size_t total;
    uint64_t bytes; /* of the files, for the time left */
    atomic_size_t done;
    _Atomic uint64_t bytes_done;
};
void gm_fleet_progress_start(struct gm_fleet_progress *progress, const struct gm_fleet_context *context,
                             const struct gm_fleet_task *tasks, size_t count);
void gm_fleet_progress_count(struct gm_fleet_progress *progress, const struct gm_fleet_task *task);

/* A number made of the options that change a record: records of other options are none of ours. */
uint64_t gm_fleet_salt(const struct gm_fleet_cli_options *options);

void gm_fleet_tasks_run(struct gm_fleet_task *tasks, size_t count, const struct gm_fleet_context *context);

#endif
