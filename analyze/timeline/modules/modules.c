/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/modules/module_work.h"

static uint64_t *part_of(struct gm_purposes *use, uint8_t role)
{
    switch (role) {
    case GM_ROLE_PARAMETER:
        return &use->weights;
    case GM_ROLE_GRADIENT:
        return &use->gradients;
    case GM_ROLE_OPTIMIZER_STATE:
        return &use->states;
    case GM_ROLE_ACTIVATION:
        return &use->activations;
    case GM_ROLE_TEMPORARY:
        return &use->temporaries;
    default:
        return &use->others;
    }
}

void gm_purposes_add(struct gm_purposes *use, uint8_t role, uint64_t bytes)
{
    uint64_t *part = part_of(use, role);
    *part = gm_known_add(*part, bytes);
}

void gm_purposes_merge(struct gm_purposes *to, const struct gm_purposes *more)
{
    to->weights = gm_known_add(to->weights, more->weights);
    to->gradients = gm_known_add(to->gradients, more->gradients);
    to->states = gm_known_add(to->states, more->states);
    to->activations = gm_known_add(to->activations, more->activations);
    to->temporaries = gm_known_add(to->temporaries, more->temporaries);
    to->others = gm_known_add(to->others, more->others);
}

bool gm_trace_modules(struct gm_trace_pass *pass)
{
    return gm_module_tags(pass) && gm_module_tree(pass) && gm_module_layers(pass);
}
