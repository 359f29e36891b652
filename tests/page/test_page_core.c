/* SPDX-License-Identifier: Apache-2.0
 *
 * The page's core natively, where sanitizers see it: what it answers against what a walk over every moment says.
 */
#include "analyze/base/text.h"
#include "render/page/core/page_core.h"
#include "tests/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gm_text demo;

static int read_demo(void **state)
{
    char block[65536];
    size_t n;
    FILE *file = fopen(GM_SOURCE "/tests/data/demo.gmtrace", "rb");
    if (file == NULL)
        return -1;
    while ((n = fread(block, 1, sizeof block, file)) > 0)
        gm_text_add_bytes(&demo, block, n);
    fclose(file);
    return demo.length > 0 && !demo.failed ? 0 : -1;
}

static int forget_demo(void **state)
{
    gm_text_free(&demo);
    return 0;
}

static uint32_t open_bytes(const void *bytes, size_t length)
{
    return gm_page_open(bytes, length, "path=demo\nsalvage=1", NULL, 0);
}

static const struct gm_page_array *array(const struct gm_page_result *result, const char *name)
{
    assert_non_null(result);
    for (uint32_t i = 0; i < result->array_count; i++)
        if (strcmp(result->arrays[i].name, name) == 0)
            return &result->arrays[i];
    fail_msg("no %s in the answer", name);
    return NULL;
}

static double number(const struct gm_page_result *result, const char *name, uint32_t i)
{
    const struct gm_page_array *a = array(result, name);
    assert_true(a->type == GM_PAGE_F64 && i < a->count);
    return ((const double *)a->data)[i];
}

static uint32_t integer(const struct gm_page_result *result, const char *name, uint32_t i)
{
    const struct gm_page_array *a = array(result, name);
    assert_true(a->type == GM_PAGE_U32 && i < a->count);
    return ((const uint32_t *)a->data)[i];
}

/* Of every moment. */
struct levels {
    uint32_t moments;
    double *active, *reserved;
};

static struct levels walk(uint32_t handle)
{
    struct levels l = {.moments = integer(gm_page_devices(handle), "events", 0) + 1};
    l.active = calloc(l.moments, sizeof *l.active);
    l.reserved = calloc(l.moments, sizeof *l.reserved);
    for (uint32_t m = 0; m < l.moments; m++) {
        const struct gm_page_result *at = gm_page_where(handle, 0, GM_PAGE_BY_EVENT, m);
        l.active[m] = number(at, "active", 0);
        l.reserved[m] = number(at, "reserved", 0);
    }
    return l;
}

TEST(no_column_loses_a_peak)
{
    const uint32_t handle = open_bytes(demo.data, demo.length);
    struct levels l = walk(handle);
    for (uint32_t k = 0; k < 300; k++) {
        const uint32_t from = k * 7919 % l.moments, length = 1 + k * k * 31 % (l.moments - from),
                       end = from + length - 1;
        double active = 0, reserved = 0;
        uint32_t first = from;
        for (uint32_t m = from; m <= end; m++) {
            first = l.active[m] > active ? m : first;
            active = fmax(active, l.active[m]);
            reserved = fmax(reserved, l.reserved[m]);
        }
        const struct gm_page_result *part =
            gm_page_timeline(handle, 0, k % GM_PAGE_SPLITS, GM_PAGE_BY_EVENT, from, (double)end + 0.5, 1);
        assert_true(number(part, "total", 0) == active);
        assert_true(number(part, "reserved", 0) == reserved);
        assert_int_equal(integer(part, "at", 0), first);
    }
    free(l.active);
    free(l.reserved);
    gm_page_close(handle);
}

TEST(bars_lie_on_each_other)
{
    const uint32_t handle = open_bytes(demo.data, demo.length);
    const struct gm_page_result *bars =
        gm_page_bars(handle, 0, GM_PAGE_BY_ROLE, GM_PAGE_BY_EVENT, 8000, 8200, 4000, 0, 5000);
    const struct gm_page_array *id = array(bars, "id");
    assert_true(id->count > 100);
    assert_int_equal(integer(bars, "left_out_count", 0), 0);
    double top = 0; /* at moment 8100 */
    for (uint32_t i = 0; i < id->count; i++) {
        const uint32_t n = integer(bars, "points", i), first = integer(bars, "first_point", i);
        double y = NAN;
        for (uint32_t p = 0; p < n && number(bars, "point_x", first + p) <= 8100; p++)
            y = number(bars, "point_y", first + p);
        if (integer(bars, "born", i) > 8100 || integer(bars, "freed", i) <= 8100)
            continue;
        assert_true(y == top); /* they are in the order of their ages, from below */
        top += number(bars, "bytes", i);
    }
    assert_true(top == number(gm_page_where(handle, 0, GM_PAGE_BY_EVENT, 8100), "active", 0));
    gm_page_close(handle);
}

TEST(table)
{
    const uint32_t handle = open_bytes(demo.data, demo.length);
    const struct gm_page_result *rows = gm_page_allocations(handle, 0, "sort=life\norder=up\nalive_at=8100", 0, 10000);
    double bytes = 0;
    for (uint32_t i = 0; i < array(rows, "id")->count; i++) {
        assert_true(i == 0 || number(rows, "life", i) >= number(rows, "life", i - 1));
        bytes += number(rows, "size", i);
    }
    assert_true(bytes == number(rows, "total_bytes", 0));
    assert_true(bytes == number(gm_page_where(handle, 0, GM_PAGE_BY_EVENT, 8100), "active", 0));
    assert_null(gm_page_allocations(handle, 0, "regex=((", 0, 1));
    assert_true(gm_page_error()[0] != '\0');
    gm_page_close(handle);
}

/* Everything once; NULL is an answer, too, if it says why. */
static void ask_all(uint32_t handle)
{
    const uint32_t events = integer(gm_page_devices(handle), "events", 0);
    (void)gm_page_json(handle);
    (void)gm_page_marks(handle, 0);
    for (uint32_t m = 0; m <= events + 1; m += events / 3 + 1) {
        for (uint32_t group = 0; group <= GM_PAGE_GROUP_NONE + 1; group++)
            (void)gm_page_moment(handle, 0, m, group, 3);
        (void)gm_page_space(handle, 0, m, 0);
        (void)gm_page_event(handle, 0, m);
        (void)gm_page_allocation(handle, 0, m);
        (void)gm_page_flame(handle, 0, m, m / 2, m % 2 == 0, true);
    }
    (void)gm_page_timeline(handle, 0, 1, GM_PAGE_BY_TIME, -5, 1e18, 100);
    (void)gm_page_timeline(handle, 0, 9, GM_PAGE_BY_TIME, 0, 1, 100);
    (void)gm_page_bars(handle, 0, 2, GM_PAGE_BY_TIME, 0, 1e9, 300, 0, 700);
    (void)gm_page_events(handle, 0, "kind=driver", 0, 10, events / 2);
    (void)gm_page_heat(handle, 0, GM_PAGE_BY_EVENT, 0, events, 30, 40);
    (void)gm_page_whatif(handle, 0, "memory=9e9\nscale.3=1.5", 50);
    (void)gm_page_flame_between(handle, 0, events, handle, 0, 0, true, false);
    (void)gm_page_compare(&handle, 1);
}

TEST(damaged_files)
{
    GM_FREED char *bytes = malloc(demo.length);
    for (size_t k = 0; k < 24; k++) {
        const size_t length = k % 2 == 0 ? demo.length : demo.length * k / 24;
        memcpy(bytes, demo.data, demo.length);
        for (size_t i = 0; i < k && length > 0; i++)
            bytes[(i * 7919 + k * 104729) % length] ^= (char)(1 << i % 8);
        const uint32_t handle = open_bytes(bytes, length);
        assert_true(handle != 0 || strlen(gm_page_error()) > 5);
        if (handle != 0) {
            ask_all(handle);
            gm_page_close(handle);
        }
        assert_null(gm_page_devices(handle));
    }
}

AROUND_ALL(read_demo, forget_demo)
