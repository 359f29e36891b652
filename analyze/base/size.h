/* SPDX-License-Identifier: Apache-2.0
 *
 * Byte sizes, and times, as people read and write them. All units are binary, as in PyTorch.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GM_KIB (UINT64_C(1) << 10)
#define GM_MIB (UINT64_C(1) << 20)
#define GM_GIB (UINT64_C(1) << 30)
#define GM_TIB (UINT64_C(1) << 40)

enum { GM_SIZE_TEXT = 32 };

/* "0 B", "512 B", "20.00 KiB", "1.50 MiB", "6.25 GiB", "1.02 TiB": three significant digits or more, never more than
 * GM_SIZE_TEXT - 1 characters. Rounds half away from zero and never shows 1024 of a unit. Returns out. */
char *gm_size_format(char out[GM_SIZE_TEXT], uint64_t bytes);
/* The same with a leading '+' or '-' (U+002D); 0 is "0 B". Returns out. */
char *gm_size_format_delta(char out[GM_SIZE_TEXT], int64_t bytes);
/* "56.91 -> 51.70 GiB"; both units where they differ. Returns out. */
enum { GM_SIZE_CHANGE_TEXT = 2 * GM_SIZE_TEXT + 4 };
char *gm_size_format_change(char out[GM_SIZE_CHANGE_TEXT], uint64_t from, uint64_t to);

/* "950 us", "12.345 ms", "3.210 s", "2 min 5 s", "3 h 20 min". Returns out. */
char *gm_microseconds_format(char out[GM_SIZE_TEXT], uint64_t us);

/* A size on a command line: a decimal number, a fraction allowed, and an optional unit in any case: bytes (none, B,
 * byte or bytes), K KB KiB, M.., G.., T...; blanks may stand between them. false for anything else, for negative and
 * for >= 2^63. */
bool gm_size_parse(const char *text, uint64_t *bytes);
