/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out while a snapshot is written: the n-th allocation fails, for n = 1, 2, 3 ... until it succeeds; a
 * sanitizer watches for leaks.
 */
#include "analyze/formats/load.h"
#include "replay/write/snapshot_writer.h"
#include "replay/write/write.h"
#include "tests/formats/fixtures.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <stdlib.h>

static enum gm_status count(void *context, const void *bytes, size_t length, struct gm_error *err)
{
    (void)bytes;
    (void)err;
    *(size_t *)context += length;
    return GM_OK;
}

static void exhaust(const char *name, enum gm_compression compression)
{
    struct bytes b = read_fixture(name);
    struct gm_snapshot s;
    struct gm_error err = {0};
    assert_int_equal(gm_snapshot_load_bytes(&s, b.p, b.n, name, NULL, &err), GM_OK);
    size_t n = 0;
    bool has_failed;
    do {
        size_t length = 0;
        const struct gm_sink end = {.write = count, .context = &length};
        struct gm_compressor *compressor = NULL;
        struct gm_sink sink = end;
        enum gm_status status = GM_OK;
        err = (struct gm_error){0};
        nomem_begin(++n, false);
        if (compression != GM_COMPRESSION_NONE)
            status = gm_compressor_new(&compressor, compression, &end, &sink, &err);
        GM_THEN(status, gm_write_pickle(&s, &sink, &err));
        if (status == GM_OK && compressor != NULL)
            status = gm_compressor_finish(compressor, &err);
        gm_compressor_free(compressor);
        has_failed = nomem_end();
        assert_int_equal(status, has_failed ? GM_E_NOMEM : GM_OK);
        assert_true(status == GM_OK || (err.status == status && err.message[0] != '\0'));
        assert_true(status != GM_OK || length > 0);
    } while (has_failed);
    assert_true(n > 10); /* the memos alone are five */
    gm_snapshot_free(&s);
    free(b.p);
}

TEST(nomem)
{
    static const char *const files[] = {"full.p4.pickle", "names.p4.pickle", "raw.cpp.pickle", "legacy.p2.pickle",
                                        "host.p4.pickle"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int compression = GM_COMPRESSION_NONE; compression <= GM_COMPRESSION_ZSTD; compression++)
            exhaust(files[i], (enum gm_compression)compression);
}
