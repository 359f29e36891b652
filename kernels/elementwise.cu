/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that look at one element at a time: SiLU(a) * b, and a step of AdamW.
 */
#include "kernels/device.cuh"

/* `lanes` floats at a time: 4 where every period and every address allows it, else 1. */
template <typename T> __device__ static T per_lane(T a, T b);
template <> __device__ float per_lane(float a, float b)
{
    return a / (1 + __expf(-a)) * b;
}
template <> __device__ float4 per_lane(float4 a, float4 b)
{
    return make_float4(per_lane(a.x, b.x), per_lane(a.y, b.y), per_lane(a.z, b.z), per_lane(a.w, b.w));
}

template <typename T>
__global__ static void elementwise(T *out, const T *a, const T *b, uint64_t begin, uint64_t n, uint64_t a_period,
                                   uint64_t b_period)
{
    gm_walk in_a(begin + gm_thread(), gm_threads(), a_period), in_b(begin + gm_thread(), gm_threads(), b_period);
    for (uint64_t i = begin + gm_thread(); i < n; i += gm_threads(), in_a.next(), in_b.next())
        out[i] = per_lane(a[in_a.at], b[in_b.at]);
}

bool gm_launch_elementwise(struct gm_kernel_place *place, const struct gm_kernel_job *job,
                           struct gm_kernel_error *error)
{
    struct gm_views v = gm_views_of(job);
    uint64_t a = gm_period(v.a_words), b = gm_period(v.b_words), done = 0;
    if (v.out_words >= 4 && a >= 4 && b >= 4) {
        uint64_t n = v.out_words / 4;
        GM_LAUNCH(place, gm_blocks(place, n, GM_THREADS), GM_THREADS, elementwise<float4>, (float4 *)v.out,
                  (const float4 *)v.a, (const float4 *)v.b, 0, n, a / 4, b / 4);
        if (!gm_launched(error, "elementwise"))
            return false;
        done = n * 4;
    }
    if (done == v.out_words)
        return true;
    GM_LAUNCH(place, gm_blocks(place, v.out_words - done, GM_THREADS), GM_THREADS, elementwise<float>, v.out, v.a, v.b,
              done, v.out_words, a, b);
    return gm_launched(error, "elementwise");
}

__device__ static void adamw_one(float *p, float *m, float *v, float g)
{
    *m = (float)GM_ADAMW_BETA1 * *m + (float)(1 - GM_ADAMW_BETA1) * g;
    *v = (float)GM_ADAMW_BETA2 * fabsf(*v) + (float)(1 - GM_ADAMW_BETA2) * g * g;
    float root = sqrtf(*v * (float)(1 / GM_ADAMW_CORRECTION2)) + (float)GM_ADAMW_EPSILON;
    *p = *p * (float)(1 - GM_ADAMW_RATE * GM_ADAMW_DECAY) - (float)(GM_ADAMW_RATE / GM_ADAMW_CORRECTION1) * *m / root;
}

__global__ static void adamw(struct gm_adamw_shape s)
{
    gm_walk gradient(gm_thread(), gm_threads(), s.period);
    for (uint64_t i = gm_thread(); i < s.n; i += gm_threads(), gradient.next())
        adamw_one(&s.parameters[i], &s.first[i], &s.second[i], s.gradients[gradient.at]);
}

__global__ static void adamw4(struct gm_adamw_shape s)
{
    float4 *parameters = (float4 *)s.parameters, *first = (float4 *)s.first, *second = (float4 *)s.second;
    gm_walk gradient(gm_thread(), gm_threads(), s.period / 4);
    for (uint64_t i = gm_thread(); i < s.n / 4; i += gm_threads(), gradient.next()) {
        float4 g = ((const float4 *)s.gradients)[gradient.at], p = parameters[i], m = first[i], v = second[i];
        adamw_one(&p.x, &m.x, &v.x, g.x);
        adamw_one(&p.y, &m.y, &v.y, g.y);
        adamw_one(&p.z, &m.z, &v.z, g.z);
        adamw_one(&p.w, &m.w, &v.w, g.w);
        parameters[i] = p;
        first[i] = m;
        second[i] = v;
    }
}

bool gm_launch_adamw(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    struct gm_adamw_shape s = gm_adamw_shape(job);
    if (s.n == 0)
        return true;
    if (s.n >= 4 && s.period >= 4) /* both are multiples of 4 then */
        GM_LAUNCH(place, gm_blocks(place, s.n / 4, GM_THREADS), GM_THREADS, adamw4, s);
    else
        GM_LAUNCH(place, gm_blocks(place, s.n, GM_THREADS), GM_THREADS, adamw, s);
    return gm_launched(error, "adamw");
}
