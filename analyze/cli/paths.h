/* SPDX-License-Identifier: Apache-2.0
 *
 * What command lines must not do with paths, the same for all programs: read standard input twice, or write over what
 * is read.
 */
#ifndef GM_CLI_PATHS_H
#define GM_CLI_PATHS_H

#include "analyze/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether `path` is "-"; NULL is not. */
bool gm_path_is_standard(const char *path);
/* Whether both name one regular file, or one that is not there yet. */
bool gm_path_is_same(const char *a, const char *b);

/* GM_E_USAGE if "-" stands more than `most` times among the inputs. */
enum gm_status gm_paths_check_stdin(char *const *inputs, size_t count, size_t most, struct gm_error *err);
/* GM_E_USAGE if --json (NULL: not given) names the snapshot `input`: someone took it for a flag. */
enum gm_status gm_paths_check_json(const char *json, const char *input, struct gm_error *err);

#endif
