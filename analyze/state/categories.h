/* SPDX-License-Identifier: Apache-2.0
 *
 * Category rules: which stack belongs to which category. The rules are a text file (docs/categories.md); the default
 * one is analyze/state/default.categories, which is also compiled in, so that the program works without its data
 * files.
 *
 * A rule set has tiers, a tier has categories, a category has patterns on a frame's function name or file name. Tiers
 * are tried in order; within a tier the innermost frame that any category matches decides; if several categories match
 * that frame, the first in the file wins. A block without a stack is "No stack recorded", a stack that no rule matches
 * is "Other".
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/snapshot/snapshot.h"

#include <stdint.h>

struct gm_category_rules;

/* Parses rules from text[0..length). Errors are GM_E_USAGE with "NAME:LINE: what" in the message. */
enum gm_status gm_category_rules_parse(struct gm_category_rules **rules, const char *text, size_t length,
                                       const char *name, struct gm_error *err);
/* The compiled-in default rules. */
enum gm_status gm_category_rules_default(struct gm_category_rules **rules, struct gm_error *err);
void gm_category_rules_free(struct gm_category_rules *rules);

/* Categories are numbered in file order; the last two are always "Other" and "No stack recorded". */
uint32_t gm_category_count(const struct gm_category_rules *rules);
const char *gm_category_name(const struct gm_category_rules *rules, uint32_t category);
uint32_t gm_category_color(const struct gm_category_rules *rules, uint32_t category); /* 0xRRGGBB */
/* Whether it says which part of a program made the memory: it stands in the tier that is called "component". */
bool gm_category_is_component(const struct gm_category_rules *rules, uint32_t category);

/* Classifies stacks of one snapshot; remembers each string's, frame's and stack's answer, so that each
 * costs once. Lazy: only what is asked for is matched. Not thread-safe. */
struct gm_classifier;
enum gm_status gm_classifier_new(struct gm_classifier **classifier, const struct gm_category_rules *rules,
                                 const struct gm_snapshot *snapshot, struct gm_error *err);
uint32_t gm_classify(struct gm_classifier *classifier, struct gm_stack_id stack);
/* How often a string was matched against the rules: at most twice each, however many frames they make. */
uint32_t gm_classifier_matches(const struct gm_classifier *classifier);
void gm_classifier_free(struct gm_classifier *classifier);
