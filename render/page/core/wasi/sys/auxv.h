/* SPDX-License-Identifier: Apache-2.0
 *
 * WebAssembly has no auxiliary vector.
 */
#pragma once

#define AT_RANDOM 25

static inline unsigned long getauxval(unsigned long type)
{
    (void)type;
    return 0;
}
