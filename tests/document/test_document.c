/* SPDX-License-Identifier: Apache-2.0
 *
 * Small documents in the three forms: every kind of thing that can be told, every kind of value, known and not; rows
 * that are left out, names that are too long or hostile, no memory.
 */
#include "analyze/document/columns.h"
#include "analyze/document/document.h"
#include "analyze/report/report.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct row {
    uint64_t bytes, count, event, time_us;
    int64_t delta, id;
    double real;
    bool is_first;
    uint32_t narrow;
    const char *name, *site, *why;
};

static union gm_value share_of(const struct gm_cell_of *c)
{
    const struct row *row = c->row;
    return (union gm_value){.share = {row->bytes, *(const uint64_t *)c->of}};
}

static void add_more(const struct gm_cell_of *c)
{
    gm_doc_open(c->doc, "more", NULL);
    gm_json_number(&c->doc->json, "narrow", ((const struct row *)c->row)->narrow);
    gm_doc_close(c->doc);
}

static const struct gm_column columns[] = {
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct row, bytes),
    GM_FIELD(GM_COUNT, GM_ALL, "count", "Count", struct row, count),
    GM_FIELD(GM_EVENT, GM_ALL, "event", "Event", struct row, event),
    GM_FIELD(GM_TIME, GM_ALL, "time_us", "Time", struct row, time_us),
    GM_FIELD(GM_DELTA, GM_ALL, "delta_bytes", "Change", struct row, delta),
    GM_FIELD(GM_ID, GM_JSON, "id", NULL, struct row, id),
    GM_FIELD(GM_REAL, GM_JSON, "real", NULL, struct row, real),
    GM_FIELD(GM_BOOL, GM_JSON, "is_first", NULL, struct row, is_first),
    GM_GET(GM_SHARE, GM_ALL, "percent", "Share", share_of),
    GM_FIELD(GM_NAME, GM_MD | GM_JSON, "name", "Name", struct row, name),
    GM_FIELD(GM_SITE, GM_ALL, "site", "Made in", struct row, site),
    GM_FIELD(GM_TEXT, GM_ALL | GM_UNDER, "why", "Why", struct row, why),
    GM_NESTED(NULL, add_more),
};

static const uint64_t whole = 4096;
static const struct row rows[] = {
    {2048, 12345, 7, 1500000, 1024, 3, 0.5, true, 9, "a|b", "forward  model/attention.py:88", "too small"},
    {GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE, GM_REPORT_NONE, GM_SIGNED_NONE, -1, NAN, false, 0, NULL, NULL,
     NULL},
};

static void tell(struct gm_doc *doc)
{
    const struct row foot = {.bytes = 2048,
                             .count = GM_REPORT_NONE,
                             .event = GM_REPORT_NONE,
                             .site = "in all",
                             .time_us = GM_REPORT_NONE,
                             .delta = GM_SIGNED_NONE};
    doc->origin_us = 1000000;
    doc->text_name = "report.txt";
    doc->json_name = "report.json";
    gm_doc_title(doc, "A title", "a name");
    gm_doc_say(doc, GM_SAY_STRONG, GM_ALL, "headline", "It is %s of " GM_QUOTED ".", "full", "x  y.py:1");
    gm_doc_picture(doc, "a chart.png", "what [it] shows");
    gm_doc_fold(doc, "section", "What there is");
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "one");
    gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "two <b>");
    gm_doc_say(doc, GM_SAY, GM_JSON, "only", "for programs");
    GM_LIST(doc, "numbers", GM_COUNT, ((const uint64_t[]){1, 2}), 2);
    GM_LIST(doc, "names", GM_NAME, ((const char *const[]){"a", "b\""}), 2);
    gm_doc_table(
        doc,
        &(struct gm_table){
            .key = "rows", .title = "Rows", GM_COLUMNS(columns), GM_ROWS(rows, 2), GM_FEET(&foot, 1), .of = &whole});
    gm_doc_fields(doc, columns, 2, &rows[0], &whole);
    gm_doc_close(doc);
    gm_doc_say(doc, GM_SAY_WARNING, GM_READ, NULL, "Mind the gap.");
}

static void assert_told(enum gm_form form, const char *expected)
{
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    gm_doc_begin(&doc, form, &out);
    tell(&doc);
    gm_doc_end(&doc);
    assert_false(out.failed);
    assert_string_equal(out.data, expected);
}

TEST(text)
{
    assert_told(GM_TXT, "A TITLE\n"
                        "================================================================================\n"
                        "\n"
                        "It is full of x y.py:1.\n"
                        "\n"
                        "WHAT THERE IS\n"
                        "-------------\n"
                        "  one\n"
                        "  two <b>\n"
                        "\n"
                        "  Rows\n"
                        "      Size   Count  Event        Time     Change   Share  Made in\n"
                        "  2.00 KiB  12,345      7  500.000 ms  +1.00 KiB  50.0 %  attention.py:88\n"
                        "      too small\n"
                        "       n/a     n/a  start         n/a        n/a     n/a  -\n"
                        "  2.00 KiB                                        50.0 %  in all\n"
                        "  Size   2.00 KiB\n"
                        "  Count  12,345\n"
                        "\n"
                        "WARNING: Mind the gap.\n");
}

TEST(markdown)
{
    assert_told(GM_MD, "# A title: `a name`\n"
                       "\n"
                       "**It is full of `x  y.py:1`.**\n"
                       "\n"
                       "![what &#91;it&#93; shows](a%20chart.png)\n"
                       "\n"
                       "<details>\n"
                       "<summary>What there is</summary>\n"
                       "\n"
                       "- one\n"
                       "- two `<b>`\n"
                       "\n"
                       "Rows\n"
                       "\n"
                       "| Size | Count | Event | Time | Change | Share | Name | Made in | Why |\n"
                       "|--:|--:|--:|--:|--:|--:|:--|:--|:--|\n"
                       "| 2.00 KiB | 12,345 | 7 | 500.000 ms | +1.00 KiB | 50.0 % | `a`&#124;`b` | `forward  "
                       "model/attention.py:88` | too small |\n"
                       "| n/a | n/a | start | n/a | n/a | n/a | - | - | |\n"
                       "| 2.00 KiB | | | | | 50.0 % | | in all | |\n"
                       "\n"
                       "- Size: 2.00 KiB\n"
                       "- Count: 12,345\n"
                       "\n"
                       "</details>\n"
                       "\n"
                       "> [!WARNING]\n"
                       "> Mind the gap.\n");
}

TEST(json)
{
    assert_told(GM_JSON,
                "{\n"
                "  \"headline\": \"It is full of x  y.py:1.\",\n"
                "  \"section\": {\n"
                "    \"only\": \"for programs\",\n"
                "    \"numbers\": [1, 2],\n"
                "    \"names\": [\n"
                "      \"a\",\n"
                "      \"b\\\"\"\n"
                "    ],\n"
                "    \"rows\": [\n"
                "      {\"bytes\": 2048, \"count\": 12345, \"event\": 7, \"time_us\": 1500000, \"delta_bytes\": 1024, "
                "\"id\": 3, \"real\": 0.5, \"is_first\": true, \"percent\": 50.0000, \"name\": \"a|b\", "
                "\"site\": \"forward  model/attention.py:88\", \"why\": \"too small\", \"more\": {\"narrow\": 9}},\n"
                "      {\"bytes\": null, \"count\": null, \"event\": null, \"time_us\": null, \"delta_bytes\": null, "
                "\"id\": null, \"real\": null, \"is_first\": false, \"percent\": null, \"name\": null, \"site\": null, "
                "\"why\": null, \"more\": {\"narrow\": 0}}\n"
                "    ],\n"
                "    \"bytes\": 2048,\n"
                "    \"count\": 12345\n"
                "  }\n"
                "}\n");
}

static const struct gm_column one_name[] = {GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Size", struct row, bytes),
                                            GM_FIELD(GM_PATH, GM_ALL, "name", "Name", struct row, name)};

static void assert_cut(enum gm_form form, enum gm_cut cut, const char *expected)
{
    struct row many[7] = {{.bytes = 0}};
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    for (uint64_t i = 0; i < 7; i++)
        many[i] = (struct row){.bytes = i, .name = "n"};
    gm_doc_begin(&doc, form, &out);
    doc.text_name = "a.txt";
    doc.json_name = "a.json";
    gm_doc_table(&doc,
                 &(struct gm_table){
                     .key = "rows", GM_COLUMNS(one_name), GM_ROWS(many, 7), .txt_max = 4, .md_max = 2, .cut = cut});
    gm_doc_end(&doc);
    assert_non_null(strstr(out.data, expected));
}

TEST(rows_left_out)
{
    assert_cut(GM_TXT, GM_CUT_TAIL, "  3 B  n\n  3 more: see a.json\n");
    assert_cut(GM_TXT, GM_CUT_HEAD, "Size  Name\n   3 B  n\n");
    assert_cut(GM_TXT, GM_CUT_HEAD, "  6 B  n\n  3 earlier: see a.json\n");
    assert_cut(GM_TXT, GM_CUT_MIDDLE, "  1 B  n\n  ... 3 more ...\n   5 B  n\n");
    assert_cut(GM_MD, GM_CUT_TAIL, "| 1 B | `n` |\n\n5 more: see `a.txt` and `a.json`.\n");
    assert_cut(GM_JSON, GM_CUT_TAIL, "{\"bytes\": 6, \"name\": \"n\"}\n");
}

/* No line is wider than a terminal, whatever a file calls things, and figures are never cut. */
TEST(width)
{
    char name[300];
    struct row wide = rows[0];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    wide.name = wide.site = name;
    const struct gm_column both[] = {columns[0], GM_FIELD(GM_NAME, GM_ALL, "name", "Name", struct row, name),
                                     columns[1], columns[10]};
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, &out);
    gm_doc_table(&doc, &(struct gm_table){GM_COLUMNS(both), GM_ROWS(&wide, 1), .of = &whole});
    gm_doc_end(&doc);
    for (const char *line = out.data; *line != '\0'; line = strchr(line, '\n') + 1)
        assert_true(strchr(line, '\n') - line <= GM_LINE);
    assert_non_null(strstr(out.data, "2.00 KiB  xxx"));
    assert_non_null(strstr(out.data, "...  12,345  xxx"));
}

/* What is pasted into a comment stays below GitHub's limit, and says that it ends early. */
TEST(budget)
{
    static struct row many[5000];
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    for (size_t i = 0; i < 5000; i++)
        many[i] = (struct row){.bytes = i, .name = "a name"};
    gm_doc_begin(&doc, GM_MD, &out);
    doc.text_name = "a.txt";
    doc.json_name = "a.json";
    for (int i = 0; i < 4; i++) {
        (i < 2 ? gm_doc_fold : gm_doc_open)(&doc, NULL, "Rows");
        gm_doc_table(&doc, &(struct gm_table){GM_COLUMNS(one_name), GM_ROWS(many, 5000)});
        gm_doc_say(&doc, GM_SAY, GM_ALL, NULL, "after it");
        gm_doc_close(&doc);
        if (i == 0) /* room is left for what is not folded */
            assert_true(out.length > 40000 && out.length < 41000);
    }
    gm_doc_end(&doc);
    assert_true(out.length > 56000 && out.length < 57000);
    assert_non_null(strstr(out.data, " more: see `a.txt` and `a.json`.\n\n</details>\n"));
    assert_null(strstr(out.data, "after it"));
}

static void tell_words(struct gm_doc *doc, int i)
{
    doc->about = i == 2 ? ", two" : NULL;
    gm_doc_open(doc, NULL, "Words");
    gm_doc_tell(doc, "%d", i);
    gm_doc_fold(doc, NULL, "More");
    gm_doc_tell(doc, "more of %d", i);
    gm_doc_open(doc, NULL, "Inside");
    gm_doc_close(doc);
    gm_doc_close(doc);
    for (int k = 0; k < i; k++)
        gm_doc_tell(doc, "last");
    gm_doc_close(doc);
}

/* A diff below its item; names in it stay in it. */
TEST(diff)
{
    (void)state;
    static const struct {
        enum gm_form form;
        const char *told;
    } forms[] = {{GM_TXT, "  1. [info] Title\n     why\n       @@ a```b\\x0dc.py:1 @@\n       - x\n       +     y\n"},
                 {GM_MD, "1. **info:** Title<br>\n   why\n\n   ````diff\n   @@ a```b\\x0dc.py:1 @@\n   - x\n"
                         "   +     y\n   ````\n\n"}};
    for (int i = 0; i < 2; i++) {
        struct gm_text out = {0};
        struct gm_doc doc;
        gm_doc_begin(&doc, forms[i].form, &out);
        gm_doc_say(&doc, GM_SAY_STEP, GM_READ, "info", "Title\nwhy");
        gm_doc_say(&doc, GM_SAY_DIFF, GM_READ, NULL, "@@ a```b\rc.py:1 @@\n- x\n+     y");
        gm_doc_end(&doc);
        assert_string_equal(out.data, forms[i].told);
        gm_text_free(&out);
    }
}

/* Of a place that is too long the file and its line stay. */
TEST(diff_of_a_long_name)
{
    (void)state;
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, &out);
    gm_doc_say(&doc, GM_SAY_DIFF, GM_READ, NULL,
               "@@ profile_all_models_forward_and_fullstep_of_them  somewhere/benchmark.py:428 @@\n+ y");
    gm_doc_end(&doc);
    assert_string_equal(out.data, "       @@ profile_all_models_forward_and_fullstep_of_them  benchmark.py:428 @@\n"
                                  "       + y\n");
}

/* Text with an appendix: in it stands what is folded, and what does not fit before it. */
TEST(lines)
{
    (void)state;
    GM_FREED struct gm_text out = {0};
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, &out);
    doc.lines = 10;
    for (int i = 3; i > 0; i--)
        tell_words(&doc, i);
    gm_doc_end(&doc);
    assert_string_equal(out.data,
                        "\nWORDS\n-----\n  3\n  last\n  last\n  last\n"
                        "\nAPPENDIX\n================================================================================\n"
                        "\nMORE\n----\n  more of 3\n\n  Inside\n"
                        "\nMORE, TWO\n---------\n  more of 2\n\n  Inside\n"
                        "\nWORDS, TWO\n----------\n  2\n  last\n  last\n"
                        "\nMORE\n----\n  more of 1\n\n  Inside\n"
                        "\nWORDS\n-----\n  1\n  last\n");
}

/* Key-values that are absent, characters inside a row, what is counted, a line to copy that is longer than any. */
static void tell_fields(struct gm_doc *doc)
{
    struct inside {
        char name[8], other[8];
        uint64_t bytes;
    };
    static const struct gm_column fields[] = {
        GM_CHARS(GM_ALL | GM_BLANK, "name", "Name", struct inside, name),
        GM_CHARS(GM_ALL | GM_BLANK, "other", "Other", struct inside, other),
        GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Bytes", struct inside, bytes),
    };
    const struct inside row = {"abc", "", GM_REPORT_NONE};
    GM_FIELDS(doc, fields, &row, NULL);
    gm_doc_say(doc, GM_SAY_LINE, GM_READ, NULL, "%s=%080d", gm_doc_some(doc, 1, "retry", "retries"), 0);
    gm_doc_tell(doc, "%s", gm_doc_some(doc, 2400, "retry", "retries"));
}

TEST(absent_fields)
{
    static const char *const expected[] = {"Name   abc\nBytes  n/a\n  1 retry=%080d\n2,400 retries\n",
                                           "\n- Name: abc\n- Bytes: n/a\n\n`1 retry=%080d`\n\n2,400 retries\n",
                                           "{\n  \"name\": \"abc\",\n  \"other\": null,\n  \"bytes\": null\n}\n"};
    static const enum gm_form forms[] = {GM_TXT, GM_MD, GM_JSON};
    for (int i = 0; i < 3; i++) {
        struct gm_text out = {0};
        struct gm_doc doc;
        char wanted[256];
        gm_doc_begin(&doc, forms[i], &out);
        tell_fields(&doc);
        gm_doc_end(&doc);
        const char *zeros = strstr(expected[i], "%080d");
        snprintf(wanted, sizeof wanted, "%.*s%s%s",
                 zeros == NULL ? (int)strlen(expected[i]) : (int)(zeros - expected[i]), expected[i],
                 zeros == NULL ? ""
                               : "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
                 zeros == NULL ? "" : zeros + 5);
        assert_string_equal(out.data, wanted);
        gm_text_free(&out);
    }
}

TEST(no_memory)
{
    static const enum gm_form forms[] = {GM_TXT, GM_MD, GM_JSON};
    for (int i = 0; i < 3; i++) {
        size_t n = 0;
        for (bool is_done = false; !is_done;) {
            struct gm_text out = {0};
            struct gm_doc doc;
            nomem_begin(++n, false);
            gm_doc_begin(&doc, forms[i], &out);
            doc.lines = 10;
            tell(&doc);
            gm_doc_end(&doc);
            is_done = !nomem_end();
            assert_int_equal(out.failed, !is_done);
            gm_text_free(&out);
        }
        assert_true(n > 3);
    }
}
