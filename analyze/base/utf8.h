/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in a snapshot are bytes: mostly UTF-8, sometimes not, sometimes hostile. Everything that is shown to a person
 * passes through here first.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decodes one character of well-formed UTF-8 (no overlong forms, no surrogates) at s[0..n). Returns its length and
 * stores the code point, or 0 if the bytes there are not well-formed; n must be at least 1. */
size_t gm_utf8_decode(const char *s, size_t n, uint32_t *code);

/* Writes `code` as UTF-8 and returns how many bytes that took, at most 4. What is no character (a surrogate, or beyond
 * U+10FFFF) becomes U+FFFD. */
size_t gm_utf8_encode(unsigned char out[4], uint32_t code);

/* Copies in[0..n) to out as well-formed UTF-8 on one line of which every character can be seen: an ill-formed byte
 * becomes U+FFFD; a control character (C0, C1, DEL), a blank that is not U+0020, what directs lines or the direction of
 * writing, and what has no picture of its own (Default_Ignorable_Code_Point) are written as \x1b, \u200b, \U000e0001,
 * so that names that differ look different. A character that no longer fits is left out. Always terminates out (size >
 * 0). Returns the length written. GM_UTF8_CLEAN(n) bytes are always enough. */
#define GM_UTF8_CLEAN(n) (4 * (n) + 1)
size_t gm_utf8_clean_line(char *out, size_t size, const char *in, size_t n);
