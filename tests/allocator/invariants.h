/* SPDX-License-Identifier: Apache-2.0
 *
 * The invariants that analyze/allocator/address_space.h and replay/model/allocator.h state. *why is a literal that
 * names the first that does not hold. O(n log n).
 */
#pragma once

#include "replay/model/allocator.h"

bool space_is_sound(const struct gm_space *space, const char **why);
bool allocator_is_sound(const struct gm_allocator *a, const char **why); /* its space, too */
