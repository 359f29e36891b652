/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/reference.h"

#include "kernels/fill_pattern.h"
#include "kernels/shape.h"

#include <math.h>
#include <string.h>

/* Sixteen bytes, which share a hash: tests go over gigabytes. */
struct quad {
    uint32_t words[4];
};

static struct quad quad_at(struct gm_pattern pattern, uint64_t at)
{
    struct quad quad;
    for (unsigned i = 0; i < 4; i++)
        quad.words[i] = gm_pattern_word(gm_pattern_hash(pattern, at / sizeof quad), i);
    return quad;
}

void reference_fill(const struct gm_kernel_job *job)
{
    struct gm_pattern pattern = gm_pattern_of(job->key);
    unsigned char *to = job->block;
    uint64_t at = 0;
    struct quad quad;
    for (; job->bytes - at >= sizeof quad; at += sizeof quad) {
        quad = quad_at(pattern, at);
        memcpy(to + at, &quad, sizeof quad);
    }
    quad = quad_at(pattern, at);
    memcpy(to + at, &quad, (size_t)(job->bytes - at));
}

void reference_verify(const struct gm_kernel_job *job)
{
    struct gm_pattern pattern = gm_pattern_of(job->key);
    const unsigned char *from = job->block;
    for (uint64_t at = 0; at < job->bytes; at += sizeof(struct quad)) {
        struct quad quad = quad_at(pattern, at), found = quad;
        if (job->bytes - at >= sizeof found)
            memcpy(&found, from + at, sizeof found);
        else
            memcpy(&found, from + at, (size_t)(job->bytes - at));
        for (uint64_t i = 0; memcmp(&found, &quad, sizeof quad) != 0 && i < 4; i++) {
            if (found.words[i] == quad.words[i])
                continue;
            job->result->mismatches++;
            if (at + 4 * i < job->result->first)
                job->result->first = at + 4 * i;
        }
    }
}

void reference_copy(const struct gm_kernel_job *job)
{
    struct gm_copy_shape s = gm_copy_shape(job);
    for (uint64_t at = 0; at < s.bytes; at += s.period)
        memcpy(s.to + at, s.from, (size_t)(s.bytes - at < s.period ? s.bytes - at : s.period));
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

void reference_elementwise(const struct gm_kernel_job *job)
{
    struct gm_views v = gm_views_of(job);
    uint64_t a = gm_period(v.a_words), b = gm_period(v.b_words);
    for (uint64_t i = 0; i < v.out_words; i++)
        v.out[i] = (float)(silu(v.a[i % a]) * (double)v.b[i % b]);
}

static void norm(const struct gm_kernel_job *job, bool is_centred)
{
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, GM_ROW_MOST);
    for (uint64_t row = 0; row < s.rows; row++) {
        const float *x = s.in + row % s.in_rows * s.columns;
        float *y = s.out + row * s.columns;
        double mean = 0, square = 0;
        for (uint32_t i = 0; i < s.columns; i++)
            mean += is_centred ? (double)x[i] / s.columns : 0;
        for (uint32_t i = 0; i < s.columns; i++)
            square += (x[i] - mean) * (x[i] - mean) / s.columns;
        for (uint32_t i = 0; i < s.columns; i++) {
            double scaled = (x[i] - mean) / sqrt(square + GM_NORM_EPSILON) * (double)v.b[i % v.b_words];
            y[i] = (float)(is_centred ? scaled + (double)v.b[(i + s.columns) % v.b_words] : scaled);
        }
    }
}

void reference_rmsnorm(const struct gm_kernel_job *job)
{
    norm(job, false);
}

void reference_layernorm(const struct gm_kernel_job *job)
{
    norm(job, true);
}

void reference_softmax(const struct gm_kernel_job *job)
{
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, GM_ROW_MOST);
    for (uint64_t row = 0; row < s.rows; row++) {
        const float *x = s.in + row % s.in_rows * s.columns;
        float *y = s.out + row * s.columns;
        double most = -INFINITY, sum = 0;
        for (uint32_t i = 0; i < s.columns; i++)
            most = x[i] > most ? x[i] : most; /* GCC 12 for aarch64 fails to compile fmax() here */
        for (uint32_t i = 0; i < s.columns; i++)
            sum += exp(x[i] - most);
        for (uint32_t i = 0; i < s.columns; i++)
            y[i] = (float)(exp(x[i] - most) / sum);
    }
}

/* The whole row of scores at once, unlike the GPU, which never has it. */
static void attend(const struct gm_attention_shape *s, const float *query, uint64_t first_key, float *out)
{
    double score[GM_SEQUENCE], sum = 0, most = -INFINITY, y[GM_HEAD] = {0};
    uint32_t columns = s->rows.columns;
    for (uint32_t k = 0; k < s->sequence; k++) {
        score[k] = 0;
        for (uint32_t i = 0; i < columns; i++)
            score[k] += (double)query[i] * (double)s->keys[(first_key + k) * columns + i];
        score[k] /= sqrt(columns);
        most = fmax(most, score[k]);
    }
    for (uint32_t k = 0; k < s->sequence; k++) {
        double weight = exp(score[k] - most);
        sum += weight;
        for (uint32_t i = 0; i < columns; i++)
            y[i] += weight * (double)s->values[(first_key + k) * columns + i];
    }
    for (uint32_t i = 0; i < columns; i++)
        out[i] = (float)(y[i] / sum);
}

void reference_attention(const struct gm_kernel_job *job)
{
    struct gm_attention_shape s = gm_attention_shape(job);
    for (uint64_t row = 0; row < s.rows.rows; row++) {
        uint64_t sequences = s.key_rows / s.sequence;
        attend(&s, s.rows.in + row % s.rows.in_rows * s.rows.columns, row / GM_SEQUENCE % sequences * s.sequence,
               s.rows.out + row * s.rows.columns);
    }
}

void reference_mlp(const struct gm_kernel_job *job)
{
    struct gm_mlp_shape s = gm_mlp_shape(job);
    double y[GM_MLP_MOST];
    for (uint32_t row = 0; row < s.rows; row++) {
        const float *x = s.in + (uint64_t)row * s.columns;
        for (uint32_t j = 0; j < s.columns; j++)
            y[j] = (double)s.bias[j];
        for (uint32_t k = 0; k < s.columns; k++)
            for (uint32_t j = 0; j < s.columns; j++)
                y[j] += (double)x[k] * (double)s.weights[(uint64_t)k * s.columns + j];
        for (uint32_t j = 0; j < s.columns; j++) /* GELU */
            s.out[(uint64_t)row * s.columns + j] = (float)(y[j] / 2 * (1 + erf(y[j] / sqrt(2))));
    }
}

void reference_adamw(const struct gm_kernel_job *job)
{
    struct gm_adamw_shape s = gm_adamw_shape(job);
    for (uint64_t i = 0; i < s.n; i++) {
        double g = (double)s.gradients[i % s.period];
        double m = GM_ADAMW_BETA1 * (double)s.first[i] + (1 - GM_ADAMW_BETA1) * g;
        double v = GM_ADAMW_BETA2 * fabs((double)s.second[i]) + (1 - GM_ADAMW_BETA2) * g * g;
        double p = (double)s.parameters[i] * (1 - GM_ADAMW_RATE * GM_ADAMW_DECAY);
        p -= GM_ADAMW_RATE * (m / GM_ADAMW_CORRECTION1) / (sqrt(v / GM_ADAMW_CORRECTION2) + GM_ADAMW_EPSILON);
        s.first[i] = (float)m;
        s.second[i] = (float)v;
        s.parameters[i] = (float)p;
    }
}

void reference_embedding(const struct gm_kernel_job *job)
{
    struct gm_views v = gm_views_of(job);
    struct gm_rows s = gm_rows_of(&v, GM_TABLE_ROW);
    struct gm_pattern pattern = gm_pattern_of(job->key);
    for (uint64_t row = 0; row < s.rows; row++)
        memcpy(s.out + row * s.columns, s.in + gm_gathered_row(pattern, row, s.in_rows) * s.columns,
               s.columns * sizeof(float));
}

void (*const kernel_references[GM_KERNEL_COUNT])(const struct gm_kernel_job *job) = {
#define X(id, name) [GM_KERNEL_##id] = reference_##name,
    GM_KERNEL_MAP(X)
#undef X
};
