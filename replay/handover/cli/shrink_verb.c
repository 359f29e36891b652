/* SPDX-License-Identifier: Apache-2.0
 *
 * gmtrace shrink.
 */
#include "analyze/allocator/recorded_settings.h"
#include "analyze/base/clock.h"
#include "analyze/base/size.h"
#include "analyze/cli/bar.h"
#include "analyze/cli/operands.h"
#include "replay/handover/cli/gmtrace.h"
#include "replay/trials/bound.h"
#include "replay/verify/follow.h"
#include "replay/verify/verify.h"
#include "replay/whatif/gpus.h"
#include "replay/whatif/whatif.h"

#include <inttypes.h>
#include <math.h>

struct shrinking {
    const struct gm_verb_options *verb;
    struct gm_history *h;
    uint32_t oom; /* GM_NEVER: none */
    struct gm_shrink_options options;
    atomic_size_t replays, units;
    double end; /* gm_seconds */
    struct gm_bar bar;
};

/* ---- what is to be kept, and where ------------------------------------------------------------------------------- */

/* The request that was refused last, and ended the recording unless that is asked for. */
static uint32_t refused_event(struct gm_history *h, const struct gm_conf *conf, int goal)
{
    struct gm_refused refused;
    if (gm_bound_refused(&refused, h, &conf->rules))
        return refused.request.event;
    const uint8_t *action = h->snapshot->events.action + h->first;
    for (size_t i = h->count; goal == GM_SHRINK_OOM && i > 0; i--)
        if (action[i - 1] == GM_ACTION_OOM && gm_event_size(&h->snapshot->events, h->first + i - 1) < GM_ABSENT / 4)
            return (uint32_t)i - 1;
    return GM_NEVER;
}

static enum gm_status choose_device(struct shrinking *s, struct gm_recording *r, const struct gm_conf *conf,
                                    struct gm_error *err)
{
    const int64_t wanted = s->verb->usual.device;
    uint64_t highest = 0;
    s->oom = GM_NEVER;
    for (size_t i = 0; i < r->kept.count; i++) {
        struct gm_history *h = &r->kept.v[i].history;
        if (h->count == 0 || (wanted >= 0 && h->device != wanted))
            continue;
        const uint32_t oom = s->verb->goal > GM_SHRINK_OOM ? GM_NEVER : refused_event(h, conf, s->verb->goal);
        const uint64_t reserved = gm_bound_recorded(h);
        if (s->h != NULL && (oom == GM_NEVER) >= (s->oom == GM_NEVER) &&
            ((oom == GM_NEVER) != (s->oom == GM_NEVER) || reserved <= highest))
            continue;
        s->h = h;
        s->oom = oom;
        highest = reserved;
    }
    if (s->h != NULL)
        return GM_OK;
    if (wanted >= 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--device: device %lld has no events", (long long)wanted);
    return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET, "it has no events, so there is nothing to shrink");
}

static enum gm_status choose_memory(struct shrinking *s, struct gm_call *call, struct gm_error *err)
{
    struct gm_shrink_device *device = &s->options.device;
    struct gm_recorded_limit limit;
    const struct gm_gpu *gpu;
    char note[GM_GPU_NOTE];
    device->capacity = s->verb->memory;
    if (s->verb->gpu != NULL) {
        GM_TRY(gm_gpu_choose(&gpu, note, "--gpu", s->verb->gpu, err));
        device->capacity = gm_gpu_usable(gpu);
        device->taken = GM_GPU_CONTEXT;
        if (note[0] != '\0')
            gm_call_note(call, note);
    } else if (device->capacity == UINT64_MAX && s->oom != GM_NEVER) {
        if (!gm_bound_limit(&limit, s->h, &device->conf))
            return gm_no_memory(err);
        const double fraction = device->conf.memory_fraction;
        device->capacity = fraction < 1 && fraction > 0 ? (uint64_t)ceil((double)limit.bytes / fraction) : limit.bytes;
    }
    return GM_OK;
}

static bool is_over(void *asked)
{
    const struct shrinking *s = asked;
    return gm_seconds() >= s->end;
}

static enum gm_status prepare(struct shrinking *s, struct gm_recording *r, struct gm_call *call, struct gm_error *err)
{
    struct gm_conf *conf = &s->options.device.conf;
    *conf = gm_settings_recorded(&r->snapshot, NULL);
    if (conf->backend == GM_BACKEND_ASYNC)
        return gm_fail(err, GM_E_MISSING, GM_NO_OFFSET,
                       "backend:cudaMallocAsync is CUDA's own allocator: there is no model of it here");
    GM_TRY(choose_device(s, r, conf, err));
    if (!r->snapshot.has_settings)
        conf->expandable_segments = gm_follow_expandable_at_start(s->h, false);
    GM_TRY(gm_verify_settle_pools(s->h, conf, err));
    s->options.goal = (enum gm_shrink_goal)s->verb->goal;
    s->options.tolerance = s->verb->tolerance / 100;
    s->options.join = s->verb->join;
    s->options.most_replays = (uint64_t)s->verb->replays;
    s->options.is_over = is_over;
    s->options.asked = s;
    s->options.replays = &s->replays;
    s->options.units = &s->units;
    s->end = gm_seconds() + (double)s->verb->timeout;
    return choose_memory(s, call, err);
}

/* ---- the proof --------------------------------------------------------------------------------------------------- */

/* What gmreplay says of the written file, which was read again, is what was found. It asks for as little as any
 * settings may have made of the refused request (struct gm_refused); here they are those in force. */
static enum gm_status prove(const struct shrinking *s, const struct gm_shrunk *shrunk,
                            const struct gm_snapshot *written, struct gm_error *err)
{
    struct gm_history h;
    struct gm_refused refused;
    struct gm_whatif_result result = {.events = 0};
    GM_TRY(gm_history_build(&h, written, (size_t)s->h->device, NULL, err));
    struct gm_whatif_options options = {.conf = s->options.device.conf,
                                        .capacity = s->options.device.capacity,
                                        .taken = s->options.device.taken,
                                        .placement = shrunk->placement};
    const bool is_refused = gm_bound_refused(&refused, &h, &options.conf.rules);
    refused.request.size = refused.size;
    options.refused = is_refused ? &refused.request : NULL;
    enum gm_status status = gm_verify_settle_pools(&h, &options.conf, err);
    GM_THEN(status, gm_whatif(&result, &h, &options, err));
    const bool is_same = shrunk->goal == GM_SHRINK_OOM
                             ? result.has_failed && is_refused && result.failure.event == refused.request.event
                             : !result.has_failed && result.peak.reserved == shrunk->outcome.reserved;
    if (status == GM_OK && (!is_same || (written->segments.count > 0 && !h.is_reconstructed)))
        status = gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET,
                         "what is left does not do the same when its own recording is replayed: that does not tell all "
                         "that decides it");
    gm_history_free(&h);
    return status;
}

/* ---- out --------------------------------------------------------------------------------------------------------- */

static void tell_kept(struct gm_text *out, const struct shrinking *s, const struct gm_shrunk *shrunk)
{
    const struct gm_outcome *o = &shrunk->outcome;
    const uint64_t capacity = s->options.device.capacity;
    char a[GM_SIZE_TEXT], b[GM_SIZE_TEXT];
    gm_text_printf(out, "device %lld: ", (long long)s->h->device);
    if (shrunk->goal == GM_SHRINK_OOM) {
        gm_text_printf(out, "runs out of memory at %s request, for %s, with %s",
                       shrunk->is_recorded_request ? "the same" : "its last", gm_size_format(a, o->rounded),
                       gm_size_format(b, capacity));
        gm_text_printf(out, o->is_pieces ? ": in pieces, %s are in no block\n" : ": more than is left by %s in use\n",
                       gm_size_format(a, o->is_pieces ? capacity - o->active : o->active));
        if (!shrunk->is_recorded_request && s->oom != GM_NEVER)
            gm_text_add(out, "not the recorded request: in the model another one fails first\n");
        return;
    }
    gm_text_printf(out, "peak of reserved memory %s, of the whole %s; in no block %.1f %%, of the whole %.1f %%\n",
                   gm_size_format(a, o->reserved), gm_size_format(b, shrunk->whole.reserved),
                   100 * (double)o->unused / (double)o->reserved,
                   100 * (double)shrunk->whole.unused / (double)shrunk->whole.reserved);
}

/* With roundup_power2_divisions, gmreplay alone asks for less than was refused. */
static void tell_proof(struct gm_text *out, const struct shrinking *s, const struct gm_shrunk *shrunk)
{
    bool is_plain = true;
    for (int i = 0; i < GM_ROUNDUP_SLOTS; i++)
        is_plain = is_plain && s->options.device.conf.rules.roundup[i] <= 1;
    gm_text_add(out, "read again, and replayed again with the same end");
    if (is_plain || shrunk->goal != GM_SHRINK_OOM) {
        gm_text_add(out, ": gmreplay");
        if (s->verb->gpu != NULL)
            gm_text_printf(out, " --gpu %s", s->verb->gpu);
        else if (s->options.device.capacity != UINT64_MAX)
            gm_text_printf(out, " --memory %" PRIu64, s->options.device.capacity);
        gm_text_printf(out, " %s", s->verb->output);
    }
    gm_text_add(out, "\n");
}

static void tell(struct gm_call *call, const struct shrinking *s, const struct gm_shrunk *shrunk,
                 const struct gm_snapshot *written)
{
    static const char *const ends[] = {
        "none of them can be left out\n",
        "more could perhaps be left out: --replays was reached\n",
        "more could perhaps be left out: --timeout was reached\n",
    };
    const struct gm_demand *p = &shrunk->program;
    struct gm_text text = {0};
    size_t made_up = p->items.n - shrunk->items;
    tell_kept(&text, s, shrunk);
    gm_text_add_count(&text, s->h->count);
    gm_text_add(&text, " events -> ");
    gm_text_add_count(&text, written->events.count);
    gm_text_add(&text, "; ");
    gm_text_add_count(&text, shrunk->whole_items);
    gm_text_add(&text, " allocations -> ");
    gm_text_add_count(&text, shrunk->items);
    if (shrunk->joined > 0)
        gm_text_printf(&text, " (%zu for several)", shrunk->joined);
    if (made_up > 0)
        gm_text_printf(&text, ", and %zu for the layout before the trace", made_up);
    gm_text_printf(&text, "; %" PRIu64 " replays\n%s", shrunk->replays, ends[shrunk->end]);
    if (shrunk->outcome.hangs_on_placement)
        gm_text_add(&text, shrunk->is_robust ? "the same wherever the driver puts segments, as far as was tried\n"
                                             : "that hangs on where the driver puts segments\n");
    tell_proof(&text, s, shrunk);
    gm_trace_tell(call, s->verb, &text);
}

/* ---- for programs ------------------------------------------------------------------------------------------------ */

struct told {
    int64_t device;
    const char *goal, *ended_by;
    uint64_t events, events_left, made_up;
    uint64_t memory, refused; /* bytes; GM_REPORT_NONE */
    struct gm_shrunk shrunk;
};

/* clang-format off */
static const struct gm_column told_columns[] = {
    GM_KEY(GM_ID, "device", struct told, device),
    GM_KEY(GM_TEXT, "goal", struct told, goal),
    GM_KEY(GM_COUNT, "events", struct told, events),
    GM_KEY(GM_COUNT, "events_left", struct told, events_left),
    GM_KEY(GM_COUNT, "allocations", struct told, shrunk.whole_items),
    GM_KEY(GM_COUNT, "allocations_left", struct told, shrunk.items),
    GM_KEY(GM_COUNT, "joined", struct told, shrunk.joined),
    GM_KEY(GM_COUNT, "made_up", struct told, made_up),
    GM_KEY(GM_COUNT, "replays", struct told, shrunk.replays),
    GM_KEY(GM_TEXT, "ended_by", struct told, ended_by),
    GM_KEY(GM_COUNT, "memory_bytes", struct told, memory),
    GM_KEY(GM_COUNT, "refused_bytes", struct told, refused),
    GM_KEY(GM_BOOL, "is_recorded_request", struct told, shrunk.is_recorded_request),
    GM_KEY(GM_COUNT, "peak_reserved_bytes", struct told, shrunk.outcome.reserved),
    GM_KEY(GM_COUNT, "whole_peak_reserved_bytes", struct told, shrunk.whole.reserved),
    GM_KEY(GM_COUNT, "unused_bytes", struct told, shrunk.outcome.unused),
    GM_KEY(GM_COUNT, "whole_unused_bytes", struct told, shrunk.whole.unused),
    GM_KEY(GM_BOOL, "hangs_on_placement", struct told, shrunk.outcome.hangs_on_placement),
    GM_KEY(GM_BOOL, "is_robust", struct told, shrunk.is_robust),
};
/* clang-format on */

static void put_json(struct gm_call *call, const struct shrinking *s, const struct gm_shrunk *shrunk,
                     const struct gm_snapshot *written)
{
    static const char *const ends[] = {NULL, "replays", "timeout"};
    const uint64_t capacity = s->options.device.capacity;
    const struct told told = {.device = s->h->device,
                              .goal = gm_shrink_goals[shrunk->goal - GM_SHRINK_OOM],
                              .ended_by = ends[shrunk->end],
                              .events = s->h->count,
                              .events_left = written->events.count,
                              .made_up = shrunk->program.items.n - shrunk->items,
                              .memory = capacity == UINT64_MAX ? GM_REPORT_NONE : capacity,
                              .refused = shrunk->outcome.has_failed ? shrunk->outcome.rounded : GM_REPORT_NONE,
                              .shrunk = *shrunk};
    GM_FREED struct gm_text text = {0};
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_JSON, &text);
    gm_json_string(&doc.json, "schema", "gmtrace.shrink/1");
    GM_FIELDS(&doc, told_columns, &told, NULL);
    gm_doc_end(&doc);
    gm_call_put(call, s->verb->usual.json, &text);
}

static void tell_progress(struct gm_bar_line *line, const void *argument, double seconds)
{
    const struct shrinking *s = argument;
    gm_text_printf(&line->text, "%zu replays, %zu things left, %d s: shrinking", (size_t)atomic_load(&s->replays),
                   (size_t)atomic_load(&s->units), (int)seconds);
}

/* What is written, if it is proved. */
struct made {
    struct gm_shrunk shrunk;
    struct gm_snapshot clean;
};

static void made_free(struct made *made)
{
    gm_snapshot_free(&made->clean);
    gm_shrunk_free(&made->shrunk);
    *made = (struct made){.shrunk = {.replays = 0}};
}

static enum gm_status make(struct made *made, struct shrinking *s, struct gm_error *err)
{
    struct gm_regenerated regenerated = {.array_count = 0};
    struct gm_snapshot source = {.memory = NULL};
    GM_TRY(gm_shrink(&made->shrunk, s->h, s->oom, &s->options, err));
    enum gm_status status = gm_shrunk_snapshot(&regenerated, &source, &made->shrunk, &s->options.device, err);
    if (status == GM_OK) {
        status = gm_trace_settle(&made->clean, &regenerated.snapshot, err);
        gm_regenerated_free(&regenerated);
    }
    gm_snapshot_free(&source);
    GM_THEN(status, prove(s, &made->shrunk, &made->clean, err));
    return status;
}

static void put(const struct shrinking *s, const struct made *made, struct gm_call *call)
{
    struct gm_text script = {0};
    gm_trace_write(call, &made->clean, s->verb->output);
    gm_shrunk_script(&script, &made->shrunk, &s->options.device);
    gm_call_put(call, s->verb->script, &script);
    gm_text_free(&script);
    if (s->verb->usual.json != NULL)
        put_json(call, s, &made->shrunk, &made->clean);
    tell(call, s, &made->shrunk, &made->clean);
}

/* Without stacks, a call of empty_cache() right before a growth reads as that request's own release, and what is left
 * may bring the two together: then the calls are left out from the beginning. */
enum gm_status gm_trace_shrink(struct gm_recording *r, const struct gm_verb_options *o, struct gm_call *call,
                               struct gm_error *err)
{
    struct shrinking s = {.verb = o};
    struct made made = {.shrunk = {.replays = 0}};
    GM_TRY(prepare(&s, r, call, err));
    gm_bar_start(&s.bar, o->usual.quiet ? NULL : &call->terminal, tell_progress, &s);
    enum gm_status status = make(&made, &s, err);
    if (status == GM_E_FORMAT && made.clean.trace_count > 0) {
        made_free(&made);
        s.options.without_empties = true;
        status = make(&made, &s, err);
    }
    gm_bar_stop(&s.bar);
    gm_call_time(call, "shrink");
    if (status == GM_OK)
        put(&s, &made, call);
    made_free(&made);
    return status;
}
