/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/blas.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct gm_blas {
    void *library;
    cublasHandle_t handle;
    cublasStatus_t (*create)(cublasHandle_t *handle);
    cublasStatus_t (*destroy)(cublasHandle_t handle);
    cublasStatus_t (*set_stream)(cublasHandle_t handle, cudaStream_t stream);
    const char *(*name_of)(cublasStatus_t status);
    const char *(*words_of)(cublasStatus_t status);
    cublasStatus_t (*multiply)(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as, int m, int n,
                               int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
                               const float *beta, float *c, int ldc);
};

static bool missing(struct gm_kernel_error *error, const char *call, const char *words)
{
    error->call = call;
    error->is_missing = true;
    snprintf(error->name, sizeof error->name, "cuBLAS");
    snprintf(error->words, sizeof error->words, "%s", words);
    return false;
}

/* The library of the toolkit that this was built with. */
static void *open_library(struct gm_kernel_error *error)
{
    char name[32], words[sizeof error->words];
    snprintf(name, sizeof name, "libcublas.so.%d", CUBLAS_VER_MAJOR);
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *why = library == NULL ? dlerror() : NULL;
    if (library != NULL)
        return library;
    snprintf(words, sizeof words, "cuBLAS is not installed here (%.120s)", why != NULL ? why : name);
    missing(error, "dlopen", words);
    return NULL;
}

/* ISO C has no way from an object pointer to a function pointer; POSIX makes this one work. */
#define LOOK_UP(blas, field, symbol) (*(void **)&(blas)->field = dlsym((blas)->library, symbol), (blas)->field != NULL)

static bool look_up(struct gm_blas *b)
{
    return LOOK_UP(b, create, "cublasCreate_v2") && LOOK_UP(b, destroy, "cublasDestroy_v2") &&
           LOOK_UP(b, set_stream, "cublasSetStream_v2") && LOOK_UP(b, multiply, "cublasSgemm_v2") &&
           LOOK_UP(b, name_of, "cublasGetStatusName") && LOOK_UP(b, words_of, "cublasGetStatusString");
}

static bool check(const struct gm_blas *b, struct gm_kernel_error *error, const char *call, cublasStatus_t status)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return true;
    error->call = call;
    snprintf(error->name, sizeof error->name, "%s", b->name_of(status));
    snprintf(error->words, sizeof error->words, "%s", b->words_of(status));
    return false;
}

static bool open_blas(struct gm_kernel_place *place, struct gm_kernel_error *error)
{
    struct gm_blas *b = calloc(1, sizeof *b);
    if (b == NULL) {
        error->call = "malloc";
        snprintf(error->name, sizeof error->name, "ENOMEM");
        snprintf(error->words, sizeof error->words, "out of host memory");
        return false;
    }
    b->library = open_library(error);
    if (b->library == NULL) {
        free(b);
        return false;
    }
    bool is_there = look_up(b);
    if (!is_there)
        missing(error, "dlsym", "cuBLAS is installed here, and lacks a function");
    if (!is_there || !check(b, error, "cublasCreate", b->create(&b->handle))) {
        dlclose(b->library);
        free(b);
        return false;
    }
    place->blas = b;
    return true;
}

/* cuBLAS has columns where we have rows: it is asked for the transposed product, weights first. */
bool gm_blas_multiply(struct gm_kernel_place *place, const struct gm_mlp_shape *shape, struct gm_kernel_error *error)
{
    if (place->blas == NULL && !open_blas(place, error))
        return false;
    const struct gm_blas *b = place->blas;
    const float one = 1, zero = 0;
    int d = (int)shape->columns;
    return check(b, error, "cublasSetStream", b->set_stream(b->handle, place->stream)) &&
           check(b, error, "cublasSgemm",
                 b->multiply(b->handle, CUBLAS_OP_N, CUBLAS_OP_N, d, (int)shape->rows, d, &one, shape->weights, d,
                             shape->in, d, &zero, shape->out, d));
}

void gm_kernel_place_end(struct gm_kernel_place *place)
{
    if (place->blas == NULL)
        return;
    (void)place->blas->destroy(place->blas->handle); /* nothing can be done about it any more */
    dlclose(place->blas->library);
    free(place->blas);
    place->blas = NULL;
}
