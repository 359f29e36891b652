/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sizes of parameters and activations tell of a transformer's dimensions. Parameters of hidden numbers (norms)
 * beside ones of hidden*hidden give hidden; what is left of the other matrices, ffn and vocab; how often they are
 * there, layers. What is made in steps gives batch*seq as the number of rows of hidden, ffn and vocab; the scores of
 * attention give heads and seq, unless a fused kernel keeps none.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/report/numbers.h"
#include "analyze/timeline/dims/dims_work.h"

#include <inttypes.h>

enum {
    LEAST_HIDDEN = 16,
    LEAST_HEAD = 16,
    MOST_HEAD = 256,
    LEAST_SEQ = 16,
    MOST_SEQ = 1 << 20,
    FEW_SCORES = 16,
    FEW_KEPT_SCORES = 64,
    FEW_ROWS = 8
};
static const uint64_t widths[] = {4, 2};
enum { WIDTHS = 2 };

const char *gm_dim_name(enum gm_dim dim)
{
    static const char *const names[GM_DIM_COUNT] = {"batch",    "seq",  "tokens", "hidden", "heads",
                                                    "kv_heads", "head", "layers", "vocab",  "ffn"};
    return names[dim];
}

struct search {
    struct gm_model *model;
    const struct gm_census *census;
    struct gm_arena *arena;
    bool casts;   /* autocast: weights of 4 bytes have copies of half the size */
    bool keeps;   /* what a forward pass makes is kept for backward: so are scores of attention */
    bool is_wide; /* heads times their width is not hidden */
    bool failed;  /* no memory */
};

static uint64_t *known(struct search *s, enum gm_dim dim)
{
    return &s->model->dims.v[dim];
}

static void learn(struct search *s, enum gm_dim dim, uint64_t value, const char *source)
{
    if (value == 0 || *known(s, dim) > 0)
        return;
    *known(s, dim) = value;
    s->model->source[dim] = source;
    s->failed = s->failed || source == NULL;
}

static const char *count_of(struct search *s, uint64_t count, const char *what)
{
    char digits[GM_NUMBER_TEXT];
    return gm_arena_printf(s->arena, "%s %s", gm_count_format(digits, count), what);
}

static uint32_t parameters(const struct gm_size_count *count)
{
    return count->live[GM_ROLE_PARAMETER];
}

/* Parameters of that many bytes; 0 if it is more than 64 bits. */
static uint32_t parameters_of(const struct search *s, uint64_t numbers, uint64_t each)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(numbers, each, &bytes))
        return 0;
    const struct gm_size_count count = gm_census_find(s->census, bytes);
    return parameters(&count);
}

/* Allocations that a forward pass makes. Temporaries as large as a parameter are of updates. */
static uint64_t of_forward(const struct search *s, const struct gm_size_count *count)
{
    if (s->casts && parameters_of(s, count->size, 2) > 0)
        return 0;
    return count->kept + (uint64_t)(parameters(count) > 0 ? 0 : count->passing);
}

/* The same of rows*numbers that have `each` bytes. */
static uint64_t made_of(const struct search *s, uint64_t rows, uint64_t numbers, uint64_t each)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(rows, numbers, &bytes) || __builtin_mul_overflow(bytes, each, &bytes) || bytes == 0)
        return 0;
    const struct gm_size_count count = gm_census_find(s->census, bytes);
    return of_forward(s, &count);
}

/* The number whose square n is; 0: there is none. */
static uint64_t root_of(uint64_t n)
{
    uint64_t low = 0, high = UINT32_MAX;
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (middle * middle <= n)
            low = middle;
        else
            high = middle - 1;
    }
    return low * low == n ? low : 0;
}

/* ---- parameters ----------------------------------------------------------------------------------------------------
 */

/* Parameters of so many numbers; norms may be of 4 bytes where matrices are of 2. */
static uint64_t norms_of(const struct search *s, uint64_t numbers, uint64_t each)
{
    return parameters_of(s, numbers, each) + (each == 4 ? 0 : (uint64_t)parameters_of(s, numbers, 4));
}

/* The square whose parameters hold most bytes and have norms beside them; q, k and v may be one matrix. Other sides can
 * make larger squares: so what has more norms counts more. */
static void find_hidden(struct search *s)
{
    uint64_t best = 0, hidden = *known(s, GM_DIM_HIDDEN), found = 0, weight = 0;
    for (size_t i = 0; i < s->census->n; i++)
        for (size_t w = 0; w < WIDTHS; w++)
            for (uint64_t joined = 1; joined <= 3; joined += 2) {
                const struct gm_size_count *count = &s->census->v[i];
                const uint64_t h =
                    count->size % (widths[w] * joined) > 0 ? 0 : root_of(count->size / widths[w] / joined);
                const uint64_t norms = norms_of(s, h, widths[w]), squares = parameters(count);
                const uint64_t all = gm_known_mul(count->size, squares);
                const uint64_t bytes = gm_sat_sub(gm_known_mul(all, norms < squares ? norms : squares), joined > 1);
                if (h < LEAST_HIDDEN || (hidden > 0 && h != hidden) || bytes <= best || norms < 2)
                    continue;
                best = bytes;
                found = h;
                weight = widths[w];
            }
    if (found == 0)
        return;
    s->model->weight = weight;
    learn(s, GM_DIM_HIDDEN, found,
          count_of(s, norms_of(s, found, weight), "parameters of so many numbers, and of its square"));
}

static uint32_t squares_of(const struct search *s)
{
    const uint64_t hidden = s->model->dims.v[GM_DIM_HIDDEN];
    return hidden == 0 ? 0 : parameters_of(s, hidden * hidden, s->model->weight);
}

/* The other side of a matrix with a side of hidden, if it is larger and not q, k and v together: of those there are no
 * more than of what follows attention, which is a square. */
static uint64_t other_side(const struct search *s, const struct gm_size_count *count)
{
    const uint64_t hidden = s->model->dims.v[GM_DIM_HIDDEN], row = hidden * s->model->weight;
    const uint64_t side = row == 0 || count->size % row > 0 ? 0 : count->size / row;
    const bool is_joined = side == 3 * hidden && parameters(count) <= squares_of(s);
    return side > hidden && !is_joined && parameters(count) > 0 ? side : 0;
}

static void find_ffn(struct search *s)
{
    uint64_t best = 0, ffn = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < s->census->n; i++) {
        const struct gm_size_count *c = &s->census->v[i];
        const uint64_t side = other_side(s, c);
        const uint64_t bytes =
            parameters(c) > 2 ? gm_known_mul(c->size, parameters(c)) : parameters(c); /* two may be vocab */
        const bool is_in_each_layer = 4 * (uint64_t)parameters(c) >= squares_of(s);   /* else it is of vocab */
        if (side > 0 && parameters(c) >= 2 && is_in_each_layer && bytes > best) {
            best = bytes;
            ffn = side;
            count = parameters(c);
        }
    }
    const uint64_t half = ffn % 2 > 0 ? 0 : ffn / 2, hidden = *known(s, GM_DIM_HIDDEN);
    if (half > 0 && half != hidden && parameters_of(s, half * hidden, s->model->weight) == count)
        ffn = half; /* gate and up are one matrix */
    learn(s, GM_DIM_FFN, ffn, count_of(s, count, "matrices of hidden and so many"));
}

/* The largest that is there once or twice. */
static void find_vocab(struct search *s)
{
    uint64_t vocab = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < s->census->n; i++) {
        const struct gm_size_count *c = &s->census->v[i];
        const uint64_t side = other_side(s, c);
        if (side > vocab && side != *known(s, GM_DIM_FFN) && parameters(c) <= 2) {
            vocab = side;
            count = parameters(c);
        }
    }
    learn(s, GM_DIM_VOCAB, vocab, count_of(s, count, "matrices of hidden and so many, the largest"));
}

/* Where heads times their width is not hidden: two matrices in each layer, q and out, beside three of hidden*ffn. */
static void find_layers_of_wide_heads(struct search *s, uint32_t ffns)
{
    for (size_t i = 0; ffns % 3 == 0 && ffns > 3 && i < s->census->n; i++) {
        const uint64_t side = other_side(s, &s->census->v[i]);
        if (side > 0 && side != *known(s, GM_DIM_FFN) && parameters(&s->census->v[i]) == ffns / 3 * 2) {
            s->is_wide = true;
            learn(s, GM_DIM_LAYERS, ffns / 3,
                  gm_arena_printf(s->arena, "%u matrices of hidden*ffn and %u of hidden*%" PRIu64, ffns, ffns / 3 * 2,
                                  side));
        }
    }
}

/* How many of each kind a layer has: q, k, v and out, of which k and v may be smaller or all three one matrix; gate,
 * up and down, of which gate may be missing or one with up. Layers is what both counts agree on. */
static void find_layers(struct search *s)
{
    static const uint32_t squares_in_one[] = {4, 2, 1}, ffns_in_one[] = {3, 2, 1};
    const uint64_t hidden = *known(s, GM_DIM_HIDDEN), each = s->model->weight, side = *known(s, GM_DIM_FFN);
    const uint32_t squares = squares_of(s);
    const uint32_t ffns = side == 0 ? 0 : parameters_of(s, hidden * side, each);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            if (squares >= squares_in_one[i] && squares % squares_in_one[i] == 0 && ffns % ffns_in_one[j] == 0 &&
                squares / squares_in_one[i] == ffns / ffns_in_one[j])
                learn(s, GM_DIM_LAYERS, squares / squares_in_one[i],
                      gm_arena_printf(s->arena, "%u matrices of hidden*hidden and %u of hidden*ffn", squares, ffns));
    find_layers_of_wide_heads(s, ffns);
}

/* ---- what steps make -----------------------------------------------------------------------------------------------
 */

/* Whether each matrix was cast as often as any other. */
static bool has_casts(const struct search *s)
{
    const uint64_t hidden = s->model->dims.v[GM_DIM_HIDDEN], ffn = s->model->dims.v[GM_DIM_FFN];
    const uint64_t squares = parameters_of(s, hidden * hidden, 4), ffns = parameters_of(s, hidden * ffn, 4);
    const uint64_t of_squares = gm_census_find(s->census, hidden * hidden * 2).made;
    const uint64_t of_ffns = gm_census_find(s->census, hidden * ffn * 2).made;
    return squares > 0 && ffns > 0 && of_squares > 0 && of_squares % squares == 0 && of_ffns % ffns == 0 &&
           of_squares / squares == of_ffns / ffns;
}

/* What was made with so many rows of hidden, ffn and vocab numbers. */
struct rows {
    unsigned sides; /* of the three */
    uint64_t bytes, rows;
};

static struct rows with_rows(const struct search *s, uint64_t rows)
{
    static const enum gm_dim sides[] = {GM_DIM_HIDDEN, GM_DIM_FFN, GM_DIM_VOCAB};
    struct rows out = {.rows = rows};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        uint64_t bytes = 0;
        for (size_t w = 0; w < WIDTHS; w++) {
            const uint64_t side = s->model->dims.v[sides[i]];
            bytes = gm_sat_add(bytes, gm_known_mul(made_of(s, rows, side, widths[w]), rows * side * widths[w]));
        }
        out.sides += bytes > 0;
        out.bytes = gm_sat_add(out.bytes, bytes);
    }
    return out;
}

/* Half as many numbers of twice the bytes are as large: where both fit, the width of weights decides, or autocast. */
static bool has_better_rows(const struct search *s, const struct rows *a, const struct rows *b)
{
    if (a->sides != b->sides)
        return a->sides > b->sides;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes;
    return s->casts || s->model->weight == 2 ? a->rows > b->rows : a->rows < b->rows;
}

static void find_tokens(struct search *s)
{
    const uint64_t hidden = *known(s, GM_DIM_HIDDEN);
    struct rows best = {0};
    s->casts = has_casts(s);
    for (size_t i = 0; hidden > 0 && i < s->census->n; i++)
        for (size_t w = 0; w < WIDTHS; w++) {
            const struct gm_size_count *c = &s->census->v[i];
            const uint64_t rows = c->size % (hidden * widths[w]) > 0 ? 0 : c->size / hidden / widths[w];
            if (rows == 0 || of_forward(s, c) == 0)
                continue;
            const struct rows now = with_rows(s, rows);
            if (now.bytes > 0 && has_better_rows(s, &now, &best))
                best = now;
        }
    const bool may_cast = !s->casts && s->model->weight == 4 && gm_census_find(s->census, hidden * hidden * 2).made > 0;
    learn(s, GM_DIM_TOKENS, best.rows,
          may_cast         ? "doubtful: or twice as many, if autocast made numbers of half the width"
          : best.sides > 1 ? "what was made with so many rows of hidden, ffn or vocab"
                           : "doubtful: rows of one of hidden, ffn and vocab only");
}

static bool is_possible(const struct search *s, enum gm_dim dim, uint64_t value)
{
    return s->model->dims.v[dim] == 0 || s->model->dims.v[dim] == value;
}

/* How much speaks for a seq: masks, positions, rotary tables. */
static unsigned signs_of(const struct search *s, uint64_t seq, uint64_t head)
{
    const uint64_t hidden = s->model->dims.v[GM_DIM_HIDDEN];
    const struct {
        uint64_t numbers, each;
    } signs[] = {{seq, 1}, {seq, 4}, {seq, 2}, {hidden, s->model->weight}, {head, 4}, {head / 2, 4}};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        n += gm_census_find(s->census, seq * signs[i].numbers * signs[i].each).made > 0;
    return n;
}

struct scores {
    uint64_t bytes, seq, heads;
    unsigned signs; /* masks and positions, and how usual the width of a head is */
};

/* Whether rows of the scores are as large as others of these tokens; in either width if there are both. */
static bool is_another(const struct search *s, uint64_t bytes)
{
    const uint64_t *d = s->model->dims.v, hidden = d[GM_DIM_HIDDEN], ffn = d[GM_DIM_FFN];
    for (size_t w = 0; w < WIDTHS; w++) {
        const uint64_t row = bytes / widths[w];
        if (!s->casts && widths[w] != s->model->activation)
            continue;
        if (row == hidden || 2 * row == hidden || row == 3 * hidden || row == ffn || row == 2 * ffn ||
            row == d[GM_DIM_VOCAB])
            return true;
    }
    return false;
}

static unsigned usual(uint64_t head)
{
    return head == 64 || head == 128 ? 3 : head % 16 > 0 || head <= 16 ? 0 : head < 128 ? 2 : 1;
}

static uint64_t scores_of(const struct search *s, uint64_t tokens, uint64_t row, uint64_t each)
{
    uint64_t bytes;
    if (!s->keeps)
        return made_of(s, tokens, row, each);
    if (__builtin_mul_overflow(tokens, row, &bytes) || __builtin_mul_overflow(bytes, each, &bytes))
        return 0;
    return gm_census_find(s->census, bytes).kept;
}

/* Scores with that row: of the width of activations, which is a sign, or in fp32, as softmax may have them. */
static void count_scores(const struct search *s, struct scores *out)
{
    const uint64_t tokens = s->model->dims.v[GM_DIM_TOKENS], row = out->heads * out->seq;
    for (uint64_t each = s->model->activation; each <= 4; each += 2) {
        const uint64_t made = is_another(s, row * each) ? 0 : scores_of(s, tokens, row, each);
        out->bytes = gm_sat_add(out->bytes, gm_known_mul(made, tokens * row * each));
        out->signs += made > 0 && each == s->model->activation;
    }
}

/* With heads of that width, the seq whose scores have most bytes. Twice the seq with numbers of half the width is as
 * large: but both widths are made of the right one, as casts are kept. */
static struct scores scores_with(const struct search *s, uint64_t head)
{
    const uint64_t tokens = s->model->dims.v[GM_DIM_TOKENS], heads = s->model->dims.v[GM_DIM_HIDDEN] / head;
    struct scores best = {0};
    for (uint64_t seq = LEAST_SEQ; seq <= tokens && seq <= MOST_SEQ; seq++) {
        if (tokens % seq > 0 || !is_possible(s, GM_DIM_SEQ, seq) || !is_possible(s, GM_DIM_HEADS, heads))
            continue;
        struct scores now = {0, seq, heads, usual(head) + signs_of(s, seq, head)};
        count_scores(s, &now);
        if (now.bytes > best.bytes || (now.bytes == best.bytes && now.bytes > 0 && now.signs > best.signs))
            best = now;
    }
    return best;
}

/* What most speaks for, and in *next what speaks for it next to that; bytes 0: there are no scores. */
static struct scores find_scores(const struct search *s, struct scores *next)
{
    const uint64_t tokens = s->model->dims.v[GM_DIM_TOKENS], hidden = s->model->dims.v[GM_DIM_HIDDEN];
    struct scores all[MOST_HEAD + 1] = {{0}}, best = {0};
    uint64_t most = 0;
    for (uint64_t head = LEAST_HEAD; head <= MOST_HEAD && head <= hidden; head++) {
        all[head] = hidden % head > 0 ? (struct scores){0} : scores_with(s, head);
        most = gm_max(most, all[head].bytes);
    }
    if (most < with_rows(s, tokens).bytes / (s->keeps ? FEW_KEPT_SCORES : FEW_SCORES))
        return best; /* other small tensors may be as large by chance */
    for (uint64_t head = LEAST_HEAD; head <= MOST_HEAD; head++) {
        const bool is_many = all[head].bytes > most / 4;
        const bool is_best = is_many && all[head].signs > best.signs;
        if (is_many && (is_best || all[head].signs > next->signs))
            *next = is_best ? best : all[head];
        best = is_best ? all[head] : best;
    }
    return best;
}

/* Heads and seq of which the scores of attention are made, if any are; what nearly as much speaks for is said. */
static void find_heads(struct search *s)
{
    const uint64_t tokens = *known(s, GM_DIM_TOKENS), hidden = *known(s, GM_DIM_HIDDEN);
    struct scores next = {0};
    if (tokens == 0 || tokens >= UINT32_MAX || hidden >= UINT32_MAX || s->is_wide)
        return;
    struct scores best = find_scores(s, &next);
    if (best.bytes == 0 && s->keeps) { /* the last pass may have kept nothing */
        s->keeps = false;
        best = find_scores(s, &next);
    }
    if (best.bytes == 0)
        return;
    const char *source = "scores of attention; of seq*heads only the product is sure";
    if (next.bytes > 0 && next.signs + 1 >= best.signs)
        source = gm_arena_printf(
            s->arena, "scores of attention; doubtful: nearly as much speaks for seq %" PRIu64 " and heads %" PRIu64,
            next.seq, next.heads);
    learn(s, GM_DIM_SEQ, best.seq, source);
    learn(s, GM_DIM_HEADS, best.heads, source);
}

/* Smaller than hidden, twice in each layer: keys and values that several heads share. */
static void find_kv_heads(struct search *s)
{
    const uint64_t hidden = *known(s, GM_DIM_HIDDEN), head = *known(s, GM_DIM_HEAD), layers = *known(s, GM_DIM_LAYERS);
    for (uint64_t n = 1; layers > 0 && head > 0 && n < *known(s, GM_DIM_HEADS); n++)
        if (parameters_of(s, n * head * hidden, s->model->weight) >= 2 * layers)
            learn(s, GM_DIM_KV_HEADS, n, "two matrices of hidden and so many heads in each layer");
    learn(s, GM_DIM_KV_HEADS, *known(s, GM_DIM_HEADS), "heads");
}

/* ---- all of it ------------------------------------------------------------------------------------------------------
 */

static void complete(struct gm_dims *d, enum gm_dim product, enum gm_dim one, enum gm_dim other)
{
    const uint64_t a = d->v[one], b = d->v[other], whole = d->v[product];
    if (whole == 0 && a > 0 && b > 0 && a <= UINT64_MAX / b)
        d->v[product] = a * b;
    else if (whole > 0 && a > 0 && b == 0 && whole % a == 0)
        d->v[other] = whole / a;
    else if (whole > 0 && b > 0 && a == 0 && whole % b == 0)
        d->v[one] = whole / b;
}

void gm_dims_complete(struct gm_dims *dims)
{
    complete(dims, GM_DIM_TOKENS, GM_DIM_BATCH, GM_DIM_SEQ);
    complete(dims, GM_DIM_HIDDEN, GM_DIM_HEADS, GM_DIM_HEAD);
}

/* Bytes of a number of a parameter where hidden was given. */
static void find_weight(struct search *s)
{
    const uint64_t hidden = *known(s, GM_DIM_HIDDEN);
    if (s->model->weight == 0)
        s->model->weight = parameters_of(s, hidden, 4) == 0 && parameters_of(s, hidden, 2) > 0 ? 2 : 4;
}

/* Bytes of a number of an activation: as most of those with tokens*hidden numbers have. */
static void find_activation(struct search *s)
{
    const uint64_t tokens = *known(s, GM_DIM_TOKENS), hidden = *known(s, GM_DIM_HIDDEN);
    s->model->activation = made_of(s, tokens, hidden, 2) > made_of(s, tokens, hidden, 4) ? 2 : 4;
    s->keeps = gm_census_find(s->census, gm_known_mul(tokens * hidden, s->model->activation)).kept > 0;
}

bool gm_dims_infer(struct gm_model *model, const struct gm_census *census, struct gm_arena *arena)
{
    struct search s = {.model = model, .census = census, .arena = arena};
    gm_dims_complete(&model->dims);
    find_hidden(&s);
    find_weight(&s);
    find_ffn(&s);
    find_vocab(&s);
    find_layers(&s);
    find_tokens(&s);
    find_activation(&s);
    find_heads(&s);
    gm_dims_complete(&model->dims);
    find_kv_heads(&s);
    return !s.failed;
}
