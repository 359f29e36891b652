/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's backend interface. A descriptor is a handle of contents: named lists of values. Contents that are finalized
 * do not change any more and are shared: who sets one in another descriptor, or gets one out of it, holds it, too. What
 * cuDNN computes is put in among the values when a descriptor is finalized.
 */
#include "analyze/base/freed.h"
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unless something before has failed. */
#define DNN_THEN(status, next) ((status) = (status) == DNN_OK ? (next) : (status))

struct descriptor {
    struct dnn_content *content;
};

size_t dnn_width_of(int type)
{
    switch (type) {
    case DNN_TYPE_BOOLEAN:
    case DNN_TYPE_CHAR:
        return 1;
    case DNN_TYPE_HANDLE:
    case DNN_TYPE_INT64:
    case DNN_TYPE_DOUBLE:
    case DNN_TYPE_POINTER:
    case DNN_TYPE_DESCRIPTOR:
        return 8;
    case DNN_TYPE_FRACTION:
        return 16;
    default: /* an enumeration, a float, a word */
        return 4;
    }
}

/* ---- contents ---------------------------------------------------------------------------------------------------- */

static struct dnn_content *make(enum dnn_kind kind)
{
    struct dnn_content *content = calloc(1, sizeof *content);
    if (content != NULL) {
        content->references = 1;
        content->kind = kind;
    }
    return content;
}

static struct dnn_content *hold(struct dnn_content *content)
{
    __atomic_fetch_add(&content->references, 1, __ATOMIC_RELAXED);
    return content;
}

static void release(struct dnn_content *content);

static void release_value(struct dnn_value *value)
{
    for (int64_t i = 0; value->type == DNN_TYPE_DESCRIPTOR && i < value->count; i++)
        release(value->contents[i]);
    GM_FREE_ALL(value->data, value);
}

/* Trees are as deep as cuDNN makes them: plan, configuration, engine, graph, operation, tensor, its offsets. */
static void release(struct dnn_content *content)
{
    if (content == NULL || __atomic_sub_fetch(&content->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (struct dnn_value *next, *value = content->values; value != NULL; value = next) {
        next = value->next;
        release_value(value);
    }
    free(content);
}

const struct dnn_value *dnn_find(const struct dnn_content *content, int name)
{
    const struct dnn_value *value = content == NULL ? NULL : content->values;
    while (value != NULL && value->name != name)
        value = value->next;
    return value;
}

const struct dnn_content *dnn_part(const struct dnn_content *content, int name)
{
    const struct dnn_value *value = dnn_find(content, name);
    return value != NULL && value->type == DNN_TYPE_DESCRIPTOR && value->count > 0 ? value->contents[0] : NULL;
}

int64_t dnn_integers(const struct dnn_content *content, int name, int64_t *integers, int64_t room)
{
    const struct dnn_value *value = dnn_find(content, name);
    if (value == NULL || (value->type != DNN_TYPE_INT64 && dnn_width_of(value->type) != 4))
        return 0;
    for (int64_t i = 0; i < value->count && i < room; i++)
        integers[i] =
            value->type == DNN_TYPE_INT64 ? ((const int64_t *)value->data)[i] : ((const int32_t *)value->data)[i];
    return value->count;
}

/* Takes `data`, and what is held in it. */
static int put(struct dnn_content *content, int name, int type, int64_t count, void *data)
{
    struct dnn_value *value = calloc(1, sizeof *value), **at = &content->values;
    if (value == NULL)
        return DNN_NO_MEMORY;
    *value = (struct dnn_value){.name = name, .type = type, .count = count, .data = data};
    while (*at != NULL && (*at)->name != name)
        at = &(*at)->next;
    struct dnn_value *old = *at;
    if (old != NULL)
        value->next = old->next;
    *at = value;
    if (old != NULL)
        release_value(old);
    return DNN_OK;
}

static int put_copy(struct dnn_content *content, int name, int type, int64_t count, const void *data)
{
    const size_t bytes = (size_t)count * dnn_width_of(type);
    void *copy = malloc(bytes > 0 ? bytes : 1);
    if (copy == NULL)
        return DNN_NO_MEMORY;
    if (bytes > 0)
        memcpy(copy, data, bytes);
    const int status = put(content, name, type, count, copy);
    if (status != DNN_OK)
        free(copy);
    return status;
}

/* `contents` are held for it; they are the caller's, too. */
static int put_contents(struct dnn_content *content, int name, int64_t count, struct dnn_content *const *contents)
{
    const int status = put_copy(content, name, DNN_TYPE_DESCRIPTOR, count, contents);
    for (int64_t i = 0; status == DNN_OK && i < count; i++)
        hold(contents[i]);
    return status;
}

static int put_integer(struct dnn_content *content, int name, int64_t value)
{
    return put_copy(content, name, DNN_TYPE_INT64, 1, &value);
}

/* ---- what is computed -------------------------------------------------------------------------------------------- */

static int put_bits(struct dnn_content *content, int name, int type, uint32_t bits)
{
    int32_t list[32];
    int64_t count = 0;
    for (int32_t i = 0; i < 32; i++)
        if (bits >> i & 1)
            list[count++] = i;
    return put_copy(content, name, type, count, list);
}

static int fill_engine(struct dnn_content *engine, const struct dnn_engine *answer)
{
    int status = put_bits(engine, DNN_ENGINE_NOTES, DNN_TYPE_NOTE, answer->notes);
    DNN_THEN(status, put_bits(engine, DNN_ENGINE_BEHAVIOURS, DNN_TYPE_BEHAVIOUR, answer->behaviour));
    if (status == DNN_OK) /* a name that an engine does not have: its configuration takes it from here */
        status = put_integer(engine, DNN_CONFIG_WORKSPACE, answer->workspace);
    engine->is_final = true;
    return status;
}

static int put_knobs(struct dnn_content *config, const struct dnn_engine *answer)
{
    struct dnn_content *knobs[DNN_KNOBS];
    int status = DNN_OK;
    int made = 0;
    for (; status == DNN_OK && made < answer->knob_count && (knobs[made] = make(DNN_KNOB_CHOICE)) != NULL; made++) {
        const int32_t type = answer->knobs[made].type;
        status = put_copy(knobs[made], DNN_KNOB_TYPE, DNN_TYPE_KNOB, 1, &type);
        if (status == DNN_OK)
            status = put_integer(knobs[made], DNN_KNOB_VALUE, answer->knobs[made].value);
        knobs[made]->is_final = true;
    }
    if (status == DNN_OK)
        status = made == answer->knob_count ? put_contents(config, DNN_CONFIG_KNOBS, made, knobs) : DNN_NO_MEMORY;
    while (made > 0)
        release(knobs[--made]);
    return status;
}

/* NULL: there is no memory. */
static struct dnn_content *config_of(struct dnn_content *graph, const struct dnn_engine *answer)
{
    struct dnn_content *config = make(DNN_CONFIG), *engine = make(DNN_ENGINE);
    int status = config != NULL && engine != NULL ? put_contents(engine, DNN_ENGINE_GRAPH, 1, &graph) : DNN_NO_MEMORY;
    DNN_THEN(status, put_integer(engine, DNN_ENGINE_INDEX, answer->index));
    DNN_THEN(status, fill_engine(engine, answer));
    DNN_THEN(status, put_contents(config, DNN_CONFIG_ENGINE, 1, &engine));
    DNN_THEN(status, put_knobs(config, answer));
    DNN_THEN(status, put_integer(config, DNN_CONFIG_WORKSPACE, answer->workspace));
    release(engine);
    if (status != DNN_OK) {
        release(config);
        return NULL;
    }
    config->is_final = true;
    return config;
}

static int finalize_heuristics(struct dnn_content *heuristics)
{
    struct dnn_engine engines[DNN_ENGINES];
    struct dnn_content *configs[DNN_ENGINES];
    struct dnn_content *graph = (struct dnn_content *)(uintptr_t)dnn_part(heuristics, DNN_HEURISTICS_GRAPH);
    int64_t mode = 0;
    if (graph == NULL || dnn_integers(heuristics, DNN_HEURISTICS_MODE, &mode, 1) != 1)
        return DNN_BAD_PARAM;
    const size_t count = dnn_engines(engines, graph, (int)mode);
    size_t made = 0;
    while (made < count && (configs[made] = config_of(graph, &engines[made])) != NULL)
        made++;
    const int status =
        made == count ? put_contents(heuristics, DNN_HEURISTICS_RESULTS, (int64_t)made, configs) : DNN_NO_MEMORY;
    while (made > 0)
        release(configs[--made]);
    return status;
}

/* Asked for by those who choose by number; a graph that is part of an operation has none. */
static int64_t count_engines(const struct dnn_content *graph)
{
    struct dnn_engine engines[DNN_ENGINES];
    int64_t most = 0;
    for (int mode = 0; mode <= DNN_MODE_FALLBACK; mode += DNN_MODE_FALLBACK)
        for (size_t i = dnn_engines(engines, graph, mode); i-- > 0;)
            most = engines[i].index >= most ? engines[i].index + 1 : most;
    return most;
}

/* One that the program chose by its number. */
static int finalize_engine(struct dnn_content *engine)
{
    struct dnn_engine engines[DNN_ENGINES];
    const struct dnn_content *graph = dnn_part(engine, DNN_ENGINE_GRAPH);
    int64_t index = 0;
    if (graph == NULL || dnn_integers(engine, DNN_ENGINE_INDEX, &index, 1) != 1)
        return DNN_BAD_PARAM;
    for (int mode = 0; mode <= DNN_MODE_FALLBACK; mode += DNN_MODE_FALLBACK)
        for (size_t i = 0, count = dnn_engines(engines, graph, mode); i < count; i++)
            if (engines[i].index == index)
                return fill_engine(engine, &engines[i]);
    return DNN_NOT_SUPPORTED;
}

static int finalize_config(struct dnn_content *config)
{
    const struct dnn_content *engine = dnn_part(config, DNN_CONFIG_ENGINE);
    int64_t workspace = 0;
    if (engine == NULL || dnn_integers(engine, DNN_CONFIG_WORKSPACE, &workspace, 1) != 1)
        return DNN_BAD_PARAM;
    return put_integer(config, DNN_CONFIG_WORKSPACE, workspace);
}

/* A plan that was written down is read again by what we wrote: the engine and its workspace. */
static int read_plan(struct dnn_content *plan)
{
    const struct dnn_value *json = dnn_find(plan, DNN_PLAN_JSON);
    struct dnn_engine answer = {0};
    char text[128];
    if (json == NULL || json->type != DNN_TYPE_CHAR)
        return DNN_BAD_PARAM;
    snprintf(text, sizeof text, "%.*s", (int)json->count, (const char *)json->data);
    if (sscanf(text, "{\"gmdry\": [%" SCNd64 ", %" SCNd64, &answer.index, &answer.workspace) != 2)
        return DNN_BAD_PARAM;
    struct dnn_content *graph = make(DNN_GRAPH), *config = graph == NULL ? NULL : config_of(graph, &answer);
    const int status = config == NULL ? DNN_NO_MEMORY : put_contents(plan, DNN_PLAN_CONFIG, 1, &config);
    release(graph);
    release(config);
    return status;
}

static int finalize_plan(struct dnn_content *plan)
{
    int status = dnn_part(plan, DNN_PLAN_CONFIG) == NULL ? read_plan(plan) : DNN_OK;
    const struct dnn_content *config = dnn_part(plan, DNN_PLAN_CONFIG);
    int64_t index = 0, workspace = 0;
    if (status != DNN_OK)
        return status;
    if (dnn_integers(dnn_part(config, DNN_CONFIG_ENGINE), DNN_ENGINE_INDEX, &index, 1) != 1 ||
        dnn_integers(config, DNN_CONFIG_WORKSPACE, &workspace, 1) != 1)
        return DNN_BAD_PARAM;
    char text[128];
    const int length = snprintf(text, sizeof text, "{\"gmdry\": [%" PRId64 ", %" PRId64 "]}", index, workspace);
    status = put_copy(plan, DNN_PLAN_JSON, DNN_TYPE_CHAR, length + 1, text);
    return status == DNN_OK ? put_integer(plan, DNN_PLAN_WORKSPACE, workspace) : status;
}

/* ---- the interface ----------------------------------------------------------------------------------------------- */

API(int, cudnnBackendCreateDescriptor, int kind, struct descriptor **made)
{
    struct descriptor *descriptor = malloc(sizeof *descriptor);
    struct dnn_content *content = make((enum dnn_kind)kind);
    if (kind < 0 || kind >= DNN_KINDS || descriptor == NULL || content == NULL) {
        GM_FREE_ALL(descriptor, content);
        return kind < 0 || kind >= DNN_KINDS ? DNN_NOT_SUPPORTED : DNN_NO_MEMORY;
    }
    descriptor->content = content;
    *made = descriptor;
    return DNN_OK;
}

API(int, cudnnBackendDestroyDescriptor, struct descriptor *descriptor)
{
    if (descriptor == NULL)
        return DNN_BAD_PARAM;
    release(descriptor->content);
    free(descriptor);
    return DNN_OK;
}

API(int, cudnnBackendSetAttribute, struct descriptor *descriptor, int name, int type, int64_t count, const void *values)
{
    if (descriptor == NULL || descriptor->content->is_final || count < 0 || (count > 0 && values == NULL))
        return DNN_BAD_PARAM;
    if (type != DNN_TYPE_DESCRIPTOR)
        return put_copy(descriptor->content, name, type, count, values);
    struct descriptor *const *others = values;
    struct dnn_content **contents = calloc((size_t)count + 1, sizeof *contents);
    int status = contents == NULL ? DNN_NO_MEMORY : DNN_OK;
    for (int64_t i = 0; status == DNN_OK && i < count; i++)
        if (others[i] == NULL || !others[i]->content->is_final)
            status = DNN_BAD_PARAM;
        else
            contents[i] = others[i]->content;
    DNN_THEN(status, put_contents(descriptor->content, name, count, contents));
    free(contents);
    return status;
}

API(int, cudnnBackendFinalize, struct descriptor *descriptor)
{
    if (descriptor == NULL || descriptor->content->is_final)
        return DNN_BAD_PARAM;
    struct dnn_content *content = descriptor->content;
    int status = DNN_OK;
    switch (content->kind) {
    case DNN_GRAPH:
        status = dnn_part(content, DNN_GRAPH_OPERATIONS) == NULL ? DNN_BAD_PARAM : DNN_OK;
        break;
    case DNN_HEURISTICS:
        status = finalize_heuristics(content);
        break;
    case DNN_ENGINE:
        status = finalize_engine(content);
        break;
    case DNN_CONFIG:
        status = finalize_config(content);
        break;
    case DNN_PLAN:
        status = finalize_plan(content);
        break;
    default:
        break;
    }
    content->is_final = status == DNN_OK;
    return status;
}

/* Lists that may be empty are not errors. */
static bool may_be_absent(int name)
{
    return name == DNN_CONFIG_KNOBS || name == DNN_CONFIG_INTERMEDIATE || name == DNN_ENGINE_KNOBS ||
           name == DNN_ENGINE_LAYOUTS;
}

API(int, cudnnBackendGetAttribute, const struct descriptor *descriptor, int name, int type, int64_t room,
    int64_t *count, void *values)
{
    if (descriptor == NULL || !descriptor->content->is_final)
        return DNN_BAD_PARAM;
    if (descriptor->content->kind == DNN_GRAPH && name == DNN_GRAPH_ENGINES && values != NULL) {
        *(int64_t *)values = count_engines(descriptor->content);
        if (count != NULL)
            *count = 1;
        return DNN_OK;
    }
    const struct dnn_value *value = dnn_find(descriptor->content, name);
    if (value == NULL ? !may_be_absent(name) : value->type != type)
        return DNN_BAD_PARAM;
    const int64_t there = value == NULL ? 0 : value->count, taken = room < there ? room : there;
    if (count != NULL) /* who has no place for them asks how many there are */
        *count = values == NULL ? there : taken;
    if (values == NULL || value == NULL)
        return DNN_OK;
    if (type != DNN_TYPE_DESCRIPTOR && taken > 0)
        memcpy(values, value->data, (size_t)taken * dnn_width_of(type));
    struct descriptor *const *others = values;
    for (int64_t i = 0; type == DNN_TYPE_DESCRIPTOR && i < taken; i++) {
        struct dnn_content *old = others[i]->content;
        others[i]->content = hold(value->contents[i]);
        release(old);
    }
    return DNN_OK;
}

/* Who runs several plans of a graph takes the fastest; here all are as fast. */
static void note_choice(const struct dnn_content *graph, const struct dnn_content *config)
{
    if (graph == NULL)
        return;
    const void **ran = &((struct dnn_content *)(uintptr_t)graph)->ran, *none = NULL;
    if (!__atomic_compare_exchange_n(ran, &none, (const void *)config, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        none != config)
        dry_estimated("cudnnBackendExecute:fastest");
}

API(int, cudnnBackendExecute, void *handle, const struct descriptor *plan, const struct descriptor *pack)
{
    if (plan == NULL || pack == NULL || !plan->content->is_final || !pack->content->is_final)
        return DNN_BAD_PARAM;
    const struct dnn_content *config = dnn_part(plan->content, DNN_PLAN_CONFIG);
    note_choice(dnn_part(dnn_part(config, DNN_CONFIG_ENGINE), DNN_ENGINE_GRAPH), config);
    dry_count_launch();
    return DNN_OK;
}
