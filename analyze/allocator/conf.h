/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator's settings, and the text of PYTORCH_ALLOC_CONF: "key:value,key:value", list values as [a:b,c:d]. The
 * keys, their ranges and what they reject are PyTorch's (c10/core/AllocatorConfig.cpp, 2.10 and later), but ':' and ','
 * must be where they belong, as up to 2.9 (2.10 takes any word for them).
 */
#pragma once

#include "analyze/allocator/rounding.h"
#include "analyze/base/error.h"
#include "analyze/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What people set, and what they have to know about it. */
#define GM_CONF_VARIABLE "PYTORCH_ALLOC_CONF"
#define GM_CONF_OLD_VARIABLE "before PyTorch 2.9: PYTORCH_CUDA_ALLOC_CONF; if both are set, that one counts"

enum gm_backend { GM_BACKEND_NATIVE, GM_BACKEND_ASYNC };

/* Which of equal free blocks is taken, which depends on the version of PyTorch. */
enum gm_ties {
    GM_TIES_LOWEST,        /* up to 2.11: the lowest */
    GM_TIES_OLDEST_BLOCK,  /* 2.12: the block object that was made first. A split makes a new one of the lower part, a
                            * freed block absorbs those around it */
    GM_TIES_OLDEST_SEGMENT /* from 2.13 on: that in the oldest segment or reservation, then the lowest */
};

struct gm_conf {
    struct gm_rules rules;           /* roundup_power2_divisions, max_split_size, large_segment_size */
    uint64_t max_non_split_rounding; /* bytes */
    double gc_threshold;             /* 0: off */
    double memory_fraction;          /* of the device; 1: no limit */
    /* expandable_segments_reserve (2.15): how long an expandable segment may get at most. Bytes, a fraction of the
     * device, or neither of them (0): 9/8 of the device, which bounds the others, too. */
    uint64_t reserve_bytes;
    double reserve_fraction;
    bool expandable_segments;
    enum gm_ties ties;  /* not in the text */
    bool rejects;       /* throw_on_cudamalloc_oom: see gm_allocator's was_rejected */
    bool releases_lock; /* release_lock_on_cudamalloc: other threads' events may come before a growth's */
    enum gm_backend backend;
};
struct gm_conf gm_conf_default(void);

/* Changes *conf by text[0..length), as PyTorch does it also while it runs: max_split_size_mb,
 * max_non_split_rounding_mb, roundup_power2_divisions and garbage_collection_threshold go back to their defaults unless
 * they are named, the others stay as they are. Keys that have no influence on where blocks go (pinned_*, ...) are
 * checked and otherwise ignored. Keys that are not known are ignored, too, since every release has new ones: their
 * names are added to *unknown (which may be NULL), separated by ", ", with the known ones they are near. GM_E_USAGE
 * with PyTorch's reason in our words; *conf is then unchanged. */
enum gm_status gm_conf_parse(struct gm_conf *conf, const char *text, size_t length, struct gm_text *unknown,
                             struct gm_error *err);
/* The same for a text that some PyTorch has accepted: what is not understood of it is left out, and the reasons are
 * added to *odd (which may be NULL), separated by "; ". */
void gm_conf_read(struct gm_conf *conf, const char *text, size_t length, struct gm_text *odd);
/* The text of *conf: what differs from the defaults, nothing if nothing does. Read again it gives the same settings. */
void gm_conf_text(struct gm_text *out, const struct gm_conf *conf);
/* Beginnings of pairs, a line each: "max_split_size_mb:"; whole pairs of settings that are one of few words. */
void gm_conf_words(struct gm_text *out);
/* Whether two settings let the allocator do the same. */
bool gm_conf_equal(const struct gm_conf *a, const struct gm_conf *b);
