/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers of the stacked timelines: the largest roles or categories of all devices shown, steady ones below, and one
 * layer on top for the rest.
 */
#ifndef GM_RENDER_LAYERS_H
#define GM_RENDER_LAYERS_H

#include "render/page.h"
#include "render/traced.h"

enum { GM_LAYERS_NAMED = 10, GM_LAYERS = GM_LAYERS_NAMED + 1 };

struct gm_layers {
    struct gm_piece parts[GM_LAYERS]; /* bottom first, bytes 0; the rest, if any, last */
    size_t n;
    size_t folded;            /* how many the last one stands for; 0: it is one of its own */
    const char *folded_names; /* "Loss, Input, KV cache ..." */
};
struct gm_layers gm_layers_of(struct gm_display *display, const struct gm_traced_devices *devices);
/* Which layer shows which of a curve's: slots[curve->layer_count]; NULL if there is no memory. */
const unsigned char *gm_layers_slots(struct gm_display *display, const struct gm_layers *layers,
                                     const struct gm_curve *curve);
/* The bytes of one column of a curve by layer. */
void gm_layers_sum(const struct gm_layers *layers, const unsigned char *slots, const struct gm_curve *curve,
                   size_t column, uint64_t out[GM_LAYERS]);

#endif
