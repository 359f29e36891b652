/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that use the memory of a replay on a GPU. One table row each: a launcher, and how much it moves and
 * computes. No CUDA type stands here; a stream is an opaque pointer.
 *
 * A kernel gets a block (bytes that it writes) and up to two sources (other live blocks that it only reads), and
 * derives everything else, rows, columns, parts, from their sizes: docs/kernels.md. Any size works; addresses are
 * multiples of 16. Nothing outside the block is written, nothing outside block and sources is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_kernel_result { /* of verify; it adds to what is there: begin with {0, GM_KERNEL_NOWHERE} */
    uint64_t mismatches;  /* words of 4 bytes (the last one may be shorter) that are not the pattern */
    uint64_t first;       /* byte offset of the first of them */
};
#define GM_KERNEL_NOWHERE UINT64_MAX

struct gm_kernel_job {
    void *block;
    uint64_t bytes;
    struct {
        const void *at;
        uint64_t bytes;
    } source[2];                     /* {NULL, 0}: none */
    uint64_t key;                    /* of the allocation: its pattern, the rows that it gathers */
    struct gm_kernel_result *result; /* of verify; where the kernel runs */
};

/* What went wrong: a call and the driver's words for it, copied: a library that is closed takes its own along. */
struct gm_kernel_error {
    const char *call;
    char name[64], words[192];
    bool is_missing; /* nothing failed: this machine lacks what the kernel needs, and the words say so */
};

struct gm_blas; /* the library of the matrix product, once it is needed */

/* Where kernels run. Zero-initialise it, set `stream` and, if known, `processors`. */
struct gm_kernel_place {
    void *stream;        /* a cudaStream_t */
    unsigned processors; /* of the GPU; 0: not known */
    struct gm_blas *blas;
};
#ifdef __cplusplus
extern "C" {
#endif
/* Gives back what launchers put there. */
void gm_kernel_place_end(struct gm_kernel_place *place);

/* Which kernels there are: as a number, and in the names of functions. */
#define GM_KERNEL_MAP(X)                                                                                               \
    X(FILL, fill)                                                                                                      \
    X(VERIFY, verify)                                                                                                  \
    X(COPY, copy)                                                                                                      \
    X(ELEMENTWISE, elementwise)                                                                                        \
    X(RMSNORM, rmsnorm)                                                                                                \
    X(LAYERNORM, layernorm)                                                                                            \
    X(SOFTMAX, softmax) X(ATTENTION, attention) X(MLP, mlp) X(ADAMW, adamw) X(EMBEDDING, embedding)

enum gm_kernel_id {
#define X(id, name) GM_KERNEL_##id,
    GM_KERNEL_MAP(X)
#undef X
        GM_KERNEL_COUNT
};

struct gm_kernel {
    const char *name;
    const char *about; /* one line */
    /* Queues it on the stream; false: *error says why. */
    bool (*launch)(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error);
    uint64_t (*bytes)(const struct gm_kernel_job *job); /* read and written, if every byte moves once */
    uint64_t (*flops)(const struct gm_kernel_job *job); /* an exponential or a root counts as one */
    double
        tolerance; /* |result - r| <= tolerance * max(1, |r|), r: the reference's (tests/kernels); 0: the same bits */
};
extern const struct gm_kernel gm_kernels[GM_KERNEL_COUNT];
#ifdef __cplusplus
}
#endif
