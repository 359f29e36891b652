/* SPDX-License-Identifier: Apache-2.0
 *
 * Any file: compressed or not, whatever it is.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gm_fuzz_load(data, size);
    return 0;
}
