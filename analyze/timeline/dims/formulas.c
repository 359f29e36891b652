/* SPDX-License-Identifier: Apache-2.0
 *
 * Formulas for the sizes of a transformer's tensors: a shape, how many of them lie in one block, and the bytes of a
 * number. A size may have several; the simplest is told, and how many others are as simple.
 */
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/timeline/dims/dims_work.h"

#include <stdlib.h>

enum { MOST = 4, NO_DIM = GM_DIM_COUNT };
/* clang-format off */
#define T GM_DIM_TOKENS
#define H GM_DIM_HIDDEN
#define S GM_DIM_SEQ
#define K GM_DIM_KV_HEADS
#define D GM_DIM_HEAD
/* clang-format on */

/* In the order in which they are preferred where two cost the same. */
static const struct shape {
    const char *meaning;
    uint8_t dims[MOST], count;
    bool is_float; /* never numbers of 1 or 8 bytes */
} shapes[] = {
    {"what goes through a layer: its input, a norm of it, a projection", {T, H}, 2, true},
    {"inside the feed-forward part", {T, GM_DIM_FFN}, 2, true},
    {"logits", {T, GM_DIM_VOCAB}, 2, true},
    {"attention scores, all pairs of positions", {T, GM_DIM_HEADS, S}, 3, false},
    {"keys or values", {T, K, D}, 3, true},
    {"weight of attention", {H, H}, 2, true},
    {"queries, or what comes out of attention", {T, GM_DIM_HEADS, D}, 3, true},
    {"weight of queries, or of what comes out of attention", {H, GM_DIM_HEADS, D}, 3, true},
    {"weight of the feed-forward part", {H, GM_DIM_FFN}, 2, true},
    {"embedding, or the head that makes logits", {H, GM_DIM_VOCAB}, 2, true},
    {"weight of keys or values", {H, K, D}, 3, true},
    {"weight of all experts", {GM_DIM_EXPERTS, H, GM_DIM_FFN}, 3, true},
    {"weight of a router", {H, GM_DIM_EXPERTS}, 2, true},
    {"rows for experts, or what they make", {GM_DIM_TOPK, T, H}, 3, true},
    {"inside experts", {GM_DIM_TOPK, T, GM_DIM_FFN}, 3, true},
    {"one number for each token and expert, as a router makes", {T, GM_DIM_EXPERTS}, 2, true},
    {"one number for each token and expert that is chosen for it", {T, GM_DIM_TOPK}, 2, false},
    {"embedding of positions", {S, H}, 2, true},
    {"weight or bias of a norm or projection", {H}, 1, true},
    {"bias of the feed-forward part", {GM_DIM_FFN}, 1, true},
    {"one number for each head and token, as of softmax", {T, GM_DIM_HEADS}, 2, true},
    {"mask, all pairs of positions", {S, S}, 2, false},
    {"rotary embedding", {S, D}, 2, true},
    {"one number for each token: ids, targets, sums of a row", {T}, 1, false},
    {"one number for each position", {S}, 1, false},
    {"logits of one position", {GM_DIM_BATCH, GM_DIM_VOCAB}, 2, true},
    {"what goes through a layer, for one position", {GM_DIM_BATCH, H}, 2, true},
    {"one number for each word", {GM_DIM_VOCAB}, 1, false},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, TIMES = 5, FORMULAS = SHAPES * TIMES * 4 * 2 };

static const struct {
    uint8_t times;
    unsigned cost;
} times[TIMES] = {{1, 0}, {2, 2}, {3, 2}, {4, 3}, {0, 2}};

GM_ORDERING(by_bytes, struct gm_formula, GM_UP(bytes) || GM_UP(cost) || GM_UP(shape) || GM_UP(times) || GM_UP(width));

/* *product times `factor`; false: more than 64 bits, or the factor is not known. */
static bool multiply(uint64_t *product, uint64_t factor)
{
    return factor > 0 && !__builtin_mul_overflow(*product, factor, product);
}

static bool bytes_of(struct gm_formula *f, const struct gm_dims *dims)
{
    const struct shape *shape = &shapes[f->shape];
    const bool has_heads = shape->count == 3 && shape->dims[1] == GM_DIM_HEADS && shape->dims[2] == D;
    bool ok = !has_heads || gm_known_mul(dims->v[GM_DIM_HEADS], dims->v[D]) != dims->v[H]; /* else it is hidden */
    f->bytes = f->width;
    for (size_t i = 0; ok && i < shape->count; i++)
        ok = multiply(&f->bytes, dims->v[shape->dims[i]]);
    if (ok && f->has_layers)
        ok = multiply(&f->bytes, dims->v[GM_DIM_LAYERS]);
    if (f->times > 0)
        return ok && multiply(&f->bytes, f->times);
    f->bytes /= 2;
    return ok && f->bytes % f->width == 0;
}

static bool is_float(const struct gm_model *model, uint64_t width)
{
    return width == model->weight || width == model->activation;
}

bool gm_formulas_make(struct gm_formulas *formulas, const struct gm_model *model)
{
    static const uint8_t widths[] = {4, 2, 8, 1};
    *formulas = (struct gm_formulas){.v = malloc(FORMULAS * sizeof *formulas->v)};
    for (uint8_t s = 0; formulas->v != NULL && s < SHAPES; s++)
        for (size_t t = 0; t < TIMES; t++)
            for (size_t w = 0; w < sizeof widths; w++)
                for (int layers = 0; layers < 2; layers++) {
                    const bool is_odd = !is_float(model, widths[w]);
                    struct gm_formula f = {.cost = times[t].cost + is_odd + 2U * (unsigned)layers,
                                           .shape = s,
                                           .width = widths[w],
                                           .times = times[t].times,
                                           .has_layers = layers > 0};
                    if ((widths[w] > 1 && widths[w] < 8) || !shapes[s].is_float)
                        if (bytes_of(&f, &model->dims))
                            formulas->v[formulas->n++] = f;
                }
    GM_SORT(formulas->v, formulas->n, by_bytes);
    return formulas->v != NULL;
}

/* "3*batch*seq*hidden*4 B" */
static const char *write_formula(const struct gm_formula *f, const struct gm_dims *dims, struct gm_arena *arena)
{
    const struct shape *shape = &shapes[f->shape];
    const char *names[MOST + 2];
    size_t n = 0;
    if (f->has_layers)
        names[n++] = gm_dim_name(GM_DIM_LAYERS);
    for (size_t i = 0; i < shape->count; i++) {
        const bool is_both = shape->dims[i] == T && dims->v[GM_DIM_BATCH] > 0 && dims->v[S] > 0;
        names[n++] = is_both ? "batch*seq" : gm_dim_name((enum gm_dim)shape->dims[i]);
    }
    struct gm_text text = {0};
    if (f->times > 1)
        gm_text_printf(&text, "%u*", f->times);
    for (size_t i = 0; i < n; i++)
        gm_text_printf(&text, "%s%s", i > 0 ? "*" : "", names[i]);
    gm_text_printf(&text, "%s*%u B", f->times == 0 ? "/2" : "", f->width);
    return gm_text_take(&text, arena);
}

bool gm_formulas_read(const struct gm_formulas *formulas, const struct gm_model *model, struct gm_size_row *row,
                      struct gm_arena *arena)
{
    size_t low = 0;
    GM_BISECT(low, formulas->n, i, formulas->v[i].bytes < row->bytes);
    const struct gm_formula *first = &formulas->v[low];
    if (low == formulas->n || first->bytes != row->bytes)
        return true;
    row->meaning = shapes[first->shape].meaning;
    row->formula = write_formula(first, &model->dims, arena);
    for (size_t i = low + 1; i < formulas->n && formulas->v[i].bytes == row->bytes; i++)
        row->others += formulas->v[i].cost == first->cost;
    return row->formula != NULL;
}
