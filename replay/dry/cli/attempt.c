/* SPDX-License-Identifier: Apache-2.0
 *
 * A run of COMMAND, or, with --find, one run after the other.
 */
#include "analyze/base/clock.h"
#include "analyze/base/size.h"
#include "replay/dry/cli/gmdry.h"

#include <stdio.h>

static enum gm_dry_verdict judge(const struct gm_dry_result *result)
{
    const struct gm_dry_told *told = result->told;
    bool is_oom = false, is_over = false;
    for (size_t i = 0; i < told->processes.n; i++)
        is_oom = is_oom || told->processes.v[i].wanted > 0;
    for (size_t i = 0; i < told->device_count; i++)
        is_over = is_over || (result->options->limit > 0 && told->devices[i].peak_reserved > result->options->limit);
    if (result->exit_code != 0)
        return is_oom ? GM_DRY_OOM : GM_DRY_NONE;
    return told->processes.n == 0 ? GM_DRY_NONE : is_over ? GM_DRY_FAIL : GM_DRY_FITS;
}

void gm_dry_attempt_free(struct gm_dry_attempt *attempt)
{
    gm_dry_told_free(&attempt->told);
    if (attempt->is_made)
        gm_dry_folder_remove(&attempt->folder);
    gm_dry_command_free(attempt->own);
    *attempt = (struct gm_dry_attempt){0};
}

enum gm_status gm_dry_attempt(struct gm_dry_attempt *attempt, const struct gm_dry_options *options,
                              const struct gm_gpu *gpu, char **command, struct gm_error *err)
{
    const double began = gm_seconds();
    enum gm_status status = gm_dry_folder_make(&attempt->folder, err);
    attempt->is_made = status == GM_OK;
    attempt->result =
        (struct gm_dry_result){.options = options, .gpu = gpu, .command = command, .told = &attempt->told};
    GM_THEN(status, gm_dry_run(&attempt->result.exit_code, command, &attempt->folder, options, gpu, err));
    GM_THEN(status, gm_dry_told_read(&attempt->told, &attempt->folder, err));
    attempt->result.verdict = judge(&attempt->result);
    attempt->seconds = gm_seconds() - began;
    return status;
}

/* ---- --find ------------------------------------------------------------------------------------------------------ */

/* The end of what COMMAND printed. */
static void show_output(const struct gm_dry_folder *folder)
{
    char path[PATH_MAX], text[4096];
    snprintf(path, sizeof path, "%s/output", folder->path);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fseek(file, -(long)sizeof text, SEEK_END) != 0)
        rewind(file);
    const size_t n = fread(text, 1, sizeof text, file);
    fwrite(text, 1, n, stderr);
    fclose(file);
}

static void add_try(struct gm_dry_try *try, const struct gm_dry_attempt *attempt, const struct gm_dry_options *options)
{
    const struct gm_dry_device *device = gm_dry_largest(&attempt->told);
    try->reserved = device->peak_reserved;
    try->allocated = device->peak_allocated;
    try->bytes = options->limit > 0 ? device->peak_reserved : device->peak_allocated;
    try->fits = attempt->result.verdict == GM_DRY_FITS;
    try->seconds = attempt->seconds;
}

static void say(const struct gm_dry_options *options, const char *name, const char *value, const struct gm_dry_try *try)
{
    char reserved[GM_SIZE_TEXT];
    if (!options->usual.quiet)
        fprintf(stderr, "gmdry: %s=%s: %s, %s reserved, %.1f s\n", name, value, try->fits ? "fits" : "does not fit",
                gm_size_format(reserved, try->reserved), try->seconds);
}

/* One more try. *kept is that of the largest value that fits; of the smallest one as long as none does. */
static enum gm_status try_one(struct gm_dry_find *find, struct gm_dry_attempt *kept, const struct gm_dry_result *asked,
                              size_t index, struct gm_error *err)
{
    struct gm_dry_attempt attempt = {.own = gm_dry_command(asked->command, find->range, index)};
    struct gm_dry_try try = {.index = index};
    char value[GM_DRY_VALUE];
    try.value = gm_dry_range_value(find->range, index, value);
    if (attempt.own == NULL)
        return gm_no_memory(err);
    enum gm_status status = gm_dry_attempt(&attempt, asked->options, asked->gpu, attempt.own, err);
    const struct gm_dry_try *best = gm_dry_find_largest(find);
    if (status == GM_OK)
        add_try(&try, &attempt, asked->options);
    const bool is_kept = !kept->is_made || (try.fits && (best == NULL || best->index < index));
    const bool is_broken = status == GM_OK && attempt.result.verdict == GM_DRY_NONE;
    if (is_broken) {
        show_output(&attempt.folder);
        status = attempt.told.processes.n == 0 && attempt.result.exit_code == 0
                     ? gm_fail(err, GM_E_READ, GM_NO_OFFSET,
                               "--find: with %s=%s the command used no GPU through PyTorch", find->range->name, value)
                     : gm_fail(err, GM_E_READ, GM_NO_OFFSET, "--find: with %s=%s the command failed with exit code %d",
                               find->range->name, value, attempt.result.exit_code);
    }
    if (status == GM_OK && !GM_VEC_PUSH(&find->tries, try))
        status = gm_no_memory(err);
    if (status == GM_OK)
        say(asked->options, find->range->name, value, &try);
    if (status != GM_OK || !is_kept) {
        gm_dry_attempt_free(&attempt);
        return status;
    }
    gm_dry_attempt_free(kept);
    *kept = attempt;
    kept->result.told = &kept->told;
    return GM_OK;
}

enum gm_status gm_dry_seek(struct gm_dry_find *find, struct gm_dry_attempt *kept, const struct gm_dry_options *options,
                           const struct gm_gpu *gpu, char **command, struct gm_error *err)
{
    struct gm_dry_options hidden = *options;
    struct gm_dry_result asked = {.options = &hidden, .gpu = gpu, .command = command};
    hidden.hides_output = !options->usual.verbose;
    find->capacity = options->limit > 0 ? options->limit : gm_dry_usable(options, gpu);
    enum gm_status status = GM_OK;
    for (size_t next; status == GM_OK && (next = gm_dry_find_next(find)) < find->range->count;)
        status = try_one(find, kept, &asked, next, err);
    kept->result.options = options;
    kept->result.find = find;
    return status;
}
