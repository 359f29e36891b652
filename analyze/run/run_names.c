/* SPDX-License-Identifier: Apache-2.0
 *
 * A word (iteration, rank, bs ...) begins where a word can begin; at most one separator follows, then digits that end
 * where a number can end: "seq2seq", "steps" and "rank" alone are none, "iteration-5" and "bs=8" are.
 */
#include "analyze/run/run_names.h"

#include "analyze/base/ascii.h"
#include "analyze/base/utf8.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { WORDS = 32 }; /* in one name */

static bool is_name_char(char c)
{
    return gm_is_letter(c) || gm_is_digit(c) || c == '.' || c == '_' || c == '-';
}

/* Appends s[0..n) cleaned; one character, however many bytes it has, gives one '_'. */
static void add_clean(char out[GM_NAME_SIZE], const char *s, size_t n)
{
    size_t used = strlen(out);
    for (size_t i = 0; i < n && used + 1 < GM_NAME_SIZE;) {
        uint32_t code = 0;
        size_t length = gm_utf8_decode(s + i, n - i, &code);
        out[used++] = is_name_char(s[i]) ? s[i] : '_';
        i += length > 0 ? length : 1;
    }
    out[used] = '\0';
}

void gm_name_clean(char out[GM_NAME_SIZE], const char *name)
{
    out[0] = '\0';
    add_clean(out, name[0] != '\0' ? name : "run", strlen(name[0] != '\0' ? name : "run"));
}

static const struct {
    const char *text, *shown;
} words[] = {{"iteration", "iter"}, {"iter", "iter"},   {"step", "step"}, {"rank", "rank"}, {"lbs", "lbs"},
             {"bs", "bs"},          {"batch", "batch"}, {"ctx", "ctx"},   {"seq", "seq"}};

static bool starts_word(const char *s, size_t i)
{
    return i == 0 || !gm_is_letter(s[i - 1]) || (gm_is_lower(s[i - 1]) && gm_is_upper(s[i]));
}

/* Whether a word and a number stand at s[0..n), whatever follows. */
static bool match(struct gm_name_word *word, const char *s, size_t n)
{
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        size_t i = strlen(words[w].text);
        if (i >= n || strncasecmp(s, words[w].text, i) != 0)
            continue;
        if (strchr("_-=.: ", s[i]) != NULL)
            i++;
        size_t digits = i;
        while (i < n && gm_is_digit(s[i]))
            i++;
        if (i == digits)
            continue;
        *word = (struct gm_name_word){words[w].shown, s, s + digits, i - digits};
        return true;
    }
    return false;
}

/* The same where a word can begin and the number ends: before a letter only if another word with a number begins. */
static bool match_at(struct gm_name_word *word, const char *s, size_t n, size_t i)
{
    if (!starts_word(s, i) || !match(word, s + i, n - i))
        return false;
    size_t end = (size_t)(word->digits + word->length - s);
    struct gm_name_word next;
    return end == n || (!gm_is_letter(s[end]) && (unsigned char)s[end] < 0x80) || match(&next, s + end, n - end);
}

bool gm_name_next_word(struct gm_name_word *word, const struct gm_name_part *part, size_t *from)
{
    for (size_t i = *from; i < part->n; i++)
        if (match_at(word, part->s, part->n, i)) {
            *from = (size_t)(word->digits + word->length - part->s);
            return true;
        }
    *from = part->n;
    return false;
}

size_t gm_name_parts(struct gm_name_part parts[GM_NAME_PARTS], const char *path)
{
    size_t count = 0;
    for (size_t end = strlen(path); end > 0 && count < GM_NAME_PARTS;) {
        size_t start = end;
        while (start > 0 && path[start - 1] != '/')
            start--;
        struct gm_name_part part = {path + start, end - start};
        if (part.n > 0 && !(part.n == 1 && part.s[0] == '.'))
            parts[count++] = part;
        end = start > 0 ? start - 1 : 0;
    }
    for (size_t i = 0; i < count / 2; i++) {
        struct gm_name_part swap = parts[i];
        parts[i] = parts[count - 1 - i];
        parts[count - 1 - i] = swap;
    }
    return count;
}

/* What is found twice is named once. */
static void add_word(struct gm_name_word *found, size_t *count, const struct gm_name_word *word)
{
    for (size_t i = 0; i < *count; i++)
        if (found[i].shown == word->shown && found[i].length == word->length &&
            memcmp(found[i].digits, word->digits, word->length) == 0)
            return;
    if (*count < WORDS)
        found[(*count)++] = *word;
}

const char *const gm_snapshot_suffixes[] = {".pickle", ".pkl", ".snap", ".json", ".html", ".gmtrace", NULL};
const char *const gm_compression_suffixes[] = {".gz", ".zst", NULL};

/* Length of `suffix` if s[0..n) ends in it, in any case; else 0. */
static size_t ends_in(const char *s, size_t n, const char *suffix)
{
    size_t m = strlen(suffix);
    return n >= m && strncasecmp(s + n - m, suffix, m) == 0 ? m : 0;
}

static size_t ends_in_one(const char *s, size_t n, const char *const *suffixes)
{
    size_t m = 0;
    for (size_t i = 0; m == 0 && suffixes[i] != NULL; i++)
        m = ends_in(s, n, suffixes[i]);
    return m;
}

static size_t compression_suffix(const char *s, size_t n)
{
    return ends_in_one(s, n, gm_compression_suffixes);
}

/* Length of the snapshot suffix that s[0..n) ends in, compression included; else 0. */
static size_t snapshot_suffix(const char *s, size_t n)
{
    const size_t packed = compression_suffix(s, n), m = ends_in_one(s, n - packed, gm_snapshot_suffixes);
    return m > 0 ? m + packed : 0;
}

bool gm_name_has_snapshot_suffix(const char *name)
{
    return snapshot_suffix(name, strlen(name)) > 0;
}

/* Length of a file's name without its suffixes: all snapshot suffixes, or compression and one short suffix of
 * letters and digits (".bin.gz"). */
static size_t stem_length(const char *s, size_t n)
{
    size_t m = snapshot_suffix(s, n);
    if (m > 0) {
        for (; m > 0; m = snapshot_suffix(s, n))
            n -= m;
        return n;
    }
    n -= compression_suffix(s, n);
    size_t dot = n;
    while (dot > 0 && s[dot - 1] != '.')
        dot--;
    if (dot < 2 || dot == n || n - dot > 5 || !gm_is_letter(s[dot]))
        return n;
    for (size_t i = dot; i < n; i++)
        if (!gm_is_letter(s[i]) && !gm_is_digit(s[i]))
            return n;
    return dot - 1;
}

void gm_name_detect(char out[GM_NAME_SIZE], const char *path)
{
    out[0] = '\0';
    if (strcmp(path, "-") == 0) {
        add_clean(out, "stdin", 5);
        return;
    }
    struct gm_name_part parts[GM_NAME_PARTS];
    struct gm_name_word found[WORDS], word;
    size_t part_count = gm_name_parts(parts, path), count = 0;
    for (size_t p = 0; p < part_count; p++)
        for (size_t at = 0; gm_name_next_word(&word, &parts[p], &at);)
            add_word(found, &count, &word);
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            add_clean(out, "_", 1);
        add_clean(out, found[i].shown, strlen(found[i].shown));
        add_clean(out, found[i].digits, found[i].length);
    }
    if (count == 0 && part_count > 0) {
        const struct gm_name_part *file = &parts[part_count - 1];
        add_clean(out, file->s, stem_length(file->s, file->n));
    }
    if (out[0] == '\0')
        gm_name_clean(out, "");
}
