/* SPDX-License-Identifier: Apache-2.0
 *
 * Levels of detail: what is worked out once so that any part of the trace is drawn in milliseconds. The sums of every
 * moment; above them a tree of blocks that know their highest moment, so that no column loses a peak; and the layers'
 * bytes every so many moments, from which those of any moment are a short walk away.
 */
#pragma once

#include "render/page/core/opened.h"

/* Bytes at a moment. Differences of hostile sizes wrap around, and come back. */
struct gm_page_sums {
    uint64_t requested, allocated, active;
};

/* false: no memory. In the arena of `o`. */
bool gm_page_find_levels(struct gm_opened *o, struct gm_page_device *d);

/* Moments of the device: events + 1. */
uint32_t gm_page_moments(const struct gm_page_device *d);
/* The first moment from `from` to `to`, both in it, with the most active bytes; and the most reserved bytes there. */
uint32_t gm_page_highest(const struct gm_page_device *d, uint32_t from, uint32_t to);
uint64_t gm_page_most_reserved(const struct gm_page_device *d, uint32_t from, uint32_t to);
uint64_t gm_page_active(const struct gm_page_device *d, uint32_t moment);
uint64_t gm_page_reserved(const struct gm_page_device *d, uint32_t moment);

/* The sums at a moment, and, if `layers` is not NULL, the bytes[layers->count] of each. A walk of a few hundred events.
 */
struct gm_page_sums gm_page_sums_at(const struct gm_page_device *d, uint32_t moment,
                                    const struct gm_page_layers *layers, uint64_t *bytes);
/* Fills layers->kept; false: no memory. */
bool gm_page_keep_layers(struct gm_opened *o, const struct gm_page_device *d, struct gm_page_layers *layers);
/* Of a layer whose bytes are kept: the most, and how much it goes up and down, all together. */
struct gm_page_range {
    uint64_t most;
    double change;
};
struct gm_page_range gm_page_layer_range(const struct gm_page_device *d, const struct gm_page_layers *layers,
                                         uint32_t i);

/* The axis. Place of the event that led to a moment: microseconds since the first, or the moment itself. */
bool gm_page_has_times(const struct gm_page_device *d);
double gm_page_place(const struct gm_page_device *d, uint32_t axis, uint32_t moment);
/* The last moment at that place or before it; 0 if there is none. */
uint32_t gm_page_moment_at(const struct gm_page_device *d, uint32_t axis, double place);

/* What a column of a part of the axis is of: moments [first, last], from which `at` is drawn. */
struct gm_page_column {
    uint32_t first, last, at;
};
struct gm_page_column gm_page_column_of(const struct gm_page_device *d, uint32_t axis, double from, double to);

/* Checks of questions; false: the answer says why not. */
bool gm_page_is_range(double from, double to, uint32_t columns);
/* Begins an answer about a part of a device's axis, by these layers; NULL: the answer says why not. */
struct gm_page_device *gm_page_part(uint32_t handle, uint32_t device, uint32_t split, double from, double to,
                                    uint32_t columns, const struct gm_page_layers **layers);
bool gm_page_is_moment(const struct gm_page_device *d, uint32_t moment);
/* Where column i of [from, to] begins. */
double gm_page_edge(double from, double to, uint32_t columns, uint32_t i);
/* The moment's levels: `requested` is what that one is called, beside allocated, active, reserved. */
void gm_answer_levels(const struct gm_page_device *d, uint32_t moment, const char *requested);
