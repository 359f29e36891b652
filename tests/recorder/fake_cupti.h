/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcupti that a program drives: what CUDA would do is said by calling these.
 * FAKE_CUPTI: "busy" (somebody subscribed already), "old" (another major version), "drops" (records are lost).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_RUNTIME, FAKE_DRIVER };

/* One half of a call: it is delivered to the subscriber if that asked for this id. `correlation` is the call's own. */
void fake_half(int domain, uint32_t id, const char *name, const char *symbol, const void *parameters, int result,
               int device, bool is_after, uint64_t *correlation);
void fake_nvtx(uint32_t id, const char *name, const void *parameters, const void *result);
/* The device ran something: kept until the subscriber flushes or the buffer is full. Times in ns of fake_clock. */
void fake_kernel(int device, const char *name, uint64_t start, uint64_t end);
void fake_copy(int device, uint64_t bytes, uint64_t start, uint64_t end);
uint64_t fake_clock(void);
