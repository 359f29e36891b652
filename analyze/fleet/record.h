/* SPDX-License-Identifier: Apache-2.0
 *
 * What a fleet wants to know of one snapshot, as a few kilobytes that can be kept in a file or sent to another process:
 * whoever reads a snapshot makes a record, whoever makes the page reads records. Numbers are little-endian, a checksum
 * is at the end; a record that was cut or altered is none.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/base/intern.h"
#include "analyze/base/text.h"
#include "analyze/report/fleet_model.h"

struct gm_load_progress;  /* analyze/formats/load.h */
struct gm_category_rules; /* analyze/state/categories.h */

/* Bump it when what is in a record changes. */
#define GM_RECORD_MAGIC "gmfleet3"
enum { GM_RECORD_SITES = 256 /* the largest; the others are one number */ };

struct gm_record_options {
    const struct gm_category_rules *rules;
    int64_t device; /* -1: all */
    bool salvage;
    uint64_t max_memory; /* as in struct gm_load_options */
    struct gm_load_progress *progress;
};

/* Loads the snapshot and appends its record; of one that cannot be read, a record that says why. Returns the status of
 * reading; GM_E_NOMEM also if there is no memory for the record.*/
enum gm_status gm_record_make(struct gm_text *record, const char *path, const struct gm_record_options *options,
                              struct gm_error *err);
/* A record of a failure alone. */
void gm_record_fail(struct gm_text *record, const struct gm_error *err);
/* The same record with the run directory that --each made (NULL: none), and what went wrong there (GM_OK: nothing). */
void gm_record_add_each(struct gm_text *record, const char *directory, const struct gm_error *failure);

/* Sites of all records, each once. */
struct gm_record_sites { /* zero-initialise */
    struct gm_intern keys;
    struct GM_VEC(struct gm_fleet_site) v;
};
void gm_record_sites_free(struct gm_record_sites *sites);

/* Whether the bytes are a whole record that gm_record_read takes, of whatever status; *status is that one. */
bool gm_record_check(const void *bytes, size_t length, enum gm_status *status);
/* The rank that the file states itself; -1: none, or it was not read. */
int64_t gm_record_rank(const void *bytes, size_t length);
/* Fills all of *item but path, name and place; strings and sites go to `arena`. false: it is no record, or there is no
 * memory. */
bool gm_record_read(struct gm_fleet_item *item, struct gm_arena *arena, struct gm_record_sites *sites,
                    const void *bytes, size_t length);

/* FNV-1a (public domain), 64 bits. */
static inline uint64_t gm_record_sum(const void *bytes, size_t length, uint64_t sum)
{
    const unsigned char *p = bytes;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ p[i]) * UINT64_C(0x100000001b3);
    return sum;
}
#define GM_RECORD_SUM_START UINT64_C(0xcbf29ce484222325)
