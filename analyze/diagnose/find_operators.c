/* SPDX-License-Identifier: Apache-2.0
 *
 * What single operators make: scores of attention, copies of logits, casts of weights, blocks that wait for a stream.
 */
#include "analyze/diagnose/kept.h"
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"

#include <stdlib.h>

enum { SHIFTED = 50 /* a fiftieth */ };

/* Of one size in two, one or half as many bytes: other types, and masks. */
static bool is_size_of(uint64_t bytes, uint64_t of)
{
    return of > 0 && (bytes == of || bytes == 2 * of || 2 * bytes == of || 4 * bytes == of);
}

/* Logits may be there without their last position, too. */
static bool is_about(uint64_t bytes, uint64_t wanted)
{
    return (bytes > wanted ? bytes - wanted : wanted - bytes) <= wanted / SHIFTED;
}

static bool is_logits_of(uint64_t bytes, uint64_t of)
{
    for (uint64_t wanted = 2 * of; wanted >= of / 4 && wanted > 0; wanted /= 2)
        if (is_about(bytes, wanted))
            return true;
    return false;
}

/* The largest that code makes which is named a loss; 0: there is none. */
static uint64_t largest_of_loss(const struct gm_lives *l)
{
    uint64_t size = 0;
    for (size_t a = 0; a < l->h->allocation_count && (l->by_any & GM_BY_LOSS) != 0; a++)
        if (gm_requested(l->h, a) > size && (gm_lives_by(l, a) & GM_BY_LOSS) != 0 && l->h->born[a] > 0)
            size = gm_requested(l->h, a);
    return size;
}

/* Not what a forward pass keeps that the trace ends in. */
static bool is_for_good(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_lasting(l, a) && !gm_lives_is_role(l, a, GM_ROLE_ACTIVATION);
}

/* ---- attention --------------------------------------------------------------------------------------------------- */

/* Neither what is there for good, nor a weight, nor keys and values of what was said before. */
static bool may_be_score(const struct gm_lives *l, size_t a)
{
    return l->h->born[a] > 0 && !is_for_good(l, a) && !gm_lives_is_role(l, a, GM_ROLE_PARAMETER) &&
           !gm_lives_is_role(l, a, GM_ROLE_KV_CACHE);
}

enum { SCORES = 4 /* times as large as what the same code makes else: a matrix of length x length */ };

static bool is_by(const struct gm_lives *l, size_t a, unsigned by)
{
    return (gm_lives_by(l, a) & by) != 0 && (gm_lives_by(l, a) & GM_BY_LOSS) == 0 &&
           !gm_lives_is_role(l, a, GM_ROLE_KV_CACHE);
}

/* The largest size that the marked code makes, or makes for the peak, if two of it are there at the peak, most of the
 * peak's own round, and all else that the code makes in that round, if it does (`has_others`), is smaller by `SCORES`.
 * 0: there is none. */
static uint64_t scores_of(const struct gm_lives *l, unsigned by, bool is_for_peak, bool *has_others)
{
    uint64_t largest = 0, others = 0;
    uint32_t round = 0;
    size_t count = 0, kept = 0;
    *has_others = false;
    for (size_t i = 0; i < (is_for_peak ? l->there.n : l->h->allocation_count); i++) {
        const size_t a = is_for_peak ? l->there.v[i] : i;
        if (gm_requested(l->h, a) > largest && is_by(l, a, by)) {
            largest = gm_requested(l->h, a);
            round = gm_lives_round_of(l, a);
        }
    }
    if (largest == 0)
        return 0;
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        const bool is_one = is_size_of(gm_requested(l->h, a), largest) &&
                            (!is_for_peak || (gm_lives_by(l, a) & (by | GM_BY_NOBODY)) != 0) && l->h->born[a] > 0 &&
                            !is_for_good(l, a) && !gm_lives_is_of_weights(l, a);
        count += is_one;
        kept += is_one && gm_lives_round_of(l, a) < gm_lives_round(l, l->peak);
    }
    const uint32_t end = gm_lives_first_event(l, round + 1);
    for (uint32_t e = gm_next_made(l->h, gm_lives_first_event(l, round)); e < end; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        const uint64_t bytes = gm_requested(l->h, a);
        if (bytes > others && bytes < largest && is_by(l, a, by) && !is_size_of(bytes, largest))
            others = bytes;
    }
    *has_others = others > 0; /* else, where nothing is trained, one of each layer may be wanted */
    return count >= 2 && 2 * kept <= count && (others > 0 || l->has_backward) && largest / SCORES >= others ? largest
                                                                                                            : 0;
}

/* Of no code whose name tells: a few blocks of one size in a row, much larger than those before and after, which are
 * about as large as one another, twice before a backward pass: rows become a matrix of pairs and rows again, layer by
 * layer. */
enum {
    PAIRS = 8,           /* a feed-forward network's inner size is less, */
    PAIRS_OF_LAYERS = 5, /* but that is known where layers with a weight are modules */
    ALIKE = 4,
    LAYERS = 2,
    MOST_IN_ROW = 8
};
enum { TINY = 512 /* parts of the size */, BRIEF = 2 /* events: a workspace */ };

/* Whether what is made just before is so long that a sum of each of its numbers with each other one is that matrix, as
 * graph attention adds them: no product, so no fused call makes it. */
static bool is_sum_of_pairs(uint64_t vector, uint64_t matrix)
{
    return vector < UINT32_MAX && (vector * vector == 4 * matrix || vector * vector == 2 * matrix);
}

/* Blocks of one size, one made after the other. */
struct row {
    uint64_t before, least, vector; /* vector: just before it, but for workspaces */
    uint32_t blocks;
    uint32_t from, named;         /* of code whose name tells: its first event; how many are by the marked code */
    uint32_t stacks[MOST_IN_ROW]; /* of other code; likewise the next */
    uint32_t masks, between;      /* of a quarter of the size; and smaller ones, as a bias */
    bool is_counted, is_softmax;  /* is_softmax: PyTorch's is the first, so its input was made elsewhere */
};

static void add_to_row(struct row *row, uint64_t bytes, uint64_t before, uint64_t size)
{
    row->vector = row->blocks == 0 ? before : row->vector;
    row->blocks++;
    row->least = bytes > size / 4 && bytes < row->least ? bytes : row->least;
}

static bool is_matrix(const struct row *row, uint64_t after, uint64_t pairs)
{
    return !row->is_counted && !is_sum_of_pairs(row->vector, row->least) && row->blocks >= 2 &&
           row->blocks <= MOST_IN_ROW && row->between <= MOST_IN_ROW && 3 * row->masks <= row->blocks &&
           row->before > 0 && row->least / pairs >= row->before && row->least / pairs >= after &&
           row->before / ALIKE <= after && after / ALIKE <= row->before;
}

/* Whether it says nothing of what follows what. */
static bool is_aside(const struct gm_lives *l, size_t a, uint64_t size)
{
    return gm_requested(l->h, a) <= size / TINY || gm_lives_is_role(l, a, GM_ROLE_WORKSPACE) ||
           l->h->freed[a] <= l->h->born[a] + BRIEF;
}

enum { OF_ROWS = 32 /* parts of the size: a number for each row of the scores, as a softmax makes them in between */ };

/* Scores and their softmax, one after the other, after something smaller. A fused kernel makes one block, of its
 * inputs' size. */
static bool are_scores(const struct row *row, bool is_mixed)
{
    return row->before > 0 && row->blocks >= 2 && !row->is_softmax && !is_sum_of_pairs(row->vector, row->least) &&
           (is_mixed ? row->named > 0 && row->before <= row->least / SCORES : row->before < row->least);
}

static bool is_in_row(const struct gm_lives *l, size_t a, uint64_t size, unsigned by, bool is_mixed)
{
    const unsigned others = GM_BY_NOBODY | GM_BY_LOSS | GM_BY_OPTIMIZER | GM_BY_LINEAR;
    return is_size_of(gm_requested(l->h, a), size) && (gm_lives_by(l, a) & (is_mixed ? others : GM_BY_NOBODY)) == 0 &&
           (is_mixed || is_by(l, a, by)) && !gm_lives_is_of_weights(l, a);
}

/* Whether it is as large as the cast of a weight, or of a part of one that queries, keys and values share: that
 * stands between rows, and is none. */
static bool is_cast_of(const struct gm_sizes *weights, uint64_t bytes)
{
    return gm_sizes_has(weights, 2 * bytes) || gm_sizes_has(weights, 2 * 3 * bytes);
}

/* How many rows of scores of that size the marked code makes in one round; `is_mixed`: with what other code makes in
 * between. Marks the stacks that make them. */
static uint32_t rows_of_scores(const struct gm_lives *l, const struct gm_sizes *weights, uint64_t size, unsigned by,
                               bool is_mixed, bool *makes)
{
    const unsigned softmax = GM_BY_SOFTMAX | GM_BY_TORCH;
    const struct gm_history *h = l->h;
    struct row row = {.least = size};
    uint32_t found = 0, most = 0, last = 0;
    uint64_t made = 0, before = 0; /* by the last events, but workspaces */
    for (uint32_t e = 0; e <= h->count; e++) {
        const uint32_t a = e < h->count ? gm_made_by(h, e) : GM_NEVER;
        const bool is_new = a != GM_NEVER;
        if (!is_new && e < h->count)
            continue;
        before = made;
        made = is_new && h->freed[a] > h->born[a] + BRIEF ? gm_requested(h, a) : made;
        if (is_new && is_in_row(l, a, size, by, is_mixed) && (gm_requested(h, a) > size / 4 || row.blocks > 0)) {
            row.from = row.blocks == 0 ? e : row.from;
            row.is_softmax = row.blocks == 0 ? (gm_lives_by(l, a) & softmax) == softmax : row.is_softmax;
            row.named += is_by(l, a, by);
            add_to_row(&row, gm_requested(h, a), before, size);
            continue;
        }
        if (is_new && (is_aside(l, a, size) || is_cast_of(weights, gm_requested(l->h, a)) ||
                       (row.blocks > 0 && gm_requested(h, a) <= size / OF_ROWS)))
            continue;
        /* What a layer with a weight makes of what is there at once is rows, as it is: a fused kernel's output. */
        const bool is_read = is_new && (gm_lives_by(l, a) & GM_BY_LINEAR) != 0 && is_size_of(gm_requested(h, a), size);
        const bool is_one = !is_read && are_scores(&row, is_mixed);
        for (uint32_t i = row.from; is_one && i < e; i++) {
            const uint32_t of = gm_made_by(h, i);
            if (of != GM_NEVER && is_in_row(l, of, size, by, is_mixed))
                makes[gm_lives_stack(l, of)] = true;
        }
        found = (gm_lives_round(l, e + 1) == last ? found : 0) + is_one;
        most = found > most ? found : most;
        last = gm_lives_round(l, e + 1);
        row = (struct row){.before = is_new ? gm_requested(h, a) : 0, .least = size};
    }
    return most;
}

/* Of code whose name tells. 0: it makes none. `makes` as above. */
static uint64_t named_scores(const struct gm_lives *l, const struct gm_sizes *weights, bool *makes)
{
    const unsigned by = GM_BY_ATTENTION | GM_BY_SOFTMAX;
    bool has_others = false;
    uint64_t size = scores_of(l, by, true, &has_others);
    uint32_t least = has_others ? 1 : LAYERS;
    if (size == 0) { /* none of that code at the peak: others' of that size, if layers make it, no choice of a word */
        size = scores_of(l, by, false, &has_others);
        least = LAYERS;
    }
    if (size == 0 || ((!has_others || rows_of_scores(l, weights, size, by, false, makes) < least) &&
                      rows_of_scores(l, weights, size, GM_BY_SOFTMAX, true, makes) < least))
        return 0;
    for (size_t i = 0; i < l->snapshot->stacks.count; i++)
        makes[i] |= (l->by[i] & by) != 0;
    return size;
}

/* Whether layers with a weight are modules that are called: else nobody knows where the next one begins. */
static bool calls_layers(const struct gm_lives *l)
{
    const unsigned call = GM_BY_LINEAR | GM_BY_MODULE;
    bool does = false;
    for (size_t i = 0; i < l->snapshot->stacks.count && !does; i++)
        does = (l->by[i] & call) == call;
    return does;
}

/* Whether a line that makes some of it makes what is there after it, too, called from elsewhere: a layer with a weight,
 * of the program's own. */
static bool is_by_layer(struct gm_lives *l, const struct row *row, uint32_t after)
{
    bool is_one = false;
    for (uint32_t i = 0; i < row->blocks && !is_one; i++)
        is_one = row->stacks[i] != after && gm_lives_is_line_elsewhere(l, row->stacks[i], after);
    return is_one;
}

/* Whether blocks of that size stand so. A quarter of it among them may be a mask. Marks the stacks that make them. */
static bool are_matrices(struct gm_lives *l, uint64_t size, bool *makes)
{
    const bool has_layers = calls_layers(l);
    struct row row = {.least = size};
    uint32_t found = 0, last = 0;
    uint64_t made = 0, before = 0; /* by the last events, but workspaces */
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count && found < LAYERS; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        const uint64_t bytes = gm_requested(l->h, a);
        before = made;
        made = l->h->freed[a] > l->h->born[a] + BRIEF ? bytes : made;
        const uint32_t round = gm_lives_round(l, e + 1);
        if ((gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_LOSS | GM_BY_OPTIMIZER)) != 0 ||
            (l->h->freed[a] == GM_NEVER && !l->has_oom) || gm_lives_is_role(l, a, GM_ROLE_INPUT) || round != last) {
            row = (struct row){.least = size};
            found = 0;
            last = round;
        } else if (is_aside(l, a, size)) {
            continue;
        } else if (is_size_of(bytes, size) && (gm_lives_by(l, a) & (GM_BY_LINEAR | GM_BY_RESIZING)) == 0 &&
                   !gm_lives_is_role(l, a, GM_ROLE_KV_CACHE) && (bytes > size / 4 || row.blocks > 0)) {
            if (row.blocks < MOST_IN_ROW)
                row.stacks[row.blocks] = gm_lives_stack(l, a);
            makes[gm_lives_stack(l, a)] |= row.is_counted;
            row.masks += bytes <= size / 4;
            add_to_row(&row, bytes, before, size);
        } else {
            const bool is_one = is_matrix(&row, bytes, has_layers ? PAIRS_OF_LAYERS : PAIRS) &&
                                !is_by_layer(l, &row, gm_lives_stack(l, a));
            for (uint32_t i = 0; is_one && i < row.blocks; i++)
                makes[row.stacks[i]] = true;
            found += is_one;
            row.is_counted |= is_one;
            if (row.blocks == 0 || bytes > row.least / ALIKE || !has_layers ||
                (gm_lives_by(l, a) & GM_BY_LINEAR) != 0) /* else a bias, a mask: up to the next layer with a weight */
                row = (struct row){.before = bytes, .least = size};
            row.between += row.blocks > 0;
        }
    }
    return found >= LAYERS;
}

/* Whether most that is made of just that size is no such matrix: then it is the rows that are large, and what stands
 * before them is a number for each, as of the edges of a graph. */
static bool are_rows(const struct gm_lives *l, uint64_t size, const bool *makes)
{
    size_t inside = 0, outside = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const bool counts = gm_requested(l->h, a) == size && l->h->born[a] > 0 && !gm_lives_is_of_weights(l, a) &&
                            !gm_lives_is_of_engine(l, a);
        inside += counts && makes[gm_lives_stack(l, a)];
        outside += counts && !makes[gm_lives_stack(l, a)];
    }
    return outside > inside;
}

/* Whether backward passes go on from what is as large as products of two activations do: with the gradient of the other
 * one, which is rows. Of features of the edges of a graph, which are multiplied with weights, a weight's gradient, or
 * its cast's, follows at once; of what is only weighed and added up nothing as large as rows does. A bias that all of a
 * batch share is a part of the block, a scale for each head is tiny. */
static bool are_products(const struct gm_lives *l, const struct gm_sizes *weights, uint64_t size)
{
    enum { WEIGHT = 4096 /* bytes */, BATCH = 64, MANY = 3 };
    size_t of_weights = 0, rows = 0, all = 0;
    bool is_after = false;
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        const uint64_t bytes = gm_requested(l->h, a);
        if (l->h->freed[a] <= e + 1 + BRIEF)
            continue;
        const bool is_one = gm_lives_is_of_engine(l, a) && is_size_of(bytes, size) && bytes > size / 4;
        const bool is_of_weight = is_after && !is_one && bytes >= WEIGHT &&
                                  (size % bytes != 0 || bytes < size / BATCH) &&
                                  (gm_lives_is_role(l, a, GM_ROLE_GRADIENT) || gm_sizes_has(weights, 2 * bytes));
        of_weights += is_of_weight;
        rows += is_after && !is_one && !is_of_weight && bytes > size / TINY;
        all += is_after && !is_one;
        is_after = is_one;
    }
    return all == 0 || (rows >= LAYERS && (of_weights < LAYERS || rows > MANY * of_weights));
}

/* Whether layers with weights are around them: modules tell; else there are weights, and if anything is trained, a
 * backward pass uses them. Kernels, filters and distances of all pairs need neither. */
static bool are_of_layers(const struct gm_lives *l, uint64_t size, const bool *makes)
{
    bool has_weights = false, is_used = !l->has_backward;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        has_weights |= gm_lives_is_role(l, a, GM_ROLE_PARAMETER);
        is_used = is_used || (makes[gm_lives_stack(l, a)] && is_size_of(gm_requested(l->h, a), size) &&
                              gm_lives_phase(l, l->h->freed[a] - 1) == GM_PHASE_BACKWARD);
    }
    return calls_layers(l) || (has_weights && is_used);
}

/* The largest size of which there are two at the peak, if they are such matrices; not that of what a loss makes, or
 * of what it was cast from, which may be larger. 0: there is none. `makes` as above. */
static uint64_t matrices_of(struct gm_lives *l, const struct gm_sizes *weights, bool *makes)
{
    const uint64_t logits = largest_of_loss(l);
    uint64_t size = 0;
    size_t count = 0;
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        if (may_be_score(l, a) && gm_requested(l->h, a) > size && (gm_lives_by(l, a) & GM_BY_NOBODY) == 0 &&
            !is_about(gm_requested(l->h, a), logits) && !is_about(2 * gm_requested(l->h, a), logits))
            size = gm_requested(l->h, a);
    }
    for (size_t i = 0; i < l->there.n; i++)
        count += l->h->born[l->there.v[i]] > 0 && is_size_of(gm_requested(l->h, l->there.v[i]), size);
    if (count < 2 || !gm_is_share(count * size, l->at_peak, 0.06) || !are_matrices(l, size, makes))
        return 0;
    gm_lives_mark_lines(l, makes); /* also as a checkpoint of the program's own calls them */
    return !are_rows(l, size, makes) && are_of_layers(l, size, makes) && are_products(l, weights, size) ? size : 0;
}

/* Rounds of other lengths have other sizes: for each round the largest that lines make which somewhere make one of that
 * size, and `size` where they make nothing worth a word. `makes` is the stacks of those lines then. NULL: no memory. */
static uint64_t *sizes_of_rounds(struct gm_lives *l, uint64_t size, bool (*is_of)(uint64_t, uint64_t), bool *makes)
{
    uint64_t *sizes = gm_lives_scratch(l, l->rounds.n + 1, sizeof *sizes);
    GM_FREED bool *is_met = gm_lives_of_stacks(l, sizeof *is_met);
    if (*l->failed)
        return sizes;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        is_met[gm_lives_stack(l, a)] |= l->h->born[a] > 0 && is_of(gm_requested(l->h, a), size);
    for (size_t s = 0; s < l->snapshot->stacks.count; s++)
        makes[s] = makes[s] && is_met[s];
    gm_lives_mark_lines(l, makes); /* also as evaluation calls them */
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        uint64_t *largest = &sizes[gm_lives_round(l, l->h->born[a])];
        const uint64_t bytes = gm_requested(l->h, a);
        if (l->h->born[a] > 0 && makes[gm_lives_stack(l, a)] && bytes > *largest && bytes <= size)
            *largest = bytes;
    }
    for (size_t r = 0; r <= l->rounds.n; r++)
        sizes[r] = sizes[r] < l->at_peak / GM_LEAST_SHARE ? size : sizes[r];
    return sizes;
}

/* Whether it is of an engine's pass that lasts, as where gradients may be differentiated, too: no weight has its size.
 */
static bool is_gradient_of_none(const struct gm_lives *l, const struct gm_sizes *weights, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && !gm_sizes_has(weights, gm_requested(l->h, a));
}

/* The sizes that lines make elsewhere of which all is scores where they make those of `size`: as an encoder calls what
 * a decoder calls, too. */
static void sizes_of_calls(struct gm_lives *l, uint64_t size, const bool *makes, struct gm_sizes *sizes)
{
    GM_FREED bool *has_scores = gm_lives_of_stacks(l, sizeof *has_scores);
    GM_FREED bool *has_others = gm_lives_of_stacks(l, sizeof *has_others);
    GM_FREED struct gm_set set = {.v = NULL};
    if (*l->failed)
        return;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        has_scores[gm_lives_stack(l, a)] |= makes[gm_lives_stack(l, a)] && is_size_of(gm_requested(l->h, a), size);
    for (size_t a = 0; a < l->h->allocation_count; a++)
        has_others[gm_lives_stack(l, a)] |=
            has_scores[gm_lives_stack(l, a)] && !is_size_of(gm_requested(l->h, a), size);
    gm_lives_mark_lines(l, has_scores);
    gm_lives_mark_lines(l, has_others);
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (has_scores[gm_lives_stack(l, a)] && !has_others[gm_lives_stack(l, a)] &&
            gm_requested(l->h, a) > size / OF_ROWS)
            gm_set_drop(&set, a);
    *l->failed |= set.failed;
    gm_sizes_of_set(sizes, l, &set);
}

/* Of that size, or as other types and masks have it; what autograd makes for them is no mask. */
static bool is_score(const struct gm_lives *l, size_t a, uint64_t size, const struct gm_sizes *elsewhere,
                     const bool *makes)
{
    const uint64_t bytes = gm_requested(l->h, a);
    if (gm_lives_is_of_engine(l, a))
        return is_size_of(bytes, size) && bytes > size / 4;
    return makes[gm_lives_stack(l, a)] && (is_size_of(bytes, size) || gm_sizes_has(elsewhere, bytes) ||
                                           gm_sizes_has(elsewhere, 2 * bytes) || gm_sizes_has(elsewhere, 4 * bytes));
}

/* All that these lines made, and that are not there for good. */
static void collect_scores(struct gm_lives *l, struct gm_set *set, const struct gm_sizes *weights, uint64_t size,
                           bool *makes)
{
    GM_FREED struct gm_sizes elsewhere = {.v = NULL};
    GM_FREED uint64_t *sizes = sizes_of_rounds(l, size, is_size_of, makes);
    sizes_of_calls(l, size, makes, &elsewhere);
    for (size_t a = 0; !*l->failed && a < l->h->allocation_count; a++)
        if (!l->taken[a] && may_be_score(l, a) &&
            is_score(l, a, sizes[gm_lives_round(l, l->h->born[a])], &elsewhere, makes) &&
            (!gm_lives_is_of_weights(l, a) || is_gradient_of_none(l, weights, a)))
            gm_set_drop(set, a);
}

/* A graph may keep what a finding is about, however it is computed. */
static void leave_to_graphs(struct gm_lives *l, const struct gm_finding *f)
{
    for (size_t i = 0; f != NULL && f->remedy != NULL && i < f->remedy->count; i++)
        gm_lives_take(l, f->remedy->changes[i].allocation, GM_TAKEN_IN_FORM);
}

static void find_attention(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    for (size_t a = 0; (l->by_any & GM_BY_MATH_ATTENTION) != 0 && a < l->h->allocation_count; a++)
        if ((gm_lives_by(l, a) & GM_BY_MATH_ATTENTION) != 0 && l->h->born[a] > 0)
            gm_set_drop(&set, a);
    if (set.n > 0) {
        leave_to_graphs(
            c->lives,
            gm_case_accuse(
                c, rule, &set, false,
                "scaled_dot_product_attention fell back to its unfused code, which makes the scores of all pairs "
                "of positions"));
        return;
    }
    GM_FREED bool *makes = gm_lives_of_stacks(l, sizeof *makes);
    GM_FREED struct gm_sizes weights = {.v = NULL};
    if (makes == NULL)
        return;
    gm_sizes_of_role(&weights, l, GM_ROLE_PARAMETER);
    uint64_t size = named_scores(l, &weights, makes);
    size = size > 0 ? size : matrices_of(c->lives, &weights, makes);
    if (size == 0)
        return;
    collect_scores(c->lives, &set, &weights, size, makes);
    const char *function = gm_lives_function(c->lives, &set);
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, false,
        "attention makes the scores of all pairs of positions, their softmax and more of that size, several times "
        "larger than anything else in it: it is written by hand, or scaled_dot_product_attention fell back to its "
        "unfused code");
    if (f != NULL && function != NULL)
        f->site = function;
    leave_to_graphs(c->lives, f);
}

/* ---- the loss ---------------------------------------------------------------------------------------------------- */

enum {
    COPIES = 3,
    PLAIN = 2 /* logits and their logarithms */,
    CHUNKS = 8,
    WIDER = PAIRS,
    MOST_OF_LOSS = 16 /* one after the other: what has more is layers */,
    LEAST_ENDS = 2
};
#define LEAST_LOGITS 0.03 /* of the peak */

/* Whether it is what a layer with weights made as it ran, not when these were set up, nor a workspace. */
static bool is_call(const struct gm_lives *l, size_t a)
{
    const unsigned call = GM_BY_LINEAR | GM_BY_MODULE;
    return (gm_lives_by(l, a) & call) == call && l->h->freed[a] > l->h->born[a] + BRIEF;
}

/* Whether layers with weights make about that size in more than one line: it is no end of a forward pass. */
static bool is_of_layers(struct gm_lives *l, uint64_t size)
{
    uint32_t first = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t stack = gm_lives_stack(l, a);
        if (!is_call(l, a) || !is_logits_of(gm_requested(l->h, a), size))
            continue;
        if (first > 0 && stack != first && !gm_lives_is_line_elsewhere(l, first, stack)) /* of another pass of it */
            return true;
        first = stack;
    }
    return false;
}

/* Whether the last of the row and that one, of different stacks, followed each other before: what does so are layers.
 */
static bool is_repeated(const uint32_t *row, size_t n, uint32_t stack)
{
    size_t i = 0;
    while (i + 2 < n && (row[i] != row[n - 1] || row[i + 1] != stack))
        i++;
    return i + 2 < n && row[n - 1] != stack;
}

/* Of no code whose name tells: the largest size at the peak, if the forward pass ends in it, of something smaller by
 * `WIDER`, as a projection to all words makes it, twice, and one of the first two gradients is that of one of the
 * largest weights, or of its use in this place; a layer with weights that makes it need not be trained. 0: there is
 * none. */
static uint64_t wide_end_of(struct gm_lives *l)
{
    uint64_t size = 0, before = 0, gradient = 0;
    bool is_wide = false, is_ended = false, is_head = false;
    size_t ends = 0, gradients = 0, in_row = 0;
    uint32_t row[MOST_OF_LOSS]; /* the stacks that made what stands there in a row */
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        if (l->h->born[a] > 0 && !is_for_good(l, a) && gm_requested(l->h, a) > size && !is_aside(l, a, size))
            size = gm_requested(l->h, a);
    }
    for (size_t a = 0; size > 0 && a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_GRADIENT) && gm_requested(l->h, a) > gradient)
            gradient = gm_requested(l->h, a);
    for (uint32_t e = gm_next_made(l->h, 0); e < l->h->count && size > 0; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = gm_made_by(l->h, e);
        const uint64_t bytes = gm_requested(l->h, a);
        is_ended = is_ended && gm_lives_is_of_backward(l, a);
        is_wide = is_wide && !(is_call(l, a) && !is_logits_of(bytes, size)); /* another layer, however small */
        if (gm_lives_is_of_backward(l, a)) {
            ends += is_wide && is_head;
            is_wide = is_wide && !is_head;
            if (is_wide && gm_lives_is_role(l, a, GM_ROLE_GRADIENT)) {
                is_wide = ++gradients < 2 && bytes < gradient / 2;
                is_ended = bytes >= gradient / 2;
                ends += is_ended;
            } else if (is_ended && is_logits_of(bytes, size) && !is_aside(l, a, size)) {
                ends--; /* a layer's, and what it was made of is as large */
                is_ended = false;
            }
            before = in_row = 0;
        } else if (is_aside(l, a, size)) {
            continue;
        } else if (is_logits_of(bytes, size)) {
            gradients = 0;
            is_head = is_wide ? is_head : is_call(l, a);
            is_wide = is_wide || (before > 0 && before <= size / WIDER);
            is_wide = is_wide && in_row < MOST_OF_LOSS && !is_repeated(row, in_row, gm_lives_stack(l, a));
            row[is_wide ? in_row : 0] = gm_lives_stack(l, a);
            in_row = is_wide ? in_row + 1 : MOST_OF_LOSS;
        } else {
            is_wide = is_wide && (is_head || bytes < before);
            in_row = 0;
            before = is_for_good(l, a) ? 0 : bytes;
        }
    }
    return ends >= LEAST_ENDS && !is_of_layers(l, size) ? size : 0;
}

static uint64_t largest_weight(const struct gm_lives *l)
{
    uint64_t largest = 0;
    for (size_t a = 0; a < l->h->allocation_count; a++)
        if (gm_lives_is_role(l, a, GM_ROLE_PARAMETER) && gm_requested(l->h, a) > largest)
            largest = gm_requested(l->h, a);
    return largest;
}

/* Of a backward pass that ends at that moment: of what is made while its last block of that size is there two are
 * equally large, and none stays, nor its cast. A product with a weight has a gradient that stays, or is as large as the
 * largest, most of which was used, and is added to that of another use, and another of another size. */
static bool has_twins(const struct gm_lives *l, uint64_t size, size_t last, uint32_t end)
{
    const struct gm_history *h = l->h;
    const uint64_t weight = largest_weight(l);
    uint64_t first = 0;
    bool is_found = false;
    for (uint32_t e = h->born[last]; e < end && e < h->freed[last]; e++) {
        const uint32_t a = gm_made_by(h, e);
        if (a == GM_NEVER || is_aside(l, a, size))
            continue;
        if (h->freed[a] > end || (gm_requested(h, a) <= weight && gm_requested(h, a) >= weight - weight / SHIFTED))
            return false;
        is_found |= gm_requested(h, a) == first;
        first = first > 0 ? first : gm_requested(h, a);
    }
    const uint32_t next = gm_next_made(h, h->freed[last]), cast = next < end ? gm_made_by(h, next) : GM_NEVER;
    return is_found && (cast == GM_NEVER || h->freed[cast] <= end || gm_requested(h, cast) != 2 * first);
}

/* Whether what a loss makes of that size are similarities of a batch with a batch, not with the rows of a weight: the
 * first backward pass that tells. */
static bool is_of_pairs(const struct gm_lives *l, uint64_t size)
{
    const struct gm_history *h = l->h;
    size_t last = SIZE_MAX;
    for (uint32_t e = gm_next_made(h, 0); e < h->count; e = gm_next_made(h, e + 1)) {
        const uint32_t a = gm_made_by(h, e);
        if (gm_lives_is_of_engine(l, a)) {
            last =
                is_logits_of(gm_requested(h, a), size) && gm_requested(h, a) > size / 3 && h->freed[a] > e + 1 + BRIEF
                    ? a
                    : last;
        } else if (last != SIZE_MAX) {
            return has_twins(l, size, last, e + 1);
        }
    }
    return false;
}

/* What the loss asked for when memory ran out beside the peak: a copy that is nowhere. 0: it did not, or not there. */
static uint64_t refused_copy(const struct gm_lives *l)
{
    const uint64_t row = l->h->first + l->first_oom;
    return l->has_oom && gm_lives_round(l, l->first_oom) == gm_lives_round(l, l->peak) &&
                   (l->by[gm_event_stack(&l->snapshot->events, row).v] & GM_BY_LOSS) != 0 &&
                   gm_event_size(&l->snapshot->events, row) != GM_ABSENT
               ? gm_event_size(&l->snapshot->events, row)
               : 0;
}

/* Marks the stacks that make about that size before the last layer of another size that leads to the loss of the peak's
 * round: layers may be as wide. */
static void mark_layers(const struct gm_lives *l, uint64_t size, bool *is_layer)
{
    const struct gm_history *h = l->h;
    const uint32_t round = gm_lives_round(l, l->peak);
    uint32_t from = GM_NEVER, last = 0;
    for (uint32_t e = gm_next_made(h, 0); e < h->count && gm_lives_round(l, e + 1) <= round;
         e = gm_next_made(h, e + 1)) {
        const uint32_t a = gm_made_by(h, e);
        const bool is_wide = is_logits_of(gm_requested(h, a), size);
        if (gm_lives_round(l, e + 1) < round)
            continue;
        if ((gm_lives_by(l, a) & GM_BY_LOSS) != 0 && is_wide)
            break;
        from = e < from ? e : from;
        last = is_call(l, a) && !is_wide ? e : last;
    }
    for (uint32_t e = from; e < last; e = gm_next_made(h, e + 1)) {
        const uint32_t a = gm_made_by(h, e);
        if (is_logits_of(gm_requested(h, a), size))
            is_layer[gm_lives_stack(l, a)] = true;
    }
}

/* Copies of logits at the peak, with the one that memory ran out for: of what size, and how many; of these, of that
 * round's forward pass, and of the loss. */
struct logits {
    uint64_t size;
    bool is_named; /* by the loss, which makes one of them */
    size_t copies, of_forward, of_loss;
};

/* What is named a loss may make no more than numbers; without layers there is none of which it is the end. Of several
 * copies none need be large. */
static void find_size(struct logits *f, struct gm_lives *l, uint64_t refused)
{
    const uint64_t named = gm_max(refused, largest_of_loss(l));
    f->is_named = gm_is_share(named, l->at_peak, LEAST_LOGITS);
    f->size = !f->is_named && (gm_lives_has_modules(l) || l->first_backward < l->h->count) ? wide_end_of(l) : named;
    if (f->size == 0 && gm_is_share(named, l->at_peak, LEAST_LOGITS / 2) && !is_of_layers(l, named)) {
        f->size = named;
        f->is_named = true;
    }
}

/* Behind the layer that made logits, if no later one runs, what comes before the loss may copy them, too. */
static void count_copies(struct logits *f, const struct gm_lives *l, const bool *is_layer, const bool *is_unused)
{
    const uint32_t round = gm_lives_round(l, l->peak);
    size_t behind = 0;
    bool is_behind = false;
    for (size_t a = 0; a < l->h->allocation_count && l->h->born[a] <= l->peak; a++) {
        const bool is_forward = !gm_lives_is_of_backward(l, a) && gm_lives_round(l, l->h->born[a]) == round;
        const bool is_alike =
            l->h->born[a] > 0 && !is_layer[gm_lives_stack(l, a)] && is_logits_of(gm_requested(l->h, a), f->size);
        if (is_forward && is_call(l, a)) {
            is_behind = is_alike;
            behind = 0;
        } else if (is_forward && is_behind && is_alike) {
            behind += gm_lives_at_peak(l, a);
        }
        if (is_alike && gm_lives_at_peak(l, a) && !is_for_good(l, a) && !is_unused[a]) {
            f->copies++;
            f->of_loss += !f->is_named || (gm_lives_by(l, a) & GM_BY_LOSS) != 0;
            f->of_forward += is_forward;
        }
    }
    f->of_loss += behind;
}

/* `least`: the backward pass makes one more, which nobody came to where memory ran out for one. */
static bool are_many(const struct logits *f, const struct gm_lives *l, size_t least)
{
    const bool is_small = !gm_is_share(f->size, l->at_peak, LEAST_LOGITS);
    return f->copies >= least && (!is_small || f->copies <= MOST_OF_LOSS) && f->of_loss > 0 &&
           gm_is_share(f->copies * f->size, l->at_peak, (double)least * LEAST_LOGITS) && !is_of_pairs(l, f->size);
}

static bool has_copies(struct logits *f, const struct gm_lives *l, const bool *is_layer, const bool *is_unused,
                       bool is_refused)
{
    f->copies = f->of_forward = f->of_loss = is_refused;
    count_copies(f, l, is_layer, is_unused);
    return are_many(f, l, is_refused ? PLAIN : COPIES);
}

/* [allocation] What a training run makes for no backward pass, as an evaluation without inference_mode: its logits go
 * with all of its graph. */
static void mark_unused(struct gm_case *c, bool *is_unused)
{
    struct gm_set unused = {.v = NULL};
    GM_FREED bool *are_of_none = gm_calls_without_graph(c->lives);
    if (c->lives->has_backward)
        gm_unused_graphs(c, &unused);
    for (size_t i = 0; are_of_none != NULL && i < unused.n; i++)
        is_unused[unused.v[i].allocation] = are_of_none[gm_lives_stack(c->lives, unused.v[i].allocation)];
    gm_case_free_set(c, &unused);
}

static void find_logits(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    const uint64_t refused = refused_copy(l);
    struct gm_set set = {.v = NULL};
    struct logits found = {.size = 0};
    GM_FREED bool *makes = gm_lives_of_stacks(l, sizeof *makes);
    GM_FREED bool *is_layer = gm_lives_of_stacks(l, sizeof *is_layer);
    GM_FREED bool *is_unused = gm_lives_scratch(l, l->h->allocation_count + 1, sizeof *is_unused);
    if (c->failed)
        return;
    find_size(&found, c->lives, refused);
    if (found.size == 0)
        return;
    if (found.is_named)
        mark_layers(l, found.size, is_layer);
    if (!has_copies(&found, l, is_layer, is_unused, refused > 0))
        return;
    mark_unused(c, is_unused); /* takes long: asked only where there are some */
    if (!has_copies(&found, l, is_layer, is_unused, refused > 0))
        return;
    for (size_t i = 0; i < l->snapshot->stacks.count; i++)
        makes[i] = (l->by[i] & GM_BY_NOBODY) == 0 && !is_layer[i];
    GM_FREED uint64_t *sizes = sizes_of_rounds(c->lives, found.size, is_logits_of, makes);
    for (size_t a = 0; !c->failed && a < l->h->allocation_count; a++)
        if (l->h->born[a] > 0 && !is_for_good(l, a) && !is_unused[a] && !is_layer[gm_lives_stack(l, a)] &&
            is_logits_of(gm_requested(l->h, a), sizes[gm_lives_round(l, l->h->born[a])]))
            gm_set_shrink(&set, a, gm_requested(l->h, a) / CHUNKS);
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false,
                       "logits of all positions, their logarithms, casts and gradients are there at once, each as "
                       "large as the vocabulary times the positions");
    if (found.of_forward <= PLAIN) /* as every such loss has it */
        gm_case_is_choice(f);
}

/* ---- autocast ---------------------------------------------------------------------------------------------------- */

enum { CASTS = 4 /* fewer may be there by chance */, AT_USE = 4 /* allocations: a bias, an output, a workspace */ };

/* Of one size: the weights, what is half as large beside them at the peak, and at any time; of that what is read once.
 */
struct pair {
    uint64_t weight;
    uint32_t weights, casts;
    uint32_t from, to, passing; /* births of the first and the last cast; in training, what was made in between and is
                                   not there: then activations have that size */
    size_t halves, uses;
    bool is_trained;
};
struct pairs GM_VEC(struct pair);

static struct pair *find_pair(const struct pairs *pairs, uint64_t weight)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (pairs->v[i].weight == weight)
            return &pairs->v[i];
    return NULL;
}

/* As many as weights, and few others of that size. */
static bool are_casts(const struct pair *pair)
{
    return pair->casts > 0 && pair->casts + pair->passing <= pair->weights + pair->weights / 8 + 1;
}

static bool is_cast(const struct gm_lives *l, size_t a)
{
    return !l->taken[a] && l->h->born[a] > 0 && !gm_lives_is_of_weights(l, a) &&
           (gm_lives_by(l, a) & GM_BY_DROPOUT) == 0 && (l->h->freed[a] != GM_NEVER || !gm_lives_is_lasting(l, a));
}

static void count_pairs(const struct gm_lives *l, struct pairs *pairs)
{
    uint32_t casts = 0;
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        if (l->role[a] != GM_ROLE_PARAMETER || gm_requested(l->h, a) < l->at_peak / 2000)
            continue;
        struct pair *pair = find_pair(pairs, gm_requested(l->h, a));
        if (pair != NULL)
            pair->weights++;
        else
            *l->failed |= !GM_VEC_PUSH(pairs, ((struct pair){.weight = gm_requested(l->h, a), .weights = 1}));
    }
    for (size_t i = 0; i < l->there.n; i++) {
        const uint32_t a = l->there.v[i];
        struct pair *pair = is_cast(l, a) ? find_pair(pairs, 2 * gm_requested(l->h, a)) : NULL;
        if (pair == NULL)
            continue;
        pair->from = pair->casts == 0 ? l->h->born[a] : pair->from;
        pair->to = l->h->born[a];
        pair->casts++;
        casts++;
    }
    for (size_t a = 0; casts > 0 && l->has_backward && a < l->h->allocation_count; a++) {
        struct pair *pair = is_cast(l, a) && !gm_lives_at_peak(l, a) && !gm_lives_is_of_engine(l, a)
                                ? find_pair(pairs, 2 * gm_requested(l->h, a))
                                : NULL;
        if (pair != NULL)
            pair->passing += l->h->born[a] > pair->from && l->h->born[a] < pair->to;
    }
}

/* Whether it goes as soon as what is made of it is there, which is no cast and has another size than casts; or is kept
 * for a backward pass, and the same call makes that. */
static bool is_used_once(const struct gm_lives *l, const struct pairs *pairs, size_t a)
{
    const struct gm_history *h = l->h;
    const bool is_kept = gm_lives_goes_in_backward(l, a);
    bool is_read = false;
    uint32_t n = 0;
    for (uint32_t e = gm_next_made(h, h->born[a]); e + 1 < h->freed[a] && e < h->count && n <= AT_USE; n++) {
        const uint32_t made = gm_made_by(h, e);
        is_read |= find_pair(pairs, 2 * gm_requested(h, made)) == NULL &&
                   (is_kept ? gm_lives_stack(l, made) == gm_lives_stack(l, a) : h->freed[made] > h->freed[a]);
        e = gm_next_made(h, e + 1);
    }
    return is_read && (is_kept || n <= AT_USE);
}

/* Whether each of them is cast when a layer runs, and little else has that size: activations would be there, too. */
static bool are_cast_at_use(const struct pair *pair)
{
    return pair->uses >= pair->weights && 4 * pair->uses >= 3 * pair->halves;
}

static void count_uses(const struct gm_lives *l, struct pairs *pairs)
{
    GM_FREED struct gm_sizes gradients = {.v = NULL};
    gm_sizes_of_role(&gradients, l, GM_ROLE_GRADIENT);
    bool has_frozen = false;
    for (size_t i = 0; i < pairs->n; i++) {
        pairs->v[i].is_trained = gm_sizes_has(&gradients, pairs->v[i].weight);
        has_frozen |= !pairs->v[i].is_trained;
    }
    for (size_t a = 0; has_frozen && a < l->h->allocation_count; a++) {
        struct pair *pair = gm_requested(l->h, a) >= l->at_peak / 4000 && is_cast(l, a) && !gm_lives_is_of_engine(l, a)
                                ? find_pair(pairs, 2 * gm_requested(l->h, a))
                                : NULL;
        if (pair == NULL || pair->is_trained)
            continue;
        pair->halves++;
        pair->uses += is_used_once(l, pairs, a);
    }
}

/* Most of the weights that nothing trains are cast at each use: none of them need be there in more bits. Returns
 * whether they are told. */
static bool find_frozen(struct gm_case *c, const struct gm_rule *rule, const struct pairs *pairs)
{
    const struct gm_lives *l = c->lives;
    struct gm_rule of_frozen = *rule;
    struct gm_set set = {.v = NULL};
    uint64_t frozen = 0, used = 0;
    size_t count = 0;
    for (size_t i = 0; i < pairs->n; i++) {
        const struct pair *pair = &pairs->v[i];
        const bool is_used = !pair->is_trained && are_cast_at_use(pair);
        frozen += pair->is_trained ? 0 : pair->weight * pair->weights;
        used += is_used ? pair->weight * pair->weights : 0;
        count += is_used ? pair->weights : 0;
    }
    for (size_t a = 0; gm_is_share(used, frozen, 0.6) && count >= CASTS && a < l->h->allocation_count; a++) {
        const uint64_t bytes = gm_requested(l->h, a);
        const bool is_weight = gm_lives_is_role(l, a, GM_ROLE_PARAMETER);
        const struct pair *weight = is_weight ? find_pair(pairs, bytes) : NULL, *of = find_pair(pairs, 2 * bytes);
        const bool is_half = of != NULL && !of->is_trained && are_cast_at_use(of); /* already */
        if (weight != NULL && !weight->is_trained && !is_half)
            gm_set_shrink(&set, a, bytes / 2);
    }
    of_frozen.title = "Weights that nothing trains are cast to half their size at each use";
    of_frozen.fix = "Load them in bf16 (model.bfloat16(), dtype=torch.bfloat16), all but those that an optimizer steps";
    of_frozen.snippet = "- model.to(\"cuda\")\n"
                        "+ model.to(\"cuda\", torch.bfloat16)  # the type that it works in";
    of_frozen.cost = "none: each use rounds them so";
    return gm_case_accuse(c, &of_frozen, &set, false,
                          "each time that a layer runs it makes a tensor half as large as its weight, which has no "
                          "gradient: weights in 32 bits that are used in 16") != NULL;
}

/* The backward pass that runs while it is there, or a part of it: its events [from, to). None: to is 0. */
struct span {
    uint32_t from, to;
};

static struct span backward_within(const struct gm_lives *l, size_t a)
{
    struct span found = {0};
    for (uint32_t e = l->h->born[a]; e < l->h->count && e + 1 < l->h->freed[a]; e++)
        if (gm_lives_phase(l, e) == GM_PHASE_BACKWARD) {
            found.from = found.to > 0 ? found.from : e;
            found.to = e + 1;
        }
    return found;
}

/* Casts that are there after the backward pass, which lets go of them one by one in the opposite order if nothing else
 * holds them, go then. Returns whether they are most of those of the peak. */
static bool let_go_in_backward(const struct gm_lives *l, struct gm_set *set)
{
    size_t of_peak = 0, later = 0;
    for (size_t i = 0; i < set->n; i++)
        of_peak += gm_lives_at_peak(l, set->v[i].allocation);
    for (size_t i = 0, first = 0; i < set->n; i++) {
        struct gm_remedy_change *change = &set->v[i];
        const uint32_t a = change->allocation, round = gm_lives_round(l, l->h->born[a]);
        const struct span pass = backward_within(l, a);
        const bool is_late =
            pass.to > 0 && l->h->freed[a] <= l->h->count && gm_lives_phase(l, l->h->freed[a] - 1) != GM_PHASE_BACKWARD;
        first = gm_lives_round(l, l->h->born[set->v[first].allocation]) == round ? first : i;
        later += is_late && gm_lives_at_peak(l, a);
        if (is_late)
            *change = (struct gm_remedy_change){
                a, pass.to - (uint32_t)((i - first) * (pass.to - pass.from) / (of_peak + 1)) - 1, GM_REMEDY_NEVER,
                GM_REMEDY_AS_RECORDED};
    }
    return 2 * later > of_peak;
}

/* As many of half a weight's size as there are such weights, of most weights: casts, not activations. */
static void find_casts(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    GM_FREED struct pairs pairs = {.v = NULL};
    struct gm_set set = {.v = NULL};
    uint64_t weights = 0, cast = 0;
    size_t count = 0;
    count_pairs(l, &pairs);
    count_uses(l, &pairs);
    if (find_frozen(c, rule, &pairs))
        pairs.n = 0;
    for (size_t i = 0; i < pairs.n; i++) {
        weights += pairs.v[i].weight * pairs.v[i].weights;
        count += are_casts(&pairs.v[i]) ? pairs.v[i].casts : 0;
        cast += are_casts(&pairs.v[i]) ? pairs.v[i].weight * pairs.v[i].casts : 0;
    }
    const bool is_found = gm_is_share(cast, weights, 0.6) && count >= CASTS;
    for (size_t a = 0; is_found && a < l->h->allocation_count; a++) {
        const struct pair *pair = is_cast(l, a) ? find_pair(&pairs, 2 * gm_requested(l->h, a)) : NULL;
        if (pair != NULL && are_casts(pair))
            gm_set_drop(&set, a);
    }
    const uint32_t end = gm_lives_freer(l, &set, GM_BY_AUTOCAST); /* of the region */
    struct gm_blame blame;
    gm_lives_blame(c->lives, &set, &blame);
    const bool is_late = l->has_backward && let_go_in_backward(l, &set);
    struct gm_finding *f = gm_case_accuse(
        c, rule, &set, false,
        is_late ? "they are half as large as the weights, one for each: autocast keeps what it casted until its region "
                  "ends, and that goes on after the backward pass"
                : "they are half as large as the weights, one for each: autocast keeps what it casted until its region "
                  "ends");
    if (f != NULL && end != 0)
        f->site = gm_case_printf(c, "%s, around %s", gm_lives_own_line(c->lives, end),
                                 gm_lives_parting(c->lives, blame.stack, end));
    if (f != NULL && is_late) {
        f->brief = "end autocast before backward()";
        f->fix = "End the region of autocast before loss.backward()";
        f->snippet = "  with torch.autocast(\"cuda\", torch.bfloat16):\n"
                     "      loss = model(x)\n"
                     "-     loss.backward()\n"
                     "+ loss.backward()";
        f->cost = "none";
    } else if (l->has_backward) { /* its weights are wanted as they are */
        gm_case_is_choice(f);
    }
}

/* ---- functions written by hand ----------------------------------------------------------------------------------- */

enum { MOST_KEPT = 8 /* by an expression: what keeps more is a loop */ };

static bool is_kept_part(const struct gm_lives *l, size_t a)
{
    return l->role[a] == GM_ROLE_ACTIVATION && l->taken[a] == GM_TAKEN_NOT && gm_lives_goes_in_backward(l, a) &&
           (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_RECOMPUTE | GM_BY_LINEAR)) == 0;
}

/* Whether all that is made in [from, to) has about that size, but for numbers of rows. `*n`: how many do. */
static bool are_of_size(const struct gm_lives *l, uint32_t from, uint32_t to, uint64_t size, size_t *n)
{
    *n = 0;
    for (uint32_t e = gm_next_made(l->h, from); e < to; e = gm_next_made(l->h, e + 1)) {
        const uint64_t bytes = gm_requested(l->h, gm_made_by(l->h, e));
        if (bytes > size / OF_ROWS && !is_size_of(bytes, size))
            return false;
        *n += bytes > size / OF_ROWS;
    }
    return true;
}

/* Of what one call of a function makes, [from, to), of one size: what it keeps, but for its result, and for as much as
 * it is called with, if nobody keeps that. Its backward pass gives it up at several moments, and makes nothing else in
 * between, as products with weights do, and attention. Returns whether it is there at the peak. */
static bool add_expression(struct gm_set *set, const struct gm_lives *l, uint32_t from, uint32_t to)
{
    const struct gm_history *h = l->h;
    uint64_t size = 0;
    uint32_t kept[MOST_KEPT], first = GM_NEVER, last = 0, result = GM_NEVER, input = GM_NEVER;
    size_t n = 0, made = 0;
    for (uint32_t e = gm_next_made(h, from); e < to; e = gm_next_made(h, e + 1))
        size = gm_max(size, gm_requested(h, gm_made_by(h, e)));
    for (uint32_t e = gm_next_made(h, from); e < to; e = gm_next_made(h, e + 1)) {
        const uint32_t a = gm_made_by(h, e);
        result = gm_requested(h, a) > size / OF_ROWS ? a : result;
        if (result != a || !is_kept_part(l, a))
            continue;
        if (n == MOST_KEPT)
            return false;
        kept[n++] = a;
    }
    n -= n > 0 && kept[n - 1] == result;
    for (size_t i = 0; i < n; i++) {
        first = h->freed[kept[i]] < first ? h->freed[kept[i]] : first;
        last = h->freed[kept[i]] > last ? h->freed[kept[i]] : last;
    }
    if (n < LAYERS || !are_of_size(l, from, to, size, &made) || !are_of_size(l, first, last, size, &made) || made == 0)
        return false;
    for (uint32_t e = from; e > 0 && input == GM_NEVER; e--) {
        input = gm_made_by(h, e - 1);
        if (input != GM_NEVER && (gm_requested(h, input) <= size / OF_ROWS || is_aside(l, input, size)))
            input = GM_NEVER;
    }
    uint64_t needs = input == GM_NEVER || gm_lives_goes_in_backward(l, input) ? 0 : gm_requested(h, input);
    for (size_t i = 0; i < n; i++) {
        const uint64_t bytes = gm_requested(h, kept[i]);
        if (needs < bytes)
            gm_set_shrink(set, kept[i], needs);
        needs -= gm_min(needs, bytes);
    }
    return gm_lives_at_peak(l, kept[n - 1]);
}

static void find_expressions(struct gm_case *c, const struct gm_rule *rule)
{
    struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    uint32_t from = GM_NEVER, stack = 0, calls = 0;
    if (!gm_case_may_accuse(c, is_kept_part))
        return;
    for (uint32_t e = gm_next_made(l->h, 0); e <= l->h->count; e = gm_next_made(l->h, e + 1)) {
        const uint32_t a = e < l->h->count ? gm_made_by(l->h, e) : GM_NEVER;
        const uint32_t of = a == GM_NEVER ? 0 : gm_stack_of(l->h, a);
        if (a != GM_NEVER && from != GM_NEVER && (of == stack || gm_lives_is_beside(l, stack, of, 0)))
            continue;
        if (from != GM_NEVER)
            calls += add_expression(&set, l, from, e);
        if (a == GM_NEVER)
            break;
        stack = of;
        from = gm_lives_is_of_engine(l, a) || gm_lives_is_by_torch(l, a) ? GM_NEVER : e;
    }
    set.n = calls > LAYERS ? set.n : 0;
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false,
                       "operations on single numbers, written one after the other in a function, keep a result each "
                       "for the backward pass");
    if (f == NULL || f->brief == rule->brief)
        return;
    gm_case_is_choice(f); /* code of a library is compiled, not written anew */
    f->cost = "time to compile it, at the start";
    for (size_t i = 0; f->remedy != NULL && i < f->remedy->count; i++) /* checkpoints are another choice */
        gm_lives_take(l, f->remedy->changes[i].allocation, GM_TAKEN_NOT);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

static void find_waiting(struct gm_case *c, const struct gm_rule *rule)
{
    const struct gm_lives *l = c->lives;
    struct gm_set set = {.v = NULL};
    uint64_t waiting = 0, largest = 0;
    uint32_t freed_by = 0; /* the stack of Python that let go of the largest, if nothing of it made any */
    bool is_of_nobody = true;
    for (size_t a = 0; a < l->h->allocation_count; a++) {
        const uint32_t let_go = gm_let_go(l->h, a), freed = l->h->freed[a];
        if (let_go == GM_NEVER || freed <= let_go + 1)
            continue;
        waiting += let_go <= l->peak && l->peak < freed ? gm_requested(l->h, a) : 0;
        const uint32_t stack = let_go == 0 ? GM_STACK_EMPTY : gm_lives_stack_at(l, let_go - 1);
        is_of_nobody &= (gm_lives_by(l, a) & GM_BY_NOBODY) != 0;
        if (gm_requested(l->h, a) > largest && (l->by[stack] & GM_BY_NOBODY) == 0) {
            largest = gm_requested(l->h, a);
            freed_by = stack;
        }
        if (let_go == 0) /* it waited when the trace began */
            gm_set_drop(&set, a);
        else
            gm_set_end(&set, a, let_go - 1);
    }
    if (!gm_is_share(waiting, l->at_peak, 0.05))
        set.n = 0;
    struct gm_finding *f =
        gm_case_accuse(c, rule, &set, false,
                       "the program has let go of them, but record_stream makes the allocator wait for the other "
                       "stream, and the next ones are made meanwhile");
    if (f == NULL)
        return;
    f->bytes = waiting;
    if (is_of_nobody && largest > 0)
        f->site = gm_lives_place(c->lives, freed_by);
}

static const struct gm_rule rules[] = {
    {.id = "unfused-attention",
     .title = "Attention makes its scores in memory",
     .find_in_lives = find_attention,
     .brief = "fused attention",
     .fix = "Call torch.nn.functional.scaled_dot_product_attention(q, k, v), with is_causal=True for a causal mask, "
            "with types, strides and masks that its fused kernels take, or flex_attention with biases of positions",
     .snippet = "- out = softmax(q @ k.transpose(-2, -1) * scale + mask) @ v\n"
                "+ out = F.scaled_dot_product_attention(q, k, v)  # or is_causal=True",
     .cost = "none; it is faster, too",
     .means = "Softmax(QKᵀ) is written out, or the fused kernel was refused, so that scores of sequence times sequence "
              "are in memory, and with gradients stay there until the backward pass. A fused kernel never has them.",
     .when =
         "stacks with `_scaled_dot_product_attention_math`, or code named after attention or softmax of which the "
         "largest size, at least twice at the peak and mostly made in its round, is 4 times its other sizes of that "
         "round (or has no other, but stands in two layers) and larger than what was made before, but for casts of "
         "weights, two in a row (a "
         "fused kernel makes one, its output) of which no layer with a weight makes as much at once, and no sum of "
         "each number with each other one of what is made just before, nor a softmax that adds up by scatter(); "
         "or, of any code, two blocks of the largest size, those of a loss, of weights and of caches of keys and "
         "values aside, in a row, which no layer with a weight and no "
         "resizing makes, 8 times as large as those before and after them, or 5 times between modules, twice, if "
         "most of that very size stands so, no line that makes one makes what follows, too, called from elsewhere, "
         "there are weights, and a backward pass of what is trained uses them and goes on with gradients of rows, at "
         "least 3 for one of a weight or of its cast; between layers with weights also with a "
         "bias or a mask of a "
         "quarter in the row; what the same lines make for other lengths counts, too",
     .what_to_do = "`F.scaled_dot_product_attention`; half precision, no mask of its own, head size of at most 256"},
    {.id = "vocabulary-copies",
     .title = "Several copies of the logits are there at once",
     .find_in_lives = find_logits,
     .brief = "loss in chunks",
     .fix =
         "Compute the loss in chunks of positions (a fused linear cross-entropy), so that the logits are never there "
         "as a whole",
     .snippet = "- loss = F.cross_entropy(head(h).float(), y)\n"
                "+ loss = sum(checkpoint(part_loss, a, b, use_reentrant=False)\n"
                "+            for a, b in zip(h.split(n), y.split(n))) / len(y)",
     .cost = "none, or a little time",
     .means = "Logits are tokens times vocabulary, and the loss makes several copies of them: in 32 bits, their "
              "logarithms, shifted and contiguous, and the gradient of each.",
     .severity = "warning, or info where the forward pass makes no more than logits and their logarithms",
     .when =
         "at least 3 tensors of the size of what the loss makes (within 2 %), or half or twice that, 9 % of the peak "
         "together, and of no graph that no backward pass uses, of which the loss made one, without what layers before "
         "it make as large, or the forward pass "
         "behind "
         "the layer that made logits, its last (at most 16, where one is less than 3 %, and not where layers with a "
         "weight make as much in several lines); 2, where memory ran out for one of them in the forward pass's loss; "
         "where no name tells of a loss, or what is named so makes less, of the largest size, if the forward pass ends "
         "in it, but for more than 16 in a row, or two lines that follow each other twice, after something 8 times "
         "smaller, and the last layer with weights "
         "makes it, or one of the largest weights has the first gradient, or a part of it, and nothing of that size is "
         "made after it, twice; not where the first two gradients made of it are equally large and none stays, nor its "
         "cast (similarities of a batch with a batch); the saving is that of chunks of an eighth",
     .what_to_do = "Chunked or fused linear cross-entropy; no `.float()` of all logits"},
    {.id = "unfused-elementwise",
     .title = "A function written by hand keeps several results of one size",
     .find_in_lives = find_expressions,
     .brief = "a fused function",
     .fix = "Call PyTorch's own function (F.gelu with approximate=\"tanh\", F.silu, F.layer_norm, F.rms_norm), or "
            "compile it (torch.compile), which keeps no more than what it is called with",
     .snippet = "- y = 0.5 * x * (1 + torch.tanh(c * (x + 0.044715 * x**3)))\n"
                "+ y = F.gelu(x, approximate=\"tanh\")  # or torch.compile",
     .cost = "none; it is faster, too",
     .means = "Each line of an activation or a norm that is written out keeps a tensor of its own for the backward "
              "pass. A fused operator keeps its input only.",
     .when =
         "all that one call of a function of the program makes itself, numbers for each row aside, has one size (or "
         "half, twice, a quarter or four times that), and 2 to 8 of them are kept beside its result; a backward pass "
         "gives them up at several moments, and makes nothing of another size in between; the saving is that of all of "
         "these, less the bytes of what the call is made with, if nothing keeps that; 3 such calls are there at the "
         "peak",
     .severity = "warning, or info where code of transformers/ made them",
     .what_to_do = "`F.gelu`, `F.silu`, `F.layer_norm`, `F.rms_norm`, or `torch.compile`"},
    {.id = "autocast-weight-casts",
     .title = "Casts of the weights are there beside the weights",
     .find_in_lives = find_casts,
     .brief = "weights in 16 bits",
     .fix = "Keep the weights in 16 bits (model.bfloat16(), model.half()), or torch.autocast(..., cache_enabled=False) "
            "where nothing is trained",
     .snippet = "- with torch.autocast(\"cuda\", torch.bfloat16):\n"
                "+ model.bfloat16()  # or half(), or autocast(..., cache_enabled=False)",
     .cost = "accuracy of the weights; or a cast for each use",
     .means = "Autocast casts each weight when it is used, and keeps the cast until its region ends: half as much as "
              "the weights, once more.",
     .severity = "warning, or info where something is trained and the backward pass lets go of them",
     .when = "at the peak there are at least 4 tensors half as large as the weights, hardly more than one for each, of "
             "60 % of their bytes, and in training hardly any that the forward pass made and gave up among them; or of "
             "60 % of the weights without gradients each is read by way of a tensor half as "
             "large, which goes when something of another size has been made of it, or in the backward pass, and three "
             "quarters of all tensors of that size are such: then the weights themselves are told, and their half",
     .what_to_do = "`model.bfloat16()`, `cache_enabled=False`; in training `loss.backward()` after the region's end; "
                   "frozen weights in bf16"},
    {.id = "pending-on-streams",
     .title = "Freed memory waits for another stream at the peak",
     .find_in_lives = find_waiting,
     .brief = "wait for the side stream",
     .fix =
         "Let the main stream wait for the copy (wait_stream, or an event) and keep the tensor until then, instead of "
         "tensor.record_stream(stream)",
     .snippet = "- x.record_stream(side)\n"
                "+ torch.cuda.current_stream().wait_stream(side)",
     .means = "A tensor that another stream used (`record_stream`) goes back only when that stream has passed the "
              "point where it was freed. Until then each new one is made beside it.",
     .when = "what is freed but waits for another stream is 5 % of the peak",
     .what_to_do = "`torch.cuda.current_stream().wait_stream(side)` instead of `record_stream`"},
};
const struct gm_theme gm_theme_operators = GM_THEME(rules);
