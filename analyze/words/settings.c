/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/words/settings.h"

#include <string.h>

/* Length of "name." in "name.part"; 0 without a '.'. */
static size_t prefix_length(const char *key)
{
    const char *dot = strchr(key, '.');
    return dot != NULL ? (size_t)(dot - key) + 1 : 0;
}

size_t gm_settings_run(const struct gm_report *report, size_t first)
{
    const struct gm_setting_row *row = &report->settings[first];
    size_t prefix = prefix_length(row->key), n = 1;
    while (prefix > 0 && first + n < report->setting_count && strncmp(row[n].key, row->key, prefix) == 0 &&
           strcmp(row[n].value, row->value) == 0 && row[n].is_default == row->is_default)
        n++;
    return n;
}

void gm_settings_key(struct gm_text *out, const struct gm_report *report, size_t first, size_t run)
{
    const char *key = report->settings[first].key;
    if (run == 1) {
        gm_text_add(out, key);
        return;
    }
    gm_text_add_bytes(out, key, prefix_length(key));
    gm_text_add_char(out, '*');
}
