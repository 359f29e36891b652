/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/shell.h"

#include "analyze/cli/interrupt.h"
#include "analyze/cli/notice_files.h"
#include "analyze/cli/operands.h"
#include "analyze/cli/page_runs.h"
#include "analyze/cli/rules_file.h"

#include <string.h>

enum gm_status gm_shell_begin(struct gm_shell *shell, const struct gm_usual_options *options, bool makes_runs,
                              struct gm_error *err)
{
    shell->options = options;
    shell->when = time(NULL);
    if (options->threads > 0)
        shell->threads = (int)options->threads;
    else if (shell->threads == 0)
        shell->threads = gm_cpu_count();
    enum gm_status status = makes_runs ? gm_run_check(options->results, err) : GM_OK;
    if (status == GM_OK && makes_runs && !options->no_charts &&
        (shell->fonts = gm_fonts_start(shell->threads > 1 && !shell->draws_late)) == NULL)
        status = gm_no_memory(err);
    GM_THEN(status, gm_ignore_load(&shell->ignore, options, err));
    return status == GM_OK ? gm_rules_load(&shell->rules, options->categories, &shell->rules_text, err) : status;
}

enum gm_status gm_shell_name(struct gm_arena *arena, const char **run_name, const char **timestamp, const char *name,
                             time_t when, struct gm_error *err)
{
    char stamp[GM_RUN_DATE];
    gm_run_date(stamp, when);
    *run_name = gm_arena_copy(arena, name, strlen(name));
    *timestamp = gm_arena_copy(arena, stamp, strlen(stamp));
    return *run_name != NULL && *timestamp != NULL ? GM_OK : gm_no_memory(err);
}

enum gm_status gm_shell_publish(struct gm_run **run, struct gm_shell *shell, struct gm_run_files *files,
                                const char *name, const char *json_name, struct gm_error *err)
{
    *run = NULL;
    enum gm_status status = gm_run_files_write(run, files, shell->options->results, name, shell->when, err);
    gm_call_time(&shell->said, "draw+write");
    if (status != GM_OK)
        return status;
    gm_shell_point_latest(shell, *run);
    struct gm_text json = gm_run_files_take(files, json_name);
    gm_call_put(&shell->said, shell->options->json, &json);
    return GM_OK;
}

void gm_shell_point_latest(struct gm_shell *shell, struct gm_run *run)
{
    struct gm_error err;
    bool was_left_alone = false;
    gm_interrupt_hold();
    const enum gm_status status = gm_run_point_latest(run, &was_left_alone, &err);
    gm_interrupt_release();
    if (status != GM_OK)
        gm_call_fail(&shell->said, NULL, &err);
    if (was_left_alone)
        gm_call_warn(&shell->said, shell->options->results, "'latest' there is no symbolic link; left as it is");
    if (shell->options->open)
        gm_page_open(&shell->said, gm_run_path(run));
}

void gm_shell_print(struct gm_shell *shell, struct gm_text *summary)
{
    const bool is_taken = gm_path_is_standard(shell->options->json) || gm_formats_take_stdout(&shell->options->formats);
    if (!shell->options->quiet && !is_taken)
        gm_call_print(&shell->said, summary);
    else
        gm_text_free(summary);
}

int gm_shell_end(struct gm_shell *shell)
{
    gm_ignore_end(&shell->ignore, &shell->said);
    gm_category_rules_free(shell->rules);
    gm_text_free(&shell->rules_text);
    gm_fonts_free(shell->fonts);
    return gm_call_end(&shell->said);
}
