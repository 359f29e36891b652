/* SPDX-License-Identifier: Apache-2.0
 *
 * Results: what is the same of all kinds.
 */
#include "analyze/base/threads.h"
#include "analyze/lib/libgm.h"
#include "analyze/run/run_names.h"
#include "render/page/page_file.h"

#include <stdlib.h>
#include <string.h>

struct gm_result *gm_result_new(const struct gm_result_kind *kind, struct gm_loaded *const *loaded, size_t count)
{
    struct gm_result *r = calloc(1, sizeof *r);
    if (r == NULL)
        return NULL;
    r->kind = kind;
    pthread_mutex_init(&r->lock, NULL);
    r->loaded = gm_arena_calloc(&r->arena, count + 1, sizeof(struct gm_loaded *));
    for (size_t i = 0; r->loaded != NULL && i < count; i++) {
        gm_loaded_hold(loaded[i]);
        r->loaded[r->loaded_count++] = loaded[i];
    }
    if (r->loaded == NULL) {
        gm_result_free(r);
        return NULL;
    }
    return r;
}

void gm_result_forget(struct gm_result *r)
{
    while (r->loaded_count > 0)
        gm_unload(r->loaded[--r->loaded_count]);
}

GM_API void gm_result_free(struct gm_result *r)
{
    if (r == NULL)
        return;
    if (r->found != NULL)
        r->kind->free(r->found);
    gm_result_forget(r);
    gm_run_files_free(&r->files);
    gm_painter_free(r->painter);
    gm_category_rules_free(r->rules);
    gm_text_free(&r->rules_text);
    gm_arena_free(&r->arena);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

struct gm_result *gm_result_end(struct gm_result *result, enum gm_status status, const struct gm_error *err,
                                struct gm_problem *problem)
{
    const struct gm_error none = {.offset = GM_NO_OFFSET};
    gm_problem_tell(problem, NULL, status == GM_OK ? &none : err);
    if (status == GM_OK)
        return result;
    gm_result_free(result);
    return NULL;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* What has a program write, print, or read in another way: a library has other ways for all of it. */
static const char *const of_programs[] = {
    "results",   "json",    "viewer",  "explain", "memory-summary", "csv-full",   "csv",     "summary", "chart",
    "trace-out", "output",  "backend", "compute", "pace",           "max-memory", "salvage", "quiet",   "verbose",
    "help",      "version", "manual",  "format",  "open",           "watch",      "tree"};

static enum gm_status check_option(const char *option, struct gm_error *err)
{
    const size_t length = strcspn(option, "=");
    if (strncmp(option, "--", 2) != 0 || length == 2)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "'%s' is no option: --NAME or --NAME=VALUE", option);
    for (size_t i = 0; i < sizeof of_programs / sizeof *of_programs; i++)
        if (strlen(of_programs[i]) == length - 2 && memcmp(of_programs[i], option + 2, length - 2) == 0)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--%s is an option of the program, not of the library",
                           of_programs[i]);
    return GM_OK;
}

/* The command line that a program would have been called with; NULL: there is no memory. */
static char **command_line(struct gm_result *r, const struct gm_program *program, const char *const *options,
                           size_t count)
{
    char **argv = gm_arena_calloc(&r->arena, count + r->loaded_count + 3, sizeof(char *));
    bool ok = argv != NULL && (argv[0] = gm_arena_copy(&r->arena, program->name, strlen(program->name))) != NULL &&
              (argv[count + 1] = gm_arena_copy(&r->arena, "--", 2)) != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = (argv[i + 1] = gm_arena_copy(&r->arena, options[i], strlen(options[i]))) != NULL;
    for (size_t i = 0; ok && i < r->loaded_count; i++) {
        const char *path = r->loaded[i]->snapshot.source.path;
        ok = (argv[count + 2 + i] = gm_arena_copy(&r->arena, path, strlen(path))) != NULL;
    }
    return ok ? argv : NULL;
}

enum gm_status gm_result_options(struct gm_result *r, const struct gm_program *program, const char *const *options,
                                 void *values, struct gm_error *err)
{
    struct gm_parsed parsed;
    size_t count = 0;
    int operands = 0;
    for (; options != NULL && options[count] != NULL; count++)
        GM_TRY(check_option(options[count], err));
    char **argv = command_line(r, program, options, count);
    if (argv == NULL)
        return gm_no_memory(err);
    GM_TRY(gm_options_parse(program, (int)(count + 2 + r->loaded_count), argv, values, &operands, &parsed, err));
    if (parsed.what != GM_PARSED_RUN)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "lists are printed by the program %s", program->name);
    return program->check == NULL ? GM_OK : program->check(values, argv, &operands, err);
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

GM_API int gm_verdict(const struct gm_result *result)
{
    return result->verdict;
}

GM_API uint64_t gm_number(const struct gm_result *result, const char *name, int64_t device)
{
    return result->kind->number == NULL ? GM_UNKNOWN : result->kind->number(result, name, device);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

GM_API size_t gm_file_names(const struct gm_result *r, const char **names, size_t most)
{
    const struct gm_text_names texts = r->kind->texts(r);
    size_t n = 0;
    for (size_t i = 0; i < texts.n; i++, n++)
        if (n < most)
            names[n] = texts.v[i];
    for (enum gm_chart i = r->charted.first; r->charted.model != NULL && i < r->charted.end; i++)
        if (gm_chart_applies(r->charted.model, i) && n++ < most)
            names[n - 1] = gm_chart_file_name(i);
    if (r->has_page && gm_page_is_there() && n++ < most)
        names[n - 1] = GM_RUN_PAGE;
    return n;
}

static const struct gm_run_files_file *find(const struct gm_result *r, const char *name)
{
    for (size_t i = 0; i < r->files.count; i++)
        if (strcmp(r->files.v[i].name, name) == 0)
            return &r->files.v[i];
    return NULL;
}

static enum gm_status draw(struct gm_png *png, struct gm_result *r, enum gm_chart chart, struct gm_error *err)
{
    const enum gm_status status = r->painter == NULL ? gm_painter_new(&r->painter, err) : GM_OK;
    return status == GM_OK ? gm_chart_draw(png, r->painter, r->charted.model, chart, err) : status;
}

static enum gm_status add_text(struct gm_result *r, const char *name, struct gm_error *err)
{
    struct gm_text text = {0};
    enum gm_status status = r->kind->make(&text, r, name, err);
    if (status == GM_OK && text.failed)
        status = gm_no_memory(err);
    if (status == GM_OK)
        *gm_run_files_text(&r->files, name) = text;
    else
        gm_text_free(&text);
    return status;
}

/* The file into r->files. */
static enum gm_status make(struct gm_result *r, const char *name, struct gm_error *err)
{
    for (enum gm_chart i = r->charted.first; r->charted.model != NULL && i < r->charted.end; i++)
        if (strcmp(name, gm_chart_file_name(i)) == 0) {
            struct gm_png png = {NULL, 0};
            GM_TRY(draw(&png, r, i, err));
            *gm_run_files_png(&r->files, name) = png;
            return GM_OK;
        }
    return strcmp(name, GM_RUN_PAGE) == 0 ? r->kind->add_page(r, err) : add_text(r, name, err);
}

enum gm_status gm_result_make_json(struct gm_result *r, struct gm_error *err)
{
    return add_text(r, r->kind->json, err);
}

GM_API const char *gm_json(const struct gm_result *r, size_t *length)
{
    const struct gm_text *json = &r->files.v[0].text; /* without the lock: it was there before anyone had the result */
    if (length != NULL)
        *length = json->length;
    return json->data;
}

struct making {
    struct gm_result *result;
    struct gm_text_names names;
    struct gm_text *texts[GM_TEXT_FILES];
};

static void make_one(void *argument, size_t i)
{
    struct making *m = argument;
    if (m->result->kind->make(m->texts[i], m->result, m->names.v[i], NULL) != GM_OK)
        m->texts[i]->failed = true;
}

enum gm_status gm_result_make_all(struct gm_result *r, size_t threads, struct gm_error *err)
{
    struct making m = {r, r->kind->texts(r), {NULL}};
    struct gm_threads pool;
    for (size_t i = 0; i < m.names.n; i++)
        m.texts[i] = gm_run_files_text(&r->files, m.names.v[i]);
    gm_threads_run(&pool, m.names.n, threads, make_one, &m);
    return r->kind->add_page(r, err);
}

/* The one of its names that is equal to `name`; NULL: it has none. */
static const char *own_name(const struct gm_result *r, const char *name)
{
    const char *names[GM_RUN_FILES];
    const size_t n = gm_file_names(r, names, GM_RUN_FILES);
    for (size_t i = 0; i < n && i < GM_RUN_FILES; i++)
        if (strcmp(names[i], name) == 0)
            return names[i];
    return NULL;
}

GM_API const void *gm_file(struct gm_result *r, const char *name, size_t *length, struct gm_problem *problem)
{
    struct gm_error err = {.offset = GM_NO_OFFSET};
    enum gm_status status = GM_OK;
    const char *own = own_name(r, name);
    *length = 0;
    if (own == NULL) {
        gm_fail(&err, GM_E_USAGE, GM_NO_OFFSET, "it has no file '%s'", name);
        return gm_problem_tell(problem, NULL, &err);
    }
    pthread_mutex_lock(&r->lock);
    const struct gm_run_files_file *file = find(r, own);
    if (file == NULL) {
        const struct gm_entered entered = gm_enter();
        status = make(r, own, &err);
        gm_leave(&entered);
        file = find(r, own);
    }
    pthread_mutex_unlock(&r->lock);
    if (status == GM_OK && file->text.failed)
        status = gm_no_memory(&err);
    if (status != GM_OK)
        return gm_problem_tell(problem, NULL, &err);
    *length = file->png.data != NULL ? file->png.length : file->text.length;
    return file->png.data != NULL ? (const void *)file->png.data : file->text.data;
}
