/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of an interrupted run, kept in RESULTS/.gmfleet, one file for each snapshot, until the page is written. A
 * record's name is a key of what was read and how: size, modification time, samples of the content, the options that
 * matter. So it does not matter under which path the snapshot is found again, and one that has changed is read again.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/fleet/find.h"

#define GM_RETAINED_FOLDER ".gmfleet"
enum { GM_RETAINED_KEY = 33 };

/* 32 hexadecimal digits; false if the file cannot be read or is no regular file. `salt`: a number made of the options
 * that change a record. */
bool gm_retained_key(char key[GM_RETAINED_KEY], const struct gm_found_file *file, uint64_t salt);
/* The keys that are kept there now: what an earlier run had finished, never what this one does. */
struct gm_retained_keys {       /* zero-initialise */
    char (*v)[GM_RETAINED_KEY]; /* sorted */
    size_t n, capacity;
};
enum gm_status gm_retained_list(struct gm_retained_keys *keys, const char *results, struct gm_error *err);
bool gm_retained_has(const struct gm_retained_keys *keys, const char *key);
void gm_retained_keys_free(struct gm_retained_keys *keys);

/* Appends the record; false if there is none, or none that is whole. */
bool gm_retained_load(struct gm_text *record, const char *results, const char *key);
/* Best effort: without it there is nothing to resume. */
void gm_retained_save(const char *results, const char *key, const struct gm_text *record);
/* Removes the record, and the folder once it is empty. */
void gm_retained_forget(const char *results, const char *key);
void gm_retained_finish(const char *results);
