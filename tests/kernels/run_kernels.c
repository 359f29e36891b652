/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs kernels, on whatever they are linked with, and writes what was there before and after: check_kernels.py computes
 * it again. Arguments: reference or launch, then "KERNEL BYTES SOURCE0 SOURCE1 KEY" (bytes; 0: no source), as often as
 * wanted. Around the block lie bytes that must not change, and block and sources end where nothing else may be read.
 *
 * Output for each, binary: result of verify (two u64), bytes(), flops() (u64), source 0, source 1, block before, block
 * after.
 */
#include "tests/kernels/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *get(uint64_t bytes)
{
    void *at = aligned_alloc(512, (bytes + 511) / 512 * 512 + 512);
    if (at == NULL)
        exit(2);
    return at;
}

/* Patterns are floats of a sane size. */
static void fill(void *at, uint64_t bytes, uint64_t key)
{
    struct gm_kernel_job job = {.block = at, .bytes = bytes, .key = key};
    reference_fill(&job);
}

static void write_out(const void *at, uint64_t bytes)
{
    if (bytes > 0 && fwrite(at, 1, bytes, stdout) != bytes)
        exit(2);
}

#define EDGE 64
static const unsigned char edge = 0xa5;

static const struct gm_kernel *find_kernel(const char *name)
{
    for (int i = 0; i < GM_KERNEL_COUNT; i++)
        if (strcmp(gm_kernels[i].name, name) == 0)
            return &gm_kernels[i];
    return NULL;
}

static void run(bool launches, char **args)
{
    const struct gm_kernel *kernel = find_kernel(args[0]);
    uint64_t bytes = strtoull(args[1], NULL, 10), key = strtoull(args[4], NULL, 10);
    struct gm_kernel_place place = {.processors = 1}; /* few threads: they go round */
    struct gm_kernel_result result = {0, GM_KERNEL_NOWHERE};
    struct gm_kernel_error error;
    struct gm_kernel_job job = {.bytes = bytes, .key = key, .result = &result};
    unsigned char *block = (unsigned char *)get(bytes + EDGE), *before = get(bytes);
    if (kernel == NULL)
        exit(2);
    memset(block + bytes, edge, EDGE);
    fill(block, bytes, kernel == &gm_kernels[GM_KERNEL_VERIFY] ? key : key + 3);
    if (kernel == &gm_kernels[GM_KERNEL_VERIFY] && key % 2 == 1) /* something to find */
        for (uint64_t at = key % bytes; at < bytes; at += 1 + bytes / 3)
            block[at] ^= 16;
    memcpy(before, block, bytes);
    job.block = block;
    for (int i = 0; i < 2; i++) {
        job.source[i].bytes = strtoull(args[2 + i], NULL, 10);
        /* To the byte: the sanitizer sees what is read behind it. */
        void *at = NULL;
        if (job.source[i].bytes > 0 && posix_memalign(&at, 512, job.source[i].bytes) != 0)
            exit(2);
        fill(at, job.source[i].bytes, key + 1 + (uint64_t)i);
        job.source[i].at = at;
    }
    if (!launches) {
        kernel_references[kernel - gm_kernels](&job);
    } else if (!kernel->launch(&place, &job, &error)) {
        fprintf(stderr, "%s: %s (%s)\n", error.call, error.words, error.name);
        exit(1);
    }
    for (int i = 0; i < EDGE; i++)
        if (block[bytes + (uint64_t)i] != edge) {
            fprintf(stderr, "%s wrote behind its block of %s bytes\n", args[0], args[1]);
            exit(1);
        }
    uint64_t numbers[] = {result.mismatches, result.first, kernel->bytes(&job), kernel->flops(&job)};
    write_out(numbers, sizeof numbers);
    for (int i = 0; i < 2; i++) {
        write_out(job.source[i].at, job.source[i].bytes);
        free((void *)(uintptr_t)job.source[i].at);
    }
    write_out(before, bytes);
    write_out(block, bytes);
    free(block);
    free(before);
    gm_kernel_place_end(&place);
}

int main(int argc, char **argv)
{
    bool launches = argc > 1 && strcmp(argv[1], "launch") == 0;
    for (int i = 2; i + 4 < argc; i += 5)
        run(launches, argv + i);
    return 0;
}
