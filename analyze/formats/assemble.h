/* SPDX-License-Identifier: Apache-2.0
 *
 * The assembler turns the values that a decoder meets, bottom-up, into rows of the snapshot. It knows the schema (what
 * a frame, a block, an event looks like: by its keys, never by its place in the file) and no byte format; decoders
 * (pickle.c, json.c) know a byte format and no schema.
 *
 * A dictionary becomes a row as soon as it is complete and is then forgotten, so memory grows with the rows, not with
 * the file's objects.
 *
 * This is the interface for decoders of trees (JSON): values in document order, a dictionary's key as a string before
 * its value. Every call may fail with GM_E_NOMEM, GM_E_LIMIT or GM_E_CORRUPT, with err filled (offset = `offset`).
 * The pickle decoder, which also has a memo, uses the lower half in assemble_value.h.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/snapshot/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_assembler;

enum { GM_MAX_DEPTH = 200 }; /* containers inside containers; real snapshots need about 8 */

enum gm_status gm_assembler_new(struct gm_assembler **assembler, struct gm_error *err);
/* Has room for so many events and memoised values, of which what is not filled takes no memory. */
void gm_assembler_expect(struct gm_assembler *a, size_t count);
void gm_assembler_free(struct gm_assembler *assembler);

/* What events and values fill: how far it is now, from time to time, and by another thread meanwhile: asks for the
 * pages that come next. */
void gm_assembler_tell_filling(struct gm_assembler *a);
void gm_assembler_ask_pages(struct gm_assembler *a);

/* Bytes of memory that it holds, the snapshot's among them. */
uint64_t gm_assembler_bytes(const struct gm_assembler *a);

enum gm_status gm_assembler_null(struct gm_assembler *a, uint64_t offset, struct gm_error *err);
enum gm_status gm_assembler_bool(struct gm_assembler *a, bool value, uint64_t offset, struct gm_error *err);
/* The integer is -magnitude if is_negative, else magnitude. */
enum gm_status gm_assembler_integer(struct gm_assembler *a, uint64_t magnitude, bool is_negative, uint64_t offset,
                                    struct gm_error *err);
enum gm_status gm_assembler_real(struct gm_assembler *a, double value, uint64_t offset, struct gm_error *err);
enum gm_status gm_assembler_string(struct gm_assembler *a, const void *bytes, size_t length, uint64_t offset,
                                   struct gm_error *err);
/* A list, or a dictionary. */
enum gm_status gm_assembler_begin(struct gm_assembler *a, bool is_dict, uint64_t offset, struct gm_error *err);
enum gm_status gm_assembler_end(struct gm_assembler *a, bool is_dict, uint64_t offset, struct gm_error *err);

/* Everything was given: makes the snapshot (all but `source`) of the one value. GM_E_FORMAT if it is no snapshot.
 * If `is_partial`, the containers that are still open are closed as they are (salvage). */
enum gm_status gm_assembler_finish(struct gm_assembler *a, struct gm_snapshot *snapshot, bool is_partial,
                                   uint64_t offset, struct gm_error *err);
