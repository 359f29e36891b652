/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN in libgmdry.so as its callers meet it: descriptors are set, finalized and asked; layouts of weights; sizes that
 * follow from the rule by hand arithmetic, for a card of compute capability 9.0 with 132 SMs.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dry/stand_in.h"
#include "tests/unit.h"

enum { OK = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000 };
enum { FLOAT = 0, HALF = 2, BFLOAT16 = 9 };
/* Kinds, names and types by cuDNN's numbers. */
enum { CONVOLUTION = 1, ENGINE = 2, CONFIG = 3, HEURISTICS = 4, PLAN = 5, FORWARD = 10, FILTER = 11, DATA = 12 };
enum { GRAPH = 15, PACK = 16, TENSOR = 17, T_TYPE = 1, T_INT64 = 3, T_MODE = 8, T_NOTE = 11, T_DESCRIPTOR = 15 };
enum { T_CHAR = 24 };

typedef int (*create_fn)(int, void **);
typedef int (*set_fn)(void *, int, int, int64_t, const void *);
typedef int (*get_fn)(void *, int, int, int64_t, int64_t *, void *);
typedef int (*one_fn)(void *);

static create_fn create;
static set_fn set;
static get_fn get;
static one_fn finalize, destroy;

static int find_functions(void **state)
{
    if (open_library(state) != 0)
        return 1;
    FIND(create_fn, cudnnBackendCreateDescriptor);
    FIND(set_fn, cudnnBackendSetAttribute);
    FIND(get_fn, cudnnBackendGetAttribute);
    FIND(one_fn, cudnnBackendFinalize);
    FIND(one_fn, cudnnBackendDestroyDescriptor);
    create = cudnnBackendCreateDescriptor;
    set = cudnnBackendSetAttribute;
    get = cudnnBackendGetAttribute;
    finalize = cudnnBackendFinalize;
    destroy = cudnnBackendDestroyDescriptor;
    return 0;
}

static void *make(int kind)
{
    void *made = NULL;
    assert_int_equal(create(kind, &made), OK);
    return made;
}

static void *make_tensor(int type, const int64_t sizes[4], bool is_channels_last)
{
    const int64_t planes = sizes[2] * sizes[3];
    const int64_t strides[4] = {sizes[1] * planes, is_channels_last ? 1 : planes,
                                is_channels_last ? sizes[3] * sizes[1] : sizes[3], is_channels_last ? sizes[1] : 1};
    void *tensor = make(TENSOR);
    assert_int_equal(set(tensor, 901, T_TYPE, 1, &type), OK);
    assert_int_equal(set(tensor, 902, T_INT64, 4, sizes), OK);
    assert_int_equal(set(tensor, 903, T_INT64, 4, strides), OK);
    assert_int_equal(finalize(tensor), OK);
    return tensor;
}

/* 3x3, padded by one, of 64 to 128 channels; what it was made of is destroyed. */
static void *make_graph(int kind, int type, bool is_channels_last)
{
    const int64_t x[4] = {32, 64, 56, 56}, w[4] = {128, 64, 3, 3}, y[4] = {32, 128, 56, 56};
    const int first = kind == FORWARD ? 702 : kind == DATA ? 708 : 714;
    void *parts[4] = {make(CONVOLUTION), make_tensor(type, w, is_channels_last), make_tensor(type, x, is_channels_last),
                      make_tensor(type, y, is_channels_last)};
    void *operation = make(kind), *graph = make(GRAPH);
    assert_int_equal(finalize(parts[0]), OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(set(operation, first + i, T_DESCRIPTOR, 1, &parts[i]), OK);
    assert_int_equal(set(graph, 801, T_DESCRIPTOR, 1, &operation), BAD_PARAM); /* not finalized */
    assert_int_equal(finalize(operation), OK);
    assert_int_equal(set(graph, 801, T_DESCRIPTOR, 1, &operation), OK);
    assert_int_equal(finalize(graph), OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(destroy(parts[i]), OK);
    assert_int_equal(destroy(operation), OK);
    return graph;
}

/* The first configuration of the heuristics, as a plan. */
static void *make_plan(void *graph, int mode, int64_t *workspace)
{
    void *heuristics = make(HEURISTICS), *configs[2] = {make(CONFIG), make(CONFIG)}, *plan = make(PLAN);
    int64_t count = -1;
    assert_int_equal(set(heuristics, 201, T_DESCRIPTOR, 1, &graph), OK);
    assert_int_equal(set(heuristics, 200, T_MODE, 1, &mode), OK);
    assert_int_equal(finalize(heuristics), OK);
    assert_int_equal(get(heuristics, 202, T_DESCRIPTOR, 0, &count, NULL), OK);
    assert_true(count >= 1);
    assert_int_equal(get(heuristics, 202, T_DESCRIPTOR, 1, &count, configs), OK);
    assert_int_equal(count, 1); /* as many as there is place for */
    assert_int_equal(destroy(heuristics), OK);
    assert_int_equal(set(plan, 401, T_DESCRIPTOR, 1, configs), OK);
    assert_int_equal(finalize(plan), OK);
    assert_int_equal(get(plan, 402, T_INT64, 1, NULL, workspace), OK);
    assert_int_equal(destroy(configs[0]) | destroy(configs[1]), OK);
    return plan;
}

static int64_t workspace_of(int kind, int type, bool is_channels_last, int mode)
{
    int64_t workspace = -1;
    void *graph = make_graph(kind, type, is_channels_last), *plan = make_plan(graph, mode, &workspace);
    assert_int_equal(destroy(graph) | destroy(plan), OK);
    return workspace;
}

TEST(workspaces)
{
    const int64_t x = 32 * 64 * 56 * 56, y = 2 * x, w = 128 * 64 * 9;
    assert_int_equal(workspace_of(FORWARD, BFLOAT16, false, 0), 2 * (x + y + w)); /* copies, channels last */
    assert_int_equal(workspace_of(DATA, BFLOAT16, false, 0), 2 * (x + y + w));
    assert_int_equal(workspace_of(FORWARD, HALF, true, 0), 0);
    assert_int_equal(workspace_of(FILTER, HALF, true, 0), 2 * 4 * w); /* five tiles: sums are kept apart */
    assert_int_equal(workspace_of(FORWARD, FLOAT, false, 0), 4 * (x + y + w));
    assert_int_equal(workspace_of(FORWARD, 1, false, 0), 0);                 /* doubles have no tensor cores */
    assert_int_equal(workspace_of(FORWARD, HALF, true, 2), 2 * (x + y + w)); /* the fallback copies whatever lies how */
}

TEST(plans_are_run_and_read_again)
{
    FIND(int (*)(void *, void *, void *), cudnnBackendExecute);
    int64_t workspace = 0, count = 0, again = -1;
    char text[256] = "";
    void *graph = make_graph(FORWARD, HALF, false), *plan = make_plan(graph, 0, &workspace), *pack = make(PACK);
    assert_int_equal(cudnnBackendExecute(NULL, plan, pack), BAD_PARAM);
    assert_int_equal(finalize(pack), OK);
    assert_int_equal(cudnnBackendExecute(NULL, plan, pack), OK);
    assert_int_equal(get(plan, 405, T_CHAR, 0, &count, NULL), OK);
    assert_in_range(count, 2, (int64_t)sizeof text);
    assert_int_equal(get(plan, 405, T_CHAR, count, &count, text), OK);
    void *copy = make(PLAN), *empty = make(PLAN);
    assert_int_equal(finalize(empty), BAD_PARAM);
    assert_int_equal(set(copy, 405, T_CHAR, count, text), OK);
    assert_int_equal(finalize(copy), OK);
    assert_int_equal(get(copy, 402, T_INT64, 1, NULL, &again), OK);
    assert_int_equal(again, workspace);
    assert_int_equal(destroy(graph) | destroy(plan) | destroy(pack) | destroy(copy) | destroy(empty), OK);
}

TEST(engines_by_number)
{
    void *graph = make_graph(FORWARD, HALF, false), *config = make(CONFIG);
    int64_t engines = 0, count = -1, workspace = -1;
    int32_t notes[10] = {-1};
    assert_int_equal(get(graph, 802, T_INT64, 1, NULL, &engines), OK);
    assert_true(engines > 2);
    for (int64_t i = 0; i <= engines; i++) {
        void *engine = make(ENGINE);
        assert_int_equal(set(engine, 1300, T_DESCRIPTOR, 1, &graph), OK);
        assert_int_equal(set(engine, 1301, T_INT64, 1, &i), OK);
        assert_int_equal(finalize(engine), i < engines ? OK : NOT_SUPPORTED);
        if (i == 2) {
            assert_int_equal(get(engine, 1303, T_NOTE, 10, &count, NULL), OK);
            assert_int_equal(count, 1);
            assert_int_equal(get(engine, 1303, T_NOTE, 10, &count, notes), OK);
            assert_int_equal(notes[0], 0); /* tensor cores */
            assert_int_equal(set(config, 300, T_DESCRIPTOR, 1, &engine), OK);
        }
        assert_int_equal(destroy(engine), OK);
    }
    assert_int_equal(finalize(config), OK);
    assert_int_equal(get(config, 303, T_INT64, 1, &count, &workspace), OK);
    assert_true(workspace > 0);
    assert_int_equal(get(config, 302, T_DESCRIPTOR, 0, &count, NULL), OK); /* no knobs is no error */
    assert_int_equal(count, 0);
    assert_int_equal(get(config, 999, T_INT64, 1, &count, &workspace), BAD_PARAM);
    assert_int_equal(set(config, 303, T_INT64, 1, &workspace), BAD_PARAM); /* final */
    assert_int_equal(destroy(graph) | destroy(config), OK);
}

struct performance {
    int algorithm, status;
    float time;
    size_t memory;
    int is_deterministic, math, reserved[3];
};

TEST(algorithms)
{
    typedef int (*tensor_fn)(void *, int, int, const int *, const int *);
    typedef int (*filter_fn)(void *, int, int, int, const int *);
    typedef int (*best_fn)(void *, void *, void *, void *, void *, int, int *, struct performance *);
    typedef int (*workspace_fn)(void *, void *, void *, void *, void *, int, size_t *);
    typedef int (*make_fn)(void **);
    FIND(make_fn, cudnnCreateTensorDescriptor);
    FIND(make_fn, cudnnCreateFilterDescriptor);
    FIND(make_fn, cudnnCreateConvolutionDescriptor);
    FIND(tensor_fn, cudnnSetTensorNdDescriptor);
    FIND(filter_fn, cudnnSetFilterNdDescriptor);
    FIND(best_fn, cudnnGetConvolutionForwardAlgorithm_v7);
    FIND(workspace_fn, cudnnGetConvolutionForwardWorkspaceSize);
    FIND(one_fn, cudnnDestroyTensorDescriptor);
    FIND(one_fn, cudnnDestroyFilterDescriptor);
    FIND(one_fn, cudnnDestroyConvolutionDescriptor);
    const int x_sizes[4] = {8, 16, 10, 10}, w_sizes[4] = {32, 16, 1, 1}, y_sizes[4] = {8, 32, 10, 10};
    const int x_strides[4] = {1600, 100, 10, 1}, y_strides[4] = {3200, 100, 10, 1};
    void *x = NULL, *w = NULL, *y = NULL, *convolution = NULL;
    assert_int_equal(cudnnCreateTensorDescriptor(&x) | cudnnCreateTensorDescriptor(&y), OK);
    assert_int_equal(cudnnCreateFilterDescriptor(&w) | cudnnCreateConvolutionDescriptor(&convolution), OK);
    assert_int_equal(cudnnSetTensorNdDescriptor(x, HALF, 4, x_sizes, x_strides), OK);
    assert_int_equal(cudnnSetTensorNdDescriptor(y, HALF, 4, y_sizes, y_strides), OK);
    assert_int_equal(cudnnSetFilterNdDescriptor(w, HALF, 0, 4, w_sizes), OK);
    struct performance best[4];
    int count = 0;
    size_t bytes = 0;
    assert_int_equal(cudnnGetConvolutionForwardAlgorithm_v7(NULL, x, w, convolution, y, 4, &count, best), OK);
    assert_int_equal(count, 2);
    assert_int_equal(best[0].memory, 2 * (12800 + 25600)); /* a filter of 1x1 lies right either way */
    assert_int_equal(cudnnGetConvolutionForwardWorkspaceSize(NULL, x, w, convolution, y, best[0].algorithm, &bytes),
                     OK);
    assert_int_equal(bytes, best[0].memory);
    assert_int_equal(best[1].memory, 0);
    assert_int_equal(cudnnGetConvolutionForwardWorkspaceSize(NULL, x, w, convolution, y, 5, &bytes), NOT_SUPPORTED);
    assert_int_equal(cudnnDestroyTensorDescriptor(x) | cudnnDestroyTensorDescriptor(y), OK);
    assert_int_equal(cudnnDestroyFilterDescriptor(w) | cudnnDestroyConvolutionDescriptor(convolution), OK);
}

/* Two layers of an LSTM in two directions, 10 to 6, projected to 4: every parameter has its own place, without gaps. */
TEST(weights)
{
    typedef int (*set_rnn_fn)(void *, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t,
                              void *, uint32_t);
    typedef int (*params_fn)(void *, void *, int32_t, size_t, const void *, int32_t, void *, void **, void *, void **);
    typedef int (*describe_fn)(void *, int, int *, int *, int *, int *);
    typedef int (*make_fn)(void **);
    FIND(make_fn, cudnnCreateRNNDescriptor);
    FIND(make_fn, cudnnCreateTensorDescriptor);
    FIND(set_rnn_fn, cudnnSetRNNDescriptor_v8);
    FIND(int (*)(void *, void *, size_t *), cudnnGetRNNWeightSpaceSize);
    FIND(params_fn, cudnnGetRNNWeightParams);
    FIND(describe_fn, cudnnGetTensorNdDescriptor);
    FIND(one_fn, cudnnDestroyRNNDescriptor);
    FIND(one_fn, cudnnDestroyTensorDescriptor);
    void *rnn = NULL, *matrix = NULL, *bias = NULL;
    size_t bytes = 0, sum = 0;
    assert_int_equal(cudnnCreateRNNDescriptor(&rnn), OK);
    assert_int_equal(cudnnCreateTensorDescriptor(&matrix) | cudnnCreateTensorDescriptor(&bias), OK);
    assert_int_equal(cudnnSetRNNDescriptor_v8(rnn, 0, 2, 2, 1, 0, FLOAT, FLOAT, 0, 10, 6, 4, 2, NULL, 0), OK);
    assert_int_equal(cudnnGetRNNWeightSpaceSize(NULL, rnn, &bytes), OK);
    char *used = calloc(1, bytes), *space = used;
    assert_non_null(used);
    for (int layer = 0; layer < 4; layer++)
        for (int which = 0; which <= 8; which++) {
            void *at[2] = {NULL, NULL};
            assert_int_equal(
                cudnnGetRNNWeightParams(NULL, rnn, layer, bytes, space, which, matrix, &at[0], bias, &at[1]), OK);
            for (int i = 0; i < 2; i++) {
                int type, n, sizes[3] = {0}, strides[3];
                assert_int_equal(cudnnGetTensorNdDescriptor(i == 0 ? matrix : bias, 3, &type, &n, sizes, strides), OK);
                const size_t size = 4U * (size_t)(sizes[0] * sizes[1] * sizes[2]);
                assert_true((at[i] != NULL) == (size > 0));
                sum += size;
                for (size_t k = 0; k < size; k++)
                    assert_int_equal(((char *)at[i])[k]++, 0);
            }
        }
    assert_int_equal(sum, bytes);
    assert_int_equal(bytes, 4 * (2 * (24 * 14 + 24) + 2 * (24 * 12 + 24) + 4 * 48)); /* matrices, projections, biases */
    free(used);
    assert_int_equal(cudnnDestroyTensorDescriptor(matrix) | cudnnDestroyTensorDescriptor(bias), OK);
    assert_int_equal(cudnnDestroyRNNDescriptor(rnn), OK);
}

/* As cuDNN gave them on a P100: 4 layers, 123 to 320; the batch follows from the sizes. */
TEST(spaces_of_recurrent_networks)
{
    typedef int (*set_rnn_fn)(void *, int, int, int, int, int, int, int, int, int32_t, int32_t, int32_t, int32_t,
                              void *, uint32_t);
    typedef int (*set_data_fn)(void *, int, int, int, int, int, const int *, void *);
    typedef int (*make_fn)(void **);
    FIND(make_fn, cudnnCreateRNNDescriptor);
    FIND(make_fn, cudnnCreateRNNDataDescriptor);
    FIND(set_rnn_fn, cudnnSetRNNDescriptor_v8);
    FIND(set_data_fn, cudnnSetRNNDataDescriptor);
    FIND(int (*)(void *, void *, int, void *, size_t *, size_t *), cudnnGetRNNTempSpaceSizes);
    FIND(one_fn, cudnnDestroyRNNDescriptor);
    FIND(one_fn, cudnnDestroyRNNDataDescriptor);
    static const struct {
        int mode;
        size_t workspace, reserve;
    } rows[] = {{2, 17730560, 736000000}, {3, 13169920, 864000000}};
    void *rnn = NULL, *data = NULL;
    int lengths[100];
    for (int i = 0; i < 100; i++)
        lengths[i] = 250;
    assert_int_equal(cudnnCreateRNNDescriptor(&rnn) | cudnnCreateRNNDataDescriptor(&data), OK);
    assert_int_equal(cudnnSetRNNDataDescriptor(data, FLOAT, 0, 250, 100, 123, lengths, NULL), OK);
    for (int i = 0; i < 2; i++) {
        size_t workspace = 0, reserve = 0;
        const int mode = rows[i].mode;
        assert_int_equal(cudnnSetRNNDescriptor_v8(rnn, 0, mode, 2, 0, 0, FLOAT, FLOAT, 0, 123, 320, 320, 4, NULL, 0),
                         OK);
        assert_int_equal(cudnnGetRNNTempSpaceSizes(NULL, rnn, 1, data, &workspace, &reserve), OK);
        assert_int_equal(workspace, rows[i].workspace);
        assert_int_equal(reserve, rows[i].reserve);
        assert_int_equal(cudnnGetRNNTempSpaceSizes(NULL, rnn, 0, data, &workspace, &reserve), OK);
        assert_int_equal(reserve, 0); /* nothing is kept for a way back that there is not */
    }
    assert_int_equal(cudnnDestroyRNNDescriptor(rnn) | cudnnDestroyRNNDataDescriptor(data), OK);
}

TEST(says_the_version_that_it_is_told)
{
    FIND(void (*)(int), gmdry_set_cudnn_version);
    FIND(size_t(*)(void), cudnnGetVersion);
    FIND(int (*)(int, int *), cudnnGetProperty);
    int value = -1;
    gmdry_set_cudnn_version(92600);
    assert_int_equal(cudnnGetVersion(), 92600);
    assert_int_equal(cudnnGetProperty(1, &value), OK);
    assert_int_equal(value, 26);
}

/* Where another cuDNN is loaded, that one is asked, in a process that has not our environment. Here it is a copy of the
 * stand-in, which then knows no card, so no tensor cores: nothing is needed, where the rule for this card has copies.
 */
TEST(another_cudnn_is_asked)
{
    char folder[] = "/tmp/test_dnn.XXXXXX", path[64], command[4200];
    const int64_t x = 32 * 64 * 56 * 56, w = 128 * 64 * 9;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcudnn.so.9", folder);
    snprintf(command, sizeof command, "cp '%s' %s", getenv("GMDRY_LIBRARY"), path);
    assert_int_equal(system(command), 0);
    const pid_t child = fork(); /* which looks anew */
    if (child == 0) {
        const bool is_loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL;
        const bool is_asked = is_loaded && workspace_of(DATA, HALF, false, 0) == 0 &&
                              workspace_of(DATA, HALF, false, 2) == 2 * (3 * x + w) &&
                              workspace_of(DATA, HALF, false, 0) == 0;
        _exit(is_asked ? 0 : is_loaded ? 1 : 2);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(workspace_of(DATA, HALF, false, 0), 2 * (3 * x + w)); /* here there is none: the rule */
    unlink(path);
    rmdir(folder);
}

AROUND_ALL(find_functions, NULL)
