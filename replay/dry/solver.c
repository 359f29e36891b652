/* SPDX-License-Identifier: Apache-2.0
 *
 * cuSOLVER: how much workspace its functions ask for. NVIDIA's documentation has no sizes, so all of them are
 * estimated: by what LAPACK's functions of the same names need (workspaces of blocked ones with blocks of 64 columns),
 * Jacobi's methods by a copy of what they turn. The functions themselves are in names.def.
 */
#include "replay/dry/private.h"

#include <limits.h>

enum { BLOCK = 64, LEFT = 0, INVALID = 3, OVERFLOWN = INVALID };

/* In elements of the matrix, which is how the older functions count. */
static int elements(int *count, uint64_t wanted, const char *name)
{
    if (wanted > INT_MAX)
        return OVERFLOWN;
    *count = (int)wanted;
    dry_estimated(name);
    return 0;
}

static uint64_t product(int64_t a, int64_t b)
{
    return (uint64_t)(a > 0 ? a : 0) * (uint64_t)(b > 0 ? b : 0);
}

/* Divide and conquer: with vectors two matrices. */
static uint64_t divided(int64_t n, bool with_vectors)
{
    return with_vectors ? 2 * product(n, n) + product(6, n) + 1 : product(2, n) + 1;
}

static uint64_t rotated(int64_t m, int64_t n)
{
    return product(m, n) + product(n, n);
}

#define SIZE(name, count, ...) API_IS(int, name, elements(lwork, count, __func__), void *handle, __VA_ARGS__)
#define SIZES(function, count, ...)                                                                                    \
    SIZE(cusolverDnS##function##_bufferSize, count, __VA_ARGS__)                                                       \
    SIZE(cusolverDnD##function##_bufferSize, count, __VA_ARGS__)                                                       \
    SIZE(cusolverDnC##function##_bufferSize, count, __VA_ARGS__)                                                       \
    SIZE(cusolverDnZ##function##_bufferSize, count, __VA_ARGS__)
/* Real and complex ones have different names. */
#define SIZES_OF(real, complex, count, ...)                                                                            \
    SIZE(cusolverDnS##real##_bufferSize, count, __VA_ARGS__)                                                           \
    SIZE(cusolverDnD##real##_bufferSize, count, __VA_ARGS__)                                                           \
    SIZE(cusolverDnC##complex##_bufferSize, count, __VA_ARGS__)                                                        \
    SIZE(cusolverDnZ##complex##_bufferSize, count, __VA_ARGS__)

SIZES(geqrf, product(BLOCK, n), int m, int n, void *a, int lda, int *lwork)
SIZES(getrf, product(BLOCK, m), int m, int n, void *a, int lda, int *lwork)
SIZES(potrf, product(BLOCK, n), int triangle, int n, void *a, int lda, int *lwork)
SIZES(sytrf, product(BLOCK, n), int n, void *a, int lda, int *lwork)
SIZES_OF(orgqr, ungqr, product(BLOCK, n), int m, int n, int k, const void *a, int lda, const void *tau, int *lwork)
SIZES_OF(ormqr, unmqr, product(BLOCK, side == LEFT ? n : m), int side, int transposed, int m, int n, int k,
         const void *a, int lda, const void *tau, const void *c, int ldc, int *lwork)
SIZES(gesvd, product(BLOCK, (int64_t)m + n), int m, int n, int *lwork)
SIZES(gesvdj, rotated(m, n), int job, int economy, int m, int n, const void *a, int lda, const void *s, const void *u,
      int ldu, const void *v, int ldv, int *lwork, void *parameters)
SIZES(gesvdjBatched, product(batch, (int64_t)rotated(m, n)), int job, int m, int n, const void *a, int lda,
      const void *s, const void *u, int ldu, const void *v, int ldv, int *lwork, void *parameters, int batch)
SIZES(gesvdaStridedBatched, product(batch, (int64_t)rotated(m, n)), int job, int rank, int m, int n, const void *a,
      int lda, long long stride_a, const void *s, long long stride_s, const void *u, int ldu, long long stride_u,
      const void *v, int ldv, long long stride_v, int *lwork, int batch)
SIZES_OF(syevd, heevd, divided(n, job != 0), int job, int triangle, int n, const void *a, int lda, const void *w,
         int *lwork)
SIZES_OF(syevj, heevj, rotated(n, n), int job, int triangle, int n, const void *a, int lda, const void *w, int *lwork,
         void *parameters)
SIZES_OF(syevjBatched, heevjBatched, product(batch, (int64_t)rotated(n, n)), int job, int triangle, int n,
         const void *a, int lda, const void *w, int *lwork, void *parameters, int batch)

/* ---- functions for any type, which count bytes: on the device, and on the host ----------------------------------- */

/* By cudaDataType: real and complex, single and double. */
static uint64_t size_of(int type)
{
    enum { REAL_32, REAL_64, COMPLEX_32 = 4, COMPLEX_64 };
    return type == REAL_32 ? 4 : type == REAL_64 || type == COMPLEX_32 ? 8 : type == COMPLEX_64 ? 16 : 2;
}

static int bytes(size_t *device, size_t *host, uint64_t count, int type, const char *name)
{
    *device = count * size_of(type);
    *host = 0;
    dry_estimated(name);
    return 0;
}

API_IS(int, cusolverDnXgeqrf_bufferSize, bytes(device, host, product(BLOCK, n), type, __func__), void *handle,
       void *parameters, int64_t m, int64_t n, int type, const void *a, int64_t lda, int tau_type, const void *tau,
       int compute, size_t *device, size_t *host)
API_IS(int, cusolverDnXpotrf_bufferSize, bytes(device, host, product(BLOCK, n), type, __func__), void *handle,
       void *parameters, int triangle, int64_t n, int type, const void *a, int64_t lda, int compute, size_t *device,
       size_t *host)
API_IS(int, cusolverDnXsyevd_bufferSize, bytes(device, host, divided(n, job != 0), type, __func__), void *handle,
       void *parameters, int job, int triangle, int64_t n, int type, const void *a, int64_t lda, int w_type,
       const void *w, int compute, size_t *device, size_t *host)
API_IS(int, cusolverDnXsyevBatched_bufferSize,
       bytes(device, host, product(batch, (int64_t)divided(n, job != 0)), type, __func__), void *handle,
       void *parameters, int job, int triangle, int64_t n, int type, const void *a, int64_t lda, int w_type,
       const void *w, int compute, size_t *device, size_t *host, int64_t batch)
API_IS(int, cusolverDnXgeev_bufferSize, bytes(device, host, product(n, n) + product(BLOCK, n), type, __func__),
       void *handle, void *parameters, int left, int right, int64_t n, int type, const void *a, int64_t lda, int w_type,
       const void *w, int vl_type, const void *vl, int64_t ldvl, int vr_type, const void *vr, int64_t ldvr, int compute,
       size_t *device, size_t *host)
API_IS(int, cusolverDnXsytrs_bufferSize, bytes(device, host, product(n, columns), type, __func__), void *handle,
       int triangle, int64_t n, int64_t columns, int type, const void *a, int64_t lda, const int64_t *pivots,
       int b_type, void *b, int64_t ldb, size_t *device, size_t *host)

API(int, cusolverGetProperty, int which, int *value)
{
    *value = which == 0 ? 12 : 0; /* major, minor, patch */
    return 0;
}
