/* SPDX-License-Identifier: Apache-2.0
 *
 * Books that do not balance: where a file's blocks do not sum to what it says is reserved, charts of the reserved
 * memory show the difference as a part of its own.
 */
#ifndef GM_RENDER_IMBALANCE_H
#define GM_RENDER_IMBALANCE_H

#include "analyze/report/report.h"
#include "render/page.h"

/* "Unexplained": the residual without its sign; 0 bytes if the books balance. */
struct gm_piece gm_unexplained_piece(const struct gm_ledger *ledger);
/* A line that says what the part is and of which sign, if there is a residual. */
void gm_unexplained_note(struct gm_page *page, const struct gm_ledger *ledger);

#endif
