/* SPDX-License-Identifier: Apache-2.0
 *
 * What a record's writer and reader agree on:
 *   magic, status, error text; if the status is GM_OK: the numbers of struct gm_fleet_item in its order, categories,
 *   sites; then the directory of --each and its failure; a checksum of all before.
 */
#ifndef GM_FLEET_RECORD_PARTS_H
#define GM_FLEET_RECORD_PARTS_H

#include <stddef.h>
#include <stdint.h>

enum { GM_RECORD_NUMBER = 8, GM_RECORD_TOTALS = 12 };

/* FNV-1a (public domain), 64 bits. */
static inline uint64_t gm_record_sum(const void *bytes, size_t length, uint64_t sum)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
    return sum;
}
#define GM_RECORD_SUM_START UINT64_C(0xcbf29ce484222325)

#endif
