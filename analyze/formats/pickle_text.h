/* SPDX-License-Identifier: Apache-2.0
 *
 * The arguments of protocol 0, which are lines of text.
 */
#ifndef GM_FORMATS_PICKLE_TEXT_H
#define GM_FORMATS_PICKLE_TEXT_H

#include "analyze/formats/assemble_value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool gm_pickle_text_index(const unsigned char *s, size_t n, uint64_t *index);
/* INT: decimal, or 00 and 01 for False and True; LONG: decimal with an optional final L. */
bool gm_pickle_text_integer(const unsigned char *s, size_t n, bool is_int, struct gm_value *value);
/* A decimal number as repr() writes it, nan and inf included; whatever the locale. */
bool gm_pickle_text_real(const unsigned char *s, size_t n, double *value);
/* UNICODE: Latin-1 bytes with \uXXXX and \UXXXXXXXX; out gets UTF-8 and needs 3 * n + 1 bytes. A lone surrogate
 * becomes U+FFFD. */
bool gm_pickle_text_unicode(const unsigned char *s, size_t n, unsigned char *out, size_t *length);
/* STRING: quoted, with backslash escapes; the bytes as they are. */
bool gm_pickle_text_string(const unsigned char *s, size_t n, unsigned char *out, size_t *length);

#endif
