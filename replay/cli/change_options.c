/* SPDX-License-Identifier: Apache-2.0
 *
 * --scale and --drop: which allocations, and what becomes of their sizes.
 */
#include "analyze/base/closest.h"
#include "analyze/state/categories.h"
#include "replay/cli/gmreplay.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A decimal number without sign or exponent, whatever the locale. */
static bool parse_factor(const char *text, double *value)
{
    double unit = 1;
    bool has_digit = false;
    *value = 0;
    for (; *text >= '0' && *text <= '9'; text++, has_digit = true)
        *value = *value * 10 + (*text - '0');
    if (*text == '.')
        for (text++; *text >= '0' && *text <= '9'; text++, has_digit = true)
            *value += (*text - '0') * (unit /= 10);
    return has_digit && *text == '\0' && *value <= 1e6;
}

static bool add(struct gm_class_changes *changes, const char *name, size_t length, double factor)
{
    if (changes->n == GM_CHANGES_MOST || length == 0 || length >= GM_CHANGE_NAME)
        return false;
    struct gm_class_change *change = &changes->v[changes->n++];
    memcpy(change->name, name, length);
    change->name[length] = '\0';
    change->factor = factor;
    return true;
}

bool gm_value_scale(const char *text, void *value)
{
    const char *equals = strrchr(text, '=');
    double factor;
    return equals != NULL && parse_factor(equals + 1, &factor) && add(value, text, (size_t)(equals - text), factor);
}

bool gm_value_drop(const char *text, void *value)
{
    return add(value, text, strlen(text), 0);
}

static void add_classes(struct gm_text *out, const char *behind)
{
    struct gm_category_rules *rules;
    struct gm_error err;
    for (size_t r = 0; r < GM_ROLE_COUNT; r++)
        gm_text_printf(out, "%s%s\n", gm_role_name(r), behind);
    out->failed |= gm_category_rules_default(&rules, &err) != GM_OK;
    for (uint32_t c = 0; !out->failed && c < gm_category_count(rules); c++)
        gm_text_printf(out, "%s%s\n", gm_category_name(rules, c), behind);
    gm_category_rules_free(rules);
}

void gm_scale_words(struct gm_text *out)
{
    add_classes(out, "=");
}

void gm_drop_words(struct gm_text *out)
{
    add_classes(out, "");
}

/* The rest of `name` after "role:" or "category:", in any case; NULL: it does not begin so. */
static const char *after(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncasecmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* A role or a category of that name; NULL is none. */
static bool find_class(struct gm_changed_class *changed, const char *kind, const char *name,
                       const struct gm_category_rules *rules)
{
    const bool is_role = kind[0] == 'r';
    const size_t count = name == NULL ? 0 : is_role ? GM_ROLE_COUNT : gm_category_count(rules);
    for (size_t i = 0; i < count; i++) {
        const char *known = is_role ? gm_role_name(i) : gm_category_name(rules, (uint32_t)i);
        if (strcasecmp(known, name) == 0) {
            changed->kind = kind;
            changed->name = known;
            return true;
        }
    }
    return false;
}

static enum gm_status refuse(const struct gm_replay_run *run, const char *name, const char *role, const char *category,
                             struct gm_error *err)
{
    const char *word = role != NULL ? role : category != NULL ? category : name;
    struct gm_closest closest = gm_closest_to(word, strlen(word));
    char known[300] = "";
    for (size_t r = 0; r < GM_ROLE_COUNT; r++) {
        strncat(known, r == 0 ? "" : ", ", sizeof known - strlen(known) - 1);
        strncat(known, gm_role_name(r), sizeof known - strlen(known) - 1);
        if (category == NULL)
            gm_closest_offer(&closest, gm_role_name(r));
    }
    for (uint32_t i = 0; role == NULL && i < gm_category_count(run->rules); i++)
        gm_closest_offer(&closest, gm_category_name(run->rules, i));
    return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "no role or category is called '%.*s'%s (roles are %s)",
                   GM_CHANGE_NAME, name,
                   gm_closest_hint(&closest, role != NULL       ? "role:"
                                             : category != NULL ? "category:"
                                                                : "")
                       .text,
                   known);
}

enum gm_status gm_replay_changes(struct gm_replay_run *run, struct gm_error *err)
{
    const struct gm_class_changes *changes = &run->options->changes;
    for (size_t i = 0; i < changes->n; i++) {
        const char *name = changes->v[i].name, *role = after(name, "role:"), *category = after(name, "category:");
        bool is_bare = role == NULL && category == NULL;
        struct gm_changed_class *changed = &run->changed[i];
        changed->factor = changes->v[i].factor;
        if (find_class(changed, "role", is_bare ? name : role, run->rules) ||
            find_class(changed, "category", is_bare ? name : category, run->rules))
            continue;
        return refuse(run, name, role, category, err);
    }
    return GM_OK;
}

static uint64_t scaled(uint64_t bytes, double factor)
{
    double product = (double)bytes * factor;
    if (factor == 1)
        return bytes;
    if (product >= 0x1p60)
        return UINT64_C(1) << 60;
    uint64_t rounded = (uint64_t)(product + 0.5);
    return rounded == 0 && bytes > 0 && factor > 0 ? 1 : rounded;
}

static bool is_of(const struct gm_replay_run *run, const struct gm_changed_class *changed,
                  const struct gm_kept_device *kept, size_t a)
{
    if (changed->kind[0] == 'r')
        return gm_role_name(kept->role[a]) == changed->name;
    return gm_category_name(run->rules, kept->category[a]) == changed->name;
}

bool gm_replay_change_requests(struct gm_replay_device *device)
{
    struct gm_replay_run *run = device->run;
    const struct gm_kept_device *kept = device->kept;
    const struct gm_history *h = &kept->history;
    uint64_t *requested = malloc((h->allocation_count + 1) * sizeof *requested);
    if (requested == NULL)
        return false;
    for (size_t a = 0; a < h->allocation_count; a++)
        requested[a] = gm_requested(h, a);
    for (size_t i = 0; i < run->options->changes.n; i++) {
        struct gm_changed_class *changed = &run->changed[i];
        for (size_t a = 0; a < h->allocation_count; a++) {
            if (!is_of(run, changed, kept, a))
                continue;
            changed->allocations++;
            changed->bytes_before += requested[a];
            requested[a] = scaled(requested[a], changed->factor);
            changed->bytes_after += requested[a];
        }
    }
    device->requested = requested;
    return true;
}
