/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS, cuBLASLt, cuFFT, NVRTC and others that compute: most of it is in names.def, as it only computes. Here
 * is what the host sees of them.
 */
#include "replay/dry/private.h"

#include <string.h>

enum { CUBLAS_VERSION = 130000, CUFFT_VERSION = 12000, RUNTIME = 13000 };

/* ---- cuBLAS, cuBLASLt -------------------------------------------------------------------------------------------- */

API_SETS(cublasGetVersion_v2, *version, CUBLAS_VERSION, void *handle, int *version)
API_IS(size_t, cublasGetCudartVersion, RUNTIME, void)

static _Thread_local int math_mode, pointer_mode;

API_SETS(cublasSetMathMode, math_mode, mode, void *handle, int mode)
API_SETS(cublasGetMathMode, *mode, math_mode, void *handle, int *mode)
API_SETS(cublasSetPointerMode_v2, pointer_mode, mode, void *handle, int mode)
API_SETS(cublasGetPointerMode_v2, *mode, pointer_mode, void *handle, int *mode)
API_SETS(cublasGetStream_v2, *stream, NULL, void *handle, void **stream)
API_IS(const char *, cublasGetStatusString, dry_words(status), int status)
API_IS(const char *, cublasGetStatusName, dry_words(status), int status)
API_IS(const char *, cublasLtGetStatusString, dry_words(status), int status)
API_IS(const char *, cusparseGetErrorString, dry_words(status), int status)
API_IS(const char *, cusparseGetErrorName, dry_words(status), int status)
API_IS(size_t, cublasLtGetVersion, CUBLAS_VERSION, void)

/* One algorithm, that needs no workspace: PyTorch allocates what it is ready to give, whatever is taken of it. */
struct heuristic {
    uint64_t algorithm[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

API(int, cublasLtMatmulAlgoGetHeuristic, void *handle, void *operation, void *a, void *b, void *c, void *d,
    void *preference, int wanted, struct heuristic *results, int *found)
{
    if (wanted < 1)
        return 7; /* invalid value */
    *results = (struct heuristic){.waves = 1};
    *found = 1;
    return 0;
}

API_SETS(cublasLtMatmulAlgoCheck, *result, ((struct heuristic){.waves = 1}), void *handle, void *operation, void *a,
         void *b, void *c, void *d, const void *algorithm, struct heuristic *result)

/* The first tile, the first stages ...: all of them have the number 0. */
API(int, cublasLtMatmulAlgoConfigGetAttribute, const void *algorithm, int attribute, void *value, size_t bytes,
    size_t *written)
{
    memset(value, 0, bytes);
    if (written != NULL)
        *written = bytes;
    return 0;
}

API(int, cublasLtMatmulAlgoInit, void *handle, int compute, int scale, int a, int b, int c, int d, int id,
    uint64_t *algorithm)
{
    memset(algorithm, 0, 64);
    return 0;
}

/* ---- cuFFT: plans are numbers ------------------------------------------------------------------------------------ */

API(int, cufftCreate, int *plan)
{
    static int count;
    dry_lock();
    *plan = ++count;
    dry_unlock();
    return 0;
}

API_SETS(cufftGetVersion, *version, CUFFT_VERSION, int *version)

/* As much as the larger of input and output; with complex numbers of double precision if any side has them. */
API(int, cufftXtMakePlanMany, int plan, int rank, const long long *n, const long long *in_embed, long long in_stride,
    long long in_distance, int in_type, const long long *out_embed, long long out_stride, long long out_distance,
    int out_type, long long batch, size_t *bytes, int type)
{
    enum { REAL_64 = 1, COMPLEX_64 = 5 };
    const bool is_double = in_type == REAL_64 || in_type == COMPLEX_64 || out_type == REAL_64 || out_type == COMPLEX_64;
    size_t size = (size_t)batch * (is_double ? 16 : 8);
    for (int i = 0; i < rank; i++)
        size *= (size_t)n[i];
    return dry_estimate(bytes, size, __func__);
}

/* ---- NVRTC: any source compiles to an image that is not looked at ------------------------------------------------ */

enum { IMAGE = 64 };

API(int, nvrtcVersion, int *major, int *minor)
{
    *major = RUNTIME / 1000;
    *minor = RUNTIME % 1000 / 10;
    return 0;
}

API_IS(const char *, nvrtcGetErrorString, dry_words(status), int status)
API_SETS(nvrtcDestroyProgram, *program, NULL, void **program)
API_SETS(nvrtcGetLoweredName, *lowered, name, void *program, const char *name, const char **lowered)

static int give_image(char *image)
{
    memset(image, 0, IMAGE);
    return 0;
}

API_SETS(nvrtcGetCUBINSize, *bytes, IMAGE, void *program, size_t *bytes)
API_SETS(nvrtcGetPTXSize, *bytes, IMAGE, void *program, size_t *bytes)
API_IS(int, nvrtcGetCUBIN, give_image(image), void *program, char *image)
API_IS(int, nvrtcGetPTX, give_image(image), void *program, char *image)
API_SETS(nvrtcGetProgramLogSize, *bytes, 1, void *program, size_t *bytes)
API_SETS(nvrtcGetProgramLog, *log, '\0', void *program, char *log)
