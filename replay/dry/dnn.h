/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of cuDNN's stand-in share. cuDNN is asked through descriptors: a tree of values that is set, finalized
 * and then asked. What it answers is a list of engines for a graph of operations, each with a workspace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cudnnStatus_t, as far as it is given. */
enum { DNN_OK = 0, DNN_BAD_PARAM = 2000, DNN_NOT_SUPPORTED = 3000, DNN_NO_MEMORY = 4003 };

/* cudnnBackendDescriptorType_t */
enum dnn_kind {
    DNN_ENGINE = 2,
    DNN_CONFIG = 3,
    DNN_HEURISTICS = 4,
    DNN_PLAN = 5,
    DNN_KNOB_CHOICE = 7,
    DNN_OPERATION_FORWARD = 10,
    DNN_OPERATION_FILTER = 11,
    DNN_OPERATION_DATA = 12,
    DNN_GRAPH = 15,
    DNN_TENSOR = 17,
    DNN_DEVICE = 38,
    DNN_KINDS = 256 /* more than there are */
};

/* cudnnBackendAttributeName_t */
enum dnn_name {
    DNN_HEURISTICS_MODE = 200,
    DNN_HEURISTICS_GRAPH = 201,
    DNN_HEURISTICS_RESULTS = 202,
    DNN_HEURISTICS_DEVICE = 204,
    DNN_CONFIG_ENGINE = 300,
    DNN_CONFIG_INTERMEDIATE = 301,
    DNN_CONFIG_KNOBS = 302,
    DNN_CONFIG_WORKSPACE = 303,
    DNN_CONFIG_SHARED_MEMORY = 304,
    DNN_PLAN_CONFIG = 401,
    DNN_PLAN_WORKSPACE = 402,
    DNN_PLAN_JSON = 405,
    DNN_PLAN_DEVICE = 407,
    DNN_KNOB_TYPE = 600,
    DNN_KNOB_VALUE = 601,
    DNN_FORWARD_CONVOLUTION = 702,
    DNN_DATA_CONVOLUTION = 708,
    DNN_FILTER_CONVOLUTION = 714,
    DNN_GRAPH_OPERATIONS = 801,
    DNN_GRAPH_ENGINES = 802,
    DNN_TENSOR_TYPE = 901,
    DNN_TENSOR_DIMENSIONS = 902,
    DNN_TENSOR_STRIDES = 903,
    DNN_ENGINE_GRAPH = 1300,
    DNN_ENGINE_INDEX = 1301,
    DNN_ENGINE_KNOBS = 1302,
    DNN_ENGINE_NOTES = 1303,
    DNN_ENGINE_LAYOUTS = 1304,
    DNN_ENGINE_BEHAVIOURS = 1305,
    DNN_DEVICE_JSON = 2702,
};

/* cudnnBackendAttributeType_t, as far as the width of a value follows from it. */
enum dnn_type {
    DNN_TYPE_HANDLE = 0,
    DNN_TYPE_BOOLEAN = 2,
    DNN_TYPE_INT64 = 3,
    DNN_TYPE_DOUBLE = 5,
    DNN_TYPE_POINTER = 6,
    DNN_TYPE_HEURISTICS_MODE = 8,
    DNN_TYPE_KNOB = 9,
    DNN_TYPE_NOTE = 11,
    DNN_TYPE_DESCRIPTOR = 15,
    DNN_TYPE_BEHAVIOUR = 19,
    DNN_TYPE_CHAR = 24,
    DNN_TYPE_FRACTION = 26,
};

/* cudnnBackendHeurMode_t */
enum { DNN_MODE_FALLBACK = 2 };

/* cudnnBackendNumericalNote_t */
enum { DNN_TENSOR_CORE = 0 };

/* cudnnDataType_t */
enum { DNN_FLOAT = 0, DNN_DOUBLE = 1, DNN_HALF = 2, DNN_INT8 = 3, DNN_INT32 = 4, DNN_BFLOAT16 = 9, DNN_INT64 = 10 };

enum { DNN_DIMENSIONS = 8, DNN_KNOBS = 40, DNN_ENGINES = 128 };

/* ---- dnn_graph.c: what descriptors hold -------------------------------------------------------------------------- */

struct dnn_value {
    int name, type;
    int64_t count;
    union {
        void *data;
        struct dnn_content **contents; /* of DNN_TYPE_DESCRIPTOR; each is held */
    };
    struct dnn_value *next;
};

struct dnn_content {
    int references;
    enum dnn_kind kind;
    bool is_final;
    struct dnn_value *values;
    const void *ran; /* of a graph: the configuration of the first plan that was run */
};

size_t dnn_width_of(int type); /* bytes of a value of a dnn_type */
const struct dnn_value *dnn_find(const struct dnn_content *content, int name);
/* The first of the contents that it holds under that name, or NULL. */
const struct dnn_content *dnn_part(const struct dnn_content *content, int name);
/* Up to `room` integers of that name; how many there are. */
int64_t dnn_integers(const struct dnn_content *content, int name, int64_t *integers, int64_t room);

/* ---- dnn_engines.c: which engines a graph has, best first -------------------------------------------------------- */

struct dnn_engine {
    int64_t index, workspace;  /* bytes */
    uint32_t notes, behaviour; /* bits by their numbers */
    int knob_count;
    struct {
        int type;
        int64_t value;
    } knobs[DNN_KNOBS];
};

/* ---- dnn_real.c: the program's own cuDNN, in a process of its own ------------------------------------------------ */

/* -1: it is not there, or does not answer without a device; the rule has to. */
int dnn_ask(struct dnn_engine *engines, const struct dnn_content *graph, int mode);

/* To gmdry-cudnn (replay/dry/cudnn): the size of what follows, the mode, and the graph: its kind, how many values it
 * has, and of each name, type, width of an element and count, and then the elements; for descriptors what they hold, in
 * the same way. Back comes a number of engines, or -1, and the engines. All as they are in memory. */
struct dnn_field {
    int32_t name, type, width, reserved;
    int64_t count;
};

/* dnn_socket.c: all of it, or false: the other end is gone. */
bool dnn_send(int socket, const void *data, size_t bytes);
bool dnn_receive(int socket, void *data, size_t bytes);

/* A convolution: x and y are the images, w the filters, whatever the pass reads and writes. Dimensions begin with
 * batch (of x, y) and channels. */
struct dnn_convolution {
    enum dnn_pass { DNN_PASS_FORWARD, DNN_PASS_DATA, DNN_PASS_FILTER } pass;
    int type; /* of the data */
    int dimensions;
    bool is_channels_last;
    int64_t x[DNN_DIMENSIONS], w[DNN_DIMENSIONS], y[DNN_DIMENSIONS];
};

/* At most DNN_ENGINES; how many. */
size_t dnn_convolution_engines(struct dnn_engine *engines, const struct dnn_convolution *convolution, int mode);
/* For any graph; `mode` is cuDNN's. */
size_t dnn_engines(struct dnn_engine *engines, const struct dnn_content *graph, int mode);
int64_t dnn_width(int type); /* bytes of one element */

/* ---- dnn_legacy.c: the descriptors that are set at once ---------------------------------------------------------- */

struct dnn_tensor { /* or a filter, whose strides are not told */
    int type, dimensions;
    int sizes[DNN_DIMENSIONS], strides[DNN_DIMENSIONS];
    bool is_channels_last;
};

/* A descriptor: zeroes, until it is set. */
int dnn_create(void **made, size_t bytes);
int dnn_destroy(void *descriptor);
void dnn_tensor_set(struct dnn_tensor *tensor, int type, int dimensions, const int *sizes, const int *strides);
