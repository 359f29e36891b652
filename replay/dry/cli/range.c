/* SPDX-License-Identifier: Apache-2.0
 *
 * NAME=LOW..HIGH[:STEP] of --find: the values, and COMMAND with one of them in place of {NAME}.
 */
#include "replay/dry/cli/gmdry.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000000000 };

/* A number that is not negative; digits behind the point. NULL: there is none. */
static const char *read_number(const char *text, double *value, int *decimals)
{
    char *end = NULL;
    *value = isdigit((unsigned char)*text) ? strtod(text, &end) : 0;
    if (end == NULL || !isfinite(*value))
        return NULL;
    const size_t length = (size_t)(end - text), digits = strspn(text, "0123456789");
    *decimals = 0;
    if (digits < length) { /* 0.25; not 1e3, not 0x10 */
        if (text[digits] != '.' || strspn(text + digits + 1, "0123456789") != length - digits - 1)
            return NULL;
        *decimals = (int)(length - digits - 1);
    }
    /* strtod takes the first point of "1..5" */
    if (length > 0 && text[length - 1] == '.') {
        *decimals = 0;
        return text + length - 1;
    }
    return end;
}

static bool read_step(struct gm_dry_range *range, const char *text)
{
    int decimals = 0;
    range->is_factor = *text == 'x';
    text = read_number(text + range->is_factor, &range->step, &decimals);
    range->decimals = decimals > range->decimals && !range->is_factor ? decimals : range->decimals;
    return text != NULL && *text == '\0' && (range->is_factor ? range->step > 1 && range->low > 0 : range->step > 0);
}

static double value_at(const struct gm_dry_range *range, size_t i)
{
    return range->is_factor ? range->low * pow(range->step, (double)i) : range->low + range->step * (double)i;
}

enum gm_status gm_dry_range_read(struct gm_dry_range *range, const char *text, struct gm_error *err)
{
    const size_t length = strcspn(text, "=");
    const char *at = text + length + 1;
    double high = 0;
    int decimals = 0;
    *range = (struct gm_dry_range){.step = 1};
    bool ok = text[length] == '=' && length > 0 && length < sizeof range->name && memchr(text, '{', length) == NULL &&
              (at = read_number(at, &range->low, &range->decimals)) != NULL && strncmp(at, "..", 2) == 0 &&
              (at = read_number(at + 2, &high, &decimals)) != NULL && (*at == '\0' || *at == ':');
    if (!ok)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--find: '%.100s' is not NAME=LOW..HIGH, as in batch=1..512",
                       text);
    memcpy(range->name, text, length);
    range->decimals = decimals > range->decimals ? decimals : range->decimals;
    if (*at == '\0' && range->decimals > 0)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--find: fractions need a step, as in %s=0.5..2:0.25",
                       range->name);
    if (*at == ':' && !read_step(range, at + 1))
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--find: '%.40s' is no step: a number, or x2 for twice the last one (from more than 0)", at + 1);
    if (high < range->low || high > MOST)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET,
                       "--find: nothing lies between these numbers, or they are too large");
    const double steps =
        range->is_factor ? log(high / range->low) / log(range->step) : (high - range->low) / range->step;
    if (steps > MOST)
        return gm_fail(err, GM_E_USAGE, GM_NO_OFFSET, "--find: the step is too small");
    range->count = (size_t)(steps + 1e-9) + 1;
    return GM_OK;
}

double gm_dry_range_value(const struct gm_dry_range *range, size_t i, char text[GM_DRY_VALUE])
{
    const double value = value_at(range, i);
    snprintf(text, GM_DRY_VALUE, "%.*f", range->decimals, value);
    return strtod(text, NULL);
}

/* ---- COMMAND ----------------------------------------------------------------------------------------------------- */

/* One of its words, in new memory. */
static char *replaced(const char *word, const char *name, const char *value)
{
    char place[GM_DRY_VALUE + 80];
    GM_FREED struct gm_text out = {0};
    snprintf(place, sizeof place, "{%s}", name);
    for (const char *found; (found = strstr(word, place)) != NULL; word = found + strlen(place)) {
        gm_text_add_bytes(&out, word, (size_t)(found - word));
        gm_text_add(&out, value);
    }
    gm_text_add(&out, word);
    return out.failed ? NULL : strdup(out.data == NULL ? "" : out.data);
}

void gm_dry_command_free(char **command)
{
    for (size_t i = 0; command != NULL && command[i] != NULL; i++)
        free(command[i]);
    free(command);
}

char **gm_dry_command(char *const *command, const struct gm_dry_range *range, size_t i)
{
    char value[GM_DRY_VALUE];
    size_t count = 0;
    gm_dry_range_value(range, i, value);
    while (command[count] != NULL)
        count++;
    char **copy = calloc(count + 1, sizeof *copy);
    for (size_t k = 0; copy != NULL && k < count; k++)
        if ((copy[k] = replaced(command[k], range->name, value)) == NULL) {
            gm_dry_command_free(copy);
            return NULL;
        }
    return copy;
}

bool gm_dry_command_has(char *const *command, const struct gm_dry_range *range)
{
    char place[GM_DRY_VALUE + 80];
    snprintf(place, sizeof place, "{%s}", range->name);
    while (*command != NULL && strstr(*command, place) == NULL)
        command++;
    return *command != NULL;
}
