/* SPDX-License-Identifier: Apache-2.0
 *
 * Which patterns match one string: a function's name or a file's path. There are hundreds of patterns and, in real
 * snapshots, names of thousands of characters, so trying every pattern would take longer than reading the file. So
 * every pattern is filed under a key: four bytes of its longest run of plain characters, those under which fewest
 * others are. A string is read once, and of each four bytes of it the patterns under that key whose run is there are
 * checked in full. A file may pair every name with every path: strings are matched one by one, and a frame's verdict is
 * put together from two masks.
 */
#include "analyze/base/ascii.h"
#include "analyze/base/freed.h"
#include "analyze/state/category_rules.h"

#include <stdlib.h>
#include <string.h>

enum { NO_ENTRY = UINT16_MAX, LONG_KEY = 4, SHORT_KEY = 2, LONG_BITS = 13, SHORT_BITS = 10, SEEN_BITS = 16 };
_Static_assert(2 * GM_RULES_MAX_PATTERNS < NO_ENTRY, "entries have numbers of 16 bits");
_Static_assert((int)LONG_KEY <= (int)GM_RULES_PADDING, "keys may be read at the last byte of a string");

/* A pattern on one side, or a word, which may stand on either. */
struct entry {
    const char *run;        /* its longest run of plain characters */
    uint16_t length;        /* of the run */
    bool is_one_run;        /* a glob of nothing else but stars before it, after it, or both ... */
    bool is_first, is_last; /* ... without those */
    bool is_of_last_part;   /* a glob about the last part of a path */
    uint16_t key_at;        /* where in it the key is */
    uint16_t pattern;
    uint16_t next; /* another entry in the same list */
    uint16_t bit;  /* of a mask: what it means that this matches */
    uint8_t sides; /* bit per enum gm_match_side */
};

/* Lists of entries, by their keys; NO_ENTRY: none. */
struct gm_matcher {
    uint16_t by_four[1 << LONG_BITS], by_two[1 << SHORT_BITS]; /* of runs of two or three characters */
    uint64_t seen[(1 << SEEN_BITS) / 64]; /* a bit for each hash of four bytes that some key has: few others do */
    uint16_t others;                      /* of shorter ones */
    uint16_t entry_count;
    struct entry *entries;
    uint16_t *both; /* patterns of kind "both", in order of their bits */
    uint32_t both_count;
    size_t flag_words, words; /* of a mask: before the halves of "both" patterns; in all */
};

static uint32_t hash_of_four(const char *s)
{
    uint32_t bytes;
    memcpy(&bytes, s, LONG_KEY);
    return bytes * UINT32_C(2654435769);
}

static size_t long_key(uint32_t hash)
{
    return hash >> (32 - LONG_BITS);
}

static size_t short_key(const char *s)
{
    uint16_t bytes;
    memcpy(&bytes, s, SHORT_KEY);
    return bytes * UINT32_C(2654435769) >> (32 - SHORT_BITS);
}

static void find_longest_run(struct entry *entry, const char *from)
{
    const char *glob = from;
    while (*glob != '\0') {
        const size_t n = strcspn(glob, "*?");
        if (n > entry->length) {
            entry->run = glob;
            entry->length = (uint16_t)n;
        }
        glob += n;
        glob += strspn(glob, "*?");
    }
    const size_t before = (size_t)(entry->run == NULL ? 0 : entry->run - from);
    entry->is_first = before == 0;
    entry->is_last = entry->run != NULL && entry->run[entry->length] == '\0';
    entry->is_one_run = entry->length > 0 && strspn(from, "*") == before &&
                        entry->run[entry->length + strspn(entry->run + entry->length, "*")] == '\0';
}

static void find_run(struct entry *entry, const struct gm_name_pattern *p)
{
    const bool is_glob = p->kind != GM_PATTERN_WORD && p->kind != GM_PATTERN_OP;
    entry->run = entry->sides == 1u << GM_MATCH_FILE ? p->file : p->text;
    entry->is_of_last_part = is_glob && entry->sides == 1u << GM_MATCH_FILE && strchr(p->file, '/') == NULL;
    if (is_glob)
        find_longest_run(entry, entry->run);
    else
        entry->length = (uint16_t)strlen(entry->run);
}

void gm_matcher_free(struct gm_matcher *m)
{
    if (m == NULL)
        return;
    GM_FREE_ALL(m->entries, m->both, m);
}

static void set_bit(uint64_t *mask, size_t bit)
{
    mask[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool has_bit(const uint64_t *mask, size_t bit)
{
    return (mask[bit / 64] >> bit % 64 & 1) != 0;
}

/* `filed` counts what is under each long key. */
static void file_entry(struct gm_matcher *m, uint16_t index, uint16_t filed[1 << LONG_BITS])
{
    struct entry *entry = &m->entries[index];
    uint16_t *list = entry->length < SHORT_KEY ? &m->others : &m->by_two[short_key(entry->run)];
    if (entry->length >= LONG_KEY) {
        uint32_t best = hash_of_four(entry->run);
        for (uint16_t at = 1; at + LONG_KEY <= entry->length; at++) {
            const uint32_t hash = hash_of_four(entry->run + at);
            if (filed[long_key(hash)] < filed[long_key(best)]) {
                entry->key_at = at;
                best = hash;
            }
        }
        filed[long_key(best)]++;
        list = &m->by_four[long_key(best)];
        set_bit(m->seen, best >> (32 - SEEN_BITS));
    }
    entry->next = *list;
    *list = index;
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

static bool make_entries(struct gm_matcher *m, const struct gm_category_rules *rules)
{
    m->flag_words = (BIT_FOR + 2 * rules->sections.n + 63) / 64;
    m->entries = calloc(2 * rules->patterns.n + 1, sizeof *m->entries);
    m->both = malloc((rules->patterns.n + 1) * sizeof *m->both);
    if (m->entries == NULL || m->both == NULL)
        return false;
    const uint8_t name = 1u << GM_MATCH_NAME, file = 1u << GM_MATCH_FILE;
    for (size_t i = 0; i < rules->patterns.n; i++) {
        const struct gm_name_pattern *p = &rules->patterns.v[i];
        const uint8_t sides = p->kind == GM_PATTERN_WORD ? name | file : p->kind == GM_PATTERN_FILE ? file : name;
        struct entry entry = {.pattern = (uint16_t)i, .bit = bit_of(rules, p), .sides = sides};
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

enum gm_status gm_matcher_build(struct gm_category_rules *rules, struct gm_error *err)
{
    struct gm_matcher *m = calloc(1, sizeof *m);
    GM_FREED uint16_t *filed = calloc(1 << LONG_BITS, sizeof *filed);
    const bool ok = m != NULL && filed != NULL && make_entries(m, rules);
    rules->matcher = m;
    if (ok) {
        memset(m->by_four, 0xFF, sizeof m->by_four); /* NO_ENTRY */
        memset(m->by_two, 0xFF, sizeof m->by_two);
        m->others = NO_ENTRY;
    }
    for (uint16_t i = 0; ok && i < m->entry_count; i++) {
        find_run(&m->entries[i], &rules->patterns.v[m->entries[i].pattern]);
        file_entry(m, i, filed);
    }
    return ok ? GM_OK : gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
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
static bool entry_matches(const struct string_match *match, const struct entry *entry, const struct gm_name_pattern *p,
                          size_t end)
{
    const char *lower = match->scratch->lower;
    const char *glob = match->side == GM_MATCH_FILE ? p->file : p->text;
    const size_t n = entry->length, from = entry->is_of_last_part ? match->first : 0;
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
    if (entry->is_one_run)
        return end - n >= from && (!entry->is_first || end - n == from) && (!entry->is_last || end == match->length);
    return gm_glob_match(glob, lower + from, match->length - from);
}

static void try_entry(struct string_match *match, uint16_t index, size_t end)
{
    const struct entry *entry = &match->rules->matcher->entries[index];
    const struct gm_name_pattern *p = &match->rules->patterns.v[entry->pattern];
    uint32_t *mark = &match->scratch->marks[index];
    if ((entry->sides >> match->side & 1) == 0 || *mark == match->scratch->mark)
        return;
    bool matches = entry_matches(match, entry, p, end);
    if (matches)
        set_bit(match->mask, entry->bit);
    /* other globs are about the whole string */
    if (matches || (p->kind != GM_PATTERN_WORD && p->kind != GM_PATTERN_OP && !entry->is_one_run))
        *mark = match->scratch->mark;
}

/* The entries of a list whose run stands around byte `i`, where their key is. */
static inline void try_list(struct string_match *match, uint16_t first, size_t i)
{
    const struct entry *entries = match->rules->matcher->entries;
    for (uint16_t e = first; e != NO_ENTRY; e = entries[e].next) {
        const struct entry *entry = &entries[e];
        const char *at = match->scratch->lower + i;
        const size_t end = i - entry->key_at + entry->length;
        if (at[0] == entry->run[entry->key_at] && entry->key_at <= i && end <= match->length &&
            memcmp(at - entry->key_at, entry->run, entry->length) == 0)
            try_entry(match, e, end);
    }
}

static void scan(struct string_match *match)
{
    const struct gm_matcher *m = match->rules->matcher;
    const char *lower = match->scratch->lower;
    for (uint16_t e = m->others; e != NO_ENTRY; e = m->entries[e].next) {
        const uint16_t length = m->entries[e].length; /* 0 or 1 */
        for (size_t i = 0; i < (length == 0 ? 1 : match->length); i++)
            if (length == 0 || lower[i] == m->entries[e].run[0])
                try_entry(match, e, i + length);
    }
    for (size_t i = 0; i < match->length; i++) {
        const uint32_t hash = hash_of_four(lower + i);
        const uint16_t two = m->by_two[short_key(lower + i)];
        const bool is_key = has_bit(m->seen, hash >> (32 - SEEN_BITS));
        if (!is_key & (two == NO_ENTRY))
            continue; /* as nearly all are */
        try_list(match, two, i);
        if (is_key)
            try_list(match, m->by_four[long_key(hash)], i);
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
    for (size_t i = 0; i < match.length; i++) {
        char c = scratch->text[i];
        scratch->lower[i] = (char)(gm_is_upper(c) ? c - 'A' + 'a' : c);
    }
    memset(scratch->lower + match.length, 0, GM_RULES_PADDING);
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
    GM_FREE_ALL(scratch->marks, scratch->mask);
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
