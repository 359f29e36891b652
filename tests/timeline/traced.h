/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot of one device, written event by event and segment by segment, and what is concluded from it. For tests
 * whose expected numbers are worked out by hand.
 */
#pragma once

#include "analyze/base/text.h"
#include "analyze/report/report.h"
#include "analyze/snapshot/snapshot.h"
#include "analyze/timeline/trace_analyze.h"
#include "tests/unit.h"

#include <string.h>

struct gm_category_rules;

#define MIB(n) ((uint64_t)(n) << 20)
#define KIB(n) ((uint64_t)(n) << 10)

/* What a test writes, until it is analysed, and what was made of that, until the next one or the end of the test. */
extern struct traced {
    struct gm_text segments, events;
    int64_t stream;        /* of the events and segments that follow */
    const char *more;      /* keys of the segments that follow, beginning with a comma; NULL */
    const char *settings;  /* inside the braces; NULL: none recorded */
    uint64_t time, event;  /* of the next event; each takes 10 us */
    uint64_t last_address; /* end of the block written last */
    struct gm_snapshot snapshot;
    struct gm_category_rules *rules;
    struct gm_report report;
    struct gm_history history;
} traced;

/* Attention is a function `attend`, MLP is `feed`. */
extern const char gm_traced_rules[];

/* An event; `name` is the function of its one frame (in file m.py, line 1), NULL for none. Returns its number. */
uint64_t gm_traced_event(const char *action, uint64_t address, uint64_t size, const char *name);
uint64_t gm_traced_oom(uint64_t device_free, uint64_t size, const char *name);
/* The device gives a segment of `whole` bytes for an allocation of `size`, which is at its beginning. */
void gm_traced_grow(uint64_t address, uint64_t whole, uint64_t size, const char *name);
/* free_requested and free_completed. */
void gm_traced_free(uint64_t address, uint64_t size);

/* A segment of the end; its blocks follow, in order, and must tile it. `requested` 0: an inactive block. */
void gm_traced_segment(uint64_t address, uint64_t size, const char *type);
void gm_traced_block(uint64_t size, uint64_t requested, const char *name);
/* A large segment that is one block. */
void gm_traced_whole(uint64_t address, uint64_t size, uint64_t requested, const char *name);

/* Loads and analyses what was written; asserts that the trace could be followed without a residual. */
const struct gm_device_timeline *gm_traced_analyze(void);
/* Likewise for a file without segments. */
const struct gm_device_timeline *gm_traced_analyze_unfollowed(void);
/* Likewise for a snapshot that is written as JSON; `rules`: of categories, NULL: the built-in ones. */
const struct gm_device_timeline *gm_traced_load(const char *json, const char *rules,
                                                struct gm_timeline_options options);
/* As gm_traced_analyze_unfollowed; the history of the device. */
struct gm_history *gm_traced_history(void);
/* Of what the diagnosis found, that with this id; NULL: it is not there. */
const struct gm_finding *gm_traced_finding(const char *id);
void gm_traced_end(void);
