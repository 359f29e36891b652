/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the known names was probably meant by a word that is none of them: the nearest one, if it is near.
 *
 *     struct gm_closest c = gm_closest_to(word, strlen(word));
 *     for (...)
 *         gm_closest_offer(&c, names[i]);
 *     gm_fail(err, ..., "no such thing: '%s'%s", word, gm_closest_hint(&c, "").text);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct gm_closest {
    const char *word;
    size_t length;
    const char *name; /* the nearest one so far; NULL: none is near. Of equal ones one that begins so, else the first */
    size_t distance;
    bool is_beginning;
};
struct gm_closest_text {
    char text[96]; /* "; did you mean '--limit'?", or "" */
};

/* `word` must live as long as the result is used; it need not end in a NUL. */
struct gm_closest gm_closest_to(const char *word, size_t length);
/* Typing errors are letters that are wrong, missing, too many, or two neighbours swapped (the Damerau-Levenshtein
 * distance, no letter changed twice): one in 2 to 4 letters of the word, two in 5 to 7, three in more. Case does not
 * count, and '-', '_' and a blank are the same. A name that begins with the word (2 letters or more) is one error off.
 * `name` must live as long as the result is used. */
void gm_closest_offer(struct gm_closest *closest, const char *name);
/* For the end of a message; `before` comes before the name: "--". */
struct gm_closest_text gm_closest_hint(const struct gm_closest *closest, const char *before);
