/* SPDX-License-Identifier: Apache-2.0
 *
 * What every fuzz target asserts: loading ends in an error with a message, or in a snapshot that holds together.
 */
#pragma once

#include "analyze/formats/assemble.h"
#include "analyze/formats/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Loads the bytes as a file, with and without salvage. Aborts if something does not hold. */
void gm_fuzz_load(const uint8_t *data, size_t size);

/* Decodes the bytes once as a whole and once through a small window in small steps: both must give the same. */
typedef enum gm_status gm_fuzz_decoder(struct gm_source *source, struct gm_assembler *a, struct gm_error *err);
void gm_fuzz_windows(gm_fuzz_decoder *decode, const uint8_t *data, size_t size);

/* For targets that make files out of bytes: the next one, 0 when there are no more. */
struct gm_fuzz_bytes {
    const uint8_t *data;
    size_t size;
};
static inline unsigned gm_fuzz_next(struct gm_fuzz_bytes *b)
{
    if (b->size == 0)
        return 0;
    b->size--;
    return *b->data++;
}

/* Aborts, and says what was to hold. */
static inline void gm_fuzz_must(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        abort();
    }
}
#define HOLDS(condition) gm_fuzz_must((condition), #condition)
