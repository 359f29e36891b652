/* SPDX-License-Identifier: Apache-2.0
 *
 * The table, and the accounts: what each kernel moves and computes, from its shape. Repeated reads of a source (a
 * period shorter than the block) count, since the launch asks for them; a second read of the same row does not.
 */
#include "kernels/kernels.h"

#include "kernels/launch.h"
#include "kernels/shape.h"

#define WORD sizeof(float)

static uint64_t block_bytes(const struct gm_kernel_job *job)
{
    return job->bytes;
}

static uint64_t no_flops(const struct gm_kernel_job *job)
{
    (void)job;
    return 0;
}

static uint64_t copy_bytes(const struct gm_kernel_job *job)
{
    return 2 * gm_copy_shape(job).bytes;
}

static uint64_t elementwise_bytes(const struct gm_kernel_job *job)
{
    return 3 * WORD * gm_views_of(job).out_words;
}

static uint64_t elementwise_flops(const struct gm_kernel_job *job)
{
    return 5 * gm_views_of(job).out_words; /* negate, exp, add, divide, multiply */
}

static uint64_t row_elements(const struct gm_kernel_job *job, uint32_t most)
{
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, most);
    return s.rows * s.columns;
}

static uint64_t row_bytes(const struct gm_kernel_job *job)
{
    return 2 * WORD * row_elements(job, GM_ROW_MOST); /* the weights stay in the cache */
}

static uint64_t rmsnorm_flops(const struct gm_kernel_job *job)
{
    return 4 * row_elements(job, GM_ROW_MOST); /* square, sum, scale, weight */
}

static uint64_t layernorm_flops(const struct gm_kernel_job *job)
{
    return 7 * row_elements(job, GM_ROW_MOST); /* sum, centre, square, sum, scale, weight, bias */
}

static uint64_t softmax_flops(const struct gm_kernel_job *job)
{
    return 5 * row_elements(job, GM_ROW_MOST); /* max, subtract, exp, sum, scale */
}

static uint64_t attention_bytes(const struct gm_kernel_job *job)
{
    struct gm_attention_shape s = gm_attention_shape(job);
    uint64_t sequences = (s.rows.rows + GM_SEQUENCE - 1) / GM_SEQUENCE;
    return WORD * s.rows.columns * (2 * s.rows.rows + 2 * sequences * s.sequence);
}

static uint64_t attention_flops(const struct gm_kernel_job *job)
{
    struct gm_attention_shape s = gm_attention_shape(job);
    return s.rows.rows * s.sequence * (4 * (uint64_t)s.rows.columns + 3); /* two products; max, exp, sum */
}

static uint64_t mlp_bytes(const struct gm_kernel_job *job)
{
    struct gm_mlp_shape s = gm_mlp_shape(job);
    uint64_t d = s.columns;
    return WORD * (4 * s.rows * d + d * d + d); /* in, out; out again, twice, for bias and activation */
}

static uint64_t mlp_flops(const struct gm_kernel_job *job)
{
    struct gm_mlp_shape s = gm_mlp_shape(job);
    uint64_t d = s.columns;
    return 2 * s.rows * d * d + 6 * s.rows * d; /* add; half, scale, erf, add, multiply */
}

static uint64_t adamw_bytes(const struct gm_kernel_job *job)
{
    return 7 * WORD * gm_adamw_shape(job).n;
}

static uint64_t adamw_flops(const struct gm_kernel_job *job)
{
    return 16 * gm_adamw_shape(job).n; /* first 3, second 4, parameter: decay 1, corrections 2, root, add, divide, 3 */
}

static uint64_t embedding_bytes(const struct gm_kernel_job *job)
{
    return 2 * WORD * row_elements(job, GM_TABLE_ROW);
}

#define ROW(name, about, bytes, flops, tolerance)                                                                      \
    {                                                                                                                  \
#name, about, gm_launch_##name, bytes, flops, tolerance                                                        \
    }

const struct gm_kernel gm_kernels[GM_KERNEL_COUNT] = {
    [GM_KERNEL_FILL] = ROW(fill, "write the allocation's pattern", block_bytes, no_flops, 0),
    [GM_KERNEL_VERIFY] = ROW(verify, "compare with the allocation's pattern", block_bytes, no_flops, 0),
    [GM_KERNEL_COPY] = ROW(copy, "copy a source, as communication does", copy_bytes, no_flops, 0),
    [GM_KERNEL_ELEMENTWISE] = ROW(elementwise, "SiLU(a) * b", elementwise_bytes, elementwise_flops, 1e-5),
    [GM_KERNEL_RMSNORM] = ROW(rmsnorm, "rows over their root mean square", row_bytes, rmsnorm_flops, 1e-5),
    [GM_KERNEL_LAYERNORM] =
        ROW(layernorm, "rows less their mean, over their deviation", row_bytes, layernorm_flops, 1e-4),
    [GM_KERNEL_SOFTMAX] = ROW(softmax, "softmax of rows", row_bytes, softmax_flops, 1e-5),
    [GM_KERNEL_ATTENTION] =
        ROW(attention, "fused attention, tiled, online softmax", attention_bytes, attention_flops, 1e-4),
    [GM_KERNEL_MLP] = ROW(mlp, "GELU(x W + b)", mlp_bytes, mlp_flops, 1e-3),
    [GM_KERNEL_ADAMW] = ROW(adamw, "a step of AdamW on parameters and two moments", adamw_bytes, adamw_flops, 1e-5),
    [GM_KERNEL_EMBEDDING] = ROW(embedding, "gather rows of a table", embedding_bytes, no_flops, 0),
};
