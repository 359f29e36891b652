/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/dims/dims_work.h"

#include "analyze/base/ascii.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- the command line -------------------------------------------------------------------------------------------- */

enum { NAMES = GM_DIM_COUNT + 1 };
/* Names on the command line: those of dimensions, and behind them others for the same. */
static const char *name_of(int i)
{
    return i < GM_DIM_COUNT ? gm_dim_name((enum gm_dim)i) : "head_dim";
}

/* "batch=4" at *text, up to a comma or the end. */
static bool parse_one(const char **text, struct gm_dims *dims)
{
    for (int i = 0; i < NAMES; i++) {
        const char *name = name_of(i);
        const size_t n = strlen(name);
        uint64_t value = 0;
        if (strncmp(*text, name, n) != 0 || (*text)[n] != '=')
            continue;
        const char *digit = *text + n + 1;
        for (; gm_is_digit(*digit) && value <= UINT32_MAX; digit++)
            value = 10 * value + (uint64_t)(*digit - '0');
        if (value == 0 || value > UINT32_MAX || (*digit != '\0' && *digit != ','))
            return false;
        dims->v[i < GM_DIM_COUNT ? i : GM_DIM_HEAD] = value;
        *text = digit;
        return true;
    }
    return false;
}

void gm_dims_words(struct gm_text *out)
{
    gm_text_add(out, "infer\n");
    for (int i = 0; i < NAMES; i++)
        gm_text_printf(out, "%s=\n", name_of(i));
}

bool gm_dims_parse(const char *text, void *value)
{
    struct gm_wanted_dims wanted = {.is_wanted = true};
    if (strcmp(text, "infer") != 0)
        for (bool more = true; more;) {
            if (!parse_one(&text, &wanted.dims))
                return false;
            more = *text == ',';
            text += more;
        }
    *(struct gm_wanted_dims *)value = wanted;
    return true;
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

struct sized {
    uint64_t size;
    uint8_t role;
    bool is_live;
};
GM_ORDERING(by_size, struct sized, GM_UP(size));

static size_t count_sizes(struct gm_size_count *out, const struct sized *all, size_t n)
{
    size_t sizes = 0;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i].size != all[i - 1].size)
            out[sizes++] = (struct gm_size_count){.size = all[i].size};
        struct gm_size_count *count = &out[sizes - 1];
        const enum gm_role role = (enum gm_role)all[i].role;
        count->made++;
        count->kept += role == GM_ROLE_ACTIVATION;
        count->passing += role == GM_ROLE_TEMPORARY || role == GM_ROLE_INPUT || role == GM_ROLE_UNKNOWN;
        count->live[all[i].role] += all[i].is_live;
    }
    return sizes;
}

static bool take_census(struct gm_census *census, const struct gm_trace_pass *pass)
{
    const struct gm_history *h = &pass->history;
    GM_FREED struct sized *all = malloc((h->allocation_count + 1) * sizeof *all);
    size_t n = 0;
    *census = (struct gm_census){0};
    if (all == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        if (!gm_is_hidden(pass, a))
            all[n++] = (struct sized){gm_requested(h, a), pass->role[a], gm_history_is_active(h, a, pass->peak_moment)};
    GM_SORT(all, n, by_size);
    size_t sizes = 1;
    for (size_t i = 1; i < n; i++)
        sizes += all[i].size != all[i - 1].size;
    census->v = malloc(sizes * sizeof *census->v);
    if (census->v != NULL)
        census->n = count_sizes(census->v, all, n);
    return census->v != NULL;
}

struct gm_size_count gm_census_find(const struct gm_census *census, uint64_t size)
{
    size_t low = 0;
    GM_BISECT(low, census->n, i, census->v[i].size < size);
    return low < census->n && census->v[low].size == size ? census->v[low] : (struct gm_size_count){.size = size};
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

static bool tell_dims(struct gm_dims_report *out, const struct gm_model *model, const struct gm_dims *given,
                      struct gm_arena *arena)
{
    struct gm_dim_row *rows = gm_arena_calloc(arena, GM_DIM_COUNT, sizeof *rows);
    for (int d = 0; rows != NULL && d < GM_DIM_COUNT; d++)
        if (model->dims.v[d] > 0)
            rows[out->dim_count++] = (struct gm_dim_row){.name = gm_dim_name((enum gm_dim)d),
                                                         .value = model->dims.v[d],
                                                         .is_given = given->v[d] > 0,
                                                         .source = model->source[d]};
    out->dims = rows;
    return rows != NULL;
}

static struct gm_size_row size_row(const struct gm_size_count *count)
{
    struct gm_size_row row = {.bytes = count->size, .made = count->made};
    uint32_t most = 0;
    for (int r = 0; r < GM_ROLE_COUNT; r++) {
        row.blocks += count->live[r];
        if (count->live[r] > most) {
            most = count->live[r];
            row.role = gm_role_name((enum gm_role)r);
        }
    }
    row.total = gm_known_mul(row.bytes, row.blocks);
    return row;
}

/* Its sizes are a library's, and no product of the model's dimensions. */
static bool is_library(const struct gm_size_count *count)
{
    return count->live[GM_ROLE_WORKSPACE] > 0 || count->live[GM_ROLE_COMMUNICATION] > 0;
}

GM_ORDERING(by_total, struct gm_size_row, GM_DOWN(total) || GM_DOWN(made) || GM_DOWN(bytes));

/* Those that hold most at the peak. */
static bool tell_sizes(struct gm_dims_report *out, const struct gm_census *census, const struct gm_model *model,
                       const struct gm_trace_pass *pass)
{
    GM_FREED struct gm_formulas formulas = {.v = NULL};
    struct gm_arena *arena = &pass->report->arena;
    GM_FREED struct gm_size_row *all = malloc((census->n + 1) * sizeof *all);
    bool ok = gm_formulas_make(&formulas, model) && all != NULL;
    size_t n = 0;
    for (size_t i = 0; ok && i < census->n; i++) {
        all[n] = size_row(&census->v[i]);
        ok = is_library(&census->v[i]) || gm_formulas_read(&formulas, model, &all[n], arena);
        out->peak = gm_known_add(out->peak, all[n].total);
        out->explained = gm_known_add(out->explained, all[n].formula != NULL ? all[n].total : 0);
        n += all[n].total > 0;
    }
    GM_SORT(all, n, by_total);
    out->size_count = gm_min(n, pass->options->top);
    out->sizes = ok ? gm_arena_array(arena, all, out->size_count, sizeof *all) : NULL;
    return out->sizes != NULL;
}

bool gm_trace_dims(struct gm_trace_pass *pass)
{
    const struct gm_wanted_dims *wanted = &pass->options->dims;
    if (!wanted->is_wanted || pass->history.allocation_count == 0)
        return true;
    struct gm_arena *arena = &pass->report->arena;
    struct gm_model model = {.dims = wanted->dims};
    struct gm_dims_report *out = gm_arena_calloc(arena, 1, sizeof *out);
    GM_FREED struct gm_census census = {0};
    pass->out->dims = out;
    return out != NULL && take_census(&census, pass) && gm_dims_infer(&model, &census, arena) &&
           tell_dims(out, &model, &wanted->dims, arena) && tell_sizes(out, &census, &model, pass) &&
           gm_dims_needs(out, &model, &census, pass);
}
