/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of category rules (docs/categories.md). Line by line: a line's first word says what the rest is; where a
 * pattern goes depends on the last `noise`, `tier` or `category` line.
 */
#include "analyze/base/freed.h"
#include "analyze/base/utf8.h"

#include "analyze/state/categories.h"
#include "analyze/state/category_rules.h"

#include <stdlib.h>
#include <string.h>

enum place { PLACE_NONE, PLACE_NOISE, PLACE_TIER, PLACE_CATEGORY };

struct parser {
    struct gm_category_rules *rules;
    const char *name;
    size_t line;
    enum place place;
    struct gm_error *err;
    size_t section_patterns; /* positive patterns of the section at hand, and the line where it begins */
    size_t section_line;
};

struct token {
    const char *s;
    size_t n;
};

static enum gm_status complain(const struct parser *p, const char *what, const struct token *token)
{
    char shown[3 * 60 + 1] = "";
    if (token != NULL)
        gm_utf8_clean_line(shown, sizeof shown, token->s, token->n < 60 ? token->n : 60);
    return gm_fail(p->err, GM_E_USAGE, GM_NO_OFFSET, token != NULL ? "%s:%zu: %s: '%s'" : "%s:%zu: %s", p->name,
                   p->line, what, shown);
}

static enum gm_status no_memory(const struct parser *p)
{
    return gm_fail(p->err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static bool next_token(struct token *rest, struct token *token)
{
    while (rest->n > 0 && is_blank(*rest->s))
        rest->s++, rest->n--;
    token->s = rest->s;
    while (rest->n > 0 && !is_blank(*rest->s))
        rest->s++, rest->n--;
    token->n = (size_t)(rest->s - token->s);
    return token->n > 0;
}

static bool token_is(const struct token *token, const char *word)
{
    return token->n == strlen(word) && memcmp(token->s, word, token->n) == 0;
}

static char *lower_copy(struct gm_arena *arena, const char *prefix, const struct token *token)
{
    size_t before = strlen(prefix);
    char *copy = gm_arena_calloc(arena, before + token->n + 1, 1);
    if (copy == NULL)
        return NULL;
    memcpy(copy, prefix, before);
    for (size_t i = 0; i < token->n; i++)
        copy[before + i] = (char)(token->s[i] >= 'A' && token->s[i] <= 'Z' ? token->s[i] - 'A' + 'a' : token->s[i]);
    return copy;
}

static enum gm_status add_pattern(struct parser *p, struct gm_name_pattern pattern, const struct token *text,
                                  const struct token *file)
{
    struct gm_category_rules *rules = p->rules;
    if ((text != NULL && text->n > GM_RULES_MAX_PATTERN_LENGTH) ||
        (file != NULL && file->n > GM_RULES_MAX_PATTERN_LENGTH))
        return complain(p, "a pattern is longer than 200 bytes", NULL);
    if (rules->patterns.n >= GM_RULES_MAX_PATTERNS)
        return complain(p, "more than 20000 patterns", NULL);
    if (text != NULL)
        pattern.text = lower_copy(&rules->arena, pattern.kind == GM_PATTERN_OP ? "at::_ops::" : "", text);
    if (file != NULL)
        pattern.file = lower_copy(&rules->arena, "", file);
    if ((text != NULL && pattern.text == NULL) || (file != NULL && pattern.file == NULL) ||
        !GM_VEC_PUSH(&rules->patterns, pattern))
        return no_memory(p);
    if (pattern.role == GM_ROLE_FOR)
        p->section_patterns++;
    return GM_OK;
}

static enum gm_status add_patterns(struct parser *p, const struct token *kind, struct token *rest,
                                   struct gm_name_pattern pattern)
{
    static const struct {
        const char *word;
        enum gm_pattern_kind kind;
    } kinds[] = {{"word", GM_PATTERN_WORD},
                 {"name", GM_PATTERN_NAME},
                 {"file", GM_PATTERN_FILE},
                 {"both", GM_PATTERN_BOTH},
                 {"op", GM_PATTERN_OP}};
    size_t k = 0;
    while (k < sizeof kinds / sizeof *kinds && !token_is(kind, kinds[k].word))
        k++;
    if (k == sizeof kinds / sizeof *kinds)
        return complain(p, "unknown word (known: tier category noise stop not word name file both op)", kind);
    pattern.kind = (uint8_t)kinds[k].kind;
    struct token a, b, c;
    if (!next_token(rest, &a))
        return complain(p, "a pattern is missing after", kind);
    if (pattern.kind == GM_PATTERN_BOTH) {
        if (!next_token(rest, &b) || next_token(rest, &c))
            return complain(p, "'both' takes exactly two patterns, for the function and for the file", NULL);
        return add_pattern(p, pattern, &a, &b);
    }
    do {
        bool is_file = pattern.kind == GM_PATTERN_FILE;
        if ((pattern.kind == GM_PATTERN_WORD || pattern.kind == GM_PATTERN_OP) && memchr(a.s, '*', a.n) != NULL)
            return complain(p, "'word' and 'op' take no '*'", &a);
        GM_TRY(add_pattern(p, pattern, is_file ? NULL : &a, is_file ? &a : NULL));
    } while (next_token(rest, &a));
    return GM_OK;
}

static enum gm_status end_section(struct parser *p)
{
    if (p->place != PLACE_CATEGORY || p->section_patterns > 0)
        return GM_OK;
    p->line = p->section_line;
    return complain(p, "this category has no rule", NULL);
}

static enum gm_status begin_tier(struct parser *p, struct token *rest)
{
    struct gm_category_rules *rules = p->rules;
    struct token name, more;
    GM_TRY(end_section(p));
    if (!next_token(rest, &name) || next_token(rest, &more))
        return complain(p, "'tier' takes a name of one word", NULL);
    if (rules->tier_count == GM_RULES_MAX_TIERS)
        return complain(p, "more than 8 tiers", NULL);
    char *copy = gm_arena_copy(&rules->arena, name.s, name.n);
    if (copy == NULL)
        return no_memory(p);
    rules->tier_names[rules->tier_count++] = copy;
    p->place = PLACE_TIER;
    return GM_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Takes a final #RRGGBB off the words of a category line. */
static enum gm_status take_color(const struct parser *p, struct token *words, uint32_t *color, bool *has_color)
{
    *has_color = false;
    size_t i = words->n;
    while (i > 0 && !is_blank(words->s[i - 1]))
        i--;
    if (words->s[i] != '#')
        return GM_OK;
    struct token token = {words->s + i, words->n - i};
    *color = 0;
    for (size_t k = 1; k < token.n; k++) {
        int digit = token.n == 7 ? hex_digit(token.s[k]) : -1;
        if (digit < 0)
            return complain(p, "a colour is written #RRGGBB", &token);
        *color = *color << 4 | (uint32_t)digit;
    }
    if (token.n != 7)
        return complain(p, "a colour is written #RRGGBB", &token);
    while (i > 0 && is_blank(words->s[i - 1]))
        i--;
    words->n = i;
    *has_color = true;
    return GM_OK;
}

/* The number of the category called words[0..n), which is added if it is new. */
static enum gm_status find_category(struct parser *p, const struct token *words, uint32_t color, bool has_color,
                                    uint32_t *category)
{
    struct gm_category_rules *rules = p->rules;
    char name[3 * GM_RULES_MAX_PATTERN_LENGTH + 1];
    if (words->n == 0)
        return complain(p, "'category' needs a name", NULL);
    if (words->n > GM_RULES_MAX_PATTERN_LENGTH)
        return complain(p, "a category's name is longer than 200 bytes", NULL);
    gm_utf8_clean_line(name, sizeof name, words->s, words->n);
    if (strcmp(name, "Other") == 0 || strcmp(name, "No stack recorded") == 0)
        return complain(p, "this name is reserved", words);
    for (size_t i = 0; i < rules->categories.n; i++) {
        struct gm_rule_category *known = &rules->categories.v[i];
        if (strcmp(known->name, name) != 0)
            continue;
        if (has_color && known->has_color && known->color != color)
            return complain(p, "this category already has another colour", words);
        if (has_color) {
            known->color = color;
            known->has_color = true;
        }
        *category = (uint32_t)i;
        return GM_OK;
    }
    struct gm_rule_category fresh = {gm_arena_copy(&rules->arena, name, strlen(name)),
                                     has_color ? color : gm_color_of_name(name), has_color};
    *category = (uint32_t)rules->categories.n;
    return fresh.name != NULL && GM_VEC_PUSH(&rules->categories, fresh) ? GM_OK : no_memory(p);
}

static enum gm_status begin_category(struct parser *p, struct token *rest)
{
    struct gm_category_rules *rules = p->rules;
    GM_TRY(end_section(p));
    if (rules->tier_count == 0)
        return complain(p, "a category stands before the first 'tier'", NULL);
    if (rules->sections.n == GM_RULES_MAX_SECTIONS)
        return complain(p, "more than 1000 categories", NULL);
    while (rest->n > 0 && is_blank(*rest->s))
        rest->s++, rest->n--;
    while (rest->n > 0 && is_blank(rest->s[rest->n - 1]))
        rest->n--;
    uint32_t color = 0, category = 0;
    bool has_color = false;
    if (rest->n > 0)
        GM_TRY(take_color(p, rest, &color, &has_color));
    GM_TRY(find_category(p, rest, color, has_color, &category));
    for (size_t i = 0; i < rules->sections.n; i++)
        if (rules->sections.v[i].category == category && rules->sections.v[i].tier == rules->tier_count - 1)
            return complain(p, "this category stands twice in one tier", rest);
    struct gm_rule_section section = {category, rules->tier_count - 1};
    if (!GM_VEC_PUSH(&rules->sections, section))
        return no_memory(p);
    p->place = PLACE_CATEGORY;
    p->section_line = p->line;
    p->section_patterns = 0;
    return GM_OK;
}

static enum gm_status parse_pattern_line(struct parser *p, struct token *first, struct token *rest)
{
    struct gm_name_pattern pattern = {0};
    bool is_stop = token_is(first, "stop"), is_not = token_is(first, "not");
    if (is_stop && p->place != PLACE_TIER)
        return complain(p, "'stop' belongs between a 'tier' line and its first category", NULL);
    if (is_not && p->place != PLACE_CATEGORY)
        return complain(p, "'not' belongs under a category", NULL);
    if (!is_stop && p->place == PLACE_TIER)
        return complain(p, "a pattern belongs under 'noise' or a category; in a tier write 'stop' before it", first);
    if (p->place == PLACE_NONE)
        return complain(p, "a pattern before the first 'noise' or 'tier'", first);
    if ((is_stop || is_not) && !next_token(rest, first))
        return complain(p, "a pattern is missing", NULL);
    if (p->place == PLACE_NOISE) {
        pattern.role = GM_ROLE_NOISE;
    } else if (is_stop) {
        pattern.role = GM_ROLE_STOP;
        pattern.target = (uint16_t)(p->rules->tier_count - 1);
    } else {
        pattern.role = is_not ? GM_ROLE_NOT : GM_ROLE_FOR;
        pattern.target = (uint16_t)(p->rules->sections.n - 1);
    }
    return add_patterns(p, first, rest, pattern);
}

static enum gm_status parse_line(struct parser *p, struct token line)
{
    struct token first;
    if (!next_token(&line, &first) || first.s[0] == '#')
        return GM_OK;
    if (token_is(&first, "tier"))
        return begin_tier(p, &line);
    if (token_is(&first, "category"))
        return begin_category(p, &line);
    if (token_is(&first, "noise")) {
        struct token more;
        if (next_token(&line, &more))
            return complain(p, "'noise' stands alone on its line", NULL);
        enum gm_status status = end_section(p);
        p->place = PLACE_NOISE;
        return status;
    }
    return parse_pattern_line(p, &first, &line);
}

static enum gm_status parse_text(struct parser *p, const char *text, size_t length)
{
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        text += 3, length -= 3;
    while (length > 0) {
        const char *end = memchr(text, '\n', length);
        size_t n = end == NULL ? length : (size_t)(end - text);
        p->line++;
        GM_TRY(parse_line(p, (struct token){text, n}));
        n += end != NULL;
        text += n;
        length -= n;
    }
    if (p->rules->sections.n == 0)
        return gm_fail(p->err, GM_E_USAGE, GM_NO_OFFSET, "%s: no category in this file", p->name);
    return end_section(p);
}

enum gm_status gm_category_rules_parse(struct gm_category_rules **rules, const char *text, size_t length,
                                       const char *name, struct gm_error *err)
{
    *rules = NULL;
    if (length > GM_RULES_MAX_BYTES)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: category rules of more than 1 MiB", name);
    struct gm_category_rules *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory for category rules");
    struct parser parser = {.rules = fresh, .name = name, .err = err};
    enum gm_status status = parse_text(&parser, text, length);
    GM_THEN(status, gm_matcher_build(fresh, err));
    if (status != GM_OK) {
        gm_category_rules_free(fresh);
        return status;
    }
    *rules = fresh;
    return GM_OK;
}

void gm_category_rules_free(struct gm_category_rules *rules)
{
    if (rules == NULL)
        return;
    gm_matcher_free(rules->matcher);
    GM_FREE_ALL(rules->patterns.v, rules->sections.v, rules->categories.v);
    gm_arena_free(&rules->arena);
    free(rules);
}

/* ---- the default rules ------------------------------------------------------------------------------------------ */

static const char text[] = {
#include "state/default_categories.inc"
};

enum gm_status gm_category_rules_default(struct gm_category_rules **rules, struct gm_error *err)
{
    return gm_category_rules_parse(rules, text, sizeof text, "default.categories", err);
}
