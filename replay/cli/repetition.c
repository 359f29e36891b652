/* SPDX-License-Identifier: Apache-2.0
 *
 * What --members and --steps came to, in words and in JSON.
 */
#include "replay/cli/gmreplay.h"

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

/* ---- what each repetition leaves behind -------------------------------------------------------------------------- */

static const char *left_of(struct gm_doc *doc, const struct gm_replay_repetition *r, enum gm_repeat_fate fate)
{
    return gm_doc_printf(doc, "%s, %s", gm_doc_some(doc, r->plan.left[fate].allocations.n, "block", "blocks"),
                         gm_doc_bytes(doc, r->plan.left[fate].bytes));
}

static void tell_growth(struct gm_doc *doc, const struct gm_replay_repetition *r)
{
    const struct gm_repeat_left *left = r->plan.left;
    const char *assumed = r->compared_from == GM_NEVER ? "assumed: " : "";
    const size_t once = left[GM_REPEAT_IS_ONCE].allocations.n, replaced = left[GM_REPEAT_IS_REPLACED].allocations.n;
    if (left[GM_REPEAT_PILES_UP].allocations.n > 0)
        gm_doc_tell(doc, "Each time it grows by %s requested, as in the step before.",
                    left_of(doc, r, GM_REPEAT_PILES_UP));
    else
        gm_doc_tell(doc, "Each time %s",
                    gm_repeat_left_bytes(&r->plan) == 0 ? "no growth: as much is freed as is allocated."
                    : r->compared_from == GM_NEVER ? "no growth is known: there is no step before it to compare with."
                                                   : "no growth: the step before left nothing like that.");
    if (once > 0)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s%s, %s", assumed, left_of(doc, r, GM_REPEAT_IS_ONCE),
                   once == 1 ? "a gradient or state, is made once" : "gradients and states, are made once");
    if (replaced > 0)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s%s, %s", assumed, left_of(doc, r, GM_REPEAT_IS_REPLACED),
                   replaced == 1 ? "is replaced by that of the next time" : "are replaced by those of the next time");
    if (r->plan.unmatched > 0)
        gm_doc_say(doc, GM_SAY_ITEM, GM_READ, NULL, "%s (%s) had no block to free and are left out",
                   gm_doc_some(doc, r->plan.unmatched, "free", "frees"), gm_doc_bytes(doc, r->plan.unmatched_bytes));
}

/* Where memory ends in a repetition that keeps gradients: whether it would if they were freed first. */
static void tell_zeroed(struct gm_doc *doc, const struct gm_replay_device *d)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_BYTES, "gradients_bytes", struct gm_replay_repetition, gradients),
        GM_KEY(GM_BYTES, "peak_reserved_bytes", struct gm_replay_repetition,
               zeroed.stats.reserved_bytes[GM_STAT_ALL].peak),
        GM_KEY(GM_BOOL, "runs_out_of_memory", struct gm_replay_repetition, zeroed.has_failed),
    };
    const struct gm_replay_repetition *r = &d->repetition;
    GM_OBJECT(doc, "with_zero_grad", columns, r->gradients > 0 ? r : NULL, NULL);
    if (r->gradients == 0)
        return;
    uint64_t member, step;
    const bool is_step =
        r->zeroed.parts_played > 0 && gm_replay_member_of(d, r->zeroed.parts_played - 1, &member, &step);
    gm_doc_tell(
        doc,
        "The gradients, %s, are kept through each forward pass here: nothing recorded tells whether zero_grad() "
        "frees them before. If it does, %s.",
        gm_doc_bytes(doc, r->gradients),
        !r->zeroed.has_failed
            ? gm_doc_printf(doc, "memory is enough: %s are reserved at the peak",
                            gm_doc_bytes(doc, (uint64_t)r->zeroed.stats.reserved_bytes[GM_STAT_ALL].peak))
        : is_step ? gm_doc_printf(doc, "memory ends in member %" PRIu64 ", step %" PRIu64, member, step)
                  : "memory ends, too");
}

static void tell_repetition(struct gm_doc *doc, const struct gm_replay_device *d)
{
    const struct gm_replay_repetition *r = &d->repetition;
    const size_t done = turns_done(d);
    gm_doc_tell(doc, "Forecast: %s of %s%s, of which %s as recorded.",
                gm_doc_some(doc, r->members, "member", "members"), gm_doc_some(doc, r->steps, "step", "steps"),
                r->members > 1 ? " each" : "", gm_doc_count(doc, r->recorded));
    if (r->turns == 0)
        return;
    gm_doc_tell(doc, "Repeated is recorded step %" PRIu64 " (events %s to %s, %s), %s.", d->part_number[r->step + 1],
                gm_doc_count(doc, r->plan.first), gm_doc_count(doc, r->plan.end - 1),
                gm_doc_duration(doc, r->duration_us), gm_doc_some(doc, r->turns, "time", "times"));
    tell_growth(doc, r);
    if (done > 0)
        gm_doc_tell(doc, "Allocated: %s after the recorded step, %s after %s.",
                    gm_doc_bytes(doc, d->parts[r->recorded].allocated_at_end),
                    gm_doc_bytes(doc, d->parts[r->recorded + done].allocated_at_end),
                    gm_doc_some(doc, done, "repetition", "repetitions"));
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

struct member {
    uint64_t number, allocated, reserved, at_end;
};

static struct member measure(const struct gm_replay_device *device, uint64_t number)
{
    const struct gm_replay_repetition *r = &device->repetition;
    struct member m = {.number = number};
    for (uint64_t i = (number - 1) * r->steps + 1; i <= number * r->steps && i < device->whatif.parts_played; i++) {
        const struct gm_whatif_part *part = &device->parts[i];
        m.allocated = part->peak_allocated > m.allocated ? part->peak_allocated : m.allocated;
        m.reserved = part->peak_reserved > m.reserved ? part->peak_reserved : m.reserved;
        m.at_end = part->allocated_at_end;
    }
    return m;
}

/* Those that were begun. */
static void say_members(struct gm_doc *doc, const struct gm_replay_device *d)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_COUNT, GM_ALL, "member", "Member", struct member, number),
        GM_FIELD(GM_BYTES, GM_ALL, "peak_allocated_bytes", "Peak allocated", struct member, allocated),
        GM_FIELD(GM_BYTES, GM_ALL, "peak_reserved_bytes", "Peak reserved", struct member, reserved),
        GM_FIELD(GM_BYTES, GM_ALL, "allocated_at_end_bytes", "Allocated at its end", struct member, at_end),
    };
    const struct gm_replay_repetition *r = &d->repetition;
    const size_t parts = d->whatif.parts_played;
    const uint64_t begun = ((parts == 0 ? 0 : parts - 1) + r->steps - 1) / r->steps;
    const size_t n = begun < r->members ? begun : r->members;
    struct member *rows = gm_doc_rows(doc, n, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < n; i++)
        rows[i] = measure(d, i + 1);
    GM_TABLE(doc, columns, rows, rows == NULL ? 0 : n, .key = "peaks", .txt_max = 2 * MEMBERS_AT_ENDS,
             .cut = GM_CUT_MIDDLE);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static union gm_value turns_done_value(const struct gm_cell_of *c)
{
    return (union gm_value){.u = turns_done(c->of)};
}

GM_CELL(u, last_event, struct gm_replay_repetition, row, (uint64_t)row->plan.end - 1);

GM_CELL(u, compared_from, struct gm_replay_repetition, row,
        row->compared_from == GM_NEVER ? GM_REPORT_NONE : row->compared_from);

GM_CELL(b, is_assumed, struct gm_replay_repetition, r,
        r->compared_from == GM_NEVER && gm_repeat_left_bytes(&r->plan) > 0);

#define KEY(unit, key, field) GM_KEY(unit, key, struct gm_replay_repetition, field)
/* clang-format off */
#define LEFT(name, fate) \
    KEY(GM_COUNT, name "_blocks", plan.left[fate].allocations.n), KEY(GM_BYTES, name "_bytes", plan.left[fate].bytes)
/* clang-format on */
static const struct gm_column repetition_columns[] = {
    KEY(GM_COUNT, "members", members),
    KEY(GM_COUNT, "steps", steps),
    KEY(GM_COUNT, "recorded_steps", recorded),
    KEY(GM_COUNT, "turns", turns),
    GM_GET(GM_COUNT, GM_JSON, "turns_done", NULL, turns_done_value),
    KEY(GM_COUNT, "first_event", plan.first),
    GM_GET(GM_COUNT, GM_JSON, "last_event", NULL, last_event),
    KEY(GM_COUNT, "duration_us", duration_us),
    GM_GET(GM_COUNT, GM_JSON, "compared_from_event", NULL, compared_from),
    LEFT("kept", GM_REPEAT_PILES_UP),
    LEFT("once", GM_REPEAT_IS_ONCE),
    LEFT("replaced", GM_REPEAT_IS_REPLACED),
    GM_GET(GM_BOOL, GM_JSON, "growth_is_assumed", NULL, is_assumed),
    KEY(GM_COUNT, "frees_not_repeated", plan.unmatched),
    KEY(GM_BYTES, "frees_not_repeated_bytes", plan.unmatched_bytes),
};
#undef KEY

void gm_replay_say_repetition(struct gm_doc *doc, const struct gm_replay_device *d, bool is_long)
{
    const struct gm_replay_options *o = d->run->options;
    const struct gm_replay_repetition *r = &d->repetition;
    if (!r->is_used) {
        GM_OBJECT(doc, "repetition", repetition_columns, NULL, NULL);
        if (o->members > 0 || o->steps > 0)
            gm_doc_tell(doc, "Nothing is repeated: no complete step was found on this device.");
        return;
    }
    gm_doc_open(doc, "repetition", NULL);
    GM_FIELDS(doc, repetition_columns, r, d);
    tell_repetition(doc, d);
    tell_zeroed(doc, d);
    if (is_long)
        say_members(doc, d);
    gm_doc_close(doc);
}
