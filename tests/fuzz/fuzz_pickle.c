/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/formats/decoders.h"
#include "tests/fuzz/fuzz.h"

static enum gm_status decode(struct gm_source *source, struct gm_assembler *a, struct gm_error *err)
{
    return gm_pickle_decode(source, &(struct gm_decoded){.values = a}, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gm_fuzz_windows(decode, data, size);
    gm_fuzz_load(data, size);
    return 0;
}
