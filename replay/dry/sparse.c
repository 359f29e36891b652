/* SPDX-License-Identifier: Apache-2.0
 *
 * cuSPARSE and cuSPARSELt: matrices as they were described, and how much workspace is asked for. Sizes of which the
 * documentation says that there is none are 0; those that it says to be proportional to something, or does not tell,
 * are estimated. So is what a product of two sparse matrices has in it, as that is a matter of values.
 */
#include "replay/dry/private.h"

#include <stdlib.h>
#include <string.h>

enum { CUSPARSE_VERSION = 12000, NO_MEMORY = 2, INVALID = 3 };
enum { INDEX = 4 }; /* bytes of an index that the library makes for itself */
enum format { CSR, COO };

struct matrix {
    int64_t rows, columns, entries;
    enum format format;
};

static int give_matrix(struct matrix **matrix, struct matrix as)
{
    *matrix = malloc(sizeof **matrix);
    if (*matrix == NULL)
        return NO_MEMORY;
    **matrix = as;
    return 0;
}

/* ---- descriptions ------------------------------------------------------------------------------------------------ */

API_SETS(cusparseGetVersion, *version, CUSPARSE_VERSION, void *handle, int *version)
API_IS(int, cusparseCreateCsr, give_matrix(matrix, (struct matrix){rows, columns, entries, CSR}),
       struct matrix **matrix, int64_t rows, int64_t columns, int64_t entries, void *row_offsets, void *column_indices,
       void *values, int offset_type, int index_type, int base, int type)
API_IS(int, cusparseCreateCoo, give_matrix(matrix, (struct matrix){rows, columns, entries, COO}),
       struct matrix **matrix, int64_t rows, int64_t columns, int64_t entries, void *row_indices, void *column_indices,
       void *values, int index_type, int base, int type)

API(int, cusparseDestroySpMat, const struct matrix *matrix)
{
    void *own;
    memcpy(&own, &matrix, sizeof own);
    free(own);
    return 0;
}

API(int, cusparseSpMatGetSize, const struct matrix *matrix, int64_t *rows, int64_t *columns, int64_t *entries)
{
    *rows = matrix->rows;
    *columns = matrix->columns;
    *entries = matrix->entries;
    return 0;
}

/* ---- products with dense matrices -------------------------------------------------------------------------------- */

/* Only one algorithm for COO has a workspace. */
static int tell_product(size_t *bytes, const struct matrix *a, bool is_coo_2, const char *name)
{
    *bytes = 0;
    return a->format == COO && !is_coo_2 ? 0 : dry_estimate(bytes, INDEX * (uint64_t)a->rows, name);
}

API(int, cusparseSpMV_bufferSize, void *handle, int transposed, const void *alpha, const struct matrix *a,
    const void *x, const void *beta, const void *y, int type, int algorithm, size_t *bytes)
{
    enum { COO_2 = 4 };
    return tell_product(bytes, a, algorithm == COO_2, __func__);
}

API(int, cusparseSpMM_bufferSize, void *handle, int transposed_a, int transposed_b, const void *alpha,
    const struct matrix *a, const void *b, const void *beta, const void *c, int type, int algorithm, size_t *bytes)
{
    enum { COO_2 = 2 };
    return tell_product(bytes, a, algorithm == COO_2, __func__);
}

API_IS(int, cusparseSDDMM_bufferSize, dry_estimate(bytes, (uint64_t)(c->rows) * INDEX, __func__), void *handle,
       int transposed_a, int transposed_b, const void *alpha, const void *a, const void *b, const void *beta,
       const struct matrix *c, int type, int algorithm, size_t *bytes)

/* ---- triangular systems: proportional to the entries ------------------------------------------------------------- */

API_IS(int, cusparseSpSV_bufferSize, dry_estimate(bytes, (uint64_t)(a->entries + a->rows) * INDEX, __func__),
       void *handle, int transposed, const void *alpha, const struct matrix *a, const void *x, const void *y, int type,
       int algorithm, void *plan, size_t *bytes)
API_IS(int, cusparseSpSM_bufferSize, dry_estimate(bytes, (uint64_t)(a->entries + a->rows) * INDEX, __func__),
       void *handle, int transposed_a, int transposed_b, const void *alpha, const struct matrix *a, const void *b,
       const void *c, int type, int algorithm, void *plan, size_t *bytes)

static int estimate_blocks(int *bytes, int rows, int blocks, const char *name)
{
    *bytes = (int)INDEX * (rows + blocks);
    dry_estimated(name);
    return 0;
}

#define BLOCK_SYSTEMS(t)                                                                                               \
    API(int, cusparse##t##bsrsv2_bufferSize, void *handle, int order, int transposed, int rows, int blocks,            \
        const void *matrix, void *values, const int *offsets, const int *indices, int size, void *info, int *bytes)    \
    {                                                                                                                  \
        return estimate_blocks(bytes, rows, blocks, __func__);                                                         \
    }                                                                                                                  \
    API(int, cusparse##t##bsrsm2_bufferSize, void *handle, int order, int transposed, int transposed_x, int rows,      \
        int columns, int blocks, const void *matrix, void *values, const int *offsets, const int *indices, int size,   \
        void *info, int *bytes)                                                                                        \
    {                                                                                                                  \
        return estimate_blocks(bytes, rows, blocks, __func__);                                                         \
    }
BLOCK_SYSTEMS(S)
BLOCK_SYSTEMS(D)
BLOCK_SYSTEMS(C)
BLOCK_SYSTEMS(Z)

/* ---- results that are sparse themselves -------------------------------------------------------------------------- */

/* As many entries as if those of both lay at random, none on another. */
static int64_t entries_of_product(const struct matrix *a, const struct matrix *b)
{
    const double all = (double)a->rows * (double)b->columns;
    const double met = a->columns > 0 ? (double)a->entries * (double)b->entries / (double)a->columns : 0;
    return (int64_t)(met < all ? met : all);
}

/* Asked without a buffer it tells the size; the next call, with one, does the work. */
API(int, cusparseSpGEMM_workEstimation, void *handle, int transposed_a, int transposed_b, const void *alpha,
    const struct matrix *a, const struct matrix *b, const void *beta, struct matrix *c, int type, int algorithm,
    void *plan, size_t *bytes, void *buffer)
{
    if (buffer == NULL)
        dry_estimate(bytes, INDEX * (uint64_t)a->rows, __func__);
    return 0;
}

API(int, cusparseSpGEMM_compute, void *handle, int transposed_a, int transposed_b, const void *alpha,
    const struct matrix *a, const struct matrix *b, const void *beta, struct matrix *c, int type, int algorithm,
    void *plan, size_t *bytes, void *buffer)
{
    enum { LARGEST_VALUE = 16 };
    c->entries = entries_of_product(a, b);
    if (buffer == NULL)
        dry_estimate(bytes, (INDEX + LARGEST_VALUE) * (uint64_t)c->entries, __func__);
    return 0;
}

#define SUMS(t)                                                                                                        \
    API(int, cusparse##t##csrgeam2_bufferSizeExt, void *handle, int rows, int columns, const void *alpha,              \
        const void *a, int entries_a, const void *values_a, const int *offsets_a, const int *indices_a,                \
        const void *beta, const void *b, int entries_b, const void *values_b, const int *offsets_b,                    \
        const int *indices_b, const void *c, const void *values_c, const int *offsets_c, const int *indices_c,         \
        size_t *bytes)                                                                                                 \
    {                                                                                                                  \
        return dry_estimate(bytes, INDEX * (uint64_t)rows, __func__);                                                  \
    }
SUMS(S)
SUMS(D)
SUMS(C)
SUMS(Z)

/* As if no entry of one lay on one of the other; PyTorch has the library write the number to the host. */
API(int, cusparseXcsrgeam2Nnz, void *handle, int rows, int columns, const void *a, int entries_a, const int *offsets_a,
    const int *indices_a, const void *b, int entries_b, const int *offsets_b, const int *indices_b, const void *c,
    int *offsets_c, int *entries_c, void *workspace)
{
    const int64_t all = (int64_t)rows * columns, both = (int64_t)entries_a + entries_b;
    dry_forget();
    if (!dry_is_device(entries_c))
        *entries_c = (int)(both < all ? both : all);
    dry_estimated(__func__);
    return 0;
}

/* Sorted are pairs of indices, into a second place. */
API_IS(int, cusparseXcoosort_bufferSizeExt, dry_estimate(bytes, 2 * INDEX * (uint64_t)entries, __func__), void *handle,
       int rows, int columns, int entries, const int *row_indices, const int *column_indices, size_t *bytes)
API_IS(int, cusparseXcsrsort_bufferSizeExt, dry_estimate(bytes, 2 * INDEX * (uint64_t)entries, __func__), void *handle,
       int rows, int columns, int entries, const int *offsets, const int *indices, size_t *bytes)

/* ---- cuSPARSELt: its handles and descriptions are the caller's memory, of 512 bytes and more --------------------- */

struct structured {
    int64_t rows, columns;
    uint32_t type, is_structured;
};

API_IS(int, cusparseLtInit, 0, void *handle)
API_SETS(cusparseLtStructuredDescriptorInit, *matrix, ((struct structured){rows, columns, (uint32_t)type, 1}),
         void *handle, struct structured *matrix, int64_t rows, int64_t columns, int64_t leading, uint32_t alignment,
         int type, int order, int sparsity)
API_SETS(cusparseLtDenseDescriptorInit, *matrix, ((struct structured){rows, columns, (uint32_t)type, 0}), void *handle,
         struct structured *matrix, int64_t rows, int64_t columns, int64_t leading, uint32_t alignment, int type,
         int order)

/* Bits of a value, by cudaDataType; less than a byte are counted as one. */
static uint64_t bits_of(uint32_t type)
{
    enum { REAL_32 = 0, REAL_16 = 2, BFLOAT_16 = 14 };
    return type == REAL_32 ? 32 : type == REAL_16 || type == BFLOAT_16 ? 16 : 8;
}

/* Two of four values, and where they were: two bits for each kept. A float's are one of two. */
API(int, cusparseLtSpMMACompressedSize2, void *handle, const struct structured *matrix, size_t *bytes,
    size_t *buffer_bytes)
{
    const uint64_t kept = (uint64_t)(matrix->rows * matrix->columns) / 2;
    *bytes = kept * bits_of(matrix->type) / 8 + kept / 4;
    return dry_estimate(buffer_bytes, 0, __func__);
}

API_IS(int, cusparseLtMatmulGetWorkspace, dry_estimate(bytes, 0, __func__), void *handle, const void *plan,
       size_t *bytes)

/* One algorithm, the first of one, not split. */
API(int, cusparseLtMatmulAlgGetAttribute, void *handle, const void *selection, int attribute, void *value, size_t bytes)
{
    enum { CONFIGURATIONS = 1, ITERATIONS = 2, SPLITS = 3 };
    const int number = attribute == CONFIGURATIONS || attribute == ITERATIONS || attribute == SPLITS;
    if (bytes != sizeof number)
        return INVALID;
    memcpy(value, &number, sizeof number);
    return 0;
}
