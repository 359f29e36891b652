/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* seed[16]: what hash tables begin with. Only WebAssembly needs to be told: elsewhere the kernel gives one. */
void gm_seed_set(const uint8_t *seed);
