/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: sizes explained by the dimensions of a transformer, and what one of these dimensions should need.
 * Included by report.h; the same rules hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* tokens is batch * seq; head is the width of one, hidden / heads if nothing else is known. Of experts of ffn each a
 * token goes through topk; a model without has neither. */
enum gm_dim {
    GM_DIM_BATCH,
    GM_DIM_SEQ,
    GM_DIM_TOKENS,
    GM_DIM_HIDDEN,
    GM_DIM_HEADS,
    GM_DIM_KV_HEADS,
    GM_DIM_HEAD,
    GM_DIM_LAYERS,
    GM_DIM_VOCAB,
    GM_DIM_FFN,
    GM_DIM_EXPERTS,
    GM_DIM_TOPK,
    GM_DIM_COUNT
};
struct gm_dims {
    uint64_t v[GM_DIM_COUNT]; /* 0: not known */
};

struct gm_dim_row {
    const char *name;
    uint64_t value;
    bool is_given;      /* on the command line */
    const char *source; /* what it was inferred from */
};
/* A requested size, and what it is by the dimensions. */
struct gm_size_row {
    uint64_t bytes, blocks, total; /* of one; at the peak; of those together */
    uint64_t made;                 /* in the trace, those from before it too */
    const char *role;              /* that most of those at the peak have; of none there NULL */
    const char *formula;           /* "batch*seq*hidden*4 B"; NULL: there is none */
    const char *meaning;           /* NULL likewise */
    uint64_t others;               /* formulas as simple that give as many bytes */
};
struct gm_need_row {
    const char *name, *formula;
    uint64_t bytes;     /* that it should need */
    uint64_t measured;  /* most at any moment of the trace; GM_REPORT_NONE: nothing is measured of it */
    int64_t difference; /* measured less needed */
    double percent;     /* likewise, of what it should need; NaN: not known */
    const char *remark; /* where the difference is large; NULL */
};
struct gm_dims_report {
    const struct gm_dim_row *dims;
    size_t dim_count;
    const struct gm_size_row *sizes; /* most bytes at the peak first */
    size_t size_count;
    uint64_t explained, peak; /* requested bytes at the peak: of sizes with a formula; all */
    const struct gm_need_row *needs;
    size_t need_count;
    const char *doubt;   /* a sentence about needs; NULL */
    const char *missing; /* dimensions without which needs are not known, "heads, seq"; NULL: none */
};
