/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON decoder alone: an assembler that only writes down what it is told stands in for the real one.
 */
#include "analyze/base/text.h"
#include "analyze/formats/decoders.h"
#include "analyze/formats/json_scan.h"
#include "tests/formats/sources.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the recorder ------------------------------------------------------------------------------------------------ */

struct gm_assembler {
    struct gm_text text; /* one word per call: { } [ ] null true 5 -5 0.5 "..." */
    uint64_t last_offset;
    int depth;
};

static enum gm_status note(struct gm_assembler *a, uint64_t offset, const char *word, size_t n)
{
    assert_true(offset >= a->last_offset); /* in document order */
    a->last_offset = offset;
    if (a->text.length > 0)
        gm_text_add_char(&a->text, ' ');
    gm_text_add_bytes(&a->text, word, n);
    return GM_OK;
}

enum gm_status gm_assembler_null(struct gm_assembler *a, uint64_t offset, struct gm_error *err)
{
    (void)err;
    return note(a, offset, "null", 4);
}

enum gm_status gm_assembler_bool(struct gm_assembler *a, bool value, uint64_t offset, struct gm_error *err)
{
    (void)err;
    return note(a, offset, value ? "true" : "false", value ? 4 : 5);
}

enum gm_status gm_assembler_integer(struct gm_assembler *a, uint64_t magnitude, bool is_negative, uint64_t offset,
                                    struct gm_error *err)
{
    (void)err;
    char word[32];
    int n = snprintf(word, sizeof word, "%s%" PRIu64, is_negative ? "-" : "", magnitude);
    return note(a, offset, word, (size_t)n);
}

enum gm_status gm_assembler_real(struct gm_assembler *a, double value, uint64_t offset, struct gm_error *err)
{
    (void)err;
    char word[64];
    int n = snprintf(word, sizeof word, "r%a", value);
    return note(a, offset, word, (size_t)n);
}

enum gm_status gm_assembler_string(struct gm_assembler *a, const void *bytes, size_t length, uint64_t offset,
                                   struct gm_error *err)
{
    (void)err;
    note(a, offset, "\"", 1);
    gm_text_add_bytes(&a->text, bytes, length);
    gm_text_add_char(&a->text, '"');
    return GM_OK;
}

enum gm_status gm_assembler_begin(struct gm_assembler *a, bool is_dict, uint64_t offset, struct gm_error *err)
{
    if (++a->depth > GM_MAX_DEPTH)
        return gm_fail(err, GM_E_LIMIT, offset, "too deep");
    return note(a, offset, is_dict ? "{" : "[", 1);
}

enum gm_status gm_assembler_end(struct gm_assembler *a, bool is_dict, uint64_t offset, struct gm_error *err)
{
    (void)err;
    a->depth--;
    return note(a, offset, is_dict ? "}" : "]", 1);
}

/* Decodes `json`, in reads of `step` bytes (0: as one piece of memory); frees nothing of *a. */
static enum gm_status decode(struct gm_assembler *a, const char *json, size_t n, size_t step, uint64_t *end,
                             struct gm_error *err)
{
    *a = (struct gm_assembler){0};
    struct gm_source s;
    if (step == 0)
        gm_source_open_memory(&s, json, n, err);
    else
        open_steps(&s, json, n, 2048, step);
    enum gm_status status = gm_json_decode(&s, &(struct gm_decoded){.values = a}, err);
    *end = gm_source_offset(&s);
    gm_source_free(&s);
    return status;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

#define INF "rinf"

static const struct {
    const char *json, *calls;
} good[] = {
    {"{}", "{ }"},
    {"[]", "[ ]"},
    {" [ ] ", "[ ]"},
    {"\xef\xbb\xbf\n{}", "{ }"},
    {"[[],{},[{}]]", "[ [ ] { } [ { } ] ]"},
    {"{\"a\":1,\"b\" :\t[2 ,3],\"\":{}}", "{ \"a\" 1 \"b\" [ 2 3 ] \"\" { } }"},
    {"[null,true,false]", "[ null true false ]"},
    {"[0,-0,7,-7]", "[ 0 -0 7 -7 ]"},
    {"[9223372036854775807,9223372036854775808,18446744073709551615]",
     "[ 9223372036854775807 9223372036854775808 18446744073709551615 ]"},
    {"[-9223372036854775808,-18446744073709551615]", "[ -9223372036854775808 -18446744073709551615 ]"},
    {"[18446744073709551616]", "[ r0x1p+64 ]"},
    {"[-18446744073709551616]", "[ r-0x1p+64 ]"},
    {"[100000000000000000000000]", "[ r0x1.52d02c7e14af6p+76 ]"},
    {"[0.5,-0.25,1e3,1E+2,125e-3,0.0]", "[ r0x1p-1 r-0x1p-2 r0x1.f4p+9 r0x1.9p+6 r0x1p-3 r0x0p+0 ]"},
    {"[1e400,-1e400]", "[ " INF " r-inf ]"},
    {"[1e-400]", "[ r0x0p+0 ]"},
    {"[Infinity,-Infinity]", "[ " INF " r-inf ]"},
    {"[0.1]", "[ r0x1.999999999999ap-4 ]"},
    {"[\"\"]", "[ \"\" ]"},
    {"[\"a b\"]", "[ \"a b\" ]"},
    {"[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]", "[ \"\"\\/\b\f\n\r\t\" ]"},
    {"[\"\\u0041\\u00e9\\u20AC\"]", "[ \"A\xc3\xa9\xe2\x82\xac\" ]"},
    {"[\"\\ud83d\\ude80\"]", "[ \"\xf0\x9f\x9a\x80\" ]"},
    {"[\"\\ud83d\"]", "[ \"\xef\xbf\xbd\" ]"},
    {"[\"\\ude80\"]", "[ \"\xef\xbf\xbd\" ]"},
    {"[\"\\ud83dx\"]", "[ \"\xef\xbf\xbdx\" ]"},
    {"[\"\\ud83d\\n\"]", "[ \"\xef\xbf\xbd\n\" ]"},
    {"[\"\\ud83d\\ud83d\\ude80\"]", "[ \"\xef\xbf\xbd\xf0\x9f\x9a\x80\" ]"},
    {"[\"\\uffff\\udbff\\udfff\"]", "[ \"\xef\xbf\xbf\xf4\x8f\xbf\xbf\" ]"},
    {"[\"caf\xe9 \xff\xfe\x80 \x7f\"]", "[ \"caf\xe9 \xff\xfe\x80 \x7f\" ]"}, /* no UTF-8: as it is */
    {"[\"ends in a quote\\\"\"]", "[ \"ends in a quote\"\" ]"},
    {"5", "5"},
    {"\"x\"", "\"x\""},
    {"null", "null"},
    {"{} trailing {garbage", "{ }"}, /* ignored, like what follows a STOP */
    {"[]]", "[ ]"},
};

TEST(good)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        for (size_t step = 0; step < 9; step++) {
            struct gm_assembler a;
            struct gm_error err = {0};
            uint64_t end;
            if (decode(&a, good[i].json, strlen(good[i].json), step, &end, &err) != GM_OK)
                fail_msg("%s: %s", good[i].json, err.message);
            assert_string_equal(a.text.data, good[i].calls);
            gm_text_free(&a.text);
        }
}

TEST(nan)
{
    struct gm_assembler a;
    struct gm_error err;
    uint64_t end;
    assert_int_equal(decode(&a, "[NaN]", 5, 0, &end, &err), GM_OK);
    assert_non_null(strstr(a.text.data, "nan"));
    gm_text_free(&a.text);
}

static const struct {
    const char *json;
    enum gm_status status;
    uint64_t offset;
    const char *message;
} bad[] = {
    {"", GM_E_TRUNCATED, 0, "the JSON ends where a value was expected"},
    {"  ", GM_E_TRUNCATED, 2, "the JSON ends where a value was expected"},
    {"{", GM_E_TRUNCATED, 1, "the JSON ends where a key or '}' was expected"},
    {"[", GM_E_TRUNCATED, 1, "the JSON ends where a value or ']' was expected"},
    {"[1", GM_E_TRUNCATED, 2, "the JSON ends where ',' or the end of a container was expected"},
    {"[1,", GM_E_TRUNCATED, 3, "the JSON ends where a value was expected"},
    {"{\"a", GM_E_TRUNCATED, 3, "the JSON ends where the end of a string was expected"},
    {"{\"a\"", GM_E_TRUNCATED, 4, "the JSON ends where ':' was expected"},
    {"{\"a\":", GM_E_TRUNCATED, 5, "the JSON ends where a value was expected"},
    {"{\"a\":1,", GM_E_TRUNCATED, 7, "the JSON ends where a key was expected"},
    {"[\"\\", GM_E_TRUNCATED, 3, "the JSON ends where the rest of an escape was expected"},
    {"[\"\\u12", GM_E_TRUNCATED, 6, "the JSON ends where the rest of an escape was expected"},
    {"[tru", GM_E_TRUNCATED, 4, "the JSON ends where true was expected"},
    {"[-", GM_E_TRUNCATED, 2, "the JSON ends where a digit was expected"},
    {"[1.", GM_E_TRUNCATED, 3, "the JSON ends where a digit was expected"},
    {"[1e+", GM_E_TRUNCATED, 4, "the JSON ends where a digit was expected"},
    {"[1 2]", GM_E_CORRUPT, 3, "damaged JSON: expected ',' or ']', found '2'"},
    {"[1}", GM_E_CORRUPT, 2, "damaged JSON: expected ',' or ']', found '}'"},
    {"{\"a\":1]", GM_E_CORRUPT, 6, "damaged JSON: expected ',' or '}', found ']'"},
    {"[,]", GM_E_CORRUPT, 1, "damaged JSON: expected a value, found ','"},
    {"[1,]", GM_E_CORRUPT, 3, "damaged JSON: expected a value, found ']'"},
    {"{,}", GM_E_CORRUPT, 1, "damaged JSON: expected a key in quotes or '}', found ','"},
    {"{\"a\":1,}", GM_E_CORRUPT, 7, "damaged JSON: expected a key in quotes, found '}'"},
    {"{a:1}", GM_E_CORRUPT, 1, "damaged JSON: expected a key in quotes or '}', found 'a'"},
    {"{\"a\" 1}", GM_E_CORRUPT, 5, "damaged JSON: expected ':', found '1'"},
    {"{\"a\":}", GM_E_CORRUPT, 5, "damaged JSON: expected a value, found '}'"},
    {"[truE]", GM_E_CORRUPT, 4, "damaged JSON: expected true, found 'E'"},
    {"[nil]", GM_E_CORRUPT, 2, "damaged JSON: expected null, found 'i'"},
    {"[Nan]", GM_E_CORRUPT, 3, "damaged JSON: expected NaN, found 'n'"},
    {"[-Inf]", GM_E_CORRUPT, 5, "damaged JSON: expected -Infinity, found ']'"},
    {"[01]", GM_E_CORRUPT, 2, "damaged JSON: expected ',' or ']', found '1'"},
    {"[+1]", GM_E_CORRUPT, 1, "damaged JSON: expected a value, found '+'"},
    {"[.5]", GM_E_CORRUPT, 1, "damaged JSON: expected a value, found '.'"},
    {"[1.x]", GM_E_CORRUPT, 3, "damaged JSON: expected a digit, found 'x'"},
    {"[1ex]", GM_E_CORRUPT, 3, "damaged JSON: expected a digit, found 'x'"},
    {"[-x]", GM_E_CORRUPT, 2, "damaged JSON: expected a digit, found 'x'"},
    {"[0x10]", GM_E_CORRUPT, 2, "damaged JSON: expected ',' or ']', found 'x'"},
    {"[\"\\x41\"]", GM_E_CORRUPT, 3, "damaged JSON: expected an escape after the backslash, found 'x'"},
    {"[\"\\u12g4\"]", GM_E_CORRUPT, 2, "damaged JSON: \\u without four hexadecimal digits"},
    {"[\"a\nb\"]", GM_E_CORRUPT, 3, "damaged JSON: expected no control character in a string, found byte 0x0a"},
    {"['a']", GM_E_CORRUPT, 1, "damaged JSON: expected a value, found '''"},
    {"[\xff]", GM_E_CORRUPT, 1, "damaged JSON: expected a value, found byte 0xff"},
};

TEST(bad)
{
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t step = 0; step < 9; step++) {
            struct gm_assembler a;
            struct gm_error err = {0};
            uint64_t end;
            enum gm_status status = decode(&a, bad[i].json, strlen(bad[i].json), step, &end, &err);
            if (status != bad[i].status || err.offset != bad[i].offset || strcmp(err.message, bad[i].message) != 0)
                fail_msg("%s: status %d, byte %" PRIu64 ", %s", bad[i].json, (int)status, err.offset, err.message);
            gm_text_free(&a.text);
        }
}

/* A zero byte and a number with no end. */
TEST(odd)
{
    struct gm_assembler a;
    struct gm_error err;
    uint64_t end;
    assert_int_equal(decode(&a, "[\"a\0b\"]", 7, 0, &end, &err), GM_E_CORRUPT);
    assert_int_equal(err.offset, 3);
    gm_text_free(&a.text);
    char digits[5000];
    memset(digits, '7', sizeof digits);
    for (size_t step = 0; step < 300; step += 100) {
        assert_int_equal(decode(&a, digits, sizeof digits, step, &end, &err), GM_E_CORRUPT);
        assert_int_equal(err.offset, 0);
        assert_string_equal(err.message, "damaged JSON: a number of more than 1023 characters");
        gm_text_free(&a.text);
        assert_int_equal(decode(&a, digits, 1023, step, &end, &err), GM_OK);
        assert_string_equal(a.text.data, "rinf");
        gm_text_free(&a.text);
    }
}

TEST(depth)
{
    char deep[2 * GM_MAX_DEPTH + 2];
    for (size_t n = GM_MAX_DEPTH - 1; n <= GM_MAX_DEPTH + 1; n++) {
        memset(deep, '[', n);
        memset(deep + n, ']', n);
        struct gm_assembler a;
        struct gm_error err;
        uint64_t end;
        enum gm_status status = decode(&a, deep, 2 * n, 0, &end, &err);
        assert_int_equal(status, n <= GM_MAX_DEPTH ? GM_OK : GM_E_LIMIT);
        if (status != GM_OK)
            assert_int_equal(err.offset, GM_MAX_DEPTH);
        gm_text_free(&a.text);
    }
}

/* A long document shifted byte by byte across the end of a window: all the same calls. */
TEST(boundaries)
{
    static const char body[] =
        "[{\"key\": \"plain text\", \"esc\\u0061ped\\n\": [12345678901234567890, -1.5e-3, true, false, null],"
        " \"pair\": \"\\ud83d\\ude80 \xf0\x9f\x9a\x80\"}, -Infinity, \"end\"]";
    char json[2048 + sizeof body];
    GM_FREED char *calls = NULL;
    for (size_t shift = 1800; shift < 2048; shift++) {
        memset(json, ' ', shift);
        memcpy(json + shift, body, sizeof body);
        struct gm_assembler a;
        struct gm_error err;
        uint64_t end;
        assert_int_equal(decode(&a, json, shift + sizeof body - 1, 4096, &end, &err), GM_OK);
        assert_int_equal(end, shift + sizeof body - 1);
        if (calls == NULL)
            calls = strdup(a.text.data);
        assert_string_equal(a.text.data, calls);
        gm_text_free(&a.text);
    }
}

/* Decimal points do not depend on the locale. */
TEST(locale)
{
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL && setlocale(LC_NUMERIC, "fr_FR.UTF-8") == NULL)
        skip();
    struct gm_assembler a;
    struct gm_error err;
    uint64_t end;
    assert_int_equal(decode(&a, "[0.5]", 5, 0, &end, &err), GM_OK);
    setlocale(LC_NUMERIC, "C");
    assert_int_equal(a.text.data[strlen("[ r0x")], '1');
    gm_text_free(&a.text);
}

/* What looks at sixteen or more bytes at once finds what looking at each one finds: every byte, at every place. */
TEST(wide_and_bytewise)
{
    unsigned char text[128];
    for (unsigned c = 0; c < 256; c++)
        for (size_t length = 0; length <= 100; length += length < 70 ? 1 : 5)
            for (size_t at = 0; at <= length; at++) {
                memset(text, c % 2 == 0 ? 'a' : 0xc3, sizeof text);
                text[at] = (unsigned char)c;
                text[length + 1] = '"';
                assert_ptr_equal(gm_json_plain_end(text, text + length),
                                 gm_json_plain_end_bytewise(text, text + length));
                memset(text, " \n\r\t"[c % 4], sizeof text);
                text[at] = (unsigned char)c;
                assert_ptr_equal(gm_json_blanks_end(text, text + length),
                                 gm_json_blanks_end_bytewise(text, text + length));
            }
}

/* A number that stands alone is read digit by digit, one with much behind it by eight at once: they are the same. */
TEST(numbers_alone_and_not)
{
    static const char characters[] = "00112345678999.-e";
    unsigned char *dice = noise(1 << 20, 5), *die = dice;
    for (size_t i = 0; i < 50000; i++) {
        char text[64];
        const size_t length = 1 + *die++ % 20;
        for (size_t k = 0; k < length; k++)
            text[k] = characters[*die++ % (k % 3 == 0 ? 17 : 14)];
        struct gm_json_token tokens[2];
        struct gm_error errors[2] = {{.offset = 0}, {.offset = 0}};
        enum gm_status status[2];
        for (int k = 0; k < 2; k++) {
            struct gm_source source;
            memset(text + length, ',', sizeof text - length);
            assert_int_equal(gm_source_open_memory(&source, text, k == 0 ? length + 1 : sizeof text, NULL), GM_OK);
            struct gm_json_scan json = {.source = &source};
            status[k] = gm_json_next(&json, &tokens[k], &errors[k]);
            gm_json_scan_free(&json);
        }
        assert_int_equal(status[0], status[1]);
        assert_int_equal(errors[0].offset, errors[1].offset);
        assert_string_equal(errors[0].message, errors[1].message);
        if (status[0] != GM_OK)
            continue;
        assert_int_equal(tokens[0].length, tokens[1].length);
        assert_int_equal(tokens[0].number.kind, tokens[1].number.kind);
        assert_int_equal(tokens[0].number.is_negative, tokens[1].number.is_negative);
        assert_int_equal(tokens[0].number.decimals, tokens[1].number.decimals);
        if (tokens[0].number.kind == GM_JSON_INTEGER || tokens[0].number.decimals > 0)
            assert_int_equal(tokens[0].number.magnitude, tokens[1].number.magnitude);
    }
    free(dice);
}
