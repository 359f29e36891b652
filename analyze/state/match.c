/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching a frame against all patterns at once.
 *
 * A snapshot has some hundred distinct frames and the rules have more than a thousand patterns; trying each on each
 * would take longer than reading the file. So every pattern is filed under its longest run of plain characters; an
 * Aho-Corasick automaton over these runs reads the frame's two names once and gives the few patterns whose run occurs,
 * and only those are checked in full.
 */
#include "analyze/base/ascii.h"
#include "analyze/state/rules.h"

#include <stdlib.h>
#include <string.h>

enum { NO_PATTERN = UINT16_MAX, MAX_NODES = UINT16_MAX };

struct gm_matcher {
    uint8_t class_of[256]; /* of a lower-case byte; 0: in no run */
    uint32_t class_count;
    uint32_t node_count;
    uint16_t *next;         /* [node * class_count + class] */
    uint16_t *first;        /* [node]: first pattern whose run ends here, or NO_PATTERN */
    uint16_t *report;       /* [node]: this node or the longest proper suffix with a pattern; 0: none */
    uint16_t *suffix;       /* [node] */
    uint16_t *pattern_next; /* [pattern]: another one with the same run */
    uint16_t *always;       /* patterns without any plain character */
    uint32_t always_count;
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

static struct run pattern_run(const struct gm_pattern *pattern)
{
    if (pattern->kind == GM_PATTERN_WORD || pattern->kind == GM_PATTERN_OP)
        return (struct run){pattern->text, strlen(pattern->text)};
    struct run name = longest_run(pattern->text), file = longest_run(pattern->file);
    return file.n > name.n ? file : name;
}

void gm_matcher_free(struct gm_matcher *m)
{
    if (m == NULL)
        return;
    free(m->next);
    free(m->first);
    free(m->report);
    free(m->suffix);
    free(m->pattern_next);
    free(m->always);
    free(m);
}

static bool allocate(struct gm_matcher *m, size_t nodes, size_t patterns)
{
    m->next = calloc(nodes * m->class_count, sizeof *m->next);
    m->first = malloc(nodes * sizeof *m->first);
    m->report = calloc(nodes, sizeof *m->report);
    m->suffix = calloc(nodes, sizeof *m->suffix);
    m->pattern_next = malloc((patterns + 1) * sizeof *m->pattern_next);
    m->always = malloc((patterns + 1) * sizeof *m->always);
    if (m->next == NULL || m->first == NULL || m->report == NULL || m->suffix == NULL || m->pattern_next == NULL ||
        m->always == NULL)
        return false;
    memset(m->first, 0xFF, nodes * sizeof *m->first); /* NO_PATTERN */
    return true;
}

static void insert(struct gm_matcher *m, struct run run, uint16_t pattern)
{
    size_t node = 0;
    for (size_t i = 0; i < run.n; i++) {
        uint16_t *next = &m->next[node * m->class_count + m->class_of[(unsigned char)run.s[i]]];
        if (*next == 0)
            *next = (uint16_t)m->node_count++;
        node = *next;
    }
    m->pattern_next[pattern] = m->first[node];
    m->first[node] = pattern;
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
        m->report[node] = m->first[node] != NO_PATTERN ? node : m->report[m->suffix[node]];
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
    size_t nodes = 1;
    m->class_count = 1;
    for (size_t p = 0; p < rules->patterns.n; p++) {
        struct run run = pattern_run(&rules->patterns.v[p]);
        nodes += run.n;
        for (size_t i = 0; i < run.n; i++) {
            uint8_t *class = &m->class_of[(unsigned char)run.s[i]];
            if (*class == 0)
                *class = (uint8_t)m->class_count++;
        }
    }
    if (nodes > MAX_NODES)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "category rules with patterns of more than 65534 bytes together");
    uint16_t *queue = malloc(nodes * sizeof *queue);
    if (queue == NULL || !allocate(m, nodes, rules->patterns.n)) {
        free(queue);
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
    }
    m->node_count = 1;
    for (size_t p = 0; p < rules->patterns.n; p++) {
        struct run run = pattern_run(&rules->patterns.v[p]);
        if (run.n == 0)
            m->always[m->always_count++] = (uint16_t)p;
        else
            insert(m, run, (uint16_t)p);
    }
    link_suffixes(m, queue);
    free(queue);
    return GM_OK;
}

/* ---- one frame ----------------------------------------------------------------------------------------------------
 */

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

bool gm_word_match(const char *word, const char *s, const char *lower, size_t n)
{
    size_t length = strlen(word);
    for (size_t at = 0; at + length <= n;) {
        const char *hit = memmem(lower + at, n - at, word, length);
        if (hit == NULL)
            return false;
        at = (size_t)(hit - lower);
        if (is_boundary(s, at, n) && is_boundary(s, at + length, n))
            return true;
        at++;
    }
    return false;
}

static bool file_matches(const char *glob, const struct gm_frame_text *f)
{
    size_t from = strchr(glob, '/') != NULL ? 0 : f->base;
    return gm_glob_match(glob, f->path_lower + from, f->path_length - from);
}

static bool pattern_matches(const struct gm_pattern *p, const struct gm_frame_text *f)
{
    switch ((enum gm_pattern_kind)p->kind) {
    case GM_PATTERN_WORD:
        return gm_word_match(p->text, f->name, f->name_lower, f->name_cut) ||
               gm_word_match(p->text, f->path + f->base, f->path_lower + f->base, f->path_length - f->base);
    case GM_PATTERN_NAME:
        return gm_glob_match(p->text, f->name_lower, f->name_length);
    case GM_PATTERN_FILE:
        return file_matches(p->file, f);
    case GM_PATTERN_BOTH:
        return gm_glob_match(p->text, f->name_lower, f->name_length) && file_matches(p->file, f);
    case GM_PATTERN_OP:
        break;
    }
    size_t n = strlen(p->text);
    return f->name_length > n && memcmp(f->name_lower, p->text, n) == 0 &&
           (f->name_lower[n] == '_' || f->name_lower[n] == ':');
}

enum { FLAG_FOR = 1, FLAG_NOT = 2 };

struct frame_match {
    const struct gm_category_rules *rules;
    struct gm_match_scratch *scratch;
    const struct gm_frame_text *frame;
    bool is_noise;
    uint8_t stops;
};

static void try_pattern(struct frame_match *match, uint16_t index)
{
    const struct gm_pattern *p = &match->rules->patterns.v[index];
    if (match->scratch->pattern_mark[index] == match->scratch->mark)
        return;
    match->scratch->pattern_mark[index] = match->scratch->mark;
    if (!pattern_matches(p, match->frame))
        return;
    switch ((enum gm_pattern_role)p->role) {
    case GM_ROLE_NOISE:
        match->is_noise = true;
        break;
    case GM_ROLE_STOP:
        match->stops |= (uint8_t)(1u << p->target);
        break;
    case GM_ROLE_FOR:
        match->scratch->section_flags[p->target] |= FLAG_FOR;
        break;
    case GM_ROLE_NOT:
        match->scratch->section_flags[p->target] |= FLAG_NOT;
        break;
    }
}

static void scan(struct frame_match *match, const char *lower, size_t n)
{
    const struct gm_matcher *m = match->rules->matcher;
    size_t node = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t class = m->class_of[(unsigned char)lower[i]];
        node = class == 0 ? 0 : m->next[node * m->class_count + class];
        for (uint16_t hit = m->report[node]; hit != 0; hit = m->report[m->suffix[hit]])
            for (uint16_t p = m->first[hit]; p != NO_PATTERN; p = m->pattern_next[p])
                try_pattern(match, p);
    }
}

void gm_match_frame(const struct gm_category_rules *rules, struct gm_match_scratch *scratch,
                    const struct gm_frame_text *frame, struct gm_frame_verdict *verdict)
{
    struct frame_match match = {.rules = rules, .scratch = scratch, .frame = frame};
    *verdict = (struct gm_frame_verdict){0};
    if (++scratch->mark == 0) { /* wrapped: forget all marks */
        memset(scratch->pattern_mark, 0, rules->patterns.n * sizeof *scratch->pattern_mark);
        scratch->mark = 1;
    }
    memset(scratch->section_flags, 0, rules->sections.n);
    for (uint32_t i = 0; i < rules->matcher->always_count; i++)
        try_pattern(&match, rules->matcher->always[i]);
    scan(&match, frame->name_lower, frame->name_length);
    scan(&match, frame->path_lower, frame->path_length);
    if (match.is_noise)
        return;
    verdict->stops = match.stops;
    for (size_t i = 0; i < rules->sections.n; i++) {
        const struct gm_rule_section *section = &rules->sections.v[i];
        if (scratch->section_flags[i] == FLAG_FOR && verdict->category[section->tier] == 0)
            verdict->category[section->tier] = (uint16_t)(section->category + 1);
    }
}

bool gm_match_scratch_new(struct gm_match_scratch *scratch, const struct gm_category_rules *rules)
{
    *scratch = (struct gm_match_scratch){0};
    scratch->pattern_mark = calloc(rules->patterns.n + 1, sizeof *scratch->pattern_mark);
    scratch->section_flags = calloc(rules->sections.n + 1, 1);
    return scratch->pattern_mark != NULL && scratch->section_flags != NULL;
}

void gm_match_scratch_free(struct gm_match_scratch *scratch)
{
    free(scratch->pattern_mark);
    free(scratch->section_flags);
    *scratch = (struct gm_match_scratch){0};
}

static void lower_copy(char *lower, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        lower[i] = (char)(gm_is_upper(s[i]) ? s[i] - 'A' + 'a' : s[i]);
    lower[n] = '\0';
}

void gm_frame_text_set(struct gm_frame_text *t, const char *name, size_t name_length, const char *path,
                       size_t path_length)
{
    static const char anonymous[] = "(anonymous namespace)";
    if (name_length > GM_RULES_MAX_TEXT)
        name_length = GM_RULES_MAX_TEXT;
    if (path_length > GM_RULES_MAX_TEXT) { /* of a path the end tells most */
        path += path_length - GM_RULES_MAX_TEXT;
        path_length = GM_RULES_MAX_TEXT;
    }
    memcpy(t->name, name, name_length);
    t->name[name_length] = '\0';
    t->name_length = name_length;
    t->base = 0;
    for (size_t i = 0; i < path_length; i++) {
        t->path[i] = path[i] == '\\' ? '/' : path[i];
        if (t->path[i] == '/')
            t->base = i + 1;
    }
    t->path[path_length] = '\0';
    t->path_length = path_length;
    lower_copy(t->name_lower, t->name, name_length);
    lower_copy(t->path_lower, t->path, path_length);
    size_t cut = 0;
    while (cut < name_length && (t->name[cut] != '(' || strncmp(t->name + cut, anonymous, sizeof anonymous - 1) == 0))
        cut++;
    t->name_cut = cut;
}
