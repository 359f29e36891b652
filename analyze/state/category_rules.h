/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to the category code: parsed rules. A pattern belongs to a group; what a group means for a frame that one of
 * its patterns matches is the group's role. A category that stands in two tiers has two sections and one number.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/vec.h"
#include "analyze/state/categories.h"

enum {
    GM_RULES_MAX_TIERS = 8,
    GM_RULES_MAX_SECTIONS = 1000,
    GM_RULES_MAX_PATTERNS = 20000,
    GM_RULES_MAX_PATTERN_LENGTH = 200,
    GM_RULES_MAX_BYTES = 1 << 20,
    GM_RULES_MAX_TEXT = 4096, /* of a function or file name, this much is looked at */
    GM_RULES_PADDING = 4      /* bytes after it */
};

enum gm_pattern_kind { GM_PATTERN_WORD, GM_PATTERN_NAME, GM_PATTERN_FILE, GM_PATTERN_BOTH, GM_PATTERN_OP };
enum gm_pattern_role { GM_ROLE_NOISE, GM_ROLE_STOP, GM_ROLE_FOR, GM_ROLE_NOT };

struct gm_name_pattern {
    const char *text; /* lower case: word, glob on the function name, or "at::_ops::name" */
    const char *file; /* glob on the file name, for FILE and BOTH; else NULL */
    uint8_t kind, role;
    uint16_t target; /* the tier of a STOP, the section of a FOR or a NOT */
};

struct gm_rule_section {
    uint32_t category, tier;
};

struct gm_rule_category {
    const char *name;
    uint32_t color;
    bool has_color;
};

struct gm_matcher; /* analyze/state/match.c */

struct gm_category_rules {
    struct gm_arena arena; /* strings */
    struct GM_VEC(struct gm_name_pattern) patterns;
    struct GM_VEC(struct gm_rule_section) sections; /* in file order, so those of a tier are together */
    struct GM_VEC(struct gm_rule_category) categories;
    uint32_t tier_count;
    const char *tier_names[GM_RULES_MAX_TIERS];
    struct gm_matcher *matcher;
};

/* What the rules say about one frame. */
struct gm_frame_verdict {
    uint16_t category[GM_RULES_MAX_TIERS]; /* category + 1, 0: none */
    uint8_t stops;                         /* bit t: tier t looks no further */
};

/* Prepares rules for matching (after parsing); the matcher belongs to the rules. */
enum gm_status gm_matcher_build(struct gm_category_rules *rules, struct gm_error *err);
void gm_matcher_free(struct gm_matcher *matcher);

/* What the rules say about one string, as a function's name or as a file's path: a mask of gm_matcher_words() words,
 * which means something to gm_match_verdict only. */
enum gm_match_side { GM_MATCH_NAME, GM_MATCH_FILE };
size_t gm_matcher_words(const struct gm_category_rules *rules);

/* Scratch of one user of a matcher. */
struct gm_match_scratch {
    uint32_t *marks; /* [entry of the matcher]: `mark` if it need not be tried again on this string */
    uint32_t mark;
    uint64_t *mask; /* what gm_match_string found */
    char text[GM_RULES_MAX_TEXT + 1], lower[GM_RULES_MAX_TEXT + GM_RULES_PADDING];
};
bool gm_match_scratch_new(struct gm_match_scratch *scratch, const struct gm_category_rules *rules);
void gm_match_scratch_free(struct gm_match_scratch *scratch);
/* Sets scratch->mask for s[0..n). Takes time in proportion to n, at most GM_RULES_MAX_TEXT, and to the rules. */
void gm_match_string(const struct gm_category_rules *rules, struct gm_match_scratch *scratch, enum gm_match_side side,
                     const char *s, size_t n);
/* The verdict on a frame, from the masks of its function's name and its file's path. Uses scratch->mask. */
struct gm_frame_verdict gm_match_verdict(const struct gm_category_rules *rules, struct gm_match_scratch *scratch,
                                         const uint64_t *name, const uint64_t *file);

/* Whether `text`, a NUL-terminated pattern of * and ?, is all of s[0..n). */
bool gm_glob_match(const char *glob, const char *s, size_t n);
/* A colour for a category that has none in the rules: always the same for the same name. */
uint32_t gm_color_of_name(const char *name);
