/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator settings that the file records, as rows: key, value in the syntax of the settings string, and whether
 * that is PyTorch's default.
 */
#include "analyze/base/ascii.h"
#include "analyze/state/state_pass.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_default(const struct gm_snapshot *s, const struct gm_setting *setting)
{
    static const char *const off_keys[] = {"expandable_segments",
                                           "release_lock_on_cudamalloc",
                                           "pinned_use_cuda_host_register",
                                           "graph_capture_record_stream_reuse",
                                           "throw_on_cudamalloc_oom",
                                           "garbage_collection_threshold",
                                           NULL};
    static const char divisions[] = "roundup_power2_divisions.";
    size_t n;
    double number = setting->type == GM_SETTING_REAL ? setting->real : (double)setting->integer;
    bool is_number =
        setting->type == GM_SETTING_BOOL || setting->type == GM_SETTING_INTEGER || setting->type == GM_SETTING_REAL;
    if (setting->type == GM_SETTING_STRING) {
        gm_string(s, setting->string, &n);
        return n == 0;
    }
    if (!is_number)
        return setting->type == GM_SETTING_NONE;
    if (strcmp(setting->key, "max_split_size") == 0)
        return setting->type == GM_SETTING_INTEGER && setting->integer == -1;
    if (strcmp(setting->key, "pinned_num_register_threads") == 0)
        return setting->type == GM_SETTING_INTEGER && setting->integer == 1;
    if (strncmp(setting->key, divisions, sizeof divisions - 1) == 0)
        return number == 0;
    return gm_is_one_of(setting->key, off_keys) && number == 0;
}

static const char *real_text(struct gm_arena *arena, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", value);
    for (char *c = text; *c != '\0'; c++) /* whatever the locale */
        if (*c == ',')
            *c = '.';
    return gm_arena_copy(arena, text, strlen(text));
}

static const char *value_text(struct gm_pass *pass, const struct gm_setting *setting)
{
    struct gm_arena *arena = &pass->report->arena;
    switch (setting->type) {
    case GM_SETTING_NONE:
        return "None";
    case GM_SETTING_BOOL:
        return setting->integer != 0 ? "True" : "False";
    case GM_SETTING_INTEGER:
        return gm_arena_printf(arena, "%" PRId64, setting->integer);
    case GM_SETTING_REAL:
        return real_text(arena, setting->real);
    case GM_SETTING_STRING:
        break;
    }
    return gm_names_string(&pass->names, setting->string);
}

bool gm_pass_settings(struct gm_pass *pass)
{
    const struct gm_snapshot *s = pass->snapshot;
    struct gm_report *report = pass->report;
    if (s->has_settings) {
        struct gm_setting_row *rows = gm_arena_calloc(&report->arena, s->setting_count, sizeof *rows);
        if (rows == NULL)
            return false;
        for (size_t i = 0; i < s->setting_count; i++) {
            rows[i].key = gm_clean_copy(&report->arena, s->settings[i].key);
            rows[i].value = value_text(pass, &s->settings[i]);
            rows[i].is_default = is_default(s, &s->settings[i]);
            if (rows[i].key == NULL || rows[i].value == NULL)
                return false;
        }
        report->settings = rows;
        report->setting_count = s->setting_count;
    }
    const char **warnings = gm_arena_calloc(&report->arena, s->warning_count, sizeof *warnings);
    for (size_t i = 0; warnings != NULL && i < s->warning_count; i++)
        if ((warnings[i] = gm_clean_copy(&report->arena, s->warnings[i])) == NULL)
            return false;
    report->warnings = warnings;
    report->warning_count = s->warning_count;
    return warnings != NULL;
}
