/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of runs, from the user or from the path of a snapshot (contract: "Without NAME").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { GM_NAME_SIZE = 160 };

/* A page of a run directory: it has traces in it, but is no snapshot. */
#define GM_RUN_PAGE "memory.html"
#define GM_RUN_ANALYSIS "analysis.json"

/* Replaces characters outside [A-Za-z0-9._-] by '_' and cuts to fit; an empty name becomes "run". */
void gm_name_clean(char out[GM_NAME_SIZE], const char *name);
/* The last parts of a path, in their order; empty ones and "." are no parts. Returns how many there are. */
enum { GM_NAME_PARTS = 4 };
struct gm_name_part {
    const char *s; /* in the path */
    size_t n;
};
size_t gm_name_parts(struct gm_name_part parts[GM_NAME_PARTS], const char *path);

/* A word with its number in a part of a path: "rank3", "iteration-05". The words are those of the table in
 * docs/results.md. */
struct gm_name_word {
    const char *shown;  /* "rank", "iter", "step", "lbs" ... */
    const char *at;     /* where it begins */
    const char *digits; /* its number */
    size_t length;      /* of the number */
};
/* The next one from part->s + *from on; *from is then behind it. false: there is none. */
bool gm_name_next_word(struct gm_name_word *word, const struct gm_name_part *part, size_t *from);

/* iterN, stepN, rankN, lbsN ... found in the last four parts of `path`, joined by '_'; else the file's stem (all
 * snapshot suffixes removed). "-" gives "stdin". Cleaned. */
void gm_name_detect(char out[GM_NAME_SIZE], const char *path);
extern const char *const gm_snapshot_suffixes[], *const gm_compression_suffixes[]; /* up to a NULL */
/* Whether `name` ends in a snapshot suffix, which may have one of a compression behind it, in any case. */
bool gm_name_has_snapshot_suffix(const char *name);
