/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page gave, platform.c.
 */
#ifndef GM_PAGE_WASI_RANDOM_H
#define GM_PAGE_WASI_RANDOM_H

#include <sys/types.h>

#define GRND_NONBLOCK 1

ssize_t getrandom(void *out, size_t size, unsigned flags);

#endif
