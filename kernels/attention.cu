/* SPDX-License-Identifier: Apache-2.0
 *
 * Fused attention: keys and values go through shared memory a tile at a time, and no row of scores ever exists. A
 * thread has one query; it keeps the largest score so far, the sum of exponentials and the weighted values, and scales
 * what it has when a larger score comes (the online softmax of Milakov and Gimelshein, as FlashAttention uses it). All
 * threads of a block read the same key at a time, which shared memory broadcasts.
 */
#include "kernels/device.cuh"

#define TILE 16u

struct tile {
    float4 keys[TILE][GM_HEAD / 4], values[TILE][GM_HEAD / 4];
};

/* Rows [first, first + n) of keys and values; columns that a short head lacks are 0. */
__device__ static void load_tile(struct tile *tile, const struct gm_attention_shape &s, uint64_t first, uint32_t n)
{
    float *keys = &tile->keys[0][0].x, *values = &tile->values[0][0].x;
    for (uint32_t i = threadIdx.x; i < TILE * GM_HEAD; i += blockDim.x) {
        uint32_t row = i / GM_HEAD, column = i % GM_HEAD;
        bool is_there = row < n && column < s.rows.columns;
        uint64_t at = (first + row) * s.rows.columns + column;
        keys[i] = is_there ? s.keys[at] : 0;
        values[i] = is_there ? s.values[at] : 0;
    }
}

__device__ static float dot(const float4 *a, const float4 *b)
{
    float sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < GM_HEAD / 4; i++)
        sum += a[i].x * b[i].x + a[i].y * b[i].y + a[i].z * b[i].z + a[i].w * b[i].w;
    return sum;
}

__device__ static void add_scaled(float4 *sum, float have, const float4 *b, float factor)
{
#pragma unroll
    for (uint32_t i = 0; i < GM_HEAD / 4; i++) {
        sum[i].x = sum[i].x * have + b[i].x * factor;
        sum[i].y = sum[i].y * have + b[i].y * factor;
        sum[i].z = sum[i].z * have + b[i].z * factor;
        sum[i].w = sum[i].w * have + b[i].w * factor;
    }
}

__device__ static void load_query(float4 *query, const float *row, uint32_t columns)
{
    float scale = rsqrtf((float)columns);
#pragma unroll
    for (uint32_t i = 0; i < GM_HEAD / 4; i++) {
        query[i].x = 4 * i < columns ? row[4 * i] * scale : 0;
        query[i].y = 4 * i + 1 < columns ? row[4 * i + 1] * scale : 0;
        query[i].z = 4 * i + 2 < columns ? row[4 * i + 2] * scale : 0;
        query[i].w = 4 * i + 3 < columns ? row[4 * i + 3] * scale : 0;
    }
}

__device__ static void store_row(float *row, const float4 *y, float scale, uint32_t columns)
{
#pragma unroll
    for (uint32_t i = 0; i < GM_HEAD / 4; i++) {
        float four[4] = {y[i].x, y[i].y, y[i].z, y[i].w};
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            if (4 * i + k < columns)
                row[4 * i + k] = four[k] * scale;
    }
}

__global__ static void __launch_bounds__(GM_SEQUENCE) attention(struct gm_attention_shape s)
{
    __shared__ struct tile tile;
    uint64_t sequences = (s.rows.rows + GM_SEQUENCE - 1) / GM_SEQUENCE, sources = s.key_rows / s.sequence;
    for (uint64_t sequence = blockIdx.x; sequence < sequences; sequence += gridDim.x) {
        uint64_t row = sequence * GM_SEQUENCE + threadIdx.x, first = sequence % sources * s.sequence;
        float4 query[GM_HEAD / 4], y[GM_HEAD / 4] = {};
        float most = -INFINITY, sum = 0;
        load_query(query, s.rows.in + row % s.rows.in_rows * s.rows.columns, s.rows.columns);
        for (uint32_t begin = 0; begin < s.sequence; begin += TILE) {
            uint32_t n = s.sequence - begin < TILE ? s.sequence - begin : TILE;
            float score[TILE], here = most;
            __syncthreads();
            load_tile(&tile, s, first + begin, n);
            __syncthreads();
#pragma unroll
            for (uint32_t k = 0; k < TILE; k++) {
                score[k] = k < n ? dot(query, tile.keys[k]) : -INFINITY;
                here = fmaxf(here, score[k]);
            }
            float have = __expf(most - here); /* 0 at the first tile */
            most = here;
            sum *= have;
#pragma unroll
            for (uint32_t k = 0; k < TILE; k++) {
                float weight = __expf(score[k] - most);
                sum += weight;
                add_scaled(y, k == 0 ? have : 1.0f, tile.values[k], weight);
            }
        }
        if (row < s.rows.rows)
            store_row(s.rows.out + row * s.rows.columns, y, 1 / sum, s.rows.columns);
    }
}

bool gm_launch_attention(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    struct gm_attention_shape s = gm_attention_shape(job);
    if (s.rows.rows == 0)
        return true;
    GM_LAUNCH(place, gm_blocks(place, s.rows.rows, GM_SEQUENCE), GM_SEQUENCE, attention, s);
    return gm_launched(error, "attention");
}
