/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of timeline.csv: numbers formatted by hand against printf, peaks that samples lack.
 */
#include "analyze/export/csv.h"
#include "tests/export/samples.h"
#include "tests/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void assert_row(int64_t device, const struct gm_sample *s)
{
    char row[GM_CSV_ROW], expected[256], cells[6][24];
    const uint64_t v[] = {s->event,         s->time_us,          s->levels.allocated,
                          s->levels.active, s->levels.requested, s->levels.reserved};
    for (int i = 0; i < 6; i++) {
        snprintf(cells[i], sizeof cells[i], "%" PRIu64, v[i]);
        if (v[i] == GM_REPORT_NONE)
            cells[i][0] = '\0';
    }
    int n = snprintf(expected, sizeof expected, "%" PRId64 ",%s,%s,%s,%s,%s,%s\n", device, cells[0], cells[1], cells[2],
                     cells[3], cells[4], cells[5]);
    size_t length = (size_t)(gm_csv_row(row, device, s) - row);
    assert_int_equal(length, n);
    assert_memory_equal(row, expected, length);
    assert_true(length <= GM_CSV_ROW);
}

TEST(numbers)
{
    uint64_t around[20 * 3 + 3], n = 0, power = 1;
    for (int i = 0; i < 20; i++, power *= 10)
        for (uint64_t k = 0; k < 3; k++)
            around[n++] = power + k - 1;
    around[n++] = UINT64_MAX;
    around[n++] = UINT64_MAX - 1;
    around[n++] = INT64_MAX;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t v = around[i];
        assert_row((int64_t)v, &(struct gm_sample){v, around[(i + 1) % n], {v, 7, around[(i + 7) % n], v / 3}});
    }
    assert_row(INT64_MIN, &(struct gm_sample){UINT64_MAX, UINT64_MAX, {UINT64_MAX - 1, UINT64_MAX - 1, 0, UINT64_MAX}});
    for (uint64_t i = 0, v = 88172645463325252u; i < 20000; i++) {
        v ^= v << 13;
        v ^= v >> 7;
        v ^= v << 17;
        assert_row(0, &(struct gm_sample){v, v >> 20, {v >> 40, v >> 50, v >> 30, v >> (i % 64)}});
    }
}

static void assert_file(enum sample sample, const char *expected)
{
    struct gm_report report;
    GM_FREED struct gm_text text = {0};
    sample_fill(&report, sample);
    gm_csv_write(&text, &report);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    gm_report_free(&report);
}

TEST(peaks_are_rows)
{
    assert_file(SAMPLE_ONE, "device,event,time_us,allocated,active,requested,reserved\n"
                            "0,0,1000005,512,512,400,2048\n"
                            "0,3,1000090,1536,1536,1024,2048\n"
                            "0,6,1000130,1024,1024,900,4096\n" /* only the peak of reserved bytes knows it */
                            "0,9,1000300,512,512,24,2048\n");
    assert_file(SAMPLE_TWO, "device,event,time_us,allocated,active,requested,reserved\n"
                            "0,0,,512,512,512,2048\n"
                            "7,,,1536,1536,1024,2048\n" /* before event 0 */
                            "7,0,,512,1024,24,2048\n"
                            "7,1,,0,0,0,0\n");
    assert_file(SAMPLE_NO_TRACE, "device,event,time_us,allocated,active,requested,reserved\n");
}

TEST(row_before)
{
    struct gm_report report;
    char row[GM_CSV_ROW];
    sample_fill(&report, SAMPLE_TWO);
    assert_ptr_equal(gm_csv_row_before(row, &report, 0), row);
    assert_int_equal(gm_csv_row_before(row, &report, 1) - row, strlen("7,,,1536,1536,1024,2048\n"));
    assert_memory_equal(row, "7,,,1536,1536,1024,2048\n", strlen("7,,,1536,1536,1024,2048\n"));
    assert_ptr_equal(gm_csv_row_before(row, &report, 2), row);
    gm_report_free(&report);
}
