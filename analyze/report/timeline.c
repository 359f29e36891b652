/* SPDX-License-Identifier: Apache-2.0
 *
 * The words for what the timeline counts: they are the same in every output and in the keys of analysis.json.
 */
#include "analyze/report/report.h"

bool gm_steps_has_phase(const struct gm_steps *steps, enum gm_phase phase, uint64_t event)
{
    for (size_t i = 0; i < steps->band_count; i++) {
        const struct gm_band *band = &steps->bands[i];
        if (band->phase == phase &&
            (event == GM_REPORT_NONE || (band->first_event <= event && event <= band->last_event)))
            return true;
    }
    return false;
}

const char *gm_phase_name(enum gm_phase phase)
{
    static const char *const names[GM_PHASE_COUNT] = {"other", "forward", "backward", "optimizer", "prefill", "decode"};
    return names[phase];
}

const char *gm_run_pattern_name(enum gm_run_pattern pattern)
{
    static const char *const names[] = {"unknown", "stable", "gradual growth", "sudden spike", "warm-up"};
    return names[pattern];
}

const char *gm_unusable_name(enum gm_unusable reason)
{
    static const char *const names[GM_UNUSABLE_COUNT] = {"hole too small", "wrong stream", "wrong pool",
                                                         "whole segment", "large enough, refused by a rule"};
    return names[reason];
}
