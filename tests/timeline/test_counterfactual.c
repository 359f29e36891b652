/* SPDX-License-Identifier: Apache-2.0
 *
 * Peaks without a call site, the greedy savings and the next distinct peaks, against a naive model of the same random
 * trace: every allocation is an interval, every moment is summed anew.
 */
#include "analyze/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/timeline/traced.h"
#include "tests/unit.h"

enum { EVENTS_MOST = 3000, LIVES_MOST = EVENTS_MOST + 100, SLOTS = 40, SITES = 9 };

static const char rules_text[] = "tier only\ncategory Any #112233\n  name *\n";

/* ---- the naive model --------------------------------------------------------------------------------------------- */

struct life {
    uint32_t born, freed; /* moments */
    uint64_t size;
    int site; /* 0: no stack */
};
struct trace {
    uint64_t seed;
    struct gm_text events, blocks;
    uint32_t count;
    uint32_t from, to; /* the window of moments; to 0: all */
    struct life lives[LIVES_MOST];
    size_t life_count;
    size_t open[SLOTS]; /* the life at each address, + 1 */
};

static uint32_t below(struct trace *t, uint32_t n)
{
    t->seed = t->seed * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(t->seed >> 33) % n;
}

static void add_frames(struct gm_text *out, int site)
{
    if (site > 0)
        gm_text_printf(out, ",\"frames\":[{\"name\":\"make\",\"filename\":\"m.py\",\"line\":%d}]", site);
}

static void add_event(struct trace *t, const char *action, uint32_t slot, uint64_t size, int site)
{
    gm_text_printf(&t->events, "%s{\"action\":\"%s\",\"addr\":%u,\"size\":%" PRIu64, t->count > 0 ? "," : "", action,
                   (slot + 1) * 4096, size);
    add_frames(&t->events, site);
    gm_text_add(&t->events, "}");
    t->count++;
}

static void add_life(struct trace *t, uint32_t slot, uint32_t born, uint64_t size, int site)
{
    assert_true(t->life_count < LIVES_MOST);
    t->lives[t->life_count] = (struct life){born, UINT32_MAX, size, site};
    t->open[slot] = ++t->life_count;
}

static void random_event(struct trace *t)
{
    uint32_t slot = below(t, SLOTS), what = below(t, 20);
    if (what == 0) {
        add_event(t, "snapshot", slot, 0, 0);
        return;
    }
    bool is_free = t->open[slot] != 0 && what > 2; /* else an alloc where something is still open: it is replaced */
    if (is_free || (t->count < 60 && what < 5)) {
        struct life *life = t->open[slot] != 0 ? &t->lives[t->open[slot] - 1] : NULL;
        uint64_t size = life != NULL ? life->size : 1 + below(t, 1000);
        if (what % 2 == 0)
            add_event(t, "free_requested", slot, size, 0);
        add_event(t, "free_completed", slot, size, 0);
        if (life == NULL) { /* it lived before the trace; nobody knows where it was made */
            t->lives[t->life_count++] = (struct life){0, t->count, size, 0};
        } else {
            life->freed = t->count;
        }
        t->open[slot] = 0;
        return;
    }
    int site = (int)below(t, SITES);
    uint64_t size = 1 + below(t, site % 3 == 0 ? 100 : 3000);
    add_event(t, "alloc", slot, size, site);
    if (t->open[slot] != 0)
        t->lives[t->open[slot] - 1].freed = t->count;
    add_life(t, slot, t->count, size, site);
}

/* Blocks at the end: what is open, and some that the trace never mentions. */
static void add_blocks(struct trace *t, int unmentioned)
{
    uint64_t at = 4096;
    for (uint32_t slot = 0; slot < SLOTS + 10; slot++, at += 4096) {
        bool is_open = slot < SLOTS && t->open[slot] != 0;
        if (slot >= SLOTS && (int)slot - SLOTS < unmentioned) {
            t->lives[t->life_count++] = (struct life){0, UINT32_MAX, 700 + slot, 1 + (int)slot % 3};
            is_open = true;
        }
        const struct life *life = slot < SLOTS && is_open ? &t->lives[t->open[slot] - 1] : &t->lives[t->life_count - 1];
        gm_text_printf(&t->blocks, "%s{\"address\":%" PRIu64 ",\"size\":4096,\"state\":\"%s\"", slot > 0 ? "," : "", at,
                       is_open ? "active_allocated" : "inactive");
        if (is_open) {
            gm_text_printf(&t->blocks, ",\"requested_size\":%" PRIu64, life->size);
            add_frames(&t->blocks, life->site);
        }
        gm_text_add(&t->blocks, "}");
    }
}

/* Bytes at a moment: of all but the sites in `without` (a bit each), or of one site. */
static uint64_t bytes_at(const struct trace *t, uint32_t moment, unsigned without, uint64_t least)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->life_count; i++) {
        const struct life *life = &t->lives[i];
        if (life->born <= moment && moment < life->freed && !(without >> life->site & 1) && life->size >= least)
            sum += life->size;
    }
    return sum;
}

static uint32_t last_moment(const struct trace *t)
{
    return t->to == 0 ? t->count : t->to;
}

static uint64_t peak_of(const struct trace *t, unsigned without, uint64_t least, uint32_t *moment)
{
    uint64_t most = 0;
    *moment = t->from;
    for (uint32_t m = t->from; m <= last_moment(t); m++) {
        uint64_t bytes = bytes_at(t, m, without, least);
        if (bytes > most) {
            most = bytes;
            *moment = m;
        }
    }
    return most;
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static void analyze(struct trace *t, uint64_t least)
{
    GM_FREED struct gm_text text = {0};
    struct gm_timeline_options options = {.top = 100, .min_size = least};
    gm_text_printf(&text,
                   "{\"segments\":[{\"device\":0,\"address\":4096,\"total_size\":%d,\"blocks\":[%s]}],"
                   "\"device_traces\":[[%s]]}",
                   (SLOTS + 10) * 4096, t->blocks.data, t->events.data == NULL ? "" : t->events.data);
    assert_false(text.failed);
    if (t->to > 0) { /* a place names the moment that its event leads to */
        options.from = (struct gm_place){GM_PLACE_EVENT, t->from - 1};
        options.to = (struct gm_place){GM_PLACE_EVENT, t->to - 1};
    }
    gm_traced_load(text.data, rules_text, options);
}

/* "make  m.py:7" is site 7; a row without frames is 0. */
static int site_of(const char *label)
{
    const char *colon = strrchr(label, ':');
    return colon == NULL ? 0 : atoi(colon + 1);
}

static void check_sites(const struct trace *t, const struct gm_peak_detail *detail, uint64_t least)
{
    uint32_t moment, ignored;
    uint64_t peak = peak_of(t, 0, least, &moment), sum = detail->site_rest_bytes;
    for (size_t i = 0; i < detail->site_count; i++) {
        const struct gm_group_row *row = &detail->sites[i];
        unsigned bit = 1U << site_of(row->label);
        assert_int_equal(row->bytes, peak - bytes_at(t, moment, bit, least));
        assert_int_equal(row->peak_without, bit == 1 ? GM_REPORT_NONE : peak_of(t, bit, least, &ignored));
        sum += row->bytes;
    }
    assert_int_equal(sum, peak);
}

static void check_savings(const struct trace *t, const struct gm_peak_detail *detail, uint64_t least)
{
    unsigned gone = 0;
    for (size_t k = 0; k <= detail->saving_count && k < 5; k++) {
        uint32_t moment, ignored;
        uint64_t before = peak_of(t, gone, least, &moment), best = UINT64_MAX;
        for (size_t i = 0; i < detail->site_count; i++) {
            unsigned bit = 1U << site_of(detail->sites[i].label);
            uint64_t after = bit == 1 || gone & bit ? UINT64_MAX : peak_of(t, gone | bit, least, &ignored);
            best = after < best ? after : best;
        }
        if (k == detail->saving_count) { /* nothing worthwhile is left */
            assert_true(best == UINT64_MAX || before - best < detail->sites[0].bytes || before == best);
            assert_true(best == UINT64_MAX || before - best <= peak_of(t, 0, least, &ignored) / 1000);
            return;
        }
        const struct gm_saving *saving = &detail->savings[k];
        unsigned bit = 1U << site_of(saving->label);
        assert_int_equal(saving->peak_after, best);
        assert_int_equal(saving->peak_after, peak_of(t, gone | bit, least, &ignored));
        assert_int_equal(saving->saved, before - best);
        assert_int_equal(saving->bytes_at_peak, before - bytes_at(t, moment, gone | bit, least));
        gone |= bit;
    }
}

/* Distinct peaks by their definition: a local maximum whose lowest point on the way to anything higher (or, for equals,
 * to an earlier one) is a twentieth of the peak below it, heights listed once. */
static void check_next(const struct trace *t, const struct gm_peak_detail *detail, uint64_t least)
{
    static uint64_t curve[EVENTS_MOST + 10];
    uint64_t heights[EVENTS_MOST + 10], times[EVENTS_MOST + 10];
    uint32_t firsts[EVENTS_MOST + 10], ignored, last = last_moment(t);
    size_t n = 0;
    double clear = (double)peak_of(t, 0, least, &ignored) / 20;
    for (uint32_t m = t->from; m <= last; m++)
        curve[m] = bytes_at(t, m, 0, least);
    for (uint32_t m = t->from; m <= last; m++) {
        uint64_t low = curve[m];
        uint32_t k = m;
        for (; k > t->from && curve[k - 1] < curve[m]; k--)
            low = curve[k - 1] < low ? curve[k - 1] : low;
        if (k > t->from && (double)low > (double)curve[m] - clear)
            continue;
        for (low = curve[m], k = m; k < last && curve[k + 1] <= curve[m]; k++)
            low = curve[k + 1] < low ? curve[k + 1] : low;
        if ((k < last && (double)low > (double)curve[m] - clear) || curve[m] == 0)
            continue;
        size_t at = 0;
        while (at < n && heights[at] != curve[m])
            at++;
        if (at == n) {
            heights[n] = curve[m];
            times[n] = 0;
            firsts[n++] = m;
        }
        times[at]++;
    }
    for (size_t i = 0; i < 6; i++) { /* highest first */
        size_t best = n;
        for (size_t k = 0; k < n; k++)
            if (heights[k] > 0 && (best == n || heights[k] > heights[best]))
                best = k;
        if (best == n) {
            assert_int_equal(detail->next_count, i == 0 ? 0 : i - 1);
            return;
        }
        if (i == 0) {
            assert_int_equal(detail->times, times[best]);
        } else {
            assert_true(i - 1 < detail->next_count);
            const struct gm_next_peak *next = &detail->next[i - 1];
            assert_int_equal(next->moment.levels.requested, heights[best]);
            assert_int_equal(next->moment.event, firsts[best] == 0 ? GM_REPORT_NONE : firsts[best] - 1);
            assert_int_equal(next->times, times[best]);
        }
        heights[best] = 0;
    }
    assert_int_equal(detail->next_count, 5);
}

static void check(struct trace *t, uint64_t least)
{
    uint32_t moment;
    analyze(t, least);
    assert_int_equal(traced.report.device_count, 1);
    assert_int_equal(traced.report.peaks[0].requested, peak_of(t, 0, least, &moment));
    assert_int_equal(traced.report.peaks[0].event, moment == 0 ? GM_REPORT_NONE : moment - 1);
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    check_sites(t, detail, least);
    check_savings(t, detail, least);
    check_next(t, detail, least);
}

static void make(struct trace *t, uint64_t seed, uint32_t events)
{
    memset(t, 0, sizeof *t);
    t->seed = seed * 7919 + 1;
    while (t->count < events)
        random_event(t);
    add_blocks(t, (int)below(t, 4));
}

static void end(struct trace *t)
{
    gm_text_free(&t->events);
    gm_text_free(&t->blocks);
}

static struct trace trace;

TEST(random_traces)
{
    for (uint64_t seed = 1; seed <= 150; seed += unit_sampled()) {
        make(&trace, seed, 1 + (uint32_t)(seed * 3) % 400);
        check(&trace, 0);
        check(&trace, 50);
        trace.from = 1 + below(&trace, trace.count);
        trace.to = trace.from + below(&trace, trace.count - trace.from + 1);
        check(&trace, 0);
        end(&trace);
    }
}

/* Long enough for many buckets, so that the later rounds leave some out. */
TEST(long_traces)
{
    for (uint64_t seed = 1; seed <= 3; seed += unit_sampled()) {
        make(&trace, seed + 1000, EVENTS_MOST - 10);
        check(&trace, 0);
        end(&trace);
    }
}

/* 100 + 60 at one time, 130 at another: without the 100 the peak is 130, not 60. */
TEST(the_peak_moves)
{
    struct trace *t = &trace;
    memset(t, 0, sizeof *t);
    const struct {
        uint32_t slot;
        uint64_t size;
        int site;
    } steps[] = {{0, 100, 1}, {1, 60, 2}, {0, 100, 0}, {1, 60, 0}, {2, 130, 3}, {2, 130, 0}};
    for (size_t i = 0; i < 6; i++)
        add_event(t, steps[i].site > 0 ? "alloc" : "free_completed", steps[i].slot, steps[i].size, steps[i].site);
    t->lives[0] = (struct life){1, 3, 100, 1};
    t->lives[1] = (struct life){2, 4, 60, 2};
    t->lives[2] = (struct life){5, 6, 130, 3};
    t->life_count = 3;
    add_blocks(t, 0);
    analyze(t, 0);
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    assert_int_equal(detail->site_count, 2);
    assert_string_equal(detail->sites[0].label, "make  m.py:1");
    assert_int_equal(detail->sites[0].peak_without, 130);
    assert_int_equal(detail->sites[1].peak_without, 130);
    assert_int_equal(detail->saving_count, 1); /* then 130 is left, which neither of the two can lower */
    assert_string_equal(detail->savings[0].label, "make  m.py:1");
    assert_int_equal(detail->savings[0].saved, 30);
    assert_int_equal(detail->next_count, 1);
    assert_int_equal(detail->next[0].moment.event, 4);
    assert_int_equal(detail->next[0].top_bytes, 130);
    assert_string_equal(detail->next[0].top_label, "make  m.py:3");
    check(t, 0);
    end(t);
}

/* Sums that doubles cannot hold are not guessed at. */
TEST(too_large_is_left_out)
{
    struct trace *t = &trace;
    memset(t, 0, sizeof *t);
    add_event(t, "alloc", 0, UINT64_C(1) << 60, 1);
    add_event(t, "alloc", 1, 7, 2);
    add_event(t, "free_completed", 0, UINT64_C(1) << 60, 0);
    add_event(t, "free_completed", 1, 7, 0);
    t->life_count = 1;
    add_blocks(t, 0);
    analyze(t, 0);
    const struct gm_peak_detail *detail = &traced.report.timelines[0].peak;
    assert_int_equal(detail->site_count, 2);
    assert_int_equal(detail->sites[0].bytes, UINT64_C(1) << 60);
    assert_true(detail->sites[0].peak_without == GM_REPORT_NONE);
    assert_int_equal(detail->saving_count, 0);
    assert_int_equal(detail->next_count, 0);
    end(t);
}
