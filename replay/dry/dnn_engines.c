/* SPDX-License-Identifier: Apache-2.0
 *
 * The rule for workspaces of convolutions (docs/dry.md says how far it is from cuDNN's answers). cuDNN's kernels for
 * tensor cores want images and filters with their channels last; what lies otherwise is copied into the workspace.
 * Gradients of filters are sums over a whole batch: if they are few tiles, several parts of the card add up their own,
 * in 32 bits, and these sums lie there, too. Kernels without tensor cores need nothing.
 */
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

enum { DIRECT = 0, EXPLICIT = 1, TENSOR_CORES = 2, TILE = 128 };

int64_t dnn_width(int type)
{
    switch (type) {
    case DNN_DOUBLE:
    case DNN_INT64:
        return 8;
    case DNN_HALF:
    case DNN_BFLOAT16:
        return 2;
    case DNN_INT8:
        return 1;
    default:
        return 4;
    }
}

static int64_t product(const int64_t *sizes, int count)
{
    int64_t all = 1;
    for (int i = 0; i < count; i++)
        all *= sizes[i];
    return all;
}

static int64_t up(int64_t n, int64_t step)
{
    return (n + step - 1) / step * step;
}

static int64_t tiles(int64_t n)
{
    return (n + TILE - 1) / TILE;
}

/* What a copy of the tensor takes; with `is_missing` only what is missing: nothing if it lies right already. */
static int64_t copy_of(const int64_t *sizes, const struct dnn_convolution *c, bool is_missing)
{
    const int64_t width = dnn_width(c->type), step = sizes[1] <= 4 ? 4 : 16 / width;
    const bool lies_right = c->is_channels_last || product(sizes + 2, c->dimensions - 2) == 1 || sizes[1] == 1;
    int64_t channels = sizes[1];
    if (is_missing && lies_right && channels % step == 0)
        return 0;
    if (c->is_channels_last) /* the copy is made for the sake of whole vectors */
        channels = up(channels, step);
    return sizes[0] * channels * product(sizes + 2, c->dimensions - 2) * width;
}

static bool is_half(int type)
{
    return type == DNN_HALF || type == DNN_BFLOAT16;
}

/* 16 bits from Volta on, bfloat16 and TF32 from Ampere on. A filter of its own for each channel has nothing to add. */
static bool has_tensor_cores(const struct dnn_convolution *c)
{
    const int major = dry_card()->major;
    if (c->w[1] == 1 && c->x[1] > 1)
        return false;
    return major >= 8 ? is_half(c->type) || c->type == DNN_FLOAT || c->type == DNN_INT8
                      : major == 7 && c->type == DNN_HALF;
}

/* Sums of a filter's gradient that are kept apart, to keep all of the card busy. Hopper adds up in groups of blocks. */
static int64_t partial_sums(const struct dnn_convolution *c)
{
    const int64_t all = tiles(c->w[0]) * tiles(product(c->w + 1, c->dimensions - 1));
    const int64_t parts = all > 0 ? dry_card()->sms / all : 0;
    if (dry_card()->major >= 9)
        return parts >= 4 ? 2 : 0;
    return parts >= 2 ? parts : 0;
}

static int64_t tensor_core_workspace(const struct dnn_convolution *c)
{
    /* Before Hopper TF32 reads copies in any case, and writes images forward as they shall lie. */
    const bool is_tf32 = c->type == DNN_FLOAT && dry_card()->major < 9;
    const bool reads_x = c->pass != DNN_PASS_DATA, reads_y = c->pass != DNN_PASS_FORWARD;
    const int64_t x = copy_of(c->x, c, !(is_tf32 && reads_x)), y = copy_of(c->y, c, !(is_tf32 && reads_y)),
                  w = copy_of(c->w, c, !is_tf32);
    const int64_t sums =
        c->pass == DNN_PASS_FILTER ? partial_sums(c) * product(c->w, c->dimensions) * dnn_width(DNN_FLOAT) : 0;
    return x + w + (is_tf32 && c->pass == DNN_PASS_FORWARD ? 0 : y) + sums;
}

size_t dnn_convolution_engines(struct dnn_engine *engines, const struct dnn_convolution *c, int mode)
{
    size_t count = 0;
    if (mode == DNN_MODE_FALLBACK) {
        const int64_t copies = copy_of(c->x, c, false) + copy_of(c->w, c, false) + copy_of(c->y, c, false);
        engines[count++] = (struct dnn_engine){.index = EXPLICIT, .workspace = copies};
    } else if (has_tensor_cores(c)) {
        engines[count++] = (struct dnn_engine){
            .index = TENSOR_CORES, .workspace = tensor_core_workspace(c), .notes = 1U << DNN_TENSOR_CORE};
    }
    engines[count++] = (struct dnn_engine){.index = DIRECT};
    return count;
}

/* ---- a convolution out of a graph -------------------------------------------------------------------------------- */

static bool read_tensor(int64_t *sizes, struct dnn_convolution *c, const struct dnn_content *tensor)
{
    int64_t type = 0;
    const int64_t count = dnn_integers(tensor, DNN_TENSOR_DIMENSIONS, sizes, DNN_DIMENSIONS);
    if (count < 3 || count > DNN_DIMENSIONS || dnn_integers(tensor, DNN_TENSOR_TYPE, &type, 1) != 1)
        return false;
    c->dimensions = (int)count;
    c->type = (int)type;
    return true;
}

static bool is_channels_last(const struct dnn_content *tensor)
{
    int64_t strides[DNN_DIMENSIONS] = {0}, sizes[DNN_DIMENSIONS] = {0};
    const int64_t count = dnn_integers(tensor, DNN_TENSOR_STRIDES, strides, DNN_DIMENSIONS);
    dnn_integers(tensor, DNN_TENSOR_DIMENSIONS, sizes, DNN_DIMENSIONS);
    return count > 2 && count <= DNN_DIMENSIONS && strides[1] == 1 && sizes[1] > 1;
}

/* Filters, images and what comes of them stand behind the convolution's number, in all three. */
static bool read_convolution(struct dnn_convolution *c, const struct dnn_content *operation)
{
    int first;
    switch (operation->kind) {
    case DNN_OPERATION_FORWARD:
        first = DNN_FORWARD_CONVOLUTION;
        c->pass = DNN_PASS_FORWARD;
        break;
    case DNN_OPERATION_DATA:
        first = DNN_DATA_CONVOLUTION;
        c->pass = DNN_PASS_DATA;
        break;
    case DNN_OPERATION_FILTER:
        first = DNN_FILTER_CONVOLUTION;
        c->pass = DNN_PASS_FILTER;
        break;
    default:
        return false;
    }
    const struct dnn_content *w = dnn_part(operation, first + 1), *x = dnn_part(operation, first + 2),
                             *y = dnn_part(operation, first + 3);
    c->is_channels_last = is_channels_last(c->pass == DNN_PASS_DATA ? y : x);
    return read_tensor(c->w, c, w) && read_tensor(c->y, c, y) && read_tensor(c->x, c, x);
}

size_t dnn_engines(struct dnn_engine *engines, const struct dnn_content *graph, int mode)
{
    const struct dnn_value *operations = dnn_find(graph, DNN_GRAPH_OPERATIONS);
    struct dnn_convolution convolution;
    const int answered = dnn_ask(engines, graph, mode);
    if (answered > 0 || (answered == 0 && mode == DNN_MODE_FALLBACK && dnn_ask(engines, graph, 0) > 0))
        return (size_t)answered;
    dry_estimated("cudnnBackendExecute");
    for (int64_t i = 0; operations != NULL && i < operations->count; i++)
        if (read_convolution(&convolution, operations->contents[i]))
            return dnn_convolution_engines(engines, &convolution, mode);
    engines[0] = (struct dnn_engine){.index = DIRECT, .notes = 1U << DNN_TENSOR_CORE};
    return 1;
}
