/* SPDX-License-Identifier: Apache-2.0
 *
 * What is written as a .gmtrace and loaded again is the same, whatever it was.
 */
#include "analyze/formats/gmtrace_format.h"
#include "analyze/formats/gmtrace_write.h"
#include "analyze/formats/load.h"
#include "tests/formats/fixtures.h"
#include "tests/formats/model_check.h"
#include "tests/gmtrace/same.h"
#include "tests/gmtrace/seal.h"
#include "tests/gmtrace/traced.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void load_same(const struct gm_snapshot *first, const void *file, size_t length, const char *name)
{
    struct gm_snapshot second;
    struct gm_error err = {0};
    if (gm_snapshot_load_bytes(&second, file, length, name, NULL, &err) != GM_OK)
        fail_msg("%s: %s (byte %llu)", name, err.message, (unsigned long long)err.offset);
    assert_string_equal(second.source.format, "gmtrace");
    assert_int_equal(second.source.pickle_protocol, -1);
    const char *wrong = gm_model_check(&second);
    wrong = wrong != NULL ? wrong : gm_snapshot_difference(first, &second);
    if (wrong != NULL)
        fail_msg("%s: not the same: %s", name, wrong);
    gm_snapshot_free(&second);
}

/* Writes, loads, compares; the same without compression; and the same bytes when written once more. */
static void round_trip(const struct gm_snapshot *first, const char *name)
{
    GM_FREED struct gm_text file = {0}, again = {0}, plain = {0};
    struct gm_error err = {0};
    struct gm_snapshot second;
    if (gm_write_gmtrace(first, &file, &err) != GM_OK)
        fail_msg("%s: %s", name, err.message);
    load_same(first, file.data, file.length, name);
    assert_int_equal(gm_snapshot_load_bytes(&second, file.data, file.length, name, NULL, &err), GM_OK);
    assert_int_equal(gm_write_gmtrace(&second, &again, &err), GM_OK);
    assert_int_equal(file.length, again.length);
    assert_memory_equal(file.data, again.data, file.length);
    gm_snapshot_free(&second);
    if (gm_plain((const unsigned char *)file.data, file.length, &plain))
        load_same(first, plain.data, plain.length, name);
}

TEST(fixtures)
{
    static const char *const names[] = {"full.p4.pickle",       "full.json",        "full.python2-0.pickle",
                                        "full.cpp.pickle",      "legacy.p2.pickle", "host.p4.pickle",
                                        "names.json",           "names.p4.pickle",  "wrapped.p2.pickle",
                                        "nosegments.p3.pickle", "empty.p4.pickle",  "full.1.html"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes b = read_fixture(names[i]);
        struct gm_snapshot s;
        assert_int_equal(gm_snapshot_load_bytes(&s, b.p, b.n, names[i], NULL, NULL), GM_OK);
        round_trip(&s, names[i]);
        gm_snapshot_free(&s);
        free(b.p);
    }
}

/* What was left of a damaged file is still said to be that. */
TEST(salvaged)
{
    struct bytes b = read_fixture("full.p4.pickle");
    const struct gm_load_options options = {.salvage = true};
    struct gm_snapshot s;
    assert_int_equal(gm_snapshot_load_bytes(&s, b.p, b.n * 3 / 4, "cut", &options, NULL), GM_OK);
    assert_true(s.source.is_salvaged && s.source.salvaged_reason != NULL);
    round_trip(&s, "cut");
    gm_snapshot_free(&s);
    free(b.p);
}

TEST(random)
{
    for (unsigned seed = 0; seed < 300; seed += unit_sampled()) {
        struct gm_snapshot s;
        char name[32];
        snprintf(name, sizeof name, "seed %u", seed);
        gm_random_snapshot(&s, seed, seed < 5 ? seed : seed * 3);
        round_trip(&s, name);
        gm_snapshot_free(&s);
    }
}

/* A trace so regular that its bytes could not pay for its memory: the writer adds some. Its chunks end inside of frees.
 */
TEST(padding)
{
    struct gm_snapshot s;
    GM_FREED struct gm_text file = {0};
    gm_regular_snapshot(&s, 1100000);
    assert_true(s.events.count > 3 * GM_GMTRACE_CHUNK_ROWS);
    assert_int_equal(gm_write_gmtrace(&s, &file, NULL), GM_OK);
    assert_non_null(memmem(file.data, file.length, GM_GMTRACE_PAD, 4));
    assert_true(file.length < 100000);
    load_same(&s, file.data, file.length, "regular");
    struct bytes packed = zstd_bytes(file.data, file.length, 0);
    load_same(&s, packed.p, packed.n, "regular, compressed once more");
    free(packed.p);
    gm_snapshot_free(&s);
}

/* The page's has smaller sections, of which several are one trace here. */
TEST(quickly)
{
    struct gm_snapshot s;
    GM_FREED struct gm_text file = {0};
    size_t sections = 0;
    gm_random_snapshot(&s, 7, 100000);
    assert_int_equal(gm_write_gmtrace_quickly(&s, &file, NULL), GM_OK);
    for (const char *at = file.data; (at = memmem(at, file.length - (size_t)(at - file.data), "EVNT", 4)) != NULL; at++)
        sections++;
    assert_true(sections > 1);
    load_same(&s, file.data, file.length, "quickly");
    gm_snapshot_free(&s);
}

TEST(compressed)
{
    struct bytes b = read_fixture("full.p4.pickle");
    struct gm_snapshot s, second;
    GM_FREED struct gm_text file = {0};
    assert_int_equal(gm_snapshot_load_bytes(&s, b.p, b.n, "full", NULL, NULL), GM_OK);
    assert_int_equal(gm_write_gmtrace(&s, &file, NULL), GM_OK);
    struct bytes packed[] = {gzip_bytes(file.data, file.length), zstd_bytes(file.data, file.length, 0)};
    const enum gm_compression compressions[] = {GM_COMPRESSION_GZIP, GM_COMPRESSION_ZSTD};
    for (int i = 0; i < 2; i++) {
        load_same(&s, packed[i].p, packed[i].n, "compressed");
        assert_int_equal(gm_snapshot_load_bytes(&second, packed[i].p, packed[i].n, "x", NULL, NULL), GM_OK);
        assert_int_equal(second.source.compression, compressions[i]);
        assert_int_equal(second.source.disk_bytes, packed[i].n);
        assert_int_equal(second.source.decoded_bytes, file.length);
        gm_snapshot_free(&second);
        assert_int_not_equal(gm_snapshot_load_bytes(&second, packed[i].p, packed[i].n - 3, "cut", NULL, NULL), GM_OK);
        free(packed[i].p);
    }
    gm_snapshot_free(&s);
    free(b.p);
}
