/* SPDX-License-Identifier: Apache-2.0
 *
 * PYTORCH_ALLOC_CONF: good and bad strings, and what they mean.
 */
#include "analyze/allocator/conf.h"
#include "tests/unit.h"

#include <string.h>

#define MIB(n) ((uint64_t)(n) << 20)

static enum gm_status parse(struct gm_conf *conf, const char *text, struct gm_error *err)
{
    *conf = gm_conf_default();
    return gm_conf_parse(conf, text, strlen(text), NULL, err);
}

TEST(defaults)
{
    struct gm_conf c;
    struct gm_error err = {0};
    static const char *const empty[] = {"", "  ", " \t\n"};
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

TEST(every_key)
{
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
    assert_true(c.expandable_segments);
    assert_int_equal(c.backend, GM_BACKEND_ASYNC);
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        assert_int_equal(c.rules.roundup[i], 4);
    /* The large segment's size is the default of another key and the bound of two, wherever it stands. */
    assert_int_equal(parse(&c, "max_split_size_mb:11,large_segment_size_mb:11", &err), GM_OK);
    assert_int_equal(c.max_non_split_rounding, MIB(11));
}

/* Each option with what it takes, at the ends of its range. */
TEST(good_values)
{
    static const struct {
        const char *text, *means; /* as gm_conf_text says it */
    } cases[] = {
        {"max_split_size_mb:20", "max_split_size_mb:20"},
        {"max_split_size_mb:+21", "max_split_size_mb:21"},
        {"max_split_size_mb:30MiB", "max_split_size_mb:30"}, /* what follows a number is ignored */
        {"max_split_size_mb:18446744073709551606", "max_split_size_mb:17592186044415"},
        {"max_split_size_mb : 3 0 ,", "max_split_size_mb:30"}, /* blanks never count; one comma may end it */
        {"max_non_split_rounding_mb:20", ""},
        {"max_non_split_rounding_mb:21", "max_non_split_rounding_mb:21"},
        {"large_segment_size_mb:11", "large_segment_size_mb:11"},
        {"max_split_size_mb:11,large_segment_size_mb:11", "large_segment_size_mb:11,max_split_size_mb:11"},
        {"large_segment_size_mb:64,large_segment_size_mb:32,max_split_size_mb:32",
         "large_segment_size_mb:32,max_split_size_mb:32"}, /* the last one counts */
        {"roundup_power2_divisions:0", ""},
        {"roundup_power2_divisions:1", ""},
        {"roundup_power2_divisions:16", "roundup_power2_divisions:16"},
        {"roundup_power2_divisions:[]", ""},
        {"roundup_power2_divisions:[1:2,>:4]", "roundup_power2_divisions:[1:2,2:4,4:4,8:4,16:4,32:4,64:4,128:4,256:4,"
                                               "512:4,1024:4,2048:4,4096:4,8192:4,16384:4,"
                                               "32768:4]"},
        {"roundup_bypass_threshold_mb:1280", "roundup_bypass_threshold_mb:1280"},
        {"garbage_collection_threshold:0.999", "garbage_collection_threshold:0.999"},
        {"garbage_collection_threshold:1e-7", "garbage_collection_threshold:1e-07"},
        {"garbage_collection_threshold:.5", "garbage_collection_threshold:0.5"},
        {"per_process_memory_fraction:0", "per_process_memory_fraction:0"},
        {"per_process_memory_fraction:1", ""},
        {"per_process_memory_fraction:1.0", ""},
        {"per_process_memory_fraction:0.9999999", "per_process_memory_fraction:0.9999999"},
        {"expandable_segments:True", "expandable_segments:True"},
        {"expandable_segments:False", ""},
        {"expandable_segments:True,expandable_segments:False", ""},
        {"release_lock_on_cudamalloc:True", "release_lock_on_cudamalloc:True"},
        {"release_lock_on_hipmalloc:True", "release_lock_on_cudamalloc:True"},
        {"throw_on_cudamalloc_oom:True", "throw_on_cudamalloc_oom:True"},
        {"backend:native", ""},
        {"backend:cudaMallocAsync", "backend:cudaMallocAsync"},
        {"expandable_segments_reserve:0.5", "expandable_segments_reserve:0.5"},
        {"expandable_segments_reserve:40G", "expandable_segments_reserve:40G"},
        {"expandable_segments_reserve:0.5g", "expandable_segments_reserve:0.5G"},
        {"expandable_segments_reserve:-1", ""},
        {"expandable_segments_reserve:much", ""},
        /* Checked, and without influence here. */
        {"pinned_max_cached_size_mb:64", ""},
        {"pinned_max_round_threshold_mb:64", ""},
        {"graph_capture_record_stream_reuse:True", ""},
        {"pinned_use_cuda_host_register:True", ""},
        {"pinned_use_hip_host_register:False", ""},
        {"pinned_use_background_threads:True", ""},
        {"pinned_free_catch_all:True", ""},
        {"pinned_num_register_threads:1", ""},
        {"pinned_num_register_threads:128", ""},
        {"pinned_reserve_segment_size_mb:1", ""},
        {"expandable_segments_reserve_by_class:[a:0.5,b:1G]", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_conf c, again;
        struct gm_error err = {0};
        struct gm_text text = {0};
        if (parse(&c, cases[i].text, &err) != GM_OK)
            fail_msg("'%s': %s", cases[i].text, err.message);
        gm_conf_text(&text, &c);
        gm_text_add(&text, "");
        assert_string_equal(text.data == NULL ? "" : text.data, cases[i].means);
        assert_int_equal(parse(&again, cases[i].means, &err), GM_OK);
        assert_true(gm_conf_equal(&c, &again));
        gm_text_free(&text);
    }
}

/* _set_allocator_settings() in the middle of a run. */
TEST(while_it_runs)
{
    static const char first[] = "max_split_size_mb:64,max_non_split_rounding_mb:80,large_segment_size_mb:32,"
                                "roundup_power2_divisions:4,garbage_collection_threshold:0.5,"
                                "expandable_segments:True,per_process_memory_fraction:0.5";
    struct gm_conf c;
    struct gm_error err = {0};
    assert_int_equal(parse(&c, first, &err), GM_OK);
    assert_int_equal(gm_conf_parse(&c, "pinned_free_catch_all:True", 26, NULL, &err), GM_OK);
    assert_int_equal(c.rules.max_split, UINT64_MAX);
    assert_int_equal(c.max_non_split_rounding, MIB(32));
    assert_int_equal(c.rules.roundup[0], 0);
    assert_true(c.gc_threshold == 0);
    assert_int_equal(c.rules.large_segment, MIB(32));
    assert_true(c.expandable_segments && c.memory_fraction == 0.5);
}

TEST(divisions_by_interval)
{
    static const struct {
        const char *text;
        uint32_t slots[GM_ROUNDUP_SLOTS];
    } cases[] = {
        {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8}},
        {"roundup_power2_divisions:[1:8]", {8}},
        {"roundup_power2_divisions:[4:8,64:2]", {8, 8, 8, 0, 0, 0, 2}}, /* what is skipped stays at none */
        {"roundup_power2_divisions:[>:4]", {0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}},
        /* '>' is no size: a size after it is still the first, and another '>' goes on from the last size */
        {"roundup_power2_divisions:[>:4,256:2]", {2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4}},
        {"roundup_power2_divisions:[256:1,>:2,>:8]", {1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 8, 8, 8, 8, 8, 8}},
        {"roundup_power2_divisions:[>:2,>:8]", {0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8}},
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

TEST(bad_strings)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {",", "expects ':'"},
        {",expandable_segments:True", "expects ':'"},
        {"expandable_segments:True,,", "expects ':'"},
        {"expandable_segments:True,\x01", "control character"},
        {"max_split_size_mb:19", "smaller than the large segment size"},
        {"max_split_size_mb:x", "whole number"},
        {"max_split_size_mb:-1", "whole number"},
        {"max_split_size_mb:99999999999999999999999", "too large"},
        {"max_split_size_mb", "expects ':'"},
        {"max_split_size_mb:", "whole number"},
        {"max_non_split_rounding_mb:1", "smaller"},
        {"max_non_split_rounding_mb:31,large_segment_size_mb:32", "smaller"},
        {"large_segment_size_mb:10", "more than 10"},
        {"large_segment_size_mb:99999999", "larger than any device"},
        {"large_segment_size_mb:64,max_split_size_mb:32", "smaller"},
        {"garbage_collection_threshold:0", "more than 0"},
        {"garbage_collection_threshold:1", "less than 1"},
        {"garbage_collection_threshold:much", "expects a number"},
        {"garbage_collection_threshold:-0.5", "more than 0"},
        {"garbage_collection_threshold:nan", "expects a number"},
        {"per_process_memory_fraction:1.5", "from 0 to 1"},
        {"per_process_memory_fraction:-0.1", "from 0 to 1"},
        {"per_process_memory_fraction:inf", "expects a number"},
        {"throw_on_cudamalloc_oom:1", "True or False"},
        {"release_lock_on_cudamalloc:yes", "True or False"},
        {"graph_capture_record_stream_reuse:", "True or False"},
        {"pinned_use_background_threads:on", "True or False"},
        {"pinned_reserve_segment_size_mb:0", "more than 0"},
        {"roundup_bypass_threshold_mb:0", "more than 0"},
        {"expandable_segments_reserve:", "expects a value"},
        {"expandable_segments_reserve_by_class:0.5", "expects a list"},
        {"expandable_segments_reserve_by_class:[a]", "expects ':'"},
        {"expandable_segments_reserve_by_class:[a:1", "expects ',' or ']'"},
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
        {"no_such_option", "no_such_option: expects ':' and a value"},
        {"no_such_option:[1,2],expandable_segments:1", "True or False"},
        {"expandable_segments:True max_split_size_mb:30", "True or False"},
        {"a_word_that_is_much_longer_than_any_option_of_the_allocator_could_ever_be:1", "more than 63"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_conf c = gm_conf_default(), before = c;
        struct gm_error err = {0};
        assert_int_equal(gm_conf_parse(&c, cases[i].text, strlen(cases[i].text), NULL, &err), GM_E_USAGE);
        if (strstr(err.message, cases[i].says) == NULL)
            fail_msg("'%s': '%s' does not say '%s'", cases[i].text, err.message, cases[i].says);
        assert_memory_equal(&c.rules, &before.rules, sizeof c.rules); /* nothing of it was taken */
    }
}

/* Options of releases to come cost nothing but their names. */
TEST(unknown_options)
{
    static const struct {
        const char *text, *means, *unknown;
    } cases[] = {
        {"no_such_option:1", "", "no_such_option"},
        {"a:1,large_segment_size_mb:32,b:[x:1,y:2],expandable_segments:True",
         "expandable_segments:True,large_segment_size_mb:32", "a, b"},
        {"a:b:c,max_split_size_mb:30", "max_split_size_mb:30", "a"},
        {"a:[1,2", "", "a"},
        {"a:", "", "a"},
        {"expandable_segment:True", "", "expandable_segment (did you mean 'expandable_segments'?)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_conf c = gm_conf_default();
        struct gm_error err = {0};
        struct gm_text unknown = {0}, text = {0};
        assert_int_equal(gm_conf_parse(&c, cases[i].text, strlen(cases[i].text), &unknown, &err), GM_OK);
        gm_conf_text(&text, &c);
        gm_text_add(&text, "");
        assert_string_equal(text.data, cases[i].means);
        assert_string_equal(unknown.data, cases[i].unknown);
        gm_text_free(&unknown);
        gm_text_free(&text);
    }
}

/* What some PyTorch has accepted: of a text that is not understood only the part. */
TEST(recorded_texts)
{
    static const struct {
        const char *text, *means, *odd;
    } cases[] = {
        {"expandable_segments: True", "expandable_segments:True", ""},
        {"large_segment_size_mb:32,pinned_max_cached_size_mb:64", "large_segment_size_mb:32", ""},
        {"large_segment_size_mb:32,of_tomorrow:[a:1,b:2]", "large_segment_size_mb:32", "not known here: of_tomorrow"},
        {"max_split_size_mb:5,expandable_segments:True", "expandable_segments:True", "max_split_size_mb: must not"},
        {"expandable_segments:yes,,backend:fast,large_segment_size_mb:32", "large_segment_size_mb:32", "True or False"},
        {"large_segment_size_mb:3,max_split_size_mb:32", "max_split_size_mb:32", "more than 10 MiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gm_conf c = gm_conf_default();
        struct gm_text odd = {0}, text = {0};
        gm_conf_read(&c, cases[i].text, strlen(cases[i].text), &odd);
        gm_conf_text(&text, &c);
        gm_text_add(&text, "");
        gm_text_add(&odd, "");
        assert_string_equal(text.data, cases[i].means);
        if (strstr(odd.data, cases[i].odd) == NULL || (cases[i].odd[0] == '\0') != (odd.length == 0))
            fail_msg("'%s': '%s' does not say '%s'", cases[i].text, odd.data, cases[i].odd);
        gm_text_free(&odd);
        gm_text_free(&text);
    }
}
