/* SPDX-License-Identifier: Apache-2.0
 *
 * Books that do not balance; see imbalance.h.
 */
#include "render/imbalance.h"

#include "analyze/base/size.h"
#include "render/theme.h"

struct gm_piece gm_unexplained_piece(const struct gm_ledger *ledger)
{
    uint64_t bytes = ledger->residual < 0 ? 0 - (uint64_t)ledger->residual : (uint64_t)ledger->residual;
    return (struct gm_piece){"Unexplained", bytes, gm_use_fill(GM_USE_RESIDUAL)};
}

void gm_unexplained_note(struct gm_page *page, const struct gm_ledger *ledger)
{
    if (ledger->residual == 0)
        return;
    char size[GM_SIZE_TEXT];
    gm_size_format(size, gm_unexplained_piece(ledger).bytes);
    page->y += 4;
    gm_page_note(
        page,
        ledger->residual > 0
            ? gm_display_printf(page->display,
                                "Unexplained: %s are reserved, but the file's blocks do not say for what", size)
            : gm_display_printf(page->display, "Unexplained: the file's blocks sum to %s more than is reserved", size));
}
