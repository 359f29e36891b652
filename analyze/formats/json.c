/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the window, token by token, with a small stack instead of recursion. Strings and numbers are taken
 * where they lie; only those with escapes or across the end of a window are collected in scratch first.
 */
#include "analyze/formats/decoders.h"

#include "analyze/base/utf8.h"
#include "analyze/base/vec.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum expected { A_VALUE, A_VALUE_OR_END, A_KEY, A_KEY_OR_END, A_COMMA_OR_END };

struct json {
    struct gm_source *source;
    struct gm_assembler *a;
    struct GM_VEC(unsigned char) scratch;
    bool is_dict[GM_MAX_DEPTH + 1];
    size_t depth;
};

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Whatever stands at the source's place is not what was expected. */
static enum gm_status unexpected(const struct json *j, const char *what, struct gm_error *err)
{
    const struct gm_source *s = j->source;
    uint64_t at = gm_source_offset(s);
    if (s->p == s->end)
        return gm_fail(err, GM_E_TRUNCATED, at, "the JSON ends where %s was expected", what);
    unsigned char c = *s->p;
    if (c > ' ' && c < 0x7f)
        return gm_fail(err, GM_E_CORRUPT, at, "damaged JSON: expected %s, found '%c'", what, c);
    return gm_fail(err, GM_E_CORRUPT, at, "damaged JSON: expected %s, found byte 0x%02x", what, (unsigned)c);
}

/* ---- numbers, whatever the locale -------------------------------------------------------------------------------- */

enum { NUMBER_MAX = 1024 }; /* characters looked at; numbers are shorter */

enum number_kind { NO_NUMBER, TOO_LONG, INTEGER, REAL };
struct number {
    enum number_kind kind;
    bool is_negative; /* of an integer */
    uint64_t magnitude;
    double real;
};

static bool is_digit(const unsigned char *s, size_t n, size_t i)
{
    return i < n && s[i] >= '0' && s[i] <= '9';
}

static size_t skip_digits(const unsigned char *s, size_t n, size_t i)
{
    while (is_digit(s, n, i))
        i++;
    return i;
}

/* strtod in the C locale; the text was checked before. */
static enum number_kind parse_real(const unsigned char *s, size_t length, double *real)
{
    char text[NUMBER_MAX];
    memcpy(text, s, length);
    text[length] = '\0';
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return NO_NUMBER;
    *real = strtod_l(text, NULL, c);
    freelocale(c);
    return REAL;
}

/* The end of the fraction and the exponent at s[i]; *ok is false if one of them has no digits. */
static size_t skip_fraction(const unsigned char *s, size_t n, size_t i, bool *ok)
{
    *ok = true;
    if (i < n && s[i] == '.') {
        *ok = is_digit(s, n, ++i);
        i = skip_digits(s, n, i);
    }
    if (*ok && i < n && (s[i] == 'e' || s[i] == 'E')) {
        i++;
        if (i < n && (s[i] == '+' || s[i] == '-'))
            i++;
        *ok = is_digit(s, n, i);
        i = skip_digits(s, n, i);
    }
    return i;
}

/* Parses the number at s[0..n) and returns its length, or that of the part that is right if *number says NO_NUMBER.
 * What has a fraction, an exponent or more than 64 bits is REAL. */
static size_t parse_number(const unsigned char *s, size_t n, struct number *number)
{
    *number = (struct number){.kind = NO_NUMBER};
    n = n < NUMBER_MAX ? n : NUMBER_MAX;
    size_t i = n > 0 && s[0] == '-', first = i;
    number->is_negative = i > 0;
    bool fits = true;
    for (; is_digit(s, n, i); i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        fits = fits && number->magnitude <= (UINT64_MAX - digit) / 10;
        number->magnitude = number->magnitude * 10 + digit;
    }
    if (i == first)
        return i;
    if (s[first] == '0' && i > first + 1) { /* a number cannot begin with 0 and go on: the digit behind is too much */
        *number = (struct number){.kind = INTEGER, .is_negative = number->is_negative};
        return first + 1;
    }
    bool ok;
    size_t length = skip_fraction(s, n, i, &ok);
    if (length == NUMBER_MAX)
        number->kind = TOO_LONG;
    else if (ok && length == i && fits)
        number->kind = INTEGER;
    else if (ok)
        number->kind = parse_real(s, length, &number->real);
    return length;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static bool ends_plain_text(unsigned char c)
{
    return c == '"' || c == '\\' || c < ' ';
}

static const unsigned char *plain_end(const unsigned char *p, const unsigned char *end)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    while (end - p >= 8) { /* eight bytes at once: which of them is a quote, a backslash, or below the blank? */
        uint64_t v;
        memcpy(&v, p, 8);
        uint64_t quote = v ^ ones * '"', backslash = v ^ ones * '\\';
        if ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((v - ones * ' ') & ~v)) & tops)
            break;
        p += 8;
    }
    while (p < end && !ends_plain_text(*p))
        p++;
    return p;
}

static bool add_bytes(struct json *j, const void *bytes, size_t n)
{
    if (!GM_VEC_ROOM(&j->scratch, n))
        return false;
    if (n > 0)
        memcpy(j->scratch.v + j->scratch.n, bytes, n);
    j->scratch.n += n;
    return true;
}

static bool add_code(struct json *j, uint32_t code)
{
    unsigned char out[4];
    size_t n = gm_utf8_encode(out, code);
    return add_bytes(j, out, n);
}

/* The four hexadecimal digits at p, or -1. */
static int32_t four_digits(const unsigned char *p)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = p[i] >= '0' && p[i] <= '9'                     ? p[i] - '0'
                    : (p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'f' ? (p[i] | 0x20) - 'a' + 10
                                                                   : -1;
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* \uXXXX at the source's place, and the second half of a pair if one follows. */
static enum gm_status take_unicode(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, 12, err));
    if (s->end - s->p < 6) {
        s->p = s->end;
        return unexpected(j, "the rest of an escape", err);
    }
    int32_t code = four_digits(s->p + 2);
    if (code < 0)
        return gm_fail(err, GM_E_CORRUPT, gm_source_offset(s), "damaged JSON: \\u without four hexadecimal digits");
    s->p += 6;
    if (code >= 0xd800 && code < 0xe000) {
        bool is_pair = code < 0xdc00 && s->end - s->p >= 6 && s->p[0] == '\\' && s->p[1] == 'u';
        int32_t low = is_pair ? four_digits(s->p + 2) : -1;
        bool is_low = low >= 0xdc00 && low < 0xe000;
        s->p += is_low ? 6 : 0;
        code = is_low ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
    }
    return add_code(j, (uint32_t)code) ? GM_OK : gm_no_memory(err);
}

/* A backslash is at the source's place. */
static enum gm_status take_escape(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, 2, err));
    if (s->end - s->p < 2) {
        s->p = s->end;
        return unexpected(j, "the rest of an escape", err);
    }
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    unsigned char c = s->p[1];
    if (c == 'u')
        return take_unicode(j, err);
    const char *known = c != '\0' ? strchr(from, c) : NULL;
    if (known == NULL) {
        s->p++;
        return unexpected(j, "an escape after the backslash", err);
    }
    s->p += 2;
    return add_bytes(j, &to[known - from], 1) ? GM_OK : gm_no_memory(err);
}

/* A string that is not plain, or not in the window as a whole; the source is behind the opening quote. */
static enum gm_status take_string_slowly(struct json *j, uint64_t at, struct gm_error *err)
{
    struct gm_source *s = j->source;
    j->scratch.n = 0;
    for (;;) {
        GM_TRY(gm_source_more(s, 1, err));
        const unsigned char *stop = plain_end(s->p, s->end);
        if (!add_bytes(j, s->p, (size_t)(stop - s->p)))
            return gm_no_memory(err);
        s->p = stop;
        if (s->p == s->end) {
            if (s->at_end)
                return unexpected(j, "the end of a string", err);
            continue;
        }
        if (*s->p == '"') {
            s->p++;
            return gm_assembler_string(j->a, j->scratch.v != NULL ? (void *)j->scratch.v : "", j->scratch.n, at, err);
        }
        if (*s->p != '\\')
            return unexpected(j, "no control character in a string", err);
        GM_TRY(take_escape(j, err));
    }
}

static enum gm_status take_string(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    uint64_t at = gm_source_offset(s);
    const unsigned char *start = ++s->p, *stop = plain_end(start, s->end);
    if (stop == s->end || *stop != '"')
        return take_string_slowly(j, at, err);
    s->p = stop + 1;
    return gm_assembler_string(j->a, start, (size_t)(stop - start), at, err);
}

/* ---- numbers and words ------------------------------------------------------------------------------------------- */

static enum gm_status take_number(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    uint64_t at = gm_source_offset(s);
    GM_TRY(gm_source_more(s, NUMBER_MAX, err));
    struct number number;
    size_t length = parse_number(s->p, (size_t)(s->end - s->p), &number);
    s->p += length;
    switch (number.kind) {
    case INTEGER:
        return gm_assembler_integer(j->a, number.magnitude, number.is_negative, at, err);
    case REAL:
        return gm_assembler_real(j->a, number.real, at, err);
    case TOO_LONG:
        return gm_fail(err, GM_E_CORRUPT, at, "damaged JSON: a number of more than %d characters", NUMBER_MAX - 1);
    case NO_NUMBER:
        break;
    }
    return unexpected(j, "a digit", err);
}

/* Consumes `word`, whose first character is known to be there. */
static enum gm_status take_word(struct json *j, const char *word, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, strlen(word), err));
    for (const char *w = word; *w != '\0'; w++, s->p++)
        if (s->p == s->end || *s->p != (unsigned char)*w)
            return unexpected(j, word, err);
    return GM_OK;
}

static enum gm_status take_minus(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    uint64_t at = gm_source_offset(s);
    GM_TRY(gm_source_more(s, 2, err));
    if (s->end - s->p < 2 || s->p[1] != 'I')
        return take_number(j, err);
    enum gm_status status = take_word(j, "-Infinity", err);
    return status == GM_OK ? gm_assembler_real(j->a, -(double)INFINITY, at, err) : status;
}

/* ---- the grammar ------------------------------------------------------------------------------------------------- */

static enum gm_status begin(struct json *j, bool is_dict, struct gm_error *err)
{
    uint64_t at = gm_source_offset(j->source);
    enum gm_status status = is_dict ? gm_assembler_begin_dict(j->a, at, err) : gm_assembler_begin_list(j->a, at, err);
    if (status == GM_OK && j->depth >= GM_MAX_DEPTH)
        status = gm_fail(err, GM_E_LIMIT, at, "nested deeper than %d levels", GM_MAX_DEPTH);
    if (status != GM_OK)
        return status;
    j->is_dict[j->depth++] = is_dict;
    j->source->p++;
    return GM_OK;
}

static enum gm_status end(struct json *j, struct gm_error *err)
{
    uint64_t at = gm_source_offset(j->source);
    j->source->p++;
    return j->is_dict[--j->depth] ? gm_assembler_end_dict(j->a, at, err) : gm_assembler_end_list(j->a, at, err);
}

/* A value that begins with the character at the source's place; *next is what is expected after it. */
static enum gm_status take_value(struct json *j, enum expected *next, struct gm_error *err)
{
    uint64_t at = gm_source_offset(j->source);
    unsigned char c = *j->source->p;
    enum gm_status status;
    *next = A_COMMA_OR_END;
    switch (c) {
    case '"':
        return take_string(j, err);
    case '{':
        *next = A_KEY_OR_END;
        return begin(j, true, err);
    case '[':
        *next = A_VALUE_OR_END;
        return begin(j, false, err);
    case '-':
        return take_minus(j, err);
    case 't':
    case 'f':
        status = take_word(j, c == 't' ? "true" : "false", err);
        return status == GM_OK ? gm_assembler_bool(j->a, c == 't', at, err) : status;
    case 'n':
        status = take_word(j, "null", err);
        return status == GM_OK ? gm_assembler_null(j->a, at, err) : status;
    case 'N':
        status = take_word(j, "NaN", err);
        return status == GM_OK ? gm_assembler_real(j->a, (double)NAN, at, err) : status;
    case 'I':
        status = take_word(j, "Infinity", err);
        return status == GM_OK ? gm_assembler_real(j->a, (double)INFINITY, at, err) : status;
    default:
        return c >= '0' && c <= '9' ? take_number(j, err) : unexpected(j, "a value", err);
    }
}

/* Moves on to the next character that is no blank; there is none if s->p == s->end then. */
static enum gm_status skip_blanks(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    for (;;) {
        while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\r' || *s->p == '\t'))
            s->p++;
        if (s->p < s->end || s->at_end)
            return GM_OK;
        GM_TRY(gm_source_more(s, 1, err));
    }
}

/* A key with its colon. */
static enum gm_status take_key(struct json *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    enum gm_status status = take_string(j, err);
    GM_THEN(status, skip_blanks(j, err));
    if (status != GM_OK)
        return status;
    if (s->p == s->end || *s->p != ':')
        return unexpected(j, "':'", err);
    s->p++;
    return GM_OK;
}

/* One step: what stands at the source's place, of which there is at least one character. */
static enum gm_status step(struct json *j, enum expected *state, struct gm_error *err)
{
    struct gm_source *s = j->source;
    unsigned char c = *s->p;
    bool in_dict = j->depth > 0 && j->is_dict[j->depth - 1];
    switch (*state) {
    case A_VALUE_OR_END:
        if (c != ']')
            return take_value(j, state, err);
        *state = A_COMMA_OR_END;
        return end(j, err);
    case A_VALUE:
        return take_value(j, state, err);
    case A_KEY_OR_END:
    case A_KEY:
        if (c == '}' && *state == A_KEY_OR_END) {
            *state = A_COMMA_OR_END;
            return end(j, err);
        }
        if (c != '"')
            return unexpected(j, *state == A_KEY ? "a key in quotes" : "a key in quotes or '}'", err);
        *state = A_VALUE;
        return take_key(j, err);
    default:
        if (c == ',') {
            *state = in_dict ? A_KEY : A_VALUE;
            s->p++;
            return GM_OK;
        }
        if (c == (in_dict ? '}' : ']'))
            return end(j, err);
        return unexpected(j, in_dict ? "',' or '}'" : "',' or ']'", err);
    }
}

static enum gm_status decode(struct json *j, struct gm_error *err)
{
    static const char *const names[] = {"a value", "a value or ']'", "a key", "a key or '}'",
                                        "',' or the end of a container"};
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, 3, err));
    if (s->end - s->p >= 3 && memcmp(s->p, "\xef\xbb\xbf", 3) == 0) /* a byte-order mark */
        s->p += 3;
    enum expected state = A_VALUE;
    do {
        GM_TRY(skip_blanks(j, err));
        if (s->p == s->end)
            return unexpected(j, names[state], err);
        GM_TRY(step(j, &state, err));
    } while (j->depth > 0 || state != A_COMMA_OR_END);
    return GM_OK;
}

enum gm_status gm_json_decode(struct gm_source *source, struct gm_assembler *a, struct gm_error *err)
{
    struct json j = {.source = source, .a = a};
    enum gm_status status = decode(&j, err);
    free(j.scratch.v);
    return status;
}
