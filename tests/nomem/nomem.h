/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out where a test wants it. Only calls of our own code are caught, in all threads: the linker sends
 * those of a program that links gm_nomem here. Others (those of the C library, of glib) are not ours.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now on (1 is the next) fails; with `for_good` all after it, too. */
void nomem_begin(size_t n, bool for_good);
/* All succeed again. Whether one has failed since nomem_begin. */
bool nomem_end(void);
