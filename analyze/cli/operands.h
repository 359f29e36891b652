/* SPDX-License-Identifier: Apache-2.0
 *
 * SNAPSHOT... [[DIR] NAME]: which operands are snapshots, and what their runs are called; and what command lines must
 * not do with paths, the same for all programs: read standard input twice, or write over what is read.
 */
#pragma once

#include "analyze/base/error.h"
#include "analyze/run/run_names.h"

#include <stdbool.h>
#include <stddef.h>

/* Leaves only snapshots in operands[0 .. *count). *name is what -n gave, or NULL; if NULL, the last operand may be it.
 * *results is what -o gave, or NULL; if NULL, the last but one may be it. GM_E_USAGE if there is no snapshot, stdin
 * twice or results twice. */
enum gm_status gm_operands_sort(const char **name, const char **results, char **operands, int *count,
                                struct gm_error *err);

/* The name of the run for the snapshot at `path`: `name`, the one found in the path if that is NULL, both for one of
 * several. */
void gm_operands_name(char out[GM_NAME_SIZE], const char *path, const char *name, bool is_one_of_several);
/* Makes names different: of equal ones the second gets _2, the third _3 ... in their order, so that which run is whose
 * does not hang on which thread is done first. A number that another one has by itself is passed over. false: no
 * memory. */
bool gm_operands_number(char (*names)[GM_NAME_SIZE], size_t count);

/* Whether `path` is "-"; NULL is not. */
bool gm_path_is_standard(const char *path);
/* Whether both name one regular file, or one that is not there yet. */
bool gm_path_is_same(const char *a, const char *b);

/* GM_E_USAGE if "-" stands more than `most` times among the inputs. */
enum gm_status gm_paths_check_stdin(char *const *inputs, size_t count, size_t most, struct gm_error *err);
/* GM_E_USAGE if --json (NULL: not given) names the snapshot `input`: someone took it for a flag. */
enum gm_status gm_paths_check_json(const char *json, const char *input, struct gm_error *err);
