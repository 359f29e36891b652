/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's browser.
 */
#ifndef GM_CLI_BROWSER_H
#define GM_CLI_BROWSER_H

#include "analyze/base/error.h"

/* Shows the file at `path`: with the first command of $BROWSER that works (commands with ':' between them; %s in one
 * is the file, else it stands behind it), or, if that is not set, xdg-open. A command is left alone once it has run for
 * two seconds. What it prints goes to stderr. GM_E_MISSING: there is none that works. */
enum gm_status gm_browser_open(const char *path, struct gm_error *err);

#endif
