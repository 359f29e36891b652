/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace of torch.profiler says beside its memory events (analyze/profile; docs/kineto.md): plain numbers and
 * strings, as everything in the report.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes are what was handed out less what was taken back. */
struct gm_operator_sums {
    int64_t host_bytes, device_bytes;
    int64_t time_ns, device_time_ns; /* on the host; on devices */
};
/* One row of key_averages(); `self` is without what is inside. */
struct gm_operator_row {
    const char *name;
    const char *shapes; /* of the inputs; NULL: not told apart by them */
    const char *stack;  /* "b.py(2): g;a.py(1): f", innermost first; NULL likewise */
    bool is_annotation, is_on_device;
    uint64_t calls;
    struct gm_operator_sums total, self;
};
struct gm_operator_table {
    const struct gm_operator_row *v; /* most self bytes of devices first, or of the host; then most self time */
    size_t count;
};

/* GM_REPORT_NONE: not stated. */
struct gm_stated_level {
    uint64_t first, peak, last; /* bytes: before the first event that states it; after others */
    uint64_t peak_us;           /* since 1970, or the start of the clock */
};
/* What the events state of one device, or of the host. */
struct gm_stated_memory {
    int64_t device; /* -1: the host */
    const char *name;
    uint64_t capacity; /* of the card, as the trace states it, or of the one that --gpu names: */
    bool is_of_option;
    uint64_t
        limits[3]; /* of memory that is a warning, high, critical: 70, 75 and 78 of 80 GiB, and as much of others */
    const char *pressure; /* "below", "warning", "high", "critical": where the peak is; NULL: not known */
    uint64_t allocs, frees;
    struct gm_stated_level allocated, reserved; /* reserved.first: after the first */
    const char *peak_site;             /* where the event of the peak of `allocated` was: operators and functions */
    int64_t net_bytes, most_net_bytes; /* of the events alone: at the end, and at most, from 0 on */
};

/* Copies of one kind on one stream. */
struct gm_copy_row {
    const char *name, *stream;
    const char *direction; /* "to the host", "to the device", "on the device", "between devices", "other" */
    int64_t device;        /* -1: not stated */
    uint64_t copies, bytes;
    int64_t time_ns;
    uint64_t before, after; /* allocated bytes of the device, as stated, before the first and after the last of them */
};

/* Copies of a device in one direction, one after the other within a step. */
struct gm_copy_burst {
    const char *direction, *step; /* step: NULL: in none */
    int64_t device;
    uint64_t copies, bytes, start_us;
    int64_t time_ns;
    /* Allocated bytes of the device, as stated: before the operator of the first; after: to the host the lowest until
     * copies in another direction begin or the step ends, else behind the last. */
    uint64_t before, after;
    int64_t host_bytes; /* what the host's memory grew by in that time, by its events */
};

struct gm_profile_report {
    struct gm_operator_table operators, shapes, modules, stacks;
    bool modules_are_annotations;          /* no Python functions were recorded */
    const struct gm_stated_memory *stated; /* devices, then the host */
    size_t stated_count;
    const struct gm_copy_row *copies; /* most bytes first */
    size_t copy_count;
    const struct gm_copy_burst *bursts; /* by time */
    size_t burst_count;
    uint64_t spans, memory_events, threads, other_events, odd_events;
    int64_t rank, world_size; /* -1: not stated */
    uint64_t span_us;         /* from the first to the last moment */
    bool has_memory, has_device_memory, has_shapes, has_python;
    bool asked_for_memory;  /* profile_memory=True, as the file states it; there may be none */
    bool has_rounded_edges; /* PyTorch's own rounding of times was followed (docs/kineto.md) */
};
