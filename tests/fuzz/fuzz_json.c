/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/decoders.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gm_fuzz_windows(gm_json_decode, data, size);
    gm_fuzz_load(data, size);
    return 0;
}
