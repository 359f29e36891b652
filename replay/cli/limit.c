/* SPDX-License-Identifier: Apache-2.0
 *
 * --limit: the verdict.
 */
#include "analyze/report/numbers.h"
#include "replay/cli/judged.h"

#include <inttypes.h>

bool gm_replay_has_failed(const struct gm_replay_run *run)
{
    for (size_t i = 0; i < run->device_count; i++)
        if (!run->options->verify && run->devices[i].whatif.has_failed)
            return true;
    return false;
}

bool gm_replay_is_cut_short(const struct gm_replay_run *run)
{
    return gm_replay_has_failed(run) || gm_replay_is_open(run);
}

bool gm_replay_is_tight(uint64_t peak, uint64_t whole)
{
    return peak > whole - whole / 100 * GM_REPLAY_MARGIN;
}

/* The first part of device `index` in which reserved bytes pass the limit, if it is a member's step. */
static bool find_first_over(const struct gm_replay_run *run, size_t index, uint64_t *member, uint64_t *step)
{
    const struct gm_replay_device *device = &run->devices[index];
    size_t i = 0, played = device->whatif.parts_played;
    while (i < played && device->parts[i].peak_reserved <= run->options->limit)
        i++;
    return i < played && gm_replay_member_of(device, i, member, step);
}

void gm_replay_limit_words(struct gm_doc *doc, const struct gm_replay_run *run)
{
    uint64_t limit = run->options->limit, peak = gm_replay_need(run);
    char d[GM_NUMBER_TEXT];
    const enum gm_replay_verdict verdict = gm_replay_judged(run);
    bool passes = verdict == GM_VERDICT_PASS;
    uint64_t margin = peak > limit ? peak - limit : limit - peak;
    gm_text_printf(doc->out, "%s: peak reserved %s%s, limit %s, %s %s (%s %% of the limit)\n",
                   passes                          ? "TEST PASSED"
                   : verdict == GM_VERDICT_UNKNOWN ? "TEST NOT DECIDED"
                                                   : "TEST FAILED",
                   gm_replay_is_cut_short(run) ? "at least " : "", gm_doc_bytes(doc, peak), gm_doc_bytes(doc, limit),
                   peak > limit ? "over by" : "safety margin", gm_doc_bytes(doc, margin),
                   gm_percent_format(d, margin, limit, 1));
    if (passes && gm_replay_is_tight(peak, limit))
        gm_text_printf(doc->out, "less than %d %% of the limit are left: another input may need more\n",
                       GM_REPLAY_MARGIN);
    for (size_t i = 0; i < run->device_count; i++) {
        uint64_t member, step;
        if (find_first_over(run, i, &member, &step))
            gm_text_printf(doc->out,
                           "device %" PRId64 " exceeds the limit first in member %" PRIu64 ", step %" PRIu64 "\n",
                           run->devices[i].whatif.device, member, step);
    }
    if (!run->options->verify)
        gm_replay_limit_advice_words(doc, run);
}

void gm_replay_limit_json(struct gm_doc *doc, const struct gm_replay_run *run)
{
    uint64_t limit = run->options->limit, peak = gm_replay_need(run);
    if (limit == UINT64_MAX) {
        gm_json_null(&doc->json, "limit");
        return;
    }
    gm_json_open(&doc->json, "limit", '{');
    gm_json_number(&doc->json, "bytes", limit);
    gm_json_number(&doc->json, "peak_reserved_bytes", peak);
    gm_json_signed(&doc->json, "margin_bytes", (int64_t)(limit - peak));
    gm_json_percent(&doc->json, peak > limit ? "over_percent" : "margin_percent",
                    peak > limit ? peak - limit : limit - peak, limit);
    gm_replay_say_cards(doc, run);
    gm_json_open(&doc->json, "exceeded_in", '[');
    for (size_t i = 0; i < run->device_count; i++) {
        uint64_t member, step;
        if (!find_first_over(run, i, &member, &step))
            continue;
        gm_json_open_flat(&doc->json, NULL, '{');
        gm_json_signed(&doc->json, "device", run->devices[i].whatif.device);
        gm_json_number(&doc->json, "member", member);
        gm_json_number(&doc->json, "step", step);
        gm_json_close(&doc->json, '}');
    }
    gm_json_close(&doc->json, ']');
    gm_replay_recommended_json(doc, run);
    gm_json_close(&doc->json, '}');
}
