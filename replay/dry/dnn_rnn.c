/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's recurrent networks. Where a layer's matrices and biases lie in the one space of all weights is true in order
 * and size: per layer and direction the matrices of the input, of the state, of the projection, and behind all matrices
 * the biases in the same order. What the passes keep for each other is a rule.
 */
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

#include <stdlib.h>

/* cudnnRNNMode_t, cudnnRNNBiasMode_t, cudnnForwardMode_t, cudnnRNNDataLayout_t */
enum { LSTM = 2, GRU = 3, NO_BIAS = 0, DOUBLE_BIAS = 2, RECURRENT_BIAS = 3, TRAINING = 1 };

struct rnn {
    int mode, bias, directions, type, input, hidden, projection, layers;
};

struct sequences {
    int type, longest, batch, vector;
    int64_t steps; /* of all sequences together */
};

API_IS(int, cudnnCreateRNNDescriptor, dnn_create(made, sizeof(struct rnn)), void **made)
API_IS(int, cudnnDestroyRNNDescriptor, dnn_destroy(rnn), void *rnn)
API_IS(int, cudnnCreateRNNDataDescriptor, dnn_create(made, sizeof(struct sequences)), void **made)
API_IS(int, cudnnDestroyRNNDataDescriptor, dnn_destroy(sequences), void *sequences)

API(int, cudnnSetRNNDescriptor_v8, struct rnn *rnn, int algorithm, int mode, int bias, int direction, int input_mode,
    int type, int precision, int math, int32_t input, int32_t hidden, int32_t projection, int32_t layers, void *dropout,
    uint32_t flags)
{
    if (rnn == NULL || input < 1 || hidden < 1 || projection < 0 || projection > hidden || layers < 1)
        return DNN_BAD_PARAM;
    *rnn = (struct rnn){mode, bias, direction != 0 ? 2 : 1, type, input, hidden, projection, layers};
    return DNN_OK;
}

API(int, cudnnSetRNNDataDescriptor, struct sequences *sequences, int type, int layout, int longest, int batch,
    int vector, const int *lengths, void *padding)
{
    if (sequences == NULL || longest < 1 || batch < 1 || vector < 1 || lengths == NULL)
        return DNN_BAD_PARAM;
    *sequences = (struct sequences){type, longest, batch, vector, 0};
    for (int i = 0; i < batch; i++)
        sequences->steps += lengths[i];
    return DNN_OK;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

static int gates(const struct rnn *rnn)
{
    return rnn->mode == LSTM ? 4 : rnn->mode == GRU ? 3 : 1;
}

/* What a step hands to the next, and to the layer above. */
static int64_t state(const struct rnn *rnn)
{
    return rnn->projection > 0 && rnn->projection < rnn->hidden ? rnn->projection : rnn->hidden;
}

static int64_t width_of_input(const struct rnn *rnn, int layer)
{
    return layer < rnn->directions ? rnn->input : state(rnn) * rnn->directions;
}

/* Elements of the matrices of a layer in one direction. */
static int64_t matrices(const struct rnn *rnn, int layer)
{
    const int64_t projection = state(rnn) < rnn->hidden ? state(rnn) * rnn->hidden : 0;
    return gates(rnn) * (int64_t)rnn->hidden * (width_of_input(rnn, layer) + state(rnn)) + projection;
}

static int64_t matrices_before(const struct rnn *rnn, int layer)
{
    int64_t all = 0;
    for (int i = 0; i < layer; i++)
        all += matrices(rnn, i);
    return all;
}

static int64_t biases(const struct rnn *rnn)
{
    const int sets = rnn->bias == NO_BIAS ? 0 : rnn->bias == DOUBLE_BIAS ? 2 : 1;
    return (int64_t)sets * gates(rnn) * rnn->hidden;
}

API(int, cudnnGetRNNWeightSpaceSize, void *handle, const struct rnn *rnn, size_t *bytes)
{
    const int layers = rnn->layers * rnn->directions;
    const int64_t all = matrices_before(rnn, layers) + layers * biases(rnn);
    return dry_estimate(bytes, (uint64_t)(all * dnn_width(rnn->type)), __func__);
}

static void describe(struct dnn_tensor *tensor, const struct rnn *rnn, int64_t rows, int64_t columns)
{
    const int sizes[3] = {1, (int)rows, (int)columns};
    dnn_tensor_set(tensor, rnn->type, 3, sizes, NULL);
}

/* `which` counts the input's gates, then the state's; the projection is behind them. Matrix or bias may be NULL: not
 * asked for. */
API(int, cudnnGetRNNWeightParams, void *handle, const struct rnn *rnn, int32_t layer, size_t bytes, const void *weights,
    int32_t which, struct dnn_tensor *matrix, void **matrix_at, struct dnn_tensor *bias, void **bias_at)
{
    const int n = gates(rnn), layers = rnn->layers * rnn->directions;
    const bool is_projection = which == 2 * n, is_input = which < n;
    if (layer < 0 || layer >= layers || which < 0 || which > 2 * n)
        return DNN_BAD_PARAM;
    const int64_t hidden = rnn->hidden, input = width_of_input(rnn, layer), width = dnn_width(rnn->type);
    const int64_t before =
        is_input ? which * hidden * input : n * hidden * input + (is_projection ? n : which - n) * hidden * state(rnn);
    char *begin = (char *)(uintptr_t)weights;
    const bool has_matrix = !is_projection || state(rnn) < hidden;
    const bool has_bias = !is_projection && rnn->bias != NO_BIAS &&
                          (rnn->bias == DOUBLE_BIAS || (rnn->bias == RECURRENT_BIAS) != is_input);
    const int64_t bias_before = layer * biases(rnn) + (rnn->bias == DOUBLE_BIAS ? which : which % n) * hidden;
    if (matrix != NULL && matrix_at != NULL) {
        *matrix_at = has_matrix ? begin + (matrices_before(rnn, layer) + before) * width : NULL;
        describe(matrix, rnn,
                 !has_matrix     ? 0
                 : is_projection ? state(rnn)
                                 : hidden,
                 !has_matrix     ? 0
                 : is_projection ? hidden
                 : is_input      ? input
                                 : state(rnn));
    }
    if (bias != NULL && bias_at != NULL) {
        *bias_at = has_bias ? begin + (matrices_before(rnn, layers) + bias_before) * width : NULL;
        describe(bias, rnn, has_bias ? hidden : 0, has_bias);
    }
    return DNN_OK;
}

/* ---- what the passes need ---------------------------------------------------------------------------------------- */

/* Sums that agree to the byte with what cuDNN gave a P100 for four layers of an LSTM and of a GRU (PyTorch's issue
 * 2895, 123 features, 320 wide; its batch is not told, with 250 steps of 100 sequences all four sizes agree). Kept for
 * the way back: of each layer and step the gates, of an LSTM the cell, of a GRU three more; between layers what the
 * lower one hands up. Workspace: a copy of all matrices, and for each layer and sequence two sets of gates and two
 * states, of an LSTM three. */
API(int, cudnnGetRNNTempSpaceSizes, void *handle, const struct rnn *rnn, int mode, const struct sequences *sequences,
    size_t *workspace, size_t *reserve)
{
    const bool is_lstm = rnn->mode == LSTM;
    const int64_t width = dnn_width(rnn->type), hidden = rnn->hidden, layers = rnn->layers,
                  directions = rnn->directions;
    const int64_t kept = gates(rnn) + (is_lstm ? 1 : rnn->mode == GRU ? 3 : 0);
    const int64_t of_step = hidden * layers * kept + state(rnn) * (layers - 1);
    const int64_t of_sequence = hidden * layers * (2 * gates(rnn) + (is_lstm ? 3 : 2));
    const int64_t copies = matrices_before(rnn, rnn->layers * rnn->directions);
    if (reserve != NULL)
        *reserve = mode == TRAINING ? (size_t)(sequences->steps * directions * of_step * width) : 0;
    return dry_estimate(workspace, (uint64_t)((copies + sequences->batch * directions * of_sequence) * width),
                        __func__);
}
