/* SPDX-License-Identifier: Apache-2.0
 *
 * Between CUPTI and the recorder. The files behind it are the only ones here that include NVIDIA's headers.
 */
#pragma once

#include "analyze/base/error.h"
#include "replay/recorder/recorder.h"

enum gm_cuda_kind {
    GM_CUDA_OTHER,
    GM_CUDA_ALLOC,      /* address, size, stream, pool; refused: size */
    GM_CUDA_FREE,       /* address, stream */
    GM_CUDA_CREATE,     /* physical memory: handle, device; refused: size */
    GM_CUDA_MAP,        /* address, size, handle */
    GM_CUDA_UNMAP,      /* address, size */
    GM_CUDA_RESET,      /* the device of the context; or device, if it is not negative */
    GM_CUDA_SET_DEVICE, /* device */
    GM_CUDA_WORK        /* a kernel, a copy */
};

/* A call of the runtime or the driver, out of the types of its many versions. */
struct gm_cuda_call {
    enum gm_cuda_kind kind;
    uint64_t address, size, handle, pool;
    int64_t stream, device; /* device -1: that of the context */
};

enum gm_cuda_domain { GM_CUDA_RUNTIME, GM_CUDA_DRIVER };
/* What the call `id` of a domain with these parameters does. Results (the address of new memory) are there only after
 * the call. Both pointers are CUPTI's, and valid for `id`. */
void gm_cuda_decode(enum gm_cuda_domain domain, uint32_t id, const void *parameters, bool is_after,
                    struct gm_cuda_call *call);

enum gm_nvtx_kind { GM_NVTX_OTHER, GM_NVTX_PUSH, GM_NVTX_POP, GM_NVTX_START, GM_NVTX_END, GM_NVTX_REGISTER };
struct gm_nvtx_call {
    enum gm_nvtx_kind kind;
    const char *name;    /* push, start, register; NULL: text that is not ASCII or UTF-8 */
    uint64_t registered; /* push, start: the handle of a registered name, or 0. Register: the new handle */
    uint64_t id;         /* start, end */
};
/* `parameters` and `result` are CUPTI's. */
void gm_nvtx_decode(uint32_t id, const void *parameters, const void *result, struct gm_nvtx_call *call);

/* Loads CUPTI, subscribes, and records into r until gm_cupti_stop. backtrace: native frames per call, 0 for none. */
enum gm_status gm_cupti_start(struct gm_recorder *r, unsigned backtrace, bool with_work, struct gm_error *err);
void gm_cupti_stop(void); /* fetches what the device still has to report; more calls do nothing */
