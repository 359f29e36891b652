/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the role code: the evidence about each allocation of one device, in columns beside the history's.
 *
 * The order of work: what stacks say (roles.c) gives the phase of every moment; with the phases comes the life of
 * every allocation (role_lives.c); with the lives, sizes are counted and tell what has no stack (role_sizes.c); the
 * table (role_table.c) decides.
 */
#pragma once

#include "analyze/base/vec.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/trace_pass.h"

enum gm_says {
    GM_SAYS_NONE,  /* there is no stack */
    GM_SAYS_OTHER, /* there is one, and it tells nothing */
    GM_SAYS_EMPTY, /* a stack was taken, and it had no frames: a thread without Python, as autograd's */
    GM_SAYS_WORKSPACE,
    GM_SAYS_COMMUNICATION,
    GM_SAYS_KV_CACHE,
    GM_SAYS_OPTIMIZER_SETUP, /* code that makes the state of an optimizer */
    GM_SAYS_OPTIMIZER,
    GM_SAYS_RECOMPUTE, /* activation checkpointing runs a forward again in backward */
    GM_SAYS_ACCUMULATE,
    GM_SAYS_BACKWARD,
    GM_SAYS_LOADING,
    GM_SAYS_OBJECT, /* an object of the program makes it for itself */
    GM_SAYS_INPUT,
    GM_SAYS_FORWARD,
    GM_SAYS_COUNT
};

/* Rules and what they said so far; shared by all devices of a snapshot. */
struct gm_role_stacks;

enum gm_says gm_stack_ask(struct gm_role_stacks *stacks, struct gm_stack_id stack);

enum gm_role_part {
    GM_PART_FORWARD,
    GM_PART_BACKWARD,
    GM_PART_OPTIMIZER
}; /* forward is also what is none of the others */

/* How an allocation lived. A run is a stretch of the trace in one part. BRIEF to LATER were freed in the trace. */
enum gm_life {
    GM_LIFE_OLD,          /* from before the trace, never freed */
    GM_LIFE_OLD_BACKWARD, /* from before the trace, freed in backward */
    GM_LIFE_OLD_TAIL,     /* from before the trace, freed between the last allocation of a backward and what follows */
    GM_LIFE_OLD_REPLACED, /* from before the trace, freed when a new one of its size was there */
    GM_LIFE_OLD_FREED,    /* from before the trace, freed elsewhere */
    GM_LIFE_BRIEF,        /* freed within GM_BRIEF_EVENTS events */
    GM_LIFE_RUN,          /* freed in the run in which it was made */
    GM_LIFE_KEPT,         /* likewise, in forward, after half a step's events or more */
    GM_LIFE_TAIL,         /* made in backward, and freed between the last allocation of it and what follows */
    GM_LIFE_BACKWARD,     /* made elsewhere, freed in backward */
    GM_LIFE_LATER,        /* freed after the run in which it was made */
    GM_LIFE_LASTING,      /* outlived the run in which it was made, never freed */
    GM_LIFE_OPEN,         /* never freed, and the trace ends in the run in which it was made */
    GM_LIFE_COUNT,
    GM_LIFE_UNDECIDED = 15 /* while events are walked */
};
enum { GM_BRIEF_EVENTS = 32 };

/* What sizes, or other blocks, say about an allocation. */
enum gm_claim {
    GM_CLAIM_NONE,
    GM_CLAIM_FITS,             /* parameters of its size are known */
    GM_CLAIM_HEIR,             /* took the place of a parameter, a state or a cache */
    GM_CLAIM_TRAINED,          /* never freed, and gradients of its size were made, more than there are parameters */
    GM_CLAIM_KEPT_GRADIENT,    /* of a parameter's size, there from before the first step on, written in place */
    GM_CLAIM_OWN_STATE,        /* never freed, of a parameter's size, more than there are parameters, and no optimizer
                                * of torch ran */
    GM_CLAIM_CLONE,            /* likewise, and one did: a copy of the parameters */
    GM_CLAIM_WORKSPACE,        /* cuBLAS's own size */
    GM_CLAIM_WORKSPACE_MAYBE,  /* a size that cuBLAS shares with others */
    GM_CLAIM_STALE_GRADIENT,   /* of a gradient's size, older than the trace, given up in it */
    GM_CLAIM_PARAMETER,        /* without a stack: as many as there are gradients of its size ... */
    GM_CLAIM_SECOND,           /* ... more of its size than parameters and the states that the optimizer has: a copy */
    GM_CLAIM_STATE,            /* ... the same number again, once or several times */
    GM_CLAIM_MASTER,           /* twice the size of a gradient, and as many of them */
    GM_CLAIM_SHARED_PARAMETER, /* all sizes come in multiples of 2, 3 or 4: parameters, gradients, states */
    GM_CLAIM_SHARED_GRADIENT,
    GM_CLAIM_SHARED_STATE,
    GM_CLAIM_ALIKE,     /* of a size of which the rounds of the trace keep more and more */
    GM_CLAIM_FROZEN,    /* there is a backward, and no gradient of its size */
    GM_CLAIM_INFERENCE, /* there is no backward */
    GM_CLAIM_GROWING,   /* of sizes that grow by the same bytes from round to round, or there before these */
    GM_CLAIM_SLOTS,     /* there is no backward; made between the weights and the first forward, to stay */
    GM_CLAIM_COPY,      /* set up like a parameter, twice the size of one, and only an optimizer works with that size */
    GM_CLAIM_LEFT,      /* made after the first backward, or as what is, by code that tells nothing, never freed */
    GM_CLAIM_PRIVATE,   /* in a private pool, without a stack */
    GM_CLAIM_COUNT
};

enum gm_world {                     /* what kind of trace it is */
                GM_WORLD_NOTHING,   /* no allocations in it */
                GM_WORLD_INFERENCE, /* allocations, none in backward or an optimizer */
                GM_WORLD_TRAINING
};

/* `heir` was made just before `old`, of the same size, was given up. */
struct gm_heir {
    uint32_t heir, old;
};

struct gm_role_work {
    struct gm_trace_pass *pass;
    const struct gm_history *h;
    struct gm_role_stacks *stacks;
    bool has_engine;            /* autograd's own code or thread shows in stacks */
    bool empty_is_backward;     /* a stack without frames is autograd's thread: others of the trace have frames */
    bool old_empty_is_backward; /* likewise, of what is older than it: weights that are had their stacks taken */
    enum gm_world world;
    uint32_t most_states; /* that the run's optimizers keep for each parameter, by their names */
    uint8_t *life;        /* [allocation] enum gm_life, and the part in which it was made (older: freed) << 4 */
    uint8_t *claim;       /* [allocation] enum gm_claim */
    uint8_t *runs; /* [stack] whether it allocates after the trace's first step: what sets up does not; 2: and gives
                      some up */
    struct GM_VEC(struct gm_heir) heirs; /* by the heir's birth */
    struct GM_VEC(uint32_t) backwards;   /* event of the first allocation of each run in backward, ascending */
    struct GM_VEC(uint32_t) optimizers;  /* likewise, in an optimizer */
};

static inline enum gm_life gm_life_of(const struct gm_role_work *w, size_t a)
{
    return (enum gm_life)(w->life[a] & 15);
}
/* Freed in its run, or by the backward after it. */
static inline bool gm_life_is_short(enum gm_life life)
{
    return life >= GM_LIFE_BRIEF && life <= GM_LIFE_BACKWARD && life != GM_LIFE_TAIL;
}
static inline enum gm_role_part gm_life_part(const struct gm_role_work *w, size_t a)
{
    return (enum gm_role_part)(w->life[a] >> 4);
}
static inline void gm_life_set(struct gm_role_work *w, size_t a, enum gm_life life, enum gm_role_part part)
{
    w->life[a] = (uint8_t)((unsigned)life | (unsigned)part << 4);
}

/* What the stack of an allocation says; where it says nothing, what the phases of steps.c say. */
enum gm_says gm_role_says(struct gm_role_work *w, size_t a);

/* Whether it was made in the first step, between backward and forward, as far as phases are known. */
static inline bool gm_is_after_first_backward(const struct gm_role_work *w, size_t a)
{
    const struct gm_steps *steps = &w->pass->out->steps;
    const uint32_t born = w->h->born[a];
    return w->pass->phase != NULL && gm_phase_of(w->pass->phase, born - 1) == GM_PHASE_OTHER && w->backwards.n > 0 &&
           w->backwards.v[0] < born && steps->row_count > 0 && born <= steps->rows[0].last_event + 1;
}

/* Whether a line of the program made it while a backward seems to go on, of which autograd's own allocations tell. */
static inline bool gm_is_beside_backward(const struct gm_role_work *w, size_t a)
{
    return w->has_engine && w->h->born[a] > 0 &&
           (gm_life_part(w, a) == GM_PART_BACKWARD || gm_is_after_first_backward(w, a)) &&
           gm_stack_ask(w->stacks, (struct gm_stack_id){gm_stack_of(w->h, a)}) == GM_SAYS_OTHER;
}

/* Whether the allocation lived on after the backward or the optimizer step that made it, as far as can be told. */
static inline bool gm_outlived(const struct gm_role_work *w, size_t a)
{
    enum gm_life life = gm_life_of(w, a);
    return life == GM_LIFE_LATER || life == GM_LIFE_LASTING ||
           (life == GM_LIFE_OPEN && w->h->count - w->h->born[a] >= GM_BRIEF_EVENTS);
}
/* Made by a line that goes on to run after the first step: not of what is set up before. */
static inline bool gm_is_of_rounds(const struct gm_role_work *w, size_t a)
{
    return w->runs[gm_stack_of(w->h, a)] != 0;
}
static inline bool gm_is_of_backward(enum gm_says says)
{
    return says == GM_SAYS_ACCUMULATE || says == GM_SAYS_BACKWARD || says == GM_SAYS_EMPTY;
}
static inline bool gm_is_of_weights(enum gm_says says)
{
    return says == GM_SAYS_LOADING || says == GM_SAYS_OBJECT;
}
static inline bool gm_is_of_optimizer(enum gm_says says)
{
    return says == GM_SAYS_OPTIMIZER || says == GM_SAYS_OPTIMIZER_SETUP;
}

bool gm_role_lives(struct gm_role_work *w); /* fills life, heirs, backwards, world. false: no memory */
bool gm_role_sizes(struct gm_role_work *w); /* fills claim; likewise */

bool gm_role_caches(struct gm_role_work *w); /* caches in inference, likewise */

/* The table: the first rule that fits decides. `pass->role` and `pass->reason` (its number) are filled. */
void gm_role_decide(struct gm_role_work *w);
struct gm_role_rule {
    enum gm_role role;
    const char *reason;
    int certainty;
};
struct gm_role_rule gm_role_rule(size_t reason);
size_t gm_role_rule_count(void);
