/* SPDX-License-Identifier: Apache-2.0
 *
 * What the sizes of parameters and activations tell of a transformer's dimensions. Parameters of hidden numbers (norms)
 * beside ones of hidden*hidden give hidden; what is left of the other matrices, ffn and vocab; how often they are
 * there, layers. What is made in steps gives batch*seq as the number of rows of hidden, ffn and vocab; the scores of
 * attention give heads and seq, unless a fused kernel keeps none.
 */
#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/report/numbers.h"
#include "analyze/timeline/dims/dims_work.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MOST_EXPERTS = 512,
    MOST_HEADS = 1 << 12,
    FEW_OF_HIDDEN = 8,     /* an expert is no narrower than that part of hidden */
    MOST_VECTOR = 1 << 17, /* bytes */
    MOST_LOOKS = 64,
    MOST_SIDES = 16,
    MOST_ROWS = 256,
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
    static const char *const names[GM_DIM_COUNT] = {"batch", "seq",    "tokens", "hidden", "heads",   "kv_heads",
                                                    "head",  "layers", "vocab",  "ffn",    "experts", "topk"};
    return names[dim];
}

struct search {
    struct gm_model *model;
    const struct gm_census *census;
    struct gm_arena *arena;
    bool casts;       /* autocast: weights of 4 bytes have copies of half the size */
    bool keeps;       /* what a forward pass makes is kept for backward: so are scores of attention */
    bool failed;      /* no memory */
    uint64_t queries; /* numbers of a row of q, which are not hidden where a head is not hidden / heads; 0: unknown */
    unsigned looks;   /* at what may be a router's, so far */
};

static uint64_t known(const struct search *s, enum gm_dim dim)
{
    return s->model->dims.v[dim];
}

static void learn(struct search *s, enum gm_dim dim, uint64_t value, const char *source)
{
    if (value == 0 || known(s, dim) > 0)
        return;
    s->model->dims.v[dim] = value;
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

/* Allocations of rows*numbers that have `each` bytes. */
static struct gm_size_count sized(const struct search *s, uint64_t rows, uint64_t numbers, uint64_t each)
{
    const uint64_t bytes = gm_known_mul(gm_known_mul(rows, numbers), each);
    return bytes == 0 ? (struct gm_size_count){.size = 0} : gm_census_find(s->census, bytes);
}

static uint32_t parameters_of(const struct search *s, uint64_t numbers, uint64_t each)
{
    const struct gm_size_count count = sized(s, 1, numbers, each);
    return parameters(&count);
}

/* Allocations that a forward pass makes. Temporaries as large as a parameter are of updates. */
static uint64_t of_forward(const struct search *s, const struct gm_size_count *count)
{
    if (s->casts && parameters_of(s, count->size, 2) > 0)
        return 0;
    return count->kept + (uint64_t)(parameters(count) > 0 ? 0 : count->passing);
}

static uint64_t made_of(const struct search *s, uint64_t rows, uint64_t numbers, uint64_t each)
{
    const struct gm_size_count count = sized(s, rows, numbers, each);
    return of_forward(s, &count);
}

/* n / unit; 0: that leaves a rest, or the unit is none. */
static uint64_t exact(uint64_t n, uint64_t unit)
{
    return unit == 0 || n % unit > 0 ? 0 : n / unit;
}

/* The number whose square n is; 0: there is none. */
static uint64_t root_of(uint64_t n)
{
    size_t low = 0;
    GM_BISECT(low, UINT32_MAX, i, i * i < n);
    return low * low == n ? low : 0;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* Parameters of so many numbers; norms may be of 4 bytes where matrices are of 2. */
static uint64_t norms_of(const struct search *s, uint64_t numbers, uint64_t each)
{
    return parameters_of(s, numbers, each) + (each == 4 ? 0 : (uint64_t)parameters_of(s, numbers, 4));
}

/* What may be hidden, and what speaks for it. */
struct guess {
    uint64_t hidden, weight;
    unsigned sides; /* of its matrices that activations have, too */
    uint64_t made;  /* of those activations */
    uint64_t bytes; /* of its squares, each with norms beside it; a few if it has none */
};

/* Of how many sides of parameters with a side of hidden activations are made, with as many rows as one of hidden: half
 * as many numbers of twice the bytes make the same parameters, but not the same rows. */
static void find_sides(struct search *s, struct guess *g)
{
    uint64_t sides[MOST_SIDES];
    size_t n = 0, looks = 0;
    if (s->looks++ >= MOST_LOOKS)
        return;
    for (size_t i = 0; i < s->census->n && n < MOST_SIDES; i++) {
        const struct gm_size_count *c = &s->census->v[i];
        const uint64_t side = exact(c->size, g->hidden * g->weight);
        if (side > 1 && parameters(c) > 0)
            sides[n++] = side;
    }
    for (size_t i = 0; i < s->census->n && looks < MOST_ROWS; i++)
        for (uint64_t each = 2; each <= g->weight; each += 2) { /* autocast makes narrower ones, nothing wider ones */
            const struct gm_size_count *c = &s->census->v[i];
            const uint64_t rows = exact(c->size, g->hidden * each);
            unsigned found = 0;
            uint64_t made = 0;
            if (rows == 0 || of_forward(s, c) == 0)
                continue;
            looks++;
            for (size_t k = 0; k < n; k++) {
                const uint64_t count = made_of(s, rows, sides[k], each);
                found += count > 0;
                made += count;
            }
            if (found > g->sides || (found == g->sides && made > g->made)) {
                g->sides = found;
                g->made = made;
            }
        }
}

/* What stands for twice as many numbers of half the bytes fits as well where q is twice as wide as hidden. */
static bool is_likelier(const struct guess *a, const struct guess *b)
{
    const bool is_twin = a->hidden * a->weight == b->hidden * b->weight;
    if (a->sides != b->sides)
        return a->sides > b->sides;
    if (is_twin && a->made != b->made)
        return a->made > b->made;
    return is_twin && a->made > 0 && a->weight != b->weight ? a->weight > b->weight : a->bytes > b->bytes;
}

static void weigh(struct search *s, struct guess *best, struct guess g)
{
    const uint64_t given = known(s, GM_DIM_HIDDEN);
    if (g.hidden < LEAST_HIDDEN || g.hidden > UINT32_MAX || (given > 0 && g.hidden != given) ||
        norms_of(s, g.hidden, g.weight) < 2)
        return;
    if (g.hidden == best->hidden && g.weight == best->weight) {
        g.sides = best->sides;
        g.made = best->made;
    } else {
        find_sides(s, &g);
    }
    if (is_likelier(&g, best))
        *best = g;
}

/* The size that most small parameters have: of norms; those of heads, if there are any, are fewer. */
static uint64_t most_often(const struct search *s)
{
    const struct gm_size_count *most = NULL;
    for (size_t i = 0; i < s->census->n && s->census->v[i].size <= MOST_VECTOR; i++)
        if (parameters(&s->census->v[i]) > (most == NULL ? 2 : parameters(most)))
            most = &s->census->v[i];
    return most == NULL ? 0 : most->size;
}

/* A square whose parameters have norms beside them; q, k and v may be one matrix, beside which there are as many
 * squares of what follows attention. Where q has a side of its own there may be none: then what most norms have. Of
 * several, that whose other sides activations have, too, and then that of most bytes. */
static void find_hidden(struct search *s)
{
    struct guess best = {.hidden = 0};
    const uint64_t vector = most_often(s);
    for (size_t i = 0; i < s->census->n; i++)
        for (size_t w = 0; w < WIDTHS && parameters(&s->census->v[i]) > 0; w++) {
            const struct gm_size_count *c = &s->census->v[i];
            const uint64_t count = parameters(c), each = widths[w], all = gm_known_mul(c->size, count);
            const uint64_t h = root_of(exact(c->size, each)), third = root_of(exact(c->size, 3 * each));
            weigh(s, &best, (struct guess){h, each, .bytes = gm_known_mul(all, gm_min(norms_of(s, h, each), count))});
            if (parameters_of(s, gm_known_mul(third, third), each) >= count)
                weigh(s, &best,
                      (struct guess){third, each,
                                     .bytes = gm_known_mul(all, gm_min(norms_of(s, third, each), count)) - 1});
            if (c->size == vector)
                weigh(s, &best, (struct guess){c->size / each, each, .bytes = count});
        }
    if (best.hidden == 0 || (best.bytes < best.hidden && best.sides == 0))
        return;
    s->model->weight = best.weight;
    const bool has_squares = parameters_of(s, best.hidden * best.hidden, best.weight) > 0;
    learn(s, GM_DIM_HIDDEN, best.hidden,
          count_of(s, norms_of(s, best.hidden, best.weight),
                   has_squares ? "parameters of so many numbers, and of its square"
                               : "parameters of so many numbers, and of products with it"));
}

static uint32_t squares_of(const struct search *s)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    return hidden == 0 ? 0 : parameters_of(s, hidden * hidden, s->model->weight);
}

/* The other side of a matrix with a side of hidden, if it is larger and not q, k and v together: of those there are no
 * more than of what follows attention, which is a square. */
static uint64_t other_side(const struct search *s, const struct gm_size_count *count)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    const uint64_t side = exact(count->size, hidden * s->model->weight);
    const bool is_joined = side == 3 * hidden && parameters(count) <= squares_of(s);
    return side > hidden && !is_joined && parameters(count) > 0 ? side : 0;
}

/* Whether activations are of as many rows of hidden and of that many numbers. */
static bool has_rows(struct search *s, uint64_t numbers)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    if (s->looks++ >= MOST_LOOKS)
        return false;
    for (size_t i = 0; i < s->census->n; i++)
        for (size_t w = 0; w < WIDTHS; w++) {
            const struct gm_size_count *c = &s->census->v[i];
            const uint64_t rows = exact(c->size, hidden * widths[w]);
            if (rows > 0 && of_forward(s, c) > 0 && made_of(s, rows, numbers, widths[w]) > 0)
                return true;
        }
    return false;
}

/* Whether so many vectors of that many bytes may be biases of as many matrices. */
static bool are_biases(const struct search *s, uint64_t bytes, uint64_t count)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), each = s->model->weight;
    return parameters_of(s, gm_known_mul(hidden, bytes / 4), each) >= count ||
           parameters_of(s, gm_known_mul(hidden, bytes / 2), each) >= count;
}

/* What a layer's experts are if so many routers choose of so many: matrices of their own, of which each has two or
 * three, or one with gate and up and one more; or all in one, which need to be looked at twice, as adapters of a low
 * rank look like routers: activations are of as many rows of hidden and of experts, and none of ffn. */
static void find_experts_of(struct search *s, uint64_t experts, uint64_t layers)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), each = s->model->weight;
    for (size_t i = 0; i < s->census->n && known(s, GM_DIM_EXPERTS) != experts; i++) {
        const struct gm_size_count *c = &s->census->v[i];
        const uint64_t side = exact(c->size, hidden * each), count = parameters(c);
        const uint64_t one = exact(side, experts);
        const bool has_both = count == experts * layers && parameters_of(s, 2 * hidden * side, each) == count;
        const bool has_own = count == 3 * experts * layers || count == 2 * experts * layers || has_both;
        const bool has_joined = count == 3 * layers || count == 2 * layers ||
                                (count == layers && parameters_of(s, 2 * hidden * side, each) == layers);
        const bool is_own = has_own && side != hidden && FEW_OF_HIDDEN * side >= hidden;
        if (!is_own && (!has_joined || FEW_OF_HIDDEN * one < hidden || !has_rows(s, experts) || has_rows(s, side) ||
                        has_rows(s, 2 * side)))
            continue;
        char times[GM_NUMBER_TEXT] = "";
        if (!is_own)
            snprintf(times, sizeof times, "%" PRIu64 " times ", experts);
        const char *source = gm_arena_printf(
            s->arena, "%" PRIu64 " matrices of %shidden and so many, beside %" PRIu64 " of hidden*%" PRIu64, count,
            times, layers, experts);
        learn(s, GM_DIM_EXPERTS, experts, source);
        learn(s, GM_DIM_FFN, is_own ? side : one, source);
        learn(s, GM_DIM_LAYERS, layers, gm_arena_printf(s->arena, "routers of hidden*%" PRIu64, experts));
    }
}

/* Routers: one of hidden*experts in each layer, of the width of weights or else in fp32. */
static void find_experts(struct search *s)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), given = known(s, GM_DIM_EXPERTS);
    const uint64_t each[] = {s->model->weight, 4};
    for (size_t w = 0; w < 2; w++)
        for (uint64_t n = 2; hidden > 0 && n <= MOST_EXPERTS && n < hidden && known(s, GM_DIM_FFN) == 0; n++) {
            const uint64_t routers = parameters_of(s, hidden * n, each[w]);
            if (routers > 1 && (given == 0 || given == n) && !are_biases(s, hidden * n * each[w], routers))
                find_experts_of(s, n, routers);
        }
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
    const uint64_t half = exact(ffn, 2), hidden = known(s, GM_DIM_HIDDEN);
    if (half > 0 && half != hidden && parameters_of(s, half * hidden, s->model->weight) == count)
        ffn = half; /* gate and up are one matrix */
    learn(s, GM_DIM_FFN, ffn, count_of(s, count, "matrices of hidden and so many"));
}

/* All experts' matrices in one, or two of each. */
static bool is_of_experts(const struct search *s, uint64_t side)
{
    const uint64_t all = gm_known_mul(known(s, GM_DIM_EXPERTS), known(s, GM_DIM_FFN));
    return all > 0 && (side == all || side == gm_known_mul(2, all));
}

/* The largest that is there once or twice. */
static void find_vocab(struct search *s)
{
    uint64_t vocab = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < s->census->n; i++) {
        const struct gm_size_count *c = &s->census->v[i];
        const uint64_t side = other_side(s, c);
        if (side > vocab && side != known(s, GM_DIM_FFN) && parameters(c) <= 2 && !is_of_experts(s, side)) {
            vocab = side;
            count = parameters(c);
        }
    }
    learn(s, GM_DIM_VOCAB, vocab, count_of(s, count, "matrices of hidden and so many, the largest"));
}

/* The matrices of q and of what follows attention: two in each layer, of a side larger than hidden if k and v have
 * others. Then three of hidden*ffn beside two of them tell layers, too. */
static void find_queries(struct search *s, uint32_t ffns)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    for (size_t i = 0; i < s->census->n; i++) {
        const struct gm_size_count *c = &s->census->v[i];
        const uint64_t side = other_side(s, c), count = parameters(c), layers = known(s, GM_DIM_LAYERS);
        if (side == 0 || side == known(s, GM_DIM_FFN) || side == known(s, GM_DIM_VOCAB) || is_of_experts(s, side))
            continue;
        if (layers == 0 && ffns % 3 == 0 && ffns > 3 && count == ffns / 3 * 2)
            learn(s, GM_DIM_LAYERS, ffns / 3,
                  gm_arena_printf(s->arena, "%u matrices of hidden*ffn and %" PRIu64 " of hidden*%" PRIu64, ffns, count,
                                  side));
        if (count > 2 && count == 2 * known(s, GM_DIM_LAYERS) && s->queries == 0)
            s->queries = side;
    }
    if (s->queries == 0 && squares_of(s) > 0)
        s->queries = hidden;
}

/* How many of each kind a layer has: q, k, v and out, of which k and v may be smaller or all three one matrix; gate,
 * up and down, of which gate may be missing or one with up. Layers is what both counts agree on. */
static void find_layers(struct search *s)
{
    static const uint32_t squares_in_one[] = {4, 2, 1}, ffns_in_one[] = {3, 2, 1};
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), each = s->model->weight, side = known(s, GM_DIM_FFN);
    const uint32_t squares = squares_of(s);
    const uint32_t ffns = side == 0 ? 0 : parameters_of(s, hidden * side, each);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < 3; j++)
            if (squares >= squares_in_one[i] && squares % squares_in_one[i] == 0 && ffns % ffns_in_one[j] == 0 &&
                squares / squares_in_one[i] == ffns / ffns_in_one[j])
                learn(s, GM_DIM_LAYERS, squares / squares_in_one[i],
                      gm_arena_printf(s->arena, "%u matrices of hidden*hidden and %u of hidden*ffn", squares, ffns));
    find_queries(s, ffns);
}

/* Norms of q and of k, in each layer: of the width of a head. Biases of k and v are of as many numbers as these have.
 */
static void find_head(struct search *s)
{
    const uint64_t norms = 2 * known(s, GM_DIM_LAYERS), hidden = known(s, GM_DIM_HIDDEN), each = s->model->weight;
    for (uint64_t head = LEAST_HEAD; norms > 0 && head <= MOST_HEAD && head < hidden; head++)
        if (s->queries > 0 && s->queries % head == 0 && norms_of(s, head, each) == norms &&
            parameters_of(s, hidden * head, each) == 0)
            learn(s, GM_DIM_HEAD, head, count_of(s, norms, "parameters of so many numbers: norms of q and k"));
    if (known(s, GM_DIM_HEAD) > 0 && s->queries % known(s, GM_DIM_HEAD) == 0)
        learn(s, GM_DIM_HEADS, s->queries / known(s, GM_DIM_HEAD),
              gm_arena_printf(s->arena, "matrices of hidden*%" PRIu64 ", of heads of that width", s->queries));
}

/* ---- what steps make --------------------------------------------------------------------------------------------- */

/* Whether each matrix was cast as often as any other. */
static bool has_casts(const struct search *s)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), ffn = known(s, GM_DIM_FFN);
    const uint64_t squares = parameters_of(s, hidden * hidden, 4), ffns = parameters_of(s, hidden * ffn, 4);
    const uint64_t of_squares = sized(s, hidden, hidden, 2).made;
    const uint64_t of_ffns = sized(s, hidden, ffn, 2).made;
    return squares > 0 && ffns > 0 && of_squares > 0 && of_squares % squares == 0 && of_ffns % ffns == 0 &&
           of_squares / squares == of_ffns / ffns;
}

/* What was made with so many rows of hidden, ffn and vocab numbers. Of experts, whose ffn and some of whose hidden have
 * other rows, a row has one number for each, and is of the width of weights: of either there would be rows of the
 * others' size. */
struct rows {
    unsigned sides; /* of the three */
    uint64_t bytes, rows;
};

/* What they count as: all that was made, or where scores are looked for, what these are measured by. */
typedef uint64_t counted(const struct search *s, uint64_t rows, uint64_t numbers, uint64_t each);

static struct rows with_rows(const struct search *s, uint64_t rows, counted *count)
{
    const bool has_experts = known(s, GM_DIM_EXPERTS) > 0;
    const enum gm_dim sides[] = {GM_DIM_HIDDEN, has_experts ? GM_DIM_EXPERTS : GM_DIM_FFN, GM_DIM_VOCAB};
    struct rows out = {.rows = rows};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        uint64_t bytes = 0;
        for (size_t w = 0; w < WIDTHS; w++) {
            const uint64_t side = known(s, sides[i]);
            if (has_experts && (widths[w] == 2) != (s->casts || s->model->weight == 2))
                continue;
            bytes = gm_sat_add(bytes, gm_known_mul(count(s, rows, side, widths[w]), rows * side * widths[w]));
        }
        out.sides += bytes > 0;
        out.bytes = gm_sat_add(out.bytes, sides[i] == GM_DIM_EXPERTS ? 0 : bytes); /* few: others may be as large */
    }
    return out;
}

/* Half as many numbers of twice the bytes are as large: where both fit, the width of weights decides, or autocast. */
static bool has_better_rows(const struct search *s, const struct rows *a, const struct rows *b)
{
    if (a->sides != b->sides)
        return a->sides > b->sides;
    if (known(s, GM_DIM_EXPERTS) > 0 && (a->rows == 2 * b->rows || b->rows == 2 * a->rows))
        return a->rows < b->rows; /* what routers and losses cast to fp32 looks like twice as many */
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes;
    return s->casts || s->model->weight == 2 ? a->rows > b->rows : a->rows < b->rows;
}

static void find_tokens(struct search *s)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    struct rows best = {0};
    s->casts = has_casts(s);
    for (size_t i = 0; hidden > 0 && i < s->census->n; i++)
        for (size_t w = 0; w < WIDTHS; w++) {
            const struct gm_size_count *c = &s->census->v[i];
            const uint64_t rows = exact(c->size, hidden * widths[w]);
            if (rows == 0 || of_forward(s, c) == 0)
                continue;
            const struct rows now = with_rows(s, rows, made_of);
            if (now.bytes > 0 && has_better_rows(s, &now, &best))
                best = now;
        }
    const bool may_cast = !s->casts && s->model->weight == 4 && sized(s, hidden, hidden, 2).made > 0;
    learn(s, GM_DIM_TOKENS, best.rows,
          may_cast         ? "doubtful: or twice as many, if autocast made numbers of half the width"
          : best.sides > 1 ? "what was made with so many rows of hidden, ffn or vocab"
                           : "doubtful: rows of one of hidden, ffn and vocab only");
}

static bool is_possible(const struct search *s, enum gm_dim dim, uint64_t value)
{
    return known(s, dim) == 0 || known(s, dim) == value;
}

/* Whether that many bytes are as many as what a router, or a norm, keeps for each token. */
static bool is_of_router(const struct search *s, uint64_t bytes)
{
    const uint64_t *d = s->model->dims.v, each = bytes / d[GM_DIM_TOKENS];
    return bytes % d[GM_DIM_TOKENS] == 0 &&
           (each == 4 || each == 8 || each == 2 * d[GM_DIM_EXPERTS] || each == 4 * d[GM_DIM_EXPERTS] ||
            each == 2 * d[GM_DIM_TOPK] || each == 4 * d[GM_DIM_TOPK] || each == 8 * d[GM_DIM_TOPK]);
}

/* How much speaks for a seq: masks, positions, rotary tables. */
static unsigned signs_of(const struct search *s, uint64_t seq, uint64_t head)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    const struct {
        uint64_t numbers, each;
    } signs[] = {{seq, 1}, {seq, 4}, {seq, 2}, {hidden, s->model->weight}, {head, 4}, {head / 2, 4}};
    unsigned n = 0;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        n += !is_of_router(s, seq * signs[i].numbers * signs[i].each) &&
             gm_census_find(s->census, seq * signs[i].numbers * signs[i].each).made > 0;
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
        const uint64_t of_experts[] = {hidden, ffn, 2 * ffn};
        if (row == hidden || 2 * row == hidden || row == 3 * hidden || row == ffn || row == 2 * ffn ||
            row == d[GM_DIM_VOCAB] || row == s->queries)
            return true;
        for (size_t i = 0; i < 3 && d[GM_DIM_TOPK] > 0; i++) {
            const uint64_t rows = d[GM_DIM_TOPK] * of_experts[i]; /* of one, if all have as many rows: */
            if (row == rows || gm_known_mul(row, d[GM_DIM_EXPERTS]) == rows)
                return true;
        }
    }
    return false;
}

static uint64_t width_of_queries(const struct search *s)
{
    return s->queries > 0 ? s->queries : known(s, GM_DIM_HIDDEN);
}

static unsigned usual(uint64_t head)
{
    return head == 64 || head == 128 ? 3 : head % 16 > 0 || head <= 16 ? 0 : head < 128 ? 2 : 1;
}

static uint64_t scores_of(const struct search *s, uint64_t tokens, uint64_t row, uint64_t each)
{
    return s->keeps ? sized(s, tokens, row, each).kept : made_of(s, tokens, row, each);
}

/* Scores with that row: of the width of activations, which is a sign, or in fp32, as softmax may have them. */
static void count_scores(const struct search *s, struct scores *out)
{
    const uint64_t tokens = known(s, GM_DIM_TOKENS), row = out->heads * out->seq;
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
    const uint64_t tokens = known(s, GM_DIM_TOKENS), heads = width_of_queries(s) / head;
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
    const uint64_t tokens = known(s, GM_DIM_TOKENS), queries = width_of_queries(s);
    struct scores all[MOST_HEAD + 1] = {{0}}, best = {0};
    uint64_t most = 0;
    for (uint64_t head = LEAST_HEAD; head <= MOST_HEAD && head <= queries; head++) {
        all[head] =
            queries % head > 0 || !is_possible(s, GM_DIM_HEAD, head) ? (struct scores){0} : scores_with(s, head);
        most = gm_max(most, all[head].bytes);
    }
    if (most < with_rows(s, tokens, scores_of).bytes / (s->keeps ? FEW_KEPT_SCORES : FEW_SCORES))
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
    const uint64_t tokens = known(s, GM_DIM_TOKENS), hidden = known(s, GM_DIM_HIDDEN);
    struct scores next = {0};
    if (tokens == 0 || tokens >= UINT32_MAX || hidden >= UINT32_MAX)
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

/* A fused kernel keeps a number for each token and head in each layer; told where heads of one usual width fit alone.
 */
static void find_heads_of_fused(struct search *s)
{
    static const uint64_t usual_heads[] = {64, 128};
    const uint64_t tokens = known(s, GM_DIM_TOKENS), layers = known(s, GM_DIM_LAYERS), queries = width_of_queries(s);
    uint64_t heads = 0, fits = 0;
    for (size_t i = 0; s->keeps && tokens > 0 && layers > 0 && i < 2; i++) {
        const uint64_t n = queries / usual_heads[i], bytes = gm_known_mul(gm_known_mul(tokens, n), 4);
        const uint64_t kept = gm_census_find(s->census, bytes).kept;
        if (queries % usual_heads[i] > 0 || n < 2 || kept < layers || is_of_router(s, bytes))
            continue;
        heads = n;
        fits++;
    }
    learn(s, GM_DIM_HEADS, fits == 1 ? heads : 0,
          "doubtful: as many numbers are kept for each token, as fused attention does");
}

/* Rows of hidden and of ffn that go through experts, so many times those of tokens; or, where each expert has its own
 * rows, what its router keeps: indices of 8 bytes and weights for so many. */
static void find_topk(struct search *s)
{
    const uint64_t tokens = known(s, GM_DIM_TOKENS), experts = known(s, GM_DIM_EXPERTS);
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), ffn = known(s, GM_DIM_FFN), each = s->model->activation;
    const uint64_t layers = known(s, GM_DIM_LAYERS);
    for (uint64_t k = 1; tokens > 0 && k <= experts && k <= MOST_EXPERTS; k++)
        if (made_of(s, gm_known_mul(tokens, k), hidden, each) > 0 && made_of(s, gm_known_mul(tokens, k), ffn, each) > 0)
            learn(s, GM_DIM_TOPK, k, "rows of hidden and of ffn for each token");
    for (uint64_t i = 1; tokens > 0 && i <= experts && i <= MOST_EXPERTS; i++) {
        const uint64_t k = i < experts ? i + 1 : 1; /* 1 last: norms, too, keep a number for each token */
        if (layers > 0 && sized(s, tokens, k, 8).kept >= layers && sized(s, tokens, k, 4).kept >= layers)
            learn(s, GM_DIM_TOPK, k, "doubtful: indices and weights of so many for each token");
    }
}

/* Smaller than hidden, twice in each layer: keys and values that several heads share. */
static void find_kv_heads(struct search *s)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN), head = known(s, GM_DIM_HEAD), layers = known(s, GM_DIM_LAYERS);
    const uint64_t heads = gm_min(known(s, GM_DIM_HEADS), MOST_HEADS);
    for (uint64_t n = 1; layers > 0 && head > 0 && n < heads; n++)
        if (n * head != known(s, GM_DIM_FFN) && parameters_of(s, n * head * hidden, s->model->weight) >= 2 * layers)
            learn(s, GM_DIM_KV_HEADS, n, "two matrices of hidden and so many heads in each layer");
    learn(s, GM_DIM_KV_HEADS, known(s, GM_DIM_HEADS), "heads");
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

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

static void complete_tokens(struct gm_dims *dims)
{
    complete(dims, GM_DIM_TOKENS, GM_DIM_BATCH, GM_DIM_SEQ);
}

/* Bytes of a number of a parameter where hidden was given. */
static void find_weight(struct search *s)
{
    const uint64_t hidden = known(s, GM_DIM_HIDDEN);
    if (s->model->weight == 0)
        s->model->weight = parameters_of(s, hidden, 4) == 0 && parameters_of(s, hidden, 2) > 0 ? 2 : 4;
}

/* Bytes of a number of an activation: as most of those with tokens*hidden numbers have; of narrow weights no wider. */
static void find_activation(struct search *s)
{
    const uint64_t tokens = known(s, GM_DIM_TOKENS), hidden = known(s, GM_DIM_HIDDEN);
    const uint64_t narrow = made_of(s, tokens, hidden, 2);
    const bool is_narrow = s->model->weight == 2 ? narrow > 0 : narrow > made_of(s, tokens, hidden, 4);
    s->model->activation = is_narrow ? 2 : 4;
    s->keeps = sized(s, tokens, hidden, s->model->activation).kept > 0;
}

bool gm_dims_infer(struct gm_model *model, const struct gm_census *census, struct gm_arena *arena)
{
    struct search s = {.model = model, .census = census, .arena = arena};
    struct gm_dims *dims = &model->dims;
    complete_tokens(dims);
    if (dims->v[GM_DIM_HIDDEN] == 0)
        complete(dims, GM_DIM_HIDDEN, GM_DIM_HEADS, GM_DIM_HEAD);
    find_hidden(&s);
    s.looks = 0;
    find_weight(&s);
    find_experts(&s);
    find_ffn(&s);
    find_vocab(&s);
    find_layers(&s);
    find_head(&s);
    find_tokens(&s);
    find_activation(&s);
    find_topk(&s);
    find_heads(&s);
    complete_tokens(dims);
    find_heads_of_fused(&s);
    if (s.queries > 0 && s.queries != dims->v[GM_DIM_HIDDEN] && dims->v[GM_DIM_HEAD] == 0 && dims->v[GM_DIM_HEADS] > 0)
        learn(&s, GM_DIM_HEAD, s.queries / dims->v[GM_DIM_HEADS], "of the others");
    complete(dims, GM_DIM_HIDDEN, GM_DIM_HEADS, GM_DIM_HEAD);
    find_kv_heads(&s);
    return !s.failed;
}
