/* SPDX-License-Identifier: Apache-2.0
 *
 * The category rules that a command line asks for.
 */
#ifndef GM_CLI_RULES_FILE_H
#define GM_CLI_RULES_FILE_H

#include "analyze/base/error.h"
#include "analyze/state/categories.h"

/* From the file at `path`; NULL: the built-in ones. */
enum gm_status gm_rules_load(struct gm_category_rules **rules, const char *path, struct gm_error *err);

#endif
