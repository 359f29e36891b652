/* SPDX-License-Identifier: Apache-2.0
 *
 * Escapes, columns and numbers. What a Markdown renderer makes of the escapes is checked in check_markdown.py.
 */
#include "analyze/document/columns.h"
#include "analyze/document/escape.h"
#include "analyze/document/sections.h"
#include "analyze/document/sites.h"
#include "analyze/report/numbers.h"
#include "analyze/report/report.h"
#include "tests/unit.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#define BAD "\xef\xbf\xbd" /* U+FFFD */

static void assert_escapes(void (*escape)(struct gm_text *, const char *), const char *in, const char *expected)
{
    GM_FREED struct gm_text out = {0};
    escape(&out, in);
    assert_string_equal(out.data != NULL ? out.data : "", expected);
}

TEST(json)
{
    assert_escapes(gm_escape_json, NULL, "null");
    assert_escapes(gm_escape_json, "", "\"\"");
    assert_escapes(gm_escape_json, "a\"b\\c/", "\"a\\\"b\\\\c/\"");
    assert_escapes(gm_escape_json, "\n\r\t\x01\x1f\x7f", "\"\\n\\r\\t\\u0001\\u001f\\u007f\"");
    assert_escapes(gm_escape_json, "\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    assert_escapes(gm_escape_json, "a\xff\xe2\x82", "\"a\\ufffd\\ufffd\\ufffd\"");
    assert_escapes(gm_escape_json, "\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\"");
    assert_escapes(gm_escape_json, "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""); /* a surrogate */
}

TEST(code)
{
    assert_escapes(gm_escape_code, "at::empty", "`at::empty`");
    assert_escapes(gm_escape_code, "", "(empty)");
    assert_escapes(gm_escape_code, "<b>&amp;*_[", "`<b>&amp;*_[`");
    assert_escapes(gm_escape_code, "a`b", "``a`b``");
    assert_escapes(gm_escape_code, "`", "`` ` ``");
    assert_escapes(gm_escape_code, "a``b`", "``` a``b` ```");
    assert_escapes(gm_escape_code, " x", "`  x `");
    assert_escapes(gm_escape_code, "a|b", "`a`&#124;`b`");
    assert_escapes(gm_escape_code, "|", "&#124;");
    assert_escapes(gm_escape_code, "||x", "&#124;&#124;`x`");
    assert_escapes(gm_escape_code, "a\\|b", "`a\\`&#124;`b`");
    assert_escapes(gm_escape_code, "a\nb\x1b\xff", "`a\\x0ab\\x1b" BAD "`");
}

TEST(prose)
{
    static const char *const plain[] = {"Set it to 5 (see below), \"please\".",
                                        "50.0 % of 1.5 GiB; 95-98 + a/b?",
                                        "caf\xc3\xa9 \xe4\xb8\xad",
                                        "12240656384 bytes",
                                        "model/attention.py:88",
                                        NULL};
    for (size_t i = 0; plain[i] != NULL; i++)
        assert_escapes(gm_escape_prose, plain[i], plain[i]);
    assert_escapes(gm_escape_prose, "  a \t b\nc ", "a b c");
    assert_escapes(gm_escape_prose, "R&D", "R&amp;D");
    assert_escapes(gm_escape_prose, "- item - x", "`-` item - x");
    assert_escapes(gm_escape_prose, "1. one 2. two", "`1.` one 2. two");
    assert_escapes(gm_escape_prose, "see <b>bold</b> now", "see `<b>bold</b>` now");
    assert_escapes(gm_escape_prose, "a|b", "`a`&#124;`b`");
    assert_escapes(gm_escape_prose, "(use a_b, #1; c_d: x@y.)", "(use `a_b`, `#1`; `c_d`: `x@y.`)");
    assert_escapes(gm_escape_prose, "x (a_b()). (#1)", "x (`a_b()`). (`#1`)");
    static const char *const hazards[] = {
        "@octocat", "#123",      "GH-5",   "www.x.y", "http://x", "a@b.c",   "*x*",          "_x_", "~x~", "$x$",
        ":tada:",   "std::move", "[x]",    "x\\",     "<x>",      "d6fde92", "0123456789ab", "{x}", "x^2", "&lt;#",
        "=x",       "+1",        ">quote", "1)",      "--x",      "WWW.x",   "TASK-9",       "!@",  NULL};
    for (size_t i = 0; hazards[i] != NULL; i++) {
        char expected[64];
        snprintf(expected, sizeof expected, "`%s`", hazards[i]);
        assert_escapes(gm_escape_prose, hazards[i], expected);
    }
}

/* No printable ASCII character, alone or doubled, first or later, leaves prose as anything but itself or code. */
TEST(prose_every_character)
{
    static const char bare[] = ".,;:'\"()/%+-=?!&";
    for (char c = 0x21; c < 0x7f; c++) {
        bool is_word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        char in[8] = {'x', ' ', 'y', c, '\0'};
        struct gm_text out = {0};
        gm_escape_prose(&out, in);
        bool is_code = strchr(out.data, '`') != NULL || strcmp(out.data, "x `y`&#124;") == 0;
        assert_int_equal(is_code, !is_word && strchr(bare, c) == NULL);
        gm_text_free(&out);
    }
}

TEST(alt_and_url)
{
    assert_escapes(gm_escape_alt, "Memory (by category), 50%.", "Memory (by category), 50%.");
    assert_escapes(gm_escape_alt, "Overview: x:y", "Overview: x&#58;y");
    assert_escapes(gm_escape_alt, "a]b`<\"@", "a&#93;b&#96;&#60;&#34;&#64;");
    assert_escapes(gm_escape_url, "memory_overview.png", "memory_overview.png");
    assert_escapes(gm_escape_url, "a b)\"\xc3\xa9", "a%20b%29%22%C3%A9");
    assert_escapes(gm_escape_url, "javascript:x", "javascript%3Ax");
}

static void assert_cell(const char *in, size_t columns, enum gm_cell cell, const char *expected)
{
    GM_FREED struct gm_text out = {0};
    gm_columns_cell(&out, in, columns, cell);
    assert_string_equal(out.data, expected);
}

TEST(columns)
{
    assert_int_equal(gm_columns("abc"), 3);
    assert_int_equal(gm_columns("caf\xc3\xa9"), 4);
    assert_int_equal(gm_columns("\xe4\xb8\xad\xe6\x96\x87"), 4);
    assert_int_equal(gm_columns("\xff\n"), 5);
    assert_cell("abc", 5, GM_CELL_LEFT, "abc  ");
    assert_cell("abc", 5, GM_CELL_RIGHT, "  abc");
    assert_cell("abcdefgh", 6, GM_CELL_LEFT, "abc...");
    assert_cell("abcdefgh", 6, GM_CELL_TAIL, "...fgh");
    assert_cell("abcdef", 6, GM_CELL_TAIL, "abcdef");
    assert_cell("\xe4\xb8\xad\xe6\x96\x87\xe4\xbb\xb6", 5, GM_CELL_LEFT, "\xe4\xb8\xad...");
    assert_cell("\xe4\xb8\xad\xe6\x96\x87\xe4\xbb\xb6", 4, GM_CELL_LEFT, "... ");
    assert_cell("abc", 2, GM_CELL_LEFT, "..");
    assert_cell("abc", 0, GM_CELL_LEFT, "");
    assert_cell("a\nb\xff", 7, GM_CELL_LEFT, "a\\x0ab" BAD);
}

static void assert_wraps(const char *in, size_t indent, const char *expected)
{
    GM_FREED struct gm_text out = {0};
    gm_columns_wrap(&out, in, indent);
    assert_string_equal(out.data, expected);
}

#define WRAPPED "                                                                      " /* 70 */

TEST(wrap)
{
    assert_wraps("", 4, "\n");
    assert_wraps("  a   b ", 4, "a b\n");
    assert_wraps("1234567 12 1", 70,
                 "1234567 12\n" /* column 80 */
                 "                                                                      1\n");
    assert_wraps("12345678901234", 70,
                 "1234567890\n"
                 "                                                                      1234\n");
    /* A number stays with its unit, and with what stands behind that; "steps" is none. */
    assert_wraps("1234567 7 GiB, of", 70, "1234567\n" WRAPPED "7 GiB, of\n");
    assert_wraps("123 (10.6 %) less", 70, "123\n" WRAPPED "(10.6 %)\n" WRAPPED "less\n");
    assert_wraps("123456 7 steps", 70, "123456 7\n" WRAPPED "steps\n");
    assert_wraps("12345678 x GiB", 70, "12345678 x\n" WRAPPED "GiB\n");
    assert_wraps("12345678901 %", 70, "1234567890\n" WRAPPED "1 %\n");
    assert_wraps("7 %", 4, "7 %\n");
    assert_wraps("7 ", 4, "7\n");
}

TEST(percent)
{
    char out[GM_NUMBER_TEXT];
    assert_string_equal(gm_percent_format(out, 1, 3, 4), "33.3333");
    assert_string_equal(gm_percent_format(out, 2, 3, 4), "66.6667");
    assert_string_equal(gm_percent_format(out, 1, 2, 1), "50.0");
    assert_string_equal(gm_percent_format(out, 1, 1, 4), "100.0000");
    assert_string_equal(gm_percent_format(out, 0, 5, 1), "0.0");
    assert_string_equal(gm_percent_format(out, 1, 2000, 1), "0.1"); /* 0.05: half up */
    assert_string_equal(gm_percent_format(out, 999999, 1000000, 1), "100.0");
    assert_string_equal(gm_percent_format(out, 3, 1, 0), "300");
    assert_string_equal(gm_share_format(out, 0, 5), "0.0");
    assert_string_equal(gm_share_format(out, 49, 100000), "<0.1");
    assert_string_equal(gm_share_format(out, 50, 100000), "0.1");
    assert_string_equal(gm_share_format(out, 1, UINT64_MAX - 1), "<0.1");
    assert_string_equal(gm_share_format(out, 1, 0), "n/a");
    assert_string_equal(gm_share_format(out, 99999, 100000), "99.9");
    assert_string_equal(gm_share_format(out, 5, 5), "100.0");
    assert_string_equal(gm_signed_count_format(out, -4096), "-4,096");
    assert_string_equal(gm_signed_count_format(out, INT64_MIN), "-9,223,372,036,854,775,808");
    assert_string_equal(gm_signed_bytes_format(out, -4096), "-4.00 KiB");
    assert_string_equal(gm_signed_bytes_format(out, 4096), "4.00 KiB");
    assert_string_equal(gm_percent_format(out, 1, 0, 1), "n/a");
    assert_string_equal(gm_percent_format(out, GM_REPORT_NONE, 5, 1), "n/a");
    assert_string_equal(gm_percent_format(out, UINT64_MAX - 1, UINT64_MAX - 1, 4), "100.0000");
    assert_string_equal(gm_percent_format(out, UINT64_MAX / 2, UINT64_MAX - 1, 4), "50.0000");
    assert_true(strlen(gm_percent_format(out, UINT64_MAX - 1, 1, 4)) < GM_NUMBER_TEXT);
}

TEST(counts_and_times)
{
    char out[GM_NUMBER_TEXT];
    assert_string_equal(gm_count_format(out, 0), "0");
    assert_string_equal(gm_count_format(out, 999), "999");
    assert_string_equal(gm_count_format(out, 1000), "1,000");
    assert_string_equal(gm_count_format(out, 123456), "123,456");
    assert_string_equal(gm_count_format(out, UINT64_MAX - 1), "18,446,744,073,709,551,614");
    assert_string_equal(gm_count_format(out, GM_REPORT_NONE), "n/a");
    assert_string_equal(gm_bytes_format(out, GM_REPORT_NONE), "n/a");
    assert_string_equal(gm_duration_format(out, 850), "850 us");
    assert_string_equal(gm_duration_format(out, 12345), "12.345 ms");
    assert_string_equal(gm_duration_format(out, 2500000), "2.500 s");
    assert_string_equal(gm_duration_format(out, 200000000), "3 min 20 s");
    assert_string_equal(gm_duration_format(out, 3780000000), "1 h 3 min");
    assert_true(strlen(gm_duration_format(out, UINT64_MAX - 1)) < GM_NUMBER_TEXT);
}

/* Numbers do not follow the locale; skipped where no locale with a decimal comma is installed. */
TEST(locale)
{
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL && setlocale(LC_ALL, "fr_FR.UTF-8") == NULL)
        skip();
    test_percent(state);
    test_counts_and_times(state);
    setlocale(LC_ALL, "C");
}

/* Of the frames those that tell most, without the one that the site names. */
static void assert_frames(const struct gm_frame_row *frames, size_t count, const char *site, const char *expected)
{
    const struct gm_block_row block = {.frames = frames, .frame_count = count, .site = site};
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, &out);
    const char *got = gm_frames_below(&doc, &block, 4);
    if (expected == NULL)
        assert_null(got);
    else
        assert_string_equal(got, expected);
    gm_doc_end(&doc);
}

TEST(telling_frames)
{
    const struct gm_frame_row frames[] = {{"unwind::unwind", "??", 0},
                                          {"at::native::softmax", "SoftMax.cpp", 1},
                                          {"softmax", "/x/site-packages/torch/nn/functional.py", 2},
                                          {"softmax2", "/x/site-packages/torch/nn/functional.py", 3},
                                          {"forward", "/home/me/a.py", 4},
                                          {"_call_impl", "/x/site-packages/torch/nn/modules/module.py", 5},
                                          {"b", "/home/me/b.py", 6},
                                          {"c", "<ipython-input-1>", 7},
                                          {"d", "/home/me/d.py", 8},
                                          {"_start", "??", 0}};
    assert_frames(frames, 10, "",
                  "softmax  torch/nn/functional.py:2\nforward  /home/me/a.py:4\nb  /home/me/b.py:6\n"
                  "c  <ipython-input-1>:7");
    assert_frames(frames + 4, 5, "b  me/b.py:6",
                  "forward  /home/me/a.py:4\nc  <ipython-input-1>:7\nd  /home/me/d.py:8");
    assert_frames(frames, 4, "", "softmax  torch/nn/functional.py:2\nsoftmax2  torch/nn/functional.py:3");
    assert_frames(frames, 2, "", "at::native::softmax  SoftMax.cpp:1");
    assert_frames(frames, 1, "", NULL);
    assert_frames(NULL, 0, "", NULL);
}

static void assert_frame(const char *name, const char *file, uint64_t line, const char *expected)
{
    const struct gm_frame_row frame = {name, file, line};
    assert_frames(&frame, 1, "", expected);
}

TEST(frame_text)
{
    assert_frame("f", "/x/site-packages/torch/nn/f.py", 5, "f  torch/nn/f.py:5");
    assert_frame("f", "C:\\Users\\me\\project\\model.py", 12, "f  C:\\Users\\me\\project\\model.py:12");
    assert_frame("f", "a.py", GM_REPORT_NONE, "f  a.py");
    assert_frame("at::native::copy_(at::Tensor&, bool)", "??", 0, "at::native::copy_");
    assert_frame("(anonymous namespace)::f(int)", "??", 0, "(anonymous namespace)::f");
    assert_frame("a::b::operator()(int) const", "x.cpp", 7, "a::b::operator()  x.cpp:7");
    assert_frame("a::f<std::function<void (int)> >(int)", "??", 0, "a::f<std::function<void (int)> >");
    assert_frame("main(x)", "a.py", 7, "main(x)  a.py:7");
}

static void assert_site(const char *site, size_t columns, const char *expected)
{
    GM_FREED struct gm_text out = {0};
    gm_site_add(&out, site, columns);
    assert_string_equal(out.data, expected);
}

/* The file and its line are never cut while they fit. */
TEST(site_text)
{
    assert_site("train_one_epoch  memory_leaks_demo.py:17", 40, "train_one_epoch  memory_leaks_demo.py:17");
    assert_site("train_one_epoch  memory_leaks_demo.py:17", 31, "tra...  memory_leaks_demo.py:17");
    assert_site("train_one_epoch  memory_leaks_demo.py:17", 30, "memory_leaks_demo.py:17");
    assert_site("train_one_epoch  examples/memory_leaks_demo.py:17", 44,
                "train_one_epoch  .../memory_leaks_demo.py:17");
    assert_site("train_one_epoch  examples/memory_leaks_demo.py:17", 43, "train_one_epoch  memory_leaks_demo.py:17");
    assert_site("f  examples/memory_leaks_demo.py:17", 28, "f  memory_leaks_demo.py:17");
    assert_site("f  examples/memory_leaks_demo.py:17", 10, "...o.py:17");
    assert_site("some::function::without::a::place", 10, "some::f...");
    assert_site("train_one_epoch  C:\\examples\\memory_leaks_demo.py:17", 31, "tra...  memory_leaks_demo.py:17");
}

/* At the end of a line the file and its line stay whole, if need be on a line of their own. */
TEST(row_text)
{
    for (size_t columns = 10; columns <= 60; columns++) {
        struct gm_text out = {0};
        gm_site_row(&out, "train_one_epoch  examples/memory_leaks_demo.py:17", columns);
        assert_non_null(strstr(out.data, "memory_leaks_demo.py:17"));
        const char *below = strchr(out.data, '\n');
        size_t first = below == NULL ? out.length : (size_t)(below - out.data);
        assert_true(first <= columns);
        if (below != NULL) {
            assert_int_equal(out.length - first - 1, GM_LINE);
            assert_string_equal(below + 1 + strspn(below + 1, " "), "memory_leaks_demo.py:17");
        }
        gm_text_free(&out);
    }
}
