/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice about settings on small traces whose peaks under every setting are worked out by hand.
 */
#include "replay/trials/settings_advice.h"

#include "analyze/diagnose/diagnose.h"

#include "tests/timeline/traced.h"

enum { A = 1 << 28, B = 2 << 28, C = 3 << 28 }; /* 256 MiB apart */
#define FAR ((uint64_t)8 << 28)

static void begin(bool is_partial, bool expect_replay)
{
    struct gm_error err = {0};
    bool needs_replay = !expect_replay;
    gm_traced_analyze();
    assert_int_equal(gm_advice_begin(&traced.report, is_partial, GM_ADVICE_EVENTS, &needs_replay, &err), GM_OK);
    assert_int_equal(needs_replay, expect_replay);
}

static void see_nothing(void *self, enum gm_occasion occasion, const struct gm_space *space, uint32_t moment)
{
    (void)self, (void)occasion, (void)space, (void)moment;
}

/* With what a thread beside the passes has found. */
static const struct gm_settings_advice *judge(void)
{
    struct gm_kept_device device = {.step_count = 0};
    struct gm_kept kept = {&device, 1};
    struct gm_followed followed = {.is_there = false};
    const struct gm_watcher watcher = {.see = see_nothing, .counts = true};
    struct gm_error err = {0};
    begin(false, true);
    assert_int_equal(gm_history_build(&device.history, &traced.snapshot, 0, &watcher, &err), GM_OK);
    gm_advice_follow(&followed, &device.history, GM_ADVICE_EVENTS, 2);
    gm_followed_wait(&followed);
    assert_true(followed.is_there); /* whatever is replayed */
    assert_int_equal(followed.status, GM_OK);
    assert_int_equal(gm_advice_replay(&traced.report, &kept, &followed, 2, &err), GM_OK);
    assert_int_equal(gm_diagnose(&traced.report, NULL, NULL, &err), GM_OK);
    gm_history_free(&device.history);
    assert_non_null(traced.report.advice);
    return traced.report.advice;
}

static const struct gm_finding *finding(void)
{
    return gm_traced_finding("replayed-settings");
}

/* Two blocks of `size` come and go, then one of twice that: three segments, of which two are left over. */
static void two_then_one(uint64_t size)
{
    gm_traced_grow(A, size, size, "attend");
    gm_traced_grow(FAR, size, size, "attend");
    gm_traced_free(A, size);
    gm_traced_free(FAR, size);
    gm_traced_grow(2 * FAR, 2 * size, 2 * size, "feed");
    gm_traced_whole(A, size, 0, NULL);
    gm_traced_whole(FAR, size, 0, NULL);
    gm_traced_whole(2 * FAR, 2 * size, 2 * size, "feed");
}

static void assert_tried(const struct gm_settings_advice *a, size_t i, const char *settings, uint64_t peak)
{
    assert_true(i < a->tried_count);
    assert_string_equal(a->tried[i].settings, settings);
    assert_int_equal(a->tried[i].roomy.peak, peak);
    assert_int_equal(a->tried[i].roomy.peaks[0], peak);
    assert_true(a->tried[i].roomy.runs);
}

/* As recorded 300 + 300 + 600. Expandable: 15 pages of 20 MiB, 15 more behind them, and the 600 are there. Not
 * to split blocks from 128 MiB on changes nothing. In eighths of a power of two: 320 + 320 + 640. */
TEST(expandable_segments_save_half)
{
    two_then_one(MIB(300));
    const struct gm_settings_advice *a = judge();
    assert_int_equal(a->verdict, GM_ADVICE_GIVEN);
    assert_null(a->reason);
    assert_string_equal(a->recorded, "");
    assert_int_equal(a->device_count, 1);
    assert_int_equal(a->devices[0].allocs, 3);
    assert_int_equal(a->devices[0].exact, 3);
    assert_int_equal(a->devices[0].peak_requested, MIB(600));
    assert_int_equal(a->devices[0].recorded, MIB(1200));
    assert_int_equal(a->devices[0].start_at_peak, 0);
    assert_string_equal(a->baseline->settings, "");
    assert_int_equal(a->baseline->roomy.peak, MIB(1200));
    assert_false(a->is_limited);
    assert_int_equal(a->devices[0].limit, GM_REPORT_NONE);
    assert_int_equal(a->threshold, MIB(64));
    assert_int_equal(a->tried_count, 4);
    assert_tried(a, 0, "expandable_segments:True", MIB(600));
    assert_tried(a, 1, "max_split_size_mb:128", MIB(1200));
    assert_tried(a, 2, "max_split_size_mb:512", MIB(1200));
    assert_tried(a, 3, "roundup_power2_divisions:8", MIB(1280));
    assert_int_equal(a->best, 0);
    assert_int_equal(a->tried[0].saved, MIB(600));
    assert_int_equal(a->tried[1].saved, 0);

    const struct gm_finding *f = finding();
    assert_non_null(f);
    assert_int_equal(f->bytes, MIB(600));
    assert_int_equal(f->severity, GM_INFO); /* less than 1 GiB */
    assert_ptr_equal(strstr(f->detail, "PYTORCH_ALLOC_CONF=expandable_segments:True - replayed: 1.17 GiB -> 600.0 MiB "
                                       "reserved, address fidelity 100 %. "),
                     f->detail);
    assert_non_null(strstr(f->detail, "chose 3 of the 3 recorded addresses"));
}

/* From 1 GiB and 5 % on, where the driver refused memory: else it has harmed nobody. 500 + 500 + 1000: 1000 are saved.
 * 512 are rounded to 26 pages, two of them to 1024 + 16 MiB: 2048 - 1040. 600 + 600 + 1200: 1200 are saved. */
TEST(much_is_a_warning)
{
    static const struct {
        uint64_t size, peak, saved;
        enum gm_severity severity;
    } rows[] = {{500, 1000, 1000, GM_INFO}, {512, 1040, 1008, GM_INFO}, {600, 1200, 1200, GM_WARNING}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gm_error err = {0};
        two_then_one(MIB(rows[i].size));
        assert_tried(judge(), 0, "expandable_segments:True", MIB(rows[i].peak));
        assert_int_equal(finding()->bytes, MIB(rows[i].saved));
        assert_int_equal(finding()->severity, GM_INFO);
        traced.report.evidence.ooms = 1;
        assert_int_equal(gm_diagnose(&traced.report, NULL, NULL, &err), GM_OK);
        assert_int_equal(finding()->severity, rows[i].severity);
    }
}

/* 32 + 32 + 64 recorded. Expandable: 2 pages, 2 more for the second (8 MiB are left of the first 40): 80. So 48 are
 * saved, which is less than 64. */
TEST(small_savings_are_no_advice)
{
    two_then_one(MIB(32));
    const struct gm_settings_advice *a = judge();
    assert_int_equal(a->verdict, GM_ADVICE_NO_GAIN);
    assert_tried(a, 0, "expandable_segments:True", MIB(80));
    assert_int_equal(a->tried[0].saved, MIB(48));
    assert_int_equal(a->baseline->roomy.peak, MIB(128));
    assert_null(finding());
}

/* A private pool whose second request grew although its first segment was next to free: it never splits. What following
 * the trace shows of pools holds for the replays, too: 1200 and two segments of 20, not one. */
TEST(pools_are_as_verified)
{
    traced.settings = "\"expandable_segments\":false,\"max_split_size\":-1";
    traced.more = ",\"segment_pool_id\":[0,0]";
    gm_traced_grow(3 * FAR, MIB(20), MIB(2), "attend");
    gm_traced_grow(4 * FAR, MIB(20), MIB(3), "attend");
    two_then_one(MIB(300));
    traced.more = ",\"segment_pool_id\":[0,1]";
    gm_traced_whole(3 * FAR, MIB(20), MIB(2), "attend");
    gm_traced_whole(4 * FAR, MIB(20), MIB(3), "attend");
    const struct gm_settings_advice *a = judge();
    assert_int_equal(a->devices[0].recorded, MIB(1240));
    assert_int_equal(a->devices[0].exact, 5);
    assert_int_equal(a->baseline->roomy.peak, MIB(1240));
}

/* 31 + 31 + 62: the program asks for 62, so no setting can save 64. Nothing is replayed. */
/* What was followed before is what is followed in turn. */
TEST(followed_before)
{
    struct gm_kept_device device = {.step_count = 0};
    struct gm_kept kept = {&device, 1};
    struct gm_error err = {0};
    two_then_one(MIB(300));
    const struct gm_settings_advice before = *judge();
    const struct gm_advice_device known = before.devices[0];
    two_then_one(MIB(300));
    begin(false, true);
    assert_int_equal(gm_history_build(&device.history, &traced.snapshot, 0, NULL, &err), GM_OK);
    assert_int_equal(gm_advice_replay(&traced.report, &kept, NULL, 2, &err), GM_OK);
    assert_int_equal(traced.report.advice->verdict, before.verdict);
    assert_int_equal(traced.report.advice->devices[0].allocs, known.allocs);
    assert_int_equal(traced.report.advice->devices[0].exact, known.exact);
    gm_history_free(&device.history);
}

TEST(no_room)
{
    two_then_one(MIB(31));
    begin(false, false);
    assert_int_equal(traced.report.advice->verdict, GM_ADVICE_NO_ROOM);
    assert_null(traced.report.advice->baseline);
    assert_int_equal(traced.report.advice->tried_count, 0);
}

/* The cache is older than the trace: what another setting would have kept of it, the trace does not tell. */
TEST(cached_before_the_trace)
{
    gm_traced_event("alloc", C, MIB(20), "feed");
    gm_traced_whole(A, MIB(200), 0, NULL);
    gm_traced_whole(C, MIB(20), MIB(20), "feed");
    const struct gm_settings_advice *a = judge();
    assert_int_equal(a->verdict, GM_ADVICE_NOT_JUDGED);
    assert_string_equal(a->reason,
                        "replayed with the recorded settings from an empty allocator, it reserves 20.00 MiB, "
                        "not 220.0 MiB as recorded: the rest was cached before the trace began");
    assert_int_equal(a->tried_count, 0);
    assert_int_equal(a->devices[0].recorded, MIB(220));
    assert_int_equal(a->baseline->roomy.peak, MIB(20));
    assert_int_equal(a->devices[0].exact, 1);
    assert_null(finding());
}

/* Of two free blocks of 200 MiB the trace takes the higher one: another allocator did that, or other rules. */
TEST(other_addresses_are_not_judged)
{
    gm_traced_grow(A, MIB(200), MIB(200), "attend");
    gm_traced_grow(B, MIB(200), MIB(200), "attend");
    gm_traced_free(A, MIB(200));
    gm_traced_free(B, MIB(200));
    gm_traced_event("alloc", B, MIB(200), "attend");
    gm_traced_grow(FAR, MIB(300), MIB(300), "feed");
    gm_traced_whole(A, MIB(200), 0, NULL);
    gm_traced_whole(B, MIB(200), MIB(200), "attend");
    gm_traced_whole(FAR, MIB(300), MIB(300), "feed");
    const struct gm_settings_advice *a = judge();
    assert_int_equal(a->verdict, GM_ADVICE_NOT_JUDGED);
    assert_string_equal(a->reason, "the model of the allocator chose 3 of 4 recorded addresses on device 0");
    assert_int_equal(a->devices[0].exact, 3);
    assert_int_equal(a->tried_count, 0);
    assert_null(finding());
}

/* Settings in force are tried without; 300 in quarters of a power of two are 320 (256 + 64), and 600 are 640. */
TEST(recorded_settings_are_taken_back)
{
    traced.settings = "\"PYTORCH_CUDA_ALLOC_CONF\":\"roundup_power2_divisions:4,max_split_size_mb:600\"";
    gm_traced_grow(A, MIB(320), MIB(300), "attend");
    gm_traced_free(A, MIB(300));
    gm_traced_grow(FAR, MIB(640), MIB(600), "feed");
    gm_traced_whole(A, MIB(320), 0, NULL);
    gm_traced_whole(FAR, MIB(640), MIB(600), "feed");
    const struct gm_settings_advice *a = judge();
    assert_string_equal(a->recorded, "max_split_size_mb:600,roundup_power2_divisions:4");
    assert_int_equal(a->baseline->roomy.peak, MIB(960));
    assert_int_equal(a->tried_count, 3);
    assert_tried(a, 0, "expandable_segments:True,roundup_power2_divisions:4",
                 MIB(640)); /* 32 pages, 16 of them first */
    assert_tried(a, 1, "roundup_power2_divisions:4", MIB(960));
    assert_tried(a, 2, "max_split_size_mb:600", MIB(900));
    assert_int_equal(a->best, 0);
    assert_non_null(strstr(finding()->detail, "=expandable_segments:True,roundup_power2_divisions:4 instead of "
                                              "max_split_size_mb:600,roundup_power2_divisions:4 - replayed: 960.0 -> "
                                              "640.0 MiB reserved"));
}

/* 400 MiB, of which 100 are used again and stay; 350 that come and go, then 500: 400 + 350 + 500 with unlimited memory.
 * As recorded the 350 went back before the 500 were there, or refused. */
static void short_of_memory(void)
{
    gm_traced_grow(A, MIB(400), MIB(400), "attend");
    gm_traced_free(A, MIB(400));
    gm_traced_event("alloc", A, MIB(100), "attend");
    gm_traced_grow(FAR, MIB(350), MIB(350), "feed");
    gm_traced_free(FAR, MIB(350));
    gm_traced_event("segment_free", FAR, MIB(350), "make");
}

static void end_short_of_memory(void)
{
    gm_traced_segment(A, MIB(400), "large");
    gm_traced_block(MIB(100), MIB(100), "attend");
    gm_traced_block(MIB(300), 0, NULL);
}

static void assert_limited(const struct gm_advice_trial *trial, uint64_t peak, uint64_t retries)
{
    assert_true(trial->limited.runs);
    assert_int_equal(trial->limited.peak, peak);
    assert_int_equal(trial->limited.peaks[0], peak);
    assert_int_equal(trial->limited.retries, retries);
}

/* It had less than 750 + 500. The recording's 900 are no baseline for replays that give nothing back; with as much as
 * it had the baseline gives them again. Expandable: the 350 lie in the hole of 300 and three pages more, the 500 there
 * and in seven more: 400 + 60 + 140. Blocks from 128 MiB on that stay whole: the 100 have a segment of their own, 400 +
 * 100 + 350 + 500; with the limit the 400 and the 350 are reclaimed, which is no retry. In eighths: 416 + 352 + 512.
 * From 512 MiB on: nothing is as large. */
TEST(a_limit_holds_for_both_sides)
{
    short_of_memory();
    gm_traced_grow(2 * FAR, MIB(500), MIB(500), "make");
    end_short_of_memory();
    gm_traced_whole(2 * FAR, MIB(500), MIB(500), "make");
    const struct gm_settings_advice *a = judge();
    const struct gm_advice_device *d = a->devices;
    assert_int_equal(a->verdict, GM_ADVICE_GIVEN);
    assert_true(a->is_limited);
    assert_int_equal(d->recorded, MIB(900));
    assert_int_equal(d->limit, MIB(1250) - 1);
    assert_false(d->is_limit_exact);
    assert_false(d->was_refused);
    assert_int_equal(d->limit_reserved, MIB(750));
    assert_int_equal(d->limit_left, MIB(500));
    assert_int_equal(a->baseline->roomy.peak, MIB(1250));
    assert_limited(a->baseline, MIB(900), 1);
    assert_tried(a, 0, "expandable_segments:True", MIB(600));
    assert_limited(&a->tried[0], MIB(600), 0);
    assert_tried(a, 1, "max_split_size_mb:128", MIB(1350));
    assert_limited(&a->tried[1], MIB(850), 0);
    assert_tried(a, 2, "max_split_size_mb:512", MIB(1250));
    assert_limited(&a->tried[2], MIB(900), 1);
    assert_tried(a, 3, "roundup_power2_divisions:8", MIB(1280));
    assert_limited(&a->tried[3], MIB(928), 1);
    assert_int_equal(a->tried[0].saved, MIB(300)); /* of the 900 that the full device did with */
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(a->tried[i].saved, 0);
    assert_non_null(strstr(finding()->detail,
                           "expandable_segments:True - replayed with unlimited memory: 1.22 GiB -> "
                           "600.0 MiB reserved (recorded: 900.0 MiB), and with the memory that the recording had 0 "
                           "retries instead of 1, address fidelity 100 %. "));
}

/* 360 were left when the 500 were refused, and that was the end: with 400 reserved it had 760. The baseline is refused
 * them again; expandable segments find them. */
TEST(an_oom_tells_the_limit)
{
    short_of_memory();
    gm_traced_oom(MIB(360), MIB(500), "make");
    end_short_of_memory();
    const struct gm_settings_advice *a = judge();
    const struct gm_advice_device *d = a->devices;
    assert_int_equal(d->limit, MIB(760));
    assert_true(d->is_limit_exact);
    assert_true(d->was_refused);
    assert_int_equal(d->limit_reserved, MIB(400));
    assert_int_equal(d->limit_left, MIB(360));
    assert_int_equal(a->baseline->roomy.peak, MIB(750));
    assert_false(a->baseline->limited.runs);
    assert_tried(a, 0, "expandable_segments:True", MIB(460));
    assert_limited(&a->tried[0], MIB(460), 0);
    assert_false(a->tried[2].limited.runs);
    assert_int_equal(a->verdict, GM_ADVICE_GIVEN);
    assert_non_null(strstr(finding()->detail, "750.0 -> 460.0 MiB reserved, and with the memory that the recording had "
                                              "it gets as far as was recorded, where the recorded settings run out of "
                                              "it; what the program needs after that is not known; "));
}

/* A memory fraction may have refused them: then it had less than 400 + 500, and what the device had left tells nothing.
 */
TEST(a_fraction_is_no_device)
{
    traced.settings = "\"PYTORCH_CUDA_ALLOC_CONF\":\"per_process_memory_fraction:0.5\"";
    short_of_memory();
    gm_traced_oom(MIB(360), MIB(500), "make");
    end_short_of_memory();
    const struct gm_settings_advice *a = judge();
    assert_int_equal(a->devices[0].limit, MIB(900) - 1);
    assert_false(a->devices[0].is_limit_exact);
    assert_false(a->baseline->limited.runs);
    assert_limited(&a->tried[0], MIB(460), 0);
}

TEST(not_of_a_part)
{
    two_then_one(MIB(300));
    begin(true, false);
    assert_int_equal(traced.report.advice->verdict, GM_ADVICE_NOT_JUDGED);
    assert_string_equal(traced.report.advice->reason, "the report is about a part of the trace");
}

TEST(no_trace_no_advice)
{
    struct gm_error err = {0};
    bool needs_replay = true;
    gm_traced_whole(A, MIB(200), 0, NULL);
    gm_traced_analyze();
    assert_int_equal(gm_advice_begin(&traced.report, false, GM_ADVICE_EVENTS, &needs_replay, &err), GM_OK);
    assert_false(needs_replay);
    assert_null(traced.report.advice);
}

/* A report by hand: one event too many. */
static const char *command_for(struct gm_report *report, const char *path, uint64_t events)
{
    static struct gm_device_report device;
    static struct gm_peak peak;
    struct gm_error err = {0};
    bool needs_replay = true;
    device.trace = (struct gm_trace_counts){.events = events, .allocs = 100, .peak_reserved = MIB(500)};
    peak = (struct gm_peak){.requested = MIB(100)};
    *report = (struct gm_report){.devices = &device, .device_count = 1, .peaks = &peak};
    report->snapshot.path = path;
    assert_int_equal(gm_advice_begin(report, false, GM_ADVICE_EVENTS, &needs_replay, &err), GM_OK);
    assert_int_equal(needs_replay, events <= GM_ADVICE_EVENTS);
    return report->advice->command;
}

TEST(long_traces_name_the_command)
{
    static const struct {
        const char *path, *command;
    } rows[] = {{"runs/a_1.pickle", "gmreplay --sweep runs/a_1.pickle"},
                {"it's here.pickle", "gmreplay --sweep 'it'\\''s here.pickle'"},
                {"-n.pickle", "gmreplay --sweep -- '-n.pickle'"},
                {"$(x)", "gmreplay --sweep '$(x)'"},
                {"", "gmreplay --sweep ''"},
                {"-", "gmreplay --sweep FILE"}};
    struct gm_report report;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(command_for(&report, rows[i].path, GM_ADVICE_EVENTS + 1), rows[i].command);
        assert_int_equal(report.advice->verdict, GM_ADVICE_NOT_JUDGED);
        assert_string_equal(report.advice->reason, "the trace has more than 1,000,000 events");
        gm_report_free(&report);
    }
    assert_null(command_for(&report, "a.pickle", GM_ADVICE_EVENTS));
    gm_report_free(&report);
}
