/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of PyTorch's caching allocator: how requests are rounded and when a block is split.
 * Source: c10/cuda/CUDACachingAllocator.cpp, as told in PyTorch's own words: kMinBlockSize 512, kSmallSize 1 MiB,
 * kSmallBuffer 2 MiB, kMinLargeAlloc 10 MiB, kLargeBuffer 20 MiB, kRoundLarge 2 MiB.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GM_ROUNDUP_SLOTS = 16, GM_MIN_BLOCK = 512, GM_SMALL_SIZE = 1 << 20, GM_SMALL_SEGMENT = 2 << 20 };

/* The settings that the arithmetic depends on. */
struct gm_rules {
    /* roundup_power2_divisions: slot i is for sizes in [2^(20+i), 2^(21+i)), the first and the last also for smaller
     * and larger ones; 0 and 1: multiples of 512 only. Powers of two. */
    uint32_t roundup[GM_ROUNDUP_SLOTS];
    uint64_t roundup_bypass; /* bytes: larger requests are rounded to 512 only; UINT64_MAX: none */
    uint64_t max_split;      /* bytes; UINT64_MAX: unlimited */
    uint64_t large_segment;  /* bytes: kLargeBuffer, or large_segment_size_mb */
};
struct gm_rules gm_rules_default(void);

/* The slot of "roundup_power2_divisions.K", as snapshots list these settings: K is 1, 2, 4 ... 32768, the MiB from
 * which on the slot counts. -1: another key. */
int gm_rules_roundup_slot(const char *key);
/* Sets that slot as recorded. Another key and what is no number of divisions (0, or a power of two up to 2^20) change
 * nothing. */
void gm_rules_take_roundup(struct gm_rules *rules, const char *key, int64_t divisions);

/* Bytes of the smallest block that serves a request of `requested` bytes: at least 512, a multiple of 512. Requests of
 * 2^60 bytes and more, which the allocator refuses, are returned as they are. */
uint64_t gm_rules_round(const struct gm_rules *rules, uint64_t requested);
/* Bytes that cudaMalloc is asked for when a request that was rounded needs a new segment. */
uint64_t gm_rules_segment(const struct gm_rules *rules, uint64_t rounded);
/* Whether a block for `rounded` bytes gives `remaining` bytes back. `is_expandable`: the expandable_segments option is
 * on for the pool, whatever the block's own segment is. */
bool gm_rules_split(const struct gm_rules *rules, bool is_small, bool is_expandable, uint64_t rounded,
                    uint64_t remaining);
