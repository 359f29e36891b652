/* SPDX-License-Identifier: Apache-2.0
 *
 * --format: the verdict, and the plan, to a CI.
 */
#include "analyze/base/size.h"
#include "replay/cli/gmreplay.h"

#include <inttypes.h>

/* The option whose question the verdict answers. */
static const char *asked(const struct gm_replay_options *o)
{
    return o->verify                 ? "verify"
           : o->limit != UINT64_MAX  ? "limit"
           : o->gpu != NULL          ? "gpu"
           : o->memory != UINT64_MAX ? "memory"
           : o->fit                  ? "fit"
                                     : "replay";
}

static void add_title(struct gm_text *out, const struct gm_replay_run *run, enum gm_replay_verdict verdict)
{
    char size[GM_SIZE_TEXT], whole[GM_SIZE_TEXT];
    const struct gm_replay_device *failed = gm_replay_first_failed(run);
    const uint64_t limit = run->options->limit;
    if (verdict == GM_VERDICT_UNKNOWN) {
        gm_text_printf(out, "not known whether it runs, %s", gm_replay_unknown_words(run));
    } else if (verdict == GM_VERDICT_OOM && failed != NULL) {
        const struct gm_whatif_failure *f = &failed->whatif.failure;
        gm_text_printf(out, "out of memory on device %" PRId64, failed->kept->history.device);
        if (f->is_at_start)
            gm_text_printf(out, ", for %s, live since before the trace", gm_size_format(size, f->requested));
        else
            gm_text_printf(out, " at event %" PRIu32 ", for a request of %s", f->event,
                           gm_size_format(size, f->requested));
    } else if (run->options->verify && limit == UINT64_MAX) {
        uint64_t exact = 0, all = 0;
        for (size_t i = 0; i < run->device_count; i++) {
            exact += run->devices[i].verify.exact;
            all += run->devices[i].verify.allocs;
        }
        gm_text_printf(out, "%" PRIu64 " of %" PRIu64 " addresses are chosen as recorded", exact, all);
    } else {
        gm_text_printf(out, "peak reserved is %s", gm_size_format(size, gm_replay_need(run)));
        if (limit != UINT64_MAX)
            gm_text_printf(out, ", the limit %s", gm_size_format(whole, limit));
    }
}

/* What there is to say behind it; NULL: nothing. */
static const char *why(const struct gm_replay_run *run, const struct gm_replay_device *failed)
{
    if (failed != NULL)
        return failed->whatif.failure.why;
    for (size_t i = 0; run->options->verify && i < run->device_count; i++)
        if (run->devices[i].verify.has_mismatch)
            return run->devices[i].verify.reason;
    return NULL;
}

static void add(struct gm_notices *notices, struct gm_notice *notice, bool is_well,
                const struct gm_notice_places *places)
{
    notice->level = is_well ? GM_NOTICE_PASSED : GM_NOTICE_ERROR;
    notice->is_failure = !is_well;
    gm_notices_add(notices, notice, places);
}

void gm_replay_notices(struct gm_notices *notices, struct gm_replay_run *run, const struct gm_notice_places *places)
{
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    const struct gm_replay_device *failed = verdict == GM_VERDICT_OOM ? gm_replay_first_failed(run) : NULL;
    const struct gm_card_plan *plan = run->report.plan;
    GM_FREED struct gm_text title = {0};
    add_title(&title, run, verdict);
    notices->failed = notices->failed || title.failed;
    if (!notices->failed) {
        struct gm_notice notice = {.rule = asked(run->options),
                                   .title = title.data,
                                   .text = why(run, failed),
                                   .subject = run->snapshot.source.path,
                                   .site = failed == NULL ? NULL : gm_replay_site(run, failed->whatif.failure.stack)};
        add(notices, &notice, verdict == GM_VERDICT_NONE || verdict == GM_VERDICT_PASS, places);
        if (plan != NULL) {
            notice.rule = "plan";
            notice.title = plan->brief;
            notice.text = notice.site = NULL;
            add(notices, &notice, plan->is_enough && !plan->is_open, places);
        }
    }
}
