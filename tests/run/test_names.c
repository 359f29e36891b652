/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of runs. The expectations are read off the contract by hand.
 */
#include "analyze/run/run_names.h"
#include "tests/unit.h"

#include <string.h>

static void assert_detects(const char *path, const char *expected)
{
    char out[GM_NAME_SIZE];
    gm_name_detect(out, path);
    if (strcmp(out, expected) != 0)
        fail_msg("%s gives %s, not %s", path, out, expected);
}

TEST(tokens)
{
    assert_detects("runs/iteration_1/rank0_memory_snapshot.pickle", "iter1_rank0");
    assert_detects("/a/b/c/iteration_1/rank0_memory_snapshot.pickle", "iter1_rank0");
    assert_detects("memory_ctx512_forward.pickle", "ctx512");
    assert_detects("iter5/x.pickle", "iter5");
    assert_detects("iteration-5/x.pickle", "iter5");
    assert_detects("iteration5/x.pickle", "iter5");
    assert_detects("step_10.pickle.gz", "step10");
    assert_detects("rank_3/snap.json", "rank3");
    assert_detects("bs=8/lbs4/ctx-128/seq_2048.pickle", "bs8_lbs4_ctx128_seq2048");
    assert_detects("batch16/x.pickle", "batch16");
    assert_detects("Rank7_Iter2.PICKLE", "rank7_iter2");
    assert_detects("ctx128_bs8_rank0.pickle", "ctx128_bs8_rank0");
    assert_detects("ctx128bs8.pickle", "ctx128_bs8");
    assert_detects("globalStep100.pickle", "step100");
    assert_detects("step.12.pickle", "step12");
    assert_detects("rank007.pickle", "rank007"); /* the digits as they stand: they sort */
}

TEST(only_four_parts)
{
    assert_detects("rank1/iter2/step3/bs4/x.pickle", "iter2_step3_bs4");
    assert_detects("rank1/iter2/step3/x.pickle", "rank1_iter2_step3");
    assert_detects("rank1//iter2/./step3/x.pickle", "rank1_iter2_step3");
    assert_detects("rank1/a/b/c/x.pickle", "x");
}

TEST(duplicates)
{
    assert_detects("rank0/iteration_3/rank0_snapshot.pickle", "rank0_iter3");
    assert_detects("step1/step2/x.pickle", "step1_step2");
}

TEST(no_tokens)
{
    assert_detects("first5.pickle", "first5"); /* "rst" is no word, and neither is what ends in one */
    assert_detects("obs8.pickle", "obs8");
    assert_detects("steps5.pickle", "steps5");
    assert_detects("steps_5.pickle", "steps_5");
    assert_detects("frank3.pickle", "frank3");
    assert_detects("seq2seq.pickle", "seq2seq");
    assert_detects("ctx4k.pickle", "ctx4k");
    assert_detects("rank.pickle", "rank");
    assert_detects("rank__3.pickle", "rank__3");
    assert_detects("iterator1.pickle", "iterator1");
}

TEST(stem)
{
    assert_detects("-", "stdin");
    assert_detects("/tmp/mem.pickle", "mem");
    assert_detects("mem.pickle.gz", "mem");
    assert_detects("mem.snap.zst", "mem");
    assert_detects("dump_snapshot.e8335e9c.pickle", "dump_snapshot.e8335e9c");
    assert_detects("mem.html.JSON", "mem");
    assert_detects("mem.bin", "mem");
    assert_detects("mem.bin.gz", "mem");
    assert_detects("mem", "mem");
    assert_detects("mem.2025-11-14", "mem.2025-11-14");
    assert_detects(".pickle", "run");
    assert_detects("", "run");
    assert_detects("/", "run");
    assert_detects("a b|c\nd\xc3\xa9\xff.pickle", "a_b_c_d__");
    assert_detects("--help.pickle", "--help");
}

TEST(hostile_paths)
{
    char path[4000] = "", out[GM_NAME_SIZE];
    for (int i = 0; i < 300; i++)
        strcat(path, "rank1");
    gm_name_detect(out, path);
    assert_string_equal(out, "rank1");
    memset(path, '9', 3000);
    memcpy(path, "rank", 4);
    path[3000] = '\0';
    gm_name_detect(out, path);
    assert_int_equal(strlen(out), GM_NAME_SIZE - 1);
    path[0] = '\0';
    for (int i = 0; i < 100; i++) {
        char one[16] = "_step";
        one[5] = (char)('0' + i / 10);
        one[6] = (char)('0' + i % 10);
        strcat(path, one);
    }
    gm_name_detect(out, path);
    assert_memory_equal(out, "step00_step01_", 14);
    assert_true(strlen(out) < GM_NAME_SIZE);
}

TEST(clean)
{
    char out[GM_NAME_SIZE];
    gm_name_clean(out, "My.run_1-A");
    assert_string_equal(out, "My.run_1-A");
    gm_name_clean(out, "a/../b c$");
    assert_string_equal(out, "a_.._b_c_");
    gm_name_clean(out, "");
    assert_string_equal(out, "run");
    gm_name_clean(out, "\xe4\xb8\xad");
    assert_string_equal(out, "_");
    char big[1000];
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    gm_name_clean(out, big);
    assert_int_equal(strlen(out), GM_NAME_SIZE - 1);
}

TEST(suffix)
{
    static const char *const yes[] = {"a.pickle", "a.pkl", "a.snap",      "a.json",     "a.html",       "a.gmtrace",
                                      "a.PICKLE", ".pkl",  "a.pickle.gz", "a.json.zst", "a.Gmtrace.GZ", NULL};
    static const char *const no[] = {"a", "", "pickle", "a.gz", "a.zst", "a.pickle.bz2", "a.pickl", "a.pickle/", NULL};
    for (size_t i = 0; yes[i] != NULL; i++)
        assert_true(gm_name_has_snapshot_suffix(yes[i]));
    for (size_t i = 0; no[i] != NULL; i++)
        assert_false(gm_name_has_snapshot_suffix(no[i]));
}
