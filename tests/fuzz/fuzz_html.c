/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/formats/sources.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

/* The page through windows of two sizes: the same bytes, or the same failure. */
static enum gm_status read_page(const uint8_t *data, size_t size, size_t window, size_t step, struct bytes *out)
{
    struct gm_source page, source;
    struct gm_error err = {0};
    open_steps(&page, data, size, window, step);
    enum gm_status status = gm_source_open_html(&source, &page, &err);
    GM_THEN(status, read_all(&source, 64, out, &err));
    if (status != GM_OK && err.message[0] == '\0')
        abort();
    gm_source_free(&source);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes wide = {0}, narrow = {0};
    enum gm_status status = read_page(data, size, 1 << 16, size + 1, &wide);
    if (read_page(data, size, 256, 1 + size % 61, &narrow) != status || (status == GM_OK && wide.n != narrow.n))
        abort();
    free(wide.p);
    free(narrow.p);
    gm_fuzz_load(data, size);
    return 0;
}
