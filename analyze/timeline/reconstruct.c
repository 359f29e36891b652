/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/timeline/reconstruct.h"

/* In work: rounded requests stand in for block bytes until the address space is told the events. */
bool gm_history_reconstruct(struct gm_history *h, const struct gm_watcher *watcher)
{
    (void)watcher;
    h->pool_count = 1;
    for (size_t a = 0; a < h->allocation_count; a++)
        h->block[a] = h->final_block[a] != GM_NO_BLOCK ? h->snapshot->blocks.size[h->final_block[a]]
                      : h->requested[a] < 512          ? 512
                      : h->requested[a] > UINT64_MAX - 511
                          ? h->requested[a]
                          : (h->requested[a] + 511) / 512 * 512;
    h->is_reconstructed = h->books.is_reconstructed = true;
    return true;
}
