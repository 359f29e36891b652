/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels on whatever GPU this is linked with, against their CPU references, and how fast memory is filled, verified
 * and copied. Prints rows of Markdown tables; exit code 1 if a result differs or fill and verify have less than 85 % of
 * the copy's bandwidth (only told, not judged, with a second argument: the fake's time means nothing). Arguments: MIB
 * of the blocks for bandwidth, [no-judgement].
 */
#include "replay/cuda/cuda.h"
#include "tests/kernels/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK, FIRST, SECOND, RESULT, PLACES };

struct bench {
    struct gm_cuda *cuda;
    struct gm_kernel_place place;
    void *gpu[PLACES];
    unsigned char *host[PLACES];
};

static void must(bool ok, const struct bench *b)
{
    if (ok)
        return;
    fprintf(stderr, "gpu_kernels: %s\n", b->cuda == NULL ? "no memory" : gm_cuda_failure(b->cuda)->message);
    exit(5);
}

static bool launch(struct bench *b, enum gm_kernel_id id, const struct gm_kernel_job *job)
{
    struct gm_kernel_error error = {0};
    return gm_kernels[id].launch(&b->place, job, &error) ||
           gm_cuda_launch_failed(b->cuda, error.call, error.name, error.words);
}

/* The largest |result - reference| / max(1, |reference|); bytes if the kernel is exact, where any difference is 1. */
static double error_of(const struct gm_kernel *kernel, const unsigned char *result, const unsigned char *reference,
                       uint64_t bytes)
{
    double worst = 0;
    if (kernel->tolerance == 0)
        return memcmp(result, reference, bytes) == 0 ? 0 : 1;
    for (uint64_t i = 0; i + 4 <= bytes; i += 4) {
        float a, e;
        memcpy(&a, result + i, 4);
        memcpy(&e, reference + i, 4);
        double error = fabs((double)a - (double)e) / fmax(1, fabs((double)e));
        worst = error > worst || isnan(error) ? error : worst;
    }
    return worst;
}

static double check(struct bench *b, enum gm_kernel_id id, uint64_t bytes, uint64_t first, uint64_t second)
{
    uint64_t sizes[PLACES] = {bytes, first, second, sizeof(struct gm_kernel_result)};
    struct gm_kernel_result none = {0, GM_KERNEL_NOWHERE}, found, expected = none;
    struct gm_kernel_job there = {.bytes = bytes, .key = 7}, here = {.bytes = bytes, .key = 7, .result = &expected};
    unsigned char *result = malloc(bytes);
    must(result != NULL, b);
    for (int i = BLOCK; i < RESULT; i++) {
        struct gm_kernel_job fill = {
            .block = b->host[i], .bytes = sizes[i], .key = id == GM_KERNEL_VERIFY ? 7 : 11 + (uint64_t)i};
        reference_fill(&fill);
        if (id == GM_KERNEL_VERIFY)
            b->host[i][sizes[i] / 2] ^= 4;
        must(gm_cuda_put(b->cuda, b->gpu[i], b->host[i], sizes[i], b->place.stream), b);
    }
    must(gm_cuda_put(b->cuda, b->gpu[RESULT], &none, sizeof none, b->place.stream), b);
    here.block = b->host[BLOCK];
    there.block = b->gpu[BLOCK];
    there.result = b->gpu[RESULT];
    for (int i = 0; i < 2; i++) {
        here.source[i].at = b->host[FIRST + i];
        there.source[i].at = b->gpu[FIRST + i];
        here.source[i].bytes = there.source[i].bytes = sizes[FIRST + i];
    }
    kernel_references[id](&here);
    must(launch(b, id, &there), b);
    must(gm_cuda_get(b->cuda, result, b->gpu[BLOCK], bytes, b->place.stream), b);
    must(gm_cuda_get(b->cuda, &found, b->gpu[RESULT], sizeof found, b->place.stream), b);
    double worst = error_of(&gm_kernels[id], result, b->host[BLOCK], bytes);
    if (found.mismatches != expected.mismatches || found.first != expected.first)
        worst = 1;
    free(result);
    return worst;
}

static bool check_all(struct bench *b)
{
    static const uint64_t sizes[][3] = {{512, 512, 512},
                                        {4100, 8200, 516},
                                        {65536, 65536, 65536},
                                        {1000004, 30004, 2100000},
                                        {4 << 20, 1 << 20, 1 << 20}};
    bool ok = true;
    printf("| kernel | largest error | tolerance | within |\n|---|---|---|---|\n");
    for (int id = 0; id < GM_KERNEL_COUNT; id++) {
        double worst = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            double error = check(b, (enum gm_kernel_id)id, sizes[i][0], sizes[i][1], sizes[i][2]);
            worst = error > worst || isnan(error) ? error : worst;
        }
        bool is_within = worst <= gm_kernels[id].tolerance;
        printf("| `%s` | %.1e | %.0e | %s |\n", gm_kernels[id].name, worst, gm_kernels[id].tolerance,
               is_within ? "yes" : "NO");
        ok = ok && is_within;
    }
    return ok;
}

/* Bytes per second; the best of some turns. */
static double bandwidth(struct bench *b, enum gm_kernel_id id, uint64_t bytes)
{
    double best = 0, seconds;
    struct gm_kernel_job job = {.block = b->gpu[BLOCK],
                                .bytes = bytes,
                                .source = {{b->gpu[FIRST], id == GM_KERNEL_COPY ? bytes : 0}, {NULL, 0}},
                                .key = 7,
                                .result = b->gpu[RESULT]};
    for (int turn = 0; turn < 8; turn++) {
        struct gm_cuda_mark from = {NULL}, to = {NULL};
        must(gm_cuda_mark(b->cuda, b->place.stream, &from) && launch(b, id, &job) &&
                 gm_cuda_mark(b->cuda, b->place.stream, &to) && gm_cuda_wait(b->cuda) &&
                 gm_cuda_elapsed(b->cuda, from, to, &seconds),
             b);
        gm_cuda_drop_mark(b->cuda, from);
        gm_cuda_drop_mark(b->cuda, to);
        double rate = (double)gm_kernels[id].bytes(&job) / seconds;
        best = rate > best ? rate : best;
    }
    return best;
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    struct gm_error err;
    uint64_t bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1024) << 20;
    uint64_t room = bytes > 8 << 20 ? bytes : 8 << 20;
    if (gm_cuda_open(&b.cuda, 0, UINT64_MAX, &err) != GM_OK) {
        fprintf(stderr, "gpu_kernels: %s\n", err.message);
        return gm_status_exit_code(err.status);
    }
    b.place.processors = gm_cuda_info(b.cuda)->processors;
    must(gm_cuda_stream(b.cuda, 1, &b.place.stream), &b);
    for (int i = 0; i < PLACES; i++) {
        must(gm_cuda_scratch(b.cuda, room, &b.gpu[i]), &b);
        b.host[i] = malloc(8 << 20);
        must(b.host[i] != NULL, &b);
    }
    bool ok = check_all(&b), is_judged = argc <= 2, is_fast = true;
    printf("\n| memory, %" PRIu64 " MiB | GiB/s | of the copy's |\n|---|---|---|\n", bytes >> 20);
    double copy = bandwidth(&b, GM_KERNEL_COPY, bytes);
    for (int id = GM_KERNEL_FILL; id <= GM_KERNEL_COPY; id++) {
        double rate = bandwidth(&b, (enum gm_kernel_id)id, bytes);
        printf("| `%s` | %.0f | %.1f %% |\n", gm_kernels[id].name, rate / (1 << 30), 100 * rate / copy);
        is_fast = is_fast && (id == GM_KERNEL_COPY || rate >= 0.85 * copy);
    }
    printf("\n`fill` and `verify` have 85 %% or more of the copy's bandwidth, measured in the same run: %s.\n",
           !is_judged ? "not judged"
           : is_fast  ? "yes"
                      : "NO");
    ok = ok && (is_fast || !is_judged);
    gm_kernel_place_end(&b.place);
    for (int i = 0; i < PLACES; i++) {
        must(gm_cuda_drop_scratch(b.cuda, b.gpu[i]), &b);
        free(b.host[i]);
    }
    if (gm_cuda_close(b.cuda, NULL, &err) != GM_OK) {
        fprintf(stderr, "gpu_kernels: %s\n", err.message);
        return 5;
    }
    return ok ? 0 : 1;
}
