/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: what the memory of a run that serves a model is for, and how much more it could serve. Included by
 * report.h; the same rules hold.
 */
#ifndef GM_REPORT_SERVING_H
#define GM_REPORT_SERVING_H

#include <stdint.h>

enum gm_serving_part {
    GM_SERVING_WEIGHTS,
    GM_SERVING_CACHE,
    GM_SERVING_GRAPHS, /* what private pools hold: of CUDA graphs, or torch.cuda.MemPool */
    GM_SERVING_WORKSPACE,
    GM_SERVING_PASSING, /* activations and temporaries */
    GM_SERVING_REST,
    GM_SERVING_FRAGMENTATION, /* free, but not to be given back: of the other pools */
    GM_SERVING_UNUSED,        /* the rest of what is free there */
    GM_SERVING_PARTS
};
struct gm_serving_row {
    const char *name;
    uint64_t bytes, blocks; /* of blocks; blocks GM_REPORT_NONE: it has none */
};

/* At the moment when most is reserved, from the first block of the cache (or of a private pool) on; of several that one
 * when most is requested. */
struct gm_serving {
    uint64_t event; /* that led to the moment; GM_REPORT_NONE: before event 0 */
    uint64_t reserved;
    struct gm_serving_row rows[GM_SERVING_PARTS]; /* they sum to `reserved` */
    uint64_t cache;                               /* requested bytes of the KV cache */
    /* Bytes that the cache grows by in a decode step, of all sequences together, and how many steps show it; none:
     * it does not grow, or not by the same each time. */
    uint64_t growth, steps;
    /* What the command line says; 0: it does not. tokens: that the cache has room for then, of all sequences. */
    uint64_t tokens, sequences;
    const char *card;  /* whose memory `capacity` is; NULL: what the recording could have, or it is not known */
    uint64_t capacity; /* bytes that the process may reserve; GM_REPORT_NONE */
    uint64_t per_token, per_sequence; /* bytes; a sequence's share of what passes is in it, too. GM_REPORT_NONE */
    /* Capacity less what is reserved, and what that is good for. */
    uint64_t room, more_tokens, more_sequences, more_steps;
};

#endif
