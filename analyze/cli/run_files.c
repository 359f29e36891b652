/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/run_files.h"

#include "analyze/cli/interrupt.h"

#include <stdlib.h>
#include <string.h>

static struct gm_run_files_file *add(struct gm_run_files *files, const char *name)
{
    struct gm_run_files_file *file = &files->v[files->count++];
    file->name = name;
    return file;
}

struct gm_text *gm_run_files_text(struct gm_run_files *files, const char *name)
{
    return &add(files, name)->text;
}

struct gm_png *gm_run_files_png(struct gm_run_files *files, const char *name)
{
    return &add(files, name)->png;
}

static enum gm_status fill(struct gm_run *run, const struct gm_run_files *files, struct gm_error *err)
{
    enum gm_status status = GM_OK;
    for (size_t i = 0; status == GM_OK && i < files->count; i++) {
        const struct gm_run_files_file *file = &files->v[i];
        if (file->text.failed)
            status = gm_no_memory(err);
        else if (file->png.data != NULL)
            status = gm_run_add(run, file->name, file->png.data, file->png.length, err);
        else
            status = gm_run_add(run, file->name, file->text.data, file->text.length, err);
    }
    return status;
}

enum gm_status gm_run_files_write(struct gm_run **run, const struct gm_run_files *files, const char *results,
                                  const char *name, time_t when, struct gm_error *err)
{
    gm_interrupt_hold();
    enum gm_status status = *run == NULL ? gm_run_begin(run, results, name, when, err) : GM_OK;
    GM_THEN(status, fill(*run, files, err));
    GM_THEN(status, gm_run_commit(*run, err));
    if (status != GM_OK) {
        gm_run_free(*run);
        *run = NULL;
    }
    gm_interrupt_release();
    return status;
}

struct gm_text gm_run_files_take(struct gm_run_files *files, const char *name)
{
    struct gm_text taken = {0};
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->v[i].name, name) == 0) {
            taken = files->v[i].text;
            files->v[i].text = (struct gm_text){0};
        }
    return taken;
}

void gm_run_files_free(struct gm_run_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        gm_text_free(&files->v[i].text);
        free(files->v[i].png.data);
    }
    files->count = 0;
}
