/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: a trace of torch.profiler beside the snapshot (--kineto; docs/kineto.md). Included by report.h; the
 * same rules hold.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gm_join_count {
    uint64_t count, bytes;
};

/* What became of one file's allocations; those of the trace have bytes of blocks, the snapshot's requested ones. */
struct gm_join_side {
    struct gm_join_count all, matched;
    struct gm_join_count outside;   /* when the other file did not record */
    struct gm_join_count elsewhere; /* on a device that the other file knows nothing of */
    struct gm_join_count unknown;   /* the other file should have it */
};

/* A block; NULL: the trace does not tell. */
struct gm_join_block {
    const char *operation, *shapes, *module; /* "aten::mm", the shapes of its inputs */
    const char *formula;                     /* of the requested bytes: "4 x 1024 x fp32" */
};

/* Of both files as a whole. */
struct gm_join_report {
    const char *path;   /* of the trace */
    const char *reason; /* why nothing is joined, one sentence; NULL: it is */
    uint64_t compared;  /* allocations and frees of the trace while the snapshot recorded */
    uint64_t agreed;    /* of them, those that the snapshot has at that address and time */
    int64_t offset_ns;  /* of the trace's clock: what it shows less what the snapshot's shows */
    int64_t drift_ns;   /* its change from the first event that agrees to the last */
    uint64_t spread_ns; /* half of those that agree are no further from that */
    struct gm_join_side trace, snapshot;
    const struct gm_join_block *blocks; /* [report->top_block_count]: of each of those */
    uint64_t kernels;                   /* and copies on devices; 0: the trace has none */
    bool has_shapes, has_modules;       /* what the trace says of operators */
};

struct gm_join_sum {
    uint64_t blocks;
    uint64_t requested, allocated; /* bytes; of requests, and of their blocks */
};
/* What an operator or a module made. */
struct gm_join_row {
    const char *name;   /* NULL: made outside all of them */
    const char *shapes; /* of its inputs; NULL: not recorded, or not told apart */
    const char *types;
    bool is_backward;                /* of a module: its backward made it */
    struct gm_join_sum at_peak, all; /* live at the peak; of all that is matched */
    uint64_t calls;                  /* that made something */
    uint64_t kernels, device_ns;     /* that these calls launched, and how long they ran */
    const char *kernel;              /* that took most of it; NULL: none */
};
/* A requested size, and the shape that it is of. */
struct gm_join_size {
    uint64_t bytes, blocks, total; /* of one; at the peak; of those together */
    const char *name;              /* of the operator */
    const char *formula;           /* "4 x 1024 x 50257 x fp32"; NULL: no shape gives as many bytes */
};
/* How busy a device was between two times: at least one kernel or copy ran, or none. */
struct gm_join_span {
    const char *name;
    uint64_t times; /* stretches that it consists of */
    uint64_t kernels;
    int64_t span_ns, busy_ns, idle_ns;
};

/* An allocation; what the trace does not tell is NULL. */
struct gm_join_event {
    uint64_t event, freed, time_us; /* that made it, that gave it back; GM_REPORT_NONE: not in the trace */
    uint64_t address, requested;
    uint64_t block; /* bytes, as the trace of torch.profiler says; GM_REPORT_NONE: it has no such event */
    const char *operation, *formula;              /* as in struct gm_join_block */
    const char *shapes, *types, *values, *module; /* values: of inputs that are no tensors */
    bool is_backward;
    uint64_t kernels, device_ns; /* that the operation launched */
    const char *kernel;          /* the longest of them */
};

/* Of one device. The peak is where most was requested while both files recorded. */
struct gm_join_device {
    uint64_t event, time_us, requested;            /* event as everywhere; requested bytes live then */
    bool is_run_peak;                              /* nothing higher is in the snapshot */
    struct gm_join_sum matched, before, unknown;   /* live then: those matched, made before the trace; neither */
    const struct gm_join_row *operators, *modules; /* most bytes at the peak first, then most made */
    size_t operator_count, module_count;
    const struct gm_join_size *sizes; /* most bytes at the peak first */
    size_t size_count;
    uint64_t explained;   /* bytes at the peak of sizes with a formula */
    uint64_t other_sizes; /* matched blocks whose size the snapshot's events do not give as the trace states it */
    const char *const
        *sites; /* [peak.site_count of the timeline]: which operator made most that a call site made; NULL */
    const struct gm_join_span *steps, *phases;
    size_t step_count, phase_count;
    const struct gm_join_event *events; /* each allocation in the snapshot's trace, if they are wanted; else NULL */
    size_t event_count;
};
