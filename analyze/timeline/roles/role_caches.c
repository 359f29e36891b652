/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches of inference that no stack names. Those that grow are made anew in each round, as many as the model has
 * layers, longer by the same number of bytes; the first ones are the prompt's. Those that do not are made once, by the
 * program itself, before or after the weights and before the first forward.
 */
#include "analyze/base/address_map.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/ascii.h"
#include "analyze/base/order.h"
#include "analyze/report/frame_kind.h"
#include "analyze/state/stack_lines.h"
#include "analyze/timeline/roles/role_work.h"

#include <stdlib.h>

enum { ROUNDS = 3, LAYERS = 2, NEAR = 16 /* sizes */, LEAST_SLOTS = 1 << 20 /* bytes */ };
enum { SLOTS = 4, MANY_SLOTS = 2 * SLOTS, LEAST_WEIGHT = 1 << 18 /* bytes */, MANY_TIMES = 16, HEAVIER = 4 };

/* ---- without stacks: sizes that grow by the same number of bytes, as many of each ------------------------------- */

struct size {
    uint64_t bytes;
    uint32_t count, born; /* how many; when the first of them was made */
    uint64_t gone;        /* when they were given up, summed */
    bool is_cache;
};
struct sizes {
    struct gm_address_map index;     /* before they are sorted */
    struct GM_VEC(struct size) rows; /* later by bytes */
};

GM_ORDERING(by_size, struct size, GM_UP(bytes));

static bool may_grow(const struct gm_role_work *w, size_t a)
{
    return gm_life_of(w, a) != GM_LIFE_BRIEF && gm_life_of(w, a) != GM_LIFE_OLD;
}

/* The row of a size, made if it is new; NULL: no memory. */
static struct size *row_of(struct sizes *s, uint64_t bytes, uint32_t born)
{
    const uint32_t i = gm_map_number(&s->index, bytes, (uint32_t)s->rows.n);
    const struct size fresh = {.bytes = bytes, .born = born};
    return i == GM_MAP_NONE || (i == s->rows.n && !GM_VEC_PUSH(&s->rows, fresh)) ? NULL : &s->rows.v[i];
}

static bool count_size(struct sizes *s, const struct gm_history *h, size_t a)
{
    struct size *row = row_of(s, gm_requested(h, a), h->born[a]);
    if (row == NULL)
        return false;
    row->count++;
    row->gone += gm_let_go(h, a) == GM_NEVER ? h->count : gm_let_go(h, a);
    return true;
}

static struct size *find_size(const struct sizes *s, uint64_t bytes)
{
    struct size key = {.bytes = bytes};
    return s->rows.n == 0 ? NULL : bsearch(&key, s->rows.v, s->rows.n, sizeof key, by_size);
}

/* The row that is larger by so many bytes, made later, and mostly before these were given up: what is computed anew for
 * a longer text is not. */
static struct size *follower(const struct sizes *s, const struct size *row, uint64_t distance)
{
    struct size *next = find_size(s, row->bytes + distance);
    return next != NULL && next->born > row->born && row->gone > (uint64_t)row->count * next->born ? next : NULL;
}

/* Marks the row and those that follow it, if there are enough of them with as many blocks each. */
static void mark_series(const struct sizes *s, struct size *row, uint64_t distance)
{
    size_t n = 0;
    for (const struct size *r = row; r != NULL && r->count == row->count; r = follower(s, r, distance))
        n++;
    for (struct size *r = n > ROUNDS ? row : NULL; r != NULL; r = follower(s, r, distance))
        r->is_cache = true;
}

static bool claim_series(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    struct sizes s = {0};
    bool ok = true;
    for (size_t a = 0; ok && a < h->allocation_count; a++)
        ok = !may_grow(w, a) || count_size(&s, h, a);
    gm_map_free(&s.index);
    GM_SORT(s.rows.v, s.rows.n, by_size);
    for (size_t i = 0; ok && i < s.rows.n; i++)
        for (size_t j = i + 1; j < s.rows.n && j <= i + NEAR && s.rows.v[i].count >= LAYERS && !s.rows.v[i].is_cache;
             j++)
            mark_series(&s, &s.rows.v[i], s.rows.v[j].bytes - s.rows.v[i].bytes);
    for (size_t a = 0; ok && s.rows.n > ROUNDS && a < h->allocation_count; a++)
        if (may_grow(w, a) && w->claim[a] == GM_CLAIM_NONE && find_size(&s, gm_requested(h, a))->is_cache)
            w->claim[a] = GM_CLAIM_GROWING;
    free(s.rows.v);
    return ok;
}

/* ---- what was there before a cache grew: the keys and values of the prompt, made by other code ------------------ */

struct first {
    uint64_t bytes;
    uint32_t allocation;
};

GM_ORDERING(by_bytes, struct first, GM_UP(bytes) || GM_UP(allocation));

/* Several of a size are a cache's; one is something else. */
static void claim_alike(struct gm_role_work *w, struct first *firsts, size_t n, enum gm_claim claim)
{
    GM_SORT(firsts, n, by_bytes);
    for (size_t i = 0; i < n; i++)
        if ((i > 0 && firsts[i].bytes == firsts[i - 1].bytes) || (i + 1 < n && firsts[i].bytes == firsts[i + 1].bytes))
            w->claim[firsts[i].allocation] = (uint8_t)claim;
}

/* Made before the first round in which caches are longer, given up in it. */
static bool claim_firsts(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    GM_FREED struct GM_VEC(struct first) firsts = {0};
    uint32_t opened = GM_NEVER; /* the event that made the first cache of such a round */
    uint64_t before = 0;
    bool ok = true;
    for (uint32_t i = 0; ok && i < h->count; i++) {
        const uint32_t a = h->of_event[i];
        if (a == GM_NEVER)
            continue;
        if (h->born[a] == i + 1 && w->claim[a] == GM_CLAIM_GROWING) {
            bool is_first = before == 0 || gm_requested(h, a) < before;
            opened = before > 0 && gm_requested(h, a) > before ? GM_NEVER : is_first && opened == GM_NEVER ? i : opened;
            before = gm_requested(h, a);
        } else if (gm_let_go(h, a) == i + 1 && opened != GM_NEVER && h->born[a] <= opened &&
                   i - h->born[a] > GM_BRIEF_EVENTS && w->claim[a] == GM_CLAIM_NONE) {
            ok = GM_VEC_PUSH(&firsts, ((struct first){gm_requested(h, a), a}));
        }
    }
    claim_alike(w, firsts.v, firsts.n, GM_CLAIM_GROWING);
    return ok;
}

/* ---- what was made before the first forward, by code that tells nothing ----------------------------------------- */

/* Made before that moment, to stay; what is older than the trace comes in no order. */
static bool is_early(const struct gm_role_work *w, size_t a, uint32_t first)
{
    return w->h->born[a] < first && gm_life_of(w, a) >= GM_LIFE_LASTING && !gm_is_of_rounds(w, a);
}

/* Where the program makes its weights itself: a size of which it makes several, many times larger than all else that it
 * makes before the first forward, is slots for keys and values. 0: there is none. */
static uint64_t slots_beside_weights(struct gm_role_work *w, uint32_t first)
{
    const struct gm_history *h = w->h;
    uint64_t largest = 0, other = 0;
    size_t count = 0;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (is_early(w, a, first) && gm_role_says(w, a) == GM_SAYS_OTHER && gm_requested(h, a) > largest)
            largest = gm_requested(h, a);
    for (size_t a = 0; a < h->allocation_count; a++) {
        if (!is_early(w, a, first) || gm_role_says(w, a) != GM_SAYS_OTHER)
            continue;
        count += gm_requested(h, a) == largest;
        other = gm_requested(h, a) < largest && gm_requested(h, a) > other ? gm_requested(h, a) : other;
    }
    return count >= SLOTS && other >= LEAST_WEIGHT && largest / MANY_TIMES >= other ? largest : 0;
}

/* No round has ended: what is there for many layers need not be there for many rounds. */
static bool is_of_first_round(const struct gm_role_work *w)
{
    return w->pass->out->steps.row_count == 0;
}

/* Whether MANY_SLOTS of one size make three quarters of the bytes: else they may as well be batches, or copies of the
 * weights. Sorts them. */
static bool are_of_one_size(struct first *firsts, size_t n)
{
    uint64_t all = 0, most = 0;
    GM_SORT(firsts, n, by_bytes);
    for (size_t i = 0, of_size = 0; i < n; i++) {
        of_size = i > 0 && firsts[i].bytes == firsts[i - 1].bytes ? of_size + 1 : 1;
        all += firsts[i].bytes;
        most = of_size >= MANY_SLOTS ? gm_max(most, of_size * firsts[i].bytes) : most;
    }
    return most > 0 && most >= all / 4 * 3;
}

/* Weights, if none were loaded. Else what came before or after them, several of a size, is caches. */
static bool claim_early(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    const struct gm_steps *steps = &w->pass->out->steps;
    GM_FREED struct GM_VEC(struct first) slots = {0};
    uint32_t loading = GM_NEVER, loaded = 0;
    uint64_t heaviest = 0;
    uint32_t first = steps->row_count > 0 ? (uint32_t)steps->rows[0].first_event + 1 : GM_NEVER;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (h->born[a] > 0 && h->born[a] < first && gm_role_says(w, a) == GM_SAYS_FORWARD)
            first = h->born[a];
    for (size_t a = 0; a < h->allocation_count; a++)
        if (is_early(w, a, first) && gm_role_says(w, a) == GM_SAYS_LOADING) {
            loading = h->born[a] < loading ? h->born[a] : loading;
            loaded = h->born[a] > loaded ? h->born[a] : loaded;
            heaviest = gm_requested(h, a) > heaviest ? gm_requested(h, a) : heaviest;
        }
    const uint64_t size = heaviest == 0 && first != GM_NEVER ? slots_beside_weights(w, first) : 0;
    bool ok = true;
    for (uint32_t a = 0; ok && first != GM_NEVER && a < h->allocation_count; a++) {
        enum gm_says says = gm_role_says(w, a);
        if (!is_early(w, a, first) || w->claim[a] != GM_CLAIM_NONE || (says != GM_SAYS_OTHER && says != GM_SAYS_OBJECT))
            continue;
        if (heaviest == 0 && says == GM_SAYS_OTHER)
            w->claim[a] = gm_requested(h, a) == size ? GM_CLAIM_SLOTS : GM_CLAIM_INFERENCE;
        else if (heaviest > 0 && gm_requested(h, a) >= LEAST_SLOTS &&
                 (h->born[a] >= loaded || (h->born[a] < loading && gm_requested(h, a) / HEAVIER >= heaviest)))
            ok = GM_VEC_PUSH(&slots, ((struct first){gm_requested(h, a), a}));
    }
    if (!is_of_first_round(w) || are_of_one_size(slots.v, slots.n))
        claim_alike(w, slots.v, slots.n, GM_CLAIM_SLOTS);
    return ok;
}

/* Whether rows of a table are looked up: a model of words. */
static bool looks_up(const struct gm_snapshot *s)
{
    bool does = false;
    for (size_t f = 0; f < s->frames.count && !does; f++) {
        size_t n;
        const char *name = gm_string(s, s->frames.name[f], &n);
        does = gm_is_text(name, n, "embedding");
    }
    return does;
}

enum { PAIR = 2 /* keys, and values */, FEW_ROWS = 64 /* parts of the largest weight: fewer rows than it has */ };

/* Whether half of what is made after that moment is small beside the largest of several weights: a model that
 * answers word by word, of a few sequences at a time. */
static bool is_word_by_word(struct gm_role_work *w, uint32_t from, uint64_t weight, size_t weights)
{
    const struct gm_history *h = w->h;
    size_t made = 0, few = 0;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const bool counts =
            h->born[a] > from && gm_life_of(w, a) < GM_LIFE_LASTING && gm_role_says(w, a) != GM_SAYS_WORKSPACE;
        made += counts;
        few += counts && gm_requested(h, a) <= weight / FEW_ROWS;
    }
    return weights >= SLOTS && made / 2 <= few && few > 0;
}

/* A pool: one tensor that the program itself makes in the first round, beside a model of words, to stay, twice as large
 * as all else that stays; or two of a size, each of which is. */
static void claim_pool(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    const struct gm_steps *steps = &w->pass->out->steps;
    uint64_t others = 0, size = 0, weight = 0;
    size_t pool[PAIR] = {0}, count = 0, weights = 0;
    for (int is_second = 0; is_second < 2; is_second++)
        for (size_t a = 0; a < h->allocation_count; a++) {
            const uint64_t bytes = gm_requested(h, a);
            if (gm_life_of(w, a) < GM_LIFE_LASTING && gm_life_of(w, a) != GM_LIFE_OLD)
                continue;
            if (!is_second) {
                size = bytes > size ? bytes : size;
            } else if (bytes == size && count++ < PAIR) {
                pool[count - 1] = a;
            } else {
                others += bytes;
                weight = bytes > weight ? bytes : weight;
                weights += bytes >= LEAST_WEIGHT;
            }
        }
    if (count == 0 || size / 2 < others ||
        (!looks_up(h->snapshot) && !is_word_by_word(w, h->born[pool[0]], weight, weights)))
        return;
    for (size_t i = 0; i < count && i < PAIR; i++) {
        const enum gm_says says = gm_role_says(w, pool[i]);
        if ((says == GM_SAYS_OTHER || says == GM_SAYS_OBJECT) &&
            (steps->row_count == 0 || h->born[pool[i]] <= steps->rows[0].last_event + 1))
            w->claim[pool[i]] = GM_CLAIM_SLOTS;
    }
}

/* ---- what was made once and is read by pass after pass ---------------------------------------------------------- */

enum { PASSES = 4, APART = 3 /* of what passes make most often, between two of a set: a layer's own */ };

/* How often the line that runs most often has made something before each moment, and how often each line has. */
struct passes {
    uint32_t *before, *made, *lines; /* [event + 1], [stack], gm_stack_lines */
};

static uint32_t line_of(const struct gm_history *h, const struct passes *p, size_t a)
{
    return p->lines[gm_stack_of(h, a)];
}

static bool find_lines(struct gm_role_work *w, struct passes *p)
{
    const struct gm_frames *frames = &w->h->snapshot->frames;
    GM_FREED bool *is_line = malloc(((size_t)frames->count + 1) * sizeof *is_line);
    for (size_t f = 0; is_line != NULL && f < frames->count; f++)
        is_line[f] = (gm_names_file_kind(w->pass->names, frames->filename[f]) & GM_FILE_IS_PYTHON) != 0;
    p->lines = is_line == NULL ? NULL : gm_stack_lines(w->h->snapshot, is_line);
    return p->lines != NULL;
}

static bool count_passes(struct gm_role_work *w, struct passes *p)
{
    const struct gm_history *h = w->h;
    uint32_t most = 0;
    bool has_forward = false; /* else all that the program makes is its forward */
    p->made = calloc((size_t)h->snapshot->stacks.count + 1, sizeof *p->made);
    p->before = calloc(h->count + 2, sizeof *p->before);
    if (p->made == NULL || p->before == NULL || !find_lines(w, p))
        return false;
    for (size_t a = 0; a < h->allocation_count; a++) {
        const bool is_forward = gm_role_says(w, a) == GM_SAYS_FORWARD;
        const uint32_t stack = line_of(h, p, a), times = h->born[a] > 0 ? ++p->made[stack] : 0;
        if (times > 0 && (is_forward == has_forward ? times > p->made[most] : is_forward))
            most = stack;
        has_forward |= is_forward && times > 0;
    }
    for (uint32_t e = 0; e < h->count; e++) {
        const uint32_t a = gm_made_by(h, e);
        p->before[e + 1] = p->before[e] + (a != GM_NEVER && line_of(h, p, a) == most);
    }
    return true;
}

/* Where weights were loaded, what other code makes, or a module once and for all; else what is given up again, for
 * weights are not. */
static bool may_serve(struct gm_role_work *w, size_t a, bool has_loaded)
{
    const enum gm_says says = gm_role_says(w, a);
    const bool stays = gm_life_of(w, a) >= GM_LIFE_LASTING;
    return (w->claim[a] == GM_CLAIM_NONE || !stays) && gm_requested(w->h, a) >= LEAST_SLOTS &&
           gm_life_of(w, a) != GM_LIFE_BRIEF && (has_loaded || !stays) &&
           (says == GM_SAYS_OTHER || says == GM_SAYS_OBJECT || (says == GM_SAYS_FORWARD && stays));
}

/* The next set of sets[from, n): of one size, made in one go. Returns where it ends; `until`: when the first of it
 * goes. */
static size_t set_at(const struct gm_history *h, const struct passes *p, const struct first *sets, size_t from,
                     size_t n, uint32_t *until)
{
    size_t to = from;
    *until = (uint32_t)h->count;
    while (to < n && sets[to].bytes == sets[from].bytes &&
           (to == from ||
            p->before[h->born[sets[to].allocation]] - p->before[h->born[sets[to - 1].allocation]] <= APART)) {
        const uint32_t let_go = gm_let_go(h, sets[to++].allocation);
        *until = let_go < *until ? let_go : *until;
    }
    return to;
}

/* What modules make of that set is all that its lines ever make: of one, or of one for keys and one for values. */
static bool are_of_lines(struct gm_role_work *w, const struct passes *p, const struct first *set, size_t n)
{
    uint32_t line[PAIR];
    size_t lines = 0, made = 0;
    bool are = true;
    for (size_t k = 0; are && k < n; k++) {
        const uint32_t by = line_of(w->h, p, set[k].allocation);
        if (gm_role_says(w, set[k].allocation) != GM_SAYS_FORWARD || (lines > 0 && line[lines - 1] == by) ||
            (lines == PAIR && line[0] == by))
            continue;
        are = lines < PAIR && (made += p->made[by]) <= n;
        if (are)
            line[lines++] = by;
    }
    return are;
}

/* Made by two lines in turn, as for keys and for values of layer after layer. */
static bool are_in_turn(const struct gm_history *h, const struct passes *p, const struct first *set, size_t n)
{
    bool are = n >= SLOTS && n % PAIR == 0 && line_of(h, p, set[0].allocation) != line_of(h, p, set[1].allocation);
    for (size_t i = PAIR; are && i < n; i++)
        are = line_of(h, p, set[i].allocation) == line_of(h, p, set[i - PAIR].allocation);
    return are;
}

/* Several of a size that are made in one go, and that many more passes see than there are of them: keys and values, of
 * whatever is answered then. They are made in turn, or together at least as large as the largest weight; one or two are
 * a pool if a model of words goes on word by word, and each is twice as large as all weights that were loaded. */
static bool claim_served(struct gm_role_work *w)
{
    const struct gm_history *h = w->h;
    GM_FREED struct GM_VEC(struct first) sets = {0};
    struct passes p = {NULL, NULL, NULL};
    uint64_t heaviest = 0, loaded = 0;
    size_t weights = 0;
    bool ok = true;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (gm_role_says(w, a) == GM_SAYS_LOADING && gm_life_of(w, a) >= GM_LIFE_LASTING) {
            heaviest = gm_requested(h, a) > heaviest ? gm_requested(h, a) : heaviest;
            loaded += gm_requested(h, a);
            weights += gm_requested(h, a) >= LEAST_WEIGHT;
        }
    for (uint32_t a = 0; ok && a < h->allocation_count; a++)
        ok = !may_serve(w, a, heaviest > 0) || GM_VEC_PUSH(&sets, ((struct first){gm_requested(h, a), a}));
    GM_SORT(sets.v, sets.n, by_bytes);
    ok = ok && (sets.n == 0 || count_passes(w, &p));
    size_t largest = sets.n == 0 ? 0 : sets.n - 1; /* the first as large */
    while (largest > 0 && sets.v[largest - 1].bytes == sets.v[largest].bytes)
        largest--;
    const bool is_pool = sets.n > 0 && loaded > 0 && sets.v[largest].bytes / 2 >= loaded && looks_up(h->snapshot) &&
                         is_word_by_word(w, h->born[sets.v[largest].allocation], heaviest, weights);
    for (size_t i = 0, to = 0; ok && i < sets.n; i = to) {
        uint32_t until;
        to = set_at(h, &p, sets.v, i, sets.n, &until);
        const uint32_t last = h->born[sets.v[to - 1].allocation];
        const bool is_many =
            to - i >= SLOTS && (sets.v[i].bytes >= heaviest / (to - i) || are_in_turn(h, &p, sets.v + i, to - i));
        bool serves = until > last && p.before[until] - p.before[last] >= PASSES * (to - i) &&
                      (is_many || (is_pool && to - i <= PAIR && sets.v[i].bytes == sets.v[largest].bytes));
        serves = serves && are_of_lines(w, &p, sets.v + i, to - i);
        for (size_t k = i; serves && k < to; k++)
            w->claim[sets.v[k].allocation] = GM_CLAIM_SLOTS;
        const bool is_last = to == sets.n || sets.v[to].bytes != sets.v[i].bytes;
        const uint32_t line = serves ? line_of(h, &p, sets.v[i].allocation) : 0;
        for (size_t a = 0; serves && is_last && heaviest == 0 && a < h->allocation_count;
             a++) /* and what the end of the run left */
            if (line_of(h, &p, a) == line && gm_requested(h, a) == sets.v[i].bytes && h->born[a] > last)
                w->claim[a] = GM_CLAIM_SLOTS;
    }
    GM_FREE_ALL(p.before, p.made, p.lines);
    return ok;
}

/* Whether the program ran out of memory in its first round, on whatever device: all of them stop there. */
static bool is_cut(const struct gm_role_work *w)
{
    return is_of_first_round(w) && w->pass->report->evidence.ooms > 0;
}

bool gm_role_caches(struct gm_role_work *w)
{
    if (w->world != GM_WORLD_INFERENCE)
        return true;
    if (!claim_series(w) || !claim_firsts(w) || !claim_early(w) || (!is_cut(w) && !claim_served(w)))
        return false;
    claim_pool(w);
    return true;
}
