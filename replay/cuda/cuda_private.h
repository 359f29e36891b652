/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of this folder share. CUDA's types stay in the .c files.
 */
#pragma once

#include "analyze/base/address_map.h"
#include "analyze/base/vec.h"
#include "replay/cuda/cuda.h"

struct gm_cuda_block {
    uint64_t address, size;
};
struct gm_vmm;

struct gm_cuda {
    struct gm_cuda_info info;
    struct gm_error failure;
    int ordinal;
    uint64_t cap, used; /* by the device interface: blocks and mapped pages */
    struct GM_VEC(struct gm_cuda_block) blocks;
    struct gm_address_map block_of; /* address: index in blocks */
    struct gm_vmm *vmm;             /* vmm.c; NULL until the first reservation */
    struct GM_VEC(void *) streams;
    struct gm_address_map stream_of;  /* recorded handle: index in streams */
    struct GM_VEC(void *) events;     /* all that were made */
    struct GM_VEC(void *) idle_marks; /* those of them not in use; has room for all */
    struct GM_VEC(void *) scratch;
    uint64_t pools; /* open */
};

/* `code` is a cudaError_t. Notes a failure (and clears it in the runtime); true if there is none. */
bool gm_cuda_ok(struct gm_cuda *c, const char *call, unsigned code);
/* A failure that is not a call's; always false. */
bool gm_cuda_fail(struct gm_cuda *c, enum gm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool gm_cuda_has_failed(const struct gm_cuda *c);
/* Whether `size` more bytes are within the cap. */
bool gm_cuda_has_room(const struct gm_cuda *c, uint64_t size);

enum gm_device_status gm_vmm_reserve(void *self, uint64_t page, uint64_t most, uint64_t *address, uint64_t *size);
enum gm_device_status gm_vmm_map(void *self, uint64_t address, uint64_t size);
enum gm_device_status gm_vmm_unmap(void *self, uint64_t address, uint64_t size);
enum gm_device_status gm_vmm_unreserve(void *self, uint64_t address, uint64_t size);
void gm_vmm_close(struct gm_cuda *c, struct gm_cuda_left *left);
void gm_cuda_streams_close(struct gm_cuda *c, struct gm_cuda_left *left);
