/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of PyTorch's memory snapshots: X(name, text); the actions of GM_ACTION_MAP follow them.
 */
#pragma once

#include "analyze/snapshot/snapshot.h"

/* Keys of dictionaries. */
#define GM_KEY_MAP(X)                                                                                                  \
    X(ACTION, "action")                                                                                                \
    X(ADDR, "addr")                                                                                                    \
    X(DEVICE_FREE, "device_free")                                                                                      \
    X(SIZE, "size")                                                                                                    \
    X(STREAM, "stream")                                                                                                \
    X(TIME_US, "time_us")                                                                                              \
    X(COMPILE_CONTEXT, "compile_context")                                                                              \
    X(USER_METADATA, "user_metadata")                                                                                  \
    X(POOL_ID, "pool_id")                                                                                              \
    X(FRAMES, "frames")                                                                                                \
    X(CATEGORY, "category")                                                                                            \
    X(FORWARD_FRAMES, "forward_frames")                                                                                \
    X(INTERNAL_METADATA, "internal_metadata")                                                                          \
    X(CPP_FRAMES, "cpp_frames")                                                                                        \
    X(NAME, "name")                                                                                                    \
    X(FILENAME, "filename")                                                                                            \
    X(LINE, "line")                                                                                                    \
    X(FX_NODE_OP, "fx_node_op")                                                                                        \
    X(FX_NODE_NAME, "fx_node_name")                                                                                    \
    X(FX_NODE_TARGET, "fx_node_target")                                                                                \
    X(FX_NODE_INFO, "fx_node_info")                                                                                    \
    X(FX_ORIGINAL_TRACE, "fx_original_trace")                                                                          \
    X(DEVICE, "device")                                                                                                \
    X(ADDRESS, "address")                                                                                              \
    X(TOTAL_SIZE, "total_size")                                                                                        \
    X(ALLOCATED_SIZE, "allocated_size")                                                                                \
    X(ACTIVE_SIZE, "active_size")                                                                                      \
    X(REQUESTED_SIZE, "requested_size")                                                                                \
    X(SEGMENT_TYPE, "segment_type")                                                                                    \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                                              \
    X(IS_EXPANDABLE, "is_expandable")                                                                                  \
    X(BLOCKS, "blocks")                                                                                                \
    X(REGISTRATION_COUNTER, "registration_counter")                                                                    \
    X(STATE, "state")                                                                                                  \
    X(HISTORY, "history")                                                                                              \
    X(REAL_SIZE, "real_size")                                                                                          \
    X(STAGE, "stage")                                                                                                  \
    X(SEGMENTS, "segments")                                                                                            \
    X(DEVICE_TRACES, "device_traces")                                                                                  \
    X(TRACES, "traces")                                                                                                \
    X(ALLOCATOR_SETTINGS, "allocator_settings")                                                                        \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")                                                                    \
    X(TRACE_ALLOC_MAX_ENTRIES, "trace_alloc_max_entries")                                                              \
    X(TRACE_ALLOC_OVERFLOWED, "trace_alloc_overflowed")                                                                \
    X(HOST_SEGMENTS, "host_segments")                                                                                  \
    X(HOST_TRACES, "host_traces")

/* Values that stand for something. */
#define GM_VALUE_MAP(X)                                                                                                \
    GM_BLOCK_STATE_MAP(X)                                                                                              \
    X(ACTIVE_AWAITING_FREE, "active_awaiting_free")                                                                    \
    GM_SEGMENT_TYPE_MAP(X)                                                                                             \
    GM_STAGE_MAP(X)

/* Loaders intern them first, in this order, so that a string's id is its enum value and numbers are compared. Keys come
 * first: gm_word < GM_KEY_COUNT is a key that we know. */
enum gm_word {
    GM_WORD_ABSENT, /* string id 0: "" */
#define X(name, text) GM_KEY_##name,
    GM_KEY_MAP(X)
#undef X
        GM_KEY_COUNT,
    GM_WORD_BEFORE_VALUES = GM_KEY_COUNT - 1,
#define X(name, text) GM_VALUE_##name,
    GM_VALUE_MAP(X)
#undef X
        GM_WORD_FIRST_ACTION,
    GM_WORD_COUNT = GM_WORD_FIRST_ACTION + GM_ACTION_COUNT
};
const char *gm_word_text(enum gm_word word);
