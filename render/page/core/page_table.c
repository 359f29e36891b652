/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of all allocations: filtered and sorted once for each query, then looked at a page at a time.
 */
#include "render/page/core/page_levels.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct gm_page_table { /* the last one that was asked for; of one device */
    char *query;
    uint32_t *rows; /* allocations */
    size_t count;
    double bytes;
};

void gm_page_forget_table(struct gm_page_device *d)
{
    if (d->table == NULL)
        return;
    GM_FREE_ALL(d->table->query, d->table->rows, d->table);
    d->table = NULL;
}

/* ---- what a query asks ------------------------------------------------------------------------------------------- */

/* After the splits. */
static const char *const sorts[] = {"size", "requested", "born", "freed", "life", "id"};
enum sort { BY_SIZE = GM_PAGE_SPLITS, BY_REQUESTED, BY_BORN, BY_FREED, BY_LIFE, BY_ID };
static const char *sort_name(uint32_t sort)
{
    return sort < GM_PAGE_SPLITS ? gm_page_split_names[sort] : sorts[sort - GM_PAGE_SPLITS];
}

struct filter {
    struct gm_opened *o;
    struct gm_page_device *d;
    double min_size, max_size, min_life, max_life, alive_at, born_from, born_to;
    const struct gm_page_layers *layers[GM_PAGE_SPLITS]; /* NULL: nobody asks */
    double wanted[GM_PAGE_SPLITS];                       /* a layer; < 0: no such filter */
    uint8_t *stack_fits;                                 /* [stack]; NULL: no such filter */
    uint32_t sort;                                       /* enum sort, or a split */
    bool is_down, is_of_marked;
};

static bool is_value(const char *query, const char *key, const char *value)
{
    size_t n;
    const char *text = gm_query_value(query, key, &n);
    return text != NULL && n == strlen(value) && memcmp(text, value, n) == 0;
}

/* ---- stacks that fit --------------------------------------------------------------------------------------------- */

struct text_filter {
    char *text, *site;
    regex_t regex;
    bool has_regex;
};

static bool frame_fits(struct gm_opened *o, const struct text_filter *t, struct gm_frame_id frame)
{
    const struct gm_frames *frames = &o->snapshot.frames;
    const char *name = gm_names_string(&o->names, frames->name[frame.v]),
               *file = gm_names_string(&o->names, frames->filename[frame.v]);
    if (name == NULL || file == NULL)
        return false;
    if (t->text != NULL && strcasestr(name, t->text) == NULL && strcasestr(file, t->text) == NULL)
        return false;
    if (!t->has_regex)
        return true;
    GM_FREED struct gm_text line = {0};
    gm_text_printf(&line, "%s %s", name, file);
    if (frames->line[frame.v] != GM_ABSENT)
        gm_text_printf(&line, ":%llu", (unsigned long long)frames->line[frame.v]);
    return !line.failed && regexec(&t->regex, line.data, 0, NULL, 0) == 0;
}

/* Each frame is asked once. */
static bool find_stacks(struct filter *f, const struct text_filter *t)
{
    const struct gm_snapshot *s = &f->o->snapshot;
    GM_FREED uint8_t *frame_is = calloc((size_t)s->frames.count + 1, 1);
    f->stack_fits = calloc((size_t)s->stacks.count + 1, 1);
    const bool ok = frame_is != NULL && f->stack_fits != NULL, asks_frames = t->text != NULL || t->has_regex;
    for (uint32_t i = 0; ok && asks_frames && i < s->frames.count; i++)
        frame_is[i] = frame_fits(f->o, t, (struct gm_frame_id){i});
    for (uint32_t i = 0; ok && i < s->stacks.count; i++) {
        size_t n;
        const struct gm_frame_id *frames = gm_stack_frames(s, (struct gm_stack_id){i}, &n);
        const char *site = t->site == NULL ? NULL : gm_names_site(&f->o->names, (struct gm_stack_id){i});
        bool fits = !asks_frames;
        for (size_t k = 0; k < n && !fits; k++)
            fits = frame_is[frames[k].v];
        f->stack_fits[i] = fits && (t->site == NULL || (site != NULL && strcmp(site, t->site) == 0));
    }
    return ok;
}

static char *copy_value(const char *query, const char *key)
{
    size_t n;
    const char *text = gm_query_value(query, key, &n);
    return text == NULL || n == 0 ? NULL : strndup(text, n);
}

/* false: the answer says why. */
static bool read_texts(struct filter *f, const char *query)
{
    struct text_filter t = {.text = copy_value(query, "text"), .site = copy_value(query, "site")};
    char *pattern = copy_value(query, "regex"), why[200];
    const int code = pattern == NULL ? 0 : regcomp(&t.regex, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB);
    bool ok = code == 0;
    if (!ok) {
        regerror(code, &t.regex, why, sizeof why);
        gm_answer_refuse(why);
    }
    t.has_regex = ok && pattern != NULL;
    if (ok && (t.text != NULL || t.site != NULL || t.has_regex) && !find_stacks(f, &t)) {
        gm_answer_no_memory();
        ok = false;
    }
    if (t.has_regex)
        regfree(&t.regex);
    GM_FREE_ALL(pattern, t.text, t.site);
    return ok;
}

static bool read_query(struct filter *f, const char *query)
{
    f->min_size = gm_query_number(query, "min_size", 0);
    f->max_size = gm_query_number(query, "max_size", (double)INFINITY);
    f->min_life = gm_query_number(query, "min_life", 0);
    f->max_life = gm_query_number(query, "max_life", (double)INFINITY);
    f->alive_at = gm_query_number(query, "alive_at", -1);
    f->born_from = gm_query_number(query, "born_from", 0);
    f->born_to = gm_query_number(query, "born_to", (double)INFINITY);
    f->is_of_marked = is_value(query, "marked", "1");
    f->is_down = !is_value(query, "order", "up");
    f->sort = BY_SIZE;
    for (uint32_t i = 0; i <= BY_ID; i++)
        if (is_value(query, "sort", sort_name(i)))
            f->sort = i;
    for (uint32_t split = 0; split < GM_PAGE_SPLITS; split++) {
        f->wanted[split] = gm_query_number(query, gm_page_split_names[split], -1);
        if ((f->wanted[split] >= 0 || f->sort == split) &&
            (f->layers[split] = gm_opened_layers(f->o, f->d, split)) == NULL)
            return false;
    }
    return read_texts(f, query);
}

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

static double life_of(const struct gm_page_device *d, uint32_t a)
{
    const uint32_t end = d->h->freed[a] == GM_NEVER ? gm_page_moments(d) - 1 : d->h->freed[a];
    return (double)end - (double)d->h->born[a];
}

static bool passes(const struct filter *f, uint32_t a)
{
    const struct gm_history *h = f->d->h;
    const double size = (double)gm_block_bytes(h, a), life = life_of(f->d, a), born = (double)h->born[a];
    if (size < f->min_size || size > f->max_size || life < f->min_life || life > f->max_life || born < f->born_from ||
        born > f->born_to || (f->stack_fits != NULL && !f->stack_fits[gm_stack_of(h, a)]))
        return false;
    for (uint32_t split = 0; split < GM_PAGE_SPLITS; split++)
        if (f->wanted[split] >= 0 && f->layers[split]->of[a] != f->wanted[split])
            return false;
    if (f->is_of_marked && (f->d->marked == NULL || !f->d->marked[a]))
        return false;
    return f->alive_at < 0 || (born <= f->alive_at && f->alive_at < (double)h->freed[a]);
}

static uint64_t key_of(const struct filter *f, uint32_t a)
{
    const struct gm_history *h = f->d->h;
    switch (f->sort) {
    case BY_SIZE:
        return gm_block_bytes(h, a);
    case BY_REQUESTED:
        return gm_requested(h, a);
    case BY_BORN:
        return h->born[a];
    case BY_FREED:
        return h->freed[a];
    case BY_LIFE:
        return (uint64_t)life_of(f->d, a);
    case BY_ID:
        return a;
    default:
        return f->layers[f->sort]->of[a];
    }
}

struct keyed {
    uint64_t key;
    uint32_t a;
};

/* By the bytes of the keys, lowest first: sorting that does not compare, and keeps the order of equals. */
static bool sort_rows(struct keyed *v, size_t n)
{
    struct keyed *spare = malloc((n + 1) * sizeof *spare), *from = v, *to = spare;
    for (int shift = 0; spare != NULL && shift < 64; shift += 8) {
        size_t start[257] = {0};
        for (size_t i = 0; i < n; i++)
            start[(from[i].key >> shift & 0xff) + 1]++;
        if (n == 0 || start[(from[0].key >> shift & 0xff) + 1] == n)
            continue; /* all are equal there */
        for (int b = 0; b < 256; b++)
            start[b + 1] += start[b];
        for (size_t i = 0; i < n; i++)
            to[start[from[i].key >> shift & 0xff]++] = from[i];
        struct keyed *swapped = from;
        from = to;
        to = swapped;
    }
    if (from == spare && n > 0)
        memcpy(v, spare, n * sizeof *v);
    free(spare);
    return spare != NULL;
}

static bool fill(struct gm_page_table *t, const struct filter *f)
{
    const struct gm_history *h = f->d->h;
    const size_t all = h->allocation_count;
    GM_FREED struct keyed *keyed = malloc((all + 1) * sizeof *keyed);
    t->rows = malloc((all + 1) * sizeof *t->rows);
    bool ok = keyed != NULL && t->rows != NULL;
    for (uint32_t a = 0; ok && a < all; a++)
        if (passes(f, a)) {
            const uint64_t key = key_of(f, a);
            keyed[t->count++] = (struct keyed){f->is_down ? ~key : key, a};
            t->bytes += (double)gm_block_bytes(h, a);
        }
    ok = ok && sort_rows(keyed, t->count);
    for (size_t i = 0; ok && i < t->count; i++)
        t->rows[i] = keyed[i].a;
    return ok;
}

/* The table of the query; NULL: the answer says why not. */
static const struct gm_page_table *table_of(struct gm_opened *o, struct gm_page_device *d, const char *query)
{
    struct filter f = {.o = o, .d = d};
    if (d->table != NULL && strcmp(d->table->query, query) == 0)
        return d->table;
    gm_page_forget_table(d);
    if (!read_query(&f, query)) {
        free(f.stack_fits);
        return NULL;
    }
    d->table = calloc(1, sizeof *d->table);
    if (d->table != NULL)
        d->table->query = strdup(query);
    if (d->table == NULL || d->table->query == NULL || !fill(d->table, &f)) {
        gm_page_forget_table(d);
        gm_answer_no_memory();
    }
    free(f.stack_fits);
    return d->table;
}

static double time_of(const struct gm_page_device *d, uint32_t moment)
{
    return moment == 0 || moment == GM_NEVER || !gm_page_has_times(d) ? (double)NAN
                                                                      : gm_page_place(d, GM_PAGE_BY_TIME, moment);
}

static void put_numbers(const struct gm_page_device *d, const uint32_t *rows, size_t n)
{
    const struct gm_history *h = d->h;
    double *size = gm_answer_add("size", GM_PAGE_F64, n), *requested = gm_answer_add("requested", GM_PAGE_F64, n),
           *born_us = gm_answer_add("born_us", GM_PAGE_F64, n), *life = gm_answer_add("life", GM_PAGE_F64, n),
           *life_us = gm_answer_add("life_us", GM_PAGE_F64, n);
    uint32_t *id = gm_answer_add("id", GM_PAGE_U32, n), *born = gm_answer_add("born", GM_PAGE_U32, n),
             *freed = gm_answer_add("freed", GM_PAGE_U32, n), *stack = gm_answer_add("stack", GM_PAGE_U32, n);
    for (size_t i = 0; gm_answer_is_whole() && i < n; i++) {
        const uint32_t a = id[i] = rows[i];
        size[i] = (double)gm_block_bytes(h, a);
        requested[i] = (double)gm_requested(h, a);
        born[i] = h->born[a];
        freed[i] = h->freed[a];
        born_us[i] = time_of(d, h->born[a]);
        life[i] = life_of(d, a);
        life_us[i] = time_of(d, h->freed[a]) - born_us[i];
        stack[i] = gm_stack_of(h, a);
    }
}

const struct gm_page_result *gm_page_allocations(uint32_t handle, uint32_t device, const char *query, uint32_t first,
                                                 uint32_t count)
{
    struct gm_opened *o;
    struct gm_answer_list sites = {0};
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    const struct gm_page_table *t = d == NULL ? NULL : table_of(o, d, query);
    if (t == NULL)
        return NULL;
    const size_t from = first < t->count ? first : t->count, n = count < t->count - from ? count : t->count - from;
    gm_answer_number("total", (double)t->count);
    gm_answer_number("total_bytes", t->bytes);
    put_numbers(d, t->rows + from, n);
    for (uint32_t split = 0; split < GM_PAGE_SPLITS; split++) {
        const struct gm_page_layers *layers = gm_opened_layers(o, d, split);
        uint32_t *layer = gm_answer_add(gm_page_split_names[split], GM_PAGE_U32, n);
        for (size_t i = 0; layers != NULL && layer != NULL && i < n; i++)
            layer[i] = layers->of[t->rows[from + i]];
    }
    for (size_t i = 0; i < n; i++)
        gm_answer_put(&sites, gm_names_site(&o->names, (struct gm_stack_id){gm_stack_of(d->h, t->rows[from + i])}));
    gm_answer_strings("site", &sites);
    return gm_answer_end();
}
