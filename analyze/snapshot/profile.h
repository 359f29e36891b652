/* SPDX-License-Identifier: Apache-2.0
 *
 * The profile: what a trace of torch.profiler (Kineto; docs/kineto.md) says, and nothing that we concluded from it.
 *
 * Glossary:
 *   span     something that lasted: an operator, a Python function, a user's annotation, a call of the CUDA runtime, a
 *            kernel or copy on a device. Spans of a thread nest.
 *   memory   an instant at which an allocator handed out (bytes > 0) or took back (bytes < 0) memory.
 *   thread   a pair of process and thread, as the file names them; for what runs on a device, its stream.
 *
 * Times are nanoseconds on the file's own clock: what "ts" says, times 1000 (base_ns + that is since 1970, if the file
 * says so). Strings are numbers in `strings`, as raw as in the file; GM_PROFILE_NONE is absent.
 */
#pragma once

#include "analyze/base/arena.h"
#include "analyze/base/arithmetic.h"
#include "analyze/base/ascii.h"
#include "analyze/base/intern.h"
#include "analyze/base/vec.h"

#include <stdbool.h>
#include <stdint.h>

#define GM_PROFILE_NONE UINT32_MAX
#define GM_PROFILE_ABSENT UINT64_MAX

enum gm_profile_span_kind {
    GM_SPAN_OPERATOR,
    GM_SPAN_ANNOTATION, /* record_function, ProfilerStep# */
    GM_SPAN_PYTHON,
    GM_SPAN_RUNTIME, /* a call of CUDA's API, on the host */
    GM_SPAN_OTHER,   /* on the host */
    GM_SPAN_KERNEL,  /* this and those that follow: on a device */
    GM_SPAN_MEMCPY,
    GM_SPAN_MEMSET,
    GM_SPAN_DEVICE_ANNOTATION
};
static inline bool gm_profile_span_is_on_device(enum gm_profile_span_kind kind)
{
    return kind >= GM_SPAN_KERNEL;
}

enum { GM_PROFILE_THREADS = 1 << 20, GM_PROFILE_DEVICES = 1024 }; /* at most */
struct gm_profile_span {
    int64_t start_ns, duration_ns; /* start + duration fits, duration is not negative */
    uint32_t name;
    uint32_t detail;      /* index in details, or GM_PROFILE_NONE */
    uint32_t parent;      /* the span that it is in, on its thread, or GM_PROFILE_NONE; none on a device */
    uint32_t thread : 28; /* index in threads */
    uint32_t kind : 4;    /* enum gm_profile_span_kind */
};
static inline int64_t gm_profile_span_end(const struct gm_profile_span *span)
{
    return span->start_ns + span->duration_ns;
}
/* As torch.profiler nests the spans of a thread: one that begins no later; what overlaps only partly is beside. */
static inline bool gm_profile_is_around(const struct gm_profile_span *outer, const struct gm_profile_span *span)
{
    return outer->thread == span->thread && span->start_ns < gm_profile_span_end(outer) &&
           gm_profile_span_end(span) <= gm_profile_span_end(outer);
}

/* What only some spans say. */
struct gm_profile_detail {
    uint64_t external; /* "External id": of an operator, or of the operator that a runtime call or kernel belongs to */
    uint64_t bytes;    /* of a copy or a memset */
    uint32_t shapes, types;  /* of an operator's inputs, as the file has them, without needless blanks */
    uint32_t values;         /* likewise, of those that are no tensors: "[[24, 48], 6, , False]" */
    uint32_t call_stack;     /* old files: "a.py(1): f;b.py(2): g", innermost first */
    uint32_t forward_thread; /* PyTorch's number; 0: none */
    uint32_t correlation;    /* of a runtime call with what it started on a device; 0: none */
    int64_t sequence;        /* -1: none */
};
#define GM_PROFILE_NO_DETAIL                                                                                           \
    {                                                                                                                  \
        .shapes = GM_PROFILE_NONE, .types = GM_PROFILE_NONE, .values = GM_PROFILE_NONE, .call_stack = GM_PROFILE_NONE, \
        .sequence = -1                                                                                                 \
    }

struct gm_profile_memory {
    int64_t time_ns, bytes;
    uint64_t address;             /* this and the next two: GM_PROFILE_ABSENT if the file does not say */
    uint64_t allocated, reserved; /* of the device after it, as stated */
    int32_t device;               /* -1: the host */
    int32_t device_type;          /* PyTorch's c10::DeviceType */
    uint32_t thread;
    uint32_t span; /* the innermost one on its thread, or GM_PROFILE_NONE */
};

/* As key_averages() has them: CPU, MKLDNN and IDEEP; CUDA, HIP, XPU and PrivateUse1; others are on no side. */
enum gm_memory_side { GM_SIDE_NONE, GM_SIDE_HOST, GM_SIDE_DEVICE };
static inline enum gm_memory_side gm_profile_side(const struct gm_profile_memory *memory)
{
    const int32_t type = memory->device_type;
    return type == 0 || type == 2 || type == 5                  ? GM_SIDE_HOST
           : type == 1 || type == 6 || type == 12 || type == 20 ? GM_SIDE_DEVICE
                                                                : GM_SIDE_NONE;
}

/* Of the device before it, as far as it tells: `allocated` is stated. */
static inline uint64_t gm_profile_allocated_before(const struct gm_profile_memory *memory)
{
    const uint64_t size = memory->bytes < 0 ? (uint64_t)0 - (uint64_t)memory->bytes : (uint64_t)memory->bytes;
    return memory->bytes < 0 ? gm_known_add(memory->allocated, size) : gm_sat_sub(memory->allocated, size);
}

struct gm_profile_thread {
    uint32_t process, thread; /* strings */
};
struct gm_profile_device {
    int64_t id;
    uint64_t memory; /* bytes, or GM_PROFILE_ABSENT */
    uint32_t name;
};

struct gm_profile { /* zero-initialise */
    struct gm_intern strings;
    struct GM_VEC(
        struct gm_profile_span) spans; /* by thread, then from the earliest and longest on, then as in the file */
    struct GM_VEC(struct gm_profile_detail) details;
    struct GM_VEC(struct gm_profile_memory) memory; /* by time, then as in the file */
    struct GM_VEC(struct gm_profile_thread) threads;
    struct GM_VEC(struct gm_profile_device) devices;
    uint64_t other_events;    /* flows, names of threads, ...: everything else under traceEvents */
    uint64_t odd_events;      /* that lack what their kind needs, or whose numbers are none: left out */
    int64_t rank, world_size; /* of distributedInfo; -1: not stated */
    int64_t base_ns;          /* 0: not stated */
    bool profile_memory, record_shapes, with_stack;      /* as the file states what was asked for */
    bool has_host_name, has_trace_id, is_trace_id_first; /* which versions of PyTorch write (analyze/profile) */
};

/* After the last row: sorts the rows, which stand as in the file, finds the parents of spans, and the spans of memory.
 * false: no memory. */
bool gm_profile_finish(struct gm_profile *profile);
/* What a device has reserved after the last event that states it; 0: none does. */
uint64_t gm_profile_reserved(const struct gm_profile *profile, int64_t device);
/* Bytes of memory that it holds. */
uint64_t gm_profile_bytes(const struct gm_profile *profile);
void gm_profile_free(struct gm_profile *profile);

/* The bytes of a string, followed by a NUL; "" for GM_PROFILE_NONE. */
static inline const char *gm_profile_string(const struct gm_profile *p, uint32_t string, size_t *length)
{
    *length = string == GM_PROFILE_NONE ? 0 : p->strings.entries.v[string].length;
    return string == GM_PROFILE_NONE ? "" : p->strings.entries.v[string].bytes;
}

/* A step that torch.profiler's schedule numbered. */
#define GM_PROFILE_STEP "ProfilerStep#"
static inline bool gm_profile_is_step(const struct gm_profile *p, const struct gm_profile_span *span)
{
    size_t n;
    const char *s = gm_profile_string(p, span->name, &n);
    return gm_begins_with(s, n, GM_PROFILE_STEP);
}

/* What a span says besides, or nothing; never NULL. */
static inline const struct gm_profile_detail *gm_profile_detail_of(const struct gm_profile *p,
                                                                   const struct gm_profile_span *span)
{
    static const struct gm_profile_detail nothing = GM_PROFILE_NO_DETAIL;
    return span->detail == GM_PROFILE_NONE ? &nothing : &p->details.v[span->detail];
}

/* A time as microseconds since 1970, or on the file's clock. */
static inline int64_t gm_profile_us(const struct gm_profile *p, int64_t ns)
{
    return (p->base_ns + ns) / 1000;
}
