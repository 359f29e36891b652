/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules of a comparison: what of a name counts, what a limit allows, what is a law.
 */
#include "analyze/compare/compare.h"
#include "analyze/compare/comparison_parts.h"
#include "analyze/compare/summary_work.h"
#include "tests/unit.h"

static void near_to(double value, double expected, double distance)
{
    assert_true(value >= expected - distance && value <= expected + distance);
}

/* ---- names and files --------------------------------------------------------------------------------------------- */

static void check_name(const char *name, bool is_python, const char *expected)
{
    GM_FREED struct gm_text t = {0};
    gm_normalise_name(&t, name, is_python);
    gm_text_add_char(&t, '\0');
    assert_string_equal(t.data, expected);
}

TEST(names)
{
    check_name("std::vector<int, std::allocator<int> >::push_back(int const&)", false,
               "std::vector::push_back(int const&)");
    check_name("at::native::(anonymous namespace)::foo", false, "at::native::(anonymous namespace)::foo");
    check_name("bool operator<(a const&, b const&)", false, "bool operator<(a const&, b const&)");
    check_name("operator<< <char>(x<int>&)", false, "operator<< (x&)");
    check_name("f<decltype(a->b)>::g", false, "f::g");
    check_name("p->q", false, "p->q");
    check_name("unclosed<int", false, "unclosed");
    check_name("lambda at 0x7f3aB2 of 0xz", false, "lambda at 0x of 0xz");
    check_name("sumproduct_pair(int) [clone .isra.12]", false, "sumproduct_pair(int)");
    check_name("method_vectorcall.llvm.12275804309777372242", false, "method_vectorcall");
    check_name("<module>", true, "<module>");
    check_name("f.<locals>.g", true, "f.<locals>.g");
    check_name("<bound method X of 0xdeadbeef>", true, "<bound method X of 0x>");
    check_name("torch_dynamo_resume_in_forward_at_88", true, "torch_dynamo_resume_in_forward");
    check_name("look_at_88", true, "look_at_88");
    check_name("torch_dynamo_resume_in_8", true, "torch_dynamo_resume_in_8");
    check_name("", false, "");
    check_name("", true, "");
}

static void check_file(const char *file, const char *expected)
{
    GM_FREED struct gm_text t = {0};
    gm_normalise_file(&t, file);
    gm_text_add_char(&t, '\0');
    assert_string_equal(t.data, expected);
}

TEST(files)
{
    check_file("/home/a/checkout/model/attention.py", "attention.py");
    check_file("C:\\work\\model\\attention.py", "attention.py");
    check_file("attention.py", "attention.py");
    check_file("/tmp/torchinductor_me/ab/cabc123.py", "<compiled>");
    check_file("/scratch/me/kr/ckr2cvpc5n6mwd7hi7atinaaqvxsaeueng3bokencesdl.py", "<compiled>");
    check_file("/scratch/me/kr/ckr2_plain_module.py", "ckr2_plain_module.py");
    check_file("/tmp/ipykernel_4242/123456.py", "<notebook>");
    check_file("<ipython-input-3-abcdef>", "<notebook>");
    check_file("/tmp/ipython-input-3-123456.py", "<notebook>");
    check_file("<eval_with_key>.17 from /x/y.py:8 in z", "<eval_with_key>");
    check_file("??", "??");
    check_file("", "");
}

/* ---- the limit --------------------------------------------------------------------------------------------------- */

TEST(limits)
{
    struct gm_growth_limit limit;
    assert_true(gm_growth_limit_parse(&limit, "2%"));
    assert_true(limit.is_percent);
    assert_int_equal(limit.millionths, 2000000);
    assert_true(gm_growth_limit_parse(&limit, "0.5 %"));
    assert_int_equal(limit.millionths, 500000);
    assert_true(gm_growth_limit_parse(&limit, "150%"));
    assert_int_equal(limit.millionths, 150000000);
    assert_true(gm_growth_limit_parse(&limit, "0.0000001%"));
    assert_int_equal(limit.millionths, 1); /* more than nothing */
    assert_true(gm_growth_limit_parse(&limit, "500MiB"));
    assert_false(limit.is_percent);
    assert_int_equal(limit.bytes, 500 << 20);
    assert_true(gm_growth_limit_parse(&limit, "0"));
    static const char *const wrong[] = {"", "%", "-1%", "2%%", "x", "1.2.3%", "9999999999999%", "-5MiB", "2 percent"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(gm_growth_limit_parse(&limit, wrong[i]));
}

/* ---- laws -------------------------------------------------------------------------------------------------------- */

static struct gm_law_fit fit_of(const double *n, const uint64_t *bytes, size_t count)
{
    struct gm_law_fit fit = {.what = "x", .bytes = bytes};
    gm_fit_law(&fit, n, count);
    return fit;
}

TEST(laws)
{
    const double n[] = {128, 256, 512, 1024};
    const uint64_t linear[] = {1000 + 7 * 128, 1000 + 7 * 256, 1000 + 7 * 512, 1000 + 7 * 1024};
    struct gm_law_fit fit = fit_of(n, linear, 3);
    assert_int_equal(fit.law, GM_LAW_LINEAR);
    near_to(fit.c0, 1000, 1e-3);
    near_to(fit.c1, 7, 1e-6);
    near_to(fit.error_percent, 0, 1e-6);
    const uint64_t square[] = {50 + 3 * 128 * 128, 50 + 3 * 256 * 256, 50 + 3 * 512 * 512, 50 + 3 * 1024 * 1024};
    fit = fit_of(n, square, 3);
    assert_int_equal(fit.law, GM_LAW_QUADRATIC);
    near_to(fit.c2, 3, 1e-6);
    const uint64_t both[] = {90000 + 100 * 128 + 128 * 128, 90000 + 100 * 256 + 256 * 256,
                             90000 + 100 * 512 + 512 * 512, 90000 + 100 * 1024 + 1024 * 1024};
    fit = fit_of(n, both, 3); /* three points fit any parabola */
    assert_int_equal(fit.law, GM_LAW_NONE);
    assert_int_equal(fit.closest, GM_LAW_QUADRATIC);
    assert_true(fit.error_percent > GM_FIT_MOST);
    fit = fit_of(n, both, 4);
    assert_int_equal(fit.law, GM_LAW_FULL);
    near_to(fit.c0, 90000, 1e-3);
    near_to(fit.c1, 100, 1e-3);
    near_to(fit.c2, 1, 1e-6);
    /* but through 0 it has only two coefficients */
    const uint64_t bare[] = {100 * 128 + 128 * 128, 100 * 256 + 256 * 256, 100 * 512 + 512 * 512};
    fit = fit_of(n, bare, 3);
    assert_int_equal(fit.law, GM_LAW_FULL);
    near_to(fit.c0, 0, 0);
    near_to(fit.c1, 100, 1e-3);
    near_to(fit.c2, 1, 1e-6);
    const uint64_t bent[] = {900 * 128 - 128 * 128, 900 * 256 - 256 * 256, 900 * 512 - 512 * 512};
    assert_int_equal(fit_of(n, bent, 3).law, GM_LAW_NONE); /* no memory shrinks with the square */
    const uint64_t flat[] = {10000, 10010, 10020};
    fit = fit_of(n, flat, 3);
    assert_int_equal(fit.law, GM_LAW_CONSTANT);
    near_to(fit.c0, 10010, 1e-6);
}

TEST(no_laws)
{
    const double n[] = {128, 256, 512}, equal[] = {128, 128, 256}, zeros[] = {0, 0, 0};
    const uint64_t wild[] = {1000000, 9000000, 2000000}, line[] = {1000, 2000, 4000}, none[] = {0, 0, 0};
    assert_int_equal(fit_of(n, line, 2).law, GM_LAW_NONE); /* two points are no law */
    assert_non_null(fit_of(n, line, 2).why_not);
    assert_int_equal(fit_of(n, wild, 3).law, GM_LAW_NONE);
    assert_int_equal(fit_of(equal, line, 3).law, GM_LAW_NONE);
    assert_int_equal(fit_of(zeros, wild, 3).law, GM_LAW_NONE);
    assert_int_equal(fit_of(n, none, 3).law, GM_LAW_CONSTANT);
    const uint64_t huge[] = {UINT64_MAX - 1, 5, UINT64_MAX - 7};
    assert_int_equal(fit_of(n, huge, 3).law, GM_LAW_NONE);
}
