/* SPDX-License-Identifier: Apache-2.0
 *
 * What would lower a peak: which call site, which role, and when none is worth a word.
 */
#include "analyze/diagnose/rules.h"
#include "analyze/report/remedy.h"
#include "tests/unit.h"

#include <string.h>

enum { SITES = 4, ROLES = 3 };

/* A peak of 1000 bytes. */
struct peak {
    struct gm_peak peak;
    struct gm_device_timeline timeline;
    struct gm_device_report device;
    struct gm_group_row sites[SITES];
    struct gm_slice roles[ROLES];
    struct gm_view view;
};

static struct gm_view *make(struct peak *p, uint64_t activation, uint64_t parameter)
{
    *p = (struct peak){.peak = {.requested = 1000}};
    p->roles[0] = (struct gm_slice){.name = "Unknown", .bytes = 1000 - activation - parameter};
    p->roles[1] = (struct gm_slice){.name = "Activation", .bytes = activation};
    p->roles[2] = (struct gm_slice){.name = "Parameter", .bytes = parameter};
    p->timeline.peak.roles = p->roles;
    p->timeline.peak.role_count = ROLES;
    p->timeline.peak.sites = p->sites;
    p->view = (struct gm_view){.device = &p->device, .peak = &p->peak, .timeline = &p->timeline};
    return &p->view;
}

static void add_site(struct peak *p, const char *label, const char *role, uint64_t without)
{
    p->sites[p->timeline.peak.site_count++] =
        (struct gm_group_row){.label = label, .role = role, .bytes = 1, .blocks = 1, .peak_without = without};
}

TEST(site_that_saves_most)
{
    struct peak p;
    struct gm_view *view = make(&p, 600, 100);
    assert_null(gm_advice_site(view));
    add_site(&p, "a  a.py:1", "Activation", 900);
    add_site(&p, "b  b.py:2", "Temporary", 800);
    add_site(&p, "c  c.py:3", NULL, 800);
    assert_string_equal(gm_advice_site(view)->label, "b  b.py:2"); /* the first of equals */
    p.sites[2].peak_without = 0;
    assert_string_equal(gm_advice_site(view)->label, "c  c.py:3");
    p.sites[2].peak_without = GM_REPORT_NONE; /* not computed */
    assert_string_equal(gm_advice_site(view)->label, "b  b.py:2");
}

/* Without a stack there is no place to change; what lasts cannot be left out. */
TEST(sites_that_are_no_advice)
{
    struct peak p;
    struct gm_view *view = make(&p, 600, 100);
    add_site(&p, "no stack recorded", "Activation", 100);
    add_site(&p, "load  model.py:1", "Parameter", 200);
    add_site(&p, "step  adam.py:2", "Optimizer state", 300);
    assert_null(gm_advice_site(view));
    add_site(&p, "forward  model.py:3", "Activation", 700);
    assert_string_equal(gm_advice_site(view)->label, "forward  model.py:3");
}

/* A 20th of the peak; a 10th where parameters hold most of it. */
TEST(savings_too_small)
{
    struct peak p;
    struct gm_view *view = make(&p, 600, 100);
    add_site(&p, "a  a.py:1", "Activation", 950);
    assert_non_null(gm_advice_site(view));
    p.sites[0].peak_without = 951;
    assert_null(gm_advice_site(view));
    p.sites[0].peak_without = 1000;
    assert_null(gm_advice_site(view));
    view = make(&p, 100, 600);
    add_site(&p, "a  a.py:1", "Activation", 900);
    assert_non_null(gm_advice_site(view));
    p.sites[0].peak_without = 901;
    assert_null(gm_advice_site(view));
}

TEST(role_that_holds_most)
{
    struct peak p;
    struct gm_role_advice role;
    assert_true(gm_advice_role(&role, make(&p, 600, 100)));
    assert_string_equal(role.role, "Activation");
    assert_int_equal(role.bytes, 600);
    assert_false(role.is_lasting);
    assert_true(gm_advice_role(&role, make(&p, 200, 600)));
    assert_string_equal(role.role, "Parameter");
    assert_true(role.is_lasting);
    assert_false(gm_advice_role(&role, make(&p, 300, 100))); /* most is unknown */
    struct gm_view *view = make(&p, 0, 0);
    p.roles[0] = (struct gm_slice){.name = "Input", .bytes = 249}; /* less than a quarter, if the most */
    assert_false(gm_advice_role(&role, view));
    p.roles[0].bytes = 250;
    assert_true(gm_advice_role(&role, view));
    p.timeline.peak.role_count = 0;
    assert_false(gm_advice_role(&role, view));
}

/* A graph has several tensors for each layer: a few are held by variables. */
TEST(activations_without_a_backward_pass)
{
    struct peak p;
    struct gm_role_advice role;
    struct gm_view *view = make(&p, 600, 100);
    p.roles[1].blocks = 3;
    assert_true(gm_advice_of(&role, "Activation", view, true));
    assert_null(strstr(role.of_site, "inference_mode"));
    p.roles[1].blocks = 64;
    assert_true(gm_advice_of(&role, "Activation", view, true));
    assert_non_null(strstr(role.of_site, "inference_mode"));
}

/* Of a hundred gigabytes at the peak. */
static enum gm_remedy_place place_of(uint64_t gigabytes, bool has_price)
{
    const struct gm_remedy remedy = {.has_price = has_price,
                                     .saving = {.alone = gigabytes << 30, .before = UINT64_C(100) << 30}};
    return gm_remedy_place(&remedy);
}

static enum gm_remedy_place place_growing(uint64_t gigabytes)
{
    const struct gm_remedy remedy = {.grows = true,
                                     .saving = {.alone = gigabytes << 30, .before = UINT64_C(100) << 30}};
    return gm_remedy_place(&remedy);
}

TEST(what_costs_nothing_stands_before_a_large_choice)
{
    assert_int_equal(place_of(5, false), GM_STANDS_MISTAKE);
    assert_int_equal(place_of(4, false), GM_STANDS_CHOICE); /* minor */
    assert_int_equal(place_growing(1), GM_STANDS_MISTAKE);
    assert_int_equal(place_of(20, true), GM_STANDS_CHOICE);
    assert_int_equal(place_of(19, true), GM_STANDS_CHOICE);
    assert_int_equal(place_of(0, false), GM_STANDS_NOWHERE);
}

TEST(a_setting_is_no_substitute_for_mending)
{
    struct gm_remedy setting = {.settings = "expandable_segments:True",
                                .saving = {.alone = UINT64_C(40) << 30, .before = UINT64_C(100) << 30}};
    assert_int_equal(gm_remedy_place(&setting), GM_STANDS_CHOICE);
    setting.of_mistake = true;
    assert_int_equal(gm_remedy_place(&setting), GM_STANDS_MISTAKE);
    assert_int_equal(gm_remedy_weight(&setting), UINT64_C(40) << 30); /* like any other mistake's */
    setting.of_mistake = false;
    setting.saving.alone = UINT64_C(9) << 30;
    assert_int_equal(gm_remedy_place(&setting), GM_STANDS_LITTLE);
}
