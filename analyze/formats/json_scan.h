/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON (RFC 8259, plus the NaN, Infinity and -Infinity that Python writes) as tokens, one at a time, in one pass over
 * the window of a source: memory is that of the longest string, and nesting costs a byte a level. Strings and numbers
 * are told where they lie, so what a token points to is valid until the next one is asked for.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/vec.h"
#include "analyze/formats/assemble.h"
#include "analyze/formats/source.h"

enum { GM_JSON_NUMBER_MAX = 1024 }; /* characters looked at; numbers are shorter */

enum gm_json_number_kind { GM_JSON_NO_NUMBER, GM_JSON_TOO_LONG, GM_JSON_INTEGER, GM_JSON_REAL };
struct gm_json_number {
    enum gm_json_number_kind kind;
    bool is_negative;  /* of an integer */
    uint32_t decimals; /* of a real without exponent, if what is before its point fits in `magnitude`: digits behind */
    uint64_t magnitude;
};

enum gm_json_token_kind {
    GM_TOKEN_BEGIN_DICT,
    GM_TOKEN_END_DICT,
    GM_TOKEN_BEGIN_LIST,
    GM_TOKEN_END_LIST,
    GM_TOKEN_KEY,     /* text; its colon is consumed */
    GM_TOKEN_STRING,  /* text, escapes resolved: lone surrogates became U+FFFD, bytes that are no UTF-8 are kept */
    GM_TOKEN_NUMBER,  /* text as it stands there, and `number` */
    GM_TOKEN_SPECIAL, /* NaN, Infinity or -Infinity: `special` */
    GM_TOKEN_TRUE,
    GM_TOKEN_FALSE,
    GM_TOKEN_NULL,
    GM_TOKEN_DONE /* the outermost value is complete */
};
struct gm_json_token {
    enum gm_json_token_kind kind;
    uint64_t at; /* offset of its first byte */
    const unsigned char *text;
    size_t length;
    struct gm_json_number number;
    double special;
};

enum gm_json_expected { /* private */
                        GM_JSON_BEGINNING,
                        GM_JSON_A_VALUE,
                        GM_JSON_A_VALUE_OR_END,
                        GM_JSON_A_KEY,
                        GM_JSON_A_KEY_OR_END,
                        GM_JSON_A_COMMA_OR_END
};
struct gm_json_scan { /* zero-initialise but for `source`; gm_json_scan_free */
    struct gm_source *source;
    struct GM_VEC(unsigned char) scratch;
    size_t depth;
    enum gm_json_expected expected;
    bool is_dict[GM_MAX_DEPTH + 1];
};

/* The next token. Fails on what is no JSON (GM_E_CORRUPT), ends too early (GM_E_TRUNCATED) or is nested deeper than
 * GM_MAX_DEPTH (GM_E_LIMIT), saying where. */
enum gm_status gm_json_next(struct gm_json_scan *json, struct gm_json_token *token, struct gm_error *err);
/* Where a value begins: consumes it if it is a plain string or a short number, without looking closer. false, and
 * nothing consumed: ask for tokens. */
bool gm_json_pass(struct gm_json_scan *json);
/* Consumes the rest of the value that `token` begins; nothing if it is complete already. */
enum gm_status gm_json_skip(struct gm_json_scan *json, const struct gm_json_token *token, struct gm_error *err);
/* Where the text at p ends that a string has as it is: at a quote, a backslash or a control character, or at `end`; and
 * where blanks end. The second ones are what the first ones are tested against. */
const unsigned char *gm_json_plain_end(const unsigned char *p, const unsigned char *end);
const unsigned char *gm_json_blanks_end(const unsigned char *p, const unsigned char *end);
const unsigned char *gm_json_plain_end_bytewise(const unsigned char *p, const unsigned char *end);
const unsigned char *gm_json_blanks_end_bytewise(const unsigned char *p, const unsigned char *end);
/* What a number of that text is, which was found REAL: strtod in the C locale. false: no memory. */
bool gm_json_number_real(const unsigned char *s, size_t length, double *real);
/* For those who know by their bytes what tokens would tell. Over the next n bytes, which must be in the window, to
 * where a value begins or has ended, `depth` deep; what that enters must be objects. And over the rest of the list that
 * the last token began. */
static inline void gm_json_leap(struct gm_json_scan *json, size_t n, size_t depth, bool is_before_value)
{
    json->source->p += n;
    while (json->depth < depth)
        json->is_dict[json->depth++] = true;
    json->depth = depth;
    json->expected = is_before_value ? GM_JSON_A_VALUE : GM_JSON_A_COMMA_OR_END;
}
static inline void gm_json_leap_out(struct gm_json_scan *json, size_t n)
{
    json->source->p += n;
    json->depth--;
    json->expected = GM_JSON_A_COMMA_OR_END;
}
void gm_json_scan_free(struct gm_json_scan *json);
