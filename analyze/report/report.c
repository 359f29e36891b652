/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/report.h"

#include "analyze/report/numbers.h"

#include <stdio.h>
#include <string.h>

bool gm_report_rounds_up(const struct gm_report *report)
{
    static const char key[] = "roundup_power2_divisions"; /* its slots are settings of their own, or it stands alone */
    for (size_t i = 0; i < report->setting_count; i++)
        if (strncmp(report->settings[i].key, key, sizeof key - 1) == 0 && !report->settings[i].is_default)
            return true;
    return false;
}

const char *gm_report_empty_cache_differs(const struct gm_report *report)
{
    static const char *const reasons[] = {
        "torch.cuda.empty_cache() leaves private pools in use (CUDA graphs, MemPool) alone.",
        "torch.cuda.empty_cache() waits for pending frees first and gives back their blocks, too.",
        "torch.cuda.empty_cache() waits for pending frees first and gives back their blocks, too, and leaves private "
        "pools "
        "in use (CUDA graphs, MemPool) alone."};
    const uint64_t returned = report->fragmentation.empty_cache, releasable = report->fragmentation.releasable;
    bool has_private = returned<releasable, has_pending = report->totals.pending> 0;
    for (size_t d = 0; d < report->device_count; d++)
        for (size_t p = 0; p < report->devices[d].pool_count; p++)
            has_private |= report->devices[d].pools[p].is_private && report->devices[d].pools[p].totals.inactive > 0;
    return returned == releasable ? NULL : reasons[!has_pending ? 0 : !has_private ? 1 : 2];
}

struct gm_slice gm_slice_named(const struct gm_slice *slices, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (slices[i].name != NULL && strcmp(slices[i].name, name) == 0)
            return slices[i];
    return (struct gm_slice){.name = NULL};
}

bool gm_report_roles_say_more(const struct gm_report *report)
{
    const uint64_t half = report->totals.allocated / 2;
    return report->roles != NULL && report->role_count > 0 &&
           gm_slice_named(report->categories, report->category_count, "No stack recorded").bytes > half &&
           gm_slice_named(report->roles, report->role_count, "Unknown").bytes < half;
}

bool gm_block_has_role_only(const struct gm_block_row *block)
{
    return block->frame_count == 0 && block->role != NULL && strcmp(block->role, "Unknown") != 0;
}

double gm_totals_efficiency(const struct gm_totals *totals)
{
    return totals->reserved == 0 ? -1.0 : 100.0 * (double)totals->allocated / (double)totals->reserved;
}

enum gm_grade gm_grade_of(double efficiency_percent)
{
    if (efficiency_percent < 0)
        return GM_GRADE_NONE;
    if (efficiency_percent > 98)
        return GM_GRADE_EXCELLENT;
    return efficiency_percent >= 95 ? GM_GRADE_GOOD : GM_GRADE_POOR;
}

const char *gm_grade_name(enum gm_grade grade)
{
    static const char *const names[] = {"n/a", "poor", "good", "excellent"};
    return names[grade];
}

const char *gm_severity_name(enum gm_severity severity)
{
    static const char *const names[] = {"info", "warning", "critical"};
    return names[severity];
}

const char *gm_reliability_name(enum gm_reliability reliability)
{
    static const char *const names[] = {"no-trace", "incomplete", "doubtful", "reliable"};
    return names[reliability];
}

const char *gm_settings_name(const char *settings)
{
    return settings == NULL || settings[0] == '\0' ? "PyTorch's defaults" : settings;
}

void gm_report_free(struct gm_report *report)
{
    gm_arena_free(&report->arena);
    *report = (struct gm_report){0};
}

const char *gm_ignored_format(char text[GM_IGNORED_TEXT], const struct gm_diagnosis *diagnosis)
{
    const size_t n = diagnosis->ignored_count, all = diagnosis->ignore_rule_count;
    size_t used = 0;
    for (size_t i = 0; i < all; i++)
        used += diagnosis->ignore_rules[i].findings > 0;
    int length =
        snprintf(text, GM_IGNORED_TEXT, "%zu finding%s ignored by %zu rule%s", n, gm_plural(n), used, gm_plural(used));
    if (used < all)
        snprintf(text + length, GM_IGNORED_TEXT - (size_t)length, ", nothing fell under %zu%s", all - used,
                 used > 0 ? " more" : "");
    return text;
}

int gm_finding_order(const void *left, const void *right)
{
    const struct gm_finding *a = left, *b = right;
    if (a->severity != b->severity)
        return a->severity > b->severity ? -1 : 1;
    uint64_t x = a->bytes == GM_REPORT_NONE ? 0 : a->bytes, y = b->bytes == GM_REPORT_NONE ? 0 : b->bytes;
    if (x != y)
        return x > y ? -1 : 1;
    return strcmp(a->id, b->id);
}

bool gm_site_has_stack(const char *site)
{
    return strcmp(site, "no stack recorded") != 0; /* as struct gm_block_row has it */
}

/* ---- the timeline ----------------------------------------------------------------------------------------------- */

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
