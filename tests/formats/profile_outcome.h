/* SPDX-License-Identifier: Apache-2.0
 *
 * What the decoder of torch.profiler's traces makes of a file, all of it, to be compared: read by tokens alone, or with
 * what makes it fast.
 */
#pragma once

#include "analyze/formats/source.h"
#include "analyze/snapshot/profile.h"

struct profile_outcome {
    enum gm_status status;
    struct gm_error err;
    struct gm_profile p;
};

/* Decodes and frees *source; free the outcome with gm_profile_free(&outcome.p). */
struct profile_outcome profile_decode(struct gm_source *source, bool by_tokens);
/* NULL if they are the same to the last row, else what is not (a constant string). */
const char *profile_difference(const struct profile_outcome *a, const struct profile_outcome *b);
