/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of JSON, whatever the locale.
 */
#ifndef GM_FORMATS_JSON_NUMBER_H
#define GM_FORMATS_JSON_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GM_JSON_NUMBER_MAX = 1024 }; /* characters looked at; numbers are shorter */

enum gm_json_number_kind { GM_JSON_NO_NUMBER, GM_JSON_TOO_LONG, GM_JSON_INTEGER, GM_JSON_REAL };
struct gm_json_number {
    enum gm_json_number_kind kind;
    bool is_negative; /* of an integer */
    uint64_t magnitude;
    double real;
};

/* Parses the number at s[0..n) and returns its length, or that of the part that is right if *number says NO_NUMBER.
 * What has a fraction, an exponent or more than 64 bits is REAL. */
size_t gm_json_number_parse(const unsigned char *s, size_t n, struct gm_json_number *number);

#endif
