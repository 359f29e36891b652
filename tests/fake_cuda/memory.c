/* SPDX-License-Identifier: Apache-2.0
 *
 * cudaMalloc, cudaFree: a large range of host addresses that nobody can touch, of which parts are opened.
 */
#include "tests/fake_cuda/private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HALF (UINT64_C(1) << 38)     /* for allocations */
#define RESERVED (UINT64_C(1) << 41) /* for reservations: each has more than the GPU's memory */
#define MOST 65536

static struct {
    uint64_t address, size;
} live[MOST]; /* ascending */
static size_t lives;
static uint64_t base; /* 0: nothing is set up */

static void must(bool is_ok, const char *what)
{
    if (is_ok)
        return;
    perror(what);
    abort();
}

void fake_memory_start(void)
{
    void *at = mmap(NULL, HALF + RESERVED + FAKE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    must(at != MAP_FAILED, "fake CUDA: mmap");
    base = (uint64_t)(uintptr_t)at;
    lives = 0;
}

void fake_memory_end(void)
{
    if (base != 0)
        munmap((void *)(uintptr_t)base, HALF + RESERVED + FAKE_PAGE);
    base = 0;
}

static uint64_t first(void)
{
    return (base + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;
}

uint64_t fake_reserve_base(void)
{
    return first() + HALF;
}

uint64_t fake_reserve_end(void)
{
    return base + HALF + RESERVED;
}

static uint64_t pages(uint64_t size)
{
    return (size + FAKE_PAGE - 1) / FAKE_PAGE * FAKE_PAGE;
}

void fake_open(uint64_t address, uint64_t size)
{
    must(mprotect((void *)(uintptr_t)address, pages(size), PROT_READ | PROT_WRITE) == 0, "fake CUDA: mprotect");
}

/* What was there is gone, as on a GPU; new memory begins with garbage elsewhere, with zeros here. */
void fake_shut(uint64_t address, uint64_t size)
{
    must(madvise((void *)(uintptr_t)address, pages(size), MADV_DONTNEED) == 0, "fake CUDA: madvise");
    must(mprotect((void *)(uintptr_t)address, pages(size), PROT_NONE) == 0, "fake CUDA: mprotect");
}

void *fake_place(uint64_t size)
{
    uint64_t address = first();
    size_t i = 0;
    for (; i < lives && live[i].address - address < pages(size); i++)
        address = live[i].address + pages(live[i].size);
    must(lives < MOST && address + pages(size) <= fake_reserve_base(), "fake CUDA: room for one more allocation");
    memmove(&live[i + 1], &live[i], (lives - i) * sizeof live[0]);
    live[i].address = address;
    live[i].size = size;
    lives++;
    fake_open(address, size);
    return (void *)(uintptr_t)address;
}

static size_t find(const void *address)
{
    size_t i = 0;
    while (i < lives && live[i].address != (uint64_t)(uintptr_t)address)
        i++;
    return i;
}

uint64_t fake_size_of(const void *address)
{
    size_t i = find(address);
    return i < lives ? live[i].size : 0;
}

void fake_remove(void *address)
{
    size_t i = find(address);
    must(i < lives, "fake CUDA: an allocation");
    fake_shut(live[i].address, live[i].size);
    lives--;
    memmove(&live[i], &live[i + 1], (lives - i) * sizeof live[0]);
}

void fake_memory_held(struct fake_cuda_held *held)
{
    held->allocations = lives;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total)
{
    FAKE_BEGIN();
    *free_bytes = fake.memory - fake.context - fake_used;
    *total = fake.memory;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **address, size_t size)
{
    FAKE_BEGIN();
    *address = NULL;
    if (size == 0)
        return cudaSuccess;
    if (!fake_takes(size))
        return fake_returns(cudaErrorMemoryAllocation);
    *address = fake_place(size);
    return cudaSuccess;
}

/* Waits for the device first, as the real one does. */
cudaError_t cudaFree(void *address)
{
    FAKE_BEGIN();
    if (address == NULL)
        return cudaSuccess;
    uint64_t size = fake_size_of(address);
    if (size == 0)
        return fake_returns(cudaErrorInvalidValue);
    fake_do_all();
    fake_remove(address);
    fake_used -= size;
    return cudaSuccess;
}
