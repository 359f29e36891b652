/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that runs out: the n-th allocation fails, for n = 1, 2, 3 ... until loading succeeds. The linker sends our
 * calls of malloc, calloc and realloc here; a sanitizer watches for leaks.
 */
#include "analyze/load/load.h"
#include "tests/load/fixtures.h"
#include "tests/load/model_check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t countdown; /* 0: nothing fails */
static bool keeps_failing, has_failed;

static bool fails_now(void)
{
    if (countdown == 0)
        return false;
    if (countdown > 1) {
        countdown--;
        return false;
    }
    countdown = keeps_failing ? 1 : 0;
    has_failed = true;
    return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails_now() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails_now() ? NULL : __real_realloc(p, n);
}

/* Loads with ever later failures; returns how many there were. A single failure may be survived (a hash table that
 * could not grow now grows a little later), but when everything from there on fails, loading must. */
static size_t exhaust(const char *name, size_t cut, bool salvage)
{
    struct bytes b = read_fixture(name);
    b.n = cut > 0 ? b.n - b.n / cut : b.n;
    const struct gm_load_options options = {.salvage = salvage};
    struct gm_snapshot s;
    struct gm_error err;
    enum gm_status status, expected = gm_snapshot_load_bytes(&s, b.p, b.n, name, &options, &err);
    gm_snapshot_free(&s);
    size_t n = 0;
    do {
        err = (struct gm_error){0};
        has_failed = false;
        countdown = ++n;
        status = gm_snapshot_load_bytes(&s, b.p, b.n, name, &options, &err);
        countdown = 0;
        if (status != expected && status != GM_E_NOMEM)
            fail_msg("%s, allocation %zu: status %d, %s", name, n, (int)status, err.message);
        if (has_failed && keeps_failing && status != GM_E_NOMEM)
            fail_msg("%s, allocation %zu failed without GM_E_NOMEM: %d", name, n, (int)status);
        if (status != GM_OK && (err.status != status || err.message[0] == '\0' || s.memory != NULL))
            fail_msg("%s, allocation %zu: no message, or a snapshot was left", name, n);
        if (status == GM_OK && gm_model_check(&s) != NULL)
            fail_msg("%s, allocation %zu: %s", name, n, gm_model_check(&s));
        gm_snapshot_free(&s);
    } while (has_failed);
    assert_int_equal(status, expected);
    free(b.p);
    return n - 1;
}

static const char *const files[] = {"full.p0.pickle", "full.p2.pickle",   "full.p4.pickle", "full.cpp.pickle",
                                    "full.json",      "full.pickle.gz",   "full.twice.gz",  "full.1.html",
                                    "full.html.gz",   "legacy.p2.pickle", "host.p4.pickle", "names.json",
                                    "names.p4.pickle"};

static void run(void)
{
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_true(exhaust(files[i], 0, false) > 20); /* the assembler alone needs more */
        assert_true(exhaust(files[i], 2, true) > 20);
        exhaust(files[i], 2, false);
    }
}

static void test_once(void **state)
{
    (void)state;
    keeps_failing = false;
    run();
}

static void test_from_then_on(void **state)
{
    (void)state;
    keeps_failing = true;
    run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_from_then_on)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
