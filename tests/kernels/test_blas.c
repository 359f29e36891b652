/* SPDX-License-Identifier: Apache-2.0
 *
 * kernels/blas.c over a loader (whose names are macros for others here) and a cuBLAS that are made here: what is said
 * when there is none, when it lacks a function or fails, and that the product it is asked for is the one of rows.
 */
#include "kernels/blas.h"
#include "tests/unit.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <string.h>
/* after those that it needs */
static struct {
    bool is_installed;
    const char *lacks;
    cublasStatus_t creates, multiplies;
    int open, handles;
    cudaStream_t stream;
} fake;

static cublasStatus_t create(cublasHandle_t *handle)
{
    *handle = (cublasHandle_t)&fake;
    fake.handles += fake.creates == CUBLAS_STATUS_SUCCESS;
    return fake.creates;
}

static cublasStatus_t destroy(cublasHandle_t handle)
{
    assert_ptr_equal(handle, &fake);
    fake.handles--;
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t stream)
{
    (void)handle;
    fake.stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

static const char *name_of(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED" : "CUBLAS_STATUS_OTHER";
}

static const char *words_of(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_INITIALIZED ? "the library was not initialized" : "other";
}

/* C = alpha A B + beta C with columns one after the other, as cuBLAS documents it. */
static cublasStatus_t multiply(cublasHandle_t handle, cublasOperation_t a_as, cublasOperation_t b_as, int m, int n,
                               int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
                               const float *beta, float *c, int ldc)
{
    (void)handle;
    assert_int_equal(a_as, CUBLAS_OP_N);
    assert_int_equal(b_as, CUBLAS_OP_N);
    for (int j = 0; fake.multiplies == CUBLAS_STATUS_SUCCESS && j < n; j++)
        for (int i = 0; i < m; i++) {
            float sum = 0;
            for (int l = 0; l < k; l++)
                sum += a[l * lda + i] * b[j * ldb + l];
            c[j * ldc + i] = *beta == 0 ? *alpha * sum : *alpha * sum + *beta * c[j * ldc + i];
        }
    return fake.multiplies;
}

void *dlopen(const char *name, int flags)
{
    (void)flags;
    assert_memory_equal(name, "libcublas.so.", 13);
    fake.open += fake.is_installed;
    return fake.is_installed ? &fake : NULL;
}

char *dlerror(void)
{
    static char words[] = "libcublas.so.N: cannot open it";
    return words;
}

int dlclose(void *library)
{
    assert_ptr_equal(library, &fake);
    fake.open--;
    return 0;
}

#define ENTRY(symbol_name, function)                                                                                   \
    if (strcmp(symbol, symbol_name) == 0) {                                                                            \
        __typeof__(function) *entry = function;                                                                        \
        memcpy(&found, &entry, sizeof found);                                                                          \
    }

void *dlsym(void *library, const char *symbol)
{
    void *found = NULL;
    assert_ptr_equal(library, &fake);
    if (fake.lacks != NULL && strcmp(fake.lacks, symbol) == 0)
        return NULL;
    ENTRY("cublasCreate_v2", create)
    ENTRY("cublasDestroy_v2", destroy)
    ENTRY("cublasSetStream_v2", set_stream)
    ENTRY("cublasSgemm_v2", multiply)
    ENTRY("cublasGetStatusName", name_of)
    ENTRY("cublasGetStatusString", words_of)
    return found;
}

static float in[6] = {1, 2, 3, 4, 5, 6}, weights[4] = {1, 10, 100, 1000}, out[6];
static const struct gm_mlp_shape shape = {.out = out, .in = in, .weights = weights, .rows = 3, .columns = 2};

static bool run(struct gm_kernel_place *place, struct gm_kernel_error *error)
{
    memset(error, 0, sizeof *error);
    return gm_blas_multiply(place, &shape, error);
}

TEST(product)
{
    struct gm_kernel_place place = {.stream = &fake};
    struct gm_kernel_error error;
    static const float expected[6] = {201, 2010, 403, 4030, 605, 6050};
    memset(&fake, 0, sizeof fake);
    fake.is_installed = true;
    for (int turn = 0; turn < 2; turn++) {
        out[0] = 7;
        assert_true(run(&place, &error));
        assert_memory_equal(out, expected, sizeof expected);
    }
    assert_int_equal(fake.open, 1);
    assert_ptr_equal(fake.stream, &fake);
    gm_kernel_place_end(&place);
    assert_int_equal(fake.open + fake.handles, 0);
}

TEST(missing)
{
    static const char *const functions[] = {"cublasCreate_v2", "cublasDestroy_v2",    "cublasSetStream_v2",
                                            "cublasSgemm_v2",  "cublasGetStatusName", "cublasGetStatusString"};
    struct gm_kernel_place place = {0};
    struct gm_kernel_error error;
    memset(&fake, 0, sizeof fake);
    assert_false(run(&place, &error));
    assert_true(error.is_missing);
    assert_string_equal(error.words, "cuBLAS is not installed here (libcublas.so.N: cannot open it)");
    fake.is_installed = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        fake.lacks = functions[i];
        assert_false(run(&place, &error));
        assert_true(error.is_missing);
        assert_string_equal(error.words, "cuBLAS is installed here, and lacks a function");
    }
    gm_kernel_place_end(&place);
    assert_int_equal(fake.open + fake.handles, 0);
}

TEST(failures)
{
    struct gm_kernel_place place = {0};
    struct gm_kernel_error error;
    memset(&fake, 0, sizeof fake);
    fake.is_installed = true;
    fake.creates = CUBLAS_STATUS_NOT_INITIALIZED;
    assert_false(run(&place, &error));
    assert_false(error.is_missing);
    assert_string_equal(error.call, "cublasCreate");
    assert_string_equal(error.name, "CUBLAS_STATUS_NOT_INITIALIZED");
    assert_string_equal(error.words, "the library was not initialized");
    assert_int_equal(fake.open, 0);
    fake.creates = CUBLAS_STATUS_SUCCESS;
    fake.multiplies = CUBLAS_STATUS_INTERNAL_ERROR;
    assert_false(run(&place, &error));
    assert_string_equal(error.call, "cublasSgemm");
    gm_kernel_place_end(&place);
    assert_int_equal(fake.open + fake.handles, 0);
}
