/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person reads on standard output, and in --summary.
 */
#include "analyze/base/size.h"
#include "analyze/base/utf8.h"
#include "analyze/words/numbers.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"

#include <inttypes.h>
#include <string.h>

static void add_of(struct gm_text *out, const char *label, uint64_t part, uint64_t whole, const char *what)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_printf(out, "  %-12s %s of %s %s\n", label, gm_count_format(a, part), gm_count_format(b, whole), what);
}

static void add_peaks(struct gm_text *out, const struct gm_stats *s)
{
    const struct {
        const char *label;
        const struct gm_stat *stat;
    } rows[] = {{"reserved", s->reserved_bytes},
                {"active", s->active_bytes},
                {"allocated", s->allocated_bytes},
                {"requested", s->requested_bytes}};
    gm_text_add(out, "  peaks       ");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char size[GM_NUMBER_TEXT];
        gm_text_printf(out, "%s%s %s", i == 0 ? " " : ", ", rows[i].label,
                       gm_bytes_format(size, (uint64_t)rows[i].stat->peak));
    }
    gm_text_add_char(out, '\n');
}

static void add_clean(struct gm_text *out, const char *text)
{
    char clean[3 * GM_MISMATCH_TEXT + 1];
    gm_utf8_clean_line(clean, sizeof clean, text, strlen(text));
    gm_text_add(out, clean);
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

static void add_mismatch(struct gm_text *out, const struct gm_verify_result *r)
{
    if (!r->has_mismatch)
        return;
    gm_text_add(out, "  first mismatch: ");
    if (r->mismatch_event == GM_ABSENT)
        gm_text_add(out, "at the end");
    else
        gm_text_printf(out, "event %" PRIu64, r->mismatch_event);
    if (r->recorded != GM_ABSENT)
        gm_text_printf(out, ", recorded 0x%" PRIx64, r->recorded);
    if (r->chosen != GM_ABSENT)
        gm_text_printf(out, ", chosen 0x%" PRIx64, r->chosen);
    gm_text_add(out, "\n    ");
    add_clean(out, r->reason);
    gm_text_add_char(out, '\n');
}

static void add_verified(struct gm_text *out, const struct gm_verify_result *r)
{
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT];
    gm_text_printf(out, "device %" PRId64 ": %s events, %s allocations\n", r->device, gm_count_format(a, r->events),
                   gm_count_format(b, r->allocs));
    add_of(out, "addresses", r->exact, r->allocs, "exact");
    if (r->inferred_count > 0)
        add_of(out, "", r->exact_uninferred, r->allocs, "without what had to be inferred:");
    for (size_t i = 0; i < r->inferred_count; i++)
        gm_text_printf(out, "      %s: %s\n", r->inferred[i].what, r->inferred[i].value);
    add_of(out, "growths", r->growths_predicted, r->growths, "predicted");
    add_of(out, "given back", r->releases_allowed, r->releases, "free and whole");
    add_of(out, "end blocks", r->end_blocks_same, r->end_blocks, "the same");
    add_peaks(out, &r->stats);
    if (r->retries + r->ooms > 0)
        gm_text_printf(out, "  out of memory: %" PRIu64 " times, after %" PRIu64 " retries in all\n", r->ooms,
                       r->retries);
    add_mismatch(out, r);
    if (r->other_allocator[0] != '\0')
        gm_text_printf(out, "  another allocator than PyTorch's CUDA allocator made this trace: %s\n",
                       r->other_allocator);
}

/* ---- what-if ----------------------------------------------------------------------------------------------------- */

static void add_failure(struct gm_text *out, struct gm_replay_run *run, size_t index)
{
    const struct gm_whatif_failure *f = &run->devices[index].whatif.failure;
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    struct gm_stack_id stack = {h->stack[f->allocation]};
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    const char *site = gm_names_site(&run->names, stack);
    gm_text_printf(out, "  OUT OF MEMORY: %s asked for %s (free on the device: %s, reserved: %s)\n",
                   f->is_at_start ? "a block from before the trace" : "a request", gm_bytes_format(a, f->requested),
                   gm_bytes_format(b, f->device_free), gm_bytes_format(c, f->reserved));
    if (!f->is_at_start) {
        uint64_t since = gm_history_time(h, f->event), first = gm_history_time(h, 0);
        gm_text_printf(out, "    event %" PRIu32, f->event);
        if (since != GM_REPORT_NONE && first != GM_REPORT_NONE && since >= first)
            gm_text_printf(out, ", %s after the first", gm_duration_format(a, since - first));
        uint64_t member, step;
        if (gm_replay_member_of(&run->devices[index], run->devices[index].whatif.parts_played - 1, &member, &step))
            gm_text_printf(out, ", member %" PRIu64 ", step %" PRIu64, member, step);
        gm_text_add_char(out, '\n');
    }
    gm_text_printf(out, "    at %s\n    why: %s\n", site == NULL ? "?" : site, f->why);
}

static void add_replayed(struct gm_text *out, struct gm_replay_run *run, size_t index, bool is_long)
{
    const struct gm_whatif_result *r = &run->devices[index].whatif;
    char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
    gm_text_printf(out, "device %" PRId64 ": %s events, %s requests\n", r->device, gm_count_format(a, r->events),
                   gm_count_format(b, r->allocs));
    gm_text_printf(out, "  start        %s blocks, %s, %s\n", gm_count_format(a, r->start_blocks),
                   gm_bytes_format(b, r->start_bytes),
                   r->from_layout ? "where they were recorded" : "requested again from an empty allocator");
    add_peaks(out, &r->stats);
    uint64_t peak = (uint64_t)r->stats.active_bytes[GM_STAT_ALL].peak;
    if (r->start_blocks > 0)
        gm_text_printf(out, "               %s of peak active (%s%%) were there at the start\n",
                       gm_bytes_format(a, r->start_bytes_at_peak), gm_share_format(b, r->start_bytes_at_peak, peak));
    gm_text_printf(out, "  device calls %s allocations, %s releases, %s retries, empty_cache() %s times\n",
                   gm_count_format(a, (uint64_t)r->stats.num_device_alloc),
                   gm_count_format(b, (uint64_t)r->stats.num_device_free),
                   gm_signed_count_format(c, r->stats.num_alloc_retries),
                   gm_count_format((char[GM_NUMBER_TEXT]){0}, r->empty_caches));
    if (r->recorded_ooms > 0)
        gm_text_printf(out, "  recorded out-of-memory requests are not repeated: %s\n",
                       gm_count_format(a, r->recorded_ooms));
    gm_replay_repetition_words(out, run, index);
    if (r->has_failed)
        add_failure(out, run, index);
    if (is_long) {
        gm_replay_peak_words(out, run, index);
        gm_replay_member_words(out, run, index);
    }
}

static void add_changes(struct gm_text *out, const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->options->changes.n; i++) {
        const struct gm_changed_class *changed = &run->changed[i];
        char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
        gm_text_printf(out, "%s %s:%s: %s allocations, %s of requests become %s\n",
                       changed->factor == 0 ? "dropped" : "scaled", changed->kind, changed->name,
                       gm_count_format(a, changed->allocations), gm_bytes_format(b, changed->bytes_before),
                       gm_bytes_format(c, changed->bytes_after));
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void add_head(struct gm_text *out, const struct gm_replay_run *run)
{
    char size[GM_NUMBER_TEXT];
    gm_text_printf(out, "%s of ", run->options->verify ? "verification" : "what-if replay");
    add_clean(out, run->snapshot.source.path);
    gm_text_printf(out, "\nsettings: %s\n", run->conf_text.length == 0 ? "PyTorch's defaults" : run->conf_text.data);
    if (run->options->verify)
        return;
    if (run->gpu != NULL)
        gm_text_printf(out, "device: %s, %s usable\n", run->gpu->title, gm_bytes_format(size, run->capacity));
    else
        gm_text_printf(out, "device: %s\n",
                       run->capacity == UINT64_MAX || run->options->backend == GM_REPLAY_NULL
                           ? "unlimited memory"
                           : gm_bytes_format(size, run->capacity));
}

void gm_replay_words(struct gm_text *out, struct gm_replay_run *run, bool is_long)
{
    const char *verdict = gm_replay_verdict(run);
    add_head(out, run);
    add_changes(out, run);
    for (size_t i = 0; i < run->device_count; i++) {
        if (run->options->verify)
            add_verified(out, &run->devices[i].verify);
        else
            add_replayed(out, run, i, is_long);
    }
    if (is_long)
        gm_replay_aggregate_words(out, run);
    if (run->options->limit != UINT64_MAX)
        gm_replay_limit_words(out, run);
    if (!run->options->verify && (is_long || run->options->limit != UINT64_MAX))
        gm_replay_card_words(out, run);
    gm_replay_search_words(out, run, is_long);
    if (verdict != NULL)
        gm_text_printf(out, "verdict: %s\n", verdict);
}
