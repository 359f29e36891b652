/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation failure: the n-th allocation fails, for every n; an export is then marked as failed, never shortened.
 */
#include "analyze/export/csv.h"
#include "analyze/export/export.h"
#include "analyze/export/notices.h"
#include "tests/export/samples.h"
#include "tests/nomem/nomem.h"
#include "tests/unit.h"

static void write_notices(struct gm_text *out, const struct gm_report *report, enum gm_notice_form form)
{
    const struct gm_notice more = {.level = GM_NOTICE_ERROR,
                                   .is_failure = true,
                                   .rule = "fail-above",
                                   .title = "check failed",
                                   .text = "<%\n\"&,:>",
                                   .subject = "a/b c.pickle",
                                   .site = "forward  model/attention.py:88",
                                   .file = "model/attention.py",
                                   .line = 88};
    GM_FREED_BY(gm_notices_free) struct gm_notices notices = {.failed = false};
    gm_notices_of_report(&notices, report, GM_WARNING, NULL);
    gm_notices_add(&notices, &more, NULL);
    gm_notices_add(&notices, &more, NULL);
    gm_notices_write(out, &notices, form, "gmanalyze", "1");
}

static void write_one(struct gm_text *out, const struct gm_report *report, int format)
{
    if (format == GM_EXPORT_COUNT)
        gm_csv_write(out, report);
    else if (format > GM_EXPORT_COUNT)
        write_notices(out, report, (enum gm_notice_form)(format - GM_EXPORT_COUNT - 1));
    else
        gm_export_write(out, report, (enum gm_export)format);
}

static void check(const struct gm_report *report, int format)
{
    GM_FREED struct gm_text whole = {0};
    write_one(&whole, report, format);
    assert_false(whole.failed);
    bool is_done = false;
    size_t n = 0;
    while (!is_done) {
        struct gm_text text = {0};
        nomem_begin(++n, false);
        write_one(&text, report, format);
        is_done = !nomem_end();
        assert_int_equal(text.failed, !is_done);
        if (is_done) {
            assert_int_equal(text.length, whole.length);
            assert_memory_equal(text.data, whole.data, whole.length);
        }
        gm_text_free(&text);
    }
    assert_true(n > 1);
}

TEST(exports)
{
    static const enum sample samples[] = {SAMPLE_ONE, SAMPLE_TWO, SAMPLE_HOSTILE};
    for (size_t s = 0; s < sizeof samples / sizeof samples[0]; s++) {
        struct gm_report report;
        sample_fill(&report, samples[s]);
        for (int format = 0; format <= GM_EXPORT_COUNT + GM_NOTICES_FORMS; format++)
            check(&report, format);
        gm_report_free(&report);
    }
}
