/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out while a .gmtrace is written or read: the n-th allocation fails, for n = 1, 2, 3 ... until it
 * goes well; a sanitizer watches for leaks.
 */
#include "analyze/formats/gmtrace_write.h"
#include "analyze/formats/load.h"
#include "tests/formats/fixtures.h"
#include "tests/gmtrace/same.h"
#include "tests/gmtrace/traced.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <stdlib.h>

static size_t exhaust_writing(const struct gm_snapshot *s, const struct gm_text *expected)
{
    size_t n = 0;
    bool has_failed;
    do {
        struct gm_text file = {0};
        struct gm_error err = {0};
        nomem_begin(++n, false);
        enum gm_status status = gm_write_gmtrace(s, &file, &err);
        has_failed = nomem_end();
        if (has_failed != (status == GM_E_NOMEM) || (has_failed && err.message[0] == '\0'))
            fail_msg("writing, allocation %zu: status %d, %s", n, (int)status, err.message);
        if (status == GM_OK) {
            assert_int_equal(file.length, expected->length);
            assert_memory_equal(file.data, expected->data, file.length);
        }
        gm_text_free(&file);
    } while (has_failed);
    return n - 1;
}

static size_t exhaust_reading(const struct gm_snapshot *first, const struct gm_text *file)
{
    size_t n = 0;
    bool has_failed;
    do {
        struct gm_snapshot s;
        struct gm_error err = {0};
        nomem_begin(++n, false);
        enum gm_status status = gm_snapshot_load_bytes(&s, file->data, file->length, "nomem", NULL, &err);
        has_failed = nomem_end();
        if (has_failed != (status == GM_E_NOMEM) || (has_failed && (err.message[0] == '\0' || s.memory != NULL)))
            fail_msg("reading, allocation %zu: status %d, %s", n, (int)status, err.message);
        if (status == GM_OK)
            assert_null(gm_snapshot_difference(first, &s));
        gm_snapshot_free(&s);
    } while (has_failed);
    return n - 1;
}

static void exhaust(const struct gm_snapshot *s)
{
    GM_FREED struct gm_text file = {0};
    assert_int_equal(gm_write_gmtrace(s, &file, NULL), GM_OK);
    assert_true(exhaust_writing(s, &file) > 20);
    assert_true(exhaust_reading(s, &file) > 20);
}

TEST(fixtures)
{
    static const char *const names[] = {"full.p4.pickle", "full.json", "host.p4.pickle", "names.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes b = read_fixture(names[i]);
        struct gm_snapshot s;
        assert_int_equal(gm_snapshot_load_bytes(&s, b.p, b.n, names[i], NULL, NULL), GM_OK);
        exhaust(&s);
        gm_snapshot_free(&s);
        free(b.p);
    }
}

TEST(random)
{
    for (unsigned seed = 1; seed < 4; seed += unit_sampled()) {
        struct gm_snapshot s;
        gm_random_snapshot(&s, seed, 1500);
        exhaust(&s);
        gm_snapshot_free(&s);
    }
}
