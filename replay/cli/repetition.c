/* SPDX-License-Identifier: Apache-2.0
 *
 * What --members and --steps came to, in words and in JSON.
 */
#include "analyze/report/numbers.h"
#include "replay/cli/judged.h"

#include <inttypes.h>

enum { MEMBERS_AT_ENDS = 10 }; /* of a longer table, so many at each end */

bool gm_replay_member_of(const struct gm_replay_device *device, size_t part, uint64_t *member, uint64_t *step)
{
    const struct gm_replay_repetition *r = &device->repetition;
    if (!r->is_used || part == 0 || part >= device->part_count - 1)
        return false;
    *member = (part - 1) / r->steps + 1;
    *step = (part - 1) % r->steps + 1;
    return true;
}

uint64_t gm_replay_forecast_us(const struct gm_replay_device *device, size_t part)
{
    const struct gm_replay_repetition *r = &device->repetition;
    uint64_t turns = r->is_used && part > r->recorded ? part - r->recorded : 0;
    turns = turns < r->turns ? turns : r->turns;
    return r->duration_us != 0 && turns > UINT64_MAX / r->duration_us ? UINT64_MAX : turns * r->duration_us;
}

/* The parts of the repeated step that were played to their end. */
static size_t turns_done(const struct gm_replay_device *device)
{
    const struct gm_whatif_result *w = &device->whatif;
    size_t parts = w->parts_played - (w->has_failed && w->parts_played > 0), recorded = device->repetition.recorded;
    size_t done = parts > recorded + 1 ? parts - recorded - 1 : 0;
    return done < device->repetition.turns ? done : device->repetition.turns;
}

static void add_left(struct gm_doc *doc, const struct gm_replay_repetition *r, enum gm_repeat_fate fate,
                     const char *of_one, const char *of_many)
{
    const struct gm_repeat_left *left = &r->plan.left[fate];
    const size_t n = left->allocations.n;
    if (n > 0)
        gm_text_printf(doc->out, "               %s%s block%s, %s, %s\n",
                       r->compared_from == GM_NEVER ? "assumed: " : "", gm_doc_count(doc, n), gm_plural(n),
                       gm_doc_bytes(doc, left->bytes), n == 1 ? of_one : of_many);
}

/* What each repetition leaves behind. */
static void add_growth(struct gm_doc *doc, const struct gm_replay_repetition *r)
{
    const struct gm_repeat_left *piles = &r->plan.left[GM_REPEAT_PILES_UP];
    if (piles->allocations.n > 0)
        gm_text_printf(doc->out, "  each time    grows by %s block%s, %s requested, as in the step before\n",
                       gm_doc_count(doc, piles->allocations.n), gm_plural(piles->allocations.n),
                       gm_doc_bytes(doc, piles->bytes));
    else if (gm_repeat_left_bytes(&r->plan) == 0)
        gm_text_add(doc->out, "  each time    no growth: as much is freed as is allocated\n");
    else if (r->compared_from == GM_NEVER)
        gm_text_add(doc->out, "  each time    no growth is known: there is no step before it to compare with\n");
    else
        gm_text_add(doc->out, "  each time    no growth: the step before left nothing like that\n");
    add_left(doc, r, GM_REPEAT_IS_ONCE, "a gradient or state, is made once", "gradients and states, are made once");
    add_left(doc, r, GM_REPEAT_IS_REPLACED, "is replaced by that of the next time",
             "are replaced by those of the next time");
    if (r->plan.unmatched > 0)
        gm_text_printf(doc->out, "               %s free%s (%s) had no block to free and are left out\n",
                       gm_doc_count(doc, r->plan.unmatched), gm_plural(r->plan.unmatched),
                       gm_doc_bytes(doc, r->plan.unmatched_bytes));
}

void gm_replay_repetition_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_replay_repetition *r = &device->repetition;
    if (run->options->members == 0 && run->options->steps == 0)
        return;
    if (!r->is_used) {
        gm_text_add(doc->out, "  repeated     nothing: no complete step was found on this device\n");
        return;
    }
    gm_text_printf(doc->out, "  forecast     %s member%s of %s step%s%s, of which %s as recorded\n",
                   gm_doc_count(doc, r->members), gm_plural(r->members), gm_doc_count(doc, r->steps),
                   gm_plural(r->steps), r->members > 1 ? " each" : "", gm_doc_count(doc, r->recorded));
    if (r->turns == 0)
        return;
    gm_text_printf(doc->out, "  repeated     recorded step %" PRIu64 " (events %s to %s, %s), %s time%s\n",
                   device->part_number[r->step + 1], gm_doc_count(doc, r->plan.first),
                   gm_doc_count(doc, r->plan.end - 1), gm_doc_duration(doc, r->duration_us),
                   gm_doc_count(doc, r->turns), gm_plural(r->turns));
    add_growth(doc, r);
    size_t done = turns_done(device);
    if (done > 0)
        gm_text_printf(doc->out, "  allocated    %s after the recorded step, %s after %s repetitions\n",
                       gm_doc_bytes(doc, device->parts[r->recorded].allocated_at_end),
                       gm_doc_bytes(doc, device->parts[r->recorded + done].allocated_at_end), gm_doc_count(doc, done));
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

struct member {
    uint64_t allocated, reserved, at_end;
};

static struct member measure(const struct gm_replay_device *device, uint64_t member)
{
    const struct gm_replay_repetition *r = &device->repetition;
    struct member m = {0};
    for (uint64_t i = (member - 1) * r->steps + 1; i <= member * r->steps && i < device->whatif.parts_played; i++) {
        const struct gm_whatif_part *part = &device->parts[i];
        m.allocated = part->peak_allocated > m.allocated ? part->peak_allocated : m.allocated;
        m.reserved = part->peak_reserved > m.reserved ? part->peak_reserved : m.reserved;
        m.at_end = part->allocated_at_end;
    }
    return m;
}

/* Members that were begun. */
static uint64_t members_played(const struct gm_replay_device *device)
{
    const struct gm_replay_repetition *r = &device->repetition;
    size_t parts = device->whatif.parts_played;
    uint64_t steps = parts == 0 ? 0 : parts - 1;
    uint64_t played = (steps + r->steps - 1) / r->steps;
    return played < r->members ? played : r->members;
}

void gm_replay_member_words(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    uint64_t played = device->repetition.is_used ? members_played(device) : 0;
    if (played == 0)
        return;
    gm_text_add(doc->out, "  member       peak allocated  peak reserved  allocated at its end\n");
    for (uint64_t i = 1; i <= played; i++) {
        if (i == MEMBERS_AT_ENDS + 1 && played > 2 * MEMBERS_AT_ENDS) {
            i = played - MEMBERS_AT_ENDS;
            gm_text_printf(doc->out, "  ...          %s more\n", gm_doc_count(doc, i - MEMBERS_AT_ENDS));
            continue;
        }
        struct member m = measure(device, i);
        gm_text_printf(doc->out, "  %-12s %14s %14s %21s\n", gm_doc_count(doc, i), gm_doc_bytes(doc, m.allocated),
                       gm_doc_bytes(doc, m.reserved), gm_doc_bytes(doc, m.at_end));
    }
}

void gm_replay_repetition_json(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const struct gm_replay_device *device = &run->devices[index];
    const struct gm_replay_repetition *r = &device->repetition;
    if (!r->is_used) {
        gm_json_null(&doc->json, "repetition");
        return;
    }
    gm_json_open(&doc->json, "repetition", '{');
    gm_json_number(&doc->json, "members", r->members);
    gm_json_number(&doc->json, "steps", r->steps);
    gm_json_number(&doc->json, "recorded_steps", r->recorded);
    gm_json_number(&doc->json, "turns", r->turns);
    gm_json_number(&doc->json, "turns_done", turns_done(device));
    gm_json_number(&doc->json, "first_event", r->plan.first);
    gm_json_number(&doc->json, "last_event", (uint64_t)r->plan.end - 1);
    gm_json_number(&doc->json, "duration_us", r->duration_us);
    if (r->compared_from == GM_NEVER)
        gm_json_null(&doc->json, "compared_from_event");
    else
        gm_json_number(&doc->json, "compared_from_event", r->compared_from);
    static const char *const names[GM_REPEAT_FATES][2] = {
        {"kept_blocks", "kept_bytes"}, {"once_blocks", "once_bytes"}, {"replaced_blocks", "replaced_bytes"}};
    for (int fate = 0; fate < GM_REPEAT_FATES; fate++) {
        gm_json_number(&doc->json, names[fate][0], r->plan.left[fate].allocations.n);
        gm_json_number(&doc->json, names[fate][1], r->plan.left[fate].bytes);
    }
    gm_json_bool(&doc->json, "growth_is_assumed", r->compared_from == GM_NEVER && gm_repeat_left_bytes(&r->plan) > 0);
    gm_json_number(&doc->json, "frees_not_repeated", r->plan.unmatched);
    gm_json_number(&doc->json, "frees_not_repeated_bytes", r->plan.unmatched_bytes);
    gm_json_open(&doc->json, "peaks", '[');
    for (uint64_t i = 1, n = members_played(device); i <= n; i++) {
        struct member m = measure(device, i);
        gm_json_open_flat(&doc->json, NULL, '{');
        gm_json_number(&doc->json, "member", i);
        gm_json_number(&doc->json, "peak_allocated_bytes", m.allocated);
        gm_json_number(&doc->json, "peak_reserved_bytes", m.reserved);
        gm_json_number(&doc->json, "allocated_at_end_bytes", m.at_end);
        gm_json_close(&doc->json, '}');
    }
    gm_json_close(&doc->json, ']');
    gm_json_close(&doc->json, '}');
}
