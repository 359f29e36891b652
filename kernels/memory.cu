/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that are nothing but memory traffic: fill, verify, copy. 16 bytes at a time, four of them in flight.
 */
#include "kernels/device.cuh"

#define IN_FLIGHT 4u

__device__ static uint4 pattern_at(struct gm_pattern pattern, uint64_t index)
{
    uint32_t hash = gm_pattern_hash(pattern, index);
    return make_uint4(gm_pattern_word(hash, 0), gm_pattern_word(hash, 1), gm_pattern_word(hash, 2),
                      gm_pattern_word(hash, 3));
}

__device__ static uint32_t pattern_word_at(struct gm_pattern pattern, uint64_t word)
{
    return gm_pattern_word(gm_pattern_hash(pattern, word / 4), (unsigned)(word % 4));
}

__global__ static void fill(uint4 *to, uint64_t bytes, struct gm_pattern pattern)
{
    uint64_t n = bytes / 16;
    for (uint64_t i = gm_thread(); i < n; i += gm_threads())
        to[i] = pattern_at(pattern, i);
    if (gm_thread() < bytes % 16) { /* the rest, a byte a thread */
        uint64_t at = n * 16 + gm_thread();
        reinterpret_cast<unsigned char *>(to)[at] = (unsigned char)(pattern_word_at(pattern, at / 4) >> at % 4 * 8);
    }
}

__device__ static void differs(struct gm_kernel_result *result, uint64_t words, uint64_t first)
{
    atomicAdd(reinterpret_cast<unsigned long long *>(&result->mismatches), (unsigned long long)words);
    atomicMin(reinterpret_cast<unsigned long long *>(&result->first), (unsigned long long)first);
}

/* Of 16 bytes that are not the pattern. */
__device__ static void compare(uint4 have, uint4 want, uint64_t index, uint64_t *words, uint64_t *first)
{
    const uint32_t is[4] = {have.x, have.y, have.z, have.w}, should[4] = {want.x, want.y, want.z, want.w};
    for (unsigned k = 0; k < 4; k++) {
        if (is[k] == should[k])
            continue;
        uint64_t at = index * 16 + k * 4;
        *words += 1;
        *first = at < *first ? at : *first;
    }
}

__device__ static bool is_same(uint4 a, uint4 b)
{
    return ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) == 0;
}

__global__ static void verify(const uint4 *from, uint64_t bytes, struct gm_pattern pattern,
                              struct gm_kernel_result *result)
{
    uint64_t n = bytes / 16, words = 0, first = GM_KERNEL_NOWHERE;
    for (uint64_t i = gm_thread(); i < n; i += gm_threads() * IN_FLIGHT) {
        uint4 have[IN_FLIGHT];
        for (unsigned k = 0; k < IN_FLIGHT; k++)
            if (i + k * gm_threads() < n)
                have[k] = from[i + k * gm_threads()];
        for (unsigned k = 0; k < IN_FLIGHT; k++) {
            uint64_t at = i + k * gm_threads();
            if (at >= n)
                break;
            uint4 want = pattern_at(pattern, at);
            if (!is_same(have[k], want))
                compare(have[k], want, at, &words, &first);
        }
    }
    if (gm_thread() < (bytes % 16 + 3) / 4) { /* the rest, a word a thread, the last of them perhaps shorter */
        uint64_t at = n * 16 + gm_thread() * 4;
        uint32_t want = pattern_word_at(pattern, at / 4), other = 0;
        for (unsigned k = 0; k < 4 && at + k < bytes; k++)
            other |= reinterpret_cast<const unsigned char *>(from)[at + k] ^ (want >> k * 8 & 255);
        if (other != 0) {
            words++;
            first = at < first ? at : first;
        }
    }
    if (words > 0)
        differs(result, words, first);
}

__global__ static void copy(struct gm_copy_shape s)
{
    uint64_t n = s.period >= 16 ? s.bytes / 16 : 0;
    if (n > 0) {
        const uint4 *from = reinterpret_cast<const uint4 *>(s.from);
        uint4 *to = reinterpret_cast<uint4 *>(s.to);
        gm_walk walk(gm_thread(), gm_threads(), s.period / 16);
        for (uint64_t i = gm_thread(); i < n; i += gm_threads(), walk.next())
            to[i] = from[walk.at];
    }
    for (uint64_t i = n * 16 + gm_thread(); i < s.bytes; i += gm_threads())
        s.to[i] = s.from[i % s.period];
}

bool gm_launch_fill(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    if (job->bytes == 0)
        return true;
    GM_LAUNCH(place, gm_blocks(place, job->bytes / 16, GM_THREADS), GM_THREADS, fill, (uint4 *)job->block, job->bytes,
              gm_pattern_of(job->key));
    return gm_launched(error, "fill");
}

bool gm_launch_verify(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    if (job->bytes == 0)
        return true;
    GM_LAUNCH(place, gm_blocks(place, job->bytes / 16 / IN_FLIGHT, GM_THREADS), GM_THREADS, verify,
              (const uint4 *)job->block, job->bytes, gm_pattern_of(job->key), job->result);
    return gm_launched(error, "verify");
}

bool gm_launch_copy(struct gm_kernel_place *place, const struct gm_kernel_job *job, struct gm_kernel_error *error)
{
    struct gm_copy_shape s = gm_copy_shape(job);
    if (s.bytes == 0)
        return true;
    GM_LAUNCH(place, gm_blocks(place, s.bytes / 16, GM_THREADS), GM_THREADS, copy, s);
    return gm_launched(error, "copy");
}
