/* SPDX-License-Identifier: Apache-2.0
 *
 * Words are found as for the names of runs (analyze/run/run_names.h): "rank3", "rank_3", "global_rank=3" and "Rank-03"
 * are ranks; "ranking3", "frank3" and "rank3b" are none, and "local_rank0" says nothing about the job.
 */
#include "analyze/fleet/place.h"

#include "analyze/base/ascii.h"
#include "analyze/run/run_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIGITS = 18, PATTERN = 1024, PATH = 4096 };

/* The digits at s as a number, -1 if there are more than a number can have; *n is how many there are. */
static int64_t read_number(const char *s, size_t *n)
{
    int64_t value = 0;
    size_t significant = 0;
    for (*n = 0; gm_is_digit(s[*n]); ++*n) {
        significant += significant > 0 || s[*n] != '0';
        if (significant <= DIGITS)
            value = 10 * value + (s[*n] - '0');
    }
    return significant > DIGITS ? -1 : value;
}

static bool is_local(const struct gm_name_part *part, const char *word)
{
    static const char local[] = "local";
    size_t i = (size_t)(word - part->s), n = sizeof local - 1;
    if (i > 0 && strchr("_-", part->s[i - 1]) != NULL)
        i--;
    return i >= n && strncasecmp(part->s + i - n, local, n) == 0;
}

struct gm_place_found gm_place_detect(const char *path)
{
    struct gm_place_found found = {-1, -1};
    struct gm_name_part parts[GM_NAME_PARTS];
    struct gm_name_word word;
    const size_t count = gm_name_parts(parts, path);
    for (size_t p = 0; p < count; p++)
        for (size_t at = 0; gm_name_next_word(&word, &parts[p], &at);) {
            size_t digits;
            const int64_t number = read_number(word.digits, &digits);
            const bool is_rank = strcmp(word.shown, "rank") == 0;
            if (number < 0 || (is_rank && is_local(&parts[p], word.at)))
                continue;
            if (is_rank)
                found.rank = number;
            else if (strcmp(word.shown, "iter") == 0 || strcmp(word.shown, "step") == 0)
                found.iteration = number;
        }
    return found;
}

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

static const char rank_word[] = "{rank}", iteration_word[] = "{iteration}";

static size_t placeholder(const char *pattern, bool *is_rank)
{
    *is_rank = strncmp(pattern, rank_word, sizeof rank_word - 1) == 0;
    if (*is_rank)
        return sizeof rank_word - 1;
    return strncmp(pattern, iteration_word, sizeof iteration_word - 1) == 0 ? sizeof iteration_word - 1 : 0;
}

enum gm_status gm_place_check_pattern(const char *pattern, struct gm_error *err)
{
    unsigned seen[2] = {0, 0};
    if (strlen(pattern) >= PATTERN)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--pattern is longer than %d characters", PATTERN - 1);
    for (size_t i = 0; pattern[i] != '\0';) {
        bool is_rank;
        size_t n = placeholder(pattern + i, &is_rank);
        if (n == 0 && strchr("{}", pattern[i]) != NULL)
            return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--pattern knows {rank} and {iteration} only: %s", pattern);
        if (n > 0)
            seen[is_rank]++;
        i += n > 0 ? n : 1;
    }
    if (seen[0] + seen[1] == 0 || seen[0] > 1 || seen[1] > 1)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--pattern wants {rank} or {iteration}, each once at most: %s",
                       pattern);
    return GM_OK;
}

struct matching {
    const char *pattern, *path;
    size_t pattern_length, path_length;
    unsigned char *failed; /* bits of (pattern, path) that lead nowhere: each is tried once */
    struct gm_place_found found;
};

/* Marks the pair; false if it was marked. */
static bool mark(struct matching *m, size_t p, size_t i)
{
    const size_t bit = p * (m->path_length + 1) + i;
    const unsigned char mask = (unsigned char)(1U << (bit & 7));
    const bool was = (m->failed[bit >> 3] & mask) != 0;
    m->failed[bit >> 3] |= mask;
    return !was;
}

/* Depth is at most the number of stars and placeholders: the rest is a loop. */
static bool match_from(struct matching *m, size_t p, size_t i)
{
    for (;;) {
        bool is_rank;
        size_t digits;
        if (p == m->pattern_length)
            return i == m->path_length;
        if (!mark(m, p, i))
            return false;
        const char c = m->pattern[p];
        const size_t n = placeholder(m->pattern + p, &is_rank);
        if (n > 0) {
            const int64_t number = read_number(m->path + i, &digits);
            if (digits == 0 || number < 0 || !match_from(m, p + n, i + digits))
                return false;
            *(is_rank ? &m->found.rank : &m->found.iteration) = number;
            return true;
        }
        if (c == '*') {
            for (;; i++) {
                if (match_from(m, p + 1, i))
                    return true;
                if (i == m->path_length || m->path[i] == '/')
                    return false;
            }
        }
        if (i == m->path_length || (c != m->path[i] && (c != '?' || m->path[i] == '/')))
            return false;
        p++;
        i++;
    }
}

struct gm_place_found gm_place_match(const char *pattern, const char *path)
{
    static const struct gm_place_found none = {-1, -1};
    struct matching m = {.pattern = pattern, .pattern_length = strlen(pattern), .found = none};
    size_t length = strlen(path);
    if (length > PATH) { /* only the end counts; a path that the system opens is not longer */
        path += length - PATH;
        length = PATH;
    }
    bool is_match = false;
    unsigned char *failed = malloc((m.pattern_length + 1) * (length + 1) / 8 + 1);
    if (failed == NULL)
        return none;
    for (size_t from = 0; !is_match && from <= length; from++) {
        if (from > 0 && path[from - 1] != '/')
            continue;
        m.path = path + from;
        m.path_length = length - from;
        m.failed = failed;
        m.found = none;
        memset(failed, 0, (m.pattern_length + 1) * (m.path_length + 1) / 8 + 1);
        is_match = match_from(&m, 0, 0);
    }
    free(failed);
    return is_match ? m.found : none;
}
