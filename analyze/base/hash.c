/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/hash.h"

#include <pthread.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- SipHash ----------------------------------------------------------------------------------------------------- */

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static inline void sip_rounds(struct sip *v, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v->a += v->b;
        v->c += v->d;
        v->b = rotate(v->b, 13) ^ v->a;
        v->d = rotate(v->d, 16) ^ v->c;
        v->a = rotate(v->a, 32);
        v->c += v->b;
        v->a += v->d;
        v->b = rotate(v->b, 17) ^ v->c;
        v->d = rotate(v->d, 21) ^ v->a;
        v->c = rotate(v->c, 32);
    }
}

static inline void sip_word(struct sip *v, uint64_t word, int rounds)
{
    v->d ^= word;
    sip_rounds(v, rounds);
    v->a ^= word;
}

/* The bytes p[0..n), n <= 8, as a number, lowest first. */
static inline uint64_t little_endian(const unsigned char *p, size_t n)
{
    uint64_t word = 0;
    for (size_t i = 0; i < n; i++)
        word |= (uint64_t)p[i] << 8 * i;
    return word;
}

static inline uint64_t siphash(struct gm_hash_key key, const void *bytes, size_t n, int rounds, int last_rounds)
{
    struct sip v = {key.k0 ^ UINT64_C(0x736f6d6570736575), key.k1 ^ UINT64_C(0x646f72616e646f6d),
                    key.k0 ^ UINT64_C(0x6c7967656e657261), key.k1 ^ UINT64_C(0x7465646279746573)};
    const unsigned char *p = bytes;
    size_t left = n;
    for (; left >= 8; p += 8, left -= 8)
        sip_word(&v, little_endian(p, 8), rounds); /* compilers make one load of it */
    sip_word(&v, little_endian(p, left) | (uint64_t)n << 56, rounds);
    v.c ^= 0xFF;
    sip_rounds(&v, last_rounds);
    return v.a ^ v.b ^ v.c ^ v.d;
}

uint64_t gm_siphash_2_4(struct gm_hash_key key, const void *bytes, size_t n)
{
    return siphash(key, bytes, n, 2, 4);
}

uint64_t gm_siphash_1_3(struct gm_hash_key key, const void *bytes, size_t n)
{
    return siphash(key, bytes, n, 1, 3);
}

/* ---- the key ----------------------------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gm_hash_key process_key; /* written once, before anyone reads it */

/* 16 bytes that the kernel gives every process, where there is no getrandom, or it would wait; then what else differs.
 */
static void draw_poorly(struct gm_hash_key *key)
{
    const void *given = (const void *)getauxval(AT_RANDOM); /* NOLINT(performance-no-int-to-ptr) */
    struct timespec now = {0};
    uint64_t differs[4] = {(uint64_t)getpid(), (uint64_t)(uintptr_t)&now, (uint64_t)(uintptr_t)&draw_poorly};
    if (given != NULL)
        memcpy(key, given, sizeof *key);
    clock_gettime(CLOCK_REALTIME, &now);
    differs[3] = (uint64_t)now.tv_sec << 30 ^ (uint64_t)now.tv_nsec;
    const struct gm_hash_key from = *key;
    key->k0 = gm_siphash_2_4(from, differs, sizeof differs);
    key->k1 = gm_siphash_2_4(from, differs, sizeof differs - 1);
}

static void draw(void)
{
    if (getrandom(&process_key, sizeof process_key, GRND_NONBLOCK) != (ssize_t)sizeof process_key)
        draw_poorly(&process_key);
}

struct gm_hash_key gm_hash_key(void)
{
    pthread_once(&once, draw);
    return process_key;
}
