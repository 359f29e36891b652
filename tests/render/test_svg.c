/* SPDX-License-Identifier: Apache-2.0
 *
 * flamegraph.svg: well-formed whatever the names are, nothing from the file becomes markup, and its numbers.
 */
#include "analyze/base/utf8.h"
#include "render/render.h"
#include "tests/render/random_report.h"
#include "tests/render/samples.h"
#include "tests/unit.h"

#include <string.h>

static struct gm_text svg_of(const struct gm_report *report)
{
    struct gm_text svg = {0};
    struct gm_error err;
    assert_int_equal(gm_flamegraph_svg(&svg, report, &err), GM_OK);
    assert_false(svg.failed);
    assert_int_equal(strlen(svg.data), svg.length);
    return svg;
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* XML's rules as far as our SVG uses them: tags nest, attributes are quoted, references are the five we know, and all
 * characters are allowed ones. Returns the number of elements. */
static size_t check_well_formed(const char *s, size_t length)
{
    enum { DEEPEST = 16, LONGEST = 16 };
    char open[DEEPEST][LONGEST];
    size_t depth = 0, elements = 0, i = strcspn(s, "\n") + 1;
    assert_memory_equal(s, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", 38);
    while (i < length) {
        if (strncmp(s + i, "<![CDATA[", 9) == 0) {
            i = (size_t)(strstr(s + i, "]]>") - s) + 3;
        } else if (s[i] == '<') {
            const bool is_end = s[i + 1] == '/';
            const char *name = s + i + 1 + is_end;
            const size_t n = strcspn(name, " >/");
            assert_true(n > 0 && n < LONGEST);
            i += 1 + is_end + n;
            while (s[i] != '>' && s[i] != '/') { /* attributes */
                i += strcspn(s + i, "\"<>&") + 1;
                assert_int_equal(s[i - 1], '"');
                const size_t value = strcspn(s + i, "\"<");
                assert_int_equal(s[i + value], '"');
                i += value + 1;
            }
            if (is_end) {
                assert_true(depth > 0 && strncmp(open[depth - 1], name, n) == 0 && open[depth - 1][n] == '\0');
                depth--;
            } else {
                elements++;
                if (s[i] != '/') {
                    assert_true(depth < DEEPEST);
                    memcpy(open[depth], name, n);
                    open[depth++][n] = '\0';
                }
            }
            i += s[i] == '/' ? 2 : 1;
        } else if (s[i] == '&') {
            static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
            size_t k = 0;
            while (k < 5 && strncmp(s + i, known[k], strlen(known[k])) != 0)
                k++;
            assert_true(k < 5);
            i += strlen(known[k]);
        } else {
            uint32_t code = 0;
            const size_t n = gm_utf8_decode(s + i, length - i, &code);
            assert_true(n > 0 && s[i] != '>');
            assert_true(code == '\n' || (code >= 0x20 && code != 0x7f && code != 0xfffe && code != 0xffff));
            i += n;
        }
    }
    assert_int_equal(depth, 0);
    return elements;
}

TEST(samples)
{
    for (int s = 0; s < SAMPLE_COUNT; s++) {
        struct gm_report report;
        sample_make(&report, (enum sample)s);
        struct gm_text svg = svg_of(&report), again = svg_of(&report);
        assert_true(check_well_formed(svg.data, svg.length) > 5);
        assert_string_equal(svg.data, again.data);
        assert_int_equal(count(svg.data, "<script>"), 1);
        gm_text_free(&svg);
        gm_text_free(&again);
        gm_report_free(&report);
    }
}

TEST(random_reports)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct gm_report report;
        random_report(&report, seed);
        struct gm_text svg = svg_of(&report);
        check_well_formed(svg.data, svg.length);
        gm_text_free(&svg);
        gm_report_free(&report);
    }
}

/* A tree made by hand, with a name that tries everything. */
TEST(numbers_and_names)
{
    static const struct gm_flame_node nodes[] = {
        {.name = "all", .line = GM_REPORT_NONE, .first_child = 1, .bytes = 1000, .blocks = 9},
        {.name = "</title><script>alert('x')</script>]]>&amp;\xef\xbf\xbe\x01",
         .filename = "\"a\".py",
         .line = 3,
         .first_child = 2,
         .depth = 1,
         .color = 0x204060,
         .is_python = true,
         .bytes = 250,
         .blocks = 1,
         .self_bytes = 50},
        {.name = "f", .line = GM_REPORT_NONE, .parent = 1, .depth = 2, .bytes = 200, .blocks = 1, .self_bytes = 200}};
    const struct gm_device_report device = {.trace = {.events = 1}};
    const struct gm_device_timeline timeline = {.flame = {nodes, 3}};
    static const struct gm_slice categories[] = {{.name = "<b>Seen</b>", .color = 0x204060, .bytes = 900},
                                                 {.name = "Unseen", .color = 0x999999, .bytes = 100}};
    const struct gm_peak peak = {
        .requested = 1000, .event = 5, .time_us = GM_REPORT_NONE, .categories = categories, .category_count = 2};
    const struct gm_report report = {
        .run_name = "<run> & \"name\"", .devices = &device, .device_count = 1, .peaks = &peak, .timelines = &timeline};
    struct gm_text svg = svg_of(&report);
    check_well_formed(svg.data, svg.length);
    assert_int_equal(count(svg.data, "<g class=\"b"), 3);
    assert_int_equal(count(svg.data, "<script>"), 1);
    assert_non_null(strstr(svg.data, "&lt;/title&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;]]&gt;&amp;amp;"
                                     "\xef\xbf\xbd\xef\xbf\xbd  &quot;a&quot;.py:3\n250 B (25.0%) in 1 block\n"
                                     "made here: 50 B</title><rect x=\"12.00\" y=\"104\" width=\"294.00\""));
    /* The legend: colours that are seen, below the three rows of boxes and above what was left out. */
    assert_non_null(strstr(svg.data,
                           "<rect x=\"12\" y=\"150\" width=\"11\" height=\"11\" fill=\"#204060\"/><text class=\"s\" "
                           "x=\"28\" y=\"160\">&lt;b&gt;Seen&lt;/b&gt;</text>"));
    assert_null(strstr(svg.data, "Unseen"));
    assert_non_null(
        strstr(svg.data, "y=\"178\">Colour: the category of most of its bytes; paler: not a Python frame<"));
    assert_non_null(strstr(svg.data, "Run &lt;run&gt; &amp; &quot;name&quot;"));
    assert_non_null(strstr(svg.data, "Peak: 1000 B requested at event 5."));
    assert_non_null(strstr(svg.data, "data-x=\"0.000000\" data-w=\"0.200000\""));
    gm_text_free(&svg);
}
