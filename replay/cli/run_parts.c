/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts that a what-if tells apart: what is before the first step, the steps, what comes after the last one; and
 * with --members and --steps the last complete step again and again.
 */
#include "replay/cli/gmreplay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So that a repeated run stays within hours and a common machine's memory. */
#define MOST_STEPS (UINT64_C(1) << 20)
#define MOST_EVENTS (UINT64_C(1) << 31)
#define MOST_KEPT (UINT64_C(1) << 25)

static bool make_room(struct gm_replay_device *device, size_t steps)
{
    device->parts = calloc(steps + 2, sizeof *device->parts);
    device->part_number = calloc(steps + 2, sizeof *device->part_number);
    device->part_count = steps + 2;
    return device->parts != NULL && device->part_number != NULL;
}

/* Where step i ends: what stands between two steps belongs to the earlier one. */
static uint32_t end_of(const struct gm_kept_device *kept, size_t i)
{
    return i + 1 < kept->step_count ? kept->steps[i + 1].first : kept->steps[i].last + 1;
}

static void fill(struct gm_replay_device *device, const struct gm_kept_device *kept, size_t steps)
{
    uint32_t at = kept->step_count == 0 ? 0 : kept->steps[0].first;
    device->parts[0] = (struct gm_whatif_part){.first = 0, .end = at};
    for (size_t i = 0; i < steps; i++) {
        device->parts[i + 1] = (struct gm_whatif_part){.first = at, .end = end_of(kept, i)};
        device->part_number[i + 1] = kept->steps[i].number;
        at = end_of(kept, i);
    }
    device->parts[steps + 1] = (struct gm_whatif_part){.first = at, .end = (uint32_t)kept->history.count};
}

/* The time of the last event before `end`. */
static uint64_t time_before(const struct gm_history *h, uint32_t end)
{
    return gm_history_time(h, end == 0 ? 0 : end - 1);
}

uint64_t gm_replay_part_time(const struct gm_replay_device *device, size_t part)
{
    const struct gm_history *h = &device->kept->history;
    const struct gm_replay_repetition *r = &device->repetition;
    uint64_t us = time_before(h, device->parts[part].end);
    size_t recorded = r->is_used ? r->recorded : device->part_count;
    uint64_t turns = part <= recorded ? 0 : part - recorded < r->turns ? part - recorded : r->turns;
    if (us == GM_REPORT_NONE || (r->duration_us != 0 && turns > (GM_REPORT_NONE - 1 - us) / r->duration_us))
        return GM_REPORT_NONE;
    return us + turns * r->duration_us;
}

/* ---- --members and --steps --------------------------------------------------------------------------------------- */

static enum gm_status check_size(const struct gm_replay_repetition *r, uint64_t events, struct gm_error *err)
{
    uint64_t length = r->plan.end - r->plan.first;
    if (r->turns > 0 && length > (MOST_EVENTS - events) / r->turns)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--members and --steps: %" PRIu64 " times a step of %" PRIu64
                       " events are more than 2^31 events",
                       r->turns, length);
    size_t piles = r->plan.left[GM_REPEAT_PILES_UP].allocations.n;
    if (r->turns > 0 && piles > MOST_KEPT / r->turns)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--members and --steps: %zu blocks that pile up %" PRIu64 " times are more than 2^25", piles,
                       r->turns);
    return GM_OK;
}

static bool plan(struct gm_replay_repetition *r, const struct gm_kept_device *kept, size_t step)
{
    const struct gm_history *h = &kept->history;
    uint32_t first = kept->steps[step].first, end = end_of(kept, step);
    uint64_t from = time_before(h, first), to = time_before(h, end);
    const struct gm_repeat_evidence evidence = {step == 0 ? GM_NEVER : kept->steps[step - 1].first, kept->role};
    r->step = step;
    r->compared_from = evidence.before;
    r->plan = (struct gm_repeat){0};
    r->duration_us = from == GM_REPORT_NONE || to == GM_REPORT_NONE || to < from ? 0 : to - from;
    return gm_repeat_plan(&r->plan, h, first, end, &evidence);
}

/* The last complete step. With none after it, it may lack its last frees: the one before it is taken instead if it
 * leaves less behind. */
static bool choose_step(struct gm_replay_repetition *r, const struct gm_kept_device *kept)
{
    size_t step = gm_repeat_step(kept->steps, kept->step_count);
    if (!plan(r, kept, step))
        return false;
    if (step == 0 || kept->steps[step - 1].is_partial || step + 1 < kept->step_count)
        return true;
    struct gm_replay_repetition before = *r;
    const bool ok = plan(&before, kept, step - 1);
    const bool is_better = ok && gm_repeat_left_bytes(&before.plan) < gm_repeat_left_bytes(&r->plan);
    gm_repeat_free(is_better ? &r->plan : &before.plan);
    if (is_better)
        *r = before;
    return ok;
}

static enum gm_status repeat(struct gm_replay_device *device, struct gm_error *err)
{
    const struct gm_kept_device *kept = device->kept;
    const struct gm_replay_options *o = device->run->options;
    struct gm_replay_repetition *r = &device->repetition;
    r->members = o->members > 0 ? (uint64_t)o->members : 1;
    if (gm_repeat_step(kept->steps, kept->step_count) == SIZE_MAX)
        return GM_OK;
    if (!choose_step(r, kept))
        return gm_no_memory(err);
    uint64_t all = r->step + 1;
    r->is_used = true;
    r->steps = o->steps > 0 ? (uint64_t)o->steps : all;
    if (r->steps > MOST_STEPS / r->members)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--members and --steps: %" PRIu64 " times %" PRIu64 " steps are more than 2^20", r->members,
                       r->steps);
    uint64_t total = r->members * r->steps;
    r->recorded = total < all ? total : all;
    r->turns = total - r->recorded;
    GM_TRY(check_size(r, kept->history.count, err));
    if (!make_room(device, total))
        return gm_no_memory(err);
    fill(device, kept, r->recorded);
    struct gm_whatif_part last = device->parts[r->recorded + 1];
    if (total < all)
        last.end = last.first;
    for (size_t i = r->recorded + 1; i <= total; i++)
        device->parts[i] = (struct gm_whatif_part){.first = r->plan.first, .end = r->plan.end, .is_again = true};
    device->parts[total + 1] = last;
    return GM_OK;
}

enum gm_status gm_replay_parts(struct gm_replay_device *device, struct gm_whatif_options *options, struct gm_error *err)
{
    const struct gm_kept_device *kept = device->kept;
    const struct gm_replay_options *o = device->run->options;
    const struct gm_replay_repetition *r = &device->repetition;
    bool is_repeated = o->members > 0 || o->steps > 0;
    if (!is_repeated && o->csv == NULL)
        return GM_OK;
    if (is_repeated)
        GM_TRY(repeat(device, err));
    if (!r->is_used) {
        if (!make_room(device, kept->step_count))
            return gm_no_memory(err);
        fill(device, kept, kept->step_count);
    }
    options->parts = device->parts;
    options->part_count = device->part_count;
    options->repeat = r->turns > 0 ? &r->plan : NULL;
    options->stops_after_parts = gm_replay_stops_early(device);
    return GM_OK;
}

/* Gradients that a turn keeps are there in its forward pass, as without zero_grad() before it. Nothing that was
 * recorded tells: so where memory ends in a turn, the other case is replayed, too. */
enum gm_status gm_replay_zero(struct gm_replay_device *device, const struct gm_whatif_options *options,
                              struct gm_error *err)
{
    struct gm_history *h = &device->kept->history;
    struct gm_replay_repetition *r = &device->repetition;
    struct gm_whatif_options other = *options;
    if (options->repeat == NULL || !device->whatif.has_failed || device->kept->role == NULL ||
        device->whatif.parts_played <= r->recorded + 1)
        return GM_OK;
    GM_FREED bool *renewed = calloc(h->allocation_count + 1, sizeof *renewed);
    GM_FREED struct gm_whatif_part *parts = malloc(options->part_count * sizeof *parts);
    const struct gm_repeat_left *once = &r->plan.left[GM_REPEAT_IS_ONCE];
    for (size_t i = 0; renewed != NULL && i < once->allocations.n; i++) {
        const uint32_t a = once->allocations.v[i];
        renewed[a] = h->born[a] > r->plan.first && device->kept->role[a] == GM_ROLE_GRADIENT;
        r->gradients += renewed[a] ? gm_requested(h, a) : 0;
    }
    enum gm_status status = renewed == NULL || parts == NULL ? gm_no_memory(err) : GM_OK;
    if (status == GM_OK && r->gradients > 0) {
        memcpy(parts, options->parts, options->part_count * sizeof *parts);
        other.parts = parts;
        other.renewed = renewed;
        other.recorder = NULL;
        other.class_count = 0;
        status = gm_whatif(&r->zeroed, h, &other, err);
    }
    return status;
}

bool gm_replay_hangs_on_gradients(const struct gm_replay_device *device)
{
    return device->repetition.gradients > 0 && !device->repetition.zeroed.has_failed;
}

bool gm_replay_has_steps(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (gm_repeat_step(run->devices[i].kept->steps, run->devices[i].kept->step_count) != SIZE_MAX)
            return true;
    return false;
}
