/* SPDX-License-Identifier: Apache-2.0
 *
 * The report model: what torch.cuda.memory_summary() prints, of one device. Included by report.h; the same rules hold.
 */
#ifndef GM_REPORT_MEMORY_SUMMARY_H
#define GM_REPORT_MEMORY_SUMMARY_H

#include <stdint.h>

/* GM_REPORT_NONE: not known. allocated, freed: sums of all that came and went. */
struct gm_usage {
    uint64_t current, peak, allocated, freed;
};
/* The rows of the table: PyTorch's counter (in JSON, too), and what it is called. The first five are bytes. */
#define GM_USAGE_MAP(X)                                                                                                \
    X(allocated_bytes, "Allocated memory")                                                                             \
    X(active_bytes, "Active memory")                                                                                   \
    X(requested_bytes, "Requested memory")                                                                             \
    X(reserved_bytes, "GPU reserved memory")                                                                           \
    X(inactive_split_bytes, "Non-releasable memory")                                                                   \
    X(allocation, "Allocations")                                                                                       \
    X(active, "Active allocs")                                                                                         \
    X(segment, "GPU reserved segments")                                                                                \
    X(inactive_split, "Non-releasable allocs")
enum { GM_USAGE_ROWS = 9, GM_USAGE_BYTES = 5 };
enum { GM_USAGE_ALL, GM_USAGE_LARGE, GM_USAGE_SMALL, GM_USAGE_POOLS };

/* The counters at a moment. */
struct gm_usage_table {
    uint64_t event; /* that led to it; GM_REPORT_NONE: before event 0, or there is none */
    struct gm_usage rows[GM_USAGE_ROWS][GM_USAGE_POOLS], oversize_allocations, oversize_segments;
};
struct gm_memory_summary {
    int64_t device;
    uint64_t ooms, retries; /* GM_REPORT_NONE: not known */
    const char *note;       /* what peaks and sums do not count, a sentence; NULL: nothing */
    struct gm_usage_table at_end;
    const struct gm_usage_table *at_peak; /* of requested bytes; NULL: not known */
};

#endif
