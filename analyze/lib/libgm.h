/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands behind the handles of gm.h, for analyze/lib and for the programs that stand on it: they read files and
 * write run directories themselves, with progress and in threads, and have the rest from here.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/error.h"
#include "analyze/cli/options.h"
#include "analyze/cli/run_files.h"
#include "analyze/formats/load.h"
#include "analyze/lib/gm.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/state/categories.h"
#include "render/render.h"

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>

/* Visible outside, if gm.map names it, too. */
#define GM_API __attribute__((visibility("default")))

struct gm_loaded {
    struct gm_snapshot snapshot;
    atomic_size_t references; /* the user's, and those of results */
};
void gm_loaded_hold(struct gm_loaded *loaded);
/* gm_load, but events stay packed as they were read: gm_arrays is not for this one. */
enum gm_status gm_loaded_read(struct gm_loaded **loaded, const char *path, const struct gm_load_options *options,
                              struct gm_error *err);

/* What kind of result it is. */
struct gm_result_kind {
    const char *json; /* which of its files gm_json is */
    struct gm_text_names (*texts)(const struct gm_result *result);
    /* One of them that is not among the files yet; NULL: all are. */
    enum gm_status (*make)(struct gm_text *out, const struct gm_result *result, const char *name, struct gm_error *err);
    enum gm_status (*add_page)(struct gm_result *result, struct gm_error *err); /* memory.html, if it has_page */
    uint64_t (*number)(const struct gm_result *result, const char *name, int64_t device);
    void (*free)(void *found);
};

struct gm_result {
    const struct gm_result_kind *kind;
    void *found; /* the kind's, freed by it */
    struct gm_arena arena;
    struct gm_loaded **loaded; /* [loaded_count], held; in the arena */
    size_t loaded_count;
    struct gm_category_rules *rules; /* if it has some of its own */
    struct gm_text rules_text;
    struct gm_charted charted; /* no model: there are no charts */
    int verdict;
    bool has_page; /* where programs have one */

    pthread_mutex_t lock; /* over what follows, and whatever `make` and `add_page` touch */
    struct gm_run_files files;
    struct gm_painter *painter;
};

/* The beginning and the end of every function that reads or writes numbers: a program's own locale must not say how. */
struct gm_entered {
    locale_t c, before;
};
struct gm_entered gm_enter(void);
void gm_leave(const struct gm_entered *entered);

/* The result of `count` snapshots, which it holds; NULL: there is no memory. */
struct gm_result *gm_result_new(const struct gm_result_kind *kind, struct gm_loaded *const *loaded, size_t count);
/* The result, if it came to something; else frees it, tells why, and is NULL. */
struct gm_result *gm_result_end(struct gm_result *result, enum gm_status status, const struct gm_error *err,
                                struct gm_problem *problem);
/* Tells *err of the file `subject` (may be NULL), unless problem is NULL. Evaluates to NULL. */
void *gm_problem_tell(struct gm_problem *problem, const char *subject, const struct gm_error *err);

/* gm_json, which all have from their beginning. */
enum gm_status gm_result_make_json(struct gm_result *result, struct gm_error *err);
/* All of its files but the charts, in up to `threads` threads; what fails for want of memory is told by who writes
 * them. No other thread may have the result yet. */
enum gm_status gm_result_make_all(struct gm_result *result, size_t threads, struct gm_error *err);
/* Lets go of the snapshots. */
void gm_result_forget(struct gm_result *result);

/* The options of a program into *values, whose texts are in the result's arena then. */
enum gm_status gm_result_options(struct gm_result *result, const struct gm_program *program, const char *const *options,
                                 void *values, struct gm_error *err);
