/* SPDX-License-Identifier: Apache-2.0
 *
 * gmfleet by several processes under mpirun or srun: process 0 finds the files, hands them out one by one, the largest
 * first, gathers the records and writes the page; the others read snapshots, one at a time.
 */
#ifndef GM_CLI_FLEET_MPI_H
#define GM_CLI_FLEET_MPI_H

#include "analyze/cli/fleet_work.h"

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

#endif
