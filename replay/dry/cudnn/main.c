/* SPDX-License-Identifier: Apache-2.0
 *
 * gmdry-cudnn LIBRARY DEVICE: asks NVIDIA's cuDNN what it would need on a device that is only described. The stand-in
 * starts it, with a socket as standard input, and tells it graphs of operations (dnn.h); it builds them with cuDNN's
 * descriptors, asks cuDNN's heuristics, and answers with the engines that these name. It ends when the socket does.
 */
#include "replay/dry/dnn.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void *descriptor;
static struct {
    int (*create)(int, descriptor *);
    int (*destroy)(descriptor);
    int (*set)(descriptor, int, int, int64_t, const void *);
    int (*get)(descriptor, int, int, int64_t, int64_t *, void *);
    int (*finalize)(descriptor);
} cudnn;

static descriptor device;

/* A function has another type than dlsym says. */
static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static bool open_cudnn(const char *path, const char *description)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return library != NULL && find(library, "cudnnBackendCreateDescriptor", &cudnn.create) &&
           find(library, "cudnnBackendDestroyDescriptor", &cudnn.destroy) &&
           find(library, "cudnnBackendSetAttribute", &cudnn.set) &&
           find(library, "cudnnBackendGetAttribute", &cudnn.get) &&
           find(library, "cudnnBackendFinalize", &cudnn.finalize) && cudnn.create(DNN_DEVICE, &device) == DNN_OK &&
           cudnn.set(device, DNN_DEVICE_JSON, DNN_TYPE_CHAR, (int64_t)strlen(description) + 1, description) == DNN_OK &&
           cudnn.finalize(device) == DNN_OK;
}

/* ---- a graph out of a question ----------------------------------------------------------------------------------- */

struct question {
    const char *at, *end;
};

static bool take(struct question *question, void *to, size_t bytes)
{
    if ((size_t)(question->end - question->at) < bytes)
        return false;
    memcpy(to, question->at, bytes);
    question->at += bytes;
    return true;
}

static descriptor build(struct question *question);

static bool set_parts(descriptor of, const struct dnn_field *field, struct question *question)
{
    descriptor *parts = calloc((size_t)field->count + 1, sizeof *parts);
    bool is_good = parts != NULL;
    int64_t made = 0;
    while (is_good && made < field->count) {
        parts[made] = build(question);
        is_good = parts[made] != NULL;
        made += is_good;
    }
    is_good = is_good && cudnn.set(of, field->name, field->type, field->count, parts) == DNN_OK;
    while (!is_good && made > 0) /* those of a graph that is built stay: cuDNN may refer to them */
        cudnn.destroy(parts[--made]);
    free(parts);
    return is_good;
}

static bool set_value(descriptor of, struct question *question)
{
    struct dnn_field field;
    if (!take(question, &field, sizeof field) || field.count < 0 || field.count > question->end - question->at)
        return false;
    if (field.type == DNN_TYPE_DESCRIPTOR)
        return set_parts(of, &field, question);
    const size_t bytes = (size_t)field.count * (size_t)field.width;
    if ((size_t)(question->end - question->at) < bytes)
        return false;
    void *aligned = malloc(bytes + 1);
    bool is_good = aligned != NULL && take(question, aligned, bytes);
    is_good = is_good && cudnn.set(of, field.name, field.type, field.count, aligned) == DNN_OK;
    free(aligned);
    return is_good;
}

/* NULL: cuDNN does not take it. */
static descriptor build(struct question *question)
{
    int32_t head[2];
    descriptor made = NULL;
    if (!take(question, head, sizeof head) || cudnn.create(head[0], &made) != DNN_OK)
        return NULL;
    bool is_good = true;
    for (int32_t i = 0; is_good && i < head[1]; i++)
        is_good = set_value(made, question);
    if (is_good && cudnn.finalize(made) == DNN_OK)
        return made;
    cudnn.destroy(made);
    return NULL;
}

/* ---- engines out of answers -------------------------------------------------------------------------------------- */

static uint32_t bits_of(descriptor of, int name, int type)
{
    int32_t list[32];
    int64_t count = 0;
    uint32_t bits = 0;
    if (cudnn.get(of, name, type, 32, &count, list) == DNN_OK)
        for (int64_t i = 0; i < count && i < 32; i++)
            bits |= list[i] >= 0 && list[i] < 32 ? 1U << list[i] : 0;
    return bits;
}

static void read_knobs(struct dnn_engine *engine, descriptor config)
{
    descriptor knobs[DNN_KNOBS] = {NULL};
    int64_t count = 0, one = 0;
    for (int i = 0; i < DNN_KNOBS; i++)
        cudnn.create(DNN_KNOB_CHOICE, &knobs[i]);
    if (cudnn.get(config, DNN_CONFIG_KNOBS, DNN_TYPE_DESCRIPTOR, DNN_KNOBS, &count, knobs) != DNN_OK)
        count = 0;
    for (int64_t i = 0; i < count && i < DNN_KNOBS; i++) {
        const int at = engine->knob_count;
        if (cudnn.get(knobs[i], DNN_KNOB_TYPE, DNN_TYPE_KNOB, 1, &one, &engine->knobs[at].type) == DNN_OK &&
            cudnn.get(knobs[i], DNN_KNOB_VALUE, DNN_TYPE_INT64, 1, &one, &engine->knobs[at].value) == DNN_OK)
            engine->knob_count++;
    }
    for (int i = 0; i < DNN_KNOBS; i++)
        if (knobs[i] != NULL)
            cudnn.destroy(knobs[i]);
}

/* Of the configuration where this cuDNN tells it, else of a plan, which may have to be compiled. */
static bool read_workspace(struct dnn_engine *engine, descriptor config)
{
    int64_t count = 0;
    descriptor plan = NULL;
    if (cudnn.get(config, DNN_CONFIG_WORKSPACE, DNN_TYPE_INT64, 1, &count, &engine->workspace) == DNN_OK && count == 1)
        return true;
    const bool is_good = cudnn.create(DNN_PLAN, &plan) == DNN_OK &&
                         cudnn.set(plan, DNN_PLAN_CONFIG, DNN_TYPE_DESCRIPTOR, 1, &config) == DNN_OK &&
                         cudnn.set(plan, DNN_PLAN_DEVICE, DNN_TYPE_DESCRIPTOR, 1, &device) == DNN_OK &&
                         cudnn.finalize(plan) == DNN_OK &&
                         cudnn.get(plan, DNN_PLAN_WORKSPACE, DNN_TYPE_INT64, 1, &count, &engine->workspace) == DNN_OK;
    if (plan != NULL)
        cudnn.destroy(plan);
    return is_good;
}

static bool read_engine(struct dnn_engine *engine, descriptor config)
{
    descriptor number = NULL;
    int64_t count = 0;
    *engine = (struct dnn_engine){0};
    const bool is_good = cudnn.create(DNN_ENGINE, &number) == DNN_OK &&
                         cudnn.get(config, DNN_CONFIG_ENGINE, DNN_TYPE_DESCRIPTOR, 1, &count, &number) == DNN_OK &&
                         cudnn.get(number, DNN_ENGINE_INDEX, DNN_TYPE_INT64, 1, &count, &engine->index) == DNN_OK &&
                         read_workspace(engine, config);
    if (is_good) {
        engine->notes = bits_of(number, DNN_ENGINE_NOTES, DNN_TYPE_NOTE);
        engine->behaviour = bits_of(number, DNN_ENGINE_BEHAVIOURS, DNN_TYPE_BEHAVIOUR);
        read_knobs(engine, config);
    }
    if (number != NULL)
        cudnn.destroy(number);
    return is_good;
}

static int32_t read_engines(struct dnn_engine *engines, descriptor heuristics)
{
    descriptor configs[DNN_ENGINES] = {NULL};
    int64_t count = 0;
    int32_t read = 0;
    for (int i = 0; i < DNN_ENGINES; i++)
        cudnn.create(DNN_CONFIG, &configs[i]);
    if (cudnn.get(heuristics, DNN_HEURISTICS_RESULTS, DNN_TYPE_DESCRIPTOR, DNN_ENGINES, &count, configs) != DNN_OK)
        count = 0;
    for (int64_t i = 0; i < count; i++)
        read += read_engine(&engines[read], configs[i]);
    for (int i = 0; i < DNN_ENGINES; i++)
        if (configs[i] != NULL)
            cudnn.destroy(configs[i]);
    return read;
}

/* -1: the graph is none that this cuDNN knows. */
static int32_t answer(struct dnn_engine *engines, struct question question)
{
    int32_t mode = 0, count = -1;
    descriptor graph = take(&question, &mode, sizeof mode) ? build(&question) : NULL, heuristics = NULL;
    if (graph == NULL)
        return -1;
    if (cudnn.create(DNN_HEURISTICS, &heuristics) == DNN_OK &&
        cudnn.set(heuristics, DNN_HEURISTICS_GRAPH, DNN_TYPE_DESCRIPTOR, 1, &graph) == DNN_OK &&
        cudnn.set(heuristics, DNN_HEURISTICS_MODE, DNN_TYPE_HEURISTICS_MODE, 1, &mode) == DNN_OK &&
        cudnn.set(heuristics, DNN_HEURISTICS_DEVICE, DNN_TYPE_DESCRIPTOR, 1, &device) == DNN_OK &&
        cudnn.finalize(heuristics) == DNN_OK)
        count = read_engines(engines, heuristics);
    if (heuristics != NULL)
        cudnn.destroy(heuristics);
    cudnn.destroy(graph);
    return count;
}

int main(int count, char **arguments)
{
    static struct dnn_engine engines[DNN_ENGINES];
    uint32_t bytes;
    if (count != 3)
        return 2;
    const pid_t child = fork(); /* who started us waits for us, and shall not have to at the end */
    if (child != 0)
        return child < 0;
    for (int i = 3; i < 1024; i++)
        close(i);
    if (!open_cudnn(arguments[1], arguments[2]))
        return 4;
    while (dnn_receive(STDIN_FILENO, &bytes, sizeof bytes)) {
        char *data = malloc(bytes + 1UL);
        if (data == NULL || !dnn_receive(STDIN_FILENO, data, bytes))
            return 5;
        const int32_t n = answer(engines, (struct question){data, data + bytes});
        free(data);
        if (!dnn_send(STDIN_FILENO, &n, sizeof n) ||
            (n > 0 && !dnn_send(STDIN_FILENO, engines, (size_t)n * sizeof *engines)))
            return 5;
    }
    return 0;
}
