/* SPDX-License-Identifier: Apache-2.0
 *
 * PYTORCH_ALLOC_CONF: good and bad strings, and what they mean.
 */
#include "replay/allocator/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define MIB(n) ((uint64_t)(n) << 20)

static enum gm_status parse(struct gm_conf *conf, const char *text, struct gm_error *err)
{
    *conf = gm_conf_default();
    return gm_conf_parse(conf, text, strlen(text), err);
}

static void defaults(void **state)
{
    (void)state;
    struct gm_conf c;
    struct gm_error err = {0};
    static const char *const empty[] = {"", "  ", ",", " , ,"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_int_equal(parse(&c, empty[i], &err), GM_OK);
        assert_int_equal(c.rules.max_split, UINT64_MAX);
        assert_int_equal(c.max_non_split_rounding, MIB(20));
        assert_int_equal(c.rules.large_segment, MIB(20));
        assert_false(c.expandable_segments);
        assert_true(c.gc_threshold == 0);
        assert_true(c.memory_fraction == 1);
    }
}

static void every_key(void **state)
{
    (void)state;
    struct gm_conf c;
    struct gm_error err = {0};
    static const char text[] =
        "max_split_size_mb:128,max_non_split_rounding_mb: 64 , large_segment_size_mb:32,"
        "garbage_collection_threshold:0.8,per_process_memory_fraction:.25,expandable_segments:True,"
        "throw_on_cudamalloc_oom:True,backend:cudaMallocAsync,release_lock_on_cudamalloc:False,"
        "pinned_use_cuda_host_register:True,pinned_num_register_threads:8,roundup_power2_divisions:4";
    assert_int_equal(parse(&c, text, &err), GM_OK);
    assert_int_equal(c.rules.max_split, MIB(128));
    assert_int_equal(c.max_non_split_rounding, MIB(64));
    assert_int_equal(c.rules.large_segment, MIB(32));
    assert_true(c.gc_threshold > 0.7999 && c.gc_threshold < 0.8001);
    assert_true(c.memory_fraction == 0.25);
    assert_true(c.expandable_segments && c.throw_on_oom);
    assert_int_equal(c.backend, GM_BACKEND_ASYNC);
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        assert_int_equal(c.rules.roundup[i], 4);
    /* The large segment's size is the default of another key and the bound of two, wherever it stands. */
    assert_int_equal(parse(&c, "max_split_size_mb:11,large_segment_size_mb:11", &err), GM_OK);
    assert_int_equal(c.max_non_split_rounding, MIB(11));
}

static void divisions_by_interval(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t slots[GM_ROUNDUP_SLOTS];
    } cases[] = {
        {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}},
        {"roundup_power2_divisions:[1:8]", {8}},
        {"roundup_power2_divisions:[4:8,64:2]", {8, 8, 8, 0, 0, 0, 2}}, /* what is skipped stays at none */
        {"roundup_power2_divisions:[>:4]", {0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
        {"roundup_power2_divisions:[32768:2]", {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
        {"roundup_power2_divisions : [ 2 : 4 , > : 2 ]", {4, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}},
    };
    struct gm_conf c;
    struct gm_error err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(parse(&c, cases[i].text, &err), GM_OK);
        assert_memory_equal(c.rules.roundup, cases[i].slots, sizeof c.rules.roundup);
    }
}

static void bad_strings(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"max_split_size_mb:19", "smaller than the large segment size"},
        {"max_split_size_mb:x", "whole number"},
        {"max_split_size_mb:-1", "whole number"},
        {"max_split_size_mb:99999999999999999999999", "too large"},
        {"max_split_size_mb", "expects ':'"},
        {"max_split_size_mb:", "whole number"},
        {"max_non_split_rounding_mb:1", "smaller"},
        {"large_segment_size_mb:10", "more than 10"},
        {"large_segment_size_mb:64,max_split_size_mb:32", "smaller"},
        {"garbage_collection_threshold:0", "more than 0"},
        {"garbage_collection_threshold:1", "less than 1"},
        {"garbage_collection_threshold:much", "expects a number"},
        {"per_process_memory_fraction:1.5", "from 0 to 1"},
        {"expandable_segments:true", "True or False"},
        {"expandable_segments:1", "True or False"},
        {"backend:fast", "native or cudaMallocAsync"},
        {"roundup_power2_divisions:3", "power of two"},
        {"roundup_power2_divisions:[3:2]", "power of two"},
        {"roundup_power2_divisions:[256]", "expects ':'"},
        {"roundup_power2_divisions:[256:2", "expects ',' or ']'"},
        {"roundup_power2_divisions:[256:2 512:4]", "power of two"}, /* blanks do not part words: 2512 */
        {"pinned_num_register_threads:3", "power of two"},
        {"pinned_num_register_threads:256", "128"},
        {"no_such_option:1", "no option 'no_such_option'"},
        {"expandable_segments:True max_split_size_mb:30", "True or False"},
        {"a_word_that_is_much_longer_than_any_option_of_the_allocator_could_ever_be:1", "more than 63"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_conf c = gm_conf_default(), before = c;
        struct gm_error err = {0};
        assert_int_equal(gm_conf_parse(&c, cases[i].text, strlen(cases[i].text), &err), GM_E_USAGE);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("'%s': '%s' does not say '%s'", cases[i].text, err.message, cases[i].says);
        assert_memory_equal(&c.rules, &before.rules, sizeof c.rules); /* nothing of it was taken */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(defaults), cmocka_unit_test(every_key),
                                       cmocka_unit_test(divisions_by_interval), cmocka_unit_test(bad_strings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
