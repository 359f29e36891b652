/* SPDX-License-Identifier: Apache-2.0
 *
 * The device behind the allocator's model: where memory comes from. The model never knows which one it is: a simulated
 * GPU (sim.c), one that answers what a trace recorded (replay/verify), or a real one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gm_device_status {
    GM_DEVICE_OK,
    GM_DEVICE_FULL,  /* out of memory: the allocator goes on with its next resort */
    GM_DEVICE_FAILED /* anything else: the run ends; the device keeps the reason */
};

struct gm_device {
    void *self;
    /* cudaMalloc, cudaFree. */
    enum gm_device_status (*allocate)(void *self, uint64_t size, uint64_t *address);
    enum gm_device_status (*release)(void *self, uint64_t address, uint64_t size);
    /* An address range for an expandable segment whose pages have `page` bytes; *size is its length: 9/8 of the memory,
     * and not more than `most`, in whole pages. Its pages are mapped and unmapped with the next two. */
    enum gm_device_status (*reserve)(void *self, uint64_t page, uint64_t most, uint64_t *address, uint64_t *size);
    enum gm_device_status (*map)(void *self, uint64_t address, uint64_t size);
    enum gm_device_status (*unmap)(void *self, uint64_t address, uint64_t size);
    enum gm_device_status (*unreserve)(void *self, uint64_t address, uint64_t size);
    uint64_t (*free_bytes)(void *self); /* cudaMemGetInfo's first number */
    uint64_t total_bytes;               /* its second one; UINT64_MAX: unlimited */
};
