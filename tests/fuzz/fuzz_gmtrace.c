/* SPDX-License-Identifier: Apache-2.0
 *
 * .gmtrace files, as they are and with their checksums made right, so that what lies behind these is reached. What is
 * accepted must come out the same when it is written and read once more.
 */
#include "analyze/formats/gmtrace_write.h"
#include "analyze/formats/load.h"
#include "tests/fuzz/fuzz.h"
#include "tests/gmtrace/same.h"
#include "tests/gmtrace/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_round_trip(const struct gm_snapshot *first)
{
    GM_FREED struct gm_text file = {0};
    struct gm_snapshot second;
    struct gm_error err = {0};
    gm_fuzz_must(gm_write_gmtrace(first, &file, &err) == GM_OK, "what was read can be written");
    gm_fuzz_must(gm_snapshot_load_bytes(&second, file.data, file.length, "fuzz", NULL, &err) == GM_OK, err.message);
    const char *difference = gm_snapshot_difference(first, &second);
    gm_fuzz_must(difference == NULL, difference);
    gm_snapshot_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gm_fuzz_load(data, size);
    GM_FREED uint8_t *sealed = malloc(size + 1);
    gm_fuzz_must(sealed != NULL, "memory");
    if (size > 0)
        memcpy(sealed, data, size);
    gm_seal(sealed, size);
    gm_fuzz_load(sealed, size);
    struct gm_snapshot s;
    if (gm_snapshot_load_bytes(&s, sealed, size, "fuzz", NULL, NULL) == GM_OK) {
        if (strcmp(s.source.format, "gmtrace") == 0)
            check_round_trip(&s);
        gm_snapshot_free(&s);
    }
    return 0;
}
