/* SPDX-License-Identifier: Apache-2.0
 *
 * Natively, where the core is tested.
 */
#include "render/page/core/seed.h"

void gm_seed_set(const uint8_t *seed)
{
    (void)seed;
}
