/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of gmfleet share.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/shell.h"
#include "analyze/fleet/find.h"
#include "analyze/fleet/retained.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gm_fleet_cli_options {
    struct gm_usual_options usual;
    const char *pattern, *gpu; /* NULL if not given */
    uint64_t memory;           /* UINT64_MAX: not given */
    bool each, resume;
};

struct gm_fleet_context {
    struct gm_fleet_cli_options options;
    struct gm_shell shell;
    uint64_t salt;                /* of the options that change a record */
    struct gm_retained_keys kept; /* with --resume: what was finished before */
};

/* Snapshots to records, by several threads: the largest files first, so that none is left for the end. Never more
 * snapshots are in memory than there are threads. */

struct gm_fleet_task { /* one file */
    const struct gm_found_file *file;
    const char *name;          /* [GM_NAME_SIZE] of the run that --each makes; NULL without */
    bool has_key;              /* known in the process that did it */
    char key[GM_RETAINED_KEY]; /* of its record, see analyze/fleet/retained.h */
    bool is_done, was_kept;
    enum gm_status status; /* of reading it */
    struct gm_text record;
    struct gm_load_progress reading; /* of it, in this process; all of it once it is counted */
};

/* Does one: from the kept record with --resume, else from the file; with --each also its run directory. */
void gm_fleet_task_run(struct gm_fleet_task *task, const struct gm_fleet_context *context);

/* The tasks by size, the largest first; of equals in their order. NULL: no memory. */
size_t *gm_fleet_order(const struct gm_fleet_task *tasks, size_t count);

/* What is done, files and bytes a second, time left. Who does a task counts it; gm_bar_stop at the end. */
struct gm_fleet_progress {
    struct gm_bar bar;
    const struct gm_fleet_task *tasks;
    size_t total;
    uint64_t bytes; /* of the files */
    atomic_size_t done;
    _Atomic uint64_t bytes_done;
};
void gm_fleet_progress_start(struct gm_fleet_progress *progress, const struct gm_fleet_context *context,
                             const struct gm_fleet_task *tasks, size_t count);
void gm_fleet_progress_count(struct gm_fleet_progress *progress, struct gm_fleet_task *task);

/* A number made of the options that change a record: records of other options are none of ours. */
uint64_t gm_fleet_salt(const struct gm_fleet_cli_options *options);

void gm_fleet_tasks_run(struct gm_fleet_task *tasks, size_t count, const struct gm_fleet_context *context);

/* Gmfleet by several processes under mpirun or srun: process 0 finds the files, hands them out one by one, the
 * largest first, gathers the records and writes the page; the others read snapshots, one at a time. */

struct gm_fleet_mpi; /* NULL where a function takes one: there is only this process */

/* Whether the environment says that this is one of several processes, and not the first one. Costs a look at the
 * environment; says so also if there is no MPI here. */
bool gm_fleet_mpi_is_helper(void);
/* *mpi is NULL if this is the only process. GM_E_MISSING: there are others, but gmfleet was built without MPI. */
enum gm_status gm_fleet_mpi_start(struct gm_fleet_mpi **mpi, struct gm_error *err);
int gm_fleet_mpi_rank(const struct gm_fleet_mpi *mpi);

/* Process 0: as gm_fleet_tasks_run, with the help of the others. */
enum gm_status gm_fleet_mpi_run(struct gm_fleet_mpi *mpi, struct gm_fleet_task *tasks, size_t count,
                                const struct gm_fleet_context *context, struct gm_error *err);
/* The others: reads what process 0 hands out, until it says that there is no more. If `status` is an error, only tells
 * process 0 that this process cannot: the page is made without it. */
enum gm_status gm_fleet_mpi_help(struct gm_fleet_mpi *mpi, const struct gm_fleet_context *context,
                                 enum gm_status status, struct gm_error *err);
/* Process 0 sends the others home, and all leave. */
void gm_fleet_mpi_stop(struct gm_fleet_mpi *mpi);
/* Ends all processes: the others may be waiting for a message that will not come. */
void gm_fleet_mpi_give_up(struct gm_fleet_mpi *mpi, int exit_code);
