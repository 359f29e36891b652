/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the fake share: its state, and how each call begins.
 */
#pragma once

#include "tests/fake_cuda/fake_cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#define FAKE_PAGE (UINT64_C(2) << 20)

extern struct fake_cuda fake;
extern uint64_t fake_used; /* bytes of device memory */

/* Counts a call; not 0: what it is to return, having done nothing. */
int fake_begins(const char *call);
/* A runtime call's return: errors stay until they are asked for. */
cudaError_t fake_returns(cudaError_t error);

#define FAKE_BEGIN()                                                                                                   \
    do {                                                                                                               \
        int told = fake_begins(__func__);                                                                              \
        if (told != 0)                                                                                                 \
            return fake_returns((cudaError_t)told);                                                                    \
    } while (0)
#define FAKE_DRIVER_BEGIN()                                                                                            \
    do {                                                                                                               \
        int told = fake_begins(__func__);                                                                              \
        if (told != 0)                                                                                                 \
            return (CUresult)told;                                                                                     \
    } while (0)

bool fake_takes(uint64_t size); /* of the GPU's memory, if there is so much */

/* memory.c: device addresses. */
void *fake_place(uint64_t size);            /* and makes them accessible */
uint64_t fake_size_of(const void *address); /* of an allocation; 0: none */
void fake_remove(void *address);            /* nobody can touch it any more */
void fake_shut(uint64_t address, uint64_t size);
void fake_open(uint64_t address, uint64_t size);

void fake_memory_start(void);
void fake_memory_end(void);
void fake_memory_held(struct fake_cuda_held *held);
void fake_vmm_end(void);
void fake_vmm_held(struct fake_cuda_held *held);
void fake_streams_end(void);
void fake_streams_held(struct fake_cuda_held *held);
void fake_pools_end(void);
void fake_pools_held(struct fake_cuda_held *held);

void fake_do_all(void); /* works of all streams, in the order in which they were queued */

/* The start of the addresses for reservations. */
uint64_t fake_reserve_base(void);
uint64_t fake_reserve_end(void);
