/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA program that knows nothing of a recorder: it multiplies matrices with cuBLAS inside NVTX ranges, and checks
 * the result. run.sh runs it with libgmrecord.so injected. Exit code 4: no GPU.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 512, LAYERS = 6 };

static void must(int ok, const char *call)
{
    if (ok)
        return;
    fprintf(stderr, "gpu_blas: %s failed\n", call);
    exit(5);
}

static float *matrix(void)
{
    void *at = NULL;
    must(cudaMalloc(&at, N * N * sizeof(float)) == cudaSuccess, "cudaMalloc");
    return at;
}

/* Twice the unit matrix: every product doubles. */
static void put(float *to, int is_unit)
{
    float *host = calloc(N * N, sizeof *host);
    must(host != NULL, "calloc");
    for (int i = 0; i < N * N; i++)
        host[i] = is_unit ? (i % (N + 1) == 0 ? 2.0f : 0.0f) : (float)(i % 7);
    must(cudaMemcpy(to, host, N * N * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess, "cudaMemcpy");
    free(host);
}

static int is_right(const float *from, float factor)
{
    static float host[N * N];
    must(cudaMemcpy(host, from, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess, "cudaMemcpy");
    for (int i = 0; i < N * N; i++)
        if (host[i] != factor * (float)(i % 7))
            return 0;
    return 1;
}

int main(void)
{
    int devices = 0;
    float *weights, *layer[LAYERS + 1], factor = 1;
    const float one = 1, zero = 0;
    cublasHandle_t blas;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        fprintf(stderr, "gpu_blas: no CUDA device\n");
        return 4;
    }
    nvtxRangePushA("load");
    put(weights = matrix(), 1);
    put(layer[0] = matrix(), 0);
    nvtxRangePop();
    must(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
    nvtxRangePushA("forward");
    for (int i = 0; i < LAYERS; i++, factor *= 2) {
        layer[i + 1] = matrix();
        must(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, weights, N, layer[i], N, &zero, layer[i + 1],
                         N) == CUBLAS_STATUS_SUCCESS,
             "cublasSgemm");
    }
    nvtxRangePop();
    must(is_right(layer[LAYERS], factor), "the product");
    must(cublasDestroy(blas) == CUBLAS_STATUS_SUCCESS, "cublasDestroy");
    for (int i = 0; i <= LAYERS; i++)
        must(cudaFree(layer[i]) == cudaSuccess, "cudaFree");
    must(cudaFree(weights) == cudaSuccess, "cudaFree");
    return 0;
}
