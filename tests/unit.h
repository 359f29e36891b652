/* SPDX-License-Identifier: Apache-2.0
 *
 * cmocka, with what it wants to be included before it, and tests that need no list:
 *
 *     TEST(sizes_add_up)
 *     {
 *         assert_int_equal(...);
 *     }
 *
 * Tests run in the order of their file. A program has those of several files: PROGRAM [FILE [PATTERN]], as in
 * `build/tests/unit_timeline test_roles "gradient*"`; without arguments all.
 */
#pragma once

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

enum { UNIT_MOST = 64 };

/* The tests of one file. */
struct unit_file {
    const char *path;
    CMFixtureFunction before_all, after_all;   /* once for the file; NULL: none */
    CMFixtureFunction before_each, after_each; /* around every test; NULL: none */
    struct CMUnitTest tests[UNIT_MOST];
    size_t count;
    struct unit_file *next;
};

void unit_add(struct unit_file *file, const char *name, CMUnitTestFunction test);
/* `end` is called behind every test of the program: it frees what a fixture that tests share has made for them. */
void unit_end_with(void (*end)(void));
/* With GM_SAMPLE=N in the environment, N / 3: of random cases and the like one in so many is enough. Else 1. */
unsigned unit_sampled(void);

__attribute__((unused)) static struct unit_file unit_here = {.path = __BASE_FILE__};

#define TEST(name)                                                                                                     \
    static void test_##name(void **state);                                                                             \
    __attribute__((constructor)) static void add_##name(void)                                                          \
    {                                                                                                                  \
        unit_add(&unit_here, #name, test_##name);                                                                      \
    }                                                                                                                  \
    static void test_##name(void **state)

/* What happens before and after all tests of the file, and around each. */
#define AROUND_ALL(before, after)                                                                                      \
    __attribute__((constructor)) static void add_around_all(void)                                                      \
    {                                                                                                                  \
        unit_here.before_all = before;                                                                                 \
        unit_here.after_all = after;                                                                                   \
    }
#define AROUND_EACH(before, after)                                                                                     \
    __attribute__((constructor)) static void add_around_each(void)                                                     \
    {                                                                                                                  \
        unit_here.before_each = before;                                                                                \
        unit_here.after_each = after;                                                                                  \
    }
