/* SPDX-License-Identifier: Apache-2.0
 *
 * The sections of a .gmtrace file, each filled from the snapshot and appended. Private to the writer.
 */
#ifndef GM_FORMATS_GMTRACE_WRITE_PARTS_H
#define GM_FORMATS_GMTRACE_WRITE_PARTS_H

#include "analyze/formats/gmtrace_section.h"

enum gm_status gm_gmtrace_put_strings(struct gm_gmtrace_writer *w);
enum gm_status gm_gmtrace_put_frames(struct gm_gmtrace_writer *w);
enum gm_status gm_gmtrace_put_stacks(struct gm_gmtrace_writer *w);
enum gm_status gm_gmtrace_put_segments(struct gm_gmtrace_writer *w, const char *tag, const struct gm_segments *segments,
                                       const struct gm_blocks *blocks);
enum gm_status gm_gmtrace_put_annotations(struct gm_gmtrace_writer *w);
enum gm_status gm_gmtrace_put_extras(struct gm_gmtrace_writer *w);
enum gm_status gm_gmtrace_put_events(struct gm_gmtrace_writer *w);

#endif
