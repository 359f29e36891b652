/* SPDX-License-Identifier: Apache-2.0
 *
 * Of cuDNN what is neither a graph nor a convolution nor a recurrent network: what it says of itself, and the sizes
 * that layers ask for.
 */
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

#include <stdio.h>
#include <stdlib.h>

/* The program's; gmdry's hook tells that with which PyTorch was built. For others one with the functions of here. */
enum { VERSION = 91002, RUNTIME = 13000 };
static int version;

API(void, gmdry_set_cudnn_version, int number)
{
    version = number;
}

static int version_of_cudnn(void)
{
    return version > 0 ? version : VERSION;
}

API_IS(size_t, cudnnGetVersion, (size_t)version_of_cudnn(), void)

API(size_t, cudnnGetMaxDeviceVersion, void)
{
    const int number = dry_card()->major * 100 + dry_card()->minor * 10;
    return (size_t)number;
}

API_IS(size_t, cudnnGetCudartVersion, RUNTIME, void)

API(int, cudnnGetProperty, int which, int *value)
{
    const int number = version_of_cudnn();
    *value = which == 0 ? number / 10000 : which == 1 ? number / 100 % 100 : number % 100;
    return DNN_OK;
}

API(const char *, cudnnGetErrorString, int status)
{
    return status == DNN_OK ? "CUDNN_STATUS_SUCCESS" : "CUDNN_STATUS_NOT_SUPPORTED (by gmdry's stand-in)";
}

API(void, cudnnGetLastErrorString, char *message, size_t room)
{
    snprintf(message, room, "not supported (by gmdry's stand-in)");
}

/* ---- handles: they know their stream ----------------------------------------------------------------------------- */

struct handle {
    void *stream;
};

API(int, cudnnCreate, struct handle **made)
{
    *made = calloc(1, sizeof **made);
    return *made == NULL ? DNN_NO_MEMORY : DNN_OK;
}

API(int, cudnnDestroy, struct handle *handle)
{
    free(handle);
    return DNN_OK;
}

API(int, cudnnSetStream, struct handle *handle, void *stream)
{
    handle->stream = stream;
    return DNN_OK;
}

API(int, cudnnGetStream, const struct handle *handle, void **stream)
{
    *stream = handle->stream;
    return DNN_OK;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* One generator of 48 bytes for each thread of the card. */
API(int, cudnnDropoutGetStatesSize, void *handle, size_t *bytes)
{
    return dry_estimate(bytes, (uint64_t)dry_card()->sms * 2048 * 48, __func__);
}

/* Batch normalisation keeps and needs nothing more, unless an activation is fused into it. */
API(int, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, void *handle, int mode, int operations, void *x,
    void *z, void *y, void *parameters, void *activation, size_t *bytes)
{
    return dry_estimate(bytes, 0, __func__);
}

API(int, cudnnGetBatchNormalizationBackwardExWorkspaceSize, void *handle, int mode, int operations, void *x, void *y,
    void *dy, void *dz, void *dx, void *parameters, void *activation, size_t *bytes)
{
    return dry_estimate(bytes, 0, __func__);
}

API(int, cudnnGetBatchNormalizationTrainingExReserveSpaceSize, void *handle, int mode, int operations, void *activation,
    void *x, size_t *bytes)
{
    return dry_estimate(bytes, 0, __func__);
}

/* ---- CTC: the lattice of steps and labels, there and back -------------------------------------------------------- */

struct ctc {
    int longest; /* label */
};

API(int, cudnnCreateCTCLossDescriptor, struct ctc **made)
{
    *made = calloc(1, sizeof **made);
    return *made == NULL ? DNN_NO_MEMORY : DNN_OK;
}

API(int, cudnnDestroyCTCLossDescriptor, struct ctc *ctc)
{
    free(ctc);
    return DNN_OK;
}

static int set_longest(struct ctc *ctc, int longest)
{
    ctc->longest = longest;
    return DNN_OK;
}

API(int, cudnnSetCTCLossDescriptor_v8, struct ctc *ctc, int type, int mode, int gradient, int longest)
{
    return set_longest(ctc, longest);
}

API(int, cudnnSetCTCLossDescriptor_v9, struct ctc *ctc, int type, int mode, int gradient, int longest)
{
    return set_longest(ctc, longest);
}

static int tell_lattice(const struct dnn_tensor *probabilities, int longest, size_t *bytes, const char *name)
{
    const uint64_t cells =
        (uint64_t)probabilities->sizes[0] * (uint64_t)probabilities->sizes[1] * (2 * (uint64_t)longest + 1);
    return dry_estimate(bytes, 2 * cells * sizeof(float), name);
}

API(int, cudnnGetCTCLossWorkspaceSize, void *handle, const struct dnn_tensor *probabilities,
    const struct dnn_tensor *gradients, const int *labels, const int *lengths, const int *steps, int algorithm,
    const struct ctc *ctc, size_t *bytes)
{
    int longest = 0;
    for (int i = 0; i < probabilities->sizes[1]; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    return tell_lattice(probabilities, longest, bytes, "cudnnGetCTCLossWorkspaceSize");
}

API(int, cudnnGetCTCLossWorkspaceSize_v8, void *handle, int algorithm, const struct ctc *ctc,
    const struct dnn_tensor *probabilities, const struct dnn_tensor *gradients, size_t *bytes)
{
    return tell_lattice(probabilities, ctc->longest, bytes, "cudnnGetCTCLossWorkspaceSize_v8");
}
