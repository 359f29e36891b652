/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace's requests cost without any allocator: a cudaMalloc for each allocation, a cudaFree for each free.
 * Argument: a file with a line for each, 'a SLOT BYTES' or 'f SLOT' (slots from 0 on, each in use once at a time).
 * Prints calls, how many of them had no memory, and seconds. Exit code 4: no GPU.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct call {
    size_t slot, bytes; /* bytes 0: a free */
};
struct calls {
    struct call *v;
    size_t count, slots;
};

static void must(cudaError_t code, const char *call)
{
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "gpu_bare: %s: %s (%s)\n", call, cudaGetErrorString(code), cudaGetErrorName(code));
    exit(5);
}

static void fail(const char *what)
{
    fprintf(stderr, "gpu_bare: %s\n", what);
    exit(3);
}

static struct calls read_calls(FILE *file)
{
    struct calls calls = {NULL, 0, 0};
    size_t room = 0, slot, bytes;
    char kind;
    while (fscanf(file, " %c %zu", &kind, &slot) == 2) {
        bytes = 0;
        if (slot >= (size_t)1 << 28 || (kind == 'a' && (fscanf(file, "%zu", &bytes) != 1 || bytes == 0)))
            fail("a line is none");
        if (calls.count == room) {
            room = room == 0 ? 4096 : 2 * room;
            calls.v = realloc(calls.v, room * sizeof *calls.v);
            if (calls.v == NULL)
                fail("out of memory");
        }
        calls.v[calls.count++] = (struct call){slot, bytes};
        calls.slots = slot >= calls.slots ? slot + 1 : calls.slots;
    }
    if (calls.count == 0 || !feof(file))
        fail("no list of calls");
    return calls;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    int devices = 0;
    size_t refused = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "gpu_bare: no CUDA device\n");
        return 4;
    }
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        fail("usage: gpu_bare CALLS");
    struct calls calls = read_calls(file);
    fclose(file);
    void **at = calloc(calls.slots, sizeof *at);
    if (at == NULL)
        fail("out of memory");
    must(cudaFree(NULL), "cudaFree(NULL)"); /* makes the context */
    double begun = now();
    for (size_t i = 0; i < calls.count; i++) {
        const struct call *c = &calls.v[i];
        if (c->bytes == 0) {
            must(cudaFree(at[c->slot]), "cudaFree");
            at[c->slot] = NULL;
            continue;
        }
        cudaError_t code = cudaMalloc(&at[c->slot], c->bytes);
        if (code == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            at[c->slot] = NULL;
            refused++;
        } else {
            must(code, "cudaMalloc");
        }
    }
    double seconds = now() - begun;
    for (size_t i = 0; i < calls.slots; i++)
        must(cudaFree(at[i]), "cudaFree");
    printf("%zu %zu %.9f\n", calls.count, refused, seconds);
    free(at);
    free(calls.v);
    return 0;
}
