/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of torch.profiler: Chrome's trace events as Kineto and older profilers write them. One pass over the tokens;
 * an event becomes a row when its object ends, in whatever order its keys stand, and what no row needs is skipped.
 */
#include "analyze/formats/decoders.h"

#include "analyze/formats/json_scan.h"
#include "analyze/snapshot/profile.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHAPES_MOST = 1 << 16 };    /* bytes of an operator's shapes; the rest is cut off */
#define MOST_NS (INT64_C(1) << 61) /* 73 years before or after 1970, or the start of the machine */

enum seen { HAS_TIME = 1, HAS_DURATION = 2, HAS_NAME = 4, HAS_BYTES = 8, HAS_DETAIL = 16, IS_ODD = 32 };

struct event {
    unsigned seen;      /* enum seen */
    unsigned char kind; /* "ph", 0: none */
    int span;           /* enum gm_profile_span_kind by its "cat"; -1: what is no span */
    struct gm_profile_span row;
    struct gm_profile_detail detail;
    struct gm_profile_memory memory;
    char place[2][96]; /* "pid", "tid": their beginnings */
};

struct reader {
    struct gm_json_scan json;
    struct gm_profile *p;
    struct event e;
    uint32_t memory_name; /* "[memory]" */
    uint32_t last_thread; /* of the event before; its names: */
    char last_place[2][96];
    struct gm_intern_recent recent;
    struct gm_intern places; /* pid, NUL, tid: numbers are those of the threads */
    struct GM_VEC(unsigned char) text;
};

static enum gm_status next(struct reader *r, struct gm_json_token *t, struct gm_error *err)
{
    return gm_json_next(&r->json, t, err);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

struct word {
    const char *text;
    size_t length;
};
#define WORD(text)                                                                                                     \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }

/* Which of the words a token is, or -1. */
static int find_word(const struct word *words, size_t count, const struct gm_json_token *t)
{
    for (size_t i = 0; i < count; i++)
        if (words[i].length == t->length && words[i].text[0] == (char)t->text[0] &&
            memcmp(words[i].text, t->text, t->length) == 0)
            return (int)i;
    return -1;
}

/* The next key of an object, as find_word has it, with its value's first token in *t; END_OF_OBJECT behind the last. */
enum { END_OF_OBJECT = -2 };
static enum gm_status next_key(struct reader *r, const struct word *words, size_t count, int *word,
                               struct gm_json_token *t, struct gm_error *err)
{
    GM_TRY(next(r, t, err));
    *word = t->kind == GM_TOKEN_END_DICT ? END_OF_OBJECT : find_word(words, count, t);
    return *word == END_OF_OBJECT ? GM_OK : next(r, t, err);
}
#define NEXT_KEY(r, words, word, t, err) next_key(r, words, sizeof(words) / sizeof *(words), word, t, err)

static bool token_integer(const struct gm_json_token *t, int64_t *value)
{
    if (t->kind != GM_TOKEN_NUMBER || t->number.kind != GM_JSON_INTEGER || t->number.magnitude > INT64_MAX)
        return false;
    *value = t->number.is_negative ? -(int64_t)t->number.magnitude : (int64_t)t->number.magnitude;
    return true;
}

static uint64_t token_unsigned(const struct gm_json_token *t, uint64_t otherwise)
{
    const bool is_one = t->kind == GM_TOKEN_NUMBER && t->number.kind == GM_JSON_INTEGER && !t->number.is_negative;
    return is_one ? t->number.magnitude : otherwise;
}

/* Microseconds with up to three decimals that count, exactly: a double would lose the last one. */
static bool token_ns(const struct gm_json_token *t, int64_t *ns)
{
    size_t i = t->kind == GM_TOKEN_NUMBER && t->text[0] == '-', decimals = 0;
    const bool is_negative = i > 0;
    int64_t value = 0;
    bool is_fraction = false;
    for (; t->kind == GM_TOKEN_NUMBER && i < t->length && decimals < 3; i++) {
        const unsigned char c = t->text[i];
        if (c == '.' && !is_fraction) {
            is_fraction = true;
            continue;
        }
        if (c < '0' || c > '9' || value > MOST_NS / 10)
            return false;
        value = value * 10 + (c - '0');
        decimals += is_fraction;
    }
    for (size_t j = i; j < t->length && t->kind == GM_TOKEN_NUMBER; j++) /* finer than a nanosecond */
        if (t->text[j] < '0' || t->text[j] > '9')
            return false;
    for (; decimals < 3 && value <= MOST_NS / 10; decimals++)
        value *= 10;
    *ns = is_negative ? -value : value;
    return t->kind == GM_TOKEN_NUMBER && value <= MOST_NS && decimals == 3;
}

static enum gm_status intern(struct reader *r, const void *text, size_t length, uint32_t *string, struct gm_error *err)
{
    *string = gm_intern_again(&r->p->strings, &r->recent, text, length);
    return *string == GM_INTERN_NONE ? gm_no_memory(err) : GM_OK;
}

/* A string, or GM_PROFILE_NONE of anything else, which is skipped. */
static enum gm_status take_string(struct reader *r, const struct gm_json_token *t, uint32_t *string,
                                  struct gm_error *err)
{
    *string = GM_PROFILE_NONE;
    return t->kind == GM_TOKEN_STRING ? intern(r, t->text, t->length, string, err) : gm_json_skip(&r->json, t, err);
}

static bool add_text(struct reader *r, const void *text, size_t length)
{
    if (r->text.n + length > SHAPES_MOST)
        return true;
    if (!GM_VEC_ROOM(&r->text, length + 1))
        return false;
    if (length > 0)
        memcpy(r->text.v + r->text.n, text, length);
    r->text.n += length;
    return true;
}

/* A list as one string, "[[2, 3], [], a]", however it stands in the file. */
static enum gm_status take_list(struct reader *r, const struct gm_json_token *first, uint32_t *string,
                                struct gm_error *err)
{
    *string = GM_PROFILE_NONE;
    if (first->kind != GM_TOKEN_BEGIN_LIST)
        return gm_json_skip(&r->json, first, err);
    const size_t depth = r->json.depth;
    struct gm_json_token t = *first;
    r->text.n = 0;
    bool ok = add_text(r, "[", 1), is_first = true;
    while (ok && r->json.depth >= depth) {
        GM_TRY(next(r, &t, err));
        const bool begins = t.kind == GM_TOKEN_BEGIN_LIST || t.kind == GM_TOKEN_BEGIN_DICT;
        const bool ends = t.kind == GM_TOKEN_END_LIST || t.kind == GM_TOKEN_END_DICT;
        ok = is_first || ends || add_text(r, ", ", 2);
        if (begins || ends)
            ok = ok && add_text(r, begins ? "[" : "]", 1);
        else if (t.kind == GM_TOKEN_NUMBER || t.kind == GM_TOKEN_STRING)
            ok = ok && add_text(r, t.text, t.length);
        is_first = begins;
    }
    return ok ? intern(r, r->text.v, r->text.n, string, err) : gm_no_memory(err);
}

/* ---- the keys of an event ---------------------------------------------------------------------------------------- */

/* What "args" say: of memory, then (from FIRST_DETAIL on) of spans. */
enum { FIRST_DETAIL = 6 };
static const struct word arg_words[] = {
    WORD("Bytes"),      WORD("Addr"),        WORD("Total Allocated"), WORD("Total Reserved"),  WORD("Device Type"),
    WORD("Device Id"),  WORD("External id"), WORD("external id"),     WORD("bytes"),           WORD("Input Dims"),
    WORD("Input type"), WORD("Call stack"),  WORD("correlation"),     WORD("Sequence number"), WORD("Fwd thread id")};

static enum gm_status take_memory(struct reader *r, int word, const struct gm_json_token *t, struct gm_error *err)
{
    struct gm_profile_memory *m = &r->e.memory;
    int64_t value = INT64_MIN;
    (void)token_integer(t, &value);
    const bool fits = value >= INT32_MIN && value <= INT32_MAX;
    if (word == 0 && value != INT64_MIN) {
        m->bytes = value;
        r->e.seen |= HAS_BYTES;
    } else if (word == 1) {
        m->address = token_unsigned(t, GM_PROFILE_ABSENT);
    } else if (word == 2) {
        m->allocated = token_unsigned(t, GM_PROFILE_ABSENT);
    } else if (word == 3) {
        m->reserved = token_unsigned(t, GM_PROFILE_ABSENT);
    } else if (fits) {
        *(word == 4 ? &m->device_type : &m->device) = (int32_t)value;
    } else {
        r->e.seen |= IS_ODD;
    }
    return gm_json_skip(&r->json, t, err);
}

static enum gm_status take_detail(struct reader *r, int word, const struct gm_json_token *t, struct gm_error *err)
{
    struct gm_profile_detail *d = &r->e.detail;
    r->e.seen |= HAS_DETAIL;
    switch (word) {
    case 0:
    case 1:
        d->external = token_unsigned(t, 0);
        break;
    case 2:
        d->bytes = token_unsigned(t, 0);
        break;
    case 3:
        return take_list(r, t, &d->shapes, err);
    case 4:
        return take_list(r, t, &d->types, err);
    case 5:
        return take_string(r, t, &d->call_stack, err);
    case 6:
        d->correlation = (uint32_t)token_unsigned(t, 0);
        break;
    case 7:
        if (!token_integer(t, &d->sequence))
            d->sequence = -1;
        break;
    default:
        d->forward_thread = (uint32_t)token_unsigned(t, 0);
    }
    return gm_json_skip(&r->json, t, err);
}

/* What "args" are: an object, or nothing that matters. */
static enum gm_status take_args(struct reader *r, struct gm_json_token *t, struct gm_error *err)
{
    if (t->kind != GM_TOKEN_BEGIN_DICT)
        return gm_json_skip(&r->json, t, err);
    for (int word;;) {
        GM_TRY(NEXT_KEY(r, arg_words, &word, t, err));
        if (word == END_OF_OBJECT)
            return GM_OK;
        GM_TRY(word >= FIRST_DETAIL ? take_detail(r, word - FIRST_DETAIL, t, err)
               : word >= 0          ? take_memory(r, word, t, err)
                                    : gm_json_skip(&r->json, t, err));
    }
}

/* "cat", as it was called from 2021 on. What has none is of PyTorch's own profiler, whose events are operators. */
static int span_kind(const struct gm_json_token *t)
{
    static const struct {
        const char *word;
        int kind;
    } kinds[] = {{"cpu_op", GM_SPAN_OPERATOR},
                 {"Operator", GM_SPAN_OPERATOR},
                 {"python_function", GM_SPAN_PYTHON},
                 {"user_annotation", GM_SPAN_ANNOTATION},
                 {"cuda_runtime", GM_SPAN_RUNTIME},
                 {"cuda_driver", GM_SPAN_RUNTIME},
                 {"Runtime", GM_SPAN_RUNTIME},
                 {"hip_runtime", GM_SPAN_RUNTIME},
                 {"xpu_runtime", GM_SPAN_RUNTIME},
                 {"xpu_driver", GM_SPAN_RUNTIME},
                 {"mtia_runtime", GM_SPAN_RUNTIME},
                 {"privateuse1_runtime", GM_SPAN_RUNTIME},
                 {"privateuse1_driver", GM_SPAN_RUNTIME},
                 {"kernel", GM_SPAN_KERNEL},
                 {"gpu_memcpy", GM_SPAN_MEMCPY},
                 {"Memcpy", GM_SPAN_MEMCPY},
                 {"gpu_memset", GM_SPAN_MEMSET},
                 {"Memset", GM_SPAN_MEMSET},
                 {"gpu_user_annotation", GM_SPAN_DEVICE_ANNOTATION},
                 {"cuda_sync", -1}, /* waits that are drawn on a stream */
                 {"Trace", -1}};
    for (size_t i = 0; t->kind == GM_TOKEN_STRING && i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == t->length && strncasecmp(kinds[i].word, (const char *)t->text, t->length) == 0)
            return kinds[i].kind;
    return GM_SPAN_OTHER;
}

/* A process or a thread: a number, or words. */
static enum gm_status take_place(struct reader *r, char place[96], const struct gm_json_token *t, struct gm_error *err)
{
    const bool is_plain = t->kind == GM_TOKEN_NUMBER || t->kind == GM_TOKEN_STRING;
    const size_t length = !is_plain ? 0 : t->length < 95 ? t->length : 95;
    if (length > 0)
        memcpy(place, t->text, length);
    place[length] = '\0';
    return gm_json_skip(&r->json, t, err);
}

enum event_word { PH, NAME, CAT, TS, DUR, PID, TID, ARGS };
static const struct word event_words[] = {WORD("ph"),  WORD("name"), WORD("cat"), WORD("ts"),
                                          WORD("dur"), WORD("pid"),  WORD("tid"), WORD("args")};

static enum gm_status take_field(struct reader *r, int word, struct gm_json_token *t, struct gm_error *err)
{
    struct event *e = &r->e;
    switch (word) {
    case PH:
        e->kind = t->kind == GM_TOKEN_STRING && t->length == 1 ? t->text[0] : 0;
        break;
    case NAME:
        e->seen |= t->kind == GM_TOKEN_STRING ? (unsigned)HAS_NAME : 0;
        return take_string(r, t, &e->row.name, err);
    case CAT:
        e->span = span_kind(t);
        break;
    case TS:
        e->seen |= token_ns(t, &e->row.start_ns) ? (unsigned)HAS_TIME : 0;
        break;
    case DUR:
        e->seen |= token_ns(t, &e->row.duration_ns) && e->row.duration_ns >= 0 ? (unsigned)HAS_DURATION : 0;
        break;
    case PID:
    case TID:
        return take_place(r, e->place[word == TID], t, err);
    case ARGS:
        return take_args(r, t, err);
    default:
        break;
    }
    return gm_json_skip(&r->json, t, err);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static enum gm_status find_thread(struct reader *r, uint32_t *thread, struct gm_error *err)
{
    char(*place)[96] = r->e.place;
    if (r->p->threads.n > 0 && strcmp(place[0], r->last_place[0]) == 0 && strcmp(place[1], r->last_place[1]) == 0) {
        *thread = r->last_thread;
        return GM_OK;
    }
    char both[192];
    const size_t length = strlen(place[0]), other = strlen(place[1]);
    memcpy(both, place[0], length + 1);
    memcpy(both + length + 1, place[1], other);
    *thread = gm_intern_add(&r->places, both, length + 1 + other);
    if (*thread == GM_INTERN_NONE)
        return gm_no_memory(err);
    if (*thread >= GM_PROFILE_THREADS)
        return gm_fail(err, GM_E_LIMIT, gm_source_offset(r->json.source), "more than %d threads and streams",
                       (int)GM_PROFILE_THREADS);
    if (*thread == r->p->threads.n) {
        struct gm_profile_thread row;
        GM_TRY(intern(r, place[0], length, &row.process, err));
        GM_TRY(intern(r, place[1], other, &row.thread, err));
        if (!GM_VEC_PUSH(&r->p->threads, row))
            return gm_no_memory(err);
    }
    r->last_thread = *thread;
    memcpy(r->last_place, place, sizeof r->last_place);
    return GM_OK;
}

static enum gm_status end_event(struct reader *r, struct gm_error *err)
{
    struct event *e = &r->e;
    const bool is_memory = (e->kind == 'i' || e->kind == 'I') && e->row.name == r->memory_name;
    const bool is_span = e->kind == 'X' && e->span >= 0;
    const unsigned needs = is_memory ? (unsigned)HAS_TIME | HAS_BYTES : (unsigned)HAS_TIME | HAS_DURATION | HAS_NAME;
    if (!is_memory && !is_span) {
        r->p->other_events++;
        return GM_OK;
    }
    if ((e->seen & needs) != needs || (is_memory && (e->seen & IS_ODD) != 0)) {
        r->p->odd_events++;
        return GM_OK;
    }
    uint32_t thread;
    GM_TRY(find_thread(r, &thread, err));
    if (is_memory) {
        e->memory.time_ns = e->row.start_ns;
        e->memory.thread = thread;
        return GM_VEC_PUSH(&r->p->memory, e->memory) ? GM_OK : gm_no_memory(err);
    }
    e->row.thread = thread & (GM_PROFILE_THREADS - 1);
    e->row.kind = (unsigned)e->span & 15;
    e->row.detail = (e->seen & HAS_DETAIL) != 0 ? (uint32_t)r->p->details.n : GM_PROFILE_NONE;
    if ((e->seen & HAS_DETAIL) != 0 && !GM_VEC_PUSH(&r->p->details, e->detail))
        return gm_no_memory(err);
    if (r->p->spans.n >= GM_PROFILE_NONE - 1)
        return gm_fail(err, GM_E_LIMIT, gm_source_offset(r->json.source), "more than %u spans", GM_PROFILE_NONE - 1);
    return GM_VEC_PUSH(&r->p->spans, e->row) ? GM_OK : gm_no_memory(err);
}

static void begin_event(struct event *e)
{
    e->seen = 0;
    e->kind = 0;
    e->span = GM_SPAN_OPERATOR;
    e->row = (struct gm_profile_span){.name = GM_PROFILE_NONE};
    e->detail = (struct gm_profile_detail)GM_PROFILE_NO_DETAIL;
    e->memory = (struct gm_profile_memory){
        .address = GM_PROFILE_ABSENT, .allocated = GM_PROFILE_ABSENT, .reserved = GM_PROFILE_ABSENT, .device = -1};
    e->place[0][0] = e->place[1][0] = '\0';
}

/* The list of events; its '[' is consumed. */
static enum gm_status take_events(struct reader *r, struct gm_error *err)
{
    struct gm_json_token t;
    for (;;) {
        GM_TRY(next(r, &t, err));
        if (t.kind == GM_TOKEN_END_LIST)
            return GM_OK;
        if (t.kind != GM_TOKEN_BEGIN_DICT) {
            r->p->odd_events++;
            GM_TRY(gm_json_skip(&r->json, &t, err));
            continue;
        }
        begin_event(&r->e);
        for (int word;;) {
            GM_TRY(NEXT_KEY(r, event_words, &word, &t, err));
            if (word == END_OF_OBJECT)
                break;
            GM_TRY(take_field(r, word, &t, err));
        }
        GM_TRY(end_event(r, err));
    }
}

/* ---- what stands beside the events ------------------------------------------------------------------------------- */

static enum gm_status take_device(struct reader *r, struct gm_json_token *t, struct gm_error *err)
{
    static const struct word words[] = {WORD("id"), WORD("name"), WORD("totalGlobalMem")};
    struct gm_profile_device device = {.id = -1, .memory = GM_PROFILE_ABSENT, .name = GM_PROFILE_NONE};
    for (int word;;) {
        GM_TRY(NEXT_KEY(r, words, &word, t, err));
        if (word == END_OF_OBJECT)
            break;
        if (word == 0)
            (void)token_integer(t, &device.id);
        if (word == 2)
            device.memory = token_unsigned(t, GM_PROFILE_ABSENT);
        GM_TRY(word == 1 ? take_string(r, t, &device.name, err) : gm_json_skip(&r->json, t, err));
    }
    const bool has_room = r->p->devices.n < GM_PROFILE_DEVICES;
    return !has_room || GM_VEC_PUSH(&r->p->devices, device) ? GM_OK : gm_no_memory(err);
}

static enum gm_status take_devices(struct reader *r, struct gm_json_token *t, struct gm_error *err)
{
    if (t->kind != GM_TOKEN_BEGIN_LIST)
        return gm_json_skip(&r->json, t, err);
    for (;;) {
        GM_TRY(next(r, t, err));
        if (t->kind == GM_TOKEN_END_LIST)
            return GM_OK;
        GM_TRY(t->kind == GM_TOKEN_BEGIN_DICT ? take_device(r, t, err) : gm_json_skip(&r->json, t, err));
    }
}

static enum gm_status take_distributed(struct reader *r, struct gm_json_token *t, struct gm_error *err)
{
    static const struct word words[] = {WORD("rank"), WORD("world_size")};
    if (t->kind != GM_TOKEN_BEGIN_DICT)
        return gm_json_skip(&r->json, t, err);
    for (int word;;) {
        GM_TRY(NEXT_KEY(r, words, &word, t, err));
        if (word == END_OF_OBJECT)
            return GM_OK;
        if (word >= 0)
            (void)token_integer(t, word == 0 ? &r->p->rank : &r->p->world_size);
        GM_TRY(gm_json_skip(&r->json, t, err));
    }
}

enum top_word { EVENTS, DEVICES, DISTRIBUTED, BASE, TRACE_ID, HOST_NAME, MEMORY, SHAPES, STACK };
static const struct word top_words[] = {WORD("traceEvents"),         WORD("deviceProperties"), WORD("distributedInfo"),
                                        WORD("baseTimeNanoseconds"), WORD("trace_id"),         WORD("host_name"),
                                        WORD("profile_memory"),      WORD("record_shapes"),    WORD("with_stack")};

static enum gm_status take_top(struct reader *r, int word, struct gm_json_token *t, struct gm_error *err)
{
    struct gm_profile *p = r->p;
    const bool is_yes = t->kind == GM_TOKEN_TRUE || token_unsigned(t, 0) > 0;
    switch (word) {
    case EVENTS:
        return t->kind == GM_TOKEN_BEGIN_LIST
                   ? take_events(r, err)
                   : gm_fail(err, GM_E_CORRUPT, t->at, "damaged trace: 'traceEvents' is no list");
    case DEVICES:
        return take_devices(r, t, err);
    case DISTRIBUTED:
        return take_distributed(r, t, err);
    case BASE:
        if (!token_integer(t, &p->base_ns) || p->base_ns > MOST_NS || p->base_ns < -MOST_NS)
            p->base_ns = 0;
        break;
    case TRACE_ID:
        p->has_trace_id = true;
        p->is_trace_id_first = !p->profile_memory;
        break;
    case HOST_NAME:
        p->has_host_name = true;
        break;
    case MEMORY:
        p->profile_memory = is_yes;
        break;
    case SHAPES:
        p->record_shapes = is_yes;
        break;
    case STACK:
        p->with_stack = is_yes;
        break;
    default:
        break;
    }
    return gm_json_skip(&r->json, t, err);
}

static enum gm_status take_document(struct reader *r, struct gm_error *err)
{
    struct gm_json_token t;
    bool has_events = false;
    GM_TRY(next(r, &t, err));
    if (t.kind == GM_TOKEN_BEGIN_LIST)
        return take_events(r, err);
    if (t.kind != GM_TOKEN_BEGIN_DICT)
        return gm_fail(err, GM_E_FORMAT, t.at, "no trace of torch.profiler: neither an object nor a list");
    for (int word;;) {
        GM_TRY(NEXT_KEY(r, top_words, &word, &t, err));
        if (word == END_OF_OBJECT)
            break;
        has_events = has_events || word == EVENTS;
        GM_TRY(take_top(r, word, &t, err));
    }
    return has_events ? GM_OK : gm_fail(err, GM_E_FORMAT, t.at, "no trace of torch.profiler: no 'traceEvents'");
}

enum gm_status gm_kineto_decode(struct gm_source *source, struct gm_decoded *out, struct gm_error *err)
{
    struct reader r = {.json = {.source = source}, .p = out->profile};
    *out->profile = (struct gm_profile){.rank = -1, .world_size = -1};
    enum gm_status status = intern(&r, "[memory]", 8, &r.memory_name, err);
    if (status == GM_OK)
        status = take_document(&r, err);
    gm_json_scan_free(&r.json);
    gm_intern_free(&r.places);
    free(r.text.v);
    return status;
}
