/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs that are called alike but for one number: which, and which number it is.
 */
#include "analyze/compare/comparison_parts.h"

#include "analyze/base/ascii.h"
#include "analyze/base/order.h"
#include "analyze/base/text.h"
#include "analyze/base/vec.h"
#include "analyze/report/frame_kind.h"
#include "analyze/run/run_names.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTS = 4 /* of a path */,
    NUMBERS = 16 /* of a name */,
    LONGEST = 7 /* digits of a number that means something */
};

/* The length of a word at s that looks like a hash or a date: it tells nothing. */
static size_t noise_length(const char *s)
{
    size_t n = 0, digits = 0, others = 0;
    for (; gm_is_digit(s[n]) || gm_is_letter(s[n]); n++) {
        digits += gm_is_digit(s[n]);
        others += !gm_is_digit(s[n]) && !((s[n] | 32) >= 'a' && (s[n] | 32) <= 'f');
    }
    return others == 0 && digits > 0 && n > LONGEST ? n : 0;
}

/* A number, with decimals if there are any ("1.3b"). */
static size_t number_length(const char *s)
{
    size_t n = 0;
    while (gm_is_digit(s[n]))
        n++;
    if (n > 0 && s[n] == '.' && gm_is_digit(s[n + 1])) {
        size_t m = n + 1;
        while (gm_is_digit(s[m]))
            m++;
        if (s[m] != '.')
            n = m;
    }
    return n;
}

static double value_of(const char *s, size_t n)
{
    double value = 0, unit = 1;
    bool has_point = false;
    for (size_t i = 0; i < n; i++) {
        has_point = has_point || s[i] == '.';
        if (s[i] == '.')
            continue;
        value = value * 10 + (s[i] - '0');
        unit *= has_point ? 10 : 1;
    }
    return value / unit;
}

struct candidate {
    char *skeleton; /* the name with N for the number */
    const char *key;
    size_t key_length;
    double n;
    size_t run;
};
struct candidates GM_VEC(struct candidate);

/* Where the numbers of a name are. */
struct places {
    const char *at[NUMBERS];
    size_t length[NUMBERS], n;
};

static struct places find_places(const char *tail)
{
    struct places p = {.n = 0};
    bool in_word = false;
    for (const char *s = tail; *s != '\0';) {
        size_t noise = in_word ? 0 : noise_length(s), length = number_length(s);
        if (noise > 0) {
            s += noise;
            continue;
        }
        in_word = gm_is_digit(*s) || gm_is_letter(*s);
        if (length == 0) {
            s++;
            continue;
        }
        if (length <= LONGEST && p.n == NUMBERS) { /* the last ones tell most */
            memmove(p.at, p.at + 1, (NUMBERS - 1) * sizeof *p.at);
            memmove(p.length, p.length + 1, (NUMBERS - 1) * sizeof *p.length);
            p.n--;
        }
        if (length <= LONGEST) {
            p.at[p.n] = s;
            p.length[p.n++] = length;
        }
        s += length;
    }
    return p;
}

/* The name with N for one number and # for what tells nothing. */
static char *skeleton_of(const char *tail, const struct places *p, size_t which)
{
    struct gm_text t = {0};
    bool in_word = false;
    for (const char *s = tail; *s != '\0';) {
        size_t noise = in_word ? 0 : noise_length(s);
        if (s == p->at[which]) {
            gm_text_add_char(&t, 'N');
            s += p->length[which];
            in_word = true;
        } else if (noise > 0) {
            gm_text_add_char(&t, '#');
            s += noise;
        } else {
            in_word = gm_is_digit(*s) || gm_is_letter(*s);
            gm_text_add_char(&t, *s++);
        }
    }
    gm_text_add_char(&t, '\0');
    if (t.failed) {
        gm_text_free(&t);
        return NULL;
    }
    return t.data;
}

/* The word that names the number at `number`: one that touches it ("ctx128", "len=64") or that is known to have a
 * number
 * ("batch_8"). What else stands before it ("medium_128", "snapshot_100") is another thing's name: then the length is 0.
 */
static size_t key_length(const char **key, const char *tail, const char *number, size_t length)
{
    const char *end = number;
    while (end > tail && !gm_is_letter(end[-1]) && !gm_is_digit(end[-1]) && end[-1] != '/')
        end--;
    for (*key = end; *key > tail && gm_is_letter((*key)[-1]);)
        (*key)--;
    const struct gm_name_part part = {*key, (size_t)(number + length - *key)};
    struct gm_name_word word;
    size_t from = 0;
    const bool is_named = end == number || (end + 1 == number && *end == '=') ||
                          (gm_name_next_word(&word, &part, &from) && word.at == *key);
    return is_named ? (size_t)(end - *key) : 0;
}

static bool add_run(struct candidates *all, const char *path, size_t run)
{
    const char *tail = gm_path_last(path, PARTS);
    const struct places p = find_places(tail);
    for (size_t i = 0; i < p.n; i++) {
        struct candidate c = {.skeleton = skeleton_of(tail, &p, i), .n = value_of(p.at[i], p.length[i]), .run = run};
        c.key_length = key_length(&c.key, tail, p.at[i], p.length[i]);
        if (c.skeleton == NULL || !GM_VEC_PUSH(all, c)) {
            free(c.skeleton);
            return false;
        }
    }
    return true;
}

GM_ORDERING(by_series, struct candidate, GM_BY(strcmp(a->skeleton, b->skeleton)) || GM_UP(n) || GM_UP(run));

static bool publish(struct gm_comparison *c, const struct candidate *first, size_t count, struct gm_series *out)
{
    size_t *runs = gm_arena_calloc(&c->arena, count, sizeof *runs);
    double *n = gm_arena_calloc(&c->arena, count, sizeof *n);
    const char *name = strrchr(first->skeleton, '/');
    name = name == NULL || strchr(name, 'N') == NULL ? first->skeleton : name + 1;
    if (runs == NULL || n == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        runs[i] = first[i].run;
        n[i] = first[i].n;
    }
    *out = (struct gm_series){.key = gm_arena_copy(&c->arena, first->key, first->key_length),
                              .name = gm_arena_copy(&c->arena, name, strlen(name)),
                              .runs = runs,
                              .n = n,
                              .count = count};
    return out->key != NULL && out->name != NULL && gm_series_fit(c, out);
}

static bool find_series(struct gm_comparison *c, const struct candidates *all)
{
    struct gm_series *series = gm_arena_calloc(&c->arena, all->n / 3 + 1, sizeof *series);
    if (series == NULL)
        return false;
    for (size_t i = 0, end; i < all->n; i = end) {
        size_t distinct = 1;
        for (end = i + 1; end < all->n && strcmp(all->v[end].skeleton, all->v[i].skeleton) == 0; end++)
            distinct += all->v[end].n != all->v[end - 1].n;
        if (distinct >= 3 && !publish(c, &all->v[i], end - i, &series[c->series_count++]))
            return false;
    }
    c->series = series;
    return true;
}

bool gm_compare_series(struct gm_comparison *c)
{
    struct candidates all = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < c->run_count; i++)
        ok = add_run(&all, c->runs[i]->path, i);
    GM_SORT(all.v, all.n, by_series);
    ok = ok && find_series(c, &all);
    for (size_t i = 0; i < all.n; i++)
        free(all.v[i].skeleton);
    free(all.v);
    return ok;
}
