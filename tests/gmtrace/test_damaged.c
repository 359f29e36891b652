/* SPDX-License-Identifier: Apache-2.0
 *
 * Damaged and lying .gmtrace files: one error line each, and nothing else.
 */
#include "analyze/formats/gmtrace_format.h"
#include "analyze/formats/gmtrace_write.h"
#include "analyze/formats/load.h"
#include "tests/formats/fixtures.h"
#include "tests/formats/model_check.h"
#include "tests/gmtrace/seal.h"
#include "tests/gmtrace/traced.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static struct gm_text written_fixture(const char *name)
{
    struct bytes b = read_fixture(name);
    struct gm_text file = {0};
    struct gm_snapshot s;
    assert_int_equal(gm_snapshot_load_bytes(&s, b.p, b.n, name, NULL, NULL), GM_OK);
    assert_int_equal(gm_write_gmtrace(&s, &file, NULL), GM_OK);
    gm_snapshot_free(&s);
    free(b.p);
    return file;
}

static struct gm_text written_random(unsigned seed, size_t events)
{
    struct gm_text file = {0};
    struct gm_snapshot s;
    gm_random_snapshot(&s, seed, events);
    assert_int_equal(gm_write_gmtrace(&s, &file, NULL), GM_OK);
    gm_snapshot_free(&s);
    return file;
}

/* Loads a copy of just this size, so that a sanitizer sees every byte too far. */
static enum gm_status load(const void *file, size_t length, struct gm_error *err, const char **wrong)
{
    struct gm_snapshot s;
    void *copy = malloc(length + 1);
    assert_non_null(copy);
    memcpy(copy, file, length);
    *err = (struct gm_error){0};
    GM_FREED void *exact = realloc(copy, length > 0 ? length : 1);
    enum gm_status status = gm_snapshot_load_bytes(&s, exact, length, "damaged", NULL, err);
    *wrong = status == GM_OK ? gm_model_check(&s) : NULL;
    if (status != GM_OK && (err->message[0] == '\0' || s.memory != NULL))
        *wrong = "no message, or a snapshot was left";
    gm_snapshot_free(&s);
    return status;
}

static void refuse(const struct gm_text *file, size_t length, const char *how, size_t at)
{
    struct gm_error err;
    const char *wrong;
    enum gm_status status = load(file->data, length, &err, &wrong);
    if (status == GM_OK || wrong != NULL)
        fail_msg("%s at byte %zu: status %d, %s", how, at, (int)status, wrong != NULL ? wrong : "accepted");
    if (status != GM_E_CORRUPT && status != GM_E_TRUNCATED && status != GM_E_FORMAT && status != GM_E_LIMIT)
        fail_msg("%s at byte %zu: status %d: %s", how, at, (int)status, err.message);
}

static void damage_everywhere(struct gm_text *file)
{
    for (size_t i = file->length % unit_sampled(); i < file->length; i += unit_sampled()) {
        char was = file->data[i];
        for (unsigned value = 1; value < 256; value = value < 4 ? value + 1 : value * 2 + 1) {
            file->data[i] = (char)(was ^ (char)value);
            refuse(file, file->length, "changed", i);
        }
        file->data[i] = was;
        refuse(file, i, "cut", i);
    }
    for (size_t i = 0; i + 1 < file->length; i += 3) { /* one byte less, in the middle */
        struct gm_text shorter = {0};
        gm_text_add_bytes(&shorter, file->data, i);
        gm_text_add_bytes(&shorter, file->data + i + 1, file->length - i - 1);
        refuse(&shorter, shorter.length, "without the byte", i);
        gm_text_free(&shorter);
    }
    gm_text_add_char(file, 'x');
    refuse(file, file->length, "one more", file->length);
    gm_text_free(file);
}

TEST(every_byte)
{
    struct gm_text full = written_fixture("full.p4.pickle"), random = written_random(5, 60);
    damage_everywhere(&full);
    damage_everywhere(&random);
}

/* With GM_SAMPLE=N over 3, only one byte in N lies, in each file others. */
static size_t stride(void)
{
    const char *sample = getenv("GM_SAMPLE");
    size_t every = sample != NULL ? strtoul(sample, NULL, 10) : 1;
    return every > 3 ? every : 1;
}

/* Changes a byte and makes the checksums right again: whatever the file then says, it is refused or it holds together.
 */
static void lie_everywhere(struct gm_text *file, size_t number)
{
    GM_FREED struct gm_text plain = {0};
    assert_true(gm_plain((const unsigned char *)file->data, file->length, &plain));
    size_t accepted = 0, refused = 0, every = stride();
    for (size_t i = GM_GMTRACE_HEADER + number % every; i < plain.length; i += every) {
        static const unsigned char values[] = {0, 1, 2, 3, 5, 7, 64, 127, 128, 255};
        unsigned char was = (unsigned char)plain.data[i];
        for (size_t k = 0; k < sizeof values; k++) {
            struct gm_text lie = {0};
            struct gm_error err;
            const char *wrong;
            gm_text_add_bytes(&lie, plain.data, plain.length);
            lie.data[i] = (char)(values[k] == 5 ? was + 1 : values[k] == 7 ? was - 1 : values[k]);
            gm_seal((unsigned char *)lie.data, lie.length);
            enum gm_status status = load(lie.data, lie.length, &err, &wrong);
            accepted += status == GM_OK;
            refused += status != GM_OK;
            if (wrong != NULL)
                fail_msg("byte %zu, value %u: %s", i, values[k], wrong);
            gm_text_free(&lie);
        }
    }
    assert_true(accepted > 0 && refused > 0);
    gm_text_free(file);
}

TEST(lies)
{
    struct gm_text full = written_fixture("full.p4.pickle"), host = written_fixture("host.p4.pickle");
    lie_everywhere(&full, 0);
    lie_everywhere(&host, 1);
    for (unsigned seed = 20; seed < 24; seed++) {
        struct gm_text random = written_random(seed, 80);
        lie_everywhere(&random, seed);
    }
}

static void expect(const struct gm_text *file, enum gm_status status, uint64_t offset, const char *part)
{
    struct gm_error err;
    const char *wrong;
    assert_int_equal(load(file->data, file->length, &err, &wrong), status);
    assert_null(wrong);
    if (strstr(err.message, part) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, part);
    assert_int_equal(err.offset, offset);
}

TEST(versions)
{
    struct gm_text file = written_fixture("full.p4.pickle");
    file.data[8] = 2;
    expect(&file, GM_E_CORRUPT, 0, "header");
    gm_seal((unsigned char *)file.data, file.length);
    expect(&file, GM_E_FORMAT, 0, "version 2");
    gm_text_free(&file);
}

/* Sections that may be skipped are, others are not, wherever they stand. */
TEST(unknown_sections)
{
    struct gm_text file = written_fixture("full.p4.pickle");
    static const char *const tags[] = {"note", "NOTE", "pad ", "END "};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        struct gm_text more = {0};
        struct gm_error err;
        const char *wrong;
        gm_text_add_bytes(&more, file.data, GM_GMTRACE_HEADER);
        gm_add_section(&more, tags[i], "hello", 5);
        gm_text_add_bytes(&more, file.data + GM_GMTRACE_HEADER, file.length - GM_GMTRACE_HEADER);
        gm_seal((unsigned char *)more.data, more.length);
        if (tags[i][0] < 'a') {
            expect(&more, GM_E_CORRUPT, GM_GMTRACE_HEADER, "where STRS should be");
        } else {
            assert_int_equal(load(more.data, more.length, &err, &wrong), GM_OK);
            assert_null(wrong);
        }
        gm_text_free(&more);
    }
    gm_text_free(&file);
}

static void put_varint(struct gm_text *t, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        gm_text_add_char(t, (char)(v | 128));
    gm_text_add_char(t, (char)v);
}

/* A stream that claims to be huge is refused before memory is taken for it, however little zstd would need. */
TEST(bombs)
{
    static const uint64_t claims[] = {UINT64_C(30) << 20, UINT64_C(1) << 40, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        struct gm_text file = {0}, payload = {0};
        gm_text_add_bytes(&file, GM_GMTRACE_MAGIC, GM_GMTRACE_MAGIC_SIZE);
        gm_text_add_bytes(&file, "\1\0\0\0....", 8);
        gm_text_add_bytes(&payload, "\0\1\0", 3);
        gm_text_add_char(&payload, GM_GMTRACE_ZSTD);
        put_varint(&payload, claims[i]);
        put_varint(&payload, 4);
        gm_text_add(&payload, "zstd");
        gm_add_section(&file, "STRS", payload.data, payload.length);
        gm_seal((unsigned char *)file.data, file.length);
        expect(&file, GM_E_LIMIT, GM_GMTRACE_HEADER, "expands to far more");
        gm_text_free(&file);
        gm_text_free(&payload);
    }
}
