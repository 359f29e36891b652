/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/document/escape.h"

#include "analyze/base/ascii.h"
#include "analyze/base/utf8.h"
#include "analyze/document/columns.h"

#include <stdint.h>
#include <string.h>

/* A word of that byte eight times; not 0 if one of the bytes of a word is 0. */
#define BYTES(byte) (UINT64_C(0x0101010101010101) * (byte))
#define ZEROS(word) (((word)-BYTES(1)) & ~(word)&BYTES(0x80))

/* Whether all eight bytes stand in a string of JSON as they are. */
static bool are_plain(const char *s)
{
    uint64_t w;
    memcpy(&w, s, sizeof w);
    return (((w | (w - BYTES(0x20))) & BYTES(0x80)) | ZEROS(w ^ BYTES(0x7f)) | ZEROS(w ^ BYTES('"')) |
            ZEROS(w ^ BYTES('\\'))) == 0;
}

/* How many bytes of s[0..n) do. */
static size_t plain_run(const char *s, size_t n)
{
    size_t run = 0;
    while (run + sizeof(uint64_t) <= n && are_plain(s + run))
        run += sizeof(uint64_t);
    while (run < n && gm_is_printable(s[run]) && s[run] != '"' && s[run] != '\\')
        run++;
    return run;
}

void gm_escape_json(struct gm_text *out, const char *s)
{
    if (s == NULL) {
        gm_text_add(out, "null");
        return;
    }
    gm_text_add_char(out, '"');
    size_t n = strlen(s);
    for (size_t i = 0; i < n;) {
        uint32_t code = ' ';
        const size_t plain = plain_run(s + i, n - i);
        const size_t length = plain > 0 ? plain : gm_utf8_decode(s + i, n - i, &code);
        if (length == 0)
            gm_text_add(out, "\\ufffd");
        else if (code == '"' || code == '\\')
            gm_text_printf(out, "\\%c", (char)code);
        else if (code == '\n' || code == '\t' || code == '\r')
            gm_text_add(out, code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r");
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029)
            gm_text_printf(out, "\\u%04x", (unsigned)code);
        else
            gm_text_add_bytes(out, s + i, length);
        i += length > 0 ? length : 1;
    }
    gm_text_add_char(out, '"');
}

/* One code span of s[0..n), which holds no '|'; nothing if n is 0. The fence is longer than any run of backticks
 * inside; a blank within each fence is taken away again by the renderer. */
static void add_span(struct gm_text *out, const char *s, size_t n)
{
    if (n == 0)
        return;
    size_t fence = 1;
    for (size_t i = 0; i < n;) {
        size_t run = 0;
        while (i + run < n && s[i + run] == '`')
            run++;
        if (run >= fence)
            fence = run + 1;
        i += run > 0 ? run : 1;
    }
    bool pad = s[0] == '`' || s[n - 1] == '`' || s[0] == ' ' || s[n - 1] == ' ';
    gm_text_repeat(out, '`', fence);
    if (pad)
        gm_text_add_char(out, ' ');
    for (size_t i = 0; i < n;) {
        char shown[GM_COLUMNS_CHAR];
        size_t columns = 0;
        i += gm_columns_char(shown, &columns, s + i, n - i);
        gm_text_add(out, shown);
    }
    if (pad)
        gm_text_add_char(out, ' ');
    gm_text_repeat(out, '`', fence);
}

static void add_code(struct gm_text *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *bar = memchr(s + i, '|', n - i);
        size_t end = bar != NULL ? (size_t)(bar - s) : n;
        add_span(out, s + i, end - i);
        if (bar != NULL)
            gm_text_add(out, "&#124;");
        i = end;
    }
}

void gm_escape_code(struct gm_text *out, const char *s)
{
    if (s[0] == '\0')
        gm_text_add(out, "(empty)");
    add_code(out, s, strlen(s));
}

static bool has_www(const char *w, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i++)
        if ((w[i] | 32) == 'w' && (w[i + 1] | 32) == 'w' && (w[i + 2] | 32) == 'w' && w[i + 3] == '.')
            return true;
    return false;
}

/* A run that could be a commit's hash: seven or more hexadecimal digits, letters among them. */
static bool has_hash(const char *w, size_t n)
{
    size_t run = 0;
    bool letters = false;
    for (size_t i = 0; i < n; i++) {
        bool letter = (w[i] >= 'a' && w[i] <= 'f') || (w[i] >= 'A' && w[i] <= 'F');
        if (!letter && !gm_is_digit(w[i])) {
            run = 0;
            letters = false;
            continue;
        }
        run++;
        letters = letters || letter;
        if (run >= 7 && letters)
            return true;
    }
    return false;
}

/* Whether the first word of a text would begin a list, a heading or a rule. */
static bool begins_block(const char *w, size_t n)
{
    if (strchr("-+=:", w[0]) != NULL)
        return true;
    size_t digits = 0;
    while (digits < n && gm_is_digit(w[digits]))
        digits++;
    return digits > 0 && digits + 1 == n && (w[digits] == '.' || w[digits] == ')');
}

/* Whether the word means nothing to GitHub but itself. */
static bool is_harmless(const char *w, size_t n, bool is_first)
{
    size_t colons = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)w[i];
        const bool is_tag = c == '<' && (i + 1 == n || !gm_is_digit(w[i + 1])); /* "<0.1" begins none */
        const bool is_arrow = c == '>' && n == 2 && w[0] == '-';
        if ((c == '<' && !is_tag) || is_arrow)
            continue;
        if (c < 0x80 && !gm_is_letter(w[i]) && !gm_is_digit(w[i]) && strchr(".,;:'\"()/%+-=?!&", w[i]) == NULL)
            return false;
        colons += c == ':';
        if (c == ':' && (colons > 1 || (i + 1 < n && w[i + 1] == '/')))
            return false;
        if (c == '-' && i > 0 && gm_is_letter(w[i - 1]) && i + 1 < n && gm_is_digit(w[i + 1])) /* GH-12, TASK-12 */
            return false;
    }
    return !has_www(w, n) && !has_hash(w, n) && !(is_first && begins_block(w, n));
}

static void add_harmless(struct gm_text *out, const char *w, size_t n)
{
    for (size_t i = 0; i < n;) {
        char shown[GM_COLUMNS_CHAR];
        size_t columns = 0;
        i += gm_columns_char(shown, &columns, w + i, n - i);
        gm_text_add(out, strcmp(shown, "&") == 0   ? "&amp;"
                         : strcmp(shown, "<") == 0 ? "&lt;"
                         : strcmp(shown, ">") == 0 ? "&gt;"
                                                   : shown);
    }
}

/* A code span leaves out the punctuation around a word. */
static void add_word(struct gm_text *out, const char *w, size_t n, bool is_first)
{
    if (is_harmless(w, n, is_first)) {
        add_harmless(out, w, n);
        return;
    }
    size_t from = w[0] == '(' ? 1 : 0, to = n, open = 0, closed = 0;
    while (to > from + 1 && strchr(".,;:", w[to - 1]) != NULL)
        to--;
    for (size_t i = from; i < to; i++) {
        open += w[i] == '(';
        closed += w[i] == ')';
    }
    if (closed > open && to > from + 1 && w[to - 1] == ')')
        to--;
    if (w[0] == ':' || (is_first && is_harmless(w, n, false))) { /* ":tada:"; "1." is no list only as a whole */
        from = 0;
        to = n;
    }
    gm_text_add_bytes(out, w, from);
    add_code(out, w + from, to - from);
    gm_text_add_bytes(out, w + to, n - to);
}

static void add_prose(struct gm_text *out, const char *s, bool begins_line)
{
    bool is_first = true;
    for (size_t i = 0; s[i] != '\0';) {
        size_t n = 0;
        while (s[i + n] != '\0' && !gm_is_blank(s[i + n]))
            n++;
        if (n == 0) {
            i++;
            continue;
        }
        if (!is_first)
            gm_text_add_char(out, ' ');
        add_word(out, s + i, n, is_first && begins_line);
        is_first = false;
        i += n;
    }
}

void gm_escape_prose(struct gm_text *out, const char *s)
{
    add_prose(out, s, true);
}

void gm_escape_prose_on(struct gm_text *out, const char *s)
{
    add_prose(out, s, false);
}

void gm_escape_alt(struct gm_text *out, const char *s)
{
    for (size_t i = 0, n = strlen(s); i < n;) {
        char shown[GM_COLUMNS_CHAR];
        size_t columns = 0;
        i += gm_columns_char(shown, &columns, s + i, n - i);
        for (const char *c = shown; *c != '\0'; c++) {
            bool is_colon = *c == ':' && i < n && s[i] == ' ';
            bool is_plain =
                (unsigned char)*c >= 0x80 || gm_is_letter(*c) || gm_is_digit(*c) || strchr(" .,;()%+-/'", *c) != NULL;
            if (is_colon || is_plain)
                gm_text_add_char(out, *c);
            else
                gm_text_printf(out, "&#%u;", (unsigned)*c);
        }
    }
}

void gm_escape_url(struct gm_text *out, const char *s)
{
    for (; *s != '\0'; s++) {
        if (gm_is_letter(*s) || gm_is_digit(*s) || strchr("._-/", *s) != NULL)
            gm_text_add_char(out, *s);
        else
            gm_text_printf(out, "%%%02X", (unsigned)(unsigned char)*s);
    }
}

void gm_escape_cut(struct gm_text *out, const char *s, size_t columns, bool keep_tail,
                   void (*escape)(struct gm_text *, const char *))
{
    GM_FREED struct gm_text cut = {0};
    gm_columns_cut(&cut, s, columns, keep_tail);
    out->failed = out->failed || cut.failed;
    escape(out, cut.data != NULL ? cut.data : "");
}
