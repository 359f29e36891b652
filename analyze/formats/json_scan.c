/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the window, token by token, with a small stack instead of recursion. Strings and numbers are taken
 * where they lie; only those with escapes or across the end of a window are collected in scratch first.
 */
#include "analyze/formats/json_scan.h"

#include "analyze/base/utf8.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Whatever stands at the source's place is not what was expected. */
static enum gm_status unexpected(const struct gm_json_scan *j, const char *what, struct gm_error *err)
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

bool gm_json_number_real(const unsigned char *s, size_t length, double *real)
{
    char text[GM_JSON_NUMBER_MAX];
    memcpy(text, s, length);
    text[length] = '\0';
    locale_t c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return false;
    *real = strtod_l(text, NULL, c);
    freelocale(c);
    return true;
}

/* The end of the fraction and the exponent at s[i]; *ok is false if one of them has no digits. *decimals: digits of the
 * fraction, 0 with an exponent. */
static size_t skip_fraction(const unsigned char *s, size_t n, size_t i, bool *ok, uint32_t *decimals)
{
    *ok = true;
    *decimals = 0;
    if (i < n && s[i] == '.') {
        const size_t first = ++i;
        *ok = is_digit(s, n, i);
        i = skip_digits(s, n, i);
        *decimals = (uint32_t)(i - first);
    }
    if (*ok && i < n && (s[i] == 'e' || s[i] == 'E')) {
        *decimals = 0;
        i++;
        if (i < n && (s[i] == '+' || s[i] == '-'))
            i++;
        *ok = is_digit(s, n, i);
        i = skip_digits(s, n, i);
    }
    return i;
}

/* Takes up to eight digits at s, of which eight bytes can be read, at once; how many there are. */
static inline size_t take_eight(const unsigned char *s, uint64_t *magnitude)
{
    static const uint64_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    uint64_t x = 0;
    size_t count = 8;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(&x, s, 8);
    x ^= UINT64_C(0x3030303030303030); /* digits are 0 to 9 now */
    const uint64_t others = ((x + UINT64_C(0x7676767676767676)) | x) & UINT64_C(0x8080808080808080);
    if (others != 0 && (count = (size_t)__builtin_ctzll(others) / 8) == 0)
        return 0;
    x <<= 64 - 8 * count; /* the first digit is the lowest byte: zeros before it */
    x = 10 * x + (x >> 8);
    x = ((x & UINT64_C(0x000000FF000000FF)) * (100 + (UINT64_C(1000000) << 32)) +
         (x >> 16 & UINT64_C(0x000000FF000000FF)) * (1 + (UINT64_C(10000) << 32))) >>
        32;
#else
    for (count = 0; count < 8 && is_digit(s, 8, count); count++)
        x = x * 10 + (uint64_t)(s[count] - '0');
#endif
    *magnitude = *magnitude * tens[count] + x;
    return count;
}

/* Parses the number at s[0..n) and returns its length, or that of the part that is right if *number says NO_NUMBER.
 * What has a fraction, an exponent or more than 64 bits is REAL. */
static size_t parse_any_number(const unsigned char *s, size_t n, struct gm_json_number *number)
{
    *number = (struct gm_json_number){.kind = GM_JSON_NO_NUMBER};
    n = n < GM_JSON_NUMBER_MAX ? n : GM_JSON_NUMBER_MAX;
    size_t i = n > 0 && s[0] == '-', first = i;
    number->is_negative = i > 0;
    bool fits = true;
    for (const size_t sure = first + 19; i < sure && is_digit(s, n, i); i++)
        number->magnitude = number->magnitude * 10 + (uint64_t)(s[i] - '0');
    for (; is_digit(s, n, i); i++) {
        uint64_t digit = (uint64_t)(s[i] - '0');
        fits = fits && number->magnitude <= (UINT64_MAX - digit) / 10;
        number->magnitude = number->magnitude * 10 + digit;
    }
    if (i == first)
        return i;
    if (s[first] == '0' && i > first + 1) { /* a number cannot begin with 0 and go on: the digit behind is too much */
        *number = (struct gm_json_number){.kind = GM_JSON_INTEGER, .is_negative = number->is_negative};
        return first + 1;
    }
    bool ok;
    size_t length = skip_fraction(s, n, i, &ok, &number->decimals);
    number->decimals = fits ? number->decimals : 0;
    if (length == GM_JSON_NUMBER_MAX)
        number->kind = GM_JSON_TOO_LONG;
    else if (ok && length == i && fits)
        number->kind = GM_JSON_INTEGER;
    else if (ok)
        number->kind = GM_JSON_REAL;
    return length;
}

/* The same of most numbers, `-? digits (. digits)?` of up to sixteen and up to eight digits, in fewer steps. */
static size_t parse_number(const unsigned char *s, size_t n, struct gm_json_number *number)
{
    uint64_t magnitude = 0, fraction = 0;
    const size_t first = n > 0 && s[0] == '-';
    if (n < 1 + 16 + 1 + 8 + 1)
        return parse_any_number(s, n, number);
    size_t i = first, taken = take_eight(s + i, &magnitude), decimals = 0;
    i += taken;
    if (taken == 8)
        i += take_eight(s + i, &magnitude);
    if (s[i] == '.' && (decimals = take_eight(s + i + 1, &fraction)) > 0)
        i += 1 + decimals;
    const bool goes_on = (s[i] >= '0' && s[i] <= '9') || s[i] == '.' || (s[i] | 0x20) == 'e';
    if (goes_on || i == first || (s[first] == '0' && i > first + 1 && s[first + 1] != '.'))
        return parse_any_number(s, n, number);
    *number = (struct gm_json_number){.kind = decimals > 0 ? GM_JSON_REAL : GM_JSON_INTEGER,
                                      .is_negative = first > 0,
                                      .decimals = (uint32_t)decimals,
                                      .magnitude = magnitude};
    return i;
}

/* ---- strings ----------------------------------------------------------------------------------------------------- */

static bool ends_plain_text(unsigned char c)
{
    return c == '"' || c == '\\' || c < ' ';
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

const unsigned char *gm_json_plain_end_bytewise(const unsigned char *p, const unsigned char *end)
{
    while (p < end && !ends_plain_text(*p))
        p++;
    return p;
}

const unsigned char *gm_json_blanks_end_bytewise(const unsigned char *p, const unsigned char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

#ifdef __SSE2__ /* sixteen bytes at once, which every x86-64 has; the rest of the window one by one */

/* This and the next one: as gm_json_plain_end, or to where fewer than 16, or 32, bytes are left. */
static inline const unsigned char *plain_end_by_16(const unsigned char *p, const unsigned char *end)
{
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    for (; end - p >= 16; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i ends = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)),
                                          _mm_cmpeq_epi8(_mm_min_epu8(v, control), v));
        const unsigned mask = (unsigned)_mm_movemask_epi8(ends);
        if (mask != 0)
            return p + __builtin_ctz(mask);
    }
    return p;
}

__attribute__((target("avx2"))) static const unsigned char *plain_end_by_32(const unsigned char *p,
                                                                            const unsigned char *end)
{
    const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1f);
    for (; end - p >= 32; p += 32) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
        const __m256i ends =
            _mm256_or_si256(_mm256_or_si256(_mm256_cmpeq_epi8(v, quote), _mm256_cmpeq_epi8(v, backslash)),
                            _mm256_cmpeq_epi8(_mm256_min_epu8(v, control), v));
        const unsigned mask = (unsigned)_mm256_movemask_epi8(ends);
        if (mask != 0)
            return p + __builtin_ctz(mask);
    }
    return p;
}

/* Most strings are short. */
static inline const unsigned char *plain_end_near(const unsigned char *p, const unsigned char *end)
{
    const unsigned char *const near = end - p > 32 ? p + 32 : p, *const stop = plain_end_by_16(p, near);
    return stop < near ? stop : gm_json_plain_end(near, end);
}

/* Stacks are long: those go by 32 where the machine can. */
const unsigned char *gm_json_plain_end(const unsigned char *p, const unsigned char *end)
{
    if (end - p >= 32 && __builtin_cpu_supports("avx2"))
        p = plain_end_by_32(p, end);
    return gm_json_plain_end_bytewise(plain_end_by_16(p, end), end);
}

const unsigned char *gm_json_blanks_end(const unsigned char *p, const unsigned char *end)
{
    if (p == end || !is_blank(*p))
        return p;
    for (; end - p >= 16; p += 16) {
        const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        const __m128i blanks =
            _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\n'))),
                         _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('\r')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\t'))));
        const unsigned others = ~(unsigned)_mm_movemask_epi8(blanks) & 0xffff;
        if (others != 0)
            return p + __builtin_ctz(others);
    }
    return gm_json_blanks_end_bytewise(p, end);
}

#else

static inline const unsigned char *plain_end_near(const unsigned char *p, const unsigned char *end)
{
    return gm_json_plain_end_bytewise(p, end);
}

const unsigned char *gm_json_plain_end(const unsigned char *p, const unsigned char *end)
{
    return gm_json_plain_end_bytewise(p, end);
}

const unsigned char *gm_json_blanks_end(const unsigned char *p, const unsigned char *end)
{
    return gm_json_blanks_end_bytewise(p, end);
}

#endif

static bool add_bytes(struct gm_json_scan *j, const void *bytes, size_t n)
{
    if (!GM_VEC_ROOM(&j->scratch, n))
        return false;
    if (n > 0)
        memcpy(j->scratch.v + j->scratch.n, bytes, n);
    j->scratch.n += n;
    return true;
}

static bool add_code(struct gm_json_scan *j, uint32_t code)
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
static enum gm_status take_unicode(struct gm_json_scan *j, struct gm_error *err)
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
static enum gm_status take_escape(struct gm_json_scan *j, struct gm_error *err)
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
static enum gm_status take_string_slowly(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    struct gm_source *s = j->source;
    j->scratch.n = 0;
    for (;;) {
        GM_TRY(gm_source_more(s, 1, err));
        const unsigned char *stop = gm_json_plain_end(s->p, s->end);
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
            token->text = j->scratch.v != NULL ? j->scratch.v : (const unsigned char *)"";
            token->length = j->scratch.n;
            return GM_OK;
        }
        if (*s->p != '\\')
            return unexpected(j, "no control character in a string", err);
        GM_TRY(take_escape(j, err));
    }
}

static enum gm_status take_string(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    struct gm_source *s = j->source;
    const unsigned char *start = ++s->p, *stop = plain_end_near(start, s->end);
    token->kind = GM_TOKEN_STRING;
    if (stop == s->end || *stop != '"')
        return take_string_slowly(j, token, err);
    s->p = stop + 1;
    token->text = start;
    token->length = (size_t)(stop - start);
    return GM_OK;
}

/* ---- numbers and words ------------------------------------------------------------------------------------------- */

static enum gm_status take_number(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    struct gm_source *s = j->source;
    if (s->end - s->p < GM_JSON_NUMBER_MAX)
        GM_TRY(gm_source_more(s, GM_JSON_NUMBER_MAX, err));
    token->kind = GM_TOKEN_NUMBER;
    token->text = s->p;
    token->length = parse_number(s->p, (size_t)(s->end - s->p), &token->number);
    s->p += token->length;
    if (token->number.kind == GM_JSON_TOO_LONG)
        return gm_fail(err, GM_E_CORRUPT, token->at, "damaged JSON: a number of more than %d characters",
                       GM_JSON_NUMBER_MAX - 1);
    return token->number.kind == GM_JSON_NO_NUMBER ? unexpected(j, "a digit", err) : GM_OK;
}

/* Consumes `word`, whose first character is known to be there. */
static enum gm_status take_word(struct gm_json_scan *j, const char *word, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, strlen(word), err));
    for (const char *w = word; *w != '\0'; w++, s->p++)
        if (s->p == s->end || *s->p != (unsigned char)*w)
            return unexpected(j, word, err);
    return GM_OK;
}

static enum gm_status take_special(struct gm_json_scan *j, const char *word, double value, struct gm_json_token *token,
                                   struct gm_error *err)
{
    token->kind = GM_TOKEN_SPECIAL;
    token->special = value;
    return take_word(j, word, err);
}

static enum gm_status take_minus(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, 2, err));
    return s->end - s->p < 2 || s->p[1] != 'I' ? take_number(j, token, err)
                                               : take_special(j, "-Infinity", -(double)INFINITY, token, err);
}

/* ---- the grammar ------------------------------------------------------------------------------------------------- */

static enum gm_status begin(struct gm_json_scan *j, bool is_dict, struct gm_json_token *token, struct gm_error *err)
{
    if (j->depth >= GM_MAX_DEPTH)
        return gm_fail(err, GM_E_LIMIT, token->at, "nested deeper than %d levels", GM_MAX_DEPTH);
    j->is_dict[j->depth++] = is_dict;
    j->expected = is_dict ? GM_JSON_A_KEY_OR_END : GM_JSON_A_VALUE_OR_END;
    j->source->p++;
    token->kind = is_dict ? GM_TOKEN_BEGIN_DICT : GM_TOKEN_BEGIN_LIST;
    return GM_OK;
}

static enum gm_status end(struct gm_json_scan *j, struct gm_json_token *token)
{
    j->source->p++;
    j->expected = GM_JSON_A_COMMA_OR_END;
    token->kind = j->is_dict[--j->depth] ? GM_TOKEN_END_DICT : GM_TOKEN_END_LIST;
    return GM_OK;
}

/* A value that begins with the character at the source's place. */
static enum gm_status take_value(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    unsigned char c = *j->source->p;
    j->expected = GM_JSON_A_COMMA_OR_END;
    switch (c) {
    case '"':
        return take_string(j, token, err);
    case '{':
    case '[':
        return begin(j, c == '{', token, err);
    case '-':
        return take_minus(j, token, err);
    case 't':
    case 'f':
        token->kind = c == 't' ? GM_TOKEN_TRUE : GM_TOKEN_FALSE;
        return take_word(j, c == 't' ? "true" : "false", err);
    case 'n':
        token->kind = GM_TOKEN_NULL;
        return take_word(j, "null", err);
    case 'N':
        return take_special(j, "NaN", (double)NAN, token, err);
    case 'I':
        return take_special(j, "Infinity", (double)INFINITY, token, err);
    default:
        return c >= '0' && c <= '9' ? take_number(j, token, err) : unexpected(j, "a value", err);
    }
}

static enum gm_status skip_many_blanks(struct gm_source *s, struct gm_error *err)
{
    for (;;) {
        s->p = gm_json_blanks_end(s->p, s->end);
        if (s->p < s->end || s->at_end)
            return GM_OK;
        GM_TRY(gm_source_more(s, 1, err));
    }
}

/* Moves on to the next character that is no blank; there is none if s->p == s->end then. Mostly none or one is before
 * it. */
static inline enum gm_status skip_blanks(const struct gm_json_scan *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    if (s->end - s->p < 2)
        return skip_many_blanks(s, err);
    s->p += *s->p == ' ';
    return *s->p > ' ' ? GM_OK : skip_many_blanks(s, err);
}

/* A key with its colon. What it points to stays: blanks are only skipped in the window if it lies there. */
static enum gm_status take_key(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(take_string(j, token, err));
    token->kind = GM_TOKEN_KEY;
    if (s->p == s->end || *s->p != ':') { /* hardly ever */
        const bool is_in_window = token->text != j->scratch.v;
        if (is_in_window) {
            j->scratch.n = 0;
            if (!add_bytes(j, token->text, token->length))
                return gm_no_memory(err);
            token->text = j->scratch.v != NULL ? j->scratch.v : (const unsigned char *)"";
        }
        GM_TRY(skip_blanks(j, err));
    }
    if (s->p == s->end || *s->p != ':')
        return unexpected(j, "':'", err);
    s->p++;
    j->expected = GM_JSON_A_VALUE;
    return GM_OK;
}

/* What stands at the source's place, of which there is at least one character and which is no comma. */
static enum gm_status take(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    unsigned char c = *j->source->p;
    bool in_dict = j->depth > 0 && j->is_dict[j->depth - 1];
    switch (j->expected) {
    case GM_JSON_A_VALUE_OR_END:
        return c == ']' ? end(j, token) : take_value(j, token, err);
    case GM_JSON_A_VALUE:
        return take_value(j, token, err);
    case GM_JSON_A_KEY_OR_END:
    case GM_JSON_A_KEY:
        if (c == '}' && j->expected == GM_JSON_A_KEY_OR_END)
            return end(j, token);
        return c == '"'
                   ? take_key(j, token, err)
                   : unexpected(j, j->expected == GM_JSON_A_KEY ? "a key in quotes" : "a key in quotes or '}'", err);
    default:
        return c == (in_dict ? '}' : ']') ? end(j, token) : unexpected(j, in_dict ? "',' or '}'" : "',' or ']'", err);
    }
}

static enum gm_status begin_document(struct gm_json_scan *j, struct gm_error *err)
{
    struct gm_source *s = j->source;
    GM_TRY(gm_source_more(s, 3, err));
    if (s->end - s->p >= 3 && memcmp(s->p, "\xef\xbb\xbf", 3) == 0) /* a byte-order mark */
        s->p += 3;
    j->expected = GM_JSON_A_VALUE;
    return GM_OK;
}

/* Moves on to what is to be taken, over a comma. */
static enum gm_status move_on(struct gm_json_scan *j, struct gm_error *err)
{
    static const char *const names[] = {"a value", "a value",      "a value or ']'",
                                        "a key",   "a key or '}'", "',' or the end of a container"};
    struct gm_source *s = j->source;
    GM_TRY(skip_blanks(j, err));
    if (s->p < s->end && j->expected == GM_JSON_A_COMMA_OR_END && *s->p == ',') {
        s->p++;
        j->expected = j->is_dict[j->depth - 1] ? GM_JSON_A_KEY : GM_JSON_A_VALUE;
        GM_TRY(skip_blanks(j, err));
    }
    return s->p == s->end ? unexpected(j, names[j->expected], err) : GM_OK;
}

enum gm_status gm_json_next(struct gm_json_scan *j, struct gm_json_token *token, struct gm_error *err)
{
    struct gm_source *s = j->source;
    if (j->expected == GM_JSON_A_VALUE && s->p != s->end && *s->p > ' ') {
        token->at = gm_source_offset(s);
        return take_value(j, token, err);
    }
    if (j->expected == GM_JSON_BEGINNING)
        GM_TRY(begin_document(j, err));
    if (j->depth == 0 && j->expected == GM_JSON_A_COMMA_OR_END) {
        token->kind = GM_TOKEN_DONE;
        return GM_OK;
    }
    GM_TRY(move_on(j, err));
    token->at = gm_source_offset(s);
    return take(j, token, err);
}

bool gm_json_pass(struct gm_json_scan *j)
{
    struct gm_source *s = j->source;
    const unsigned char *p = s->p;
    uint64_t number = 0;
    if (s->end - p < 10)
        return false;
    if (*p == '"') {
        p = plain_end_near(p + 1, s->end);
        if (p == s->end || *p++ != '"')
            return false;
    } else {
        p += take_eight(p, &number);
        const bool is_number = p > s->p && (*s->p != '0' || p == s->p + 1);
        if (!is_number || (*p != ',' && *p != '}' && *p != ' ' && *p != '\n'))
            return false;
    }
    s->p = p;
    j->expected = GM_JSON_A_COMMA_OR_END;
    return true;
}

enum gm_status gm_json_skip(struct gm_json_scan *j, const struct gm_json_token *token, struct gm_error *err)
{
    if (token->kind != GM_TOKEN_BEGIN_DICT && token->kind != GM_TOKEN_BEGIN_LIST)
        return GM_OK;
    const size_t depth = j->depth;
    struct gm_json_token inside;
    do
        GM_TRY(gm_json_next(j, &inside, err));
    while (j->depth >= depth);
    return GM_OK;
}

void gm_json_scan_free(struct gm_json_scan *j)
{
    free(j->scratch.v);
}
