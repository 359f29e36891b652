/* SPDX-License-Identifier: Apache-2.0
 *
 * What the machine has.
 */
#pragma once

#include <stdint.h>

/* Bytes of memory that a process may use at most: the machine's, or the container's if that is less. UINT64_MAX: not
 * known. */
uint64_t gm_machine_memory(void);
