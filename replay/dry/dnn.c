/* SPDX-License-Identifier: Apache-2.0
 *
 * Of cuDNN what is neither a graph nor a convolution nor a recurrent network: what it says of itself, and the sizes
 * that layers ask for.
 */
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

#include <stdio.h>

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
API_IS(size_t, cudnnGetMaxDeviceVersion, (size_t)(dry_card()->major * 100 + dry_card()->minor * 10), void)
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

API_IS(int, cudnnCreate, dnn_create(made, sizeof(struct handle)), void **made)
API_IS(int, cudnnDestroy, dnn_destroy(handle), void *handle)
API_SETS(cudnnSetStream, handle->stream, stream, struct handle *handle, void *stream)
API_SETS(cudnnGetStream, *stream, handle->stream, const struct handle *handle, void **stream)

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* One generator of 48 bytes for each thread of the card. */
API_IS(int, cudnnDropoutGetStatesSize, dry_estimate(bytes, (uint64_t)dry_card()->sms * 2048 * 48, __func__),
       void *handle, size_t *bytes)

/* Batch normalisation keeps and needs nothing more, unless an activation is fused into it. */
API_IS(int, cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize, dry_estimate(bytes, 0, __func__), void *handle,
       int mode, int operations, void *x, void *z, void *y, void *parameters, void *activation, size_t *bytes)
API_IS(int, cudnnGetBatchNormalizationBackwardExWorkspaceSize, dry_estimate(bytes, 0, __func__), void *handle, int mode,
       int operations, void *x, void *y, void *dy, void *dz, void *dx, void *parameters, void *activation,
       size_t *bytes)
API_IS(int, cudnnGetBatchNormalizationTrainingExReserveSpaceSize, dry_estimate(bytes, 0, __func__), void *handle,
       int mode, int operations, void *activation, void *x, size_t *bytes)

/* ---- CTC: the lattice of steps and labels, there and back -------------------------------------------------------- */

struct ctc {
    int longest; /* label */
};

API_IS(int, cudnnCreateCTCLossDescriptor, dnn_create(made, sizeof(struct ctc)), void **made)
API_IS(int, cudnnDestroyCTCLossDescriptor, dnn_destroy(ctc), void *ctc)
API_SETS(cudnnSetCTCLossDescriptor_v8, ctc->longest, longest, struct ctc *ctc, int type, int mode, int gradient,
         int longest)
API_SETS(cudnnSetCTCLossDescriptor_v9, ctc->longest, longest, struct ctc *ctc, int type, int mode, int gradient,
         int longest)

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
    return tell_lattice(probabilities, longest, bytes, __func__);
}

API_IS(int, cudnnGetCTCLossWorkspaceSize_v8, tell_lattice(probabilities, ctc->longest, bytes, __func__), void *handle,
       int algorithm, const struct ctc *ctc, const struct dnn_tensor *probabilities, const struct dnn_tensor *gradients,
       size_t *bytes)
