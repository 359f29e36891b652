/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of an interrupted run, kept in RESULTS/.gmfleet, one file for each snapshot, until the page is written. A
 * record's name is a key of what was read and how: size, modification time, samples of the content, the options that
 * matter. So it does not matter under which path the snapshot is found again, and one that has changed is read again.
 */
#ifndef GM_FLEET_KEPT_H
#define GM_FLEET_KEPT_H

#include "analyze/base/text.h"
#include "analyze/fleet/find.h"

#define GM_KEPT_FOLDER ".gmfleet"
enum { GM_KEPT_KEY = 33 };

/* 32 hexadecimal digits; false if the file cannot be read or is no regular file. `salt`: a number made of the options
 * that change a record. */
bool gm_kept_key(char key[GM_KEPT_KEY], const struct gm_found_file *file, uint64_t salt);
/* The keys that are kept there now: what an earlier run had finished, never what this one does. */
struct gm_kept_keys {       /* zero-initialise */
    char (*v)[GM_KEPT_KEY]; /* sorted */
    size_t n, capacity;
};
enum gm_status gm_kept_list(struct gm_kept_keys *keys, const char *results, struct gm_error *err);
bool gm_kept_has(const struct gm_kept_keys *keys, const char *key);
void gm_kept_keys_free(struct gm_kept_keys *keys);

/* Appends the record; false if there is none, or none that is whole. */
bool gm_kept_load(struct gm_text *record, const char *results, const char *key);
/* Best effort: without it there is nothing to resume. */
void gm_kept_save(const char *results, const char *key, const struct gm_text *record);
/* Removes the record, and the folder once it is empty. */
void gm_kept_forget(const char *results, const char *key);
void gm_kept_finish(const char *results);

#endif
