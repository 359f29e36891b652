/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/json_out.h"

#include "analyze/document/escape.h"
#include "analyze/report/numbers.h"
#include "analyze/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void begin(struct gm_json *json, const char *key)
{
    if (json->has_item)
        gm_text_add_char(json->out, ',');
    bool is_flat = json->flat != 0 && json->depth >= json->flat;
    if (is_flat && json->has_item)
        gm_text_add_char(json->out, ' ');
    if (!is_flat && json->depth > 0) {
        gm_text_add_char(json->out, '\n');
        gm_text_repeat(json->out, ' ', 2 * (size_t)json->depth);
    }
    if (key != NULL) {
        gm_text_add_char(json->out, '"');
        gm_text_add(json->out, key);
        gm_text_add(json->out, "\": ");
    }
    json->has_item = true;
}

void gm_json_open(struct gm_json *json, const char *key, char bracket)
{
    begin(json, key);
    gm_text_add_char(json->out, bracket);
    json->depth++;
    json->has_item = false;
}

void gm_json_open_flat(struct gm_json *json, const char *key, char bracket)
{
    gm_json_open(json, key, bracket);
    if (json->flat == 0)
        json->flat = json->depth;
}

void gm_json_close(struct gm_json *json, char bracket)
{
    bool is_flat = json->flat != 0 && json->depth >= json->flat;
    if (json->flat == json->depth)
        json->flat = 0;
    json->depth--;
    if (!is_flat && json->has_item) {
        gm_text_add_char(json->out, '\n');
        gm_text_repeat(json->out, ' ', 2 * (size_t)json->depth);
    }
    gm_text_add_char(json->out, bracket);
    json->has_item = true;
}

void gm_json_string(struct gm_json *json, const char *key, const char *value)
{
    begin(json, key);
    gm_escape_json(json->out, value);
}

void gm_json_number(struct gm_json *json, const char *key, uint64_t value)
{
    begin(json, key);
    if (value == GM_REPORT_NONE)
        gm_text_add(json->out, "null");
    else
        gm_text_add_number(json->out, value);
}

void gm_json_signed(struct gm_json *json, const char *key, int64_t value)
{
    begin(json, key);
    gm_text_printf(json->out, "%" PRId64, value);
}

void gm_json_id(struct gm_json *json, const char *key, int64_t id)
{
    if (id < 0)
        gm_json_null(json, key);
    else
        gm_json_signed(json, key, id);
}

void gm_json_bool(struct gm_json *json, const char *key, bool value)
{
    begin(json, key);
    gm_text_add(json->out, value ? "true" : "false");
}

void gm_json_null(struct gm_json *json, const char *key)
{
    begin(json, key);
    gm_text_add(json->out, "null");
}

void gm_json_decimal(struct gm_json *json, const char *key, double value, int decimals)
{
    begin(json, key);
    gm_text_printf(json->out, "%.*f", decimals, value);
}

void gm_json_percent(struct gm_json *json, const char *key, uint64_t part, uint64_t whole)
{
    char percent[GM_NUMBER_TEXT];
    begin(json, key);
    bool is_known = whole != 0 && part != GM_REPORT_NONE && whole != GM_REPORT_NONE;
    gm_text_add(json->out, is_known ? gm_percent_format(percent, part, whole, 4) : "null");
}

void gm_json_real(struct gm_json *json, const char *key, double value)
{
    char text[40];
    begin(json, key);
    snprintf(text, sizeof text, "%.17g", value);
    for (char *c = text; *c != '\0'; c++) /* whatever the locale */
        if (*c == ',')
            *c = '.';
    gm_text_add(json->out, isfinite(value) ? text : "null");
}
