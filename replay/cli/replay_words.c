/* SPDX-License-Identifier: Apache-2.0
 *
 * What a person reads on standard output, and in --summary.
 */
#include "analyze/base/utf8.h"
#include "analyze/document/columns.h"
#include "analyze/document/documents.h"
#include "analyze/report/numbers.h"
#include "analyze/report/view.h"
#include "replay/cli/cuda_backend.h"
#include "replay/cli/judged.h"
#include "replay/cli/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 15 /* of what stands beside a label */, LINE = 100 };

void gm_replay_put_item(struct gm_doc *doc, const char *item, size_t indent)
{
    size_t column = 0;
    while (column < doc->out->length && doc->out->data[doc->out->length - 1 - column] != '\n')
        column++;
    if (column > indent && column + strlen(item) > LINE) {
        gm_text_add_char(doc->out, '\n');
        gm_text_repeat(doc->out, ' ', indent);
        item += item[0] == ' ';
    }
    gm_text_add(doc->out, item);
}

static void add_of(struct gm_doc *doc, const char *label, uint64_t part, uint64_t whole, const char *what)
{
    gm_text_printf(doc->out, "  %-12s %s of %s %s\n", label, gm_doc_count(doc, part), gm_doc_count(doc, whole), what);
}

static void add_peaks(struct gm_doc *doc, const struct gm_stats *s)
{
    const struct {
        const char *label;
        const struct gm_stat *stat;
    } rows[] = {{"reserved", s->reserved_bytes},
                {"active", s->active_bytes},
                {"allocated", s->allocated_bytes},
                {"requested", s->requested_bytes}};
    gm_text_add(doc->out, "  peaks       ");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char size[GM_NUMBER_TEXT];
        gm_text_printf(doc->out, "%s%s %s", i == 0 ? " " : ", ", rows[i].label,
                       gm_bytes_format(size, (uint64_t)rows[i].stat->peak));
    }
    gm_text_add_char(doc->out, '\n');
}

static void add_clean(struct gm_doc *doc, const char *text)
{
    char clean[GM_UTF8_CLEAN(GM_MISMATCH_TEXT)];
    gm_utf8_clean_line(clean, sizeof clean, text, strlen(text));
    gm_text_add(doc->out, clean);
}

/* ---- verify ------------------------------------------------------------------------------------------------------ */

static void add_mismatch(struct gm_doc *doc, const struct gm_verify_result *r)
{
    if (!r->has_mismatch)
        return;
    gm_text_add(doc->out, "  first mismatch: ");
    if (r->mismatch_event == GM_ABSENT)
        gm_text_add(doc->out, "at the end");
    else
        gm_text_printf(doc->out, "event %s", gm_doc_count(doc, r->mismatch_event));
    if (r->recorded != GM_ABSENT)
        gm_text_printf(doc->out, ", recorded 0x%" PRIx64, r->recorded);
    if (r->chosen != GM_ABSENT)
        gm_text_printf(doc->out, ", chosen 0x%" PRIx64, r->chosen);
    gm_text_add(doc->out, "\n    ");
    gm_columns_wrap(doc->out, r->reason, 4);
    if (r->other_allocator[0] != '\0')
        return;
    gm_text_add(doc->out, "    ");
    gm_columns_wrap(
        doc->out,
        "reasons can be settings that the file does not tell (--alloc-conf), events that were not recorded, "
        "or a trace that was edited or put together",
        4);
}

static void add_other_allocator(struct gm_doc *doc, const struct gm_verify_result *r)
{
    if (r->other_allocator[0] == '\0')
        return;
    gm_text_add(doc->out, "  not recorded from PyTorch's CUDA allocator:");
    char evidence[GM_INFERRED_TEXT + 1];
    snprintf(evidence, sizeof evidence, " %s", r->other_allocator);
    gm_replay_put_item(doc, evidence, 4);
    gm_text_add_char(doc->out, '\n');
}

static void add_verified(struct gm_doc *doc, const struct gm_verify_result *r)
{
    gm_text_printf(doc->out, "device %" PRId64 ": %s event%s, %s allocation%s\n", r->device,
                   gm_doc_count(doc, r->events), gm_plural(r->events), gm_doc_count(doc, r->allocs),
                   gm_plural(r->allocs));
    add_of(doc, "addresses", r->exact, r->allocs, "exact");
    if (r->inferred_count > 0)
        add_of(doc, "", r->exact_uninferred, r->allocs, "without what had to be inferred:");
    for (size_t i = 0; i < r->inferred_count; i++) {
        struct gm_text line = {0};
        gm_text_printf(&line, "%s: %s", r->inferred[i].what, r->inferred[i].value);
        gm_text_printf(doc->out, "%*s", INDENT, "");
        gm_columns_wrap(doc->out, line.failed ? r->inferred[i].what : line.data, INDENT);
        doc->out->failed |= line.failed;
        gm_text_free(&line);
    }
    add_of(doc, "growths", r->growths_predicted, r->growths, "predicted (segment_alloc, segment_map)");
    add_of(doc, "releases", r->releases_allowed, r->releases, "agree (segment_free, segment_unmap)");
    add_of(doc, "end blocks", r->end_blocks_same, r->end_blocks, "the same");
    add_peaks(doc, &r->stats);
    if (r->retries + r->ooms > 0)
        gm_text_printf(doc->out, "  recorded     %s out-of-memory error%s, %s retr%s\n", gm_doc_count(doc, r->ooms),
                       gm_plural(r->ooms), gm_doc_count(doc, r->retries), r->retries == 1 ? "y" : "ies");
    add_mismatch(doc, r);
    add_other_allocator(doc, r);
}

/* ---- what-if ----------------------------------------------------------------------------------------------------- */

static void add_failure(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_whatif_failure *f = &run->devices[index].whatif.failure;
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    const char *site = gm_names_site(&run->names, f->stack);
    gm_text_printf(doc->out, "  OUT OF MEMORY: tried to allocate %s%s", gm_doc_bytes(doc, f->requested),
                   f->is_at_start  ? ", live since before the trace"
                   : f->is_refused ? ", where the recording ended out of memory, too"
                                   : "");
    char left[3 * GM_NUMBER_TEXT];
    snprintf(left, sizeof left, " (free on the device: %s, reserved: %s)", gm_doc_bytes(doc, f->device_free),
             gm_doc_bytes(doc, f->reserved));
    gm_replay_put_item(doc, left, 4);
    gm_text_add_char(doc->out, '\n');
    if (!f->is_at_start) {
        const struct gm_replay_device *device = &run->devices[index];
        size_t part = device->whatif.parts_played - 1;
        uint64_t since = gm_history_time(h, f->event), first = gm_history_time(h, 0), member, step;
        gm_text_printf(doc->out, "    event %s", gm_doc_count(doc, f->event));
        if (since != GM_REPORT_NONE && first != GM_REPORT_NONE && since >= first)
            gm_text_printf(doc->out, ", %s after the first",
                           gm_doc_duration(doc, gm_plus(since - first, gm_replay_forecast_us(device, part))));
        if (gm_replay_member_of(device, part, &member, &step))
            gm_text_printf(doc->out, ", member %" PRIu64 ", step %" PRIu64, member, step);
        gm_text_add_char(doc->out, '\n');
    }
    gm_text_printf(doc->out, "    site: %s\n    why: ", site == NULL ? "?" : site);
    gm_columns_wrap(doc->out, f->why, 9);
}

static void add_device_calls(struct gm_doc *doc, const struct gm_whatif_result *r)
{
    uint64_t allocs = (uint64_t)r->stats.num_device_alloc, frees = (uint64_t)r->stats.num_device_free,
             retries = (uint64_t)r->stats.num_alloc_retries;
    gm_text_printf(doc->out, "  device calls %s allocation%s, %s release%s, %s retr%s, %s empty_cache()\n",
                   gm_doc_count(doc, allocs), gm_plural(allocs), gm_doc_count(doc, frees), gm_plural(frees),
                   gm_doc_count(doc, retries), retries == 1 ? "y" : "ies", gm_doc_count(doc, r->empty_caches));
}

/* The answer to --memory and --gpu. */
static void add_fitting(struct gm_doc *doc, const struct gm_replay_run *run, size_t index)
{
    const uint64_t peak = (uint64_t)run->devices[index].whatif.stats.reserved_bytes[GM_STAT_ALL].peak;
    if (gm_replay_is_bounded(run) && peak <= run->capacity && gm_replay_most_untraced(run) <= run->capacity)
        gm_text_printf(doc->out, "  %-12s in %s: %s (%s %%) are left at the peak\n",
                       run->devices[index].was_refused ? "fits so far" : "fits", gm_doc_bytes(doc, run->capacity),
                       gm_doc_bytes(doc, run->capacity - peak), gm_doc_share(doc, run->capacity - peak, run->capacity));
}

static void add_replayed(struct gm_doc *doc, struct gm_replay_run *run, size_t index, bool is_long)
{
    const struct gm_whatif_result *r = &run->devices[index].whatif;
    gm_text_printf(doc->out, "device %" PRId64 ": %s event%s, %s request%s\n", r->device, gm_doc_count(doc, r->events),
                   gm_plural(r->events), gm_doc_count(doc, r->allocs), gm_plural(r->allocs));
    gm_text_printf(doc->out, "  start        %s block%s, %s, %s\n", gm_doc_count(doc, r->start_blocks),
                   gm_plural(r->start_blocks), gm_doc_bytes(doc, r->start_bytes),
                   r->from_layout ? "at the recorded addresses" : "requested again from an empty allocator");
    add_peaks(doc, &r->stats);
    gm_replay_range_words(doc, "               ", &run->devices[index].range);
    uint64_t peak = (uint64_t)r->stats.active_bytes[GM_STAT_ALL].peak;
    if (r->start_blocks > 0)
        gm_text_printf(doc->out, "               %s (%s %%) of the active peak were live at the start\n",
                       gm_doc_bytes(doc, r->start_bytes_at_peak), gm_doc_share(doc, r->start_bytes_at_peak, peak));
    if (run->options->backend != GM_REPLAY_CUDA_ASYNC) /* those would be the model's */
        add_device_calls(doc, r);
    gm_replay_gpu_words(doc, run, index);
    if (!r->has_failed)
        add_fitting(doc, run, index);
    if (r->recorded_ooms > r->failure.is_refused)
        gm_text_printf(doc->out, "  recorded out-of-memory requests are not repeated: %s\n",
                       gm_doc_count(doc, r->recorded_ooms - r->failure.is_refused));
    gm_replay_repetition_words(doc, run, index);
    if (r->has_failed)
        add_failure(doc, run, index);
    add_other_allocator(doc, &run->devices[index].verify);
    if (is_long) {
        gm_replay_peak_words(doc, run, index);
        gm_replay_member_words(doc, run, index);
    }
}

static void add_changes(struct gm_doc *doc, const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->options->changes.n; i++) {
        const struct gm_changed_class *changed = &run->changed[i];
        char a[GM_NUMBER_TEXT], b[GM_NUMBER_TEXT], c[GM_NUMBER_TEXT];
        gm_text_printf(doc->out, "%s %s:%s: ", changed->factor == 0 ? "dropped" : "scaled", changed->kind,
                       changed->name);
        if (changed->allocations == 0)
            gm_text_add(doc->out, "no allocation of this trace belongs to it\n");
        else
            gm_text_printf(doc->out, "%s allocation%s, requested in all: %s, now %s\n",
                           gm_count_format(a, changed->allocations), gm_plural(changed->allocations),
                           gm_bytes_format(b, changed->bytes_before), gm_bytes_format(c, changed->bytes_after));
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void add_head(struct gm_doc *doc, const struct gm_replay_run *run)
{
    gm_text_printf(doc->out, "%s of ", run->options->verify ? "verification" : "what-if replay");
    add_clean(doc, run->snapshot.source.path);
    gm_text_printf(doc->out, "\nsettings: %s\n",
                   run->conf_text.length == 0 ? "PyTorch's defaults" : run->conf_text.data);
    if (run->options->verify)
        return;
    if (run->gpu != NULL)
        gm_text_printf(doc->out, "device: %s, %s in all, %s usable\n", run->gpu->title,
                       gm_doc_bytes(doc, run->gpu->total), gm_doc_bytes(doc, run->capacity));
    else if (!gm_replay_on_gpu(run->options) || gm_replay_is_bounded(run))
        gm_text_printf(doc->out, "device: %s\n",
                       gm_replay_is_bounded(run) ? gm_doc_bytes(doc, run->capacity) : "unlimited memory");
}

static void say_all(struct gm_doc *doc, struct gm_replay_run *run, bool is_long)
{
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    add_head(doc, run);
    gm_replay_gpu_head_words(doc, run);
    add_changes(doc, run);
    for (size_t i = 0; i < run->device_count; i++) {
        if (run->options->verify)
            add_verified(doc, &run->devices[i].verify);
        else
            add_replayed(doc, run, i, is_long);
    }
    gm_replay_untraced(doc, run);
    gm_replay_notes(doc, run);
    if (is_long)
        gm_replay_aggregate_words(doc, run);
    if (run->options->limit != UINT64_MAX)
        gm_replay_limit_words(doc, run);
    if (is_long || run->options->limit != UINT64_MAX)
        gm_replay_say_cards(doc, run);
    gm_replay_search_words(doc, run, is_long);
    gm_section_plan(doc, run->report.plan);
    gm_replay_oom_advice_words(doc, run);
    if (verdict == GM_VERDICT_OOM && run->search == NULL && run->recommended == NULL && run->options->members == 0 &&
        run->options->steps == 0)
        gm_text_add(doc->out, "--fit tells how much memory is enough, --sweep which allocator settings need least\n");
    if (verdict == GM_VERDICT_UNKNOWN)
        gm_text_printf(doc->out, "verdict: not known, %s\n", gm_replay_unknown_words(run));
    else if (verdict != GM_VERDICT_NONE)
        gm_text_printf(doc->out, "verdict: %s\n", gm_replay_verdict(run));
}

void gm_replay_words(struct gm_text *out, struct gm_replay_run *run, bool is_long)
{
    struct gm_doc doc;
    gm_doc_begin(&doc, GM_TXT, out);
    say_all(&doc, run, is_long);
    gm_doc_end(&doc);
}
