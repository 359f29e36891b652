/* SPDX-License-Identifier: Apache-2.0
 *
 * The classifier: the rules' answer for every string, every frame (function and file; the line tells nothing) and every
 * stack of one snapshot, each worked out once, when it is first asked for.
 */
#include "analyze/state/categories.h"
#include "analyze/base/address_map.h"
#include "analyze/base/freed.h"
#include "analyze/base/intern.h"
#include "analyze/state/category_rules.h"

#include <stdlib.h>
#include <string.h>

struct gm_classifier {
    const struct gm_category_rules *rules;
    const struct gm_snapshot *snapshot;
    struct gm_match_scratch scratch;
    uint64_t *name_mask;                      /* scratch */
    uint16_t *stack_answer;                   /* [stack]: category + 1, 0: not asked yet */
    uint32_t *frame_verdict;                  /* [frame]: verdict + 1, 0: not asked yet */
    uint32_t *string_mask[GM_MATCH_FILE + 1]; /* [side][string]: mask + 1, 0: not asked yet */
    struct gm_intern masks;                   /* most strings have one of a few */
    struct gm_address_map of_masks;           /* mask of the name << 32 | mask of the file, to a verdict */
    struct GM_VEC(struct gm_frame_verdict) verdicts;
};

uint32_t gm_category_count(const struct gm_category_rules *rules)
{
    return (uint32_t)rules->categories.n + 2;
}

const char *gm_category_name(const struct gm_category_rules *rules, uint32_t category)
{
    if (category < rules->categories.n)
        return rules->categories.v[category].name;
    return category == rules->categories.n ? "Other" : "No stack recorded";
}

uint32_t gm_category_color(const struct gm_category_rules *rules, uint32_t category)
{
    if (category < rules->categories.n)
        return rules->categories.v[category].color;
    return category == rules->categories.n ? 0x999999 : 0xD9D9D9;
}

bool gm_category_is_component(const struct gm_category_rules *rules, uint32_t category)
{
    for (size_t i = 0; i < rules->sections.n; i++)
        if (rules->sections.v[i].category == category &&
            strcmp(rules->tier_names[rules->sections.v[i].tier], "component") == 0)
            return true;
    return false;
}

/* Hues that people with colour-blindness tell apart, in three shades; the name's hash picks one. */
uint32_t gm_color_of_name(const char *name)
{
    static const uint32_t palette[] = {0x0077BB, 0x33BBEE, 0x009988, 0xEE7733, 0xCC3311, 0xEE3377, 0x997700, 0x004488,
                                       0x6699CC, 0x994455, 0xEECC66, 0xEE99AA, 0x225522, 0x666633, 0x663333, 0xBBCC33,
                                       0x44BB99, 0x99DDFF, 0xFFAABB, 0xAAAA00, 0x77AADD, 0xEE8866, 0x882255, 0x332288};
    uint32_t hash = 2166136261u;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return palette[(hash >> 8) % (sizeof palette / sizeof *palette)];
}

enum gm_status gm_classifier_new(struct gm_classifier **classifier, const struct gm_category_rules *rules,
                                 const struct gm_snapshot *snapshot, struct gm_error *err)
{
    struct gm_classifier *c = calloc(1, sizeof *c);
    *classifier = NULL;
    if (c != NULL) {
        c->rules = rules;
        c->snapshot = snapshot;
        c->name_mask = calloc(gm_matcher_words(rules), sizeof *c->name_mask);
        c->stack_answer = calloc((size_t)snapshot->stacks.count + 1, sizeof *c->stack_answer);
        c->frame_verdict = calloc((size_t)snapshot->frames.count + 1, sizeof *c->frame_verdict);
        for (int side = GM_MATCH_NAME; side <= GM_MATCH_FILE; side++)
            c->string_mask[side] = calloc((size_t)snapshot->strings.count + 1, sizeof *c->string_mask[side]);
    }
    if (c == NULL || !gm_match_scratch_new(&c->scratch, rules) || c->name_mask == NULL || c->stack_answer == NULL ||
        c->frame_verdict == NULL || c->string_mask[GM_MATCH_NAME] == NULL || c->string_mask[GM_MATCH_FILE] == NULL) {
        gm_classifier_free(c);
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for categories");
    }
    *classifier = c;
    return GM_OK;
}

void gm_classifier_free(struct gm_classifier *c)
{
    if (c == NULL)
        return;
    gm_match_scratch_free(&c->scratch);
    GM_FREE_ALL(c->name_mask, c->stack_answer, c->frame_verdict, c->string_mask[GM_MATCH_NAME],
                c->string_mask[GM_MATCH_FILE]);
    gm_intern_free(&c->masks);
    gm_map_free(&c->of_masks);
    GM_FREE_ALL(c->verdicts.v, c);
}

/* The number of a string's mask; GM_INTERN_NONE: no memory. */
static uint32_t mask_of(struct gm_classifier *c, enum gm_match_side side, struct gm_string_id string)
{
    uint32_t *known = &c->string_mask[side][string.v];
    if (*known == 0) {
        size_t n;
        const char *text = gm_string(c->snapshot, string, &n);
        gm_match_string(c->rules, &c->scratch, side, text, n);
        *known = 1 + gm_intern_add(&c->masks, c->scratch.mask, gm_matcher_words(c->rules) * sizeof *c->scratch.mask);
    }
    return *known - 1; /* GM_INTERN_NONE + 1 is 0 */
}

/* Without memory for what was found before, everything is found again. */
static struct gm_frame_verdict ask_again(struct gm_classifier *c, uint32_t frame)
{
    const struct gm_frames *frames = &c->snapshot->frames;
    size_t n;
    const char *text = gm_string(c->snapshot, frames->name[frame], &n);
    gm_match_string(c->rules, &c->scratch, GM_MATCH_NAME, text, n);
    memcpy(c->name_mask, c->scratch.mask, gm_matcher_words(c->rules) * sizeof *c->name_mask);
    text = gm_string(c->snapshot, frames->filename[frame], &n);
    gm_match_string(c->rules, &c->scratch, GM_MATCH_FILE, text, n);
    return gm_match_verdict(c->rules, &c->scratch, c->name_mask, c->scratch.mask);
}

static struct gm_frame_verdict frame_verdict(struct gm_classifier *c, uint32_t frame)
{
    if (c->frame_verdict[frame] != 0)
        return c->verdicts.v[c->frame_verdict[frame] - 1];
    uint32_t name = mask_of(c, GM_MATCH_NAME, c->snapshot->frames.name[frame]), before;
    uint32_t file = mask_of(c, GM_MATCH_FILE, c->snapshot->frames.filename[frame]);
    if (name == GM_INTERN_NONE || file == GM_INTERN_NONE)
        return ask_again(c, frame);
    uint32_t known = gm_map_get(&c->of_masks, (uint64_t)name << 32 | file);
    if (known == GM_MAP_NONE) {
        struct gm_frame_verdict fresh =
            gm_match_verdict(c->rules, &c->scratch, c->masks.entries.v[name].bytes, c->masks.entries.v[file].bytes);
        known = (uint32_t)c->verdicts.n;
        if (!GM_VEC_PUSH(&c->verdicts, fresh) || !gm_map_put(&c->of_masks, (uint64_t)name << 32 | file, known, &before))
            return fresh;
    }
    c->frame_verdict[frame] = known + 1;
    return c->verdicts.v[known];
}

/* The first tier that knows the stack decides; all tiers are followed at once, outwards. */
static uint32_t classify_frames(struct gm_classifier *c, const struct gm_frame_id *frames, size_t depth)
{
    uint16_t found[GM_RULES_MAX_TIERS] = {0};
    uint32_t open = (1u << c->rules->tier_count) - 1; /* tiers that still look */
    for (size_t i = 0; i < depth && open != 0; i++) {
        const struct gm_frame_verdict verdict = frame_verdict(c, frames[i].v);
        for (uint32_t t = 0; t < c->rules->tier_count; t++) {
            if ((open >> t & 1) == 0)
                continue;
            if (verdict.category[t] != 0) {
                found[t] = verdict.category[t];
                open &= (1u << t) - 1; /* later tiers cannot win any more */
                break;
            }
            if (verdict.stops >> t & 1)
                open &= ~(1u << t);
        }
    }
    for (uint32_t t = 0; t < c->rules->tier_count; t++)
        if (found[t] != 0)
            return found[t] - 1u;
    return gm_category_count(c->rules) - 2;
}

uint32_t gm_classify(struct gm_classifier *c, struct gm_stack_id stack)
{
    if (c->stack_answer[stack.v] == 0) {
        size_t depth;
        const struct gm_frame_id *frames = gm_stack_frames(c->snapshot, stack, &depth);
        uint32_t category = depth == 0 ? gm_category_count(c->rules) - 1 : classify_frames(c, frames, depth);
        c->stack_answer[stack.v] = (uint16_t)(category + 1);
    }
    return c->stack_answer[stack.v] - 1u;
}

uint32_t gm_classifier_matches(const struct gm_classifier *c)
{
    return c->scratch.mark;
}
