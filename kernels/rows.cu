/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that look at a row at a time, a warp each: RMSNorm, LayerNorm, softmax, and the gathering of rows. A row has
 * at most 1,024 floats and is read once: 32 of them per lane stay in registers.
 */
#include "kernels/device.cuh"

#define PER_LANE (GM_ROW_MOST / GM_WARP)

/* A lane's part of a row: float4 number lane, lane + 32 ... of it; single floats where the row has less than four. */
struct lane_row {
    float x[PER_LANE];
    __device__ static uint32_t column(uint32_t k, bool is_wide)
    {
        return is_wide ? (k / 4 * GM_WARP + threadIdx.x % GM_WARP) * 4 + k % 4 : k * GM_WARP + threadIdx.x % GM_WARP;
    }
    __device__ void load(const float *row, uint32_t columns)
    {
        for (uint32_t k = 0; k < PER_LANE; k += 4) {
            uint32_t at = column(k, true);
            float4 four = make_float4(0, 0, 0, 0);
            if (columns >= 4 && at < columns)
                four = *reinterpret_cast<const float4 *>(row + at);
            x[k] = four.x;
            x[k + 1] = four.y;
            x[k + 2] = four.z;
            x[k + 3] = four.w;
        }
        if (columns < 4 && threadIdx.x % GM_WARP < columns)
            x[0] = row[threadIdx.x % GM_WARP];
    }
    __device__ void store(float *row, uint32_t columns) const
    {
        for (uint32_t k = 0; k < PER_LANE; k += 4) {
            uint32_t at = column(k, true);
            if (columns >= 4 && at < columns)
                *reinterpret_cast<float4 *>(row + at) = make_float4(x[k], x[k + 1], x[k + 2], x[k + 3]);
        }
        if (columns < 4 && threadIdx.x % GM_WARP < columns)
            row[threadIdx.x % GM_WARP] = x[0];
    }
    /* The column of x[k], or something beyond the row. */
    __device__ static uint32_t place(uint32_t k, uint32_t columns)
    {
        return columns >= 4 ? column(k, true) : k == 0 ? threadIdx.x % GM_WARP : columns;
    }
};

template <bool IS_CENTRED> __global__ static void norm(struct gm_rows s, const float *weights, uint64_t weight_words)
{
    struct lane_row row;
    bool wraps = weight_words < 2 * s.columns;
    for (uint64_t r = gm_thread() / GM_WARP; r < s.rows; r += gm_threads() / GM_WARP) {
        row.load(s.in + r % s.in_rows * s.columns, s.columns);
        float mean = 0, square = 0;
        if (IS_CENTRED) {
            for (uint32_t k = 0; k < PER_LANE; k++)
                mean += row.x[k];
            mean = gm_warp_sum(mean) / s.columns;
        }
        for (uint32_t k = 0; k < PER_LANE; k++)
            if (lane_row::place(k, s.columns) < s.columns)
                square += (row.x[k] - mean) * (row.x[k] - mean);
        float scale = rsqrtf(gm_warp_sum(square) / s.columns + (float)GM_NORM_EPSILON);
        for (uint32_t k = 0; k < PER_LANE; k++) {
            uint32_t at = lane_row::place(k, s.columns);
            if (at >= s.columns)
                continue;
            uint64_t weight = wraps ? at % weight_words : at;
            uint64_t bias = wraps ? (at + s.columns) % weight_words : at + s.columns;
            row.x[k] = (row.x[k] - mean) * scale * weights[weight] + (IS_CENTRED ? weights[bias] : 0);
        }
        row.store(s.out + r * s.columns, s.columns);
    }
}

__global__ static void softmax(struct gm_rows s)
{
    struct lane_row row;
    for (uint64_t r = gm_thread() / GM_WARP; r < s.rows; r += gm_threads() / GM_WARP) {
        row.load(s.in + r % s.in_rows * s.columns, s.columns);
        float most = -INFINITY, sum = 0;
        for (uint32_t k = 0; k < PER_LANE; k++)
            if (lane_row::place(k, s.columns) < s.columns)
                most = fmaxf(most, row.x[k]);
        most = gm_warp_max(most);
        for (uint32_t k = 0; k < PER_LANE; k++) {
            row.x[k] = lane_row::place(k, s.columns) < s.columns ? __expf(row.x[k] - most) : 0;
            sum += row.x[k];
        }
        float scale = 1 / gm_warp_sum(sum);
        for (uint32_t k = 0; k < PER_LANE; k++)
            row.x[k] *= scale;
        row.store(s.out + r * s.columns, s.columns);
    }
}

__global__ static void embedding(struct gm_rows s, struct gm_pattern pattern)
{
    uint32_t lane = threadIdx.x % GM_WARP;
    for (uint64_t r = gm_thread() / GM_WARP; r < s.rows; r += gm_threads() / GM_WARP) {
        const float *from = s.in + gm_gathered_row(pattern, r, s.in_rows) * s.columns;
        float *to = s.out + r * s.columns;
        if (s.columns < 4 && lane < s.columns)
            to[lane] = from[lane];
        if (s.columns >= 4 && lane < s.columns / 4)
            reinterpret_cast<float4 *>(to)[lane] = reinterpret_cast<const float4 *>(from)[lane];
    }
}

static unsigned row_blocks(const struct gm_kernel_place *place, const struct gm_rows *s)
{
    return gm_blocks(place, s->rows * GM_WARP, GM_THREADS);
}

template <bool IS_CENTRED>
static bool launch_norm(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error,
                        const char *name)
{
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, GM_ROW_MOST);
    if (s.rows == 0)
        return true;
    GM_LAUNCH(place, row_blocks(place, &s), GM_THREADS, norm<IS_CENTRED>, s, v.b, v.b_words);
    return gm_launched(error, name);
}

bool gm_launch_rmsnorm(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    return launch_norm<false>(place, job, error, "rmsnorm");
}

bool gm_launch_layernorm(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    return launch_norm<true>(place, job, error, "layernorm");
}

bool gm_launch_softmax(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, GM_ROW_MOST);
    if (s.rows == 0)
        return true;
    GM_LAUNCH(place, row_blocks(place, &s), GM_THREADS, softmax, s);
    return gm_launched(error, "softmax");
}

bool gm_launch_embedding(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    static_assert(GM_TABLE_ROW / 4 <= GM_WARP, "a lane moves at most one float4");
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, GM_TABLE_ROW);
    if (s.rows == 0)
        return true;
    GM_LAUNCH(place, row_blocks(place, &s), GM_THREADS, embedding, s, gm_pattern_of(job->key));
    return gm_launched(error, "embedding");
}
