/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

static inline uint64_t random_next(uint64_t *state) /* xorshift */
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
