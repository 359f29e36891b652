/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's older interface: tensors, filters and convolutions that are described by one call each, and algorithms that
 * are asked for by number. There are two of these here: 0 needs nothing, 1 is what the rule says for tensor cores.
 */
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

#include <stdlib.h>
#include <string.h>

enum { NHWC = 1, ALGORITHMS = 2, TENSOR_OP_MATH = 1 };

struct convolution {
    int groups, math;
};

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

int dnn_create(void **made, size_t bytes)
{
    *made = calloc(1, bytes);
    return *made == NULL ? DNN_NO_MEMORY : DNN_OK;
}

int dnn_destroy(void *descriptor)
{
    free(descriptor);
    return DNN_OK;
}

API_IS(int, cudnnCreateTensorDescriptor, dnn_create(made, sizeof(struct dnn_tensor)), void **made)
API_IS(int, cudnnDestroyTensorDescriptor, dnn_destroy(tensor), void *tensor)
API_IS(int, cudnnCreateFilterDescriptor, dnn_create(made, sizeof(struct dnn_tensor)), void **made)
API_IS(int, cudnnDestroyFilterDescriptor, dnn_destroy(filter), void *filter)
API_IS(int, cudnnCreateConvolutionDescriptor, dnn_create(made, sizeof(struct convolution)), void **made)
API_IS(int, cudnnDestroyConvolutionDescriptor, dnn_destroy(convolution), void *convolution)

void dnn_tensor_set(struct dnn_tensor *tensor, int type, int dimensions, const int *sizes, const int *strides)
{
    *tensor = (struct dnn_tensor){.type = type, .dimensions = dimensions};
    memcpy(tensor->sizes, sizes, (size_t)dimensions * sizeof *sizes);
    for (int i = dimensions - 1, step = 1; i >= 0; step *= sizes[i--])
        tensor->strides[i] = strides != NULL ? strides[i] : step;
    tensor->is_channels_last = dimensions > 2 && tensor->strides[1] == 1 && sizes[1] > 1;
}

API(int, cudnnSetTensorNdDescriptor, struct dnn_tensor *tensor, int type, int dimensions, const int *sizes,
    const int *strides)
{
    if (tensor == NULL || dimensions < 1 || dimensions > DNN_DIMENSIONS)
        return DNN_BAD_PARAM;
    dnn_tensor_set(tensor, type, dimensions, sizes, strides);
    return DNN_OK;
}

API(int, cudnnGetTensorNdDescriptor, const struct dnn_tensor *tensor, int room, int *type, int *dimensions, int *sizes,
    int *strides)
{
    if (tensor == NULL || room < 0)
        return DNN_BAD_PARAM;
    *type = tensor->type;
    *dimensions = tensor->dimensions;
    for (int i = 0; i < tensor->dimensions && i < room; i++) {
        sizes[i] = tensor->sizes[i];
        strides[i] = tensor->strides[i];
    }
    return DNN_OK;
}

API(int, cudnnSetFilterNdDescriptor, struct dnn_tensor *filter, int type, int format, int dimensions, const int *sizes)
{
    if (filter == NULL || dimensions < 1 || dimensions > DNN_DIMENSIONS)
        return DNN_BAD_PARAM;
    dnn_tensor_set(filter, type, dimensions, sizes, NULL);
    filter->is_channels_last = format == NHWC;
    return DNN_OK;
}

API(int, cudnnGetFilterNdDescriptor, const struct dnn_tensor *filter, int room, int *type, int *format, int *dimensions,
    int *sizes)
{
    if (filter == NULL || room < 0)
        return DNN_BAD_PARAM;
    *type = filter->type;
    *format = filter->is_channels_last ? NHWC : 0;
    *dimensions = filter->dimensions;
    memcpy(sizes, filter->sizes, sizeof *sizes * (size_t)(room < filter->dimensions ? room : filter->dimensions));
    return DNN_OK;
}

API_SETS(cudnnSetConvolutionGroupCount, convolution->groups, groups, struct convolution *convolution, int groups)
API_SETS(cudnnSetConvolutionMathType, convolution->math, math, struct convolution *convolution, int math)

/* ---- algorithms -------------------------------------------------------------------------------------------------- */

struct performance {
    int algorithm, status;
    float time; /* milliseconds */
    size_t memory;
    int is_deterministic, math, reserved[3];
};

static size_t workspace_of(enum dnn_pass pass, const struct dnn_tensor *x, const struct dnn_tensor *w,
                           const struct dnn_tensor *y, int algorithm)
{
    struct dnn_engine engines[DNN_ENGINES];
    struct dnn_convolution convolution = {.pass = pass,
                                          .type = x->type,
                                          .dimensions = x->dimensions,
                                          .is_channels_last = (pass == DNN_PASS_DATA ? y : x)->is_channels_last};
    for (int i = 0; i < x->dimensions; i++) {
        convolution.x[i] = x->sizes[i];
        convolution.w[i] = w->sizes[i];
        convolution.y[i] = y->sizes[i];
    }
    dnn_convolution_engines(engines, &convolution, 0);
    return algorithm == 0 ? 0 : (size_t)engines[0].workspace;
}

static int tell_workspace(enum dnn_pass pass, const struct dnn_tensor *x, const struct dnn_tensor *w,
                          const struct dnn_tensor *y, int algorithm, size_t *bytes)
{
    if (algorithm < 0 || algorithm >= ALGORITHMS)
        return DNN_NOT_SUPPORTED;
    return dry_estimate(bytes, workspace_of(pass, x, w, y, algorithm), "cudnnGetConvolutionWorkspaceSize");
}

/* Best first: the one for tensor cores; both do the same twice. */
static int tell_algorithms(enum dnn_pass pass, const struct dnn_tensor *x, const struct dnn_tensor *w,
                           const struct dnn_tensor *y, int wanted, int *count, struct performance *performances,
                           size_t most)
{
    *count = 0;
    for (int algorithm = ALGORITHMS - 1; algorithm >= 0 && *count < wanted; algorithm--) {
        struct performance one = {.algorithm = algorithm, .is_deterministic = 1, .time = 1.0F / (float)(algorithm + 1)};
        const int status = tell_workspace(pass, x, w, y, algorithm, &one.memory);
        one.math = algorithm > 0 ? TENSOR_OP_MATH : 0;
        if (status == DNN_OK && one.memory <= most)
            performances[(*count)++] = one;
    }
    return DNN_OK;
}

API_IS(int, cudnnGetConvolutionForwardWorkspaceSize, tell_workspace(DNN_PASS_FORWARD, x, w, y, algorithm, bytes),
       void *handle, const struct dnn_tensor *x, const struct dnn_tensor *w, const struct convolution *convolution,
       const struct dnn_tensor *y, int algorithm, size_t *bytes)
API_IS(int, cudnnGetConvolutionBackwardDataWorkspaceSize, tell_workspace(DNN_PASS_DATA, x, w, y, algorithm, bytes),
       void *handle, const struct dnn_tensor *w, const struct dnn_tensor *y, const struct convolution *convolution,
       const struct dnn_tensor *x, int algorithm, size_t *bytes)
API_IS(int, cudnnGetConvolutionBackwardFilterWorkspaceSize, tell_workspace(DNN_PASS_FILTER, x, w, y, algorithm, bytes),
       void *handle, const struct dnn_tensor *x, const struct dnn_tensor *y, const struct convolution *convolution,
       const struct dnn_tensor *w, int algorithm, size_t *bytes)
API_IS(int, cudnnGetConvolutionForwardAlgorithm_v7,
       tell_algorithms(DNN_PASS_FORWARD, x, w, y, wanted, count, performances, SIZE_MAX), void *handle,
       const struct dnn_tensor *x, const struct dnn_tensor *w, const struct convolution *convolution,
       const struct dnn_tensor *y, int wanted, int *count, struct performance *performances)
API_IS(int, cudnnGetConvolutionBackwardDataAlgorithm_v7,
       tell_algorithms(DNN_PASS_DATA, x, w, y, wanted, count, performances, SIZE_MAX), void *handle,
       const struct dnn_tensor *w, const struct dnn_tensor *y, const struct convolution *convolution,
       const struct dnn_tensor *x, int wanted, int *count, struct performance *performances)
API_IS(int, cudnnGetConvolutionBackwardFilterAlgorithm_v7,
       tell_algorithms(DNN_PASS_FILTER, x, w, y, wanted, count, performances, SIZE_MAX), void *handle,
       const struct dnn_tensor *x, const struct dnn_tensor *y, const struct convolution *convolution,
       const struct dnn_tensor *w, int wanted, int *count, struct performance *performances)

API(int, cudnnFindConvolutionForwardAlgorithmEx, void *handle, const struct dnn_tensor *x, const void *x_data,
    const struct dnn_tensor *w, const void *w_data, const struct convolution *convolution, const struct dnn_tensor *y,
    void *y_data, int wanted, int *count, struct performance *performances, void *workspace, size_t bytes)
{
    dry_count_launch();
    return tell_algorithms(DNN_PASS_FORWARD, x, w, y, wanted, count, performances, bytes);
}

API(int, cudnnFindConvolutionBackwardDataAlgorithmEx, void *handle, const struct dnn_tensor *w, const void *w_data,
    const struct dnn_tensor *y, const void *y_data, const struct convolution *convolution, const struct dnn_tensor *x,
    void *x_data, int wanted, int *count, struct performance *performances, void *workspace, size_t bytes)
{
    dry_count_launch();
    return tell_algorithms(DNN_PASS_DATA, x, w, y, wanted, count, performances, bytes);
}

API(int, cudnnFindConvolutionBackwardFilterAlgorithmEx, void *handle, const struct dnn_tensor *x, const void *x_data,
    const struct dnn_tensor *y, const void *y_data, const struct convolution *convolution, const struct dnn_tensor *w,
    void *w_data, int wanted, int *count, struct performance *performances, void *workspace, size_t bytes)
{
    dry_count_launch();
    return tell_algorithms(DNN_PASS_FILTER, x, w, y, wanted, count, performances, bytes);
}
