/* SPDX-License-Identifier: Apache-2.0
 *
 * What the page gave, platform.c.
 */
#pragma once

#include <sys/types.h>

#define GRND_NONBLOCK 1

ssize_t getrandom(void *out, size_t size, unsigned flags);
