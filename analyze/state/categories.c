/* SPDX-License-Identifier: Apache-2.0
 *
 * The classifier: the rules' answer for every frame (function and file; the line tells nothing) and every stack of one
 * snapshot, each worked out once, when it is first asked for.
 */
#include "analyze/state/categories.h"
#include "analyze/state/rules.h"

#include <stdlib.h>
#include <string.h>

struct gm_classifier {
    const struct gm_category_rules *rules;
    const struct gm_snapshot *snapshot;
    struct gm_match_scratch scratch;
    uint16_t *stack_answer;            /* [stack]: category + 1, 0: not asked yet */
    uint32_t *frame_verdict;           /* [frame]: verdict + 1, 0: not asked yet */
    struct gm_frame_verdict *verdicts; /* one per distinct (function, file), in order of asking */
    uint32_t verdict_count;
    uint32_t *table;          /* hash table of verdict + 1 by (function, file) */
    uint32_t *representative; /* [verdict]: a frame that has it */
    uint32_t table_mask;
    uint64_t seed; /* not guessable from the file, so that it cannot choose collisions; no answer depends on it */
    struct gm_frame_text text;
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
    size_t frames = (size_t)snapshot->frames.count + 1, slots = 64;
    while (slots < 2 * frames && slots < UINT32_C(1) << 31)
        slots *= 2;
    if (c != NULL) {
        c->rules = rules;
        c->snapshot = snapshot;
        c->table_mask = (uint32_t)(slots - 1);
        c->seed = (uint64_t)(uintptr_t)c;
        c->stack_answer = calloc((size_t)snapshot->stacks.count + 1, sizeof *c->stack_answer);
        c->frame_verdict = calloc(frames, sizeof *c->frame_verdict);
        c->verdicts = calloc(frames, sizeof *c->verdicts);
        c->representative = calloc(frames, sizeof *c->representative);
        c->table = calloc(slots, sizeof *c->table);
    }
    if (c == NULL || !gm_match_scratch_new(&c->scratch, rules) || c->stack_answer == NULL || c->frame_verdict == NULL ||
        c->verdicts == NULL || c->representative == NULL || c->table == NULL) {
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
    free(c->stack_answer);
    free(c->frame_verdict);
    free(c->verdicts);
    free(c->representative);
    free(c->table);
    free(c);
}

static const struct gm_frame_verdict *frame_verdict(struct gm_classifier *c, uint32_t frame)
{
    if (c->frame_verdict[frame] != 0)
        return &c->verdicts[c->frame_verdict[frame] - 1];
    const struct gm_frames *frames = &c->snapshot->frames;
    uint32_t name = frames->name[frame].v, file = frames->filename[frame].v;
    uint64_t hash = ((((uint64_t)name << 32) | file) ^ c->seed) * UINT64_C(0x9E3779B97F4A7C15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xBF58476D1CE4E5B9);
    uint32_t slot = (uint32_t)(hash >> 32) & c->table_mask;
    for (; c->table[slot] != 0; slot = (slot + 1) & c->table_mask) {
        uint32_t other = c->representative[c->table[slot] - 1];
        if (frames->name[other].v == name && frames->filename[other].v == file) {
            c->frame_verdict[frame] = c->table[slot];
            return &c->verdicts[c->table[slot] - 1];
        }
    }
    uint32_t fresh = c->verdict_count++;
    size_t name_length, file_length;
    const char *name_text = gm_string(c->snapshot, frames->name[frame], &name_length);
    const char *file_text = gm_string(c->snapshot, frames->filename[frame], &file_length);
    gm_frame_text_set(&c->text, name_text, name_length, file_text, file_length);
    gm_match_frame(c->rules, &c->scratch, &c->text, &c->verdicts[fresh]);
    c->representative[fresh] = frame;
    c->table[slot] = fresh + 1;
    c->frame_verdict[frame] = fresh + 1;
    return &c->verdicts[fresh];
}

/* The first tier that knows the stack decides; all tiers are followed at once, outwards. */
static uint32_t classify_frames(struct gm_classifier *c, const struct gm_frame_id *frames, size_t depth)
{
    uint16_t found[GM_RULES_MAX_TIERS] = {0};
    uint32_t open = (1u << c->rules->tier_count) - 1; /* tiers that still look */
    for (size_t i = 0; i < depth && open != 0; i++) {
        const struct gm_frame_verdict *verdict = frame_verdict(c, frames[i].v);
        for (uint32_t t = 0; t < c->rules->tier_count; t++) {
            if ((open >> t & 1) == 0)
                continue;
            if (verdict->category[t] != 0) {
                found[t] = verdict->category[t];
                open &= (1u << t) - 1; /* later tiers cannot win any more */
                break;
            }
            if (verdict->stops >> t & 1)
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
