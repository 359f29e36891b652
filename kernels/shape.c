/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/shape.h"

static uint32_t power_of_two(uint64_t most)
{
    uint32_t power = 1;
    while (power <= most / 2)
        power *= 2;
    return power;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t gm_period(uint64_t words)
{
    return words >= 4 ? words & ~UINT64_C(3) : words;
}

/* The part of a block without sources that stands in for one: half of it, in whole 16 bytes. */
static uint64_t own_half(uint64_t bytes)
{
    return bytes / 2 & ~UINT64_C(15);
}

static bool has_source(const struct gm_kernel_job *job, int i)
{
    return job->source[i].at != NULL && job->source[i].bytes >= sizeof(float);
}

struct gm_views gm_views_of(const struct gm_kernel_job *job)
{
    struct gm_views v = {.out = job->block, .out_words = job->bytes / sizeof(float)};
    int first = has_source(job, 0) ? 0 : 1;
    if (has_source(job, first)) {
        v.a = job->source[first].at;
        v.a_words = job->source[first].bytes / sizeof(float);
    } else {
        v.a = job->block;
        v.a_words = own_half(job->bytes) / sizeof(float);
        v.out += v.a_words;
        v.out_words -= v.a_words;
    }
    v.b = first == 0 && has_source(job, 1) ? job->source[1].at : v.a;
    v.b_words = first == 0 && has_source(job, 1) ? job->source[1].bytes / sizeof(float) : v.a_words;
    if (v.a_words == 0)
        v.out_words = 0;
    return v;
}

struct gm_rows gm_rows_of(const struct gm_views *views, uint32_t most)
{
    uint64_t fits = smaller(most, smaller(views->out_words, views->a_words));
    struct gm_rows r = {.out = views->out, .in = views->a, .columns = power_of_two(fits)};
    if (fits == 0)
        return r;
    r.rows = views->out_words / r.columns;
    r.in_rows = views->a_words / r.columns;
    return r;
}

struct gm_copy_shape gm_copy_shape(const struct gm_kernel_job *job)
{
    struct gm_copy_shape s = {.to = job->block, .bytes = job->bytes};
    int i = job->source[0].at != NULL && job->source[0].bytes > 0 ? 0 : 1;
    if (job->source[i].at != NULL && job->source[i].bytes > 0) {
        s.from = job->source[i].at;
        s.period = job->source[i].bytes;
    } else {
        s.from = job->block;
        s.period = own_half(job->bytes);
        s.to += s.period;
        s.bytes = s.period == 0 ? 0 : job->bytes - s.period;
    }
    if (s.period >= 16)
        s.period &= ~UINT64_C(15);
    return s;
}

struct gm_attention_shape gm_attention_shape(const struct gm_kernel_job *job)
{
    struct gm_views v = gm_views_of(job);
    uint64_t half = gm_period(v.b_words / 2);
    struct gm_views narrow = v;
    narrow.a_words = smaller(v.a_words, half);
    struct gm_attention_shape s = {.rows = gm_rows_of(&narrow, GM_HEAD)};
    if (s.rows.rows == 0)
        return s;
    s.rows.in_rows = v.a_words / s.rows.columns;
    s.keys = v.b;
    s.values = v.b + half;
    s.key_rows = half / s.rows.columns;
    s.sequence = (uint32_t)smaller(s.key_rows, GM_SEQUENCE);
    return s;
}

struct gm_mlp_shape gm_mlp_shape(const struct gm_kernel_job *job)
{
    struct gm_views v = gm_views_of(job);
    struct gm_mlp_shape s = {.out = v.out, .in = v.a, .weights = v.b};
    uint64_t fits = smaller(v.out_words, v.a_words);
    uint32_t d = power_of_two(smaller(fits, GM_MLP_MOST));
    while (d > 0 && (uint64_t)d * d + d > v.b_words)
        d /= 2;
    if (fits == 0 || d == 0)
        return s;
    s.columns = d;
    s.rows = (uint32_t)smaller(fits / d, GM_MLP_ROWS);
    s.bias = v.b + (uint64_t)d * d;
    return s;
}

struct gm_adamw_shape gm_adamw_shape(const struct gm_kernel_job *job)
{
    struct gm_views v = gm_views_of(job);
    uint64_t n = gm_period(v.out_words / 3);
    struct gm_adamw_shape s = {.parameters = v.out, .gradients = v.a, .n = n, .period = gm_period(v.a_words)};
    s.first = v.out + n;
    s.second = v.out + 2 * n;
    return s;
}
