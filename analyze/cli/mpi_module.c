/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that knows MPI; gmfleet opens it as a shared object when it was started by mpirun or srun.
 */
#include "analyze/cli/mpi_module.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

static bool start(int *rank, int *size)
{
    int provided;
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS &&
           MPI_Comm_rank(MPI_COMM_WORLD, rank) == MPI_SUCCESS && MPI_Comm_size(MPI_COMM_WORLD, size) == MPI_SUCCESS;
}

static bool send_message(int to, int tag, const void *data, size_t length)
{
    return length <= INT_MAX && MPI_Send(data, (int)length, MPI_BYTE, to, tag, MPI_COMM_WORLD) == MPI_SUCCESS;
}

static bool receive_message(bool waits, int *from, int *tag, void **data, size_t *length)
{
    MPI_Status status;
    int is_there = 1, count = 0;
    *from = -1;
    *data = NULL;
    const int result = waits ? MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status)
                             : MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &is_there, &status);
    if (result != MPI_SUCCESS)
        return false;
    if (!is_there)
        return true;
    if (MPI_Get_count(&status, MPI_BYTE, &count) != MPI_SUCCESS || count < 0)
        return false;
    void *bytes = malloc((size_t)count + 1);
    if (bytes == NULL || MPI_Recv(bytes, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        free(bytes);
        return false;
    }
    *from = status.MPI_SOURCE;
    *tag = status.MPI_TAG;
    *data = bytes;
    *length = (size_t)count;
    return true;
}

static void stop(void)
{
    MPI_Finalize();
}

static void give_up(int exit_code)
{
    MPI_Abort(MPI_COMM_WORLD, exit_code);
}

const struct gm_mpi_module gm_mpi_module = {start, send_message, receive_message, stop, give_up};
