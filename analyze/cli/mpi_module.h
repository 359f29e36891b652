/* SPDX-License-Identifier: Apache-2.0
 *
 * What gmfleet needs of MPI, as a table that a shared object of its own provides: so a gmfleet that was built with MPI
 * starts without it, on machines that have none and as quickly as any other program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GM_MPI_SYMBOL "gm_mpi_module"
#define GM_MPI_FILE "gmfleet_mpi.so"

/* All return false if MPI says no. One thread only may call them. */
struct gm_mpi_module {
    bool (*start)(int *rank, int *size);
    bool (*send)(int to, int tag, const void *data, size_t length);
    /* From anyone, any tag. *data is the caller's, free(). `waits`: until there is one; else *from is -1 if none is. */
    bool (*receive)(bool waits, int *from, int *tag, void **data, size_t *length);
    void (*stop)(void);
    void (*give_up)(int exit_code); /* ends all processes */
};
extern const struct gm_mpi_module gm_mpi_module;
