/* SPDX-License-Identifier: Apache-2.0
 *
 * libgm as another program has it: the public header, the shared object, and the snapshot of the demo.
 */
#include "analyze/lib/gm.h"
#include "tests/unit.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gm_loaded *demo(void)
{
    struct gm_problem problem;
    struct gm_loaded *loaded = gm_load(DEMO, 0, 0, &problem);
    assert_non_null(loaded);
    assert_int_equal(problem.exit_code, 0);
    assert_string_equal(problem.kind, "ok");
    return loaded;
}

static const struct gm_array *column(const struct gm_array *arrays, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(arrays[i].name, name) == 0)
            return &arrays[i];
    fail_msg("no column %s", name);
    return NULL;
}

TEST(a_file_that_is_missing_is_a_value)
{
    struct gm_problem problem;
    assert_null(gm_load("/no/such/file.pickle", 0, 0, &problem));
    assert_int_equal(problem.exit_code, 3);
    assert_string_equal(problem.kind, "read");
    assert_non_null(strstr(problem.text, "/no/such/file.pickle"));
    assert_null(gm_load("/no/such/file.pickle", 0, 0, NULL));
}

TEST(bytes_that_are_no_snapshot_are_refused)
{
    static const char cut[] = "\x80\x04\x95\xff\xff", code[] = "cos\nsystem\n(S'true'\ntR.";
    struct gm_problem problem;
    assert_null(gm_load_bytes("nothing", 7, "memory", 0, 0, &problem));
    assert_int_equal(problem.exit_code, 3);
    assert_null(gm_load_bytes(NULL, 0, "memory", 0, 0, &problem));
    assert_int_equal(problem.exit_code, 3);
    assert_null(gm_load_bytes(cut, sizeof cut - 1, "memory", 0, 0, &problem));
    assert_int_equal(problem.exit_code, 3);
    assert_null(gm_load_bytes(code, sizeof code - 1, "memory", 0, 0, &problem));
    assert_string_equal(problem.kind, "refused");
    assert_int_not_equal(problem.offset, GM_UNKNOWN);
}

TEST(tables_are_told_by_name)
{
    struct gm_loaded *loaded = demo();
    struct gm_array a[16], few[1];
    const size_t n = gm_arrays(loaded, "events", a, 16);
    assert_int_equal(n, 11);
    assert_int_equal(gm_arrays(loaded, "events", few, 1), n);
    assert_int_equal(gm_arrays(loaded, "tables", a + n, 1), 0);
    const struct gm_array *action = column(a, n, "action"), *size = column(a, n, "size");
    assert_true(action->count > 1000);
    assert_int_equal(action->type, 'B');
    assert_int_equal(size->type, 'Q');
    assert_int_equal(size->stride, 8);
    for (size_t i = 0; i < action->count; i++)
        assert_non_null(gm_word("action", ((const uint8_t *)action->data)[i * action->stride]));
    assert_string_equal(gm_word("action", 1), "alloc");
    assert_null(gm_word("action", 100));
    assert_null(gm_word("no list", 0));
    gm_unload(loaded);
}

/* Every column can be read to its end, and every id is a row of its table. */
TEST(ids_are_rows)
{
    static const char *const tables[] = {"events",        "traces",       "host_traces", "segments", "blocks",
                                         "host_segments", "host_blocks",  "stacks",      "frames",   "stack_frames",
                                         "strings",       "string_bytes", "streams",     "pools",    "annotations"};
    struct gm_loaded *loaded = demo();
    uint64_t sum = 0;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        struct gm_array a[16];
        const size_t n = gm_arrays(loaded, tables[t], a, 16);
        assert_in_range(n, 1, 16);
        for (size_t c = 0; c < n; c++)
            for (size_t i = 0; i < a[c].count; i++) {
                uint64_t value = 0;
                const size_t width = a[c].type == 'B' ? 1 : a[c].type == 'I' ? 4 : 8;
                memcpy(&value, (const char *)a[c].data + i * a[c].stride, width);
                sum += value;
            }
    }
    assert_true(sum > 0);
    struct gm_array stacks, stack, frames[3];
    gm_arrays(loaded, "stacks", &stacks, 1);
    gm_arrays(loaded, "stack_frames", &stack, 1);
    assert_int_equal(gm_arrays(loaded, "frames", frames, 3), 3);
    const uint64_t *start = stacks.data;
    assert_int_equal(start[stacks.count - 1], stack.count);
    for (size_t i = 0; i < stack.count; i++)
        assert_true(((const uint32_t *)stack.data)[i] < frames[0].count);
    gm_unload(loaded);
}

TEST(results_outlive_their_snapshot)
{
    static const char *const options[] = {"--top=3", "--name=demo", NULL};
    struct gm_problem problem;
    struct gm_loaded *loaded = demo();
    struct gm_result *result = gm_analyze(loaded, options, &problem);
    gm_unload(loaded);
    assert_non_null(result);
    assert_int_equal(gm_verdict(result), 0);
    size_t length = 0;
    const char *json = gm_json(result, &length);
    assert_int_equal(strlen(json), length);
    assert_non_null(strstr(json, "\"schema\": \"gmanalyze.analysis/1\""));
    const char *names[64];
    const size_t n = gm_file_names(result, names, 64);
    assert_in_range(n, 5, 64);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = 0;
        const char *data = gm_file(result, names[i], &bytes, &problem);
        assert_non_null(data);
        assert_true(bytes > 0);
        assert_ptr_equal(gm_file(result, names[i], &bytes, &problem), data);
        if (strstr(names[i], ".png") != NULL)
            assert_memory_equal(data, "\x89PNG", 4);
        if (strcmp(names[i], "analysis.json") == 0)
            assert_string_equal(data, json);
    }
    size_t none = 1;
    assert_null(gm_file(result, "no such file", &none, &problem));
    assert_int_equal(none, 0);
    assert_int_equal(problem.exit_code, 2);
    gm_result_free(result);
}

TEST(numbers_are_those_of_the_report)
{
    struct gm_loaded *loaded = demo();
    struct gm_result *result = gm_analyze(loaded, NULL, NULL);
    char text[64];
    snprintf(text, sizeof text, "\"peak_requested_bytes\": %llu",
             (unsigned long long)gm_number(result, "peak_requested", 0));
    assert_non_null(strstr(gm_json(result, NULL), text));
    assert_int_equal(gm_number(result, "peak_requested", -1), gm_number(result, "peak_requested", 0));
    assert_true(gm_number(result, "peak_reserved", -1) >= gm_number(result, "peak_active", -1));
    assert_true(gm_number(result, "peak_active", -1) >= gm_number(result, "peak_allocated", -1));
    assert_true(gm_number(result, "peak_allocated", -1) >= gm_number(result, "peak_requested", -1));
    assert_true(gm_number(result, "no such number", -1) == GM_UNKNOWN);
    assert_true(gm_number(result, "reserved", 99) == GM_UNKNOWN);
    gm_result_free(result);
    gm_unload(loaded);
}

static void refuses(const char *option, const char *words)
{
    struct gm_problem problem;
    struct gm_loaded *loaded = demo();
    const char *const options[] = {option, NULL};
    assert_null(gm_analyze(loaded, options, &problem));
    assert_int_equal(problem.exit_code, 2);
    assert_string_equal(problem.kind, "usage");
    assert_non_null(strstr(problem.text, words));
    gm_unload(loaded);
}

TEST(options_are_the_programs)
{
    refuses("--topp=3", "--top");
    refuses("--top=0", "--top");
    refuses("--json=x", "not of the library");
    refuses("--help", "not of the library");
    refuses("--format=github", "not of the library");
    refuses("--manual=man", "not of the library");
    refuses("--gpu=list", "gmanalyze");
    refuses("top=3", "no option");
    refuses("-q", "no option");
}

TEST(checks_are_verdicts)
{
    static const char *const low[] = {"--fail-above=1", NULL}, *const high[] = {"--fail-above=1TiB", NULL};
    struct gm_loaded *loaded = demo();
    struct gm_result *fails = gm_analyze(loaded, low, NULL), *passes = gm_analyze(loaded, high, NULL);
    assert_int_equal(gm_verdict(fails), 1);
    assert_int_equal(gm_verdict(passes), 0);
    gm_result_free(fails);
    gm_result_free(passes);
    gm_unload(loaded);
}

TEST(replays_are_of_the_same_snapshot)
{
    static const char *const small[] = {"--memory=64MiB", NULL}, *const gpu[] = {"--gpu=h200-141", NULL};
    static const char *const conf[] = {"--alloc-conf=expandable_segments:True", "--sweep", NULL};
    struct gm_problem problem;
    struct gm_loaded *loaded = demo();
    struct gm_result *out = gm_replay(loaded, small, &problem), *fits = gm_replay(loaded, gpu, &problem);
    struct gm_result *swept = gm_replay(loaded, conf, &problem);
    assert_non_null(out);
    assert_non_null(fits);
    assert_non_null(swept);
    assert_int_equal(gm_verdict(out), 1);
    assert_int_equal(gm_verdict(fits), 0);
    assert_true(gm_number(fits, "peak_reserved", -1) >= gm_number(fits, "peak_requested", -1));
    size_t length;
    assert_non_null(gm_file(swept, "replay.txt", &length, &problem));
    assert_non_null(strstr(gm_json(swept, NULL), "\"sweep\""));
    gm_result_free(out);
    gm_result_free(fits);
    gm_result_free(swept);
    gm_unload(loaded);
}

TEST(differences_are_of_two_and_more)
{
    static const char *const limit[] = {"--fail-growth=0", NULL};
    struct gm_problem problem;
    struct gm_loaded *loaded = demo(), *both[] = {loaded, loaded};
    struct gm_result *result = gm_diff(both, 2, limit, &problem);
    assert_null(gm_diff(both, 1, NULL, &problem));
    assert_int_equal(problem.exit_code, 2);
    gm_unload(loaded);
    assert_non_null(result);
    assert_int_equal(gm_verdict(result), 0);
    assert_non_null(strstr(gm_json(result, NULL), "\"schema\": \"gmdiff.diff/1\""));
    const char *names[64];
    const size_t n = gm_file_names(result, names, 64);
    for (size_t i = 0; i < n; i++) {
        size_t length;
        assert_non_null(gm_file(result, names[i], &length, &problem));
    }
    gm_result_free(result);
}

/* Whatever the program's locale writes between a number and its decimals. */
TEST(a_locale_changes_nothing)
{
    struct gm_loaded *loaded = demo();
    static const char *const options[] = {"--name=demo", NULL};
    struct gm_result *plain = gm_analyze(loaded, options, NULL);
    const bool has_one = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    struct gm_result *other = gm_analyze(loaded, options, NULL);
    char text[16];
    snprintf(text, sizeof text, "%.1f", 0.5);
    assert_string_equal(text, has_one ? "0,5" : "0.5");
    setlocale(LC_ALL, "C");
    const char *a = strstr(gm_json(plain, NULL), "\"totals\""), *b = strstr(gm_json(other, NULL), "\"totals\"");
    const char *end = strstr(a, "\"findings\"");
    assert_memory_equal(a, b, end == NULL ? strlen(a) / 2 : (size_t)(end - a));
    gm_result_free(plain);
    gm_result_free(other);
    gm_unload(loaded);
}

static void *work(void *argument)
{
    struct gm_result *shared = argument;
    struct gm_loaded *own = gm_load(DEMO, 0, 0, NULL);
    struct gm_result *result = own == NULL ? NULL : gm_analyze(own, NULL, NULL);
    struct gm_result *replayed = own == NULL ? NULL : gm_replay(own, NULL, NULL);
    size_t length;
    bool ok = result != NULL && replayed != NULL;
    ok = ok && gm_file(result, "memory_timeline.png", &length, NULL) != NULL && length > 1000;
    ok = ok && gm_file(shared, "memory_overview.png", &length, NULL) != NULL && length > 1000;
    gm_result_free(replayed);
    gm_result_free(result);
    gm_unload(own);
    return ok ? argument : NULL;
}

TEST(two_threads)
{
    pthread_t threads[2];
    struct gm_loaded *loaded = demo();
    struct gm_result *shared = gm_analyze(loaded, NULL, NULL);
    gm_unload(loaded);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, shared), 0);
    for (int i = 0; i < 2; i++) {
        void *ok = NULL;
        pthread_join(threads[i], &ok);
        assert_ptr_equal(ok, shared);
    }
    gm_result_free(shared);
}

TEST(nothing_is_freed_twice)
{
    gm_unload(NULL);
    gm_result_free(NULL);
    assert_true(strlen(gm_version()) > 0);
}
