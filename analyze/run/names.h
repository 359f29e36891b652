/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of runs, from the user or from the path of a snapshot (contract: "Without NAME").
 */
#ifndef GM_RUN_NAMES_H
#define GM_RUN_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { GM_NAME_SIZE = 160 };

/* Replaces characters outside [A-Za-z0-9._-] by '_' and cuts to fit; an empty name becomes "run". */
void gm_name_clean(char out[GM_NAME_SIZE], const char *name);
/* iterN, stepN, rankN, lbsN ... found in the last four parts of `path`, joined by '_'; else the file's stem (all
 * snapshot suffixes removed). "-" gives "stdin". Cleaned. */
void gm_name_detect(char out[GM_NAME_SIZE], const char *path);
/* Whether `name` ends in a snapshot suffix (.pickle .pkl .snap .json .html .gmtrace, each also with .gz or .zst), in
 * any case. */
bool gm_name_has_snapshot_suffix(const char *name);

#endif
