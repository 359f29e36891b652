/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to analyze/timeline/dims: the sizes of a device's allocations, counted (dims.c), the dimensions that they
 * tell (infer_dims.c), the formulas that give such sizes (formulas.c), what a transformer should need (needs.c). dims.c
 * runs them in this order.
 */
#pragma once

#include "analyze/timeline/trace_pass.h"

/* One requested size. */
struct gm_size_count {
    uint64_t size;
    uint32_t made;                /* allocations of it */
    uint32_t kept, passing;       /* those of activations; of temporaries, inputs and what is not known */
    uint32_t live[GM_ROLE_COUNT]; /* at the peak, by role */
};
struct gm_census {
    struct gm_size_count *v; /* by size */
    size_t n;
};
/* Zeroes if there is none of that size. */
struct gm_size_count gm_census_find(const struct gm_census *census, uint64_t size);

/* What is known of the model. */
struct gm_model {
    struct gm_dims dims;
    const char *source[GM_DIM_COUNT]; /* of what was inferred; NULL: given, or not known */
    uint64_t weight, activation;      /* bytes of a number of each */
};
/* Adds to what the command line says what sizes tell. false: no memory. */
bool gm_dims_infer(struct gm_model *model, const struct gm_census *census, struct gm_arena *arena);
const char *gm_dim_name(enum gm_dim dim);

/* A formula that gives a size. */
struct gm_formula {
    uint64_t bytes;
    unsigned cost;               /* the simpler, the less */
    uint8_t shape, width, times; /* index of formulas.c; bytes of a number; how many such, 0: half of one */
    bool has_layers;
};
struct gm_formulas {
    struct gm_formula *v; /* by bytes, then cost */
    size_t n;
};
bool gm_formulas_make(struct gm_formulas *formulas, const struct gm_model *model);
/* Fills formula, meaning and others of the row. false: no memory. */
bool gm_formulas_read(const struct gm_formulas *formulas, const struct gm_model *model, struct gm_size_row *row,
                      struct gm_arena *arena);

/* Fills needs, or missing. false: no memory. */
bool gm_dims_needs(struct gm_dims_report *out, const struct gm_model *model, const struct gm_census *census,
                   const struct gm_trace_pass *pass);
