/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks that other streams use: record_stream, the events that a free waits for, and when malloc looks at them. For
 * those who run the model as a program runs the allocator. Those who follow a trace need none of it: they say
 * themselves when a free is complete (gm_allocator_free_completed), and never both for one block.
 */
#ifndef GM_REPLAY_USES_H
#define GM_REPLAY_USES_H

#include "replay/model/allocator.h"

/* tensor.record_stream(stream): the block's next free waits for what is queued on `stream` by then. Its own stream and
 * blocks that are not in use are ignored. */
void gm_allocator_record_stream(struct gm_allocator *a, uint32_t block, uint32_t stream);
/* free(): complete at once without uses, else by a later malloc (or a retry, or empty_cache, which wait): when each of
 * the streams is done with what it had queued. While a routing is there it is put off until a malloc after it; uses
 * recorded under the routing are then forgotten. */
void gm_allocator_drop(struct gm_allocator *a, uint32_t block);
/* What has been queued on the stream so far is done. */
void gm_allocator_stream_is_done(struct gm_allocator *a, uint32_t stream);

#endif
