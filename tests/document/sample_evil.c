/* SPDX-License-Identifier: Apache-2.0
 *
 * The sample `evil`: names that mean harm and numbers that no sum can hold, in every part of a trace.
 */
#include "sample_parts.h"

#define HUGE (UINT64_MAX - 1)

static bool set_evil_peak(struct gm_report *r, struct gm_peak *peak, struct gm_device_timeline *t)
{
    struct gm_slice *slices = gm_arena_calloc(&r->arena, HOSTILE, sizeof *slices);
    struct gm_group_row *rows = gm_arena_calloc(&r->arena, HOSTILE, sizeof *rows);
    struct gm_next_peak *next = gm_arena_calloc(&r->arena, HOSTILE, sizeof *next);
    struct gm_saving *saved = gm_arena_calloc(&r->arena, HOSTILE, sizeof *saved);
    struct gm_role_reason *why = gm_arena_calloc(&r->arena, HOSTILE, sizeof *why);
    if (slices == NULL || rows == NULL || next == NULL || saved == NULL || why == NULL)
        return false;
    for (size_t i = 0; i < HOSTILE; i++) {
        const char *s = hostile_texts[i];
        slices[i] = (struct gm_slice){s, 0, HUGE - i, HUGE};
        rows[i] = (struct gm_group_row){s,
                                        s,
                                        s,
                                        0,
                                        HUGE,
                                        HUGE,
                                        i % 3 == 0 ? s : NULL,
                                        i % 3 == 1 ? s : NULL,
                                        i % 2 == 0 ? HUGE : GM_REPORT_NONE,
                                        r->top_blocks[i].frames,
                                        r->top_blocks[i].frame_count};
        next[i] = (struct gm_next_peak){{HUGE, i, {HUGE, HUGE, HUGE, 0}}, s, HUGE, i, HUGE};
        saved[i] = (struct gm_saving){s, HUGE, HUGE, HUGE};
        why[i] = (struct gm_role_reason){s, s, -2147483647, HUGE, HUGE, HUGE, HUGE};
    }
    /* active bytes are less than requested ones, and reserved less than both */
    *peak = (struct gm_peak){HUGE, HUGE, 5, slices, HOSTILE, {HUGE, HUGE, 7, 3}};
    t->peak = (struct gm_peak_detail){.times = HUGE,
                                      .roles = slices,
                                      .role_count = HOSTILE,
                                      .lifetimes = slices,
                                      .lifetime_count = HOSTILE,
                                      .sites = rows,
                                      .site_count = HOSTILE,
                                      .site_total = HUGE,
                                      .site_rest_bytes = HUGE,
                                      .site_rest_blocks = HUGE,
                                      .groups = rows,
                                      .group_count = 9,
                                      .group_total = HUGE,
                                      .group_rest_bytes = HUGE,
                                      .group_rest_blocks = HUGE,
                                      .group_by = "a|b\n`",
                                      .next = next,
                                      .next_count = HOSTILE,
                                      .savings = saved,
                                      .saving_count = HOSTILE};
    t->reasons = why;
    t->reason_count = HOSTILE;
    return true;
}

static bool set_evil_run(struct gm_report *r, struct gm_device_timeline *t)
{
    struct gm_step_row *steps = gm_arena_calloc(&r->arena, HOSTILE, sizeof *steps);
    struct gm_band *bands = gm_arena_calloc(&r->arena, HOSTILE, sizeof *bands);
    struct gm_disagreement *odd = gm_arena_calloc(&r->arena, HOSTILE, sizeof *odd);
    struct gm_part *parts = gm_arena_calloc(&r->arena, HOSTILE, sizeof *parts);
    if (steps == NULL || bands == NULL || odd == NULL || parts == NULL)
        return false;
    for (size_t i = 0; i < HOSTILE; i++) {
        const char *s = hostile_texts[i];
        steps[i] = (struct gm_step_row){.label = s,
                                        .number = HUGE,
                                        .last_event = HUGE,
                                        .from_us = 9,
                                        .to_us = 3,
                                        .growth = INT64_MIN,
                                        .allocs = HUGE};
        steps[i].peak.requested = steps[i].end.requested = HUGE;
        for (int p = 0; p < GM_PHASE_COUNT; p++)
            steps[i].phase_peak[p] = HUGE;
        bands[i] = (struct gm_band){s, GM_PHASE_DECODE, UINT32_MAX, true, HUGE, 0, HUGE, 0};
        odd[i] = (struct gm_disagreement){"id", s, HUGE, HUGE, HUGE, i % 2 == 0};
        parts[i] = (struct gm_part){.name = s, .stream = INT64_MIN, .peak = {HUGE, HUGE, HUGE, HUGE}};
    }
    t->steps = (struct gm_steps){.source = hostile_texts[4],
                                 .period_events = 1e300,
                                 .certainty = -5,
                                 .rows = steps,
                                 .row_count = HOSTILE,
                                 .row_total = HUGE,
                                 .covered = 1e300,
                                 .warm_up = HUGE,
                                 .bands = bands,
                                 .band_count = HOSTILE,
                                 .pattern = GM_PATTERN_SPIKE,
                                 .pattern_detail = hostile_texts[6],
                                 .slope = -1e300,
                                 .steps_to_oom = HUGE,
                                 .capacity = HUGE,
                                 .survivors = t->peak.sites,
                                 .survivor_count = HOSTILE};
    t->streams = t->pools = parts;
    t->stream_count = t->pool_count = HOSTILE;
    t->reconciliation = (struct gm_reconciliation){.is_reconstructed = true,
                                                   .at_start = {HUGE, HUGE, HUGE, 0},
                                                   .at_end = {0, 0, 0, HUGE},
                                                   .residual_active = INT64_MIN,
                                                   .residual_reserved = INT64_MAX,
                                                   .worst_residual = INT64_MIN,
                                                   .end_blocks = HUGE,
                                                   .baseline_bytes = HUGE,
                                                   .never_freed_bytes = HUGE,
                                                   .first_time_us = HUGE,
                                                   .disagreements = odd,
                                                   .disagreement_count = HOSTILE,
                                                   .coverage = "covers <b>|`x` @octocat"};
    return true;
}

static bool set_evil_ooms(struct gm_report *r, struct gm_device_timeline *t)
{
    enum { N = 4 };
    struct gm_oom_row *oom = gm_arena_calloc(&r->arena, N, sizeof *oom);
    struct gm_hole *hole = gm_arena_calloc(&r->arena, N, sizeof *hole);
    if (oom == NULL || hole == NULL)
        return false;
    for (size_t i = 0; i < N; i++) {
        const char *s = hostile_texts[i];
        hole[i] = (struct gm_hole){HUGE, HUGE, s, HUGE};
        oom[i] = (struct gm_oom_row){.event = HUGE,
                                     .time_us = 3,
                                     .asked = HUGE,
                                     .device_free = HUGE,
                                     .pool = s,
                                     .stream = INT64_MIN,
                                     .site = s,
                                     .levels = {HUGE, HUGE, HUGE, HUGE},
                                     .pending = HUGE,
                                     .categories = t->peak.roles,
                                     .category_count = HOSTILE,
                                     .roles = t->peak.roles,
                                     .role_count = HOSTILE,
                                     .unusable = {HUGE, HUGE, HUGE, HUGE, HUGE},
                                     .largest_hole = HUGE,
                                     .holes = hole,
                                     .hole_count = i + 1,
                                     .grew = t->peak.sites,
                                     .grew_count = HOSTILE,
                                     .grew_since = s,
                                     .verdict = GM_OOM_BOTH,
                                     .verdict_detail = s};
    }
    t->ooms = oom;
    t->oom_count = N;
    return true;
}

static bool set_evil_history(struct gm_report *r, struct gm_device_timeline *t)
{
    struct gm_growth_row *growths = gm_arena_calloc(&r->arena, HOSTILE, sizeof *growths);
    struct gm_pinner_row *pinners = gm_arena_calloc(&r->arena, HOSTILE, sizeof *pinners);
    struct gm_site_stat *stats = gm_arena_calloc(&r->arena, HOSTILE, sizeof *stats);
    struct gm_fragmentation_sample *samples = gm_arena_calloc(&r->arena, HOSTILE, sizeof *samples);
    if (growths == NULL || pinners == NULL || stats == NULL || samples == NULL)
        return false;
    for (size_t i = 0; i < HOSTILE; i++) {
        const char *s = hostile_texts[i];
        growths[i] = (struct gm_growth_row){.event = HUGE,
                                            .time_us = HUGE,
                                            .bytes = HUGE,
                                            .asked = HUGE,
                                            .pool = s,
                                            .stream = INT64_MAX,
                                            .site = s,
                                            .cached = HUGE,
                                            .unusable = {HUGE, 1, 2, 3, HUGE},
                                            .largest_hole = HUGE,
                                            .pending = HUGE,
                                            .is_first = i % 3 == 0,
                                            .is_retry = true};
        pinners[i] = (struct gm_pinner_row){.site = s,
                                            .category = s,
                                            .bytes = HUGE,
                                            .requested = HUGE,
                                            .address = HUGE,
                                            .pinned_bytes = HUGE,
                                            .event = HUGE,
                                            .age_events = HUGE,
                                            .age_us = i % 2 == 0 ? GM_REPORT_NONE : HUGE};
        stats[i] = (struct gm_site_stat){
            .site = s, .category = s, .allocs = HUGE, .bytes = HUGE, .waste = HUGE, .median_life_us = HUGE};
        samples[i] = (struct gm_fragmentation_sample){HUGE, HUGE, HUGE, HUGE, HUGE};
    }
    t->fragmentation = (struct gm_fragmentation_history){.samples = samples,
                                                         .sample_count = HOSTILE,
                                                         .growths = growths,
                                                         .growth_count = HOSTILE,
                                                         .growth_total = HUGE,
                                                         .growth_bytes = HUGE,
                                                         .growth_avoidable_bytes = HUGE,
                                                         .growths_avoidable = HUGE,
                                                         .growths_examined = 1,
                                                         .pinners = pinners,
                                                         .pinner_count = HOSTILE,
                                                         .rounding = stats,
                                                         .rounding_count = HOSTILE,
                                                         .rounding_bytes = HUGE,
                                                         .churn = stats,
                                                         .churn_count = HOSTILE,
                                                         .temporary_allocs = HUGE,
                                                         .temporary_bytes = HUGE,
                                                         .driver_allocs = HUGE,
                                                         .driver_frees = HUGE,
                                                         .retries = HUGE};
    return true;
}

static bool set_evil_advice(struct gm_report *r)
{
    struct gm_settings_advice *advice = gm_arena_calloc(&r->arena, 1, sizeof *advice);
    struct gm_advice_device *device = gm_arena_calloc(&r->arena, 1, sizeof *device);
    if (advice == NULL || device == NULL)
        return false;
    *device = (struct gm_advice_device){INT64_MIN, HUGE, HUGE, HUGE, HUGE, HUGE, HUGE,
                                        HUGE,      true, HUGE, true, HUGE, HUGE, HUGE};
    *advice = (struct gm_settings_advice){.verdict = GM_ADVICE_NOT_JUDGED,
                                          .reason = "@octocat <b>|`x` [l](u) https://evil.example",
                                          .command = "gmreplay --sweep '</details> ``` @octocat | x\x1b[2J'",
                                          .devices = device,
                                          .device_count = 1,
                                          .threshold = HUGE};
    r->advice = advice;
    return true;
}

bool sample_evil(struct gm_report *r)
{
    if (!sample_hostile(r))
        return false;
    struct gm_device_report *d = sample_own_devices(r, 1);
    struct gm_peak *peak = gm_arena_calloc(&r->arena, 1, sizeof *peak);
    struct gm_device_timeline *t = gm_arena_calloc(&r->arena, 1, sizeof *t);
    if (d == NULL || peak == NULL || t == NULL || !set_evil_peak(r, peak, t) || !set_evil_run(r, t) ||
        !set_evil_ooms(r, t) || !set_evil_history(r, t))
        return false;
    sample_set_trace(d);
    d->trace.ooms = HUGE;
    d->trace.peak_reserved = HUGE;
    t->peak_allocated = t->peak_active = t->peak_reserved = (struct gm_moment){HUGE, HUGE, {HUGE, HUGE, HUGE, HUGE}};
    t->filter = "--stream <b>|`x` @octocat\n> quote";
    r->roles = peak->categories;
    r->role_count = HOSTILE;
    r->peaks = peak;
    r->timelines = t;
    return set_evil_advice(r);
}
