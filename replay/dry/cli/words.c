/* SPDX-License-Identifier: Apache-2.0
 *
 * The line on top, and --json: gmdry.run/1.
 */
#include "analyze/base/size.h"
#include "analyze/words/json_out.h"
#include "replay/dry/cli/gmdry.h"

#include <string.h>

enum { TIGHT_PERCENT = 10 }; /* as gmreplay's */

static const struct gm_dry_device *largest(const struct gm_dry_told *told)
{
    const struct gm_dry_device *most = &told->devices[0];
    for (size_t i = 1; i < told->device_count; i++)
        if (told->devices[i].peak_reserved > most->peak_reserved)
            most = &told->devices[i];
    return most;
}

/* By what the run reserved: with less memory the allocator would have given back more, so a smaller one may do. */
static void add_smallest(struct gm_text *out, uint64_t peak)
{
    size_t i = 0;
    while (i < gm_gpu_count() && (gm_gpu_at(i)->chip.major == 0 || gm_gpu_usable(gm_gpu_at(i)) < peak))
        i++;
    if (i == gm_gpu_count()) {
        gm_text_add(out, "; no card of the table has so much");
        return;
    }
    const uint64_t usable = gm_gpu_usable(gm_gpu_at(i));
    gm_text_printf(out, "; smallest card: %s%s", gm_gpu_at(i)->name,
                   peak > usable - usable / 100 * TIGHT_PERCENT ? " (tight)" : "");
}

static const struct gm_dry_process *out_of_memory(const struct gm_dry_told *told)
{
    for (size_t i = 0; i < told->process_count; i++)
        if (told->processes[i].wanted > 0)
            return &told->processes[i];
    return NULL;
}

void gm_dry_line(struct gm_text *out, const struct gm_dry_result *result)
{
    char reserved[GM_SIZE_TEXT], allocated[GM_SIZE_TEXT], other[GM_SIZE_TEXT], more[GM_SIZE_TEXT];
    const struct gm_dry_told *told = result->told;
    const struct gm_dry_device *most = largest(told);
    const uint64_t usable = gm_dry_usable(result->options, result->gpu), limit = result->options->limit;
    if (told->process_count == 0) {
        gm_text_add(out, "no process of the command used the GPU through PyTorch: nothing was recorded\n");
        return;
    }
    gm_size_format(reserved, most->peak_reserved);
    gm_size_format(allocated, most->peak_allocated);
    if (result->verdict == GM_DRY_OOM) {
        const struct gm_dry_process *process = out_of_memory(told);
        gm_text_printf(out,
                       "does not fit on %s: out of memory at %s reserved (peak %s allocated) of %s, %s more wanted\n",
                       result->gpu->name, reserved, allocated, gm_size_format(other, usable),
                       process == NULL ? "some" : gm_size_format(more, process->wanted));
        return;
    }
    gm_text_printf(out, "needs %s reserved on %s (peak %s allocated): ", reserved, result->gpu->name, allocated);
    if (result->verdict == GM_DRY_FAIL)
        gm_text_printf(out, "%s over the limit", gm_size_format(other, most->peak_reserved - limit));
    else if (result->verdict == GM_DRY_NONE)
        gm_text_printf(out, "the command failed with exit code %d, so it may need more", result->exit_code);
    else
        gm_text_printf(out, "fits with %s left", gm_size_format(other, usable - most->peak_reserved));
    add_smallest(out, most->peak_reserved);
    gm_text_add(out, "\n");
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_names(struct gm_json *json, const char *key, char *const *names, size_t count)
{
    gm_json_open(json, key, '[');
    for (size_t i = 0; i < count; i++)
        gm_json_string(json, NULL, names[i]);
    gm_json_close(json, ']');
}

static void add_devices(struct gm_json *json, const struct gm_dry_result *result)
{
    const struct gm_dry_told *told = result->told;
    const uint64_t total = gm_dry_total(result->options, result->gpu);
    gm_json_open(json, "devices", '[');
    for (size_t i = 0; i < told->device_count; i++) {
        const struct gm_dry_device *d = &told->devices[i];
        if (d->processes == 0)
            continue;
        gm_json_open(json, NULL, '{');
        gm_json_number(json, "device", i);
        gm_json_number(json, "peak_allocated_bytes", d->peak_allocated);
        gm_json_number(json, "peak_reserved_bytes", d->peak_reserved);
        gm_json_number(json, "context_bytes", total - gm_dry_usable(result->options, result->gpu));
        gm_json_number(json, "total_bytes", total);
        gm_json_number(json, "num_ooms", d->ooms);
        gm_json_number(json, "num_alloc_retries", d->retries);
        gm_json_number(json, "processes", d->processes);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

static void add_kernels(struct gm_json *json, const struct gm_dry_told *told)
{
    gm_json_open(json, "kernels", '[');
    for (size_t i = 0; i < told->kernel_count; i++) {
        gm_json_open(json, NULL, '{');
        gm_json_string(json, "name", told->kernels[i].name);
        gm_json_number(json, "launches", told->kernels[i].launches);
        gm_json_close(json, '}');
    }
    gm_json_close(json, ']');
}

/* It is known to be exact only if nothing came from the device that the program could have looked at, no size was made
 * up, and no function is missing; it is known not to be if one of the latter. */
static void add_exact(struct gm_json *json, const struct gm_dry_told *told)
{
    if (told->unknown_count + told->estimated_count > 0)
        gm_json_bool(json, "exact", false);
    else if (told->reads || told->process_count == 0)
        gm_json_null(json, "exact");
    else
        gm_json_bool(json, "exact", true);
}

void gm_dry_json(struct gm_text *out, const struct gm_dry_result *result)
{
    static const char *const verdicts[] = {NULL, "FITS", "OOM", "FAIL"};
    const struct gm_dry_told *told = result->told;
    struct gm_json json = {.out = out};
    gm_json_open(&json, NULL, '{');
    gm_json_string(&json, "schema", "gmdry.run/1");
    gm_json_string(&json, "gpu", result->gpu->name);
    gm_json_open(&json, "command", '[');
    for (size_t i = 0; result->command[i] != NULL; i++)
        gm_json_string(&json, NULL, result->command[i]);
    gm_json_close(&json, ']');
    gm_json_number(&json, "exit_code", (uint64_t)result->exit_code);
    add_devices(&json, result);
    add_exact(&json, told);
    gm_json_open(&json, "data_dependent", '[');
    gm_json_close(&json, ']');
    add_names(&json, "estimated", told->estimated, told->estimated_count);
    add_names(&json, "unknown_functions", told->unknown, told->unknown_count);
    gm_json_number(&json, "launches", told->launches);
    if (told->crash[0] != '\0')
        gm_json_string(&json, "crash", told->crash);
    add_kernels(&json, told);
    gm_json_number(&json, "copies_to_host", told->copies_to_host);
    if (result->verdict == GM_DRY_NONE)
        gm_json_null(&json, "verdict");
    else
        gm_json_string(&json, "verdict", verdicts[result->verdict]);
    gm_json_close(&json, '}');
    gm_text_add(out, "\n");
}
