/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to replay/regenerate.
 */
#pragma once

#include "replay/regenerate/event_recorder.h"
#include "replay/regenerate/regenerate.h"

/* end_state.c: the model's segments and blocks behind those of the devices before. `streams`: gm_stream_id of the
 * model's numbers. false: no memory. */
bool gm_record_state(struct gm_event_recorder *r, const struct gm_recorded_device *device,
                     const struct gm_allocator *model, const uint32_t *streams);
/* The same of the recorded run at a moment of r->h, whose space it is (gm_history_space_at). */
bool gm_record_moment(struct gm_event_recorder *r, const struct gm_recorded_device *device,
                      const struct gm_space *space, uint32_t moment);

/* regenerate.c: takes over what realloc may have made; false: no room for it, and it is freed. */
bool gm_regenerated_own(struct gm_regenerated *out, void *array);

/* Whether an extra of the recorded row `from` does not hold any more for `row`. */
typedef bool gm_is_overruled(const struct gm_regenerated *out, const struct gm_extra *extra, size_t row, size_t from);
/* The extras of rows that are recorded ones (row i is from[i], or GM_NO_ROW); `is_overruled` may be NULL. */
bool gm_regenerate_extras(struct gm_regenerated *out, enum gm_row_kind kind, const uint32_t *from, size_t count,
                          gm_is_overruled *is_overruled);

/* event_rows.c, end_segments.c, end_settings.c: parts of the regenerated snapshot; false: no memory. */
bool gm_regenerate_events(struct gm_regenerated *out, struct gm_event_recorder *r);
bool gm_regenerate_segments(struct gm_regenerated *out, const struct gm_event_recorder *r);
bool gm_regenerate_settings(struct gm_regenerated *out, const struct gm_conf *conf, const char *text);
