/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the files of analyze/lib: what stands behind the handles.
 */
#ifndef GM_LIB_LIBGM_H
#define GM_LIB_LIBGM_H

#include "analyze/base/arena.h"
#include "analyze/base/error.h"
#include "analyze/cli/options.h"
#include "analyze/cli/run_files.h"
#include "analyze/lib/gm.h"
#include "analyze/snapshot/snapshot.h"
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

/* What kind of result it is. */
struct gm_result_kind {
    struct gm_text_names (*texts)(const struct gm_result *result);
    /* One of them, or memory.html. */
    enum gm_status (*make)(struct gm_text *out, struct gm_result *result, const char *name, struct gm_error *err);
    uint64_t (*number)(const struct gm_result *result, const char *name, int64_t device);
    void (*free)(void *found);
    bool has_page;
};

struct gm_result {
    const struct gm_result_kind *kind;
    void *found; /* the kind's, freed by it */
    struct gm_arena arena;
    struct gm_loaded **loaded; /* [loaded_count], held; in the arena */
    size_t loaded_count;
    struct gm_charted charted; /* no model: there are no charts */
    struct gm_text json;
    int verdict;

    pthread_mutex_t lock; /* over what follows, and whatever `make` touches */
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

/* The options of a program into *values, whose texts are in the result's arena then. */
enum gm_status gm_result_options(struct gm_result *result, const struct gm_program *program, const char *const *options,
                                 void *values, struct gm_error *err);

#endif
