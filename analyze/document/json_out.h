/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON: commas, indentation, escapes. Absent (GM_REPORT_NONE, NULL) is null. Keys are ours and are not escaped;
 * NULL inside an array.
 */
#pragma once

#include "analyze/base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct gm_json {
    struct gm_text *out;
    unsigned depth;
    unsigned flat; /* depth from which everything stands on one line; 0: nothing */
    bool has_item; /* in the container that is open */
};

void gm_json_open(struct gm_json *json, const char *key, char bracket); /* '{' or '[' */
void gm_json_open_flat(struct gm_json *json, const char *key, char bracket);
void gm_json_close(struct gm_json *json, char bracket); /* '}' or ']' */
void gm_json_string(struct gm_json *json, const char *key, const char *value);
void gm_json_number(struct gm_json *json, const char *key, uint64_t value);
void gm_json_signed(struct gm_json *json, const char *key, int64_t value);
void gm_json_id(struct gm_json *json, const char *key, int64_t id); /* null for a negative one */
void gm_json_bool(struct gm_json *json, const char *key, bool value);
void gm_json_null(struct gm_json *json, const char *key);
/* A finite number, with so many decimals. */
void gm_json_decimal(struct gm_json *json, const char *key, double value, int decimals);
/* 100 * part / whole with four decimals; null if whole is 0 or one of them is not known. */
void gm_json_percent(struct gm_json *json, const char *key, uint64_t part, uint64_t whole);
/* A finite number with up to 17 significant digits; null for any other. */
void gm_json_real(struct gm_json *json, const char *key, double value);
