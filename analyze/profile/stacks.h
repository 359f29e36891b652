/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/profile: the Python functions around a span, as key_averages(group_by_stack_n=5) has them.
 */
#ifndef GM_PROFILE_STACKS_H
#define GM_PROFILE_STACKS_H

#include "analyze/profile/links.h"

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

#endif
