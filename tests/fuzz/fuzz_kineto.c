/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of torch.profiler: the same through any window and by tokens alone, and a snapshot that holds together or an
 * error.
 */
#include "tests/formats/profile_outcome.h"
#include "tests/formats/sources.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gm_source sources[3];
    struct profile_outcome outcomes[3];
    if (gm_source_open_memory(&sources[0], data, size, NULL) != GM_OK ||
        gm_source_open_memory(&sources[1], data, size, NULL) != GM_OK)
        abort();
    open_steps(&sources[2], data, size, 2048, 1 + size % 97);
    for (int i = 0; i < 3; i++) {
        outcomes[i] = profile_decode(&sources[i], i == 0);
        if (profile_difference(&outcomes[0], &outcomes[i]) != NULL ||
            (outcomes[i].status != GM_OK && outcomes[i].err.message[0] == '\0'))
            abort();
    }
    for (int i = 0; i < 3; i++) {
        if (!gm_profile_finish(&outcomes[i].p))
            abort();
        gm_profile_free(&outcomes[i].p);
    }
    gm_fuzz_load(data, size);
    return 0;
}
