/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocations of one device as the rules of mistakes look at them: what each is for, which code made it, in which
 * round of the program's loop, and who is left to be blamed for it.
 *
 * A round is one pass of the loop that makes the run: a return of the program to an earlier line of the same function,
 * outside modules, as far out as it does so twice, if there are no steps or as many as it returns; a step; or, where
 * one line makes half of the run, its next call of what it calls least often. Loops of several functions, one after the
 * other, all count, if they run between the second step and the last.
 */
#pragma once

#include "analyze/base/freed.h"
#include "analyze/base/vec.h"
#include "analyze/report/remedy.h"
#include "analyze/state/shown_names.h"
#include "analyze/timeline/trace_analyze.h"

#include <pthread.h>
#include <stdatomic.h>

/* What the frames of a stack tell, bits. */
enum {
    GM_BY_OPTIMIZER = 1,
    GM_BY_CLIPPING = 2,
    GM_BY_LOSS = 4,
    GM_BY_MATH_ATTENTION = 8, /* the unfused fallback of scaled_dot_product_attention */
    GM_BY_SOFTMAX = 16,
    GM_BY_LOADING = 32, /* reads a file */
    GM_BY_COPYING = 64, /* deepcopy, an averaged model */
    GM_BY_RECOMPUTE = 128,
    GM_BY_MODULE = 256, /* inside the forward of a module */
    GM_BY_HOOK = 512,
    GM_BY_AUTOCAST = 1024, /* enters or leaves its region */
    GM_BY_BACKWARD = 2048,
    GM_BY_NOBODY = 4096, /* no frame of Python */
    GM_BY_ATTENTION = 8192,
    GM_BY_LOOKUP = 16384,    /* of rows of a table */
    GM_BY_ROOT = 32768,      /* the call of backward(): the gradient that it begins with */
    GM_BY_LINEAR = 65536,    /* a layer with a weight: no product of two activations */
    GM_BY_LAYER = 131072,    /* the code of modules: what they make or move before they run is theirs */
    GM_BY_RESIZING = 262144, /* makes maps larger: no product of two activations */
    GM_BY_MOVING = 524288,   /* a module that was made elsewhere */
    GM_BY_CAPTURE = 1048576, /* begins or makes a CUDA graph */
    GM_BY_FUSABLE = 2097152, /* an optimizer that takes fused=True */
    GM_BY_FUNCTION =
        4194304, /* a torch.autograd.Function, which autograd's threads run, or a transform of torch.func */
    GM_BY_SEQUENCE = 8388608, /* runs modules one after the other */
    GM_BY_TORCH = 16777216,   /* the innermost line of Python is PyTorch's own */
    GM_BY_SCATTER = 33554432, /* adds up by groups */
    GM_BY_DROPOUT = 67108864  /* makes a mask, which is kept as the cast of a weight is */
};

/* What mistakes that were found have of an allocation: nothing; how it is computed, so that a graph may keep it, too; a
 * part of its bytes, so that it may be kept for too long beside; itself. */
enum gm_taken { GM_TAKEN_NOT, GM_TAKEN_IN_FORM, GM_TAKEN_IN_PART, GM_TAKEN };

/* What is there when the trace ends, and `like` it, of the same stack and place in the round before, went sooner: the
 * trace's end came before its own. */
struct gm_cut_off {
    uint32_t allocation, like;
};
struct gm_cut_offs GM_VEC(struct gm_cut_off); /* by allocation */

enum { GM_GUIDE_BITS = 8, GM_LOSS_BYTES = 4 /* of a number; integers have eight */ };

/* The allocations in the order of the program's loop, by stack and round, but for those from before the trace. The same
 * one in another round is that of the same stack with as many of that stack before it in its round. */
struct gm_roster {
    uint32_t *v; /* allocations */
    uint32_t n;
    uint32_t *first;      /* [gm_stack_id], and one more: the first row of the stack */
    pthread_mutex_t lock; /* of who makes what follows */
    struct gm_round {
        uint32_t backward; /* the event at which its backward pass begins; GM_NEVER: it has none */
        bool has_step;     /* an optimizer stepped in it */
    } * rounds;            /* gm_lives_rounds */
};

struct gm_lives {
    const struct gm_snapshot *snapshot;
    const struct gm_history *h;
    const uint8_t *role;            /* [allocation] enum gm_role */
    const uint8_t *phase;           /* [event] enum gm_phase; NULL: not known */
    uint32_t peak;                  /* the moment of the peak of requested bytes */
    uint64_t at_peak;               /* requested bytes then */
    struct GM_VEC(uint32_t) there;  /* the allocations that are there then, ascending */
    unsigned *by;                   /* [gm_stack_id] bits */
    unsigned by_any;                /* bits of all stacks */
    uint32_t *same;                 /* [gm_stack_id] the first with the same frames of Python: gm_lives_stack */
    unsigned *frame_by;             /* [gm_frame_id] likewise; GM_BY_NOBODY: it is not of Python */
    _Atomic uint64_t *calls;        /* [gm_stack_id] gm_lives_module_call of level 1, 2 for none; 0: not asked yet */
    struct GM_VEC(uint32_t) rounds; /* first event of each, ascending; none: no loop was found */
    uint32_t *guide;                /* how many of them begin before each moment of so many bits less */
    struct gm_names names;
    uint8_t *taken;        /* [allocation] enum gm_taken: gm_lives_take */
    size_t takes;          /* how often */
    bool *failed;          /* of the case: there was no memory for something, so that it is thrown away in the end */
    pthread_mutex_t *lock; /* of both, if another thread reads them; NULL */
    /* find_kept_over_rounds.c: how what is not taken outlives its round. NULL: nobody has looked since something was
     * taken. */
    uint8_t *kinds;           /* [allocation] */
    struct gm_habit *habits;  /* [gm_stack_id] */
    struct gm_roster *roster; /* also that of a twin */
    struct gm_cut_offs cut_offs;
    bool has_backward, has_optimizer, has_oom;
    bool goes_on, is_asked;  /* gm_goes_on; whether it was asked for: whichever rule wants it first */
    bool is_late;            /* rounds have passed before the trace: what is older goes in it, or is of training */
    bool gives_back;         /* memory goes back to the driver */
    uint32_t last_made;      /* event: what is freed later lasts to the end of the run */
    uint32_t last_zeroed;    /* moment: gradients are given up outside of a backward pass; GM_NEVER: not is_late */
    uint32_t first_oom;      /* event; h->count: none */
    uint32_t first_forward;  /* the first event of a phase; h->count: none */
    uint32_t first_backward; /* of a backward pass; h->count: none */
};

/* Of a device of the report, which owns the strings. `has_oom`: it ran out of memory, and not only calls that went on
 * with less. false: no memory. Free also after failure. */
bool gm_lives_start(struct gm_lives *l, struct gm_report *report, const struct gm_snapshot *snapshot,
                    const struct gm_kept_device *kept, const struct gm_peak *peak, const struct gm_steps *steps,
                    bool has_oom);
void gm_lives_free(struct gm_lives *l);

/* The same for another thread: all that never changes is shared, and lasts as long as `l`, whose names start anew in
 * `arena`. false: no memory. Free also then. */
bool gm_lives_twin(struct gm_lives *twin, struct gm_lives *l, struct gm_arena *arena);
void gm_lives_free_twin(struct gm_lives *twin);
/* What is taken of the other is taken of the twin, and nothing else. */
void gm_lives_take_as(struct gm_lives *twin, const struct gm_lives *other);

/* A mistake has it from now on. */
void gm_lives_take(struct gm_lives *l, size_t a, enum gm_taken how);

/* The round of a moment, from 1; 0: before the first. */
static inline uint32_t gm_lives_round(const struct gm_lives *l, uint32_t moment)
{
    const uint32_t m = moment < l->h->count ? moment : (uint32_t)l->h->count;
    uint32_t at = l->guide[m >> GM_GUIDE_BITS];
    while (at < l->rounds.n && l->rounds.v[at] < m)
        at++;
    return at;
}
/* Its first event; h->count: there is no such round. */
static inline uint32_t gm_lives_first_event(const struct gm_lives *l, uint32_t round)
{
    return round == 0 ? 0 : round <= l->rounds.n ? l->rounds.v[round - 1] : (uint32_t)l->h->count;
}
static inline uint32_t gm_lives_round_of(const struct gm_lives *l, size_t a)
{
    return gm_lives_round(l, l->h->born[a]);
}
/* The first moment of the round after that one; GM_NEVER: there is none. */
uint32_t gm_lives_round_end(const struct gm_lives *l, uint32_t round);
static inline unsigned gm_lives_by(const struct gm_lives *l, size_t a)
{
    return l->by[gm_stack_of(l->h, a)];
}
/* The stack that stands for all that differ from it in frames of C++ only, of what made an allocation, and of an event:
 * a line of the program, whatever operators it calls. GM_STACK_EMPTY: autograd's threads. */
static inline uint32_t gm_lives_stack(const struct gm_lives *l, size_t a)
{
    return l->same[gm_stack_of(l->h, a)];
}
static inline uint32_t gm_lives_stack_at(const struct gm_lives *l, uint32_t event)
{
    return l->same[gm_event_stack(&l->snapshot->events, l->h->first + event).v];
}
static inline bool gm_lives_is_role(const struct gm_lives *l, size_t a, enum gm_role role)
{
    return l->role[a] == (uint8_t)role;
}
/* Weights, and what training keeps for them. */
static inline bool gm_lives_is_of_weights(const struct gm_lives *l, size_t a)
{
    return gm_lives_is_role(l, a, GM_ROLE_PARAMETER) || gm_lives_is_role(l, a, GM_ROLE_GRADIENT) ||
           gm_lives_is_role(l, a, GM_ROLE_OPTIMIZER_STATE);
}
static inline bool gm_lives_at_peak(const struct gm_lives *l, size_t a)
{
    return gm_history_is_active(l->h, a, l->peak);
}
/* The requested bytes of those that are there at the peak. */
uint64_t gm_lives_sum_at_peak(const struct gm_lives *l, bool (*are)(const struct gm_lives *, size_t));
/* Of an event; GM_PHASE_OTHER, too: phases are not known, or it is none of the trace. */
static inline enum gm_phase gm_lives_phase(const struct gm_lives *l, uint32_t event)
{
    return l->phase != NULL && event < l->h->count ? gm_phase_of(l->phase, event) : GM_PHASE_OTHER;
}
/* Whether it was made in a backward pass. */
static inline bool gm_lives_is_of_backward(const struct gm_lives *l, size_t a)
{
    return gm_lives_phase(l, l->h->born[a] - 1) == GM_PHASE_BACKWARD;
}
/* Whether a line of the program let go of it, not autograd, as the stack of that moment tells; of a file whose frees
 * have no stacks nobody knows. */
static inline bool gm_lives_goes_by_line(const struct gm_lives *l, size_t a)
{
    const uint32_t at = gm_let_go(l->h, a);
    const uint32_t stack = at == GM_NEVER || at == 0 ? GM_STACK_EMPTY : gm_lives_stack_at(l, at - 1);
    return stack != gm_lives_stack(l, a) &&
           (l->by[stack] & (GM_BY_NOBODY | GM_BY_BACKWARD | GM_BY_FUNCTION | GM_BY_RECOMPUTE)) == 0;
}
/* Whether a backward pass gave it up, as far as phases are known. */
static inline bool gm_lives_goes_in_backward(const struct gm_lives *l, size_t a)
{
    return gm_lives_phase(l, l->h->freed[a] - 1) == GM_PHASE_BACKWARD && !gm_lives_goes_by_line(l, a);
}
/* Whether autograd itself made it, not a line of the program that merely comes after it. */
static inline bool gm_lives_is_of_engine(const struct gm_lives *l, size_t a)
{
    return (gm_lives_by(l, a) & (GM_BY_NOBODY | GM_BY_BACKWARD)) != 0;
}
/* Whether it is only the trace's end that it lives until. */
bool gm_lives_is_cut_off(const struct gm_lives *l, size_t a);
/* Whether it goes, be it after the trace. */
static inline bool gm_lives_goes(const struct gm_lives *l, size_t a)
{
    return l->h->freed[a] != GM_NEVER || gm_lives_is_cut_off(l, a);
}
/* Whether it is there to the end: never freed, or by the end of the program. */
static inline bool gm_lives_is_left(const struct gm_lives *l, size_t a)
{
    return l->h->freed[a] > l->last_made && (l->h->freed[a] != GM_NEVER || !gm_lives_is_cut_off(l, a));
}
/* Whether the run was still set up, or in its first round: loops may set it up, too. */
static inline bool gm_lives_is_early(const struct gm_lives *l, uint32_t moment)
{
    return gm_lives_round(l, moment) <= 1 || (moment <= l->first_forward && l->first_forward < l->h->count);
}
/* The same of what was made before the trace or so early. */
bool gm_lives_is_lasting(const struct gm_lives *l, size_t a);

/* Whether the innermost line of Python that made it is PyTorch's own. */
static inline bool gm_lives_is_by_torch(const struct gm_lives *l, size_t a)
{
    return (gm_lives_by(l, a) & GM_BY_TORCH) != 0;
}

/* So many of those bytes, all 0, or one for each stack, and one more; the caller frees them. NULL: no memory, and the
 * case has failed. */
void *gm_lives_scratch(const struct gm_lives *l, size_t n, size_t bytes);
void *gm_lives_of_stacks(const struct gm_lives *l, size_t bytes);

/* The user's line. "": no memory, and the case has failed. */
const char *gm_lives_site(struct gm_lives *l, uint32_t stack);

/* Whether any line is known. */
static inline bool gm_lives_has_stacks(const struct gm_lives *l)
{
    return l->snapshot->stacks.count > GM_STACK_EMPTY + 1;
}

/* Whether modules make something: else the forward pass is functions of the program. */
static inline bool gm_lives_has_modules(const struct gm_lives *l)
{
    return (l->by_any & GM_BY_MODULE) != 0;
}

/* Whether the file of its innermost line has code that the step of an optimizer runs, as an optimizer of the program's
 * own has that makes its states before. */
bool gm_lives_is_beside_step(const struct gm_lives *l, uint32_t stack);

/* Which call of a module it was made in, so many modules deep (1: the outermost); the same for all calls of one line.
 * 0: in none. */
uint64_t gm_lives_module_call(const struct gm_lives *l, uint32_t stack, unsigned level);

/* The moment at which so many others have been made after it. */
uint32_t gm_lives_after_others(const struct gm_lives *l, size_t a, unsigned others);

/* [rounds.n + 1] Made when they are first asked for. NULL: no memory, and the case has failed. */
const struct gm_round *gm_lives_rounds(struct gm_lives *l);
/* The row of the same one as in `row`, but in that round. GM_NEVER: there is none. */
uint32_t gm_roster_like(const struct gm_lives *l, uint32_t row, uint32_t round);
/* Whether the stack makes something in that round. */
bool gm_roster_has(const struct gm_lives *l, uint32_t stack, uint32_t round);

/* The user's line, and, if it is another, the one that the run came from. NULL: no memory. */
const char *gm_lives_place(struct gm_lives *l, uint32_t stack);

/* Of these two the program's own that is nearer. NULL: no memory. */
const char *gm_lives_own_line(struct gm_lives *l, uint32_t stack);

/* The user's line outside of modules, from the line at which it parts from another stack. NULL: no memory. */
const char *gm_lives_parting(struct gm_lives *l, uint32_t stack, uint32_t other);

/* Whether the same line of the program tells of both, and other frames called it. */
bool gm_lives_is_line_elsewhere(struct gm_lives *l, uint32_t stack, uint32_t other);

/* How many frames of Python two stacks have in common, from the outermost on. */
size_t gm_lives_shared(const struct gm_lives *l, uint32_t stack, uint32_t other);

/* Marks all stacks of which the same line of the program tells as of a marked one. */
void gm_lives_mark_lines(struct gm_lives *l, bool *marked);

/* Whether the call of the program's function that made things with one stack made those of the other, too, by itself,
 * or with so many frames more. */
enum { GM_INSIDE = 2 /* of PyTorch's own that a function is called through */ };
bool gm_lives_is_beside(struct gm_lives *l, uint32_t stack, uint32_t other, size_t inside);

/* The moment at which the call of the program's function that made it is over, or goes back to an earlier line: its
 * variables hold nothing longer. */
uint32_t gm_lives_end_of_call(struct gm_lives *l, size_t a);

/* The line that called backward() last before a moment (next, if the trace begins after that), or the program's own
 * that is nearer; NULL: none does, or no allocation tells. */
const char *gm_lives_backward(struct gm_lives *l, uint32_t moment, bool is_own);

/* Whether an event [from, to) is known to be of that phase. */
bool gm_lives_has_phase(const struct gm_lives *l, uint32_t from, uint32_t to, enum gm_phase phase);

/* The sizes of all allocations of a role, ascending, each once. */
struct gm_size {
    uint64_t bytes;
    uint32_t there, met; /* how many have it; of how many was asked (gm_sizes_has_another) */
};
struct gm_sizes GM_VEC(struct gm_size); /* GM_FREED; zero-initialise */

/* Without memory they have not all, and the case has failed. */
void gm_sizes_of_role(struct gm_sizes *sizes, const struct gm_lives *l, enum gm_role role);
/* Of those that are. */
void gm_sizes_of_those(struct gm_sizes *sizes, const struct gm_lives *l, bool (*are)(const struct gm_lives *, size_t));
struct gm_set;
void gm_sizes_of_set(struct gm_sizes *sizes, const struct gm_lives *l, const struct gm_set *set);
/* Of the first gradients: those of the round with the first backward pass, or until one of them goes later. */
void gm_sizes_of_first_gradients(struct gm_sizes *sizes, const struct gm_lives *l);
bool gm_sizes_has(const struct gm_sizes *sizes, uint64_t size);
/* Whether there is one of that size that was not met before. */
bool gm_sizes_has_another(struct gm_sizes *sizes, uint64_t size);
void gm_sizes_begin_anew(struct gm_sizes *sizes);

/* Allocations of a mistake, and what mending it does to them. */
struct gm_set {
    struct gm_remedy_change *v;
    size_t n, capacity;
    bool failed; /* there was no memory for one: the case is told when it takes or frees the set (rules.h) */
};
/* Away from `gone` to where it is made again. */
void gm_set_add(struct gm_set *set, size_t a, uint32_t gone, uint32_t again);
/* Given up at that moment; never made; made with so many bytes. */
void gm_set_end(struct gm_set *set, size_t a, uint32_t gone);
void gm_set_drop(struct gm_set *set, size_t a);
void gm_set_shrink(struct gm_set *set, size_t a, uint64_t bytes);
/* With those that the trace's end cut off, as what is like them in the set. */
void gm_set_add_cut_off(const struct gm_lives *l, struct gm_set *set);
/* What those of it that are there at the peak hold then. */
uint64_t gm_set_at_peak(const struct gm_lives *l, const struct gm_set *set);
/* [gm_stack_id] The stacks that made it; the caller frees them. NULL: no memory. */
bool *gm_set_stacks(const struct gm_lives *l, const struct gm_set *set);

/* Who is to be blamed for a set. */
struct gm_blame {
    uint64_t bytes, blocks; /* requested, at the peak */
    uint64_t all;           /* allocations, at any time */
    size_t stacks;          /* different ones */
    uint32_t stack;         /* that has most */
    bool is_most;           /* it has half of the bytes */
    const char *site;       /* of the stack that has most: the user's line, and from where it was called */
};
/* Without memory the case has failed, as where there is none for what follows. */
void gm_lives_blame(struct gm_lives *l, const struct gm_set *set, struct gm_blame *blame);

/* Whether that event is one of a backward pass, which may run parts of the forward pass again. */
bool gm_lives_is_within_backward(const struct gm_lives *l, uint32_t event);

/* The stack of a line of the program, with those bits, that lets go of most of them (half of the bytes), outside of
 * backward passes; 0: none is known to. */
uint32_t gm_lives_freer(const struct gm_lives *l, const struct gm_set *set, unsigned by);

struct gm_case;
/* find_weights.c: where no optimizer of PyTorch's is there, sets of the weights' sizes beside them, which nothing else
 * tells to be copies: states of one by hand. */
void gm_hand_states(struct gm_case *c, struct gm_set *set);

/* The innermost line that nine tenths of their bytes were called from, and the program's own that called it; outside of
 * modules, or anywhere. NULL: there is none. */
const char *gm_lives_caller(struct gm_lives *l, const struct gm_set *set, bool is_outside);
/* The line that most of them at the peak come from; of a function that makes a softmax and no more, the one that calls
 * it. */
const char *gm_lives_function(struct gm_lives *l, const struct gm_set *set);

/* Who runs the parts of a set: a line that is told as a whole; one of several lines of a loop, of which each part is a
 * pass; a module that runs others one after the other. */
enum gm_runs_parts { GM_RUNS_BY_LINE, GM_RUNS_IN_PASSES, GM_RUNS_IN_SEQUENCE };

/* Of parts of a set that go at one moment each, as layers do: the line that most of them (by bytes) were called from;
 * `*other`: the next one, if it has a quarter as much, or NULL; `*more`: how many more there are, but for tiny ones.
 * NULL: there is none. */
const char *gm_lives_caller_of_parts(struct gm_lives *l, const struct gm_set *set, enum gm_runs_parts *runs,
                                     const char **other, size_t *more);
