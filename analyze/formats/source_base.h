/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kinds of sources share; private to source*.c and load.c.
 */
#ifndef GM_FORMATS_SOURCE_BASE_H
#define GM_FORMATS_SOURCE_BASE_H

#include "analyze/formats/source.h"

enum { GM_SOURCE_WINDOW = 1 << 20 };

/* Makes *source of its three parts, with an empty window of GM_SOURCE_WINDOW bytes. If there is no memory the state is
 * closed. */
enum gm_status gm_source_begin(struct gm_source *source, gm_source_read *read, gm_source_close *close, void *state,
                               struct gm_error *err);

/* Moves `inner` into a thread of its own that reads ahead, so that reading and decompressing overlap decoding. If there
 * is no thread to be had *source is `inner` itself: it works the same, only slower. Only for inputs that cannot block
 * for ever (not for pipes), because freeing waits for the thread. */
void gm_source_open_thread(struct gm_source *source, struct gm_source *inner);

/* How source.c tells a threaded source, whose buffers are handed over rather than copied. */
gm_source_read gm_source_thread_read;
enum gm_status gm_source_thread_more(struct gm_source *source, size_t want, struct gm_error *err);

#endif
