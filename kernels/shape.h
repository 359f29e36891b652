/* SPDX-License-Identifier: Apache-2.0
 *
 * How a kernel uses the bytes it is given: derived once, here, for the GPU, the reference on the CPU (tests/kernels)
 * and the accounts alike. docs/kernels.md has the rules. A shape of no rows (or words) means that there is nothing to
 * do.
 */
#pragma once

#include "kernels/kernels.h"

#define GM_ROW_MOST 1024u               /* columns of norm and softmax */
#define GM_TABLE_ROW 128u               /* columns of an embedding */
#define GM_HEAD 64u                     /* columns of an attention head */
#define GM_SEQUENCE 128u                /* rows that attend to each other */
#define GM_MLP_MOST 512u                /* columns of a matrix product */
#define GM_MLP_ROWS (UINT64_C(1) << 30) /* rows of one */

/* A power of two for the columns, and the whole rows of that many floats. */
struct gm_rows {
    float *out;
    const float *in;
    uint64_t rows, in_rows; /* in_rows: row r of the block is made from row r % in_rows */
    uint32_t columns;
};
/* The sources as floats: a, b. Without a source the block's first half is the first; the second is the first if there
 * is none. */
struct gm_views {
    float *out;
    const float *a, *b;
    uint64_t out_words, a_words, b_words;
};

#ifdef __cplusplus
extern "C" {
#endif
struct gm_views gm_views_of(const struct gm_kernel_job *job);
struct gm_rows gm_rows_of(const struct gm_views *views, uint32_t most);

/* Copy: byte i of the block is byte i % period of `from`. */
struct gm_copy_shape {
    unsigned char *to;
    const unsigned char *from;
    uint64_t bytes, period;
};
struct gm_copy_shape gm_copy_shape(const struct gm_kernel_job *job);

/* Sources are repeated with a period of whole 16 bytes where they have that many. */
uint64_t gm_period(uint64_t words);

struct gm_attention_shape {
    struct gm_rows rows; /* of the block; its `in` are the queries */
    const float *keys, *values;
    uint64_t key_rows; /* of each of the two; at least 1 */
    uint32_t sequence; /* keys that a query sees: GM_SEQUENCE, or all if there are fewer */
};
struct gm_attention_shape gm_attention_shape(const struct gm_kernel_job *job);

struct gm_mlp_shape {
    float *out;
    const float *in, *weights, *bias; /* rows x columns, columns x columns, columns; row by row */
    uint32_t rows, columns;
};
struct gm_mlp_shape gm_mlp_shape(const struct gm_kernel_job *job);

/* AdamW: three parts of the block of n floats each, and gradients. */
struct gm_adamw_shape {
    float *parameters, *first, *second;
    const float *gradients; /* i % period */
    uint64_t n, period;
};
struct gm_adamw_shape gm_adamw_shape(const struct gm_kernel_job *job);
#ifdef __cplusplus
}
#endif

/* AdamW's constants, at its tenth step. */
#define GM_ADAMW_RATE 1e-3
#define GM_ADAMW_BETA1 0.9
#define GM_ADAMW_BETA2 0.999
#define GM_ADAMW_EPSILON 1e-8
#define GM_ADAMW_DECAY 0.01
#define GM_ADAMW_CORRECTION1 0.6513215599   /* 1 - beta1^10 */
#define GM_ADAMW_CORRECTION2 0.009955119790 /* 1 - beta2^10 */
#define GM_NORM_EPSILON 1e-5
