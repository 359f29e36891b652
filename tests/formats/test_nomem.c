/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out: the n-th allocation fails, for n = 1, 2, 3 ... until loading succeeds; a sanitizer watches for
 * leaks.
 */
#include "analyze/formats/load.h"
#include "tests/formats/fixtures.h"
#include "tests/formats/model_check.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <stdlib.h>

/* Loads with ever later failures; returns how many there were. A single failure may be survived (a hash table that
 * could not grow now grows a little later), but when everything from there on fails, loading must. */
static size_t exhaust(const char *name, size_t cut, bool salvage, bool keeps_failing)
{
    struct bytes b = read_fixture(name);
    b.n = cut > 0 ? b.n - b.n / cut : b.n;
    const struct gm_load_options options = {.salvage = salvage};
    struct gm_snapshot s;
    struct gm_error err;
    enum gm_status status, expected = gm_snapshot_load_bytes(&s, b.p, b.n, name, &options, &err);
    gm_snapshot_free(&s);
    size_t n = 0;
    bool has_failed;
    do {
        err = (struct gm_error){0};
        nomem_begin(++n, keeps_failing);
        status = gm_snapshot_load_bytes(&s, b.p, b.n, name, &options, &err);
        has_failed = nomem_end();
        if (status != expected && status != GM_E_NOMEM)
            fail_msg("%s, allocation %zu: status %d, %s", name, n, (int)status, err.message);
        if (has_failed && keeps_failing && status != GM_E_NOMEM)
            fail_msg("%s, allocation %zu failed without GM_E_NOMEM: %d", name, n, (int)status);
        if (status != GM_OK && (err.status != status || err.message[0] == '\0' || s.memory != NULL))
            fail_msg("%s, allocation %zu: no message, or a snapshot was left", name, n);
        if (status == GM_OK && gm_model_check(&s) != NULL)
            fail_msg("%s, allocation %zu: %s", name, n, gm_model_check(&s));
        gm_snapshot_free(&s);
    } while (has_failed);
    assert_int_equal(status, expected);
    free(b.p);
    return n - 1;
}

static const char *const files[] = {"full.p0.pickle", "full.p2.pickle",   "full.p4.pickle", "full.cpp.pickle",
                                    "full.json",      "full.pickle.gz",   "full.twice.gz",  "full.1.html",
                                    "full.html.gz",   "legacy.p2.pickle", "host.p4.pickle", "names.json",
                                    "names.p4.pickle"};

static void run(bool keeps_failing)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_true(exhaust(files[i], 0, false, keeps_failing) > 20); /* the assembler alone needs more */
        assert_true(exhaust(files[i], 2, true, keeps_failing) > 20);
        exhaust(files[i], 2, false, keeps_failing);
    }
}

TEST(once)
{
    run(false);
}

TEST(from_then_on)
{
    run(true);
}
