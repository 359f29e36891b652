/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/run_files.h"

#include "analyze/base/threads.h"
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

struct filling {
    struct gm_run *run;
    const struct gm_run_files *files;
    enum gm_status status[GM_RUN_FILES];
    struct gm_error error[GM_RUN_FILES];
};

static void fill_one(void *argument, size_t i)
{
    struct filling *f = argument;
    const struct gm_run_files_file *file = &f->files->v[i];
    if (file->text.failed)
        f->status[i] = gm_no_memory(&f->error[i]);
    else if (file->png.data != NULL)
        f->status[i] = gm_run_add(f->run, file->name, file->png.data, file->png.length, &f->error[i]);
    else
        f->status[i] = gm_run_add(f->run, file->name, file->text.data, file->text.length, &f->error[i]);
}

/* Two at a time, where there are pictures: making a file takes the system longer than copying what is in it. */
static enum gm_status fill(struct gm_run *run, const struct gm_run_files *files, struct gm_error *err)
{
    enum { FEW = 8 };
    struct filling f = {.run = run, .files = files};
    struct gm_threads threads;
    gm_threads_run(&threads, files->count, files->count > FEW ? 2 : 1, fill_one, &f);
    for (size_t i = 0; i < files->count; i++)
        if (f.status[i] != GM_OK) {
            if (err != NULL)
                *err = f.error[i];
            return f.status[i];
        }
    return GM_OK;
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
