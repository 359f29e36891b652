/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/ignore.h"

#include "analyze/base/closest.h"
#include "analyze/diagnose/diagnose.h"
#include "analyze/diagnose/rules.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum gm_status check_id(const char *id, const char *place, struct gm_error *err)
{
    struct gm_closest closest = gm_closest_to(id, strlen(id));
    for (size_t i = 0; gm_rule_at(i) != NULL; i++) {
        if (strcmp(gm_rule_at(i)->id, id) == 0)
            return GM_OK;
        gm_closest_offer(&closest, gm_rule_at(i)->id);
    }
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: no finding has the id '%s'%s", place, id,
                   gm_closest_hint(&closest, "").text);
}

void gm_ignore_words(struct gm_text *out)
{
    for (size_t i = 0; gm_rule_at(i) != NULL; i++)
        gm_text_printf(out, "%s\n", gm_rule_at(i)->id);
}

enum gm_status gm_ignore_add(struct gm_ignore *ignore, const char *text, size_t length, const char *place,
                             struct gm_error *err)
{
    const char *colon = memchr(text, ':', length);
    const size_t id = colon == NULL ? length : (size_t)(colon - text);
    struct gm_ignored_by by = {.rule = {.text = gm_arena_copy(&ignore->arena, text, length),
                                        .id = gm_arena_copy(&ignore->arena, text, id),
                                        .place = gm_arena_copy(&ignore->arena, place, strlen(place))}};
    if (by.rule.text == NULL || by.rule.id == NULL || by.rule.place == NULL)
        return gm_no_memory(err);
    by.rule.site = colon == NULL ? NULL : by.rule.text + id + 1;
    if (by.rule.site != NULL && by.rule.site[strspn(by.rule.site, " ")] == '\0')
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "%s: '%s' names no site behind the colon", place, by.rule.text);
    const enum gm_status status = check_id(by.rule.id, place, err);
    if (status != GM_OK)
        return status;
    return GM_VEC_PUSH(&ignore->rules, by) ? GM_OK : gm_no_memory(err);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

enum gm_status gm_ignore_add_lines(struct gm_ignore *ignore, const char *text, size_t length, const char *path,
                                   struct gm_error *err)
{
    enum gm_status status = GM_OK;
    size_t number = 0;
    for (const char *at = text, *end = text + length; status == GM_OK && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *next = newline == NULL ? end : newline + 1;
        const char *last = newline == NULL ? end : newline;
        number++;
        while (at < last && is_blank(*at))
            at++;
        for (const char *c = at; c < last; c++)
            if (*c == '#' && (c == at || is_blank(c[-1])))
                last = c;
        while (last > at && is_blank(last[-1]))
            last--;
        char *place = gm_arena_printf(&ignore->arena, "%s:%zu", path, number);
        if (place == NULL)
            status = gm_no_memory(err);
        else if (last > at)
            status = gm_ignore_add(ignore, at, (size_t)(last - at), place, err);
        at = next;
    }
    return status;
}

void gm_ignore_free(struct gm_ignore *ignore)
{
    free(ignore->rules.v);
    gm_arena_free(&ignore->arena);
}

/* ---- what falls under them --------------------------------------------------------------------------------------- */

enum gm_status gm_ignore_ask(const struct gm_ignore *ignore, struct gm_report *report, struct gm_error *err)
{
    const size_t n = ignore->rules.n;
    struct gm_ignore_rule *rules = gm_arena_calloc(&report->arena, n + 1, sizeof *rules);
    if (rules == NULL)
        return gm_no_memory(err);
    for (size_t i = 0; i < n; i++)
        rules[i] = ignore->rules.v[i].rule;
    report->diagnosis.ignore_rules = rules;
    report->diagnosis.ignore_rule_count = n;
    return GM_OK;
}

void gm_ignore_count(struct gm_ignore *ignore, const struct gm_report *report)
{
    atomic_fetch_add(&ignore->reports, 1);
    for (size_t i = 0; i < report->diagnosis.ignore_rule_count; i++)
        atomic_fetch_add(&ignore->rules.v[i].found, report->diagnosis.ignore_rules[i].findings);
}

const struct gm_ignore_rule *gm_ignore_unused(const struct gm_ignore *ignore, size_t *i)
{
    while (*i < ignore->rules.n && atomic_load(&ignore->reports) > 0) {
        const struct gm_ignored_by *by = &ignore->rules.v[(*i)++];
        if (atomic_load(&by->found) == 0)
            return &by->rule;
    }
    return NULL;
}

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Whether `text` begins with `part`, which is not in the middle of a word at its end. Several blanks are as one. */
static bool begins(const char *text, const char *part)
{
    const char *from = part;
    while (*part != '\0') {
        if (*part != *text)
            return false;
        const bool is_space = *part == ' ';
        do {
            part++;
        } while (is_space && *part == ' ');
        do {
            text++;
        } while (is_space && *text == ' ');
    }
    return part > from && !(is_of_word(part[-1]) && is_of_word(*text));
}

static bool has_words(const char *text, const char *part)
{
    part += strspn(part, " ");
    for (const char *at = text; *at != '\0'; at++)
        if ((at == text || !is_of_word(at[-1]) || !is_of_word(*part)) && begins(at, part))
            return true;
    return false;
}

static struct gm_ignore_rule *rule_of(struct gm_diagnosis *diagnosis, const struct gm_finding *f)
{
    for (size_t i = 0; i < diagnosis->ignore_rule_count; i++) {
        struct gm_ignore_rule *rule = &diagnosis->ignore_rules[i];
        if (strcmp(rule->id, f->id) == 0 && (rule->site == NULL || (f->site != NULL && has_words(f->site, rule->site))))
            return rule;
    }
    return NULL;
}

void gm_ignore_set_aside(struct gm_case *c)
{
    struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    struct gm_finding *ignored = gm_arena_calloc(&c->report->arena, c->n + 1, sizeof *ignored);
    const size_t all = c->n;
    c->failed |= ignored == NULL;
    c->n = 0;
    diagnosis->ignored = ignored;
    diagnosis->ignored_count = 0;
    for (size_t i = 0; i < diagnosis->ignore_rule_count; i++)
        diagnosis->ignore_rules[i].findings = 0;
    for (size_t i = 0; i < all && ignored != NULL; i++) {
        struct gm_ignore_rule *rule = rule_of(diagnosis, &c->findings[i]);
        if (rule == NULL) {
            c->findings[c->n++] = c->findings[i];
            continue;
        }
        rule->findings++;
        ignored[diagnosis->ignored_count] = c->findings[i];
        ignored[diagnosis->ignored_count++].ignored_by = rule->text;
    }
}

bool gm_case_ignores(const struct gm_case *c, const char *id)
{
    for (size_t i = 0; i < c->report->diagnosis.ignored_count; i++)
        if (strcmp(c->report->diagnosis.ignored[i].id, id) == 0)
            return true;
    return false;
}
