/* SPDX-License-Identifier: Apache-2.0
 *
 * What a transformer of these dimensions should need, beside what was measured. A layer has two norms, attention and a
 * feed-forward part of two matrices, or three with a gate; with experts, as many of each for each, and a router. For
 * its backward pass it keeps, of tokens*hidden numbers: what goes into both norms and comes out of them, q, and what
 * comes out of attention (6), k and v; the softmax of the scores, unless a fused kernel makes them; and of tokens*ffn
 * numbers what goes into the activation function and comes out of it, and with a gate the other factor and the product,
 * too. Experts keep the latter of topk rows for each token, and of as many of hidden numbers what is gathered for them,
 * what comes out, and that times its weight, which index_add keeps; routers, softmax in fp32.
 */
#include "analyze/timeline/dims/dims_work.h"

#include <math.h>

enum { MOST_NEEDS = 7, LARGE_PERCENT = 20 };

struct needs {
    const struct gm_model *model;
    const struct gm_census *census;
    struct gm_arena *arena;
    uint64_t most[GM_ROLE_COUNT]; /* requested bytes at any moment */
    uint64_t most_logits;         /* likewise, of blocks as large as all logits */
    struct gm_need_row rows[MOST_NEEDS];
    size_t n;
    bool failed; /* no memory */
};

static uint64_t dim(const struct needs *n, enum gm_dim which)
{
    return n->model->dims.v[which];
}

/* ---- measured ---------------------------------------------------------------------------------------------------- */

struct level {
    uint64_t now, most;
};
static void rise(struct level *level, uint64_t bytes)
{
    level->now = gm_known_add(level->now, bytes);
    level->most = gm_max(level->most, level->now);
}

/* Activations without logits, which have a row of their own. */
static void measure(struct needs *n, const struct gm_trace_pass *pass)
{
    const uint64_t numbers = gm_known_mul(dim(n, GM_DIM_TOKENS), dim(n, GM_DIM_VOCAB));
    const uint64_t logits = gm_known_mul(numbers, n->model->activation);
    const struct gm_history *h = &pass->history;
    struct level roles[GM_ROLE_COUNT] = {{0}}, of_logits = {0};
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] == 0 && !gm_is_hidden(pass, a))
            rise(&roles[pass->role[a]], gm_requested(h, a));
    struct gm_walk walk = gm_walk_start(h);
    struct gm_change c;
    while (gm_walk_next(&walk, &c)) {
        if ((c.kind != GM_CHANGE_ALLOC && c.kind != GM_CHANGE_FREE) || gm_is_hidden(pass, c.allocation))
            continue;
        const uint64_t bytes = gm_requested(h, c.allocation);
        const enum gm_role role = (enum gm_role)pass->role[c.allocation];
        const bool is_apart =
            role == GM_ROLE_ACTIVATION && (bytes == gm_known_mul(numbers, 4) || bytes == gm_known_mul(numbers, 2));
        struct level *const levels[] = {is_apart ? NULL : &roles[role], bytes == logits ? &of_logits : NULL};
        for (size_t i = 0; i < 2; i++)
            if (levels[i] != NULL && c.kind == GM_CHANGE_ALLOC)
                rise(levels[i], bytes);
            else if (levels[i] != NULL)
                levels[i]->now = gm_sat_sub(levels[i]->now, bytes);
    }
    for (size_t r = 0; r < GM_ROLE_COUNT; r++)
        n->most[r] = roles[r].most;
    n->most_logits = of_logits.most;
}

/* ---- needed ------------------------------------------------------------------------------------------------------ */

/* What a large difference may come from. */
struct remarks {
    const char *more, *less;
};

static void add(struct needs *n, const char *name, uint64_t bytes, uint64_t measured, const char *formula,
                const struct remarks *remarks)
{
    struct gm_need_row *row = &n->rows[n->n++];
    *row = (struct gm_need_row){.name = name,
                                .formula = formula,
                                .bytes = bytes,
                                .measured = measured,
                                .difference = INT64_MIN,
                                .percent = NAN};
    n->failed = n->failed || formula == NULL;
    if (measured == GM_REPORT_NONE || bytes == 0)
        return;
    row->difference = gm_signed_gap(measured, bytes);
    row->percent = 100.0 * (double)row->difference / (double)bytes;
    if (remarks != NULL && fabs(row->percent) > LARGE_PERCENT)
        row->remark = measured > bytes ? remarks->more : remarks->less;
}

/* Of a model without experts: one of them, that each token goes through. */
static uint64_t experts(const struct needs *n)
{
    return gm_max(1, dim(n, GM_DIM_EXPERTS));
}

static uint64_t topk(const struct needs *n)
{
    return gm_max(1, dim(n, GM_DIM_TOPK));
}

/* Parameters of so many numbers, and twice those of twice as many. */
static uint64_t parameters_of(const struct needs *n, uint64_t numbers)
{
    const uint64_t size = gm_known_mul(numbers, n->model->weight);
    return gm_census_find(n->census, size).live[GM_ROLE_PARAMETER] +
           2 * (uint64_t)gm_census_find(n->census, gm_known_mul(2, size)).live[GM_ROLE_PARAMETER];
}

/* Matrices of hidden*ffn in a layer, of one expert: as there are, or two. Those of all experts may be one. */
static unsigned ffns(const struct needs *n)
{
    const uint64_t one = gm_known_mul(dim(n, GM_DIM_HIDDEN), dim(n, GM_DIM_FFN)), layers = dim(n, GM_DIM_LAYERS);
    return parameters_of(n, one) == gm_known_mul(3 * layers, experts(n)) ||
                   parameters_of(n, gm_known_mul(one, experts(n))) == 3 * layers
               ? 3
               : 2;
}

static unsigned embeddings(const struct needs *n)
{
    const struct gm_size_count count = gm_census_find(
        n->census, gm_known_mul(gm_known_mul(dim(n, GM_DIM_HIDDEN), dim(n, GM_DIM_VOCAB)), n->model->weight));
    return count.live[GM_ROLE_PARAMETER] == 1 ? 1 : 2;
}

static uint64_t kv_width(const struct needs *n)
{
    const uint64_t kv = gm_known_mul(dim(n, GM_DIM_KV_HEADS), dim(n, GM_DIM_HEAD));
    return kv > 0 ? kv : dim(n, GM_DIM_HIDDEN);
}

/* Of queries: heads of a width of their own may make more than hidden. */
static uint64_t q_width(const struct needs *n)
{
    const uint64_t q = gm_known_mul(dim(n, GM_DIM_HEADS), dim(n, GM_DIM_HEAD));
    return q > 0 ? q : dim(n, GM_DIM_HIDDEN);
}

/* Numbers in all parameters, without biases. */
static uint64_t parameter_count(const struct needs *n)
{
    const uint64_t hidden = dim(n, GM_DIM_HIDDEN);
    const uint64_t attention = gm_known_mul(2 * hidden, gm_sat_add(q_width(n), kv_width(n)));
    const uint64_t ffn = gm_known_mul(gm_known_mul(ffns(n) * hidden, dim(n, GM_DIM_FFN)), experts(n));
    const uint64_t routers = gm_known_mul(hidden, dim(n, GM_DIM_EXPERTS));
    const uint64_t layer = gm_sat_add(gm_sat_add(attention, ffn), gm_sat_add(routers, 2 * hidden));
    return gm_sat_add(gm_known_mul(dim(n, GM_DIM_LAYERS), layer),
                      gm_sat_add(gm_known_mul(embeddings(n) * hidden, dim(n, GM_DIM_VOCAB)), hidden));
}

static void need_weights(struct needs *n)
{
    static const struct remarks parameters = {
        "more than a plain transformer has: other parts, biases, or a second copy",
        "less than these dimensions need: shared or sharded weights, or not all of them are known as parameters"};
    static const struct remarks gradients = {"more than one set", "never all at once: frozen, sharded, or freed early"};
    static const struct remarks states = {
        "more than Adam's two as wide as weights: in fp32, weights in fp32 beside them, or an average",
        "less than Adam's two as wide as weights: 8-bit, sharded or another optimizer"};
    const uint64_t numbers = parameter_count(n), each = n->model->weight;
    const bool has_kv = kv_width(n) != dim(n, GM_DIM_HIDDEN), has_q = q_width(n) != dim(n, GM_DIM_HIDDEN);
    add(n, "Parameters", gm_known_mul(numbers, each), n->most[GM_ROLE_PARAMETER],
        gm_arena_printf(n->arena, "(layers*(%s + %s%u*hidden*ffn + 2*hidden) + %s*vocab + hidden)*%u B",
                        has_q    ? "2*hidden*heads*head + 2*hidden*kv_heads*head"
                        : has_kv ? "2*hidden*hidden + 2*hidden*kv_heads*head"
                                 : "4*hidden*hidden",
                        dim(n, GM_DIM_EXPERTS) > 0 ? "hidden*experts + experts*" : "", ffns(n),
                        embeddings(n) > 1 ? "2*hidden" : "hidden", (unsigned)each),
        &parameters);
    if (n->most[GM_ROLE_GRADIENT] > 0)
        add(n, "Gradients", gm_known_mul(numbers, each), n->most[GM_ROLE_GRADIENT], "as parameters", &gradients);
    if (n->most[GM_ROLE_OPTIMIZER_STATE] > 0)
        add(n, "Optimizer state", gm_known_mul(numbers, 2 * each), n->most[GM_ROLE_OPTIMIZER_STATE],
            gm_arena_printf(n->arena, "two numbers of %u B for each parameter (Adam)", (unsigned)each), &states);
}

/* All pairs of positions, in all heads: bytes of one such tensor if any was made, else 0. What rows for experts are as
 * large as is taken for these. */
static uint64_t score_bytes(const struct needs *n)
{
    const uint64_t row = gm_known_mul(dim(n, GM_DIM_HEADS), dim(n, GM_DIM_SEQ)), rows = dim(n, GM_DIM_TOPK);
    const uint64_t size = gm_known_mul(gm_known_mul(dim(n, GM_DIM_TOKENS), row), n->model->activation);
    const bool is_of_experts = rows > 0 && (row == rows * dim(n, GM_DIM_HIDDEN) || row == rows * dim(n, GM_DIM_FFN));
    return size > 0 && !is_of_experts && gm_census_find(n->census, size).made > 0 ? size : 0;
}

static void need_activations(struct needs *n)
{
    static const struct remarks kept = {
        "more than plain layers keep: norms, rotary embedding, softmax or dropout by hand, casts under autocast, or "
        "more than one forward pass",
        "less than plain layers keep: no graph, checkpointing, fused kernels, or the trace has no whole forward pass"};
    static const struct remarks copies = {"several copies at once, as log_softmax, its gradient or a cast make them",
                                          NULL};
    const uint64_t each = n->model->activation, row = gm_known_mul(dim(n, GM_DIM_TOKENS), each);
    const uint64_t stream = gm_known_mul(row, dim(n, GM_DIM_HIDDEN)), logits = gm_known_mul(row, dim(n, GM_DIM_VOCAB));
    const unsigned width = (unsigned)each, of_ffn = ffns(n) > 2 ? 4 : 2;
    const uint64_t kv = gm_known_mul(row, 2 * kv_width(n)), scores = score_bytes(n);
    const uint64_t q = gm_known_mul(row, 2 * q_width(n)); /* and what comes out of attention */
    const bool has_experts = dim(n, GM_DIM_EXPERTS) > 0;
    const uint64_t ffn = gm_sat_add(gm_known_mul(of_ffn * row, dim(n, GM_DIM_FFN)), has_experts ? 3 * stream : 0);
    const uint64_t routers = gm_known_mul(gm_known_mul(dim(n, GM_DIM_TOKENS), dim(n, GM_DIM_EXPERTS)), 4);
    const uint64_t attention = gm_sat_add(gm_sat_add(gm_sat_add(gm_known_mul(4, stream), q), kv), scores);
    const uint64_t layer = gm_sat_add(attention, gm_sat_add(gm_known_mul(topk(n), ffn), routers));
    add(n, "One tensor of the residual stream", stream,
        gm_census_find(n->census, stream).made > 0 ? stream : GM_REPORT_NONE,
        gm_arena_printf(n->arena, "batch*seq*hidden*%u B", width), NULL);
    add(n, "Activations of a layer", layer, GM_REPORT_NONE,
        gm_arena_printf(n->arena,
                        has_experts ? "(%s%s + topk*batch*seq*(3*hidden + %u*ffn))*%u B + batch*seq*experts*4 B"
                                    : "(%s%s + %u*batch*seq*ffn)*%u B",
                        q != 2 * stream    ? "batch*seq*(4*hidden + 2*heads*head + 2*kv_heads*head)"
                        : kv == 2 * stream ? "8*batch*seq*hidden"
                                           : "6*batch*seq*hidden + 2*batch*seq*kv_heads*head",
                        scores > 0 ? " + batch*heads*seq*seq" : "", of_ffn, width),
        NULL);
    add(n, "Activations of all layers", gm_known_mul(layer, dim(n, GM_DIM_LAYERS)),
        n->most[GM_ROLE_ACTIVATION] > 0 ? n->most[GM_ROLE_ACTIVATION] : GM_REPORT_NONE, "layers*that", &kept);
    add(n, "Logits", logits, n->most_logits > 0 ? n->most_logits : GM_REPORT_NONE,
        gm_arena_printf(n->arena, "batch*seq*vocab*%u B", width), &copies);
}

static bool name_missing(struct gm_dims_report *out, const struct gm_model *model, struct gm_arena *arena)
{
    static const enum gm_dim needed[] = {GM_DIM_TOKENS, GM_DIM_HIDDEN, GM_DIM_LAYERS,
                                         GM_DIM_VOCAB,  GM_DIM_FFN,    GM_DIM_TOPK};
    const char *list = NULL;
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof needed / sizeof *needed; i++)
        if (model->dims.v[needed[i]] == 0 && (needed[i] != GM_DIM_TOPK || model->dims.v[GM_DIM_EXPERTS] > 0)) {
            list = gm_arena_printf(arena, "%s%s%s", list == NULL ? "" : list, list == NULL ? "" : ", ",
                                   gm_dim_name(needed[i]));
            ok = list != NULL;
        }
    out->missing = list;
    return ok;
}

bool gm_dims_needs(struct gm_dims_report *out, const struct gm_model *model, const struct gm_census *census,
                   const struct gm_trace_pass *pass)
{
    struct gm_arena *arena = &pass->report->arena;
    struct needs n = {.model = model, .census = census, .arena = arena};
    if (!name_missing(out, model, arena) || out->missing != NULL)
        return out->missing != NULL;
    measure(&n, pass);
    need_weights(&n);
    need_activations(&n);
    out->needs = gm_arena_array(arena, n.rows, n.n, sizeof *n.rows);
    if (dim(&n, GM_DIM_EXPERTS) > 0)
        out->doubt = "Of experts, rows of hidden are counted three times for each token and choice: what is gathered "
                     "for them, what comes out, and that times its weight. Without index_add it is one less; rows that "
                     "fill experts up to a capacity, and experts that all tokens share, come on top.";
    out->need_count = n.n;
    return out->needs != NULL && !n.failed;
}
