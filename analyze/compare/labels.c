/* SPDX-License-Identifier: Apache-2.0
 *
 * What the runs are called, so that they are told apart: by what was found in their paths if that differs, else by
 * their files' names, else by the ends of their paths, else with a number. What all have in common at the beginning is
 * left out of long labels.
 */
#include "analyze/compare/comparison_parts.h"

#include <string.h>

enum { LONG = 20 };

static bool all_differ(const char *const *labels, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(labels[i], labels[k]) == 0)
                return false;
    return true;
}

static bool ends_with(const char *s, size_t n, const char *end)
{
    const size_t m = strlen(end);
    return n > m && memcmp(s + n - m, end, m) == 0;
}

/* The last `parts` parts of a path without the suffixes of snapshots. NULL: no memory. */
static const char *tail_of(struct gm_arena *arena, const char *path, int parts)
{
    static const char *const suffixes[] = {".gz", ".zst", ".pickle", ".pkl", ".snap", ".json", ".html", ".gmtrace"};
    const char *s = path + strlen(path);
    for (int seen = 0; s > path; s--)
        if ((s[-1] == '/' || s[-1] == '\\') && ++seen == parts)
            break;
    size_t n = strlen(s);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (ends_with(s, n, suffixes[i]))
            n -= strlen(suffixes[i]);
    return gm_arena_copy(arena, s, n);
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

/* Leaves out whole words that all labels begin with, if one of them is long. */
static void shorten(const char **labels, size_t n)
{
    size_t longest = 0, common = strlen(labels[0]), words = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(labels[i]);
        size_t same = 0;
        while (same < common && same < length && labels[i][same] == labels[0][same])
            same++;
        common = same;
        longest = length > longest ? length : longest;
    }
    for (size_t i = 0; i < common && longest - words > LONG; i++) {
        bool leaves = true; /* every label goes on with a word */
        for (size_t k = 0; k < n; k++)
            leaves = leaves && is_word(labels[k][i + 1]);
        if (leaves && !is_word(labels[0][i]))
            words = i + 1;
    }
    for (size_t i = 0; i < n; i++)
        labels[i] += words;
}

static bool number_equal(struct gm_comparison *c, const char **labels)
{
    for (size_t i = c->run_count; i-- > 1;) {
        size_t before = 0;
        for (size_t k = 0; k < i; k++)
            before += strcmp(labels[i], labels[k]) == 0;
        if (before > 0 && (labels[i] = gm_arena_printf(&c->arena, "%s (%zu)", labels[i], before + 1)) == NULL)
            return false;
    }
    return true;
}

bool gm_compare_labels(struct gm_comparison *c)
{
    const char **labels = gm_arena_calloc(&c->arena, c->run_count, sizeof *labels);
    if (labels == NULL)
        return false;
    c->labels = labels;
    for (size_t i = 0; i < c->run_count; i++)
        labels[i] = c->runs[i]->name == NULL ? c->runs[i]->path : c->runs[i]->name;
    for (int parts = 1; parts <= 4 && !all_differ(labels, c->run_count); parts++)
        for (size_t i = 0; i < c->run_count; i++)
            if ((labels[i] = tail_of(&c->arena, c->runs[i]->path, parts)) == NULL)
                return false;
    shorten(labels, c->run_count);
    return number_equal(c, labels);
}
