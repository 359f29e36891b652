/* SPDX-License-Identifier: Apache-2.0
 *
 * Which patterns match one string: a function's name or a file's path. There are hundreds of patterns and, in real
 * snapshots, names of thousands of characters, so trying every pattern would take longer than reading the file. So
 * every pattern is filed under its longest run of plain characters; an Aho-Corasick automaton over these runs reads the
 * string once and gives the few patterns whose run occurs, and only those are checked in full. A file may pair every
 * name with every path: strings are matched one by one, and a frame's verdict is put together from two masks.
 */
#include "analyze/base/ascii.h"
#include "analyze/state/category_rules.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ENTRY = UINT16_MAX, MAX_NODES = UINT16_MAX };

/* A pattern on one side, or a word, which may stand on either. */
struct entry {
    uint16_t pattern;
    uint16_t next; /* another entry with the same run */
    uint16_t bit;  /* of a mask: what it means that this matches */
    uint8_t sides; /* bit per enum gm_match_side */
};

struct gm_matcher {
    uint8_t class_of[256]; /* of a lower-case byte; 0: in no run */
    uint32_t class_count;
    uint32_t node_count;
    uint16_t *next;   /* [node * class_count + class] */
    uint16_t *first;  /* [node]: first entry whose run ends here, or NO_ENTRY */
    uint16_t *report; /* [node]: this node or the longest proper suffix with an entry; 0: none */
    uint16_t *suffix; /* [node] */
    struct entry *entries;
    uint16_t entry_count;
    uint16_t *always; /* entries without any plain character */
    uint32_t always_count;
    uint16_t *both; /* patterns of kind "both", in order of their bits */
    uint32_t both_count;
    size_t flag_words, words; /* of a mask: before the halves of "both" patterns; in all */
};

struct run {
    const char *s;
    size_t n;
};

static struct run longest_run(const char *glob)
{
    struct run best = {glob, 0};
    while (glob != NULL && *glob != '\0') {
        size_t n = strcspn(glob, "*?");
        if (n > best.n)
            best = (struct run){glob, n};
        glob += n;
        glob += strspn(glob, "*?");
    }
    return best;
}

static struct run entry_run(const struct gm_category_rules *rules, const struct entry *entry)
{
    const struct gm_name_pattern *p = &rules->patterns.v[entry->pattern];
    if (p->kind == GM_PATTERN_WORD || p->kind == GM_PATTERN_OP)
        return (struct run){p->text, strlen(p->text)};
    return longest_run(entry->sides == 1u << GM_MATCH_FILE ? p->file : p->text);
}

void gm_matcher_free(struct gm_matcher *m)
{
    if (m == NULL)
        return;
    free(m->next);
    free(m->first);
    free(m->report);
    free(m->suffix);
    free(m->entries);
    free(m->both);
    free(m->always);
    free(m);
}

static bool allocate(struct gm_matcher *m, size_t nodes)
{
    m->next = calloc(nodes * m->class_count, sizeof *m->next);
    m->first = malloc(nodes * sizeof *m->first);
    m->report = calloc(nodes, sizeof *m->report);
    m->suffix = calloc(nodes, sizeof *m->suffix);
    m->always = malloc(((size_t)m->entry_count + 1) * sizeof *m->always);
    if (m->next == NULL || m->first == NULL || m->report == NULL || m->suffix == NULL || m->always == NULL)
        return false;
    memset(m->first, 0xFF, nodes * sizeof *m->first); /* NO_ENTRY */
    return true;
}

static void insert(struct gm_matcher *m, struct run run, uint16_t entry)
{
    size_t node = 0;
    for (size_t i = 0; i < run.n; i++) {
        uint16_t *next = &m->next[node * m->class_count + m->class_of[(unsigned char)run.s[i]]];
        if (*next == 0)
            *next = (uint16_t)m->node_count++;
        node = *next;
    }
    m->entries[entry].next = m->first[node];
    m->first[node] = entry;
}

/* ---- masks --------------------------------------------------------------------------------------------------------
 *
 * A bit each: frames of these names are noise; a tier stops at them; a section is for them; a section is not. Then,
 * from a word of its own on, the halves of "both" patterns, which count where both sides have them.
 */

enum { BIT_NOISE, BIT_STOP, BIT_FOR = BIT_STOP + GM_RULES_MAX_TIERS };

static uint16_t bit_of(const struct gm_category_rules *rules, const struct gm_name_pattern *p)
{
    switch ((enum gm_pattern_role)p->role) {
    case GM_ROLE_STOP:
        return (uint16_t)(BIT_STOP + p->target);
    case GM_ROLE_FOR:
        return (uint16_t)(BIT_FOR + p->target);
    case GM_ROLE_NOT:
        return (uint16_t)(BIT_FOR + rules->sections.n + p->target);
    case GM_ROLE_NOISE:
        break;
    }
    return BIT_NOISE;
}

static void set_bit(uint64_t *mask, size_t bit)
{
    mask[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool has_bit(const uint64_t *mask, size_t bit)
{
    return (mask[bit / 64] >> bit % 64 & 1) != 0;
}

static bool make_entries(struct gm_matcher *m, const struct gm_category_rules *rules)
{
    m->flag_words = (BIT_FOR + 2 * rules->sections.n + 63) / 64;
    m->entries = malloc((2 * rules->patterns.n + 1) * sizeof *m->entries);
    m->both = malloc((rules->patterns.n + 1) * sizeof *m->both);
    if (m->entries == NULL || m->both == NULL)
        return false;
    const uint8_t name = 1u << GM_MATCH_NAME, file = 1u << GM_MATCH_FILE;
    for (size_t i = 0; i < rules->patterns.n; i++) {
        const struct gm_name_pattern *p = &rules->patterns.v[i];
        const uint8_t sides = p->kind == GM_PATTERN_WORD ? name | file : p->kind == GM_PATTERN_FILE ? file : name;
        struct entry entry = {(uint16_t)i, NO_ENTRY, bit_of(rules, p), sides};
        if (p->kind == GM_PATTERN_BOTH) {
            entry.bit = (uint16_t)(64 * m->flag_words + m->both_count);
            m->both[m->both_count++] = (uint16_t)i;
            m->entries[m->entry_count++] = entry;
            entry.sides = file;
        }
        m->entries[m->entry_count++] = entry;
    }
    m->words = m->flag_words + (m->both_count + 63) / 64;
    return true;
}

size_t gm_matcher_words(const struct gm_category_rules *rules)
{
    return rules->matcher->words;
}

/* Breadth first, so that a node's suffix is complete before the node: fills gaps of `next` from the suffix. */
static void link_suffixes(struct gm_matcher *m, uint16_t *queue)
{
    size_t head = 0, tail = 0;
    queue[tail++] = 0;
    while (head < tail) {
        uint16_t node = queue[head++];
        uint16_t *row = &m->next[(size_t)node * m->class_count];
        const uint16_t *fallback = &m->next[(size_t)m->suffix[node] * m->class_count];
        m->report[node] = m->first[node] != NO_ENTRY ? node : m->report[m->suffix[node]];
        for (uint32_t c = 1; c < m->class_count; c++) {
            if (row[c] == 0) {
                row[c] = node == 0 ? 0 : fallback[c];
            } else {
                m->suffix[row[c]] = node == 0 ? 0 : fallback[c];
                queue[tail++] = row[c];
            }
        }
    }
}

enum gm_status gm_matcher_build(struct gm_category_rules *rules, struct gm_error *err)
{
    struct gm_matcher *m = calloc(1, sizeof *m);
    rules->matcher = m;
    if (m == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
    if (!make_entries(m, rules))
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
    size_t nodes = 1;
    m->class_count = 1;
    for (size_t i = 0; i < m->entry_count; i++) {
        struct run run = entry_run(rules, &m->entries[i]);
        nodes += run.n;
        for (size_t k = 0; k < run.n; k++) {
            uint8_t *class = &m->class_of[(unsigned char)run.s[k]];
            if (*class == 0)
                *class = (uint8_t)m->class_count++;
        }
    }
    if (nodes > MAX_NODES)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "category rules with patterns of more than 65534 bytes together");
    uint16_t *queue = malloc(nodes * sizeof *queue);
    if (queue == NULL || !allocate(m, nodes)) {
        free(queue);
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
    }
    m->node_count = 1;
    for (uint16_t i = 0; i < m->entry_count; i++) {
        struct run run = entry_run(rules, &m->entries[i]);
        if (run.n == 0)
            m->always[m->always_count++] = i;
        else
            insert(m, run, i);
    }
    link_suffixes(m, queue);
    free(queue);
    return GM_OK;
}

/* ---- one string -------------------------------------------------------------------------------------------------- */

bool gm_glob_match(const char *glob, const char *s, size_t n)
{
    const char *star = NULL;
    size_t i = 0, resume = 0;
    for (;;) {
        if (*glob == '*') {
            star = ++glob;
            resume = i;
        } else if (i < n && *glob != '\0' && (*glob == '?' || *glob == s[i])) {
            glob++;
            i++;
        } else if (i == n && *glob == '\0') {
            return true;
        } else if (star == NULL || resume == n) {
            return false;
        } else {
            glob = star;
            i = ++resume;
        }
    }
}

/* Whether a word may begin or end between s[i - 1] and s[i]: at punctuation, between a letter and a digit, and in
 * camelCase (also before the last capital of a run: MoE|Gate). */
static bool is_boundary(const char *s, size_t i, size_t n)
{
    if (i == 0 || i == n)
        return true;
    char before = s[i - 1], after = s[i];
    bool a = gm_is_lower(before) || gm_is_upper(before), b = gm_is_lower(after) || gm_is_upper(after);
    if (!(a || gm_is_digit(before)) || !(b || gm_is_digit(after)) || a != b)
        return true;
    return gm_is_upper(after) && (!gm_is_upper(before) || (i + 1 < n && gm_is_lower(s[i + 1])));
}

struct string_match {
    const struct gm_category_rules *rules;
    struct gm_match_scratch *scratch;
    enum gm_match_side side;
    uint64_t *mask;
    size_t length;      /* of scratch->text */
    size_t first, last; /* where words may stand: up to a C++ signature's arguments; in the last part of a path */
};

/* Whether the entry's pattern matches; its run ends before byte `end`. */
static bool entry_matches(const struct string_match *match, const struct gm_name_pattern *p, size_t end)
{
    const char *lower = match->scratch->lower;
    const char *glob = match->side == GM_MATCH_FILE ? p->file : p->text;
    size_t n = p->text == NULL ? 0 : strlen(p->text), from = 0;
    switch ((enum gm_pattern_kind)p->kind) {
    case GM_PATTERN_WORD:
        return end <= match->last && end - n >= match->first &&
               is_boundary(match->scratch->text + match->first, end - n - match->first, match->last - match->first) &&
               is_boundary(match->scratch->text + match->first, end - match->first, match->last - match->first);
    case GM_PATTERN_OP:
        return end == n && match->length > n && (lower[n] == '_' || lower[n] == ':');
    case GM_PATTERN_NAME:
    case GM_PATTERN_FILE:
    case GM_PATTERN_BOTH:
        break;
    }
    if (glob == NULL)
        return false; /* never: only those that have one are entered */
    if (match->side == GM_MATCH_FILE && strchr(glob, '/') == NULL)
        from = match->first;
    return gm_glob_match(glob, lower + from, match->length - from);
}

static void try_entry(struct string_match *match, uint16_t index, size_t end)
{
    const struct entry *entry = &match->rules->matcher->entries[index];
    const struct gm_name_pattern *p = &match->rules->patterns.v[entry->pattern];
    uint32_t *mark = &match->scratch->marks[index];
    if ((entry->sides >> match->side & 1) == 0 || *mark == match->scratch->mark)
        return;
    bool matches = entry_matches(match, p, end);
    if (matches)
        set_bit(match->mask, entry->bit);
    if (matches || (p->kind != GM_PATTERN_WORD && p->kind != GM_PATTERN_OP)) /* a glob is about the whole string */
        *mark = match->scratch->mark;
}

static void scan(struct string_match *match)
{
    const struct gm_matcher *m = match->rules->matcher;
    size_t node = 0;
    for (size_t i = 0; i < match->length; i++) {
        uint8_t class = m->class_of[(unsigned char)match->scratch->lower[i]];
        node = class == 0 ? 0 : m->next[node * m->class_count + class];
        for (uint16_t hit = m->report[node]; hit != 0; hit = m->report[m->suffix[hit]])
            for (uint16_t e = m->first[hit]; e != NO_ENTRY; e = m->entries[e].next)
                try_entry(match, e, i + 1);
    }
}

static void set_name(struct string_match *match, const char *s, size_t n)
{
    static const char anonymous[] = "(anonymous namespace)";
    char *text = match->scratch->text;
    match->length = n < GM_RULES_MAX_TEXT ? n : GM_RULES_MAX_TEXT;
    memcpy(text, s, match->length);
    text[match->length] = '\0';
    while (match->last < match->length &&
           (text[match->last] != '(' || strncmp(text + match->last, anonymous, sizeof anonymous - 1) == 0))
        match->last++;
}

static void set_file(struct string_match *match, const char *s, size_t n)
{
    char *text = match->scratch->text;
    size_t left_out = n > GM_RULES_MAX_TEXT ? n - GM_RULES_MAX_TEXT : 0; /* of a path the end tells most */
    match->length = match->last = n - left_out;
    for (size_t i = 0; i < match->length; i++) {
        text[i] = s[left_out + i] == '\\' ? '/' : s[left_out + i];
        if (text[i] == '/')
            match->first = i + 1;
    }
    text[match->length] = '\0';
}

void gm_match_string(const struct gm_category_rules *rules, struct gm_match_scratch *scratch, enum gm_match_side side,
                     const char *s, size_t n)
{
    const struct gm_matcher *m = rules->matcher;
    struct string_match match = {.rules = rules, .scratch = scratch, .side = side, .mask = scratch->mask};
    memset(scratch->mask, 0, m->words * sizeof *scratch->mask);
    if (++scratch->mark == 0) { /* wrapped: forget all marks */
        memset(scratch->marks, 0, m->entry_count * sizeof *scratch->marks);
        scratch->mark = 1;
    }
    if (side == GM_MATCH_NAME)
        set_name(&match, s, n);
    else
        set_file(&match, s, n);
    for (size_t i = 0; i <= match.length; i++) {
        char c = scratch->text[i];
        scratch->lower[i] = (char)(gm_is_upper(c) ? c - 'A' + 'a' : c);
    }
    for (uint32_t i = 0; i < m->always_count; i++)
        try_entry(&match, m->always[i], 0);
    scan(&match);
}

bool gm_match_scratch_new(struct gm_match_scratch *scratch, const struct gm_category_rules *rules)
{
    *scratch = (struct gm_match_scratch){0};
    scratch->marks = calloc((size_t)rules->matcher->entry_count + 1, sizeof *scratch->marks);
    scratch->mask = calloc(rules->matcher->words, sizeof *scratch->mask);
    return scratch->marks != NULL && scratch->mask != NULL;
}

void gm_match_scratch_free(struct gm_match_scratch *scratch)
{
    free(scratch->marks);
    free(scratch->mask);
    scratch->marks = NULL;
    scratch->mask = NULL;
}

/* ---- one frame --------------------------------------------------------------------------------------------------- */

struct gm_frame_verdict gm_match_verdict(const struct gm_category_rules *rules, struct gm_match_scratch *scratch,
                                         const uint64_t *name, const uint64_t *file)
{
    const struct gm_matcher *m = rules->matcher;
    struct gm_frame_verdict verdict = {0};
    uint64_t *has = scratch->mask;
    for (size_t w = 0; w < m->flag_words; w++)
        has[w] = name[w] | file[w];
    for (size_t w = m->flag_words; w < m->words; w++)
        for (uint64_t both = name[w] & file[w]; both != 0; both &= both - 1) {
            size_t k = 64 * (w - m->flag_words) + (size_t)__builtin_ctzll(both);
            set_bit(has, bit_of(rules, &rules->patterns.v[m->both[k]]));
        }
    if (has_bit(has, BIT_NOISE))
        return verdict;
    for (size_t t = 0; t < GM_RULES_MAX_TIERS; t++)
        verdict.stops |= (uint8_t)((unsigned)has_bit(has, BIT_STOP + t) << t);
    for (size_t i = 0; i < rules->sections.n; i++) {
        const struct gm_rule_section *section = &rules->sections.v[i];
        if (has_bit(has, BIT_FOR + i) && !has_bit(has, BIT_FOR + rules->sections.n + i) &&
            verdict.category[section->tier] == 0)
            verdict.category[section->tier] = (uint16_t)(section->category + 1);
    }
    return verdict;
}
