/* SPDX-License-Identifier: Apache-2.0
 *
 * WebAssembly has no auxiliary vector.
 */
#ifndef GM_PAGE_WASI_AUXV_H
#define GM_PAGE_WASI_AUXV_H

#define AT_RANDOM 25

static inline unsigned long getauxval(unsigned long type)
{
    (void)type;
    return 0;
}

#endif
