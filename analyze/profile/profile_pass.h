/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/profile: what its passes share.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/report/profile_facts.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/profile.h"

/* What ran on devices and the operators that asked for it, by the external id that both state. */

struct gm_link {
    uint32_t operator_span; /* the last span of an operator with that id, or GM_PROFILE_NONE */
    int64_t device_ns;      /* of kernels, copies and memsets */
};
struct gm_links {                       /* zero-initialise */
    struct GM_VEC(struct gm_link) rows; /* of the ids that something on a device states */
    uint32_t *of;                       /* [span]: its row, or GM_PROFILE_NONE */
};

/* false: no memory. gm_links_free in any case. */
bool gm_links_find(struct gm_links *links, const struct gm_profile *p);
/* What is known of a span's external id; of none, and of what no device states, nothing. Never NULL. */
const struct gm_link *gm_link_of(const struct gm_links *links, size_t span);
void gm_links_free(struct gm_links *links);

struct gm_profile_pass {
    const struct gm_profile *profile;
    struct gm_arena *arena; /* the report's */
    struct gm_profile_report *out;
    struct gm_links links;
    uint64_t card_bytes; /* 0: as the trace says */
};

/* The tables of operators, shapes, modules and stacks. */
enum gm_status gm_profile_averages(struct gm_profile_pass *pass, struct gm_error *err);
/* What events state of devices and the host. */
enum gm_status gm_profile_stated(struct gm_profile_pass *pass, struct gm_error *err);
/* Copies, and what they did to what is allocated. */
enum gm_status gm_profile_copies(struct gm_profile_pass *pass, struct gm_error *err);
/* A string of the profile, clean and on one line; NULL: no memory. */
const char *gm_profile_clean(struct gm_arena *arena, const char *s, size_t n);

/* ---- the Python functions around a span, as key_averages(group_by_stack_n=5) has them -----------------------------
 */

struct gm_stack_text GM_VEC(char);

struct gm_profile_stacks { /* zero-initialise */
    const struct gm_profile *p;
    uint32_t *python;  /* [span]: the innermost Python function around it, or GM_PROFILE_NONE; NULL: no stacks */
    uint32_t *of;      /* [span]: whose stack is its own: its own, that of its forward, or GM_PROFILE_NONE: none */
    uint32_t *numbers; /* [spans + strings]: see gm_profile_stack_number */
    unsigned char *left_out; /* [strings]: a function that PyTorch leaves out; 1: no, 2: yes, 0: not looked */
};

/* false: no memory. gm_profile_stacks_free in any case. */
bool gm_profile_stacks_find(struct gm_profile_stacks *stacks, const struct gm_profile *p, const struct gm_links *links);
/* A number, 0 at first, that all spans share which have one and the same stack; NULL: the span has none. */
uint32_t *gm_profile_stack_number(const struct gm_profile_stacks *stacks, uint32_t span);
/* "b.py(2): g;a.py(1): f", innermost first, of a span; "" without stacks. false: no memory. */
bool gm_profile_stack_text(const struct gm_profile_stacks *stacks, uint32_t span, struct gm_stack_text *text);
void gm_profile_stacks_free(struct gm_profile_stacks *stacks);
