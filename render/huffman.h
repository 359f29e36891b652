/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix codes of limited length, as deflate wants them.
 */
#ifndef GM_RENDER_HUFFMAN_H
#define GM_RENDER_HUFFMAN_H

#include <stddef.h>
#include <stdint.h>

enum { GM_HUFFMAN_MOST = 288 };

/* Code lengths for symbols that occur counts[i] times: 0 for those that do not occur, else 1 to `longest`. A single
 * symbol gets length 1. n <= GM_HUFFMAN_MOST, 2^longest >= n. */
void gm_huffman_lengths(uint8_t *lengths, const uint32_t *counts, size_t n, unsigned longest);
/* The canonical codes for those lengths, bits reversed: ready to be written lowest bit first. */
void gm_huffman_codes(uint16_t *codes, const uint8_t *lengths, size_t n);

#endif
