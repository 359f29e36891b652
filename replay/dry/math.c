/* SPDX-License-Identifier: Apache-2.0
 *
 * cuBLAS, cuBLASLt, cuFFT, NVRTC and others that compute: most of it is in names.def, as it only computes. Here
 * is what the host sees of them.
 */
#include "replay/dry/private.h"

#include <string.h>

enum { CUBLAS_VERSION = 130000, CUFFT_VERSION = 12000, RUNTIME = 13000 };

/* ---- cuBLAS, cuBLASLt -------------------------------------------------------------------------------------------- */

API(int, cublasGetVersion_v2, void *handle, int *version)
{
    *version = CUBLAS_VERSION;
    return 0;
}

API_IS(size_t, cublasGetCudartVersion, RUNTIME, void)

static _Thread_local int math_mode, pointer_mode;

API(int, cublasSetMathMode, void *handle, int mode)
{
    math_mode = mode;
    return 0;
}

API(int, cublasGetMathMode, void *handle, int *mode)
{
    *mode = math_mode;
    return 0;
}

API(int, cublasSetPointerMode_v2, void *handle, int mode)
{
    pointer_mode = mode;
    return 0;
}

API(int, cublasGetPointerMode_v2, void *handle, int *mode)
{
    *mode = pointer_mode;
    return 0;
}

API(int, cublasGetStream_v2, void *handle, void **stream)
{
    *stream = NULL;
    return 0;
}

static const char *words(int status)
{
    return status == 0 ? "success" : "not supported (by gmdry's stand-in)";
}

API_IS(const char *, cublasGetStatusString, words(status), int status)
API_IS(const char *, cublasGetStatusName, words(status), int status)
API_IS(const char *, cublasLtGetStatusString, words(status), int status)
API_IS(const char *, cusparseGetErrorString, words(status), int status)
API_IS(const char *, cusparseGetErrorName, words(status), int status)
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

API(int, cublasLtMatmulAlgoCheck, void *handle, void *operation, void *a, void *b, void *c, void *d,
    const void *algorithm, struct heuristic *result)
{
    *result = (struct heuristic){.waves = 1};
    return 0;
}

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

API(int, cufftGetVersion, int *version)
{
    *version = CUFFT_VERSION;
    return 0;
}

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

API_IS(const char *, nvrtcGetErrorString, words(status), int status)

API(int, nvrtcDestroyProgram, void **program)
{
    *program = NULL;
    return 0;
}

API(int, nvrtcGetLoweredName, void *program, const char *name, const char **lowered)
{
    *lowered = name;
    return 0;
}

static int tell_image_size(size_t *bytes)
{
    *bytes = IMAGE;
    return 0;
}

static int give_image(char *image)
{
    memset(image, 0, IMAGE);
    return 0;
}

API_IS(int, nvrtcGetCUBINSize, tell_image_size(bytes), void *program, size_t *bytes)
API_IS(int, nvrtcGetPTXSize, tell_image_size(bytes), void *program, size_t *bytes)
API_IS(int, nvrtcGetCUBIN, give_image(image), void *program, char *image)
API_IS(int, nvrtcGetPTX, give_image(image), void *program, char *image)

API(int, nvrtcGetProgramLogSize, void *program, size_t *bytes)
{
    *bytes = 1;
    return 0;
}

API(int, nvrtcGetProgramLog, void *program, char *log)
{
    *log = '\0';
    return 0;
}
