/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library's, and what it lacks.
 */
#pragma once

#include_next <stdlib.h>

#ifdef __wasm__
void qsort_r(void *v, size_t n, size_t size, int (*compare)(const void *left, const void *right, void *argument),
             void *argument);
#endif
