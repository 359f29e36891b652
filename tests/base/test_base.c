/* SPDX-License-Identifier: Apache-2.0
 *
 * analyze/base: sizes, UTF-8, growing text, arenas, growing arrays, errors.
 */
#include "analyze/base/arena.h"
#include "analyze/base/error.h"
#include "analyze/base/size.h"
#include "analyze/base/text.h"
#include "analyze/base/utf8.h"
#include "analyze/base/vec.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void assert_size(uint64_t bytes, const char *expected)
{
    char out[GM_SIZE_TEXT];
    assert_ptr_equal(gm_size_format(out, bytes), out);
    assert_string_equal(out, expected);
}

TEST(size_format)
{
    assert_size(0, "0 B");
    assert_size(1, "1 B");
    assert_size(512, "512 B");
    assert_size(1023, "1023 B");
    assert_size(1024, "1.00 KiB");
    assert_size(1536, "1.50 KiB");
    assert_size(3 * GM_MIB / 2, "1.50 MiB");
    assert_size(25 * GM_GIB / 4, "6.25 GiB");
    assert_size(512 * GM_MIB, "512.0 MiB");
    assert_size(GM_MIB - 1, "1.00 MiB"); /* never 1024.0 KiB */
    assert_size(GM_GIB - 1, "1.00 GiB");
    assert_size(GM_TIB - 1, "1.00 TiB");
    assert_size(1023 * GM_MIB + GM_MIB / 2, "1023.5 MiB");
    assert_size(GM_KIB * 100 + 51, "100.0 KiB"); /* 100.0498: down */
    assert_size(GM_KIB * 100 + 52, "100.1 KiB"); /* 100.0508: up */
    assert_size(UINT64_C(1) << 50, "1.00 PiB");
    assert_size(UINT64_C(1) << 60, "1.00 EiB");
    assert_size(UINT64_MAX, "16.00 EiB");
}

/* No size is longer than promised, and the number times the unit is near the bytes. */
TEST(size_format_everywhere)
{
    for (unsigned bit = 0; bit < 64; bit++)
        for (int64_t d = -2; d <= 2; d++) {
            uint64_t bytes = (UINT64_C(1) << bit) + (uint64_t)d;
            char out[GM_SIZE_TEXT];
            gm_size_format(out, bytes);
            assert_in_range(strlen(out), 3, GM_SIZE_TEXT - 1);
            double value = 0;
            char unit[8];
            assert_int_equal(sscanf(out, "%lf %7s", &value, unit), 2);
            const char *units = "BKMGTPE";
            const char *at = strchr(units, unit[0]);
            assert_non_null(at);
            double back = value * (double)(UINT64_C(1) << (10 * (unsigned)(at - units)));
            assert_true(back >= (double)bytes * 0.994 && back <= (double)bytes * 1.006);
            assert_true(value < 1024);
        }
}

TEST(size_format_delta)
{
    char out[GM_SIZE_TEXT];
    assert_string_equal(gm_size_format_delta(out, 0), "0 B");
    assert_string_equal(gm_size_format_delta(out, 1536), "+1.50 KiB");
    assert_string_equal(gm_size_format_delta(out, -1536), "-1.50 KiB");
    assert_string_equal(gm_size_format_delta(out, INT64_MIN), "-8.00 EiB");
}

TEST(size_format_change)
{
    char out[GM_SIZE_CHANGE_TEXT];
    assert_string_equal(gm_size_format_change(out, 3 * GM_GIB, 2 * GM_GIB), "3.00 -> 2.00 GiB");
    assert_string_equal(gm_size_format_change(out, GM_GIB, 1023 * GM_MIB), "1.00 GiB -> 1023.0 MiB");
    assert_string_equal(gm_size_format_change(out, 0, 5), "0 -> 5 B");
    assert_string_equal(gm_size_format_change(out, UINT64_MAX, UINT64_MAX), "16.00 -> 16.00 EiB");
}

static void assert_parses(const char *text, uint64_t expected)
{
    uint64_t bytes = 42;
    if (!gm_size_parse(text, &bytes))
        fail_msg("\"%s\" is not taken for a size", text);
    assert_int_equal(bytes, expected);
}

TEST(size_parse)
{
    assert_parses("0", 0);
    assert_parses("123", 123);
    assert_parses("123b", 123);
    assert_parses("1k", 1024);
    assert_parses("1KB", 1024);
    assert_parses("1KiB", 1024);
    assert_parses("2m", 2 * GM_MIB);
    assert_parses("1.5GiB", 3 * GM_GIB / 2);
    assert_parses("15.95703125GiB", UINT64_C(4085) << 22); /* every digit counts */
    assert_parses("0.0000001T", 109951);
    assert_parses("0.999999999999999999999K", 1023);
    assert_parses("16 bytes", 16);
    assert_parses("1byte", 1);
    assert_parses("1.5 gb", 3 * GM_GIB / 2);
    assert_parses(" 80GB ", 80 * GM_GIB);
    assert_parses(".5T", GM_TIB / 2);
    assert_parses("1.", 1);
    assert_parses("9223372036854775807", INT64_MAX);
    static const char *const refused[] = {"",
                                          " ",
                                          "GiB",
                                          "-1",
                                          "+1",
                                          "1e3",
                                          "1,5G",
                                          "0x10",
                                          "1GiBs",
                                          "1 2",
                                          "1.5.2",
                                          "inf",
                                          "nan",
                                          ".",
                                          "9223372036854775808",
                                          "8388608TiB",
                                          "99999999999999999999999999",
                                          NULL};
    for (size_t i = 0; refused[i] != NULL; i++) {
        uint64_t bytes = 42;
        if (gm_size_parse(refused[i], &bytes))
            fail_msg("\"%s\" is taken for a size", refused[i]);
        assert_int_equal(bytes, 42);
    }
}

/* Every code point, encoded here by the definition, decodes to itself. */
TEST(utf8_decode_all)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char s[4];
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = n; i-- > 1;)
            s[i] = (char)(0x80 | ((c >> (6 * (n - 1 - i))) & 0x3f));
        s[0] = (char)(n == 1 ? c : lead[n] | (c >> (6 * (n - 1))));
        uint32_t code = 0xffffffff;
        bool surrogate = c >= 0xd800 && c <= 0xdfff;
        if (gm_utf8_decode(s, n, &code) != (surrogate ? 0 : n) || (!surrogate && code != c))
            fail_msg("U+%04X", (unsigned)c);
        for (size_t cut = 1; cut < n; cut++)
            if (gm_utf8_decode(s, cut, &code) != 0)
                fail_msg("U+%04X cut to %zu bytes", (unsigned)c, cut);
    }
}

TEST(utf8_decode_refuses)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xe0\x80\x80",
                                      "\xe0\x9f\xbf",
                                      "\xf0\x80\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xc3(",
                                      "\xe2\x82(",
                                      NULL};
    for (size_t i = 0; bad[i] != NULL; i++) {
        uint32_t code = 0;
        assert_int_equal(gm_utf8_decode(bad[i], strlen(bad[i]), &code), 0);
    }
}

static void assert_cleans(const char *in, size_t n, const char *expected)
{
    char out[64];
    assert_int_equal(gm_utf8_clean_line(out, sizeof out, in, n), strlen(expected));
    assert_string_equal(out, expected);
}

TEST(utf8_clean_line)
{
    assert_cleans("plain", 5, "plain");
    assert_cleans("", 0, "");
    assert_cleans("a\0b", 3, "a\\x00b");
    assert_cleans("a\nb\r\tc\x1b[31m\x7f", 12, "a\\x0ab\\x0d\\x09c\\x1b[31m\\x7f");
    assert_cleans("\xc2\x85", 2, "\\x85");                                    /* NEL */
    assert_cleans("\xe2\x80\xa8|\xe2\x80\xa9", 7, "\\u2028|\\u2029");         /* separators */
    assert_cleans("\xe2\x80\xae", 3, "\\u202e");                              /* right-to-left override */
    assert_cleans("\xe2\x81\xa6", 3, "\\u2066");                              /* isolate */
    assert_cleans("\xe2\x80\x8b\xef\xb8\x8f", 6, "\\u200b\\ufe0f");           /* zero width, a variation selector */
    assert_cleans("\xf3\xa0\x81\x81x", 5, "\\U000e0041x");                    /* a tag */
    assert_cleans("\xc2\xa0\xe3\x80\x80", 5, "\\xa0\\u3000");                 /* other blanks */
    assert_cleans("\xe2\x80\x90\xe3\x80\x81", 6, "\xe2\x80\x90\xe3\x80\x81"); /* their neighbours */
    assert_cleans("\xff\xfe", 2, BAD BAD);
    assert_cleans("\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80", 11, "\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80");
    assert_cleans("\xe4\xb8", 2, BAD BAD); /* ends inside a character */
    char small[5];
    assert_int_equal(gm_utf8_clean_line(small, sizeof small, "abc\xc3\xa9", 5), 3); /* never half a character */
    assert_string_equal(small, "abc");
    assert_int_equal(gm_utf8_clean_line(small, 1, "abc", 3), 0);
    assert_string_equal(small, "");
    assert_int_equal(gm_utf8_clean_line(small, sizeof small, "ab\x1b", 3), 2); /* nor of an escape */
}

TEST(text)
{
    struct gm_text t = {0};
    gm_text_add(&t, "");
    assert_string_equal(t.data, "");
    gm_text_add(&t, "ab");
    gm_text_add_char(&t, 'c');
    gm_text_add_bytes(&t, "d\0e", 3);
    gm_text_repeat(&t, '-', 3);
    gm_text_printf(&t, "%d|%s", 42, "x");
    assert_int_equal(t.length, 13);
    assert_memory_equal(t.data, "abcd\0e---42|x", 14);
    for (int i = 0; i < 10000; i++)
        gm_text_printf(&t, "%05d", i);
    assert_int_equal(t.length, 13 + 50000);
    assert_string_equal(t.data + 13 + 49995, "09999");
    assert_false(t.failed);
    gm_text_free(&t);
    assert_null(t.data);
}

static void assert_counted(uint64_t count, const char *expected)
{
    GM_FREED struct gm_text t = {0};
    gm_text_add_count(&t, count);
    assert_string_equal(t.data, expected);
}

TEST(text_count)
{
    assert_counted(0, "0");
    assert_counted(999, "999");
    assert_counted(1000, "1,000");
    assert_counted(123456, "123,456");
    assert_counted(UINT64_MAX, "18,446,744,073,709,551,615");
}

/* Once an append fails, the text stays as it is and says so. */
TEST(text_fails_softly)
{
    struct gm_text t = {0};
    gm_text_add(&t, "kept");
    gm_text_repeat(&t, 'x', SIZE_MAX / 4);
    assert_true(t.failed);
    gm_text_add(&t, "lost");
    assert_string_equal(t.data, "kept");
    gm_text_free(&t);
    assert_false(t.failed);
}

TEST(arena)
{
    struct gm_arena arena = {0};
    unsigned char *blocks[300];
    for (size_t i = 0; i < 300; i++) {
        size_t size = i % 50 == 0 ? 100000 : i + 1; /* small ones among ones larger than a chunk */
        blocks[i] = gm_arena_calloc(&arena, size, 1);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % _Alignof(max_align_t), 0);
        for (size_t k = 0; k < size; k++)
            assert_int_equal(blocks[i][k], 0);
        memset(blocks[i], (int)(i & 0xff), size);
    }
    for (size_t i = 0; i < 300; i++) /* nobody wrote into another's memory */
        for (size_t k = 0; k < (i % 50 == 0 ? 100000 : i + 1); k++)
            assert_int_equal(blocks[i][k], i & 0xff);
    assert_string_equal(gm_arena_copy(&arena, "hello", 4), "hell");
    assert_string_equal(gm_arena_copy(&arena, "", 0), "");
    assert_string_equal(gm_arena_printf(&arena, "%s-%d", "a", 7), "a-7");
    assert_null(gm_arena_calloc(&arena, SIZE_MAX / 2, 3));
    assert_null(gm_arena_copy(&arena, "", SIZE_MAX));
    gm_arena_free(&arena);
    assert_null(arena.head);
    gm_arena_free(&arena);
}

TEST(vec)
{
    struct GM_VEC(uint32_t) vec = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(GM_VEC_PUSH(&vec, i * 3));
    assert_int_equal(vec.n, 1000);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(vec.v[i], i * 3);
    assert_true(vec.capacity < 2000);
    uint32_t *kept = vec.v;
    assert_false(gm_grow(&vec.v, &vec.capacity, SIZE_MAX / 4, sizeof *vec.v));
    assert_ptr_equal(vec.v, kept);
    free(vec.v);
}

TEST(errors)
{
    struct gm_error err = {0};
    assert_int_equal(gm_fail(&err, GM_E_CORRUPT, 77, "bad %s at %d", "a\nb\xff", 3), GM_E_CORRUPT);
    assert_int_equal(err.status, GM_E_CORRUPT);
    assert_int_equal(err.offset, 77);
    assert_string_equal(err.message, "bad a\\x0ab" BAD " at 3");
    assert_int_equal(gm_fail(NULL, GM_E_READ, GM_NO_OFFSET, "nobody reads this"), GM_E_READ);
    char big[2000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    gm_fail(&err, GM_E_READ, GM_NO_OFFSET, "%s", big);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

/* The exit codes that users rely on. */
TEST(exit_codes)
{
    static const struct {
        enum gm_status status;
        int code;
    } expected[] = {{GM_OK, 0},        {GM_E_CHECK, 1},   {GM_E_USAGE, 2}, {GM_E_READ, 3},    {GM_E_TRUNCATED, 3},
                    {GM_E_CORRUPT, 3}, {GM_E_REFUSED, 3}, {GM_E_LIMIT, 3}, {GM_E_FORMAT, 3},  {GM_E_MISSING, 4},
                    {GM_E_WRITE, 5},   {GM_E_PIPE, 141},  {GM_E_NOMEM, 5}, {GM_E_INTERNAL, 5}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(gm_status_exit_code(expected[i].status), expected[i].code);
        assert_true(strlen(gm_status_text(expected[i].status)) > 3);
    }
    assert_int_equal(gm_status_exit_code((enum gm_status)99), 5);
}
