/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of torch.profiler: Chrome's trace events as Kineto and older profilers write them. One pass over the tokens;
 * an event becomes a row when its object ends, in whatever order its keys stand, and what no row needs is skipped. What
 * stands in one event as in others is known by its bytes (kineto_ways.h) and needs no tokens.
 */
#include "analyze/formats/decoders.h"

#include "analyze/formats/json_scan.h"
#include "analyze/formats/kineto_ways.h"
#include "analyze/snapshot/profile.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SHAPES_MOST = 1 << 16 };    /* bytes of an operator's shapes; the rest is cut off */
#define MOST_NS (INT64_C(1) << 61) /* 73 years before or after 1970, or the start of the machine */

enum seen { HAS_TIME = 1, HAS_DURATION = 2, HAS_NAME = 4, HAS_BYTES = 8, HAS_DETAIL = 16, IS_ODD = 32 };

/* As what a value of an event's args is taken; from TAKES_ID on they are of spans. */
enum takes { TAKES_BYTES, TAKES_SIZE, TAKES_INT32, TAKES_ID, TAKES_ID32, TAKES_SEQUENCE, TAKES_LIST, TAKES_STRING };

struct event {
    unsigned seen;      /* enum seen */
    unsigned char kind; /* "ph", 0: none */
    int span;           /* enum gm_profile_span_kind by its "cat"; -1: what is no span */
    struct gm_profile_span row;
    struct gm_profile_detail detail;
    struct gm_profile_memory memory;
    uint32_t place[2]; /* "pid", "tid": in places */
};

struct reader {
    struct gm_json_scan json;
    struct gm_profile *p;
    struct event e;
    uint32_t memory_name; /* "[memory]" */
    uint32_t last_thread; /* of the event before; where that is: */
    uint32_t last_place[2];
    struct gm_intern_recent recent, recent_places;
    struct gm_intern places;  /* what pid and tid are; the first one is "" */
    struct gm_intern threads; /* pairs of those: numbers are those of the threads */
    struct GM_VEC(unsigned char) text;
    struct gm_ways *ways;
    unsigned way;  /* where the reader is, or GM_WAY_NONE: where nothing is known */
    unsigned says; /* what was read since, as a way's */
    int level;     /* 0: between events, 1: in one, 2: in its args */
    size_t depth;  /* of the list of events */
};

static enum gm_status next(struct reader *r, struct gm_json_token *t, struct gm_error *err)
{
    return gm_json_next(&r->json, t, err);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

struct word {
    const char *text;
    size_t length;
    enum takes takes; /* of an event's args: as what, and where in struct event */
    size_t at;
};
/* clang-format off */
#define WORD(text) {text, sizeof(text) - 1, 0, 0}
#define ARG(text, takes, field) {text, sizeof(text) - 1, takes, offsetof(struct event, field)}
/* clang-format on */

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
    const struct gm_json_number *n = &t->number;
    if (t->kind != GM_TOKEN_NUMBER || (n->kind != GM_JSON_INTEGER && n->decimals == 0) || n->magnitude > MOST_NS / 1000)
        return false;
    int64_t value = (int64_t)n->magnitude;
    for (uint32_t i = 0; i < 3; i++)
        value = value * 10 + (i < n->decimals ? t->text[t->length - n->decimals + i] - '0' : 0);
    *ns = n->is_negative ? -value : value;
    return value <= MOST_NS;
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

/* A place in the window: what is read from there on can be looked at as bytes, unless the window has moved. */
struct mark {
    const unsigned char *p;
    uint64_t offset, end_offset;
};

static struct mark mark_before(const struct gm_source *s, size_t n)
{
    return (struct mark){s->p - n, gm_source_offset(s) - n, s->end_offset};
}

static bool is_in_window(const struct gm_source *s, const struct mark *m)
{
    return s->end_offset == m->end_offset && s->p - m->p == (ptrdiff_t)(gm_source_offset(s) - m->offset);
}

/* A list by its tokens. */
static enum gm_status read_list(struct reader *r, struct gm_error *err)
{
    const size_t depth = r->json.depth;
    struct gm_json_token t;
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
    return ok ? GM_OK : gm_no_memory(err);
}

/* A list as one string, "[[2, 3], [], a]", however it stands in the file; `string` NULL: nobody wants it. */
static enum gm_status take_list(struct reader *r, const struct gm_json_token *first, uint32_t *string,
                                struct gm_error *err)
{
    const struct gm_source *s = r->json.source;
    struct gm_known_list *place = NULL;
    uint32_t unwanted, *const out = string != NULL ? string : &unwanted;
    *out = GM_PROFILE_NONE;
    if (first->kind != GM_TOKEN_BEGIN_LIST)
        return gm_json_skip(&r->json, first, err);
    const struct mark begin = mark_before(s, 1);
    const struct gm_known_list *known = r->ways == NULL ? NULL : gm_ways_list(r->ways, begin.p, s->end, &place);
    if (known != NULL && (string == NULL || known->string != GM_PROFILE_NONE)) {
        *out = known->string;
        gm_json_leap_out(&r->json, known->length - 1);
        return GM_OK;
    }
    GM_TRY(string != NULL ? read_list(r, err) : gm_json_skip(&r->json, first, err));
    if (string != NULL)
        GM_TRY(intern(r, r->text.v, r->text.n, out, err));
    const uint64_t length = gm_source_offset(s) - begin.offset;
    if (place != NULL && is_in_window(s, &begin) && length <= sizeof place->bytes) {
        *place = (struct gm_known_list){.length = (uint16_t)length, .string = *out};
        memcpy(place->bytes, begin.p, length);
    }
    return GM_OK;
}

/* ---- the keys of an event ---------------------------------------------------------------------------------------- */

static const struct word arg_words[] = {ARG("Bytes", TAKES_BYTES, memory.bytes),
                                        ARG("Addr", TAKES_SIZE, memory.address),
                                        ARG("Total Allocated", TAKES_SIZE, memory.allocated),
                                        ARG("Total Reserved", TAKES_SIZE, memory.reserved),
                                        ARG("Device Type", TAKES_INT32, memory.device_type),
                                        ARG("Device Id", TAKES_INT32, memory.device),
                                        ARG("External id", TAKES_ID, detail.external),
                                        ARG("external id", TAKES_ID, detail.external),
                                        ARG("bytes", TAKES_ID, detail.bytes),
                                        ARG("Input Dims", TAKES_LIST, detail.shapes),
                                        ARG("Input type", TAKES_LIST, detail.types),
                                        ARG("Concrete Inputs", TAKES_LIST, detail.values),
                                        ARG("Call stack", TAKES_STRING, detail.call_stack),
                                        ARG("correlation", TAKES_ID32, detail.correlation),
                                        ARG("Sequence number", TAKES_SEQUENCE, detail.sequence),
                                        ARG("Fwd thread id", TAKES_ID32, detail.forward_thread)};

static enum gm_status take_arg(struct reader *r, const struct word *word, const struct gm_json_token *t,
                               struct gm_error *err)
{
    void *to = (char *)&r->e + word->at;
    int64_t value = INT64_MIN;
    const bool is_integer = token_integer(t, &value);
    r->e.seen |= word->takes >= TAKES_ID ? (unsigned)HAS_DETAIL : 0;
    switch (word->takes) {
    case TAKES_BYTES:
        if (is_integer) {
            *(int64_t *)to = value;
            r->e.seen |= HAS_BYTES;
        }
        break;
    case TAKES_SIZE:
        *(uint64_t *)to = token_unsigned(t, GM_PROFILE_ABSENT);
        break;
    case TAKES_INT32:
        if (value >= INT32_MIN && value <= INT32_MAX)
            *(int32_t *)to = (int32_t)value;
        else
            r->e.seen |= IS_ODD;
        break;
    case TAKES_ID:
        *(uint64_t *)to = token_unsigned(t, 0);
        break;
    case TAKES_ID32:
        *(uint32_t *)to = (uint32_t)token_unsigned(t, 0);
        break;
    case TAKES_SEQUENCE:
        *(int64_t *)to = is_integer ? value : -1;
        break;
    case TAKES_LIST:
        return take_list(r, t, to, err);
    case TAKES_STRING:
        return take_string(r, t, to, err);
    }
    return gm_json_skip(&r->json, t, err);
}

/* "cat", as it was called from 2021 on. What has none is of PyTorch's own profiler, whose events are operators. */
static int span_kind(const struct gm_json_token *t)
{
    static const struct {
        int kind;
        const char *words[10];
    } kinds[] = {{GM_SPAN_OPERATOR, {"cpu_op", "Operator"}},
                 {GM_SPAN_PYTHON, {"python_function"}},
                 {GM_SPAN_ANNOTATION, {"user_annotation"}},
                 {GM_SPAN_RUNTIME,
                  {"cuda_runtime", "cuda_driver", "Runtime", "hip_runtime", "xpu_runtime", "xpu_driver", "mtia_runtime",
                   "privateuse1_runtime", "privateuse1_driver"}},
                 {GM_SPAN_KERNEL, {"kernel"}},
                 {GM_SPAN_MEMCPY, {"gpu_memcpy", "Memcpy"}},
                 {GM_SPAN_MEMSET, {"gpu_memset", "Memset"}},
                 {GM_SPAN_DEVICE_ANNOTATION, {"gpu_user_annotation"}},
                 {-1, {"cuda_sync", "Trace"}}}; /* waits that are drawn on a stream */
    for (size_t i = 0; t->kind == GM_TOKEN_STRING && i < sizeof kinds / sizeof *kinds; i++)
        for (const char *const *word = kinds[i].words; *word != NULL; word++)
            if (strlen(*word) == t->length && strncasecmp(*word, (const char *)t->text, t->length) == 0)
                return kinds[i].kind;
    return GM_SPAN_OTHER;
}

/* A process or a thread: the beginning of a number, or of words. */
static enum gm_status take_place(struct reader *r, uint32_t *place, const struct gm_json_token *t, struct gm_error *err)
{
    const bool is_plain = t->kind == GM_TOKEN_NUMBER || t->kind == GM_TOKEN_STRING;
    const size_t length = !is_plain ? 0 : t->length < 95 ? t->length : 95;
    const char *text = is_plain ? (const char *)t->text : "";
    *place = gm_intern_again(&r->places, &r->recent_places, text, strnlen(text, length));
    return *place == GM_INTERN_NONE ? gm_no_memory(err) : gm_json_skip(&r->json, t, err);
}

enum event_word { PH, CAT, PID, TID, ARGS, NAME, TS, DUR };
static const struct word event_words[] = {WORD("ph"),   WORD("cat"),  WORD("pid"), WORD("tid"),
                                          WORD("args"), WORD("name"), WORD("ts"),  WORD("dur")};
/* Values of an event: an enum event_word, FIRST_ARG + the word of its args, or: */
enum { FIRST_ARG = DUR + 1, END_OF_LIST = -3, END_OF_EVENT = END_OF_OBJECT, UNREAD = -1 };

static enum gm_status take_value(struct reader *r, int slot, const struct gm_json_token *t, struct gm_error *err)
{
    struct event *e = &r->e;
    if (slot >= FIRST_ARG)
        return take_arg(r, &arg_words[slot - FIRST_ARG], t, err);
    switch (slot) {
    case PH:
        e->kind = t->kind == GM_TOKEN_STRING && t->length == 1 ? t->text[0] : 0;
        break;
    case CAT:
        e->span = span_kind(t);
        break;
    case PID:
    case TID:
        return take_place(r, &e->place[slot == TID], t, err);
    case NAME:
        e->seen |= t->kind == GM_TOKEN_STRING ? (unsigned)HAS_NAME : 0;
        return take_string(r, t, &e->row.name, err);
    case TS:
        e->seen |= token_ns(t, &e->row.start_ns) ? (unsigned)HAS_TIME : 0;
        break;
    case DUR:
        e->seen |= token_ns(t, &e->row.duration_ns) && e->row.duration_ns >= 0 ? (unsigned)HAS_DURATION : 0;
        break;
    default:
        return take_list(r, t, NULL, err);
    }
    return gm_json_skip(&r->json, t, err);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static enum gm_status name_place(struct reader *r, uint32_t place, uint32_t *string, struct gm_error *err)
{
    const struct gm_intern_entry *entry = &r->places.entries.v[place];
    return intern(r, entry->bytes, entry->length, string, err);
}

static enum gm_status find_thread(struct reader *r, uint32_t *thread, struct gm_error *err)
{
    const uint32_t *place = r->e.place;
    *thread = r->last_thread;
    if (r->p->threads.n > 0 && place[0] == r->last_place[0] && place[1] == r->last_place[1])
        return GM_OK;
    *thread = gm_intern_add(&r->threads, place, sizeof r->e.place);
    if (*thread == GM_INTERN_NONE)
        return gm_no_memory(err);
    if (*thread >= GM_PROFILE_THREADS)
        return gm_fail(err, GM_E_LIMIT, gm_source_offset(r->json.source), "more than %d threads and streams",
                       (int)GM_PROFILE_THREADS);
    if (*thread == r->p->threads.n) {
        struct gm_profile_thread row;
        GM_TRY(name_place(r, place[0], &row.process, err));
        GM_TRY(name_place(r, place[1], &row.thread, err));
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
    e->place[0] = e->place[1] = 0;
}

/* Whether it is the same, but for differences that a value is, in all events of a kind. */
static bool is_constant(int word, const struct gm_json_token *t)
{
    return word >= PH && word <= ARGS && (word != ARGS || t->kind != GM_TOKEN_BEGIN_DICT);
}

/* By tokens to the next value that is not, *t, or behind the end of the event or the list. */
static enum gm_status walk(struct reader *r, int *slot, struct gm_json_token *t, struct gm_error *err)
{
    for (;;) {
        if (r->level == 0) {
            GM_TRY(next(r, t, err));
            *slot = END_OF_LIST;
            r->level = t->kind == GM_TOKEN_BEGIN_DICT;
            r->way = r->level == 0 ? GM_WAY_NONE : r->way;
            if (t->kind == GM_TOKEN_END_LIST)
                return GM_OK;
            if (r->level == 0) {
                r->p->odd_events++;
                GM_TRY(gm_json_skip(&r->json, t, err));
            }
            begin_event(&r->e);
            continue;
        }
        GM_TRY(r->level == 1 ? NEXT_KEY(r, event_words, slot, t, err) : NEXT_KEY(r, arg_words, slot, t, err));
        if (*slot == END_OF_OBJECT) {
            if (--r->level == 0)
                return GM_OK;
        } else if (r->level == 2) {
            *slot = *slot == UNREAD ? UNREAD : *slot + FIRST_ARG;
            return GM_OK;
        } else if (is_constant(*slot, t)) {
            GM_TRY(take_value(r, *slot, t, err));
            r->says |= 1u << *slot;
        } else if (*slot != ARGS) {
            return GM_OK;
        } else {
            r->level = 2;
        }
    }
}

/* The way that was walked from a mark to here leads on from where the reader was. */
static void learn(struct reader *r, const struct mark *begin, int slot, const struct gm_json_token *t)
{
    const struct gm_source *s = r->json.source;
    const uint64_t end = slot == END_OF_EVENT ? gm_source_offset(s) : t->at;
    struct gm_way *way = r->way == GM_WAY_NONE || !is_in_window(s, begin)
                             ? NULL
                             : gm_ways_add(r->ways, r->way, begin->p, (size_t)(end - begin->offset));
    r->way = GM_WAY_NONE;
    if (way == NULL)
        return;
    way->slot = (int16_t)slot;
    way->level = (uint8_t)r->level;
    way->says = (uint8_t)r->says;
    way->phase = r->e.kind;
    way->span = (int16_t)r->e.span;
    memcpy(way->place, r->e.place, sizeof way->place);
    r->way = (unsigned)(way - r->ways->ways);
}

/* The same by bytes that are known, to the value; false: they are not. */
static bool follow(struct reader *r, int *slot)
{
    const unsigned found = r->way == GM_WAY_NONE ? GM_WAY_NONE : gm_ways_find(r->ways, r->way, r->json.source);
    if (found == GM_WAY_NONE)
        return false;
    const struct gm_way *way = &r->ways->ways[found];
    struct event *e = &r->e;
    if (r->level == 0)
        begin_event(e);
    if (way->says != 0) {
        e->kind = (way->says & 1 << PH) != 0 ? way->phase : e->kind;
        e->span = (way->says & 1 << CAT) != 0 ? way->span : e->span;
        e->place[0] = (way->says & 1 << PID) != 0 ? way->place[0] : e->place[0];
        e->place[1] = (way->says & 1 << TID) != 0 ? way->place[1] : e->place[1];
    }
    *slot = way->slot;
    r->way = found;
    r->level = way->level;
    gm_json_leap(&r->json, way->length, r->depth + way->level, way->level > 0);
    return true;
}

/* To the next value that differs from event to event, *t, or behind the end of the event or of the list. */
static enum gm_status next_value(struct reader *r, int *slot, struct gm_json_token *t, struct gm_error *err)
{
    while (follow(r, slot)) {
        if (*slot == END_OF_EVENT)
            return GM_OK;
        if (*slot != UNREAD || !gm_json_pass(&r->json))
            return next(r, t, err);
    }
    const struct mark begin = mark_before(r->json.source, 0);
    r->says = 0;
    GM_TRY(walk(r, slot, t, err));
    learn(r, &begin, *slot, t);
    return GM_OK;
}

/* The list of events; its '[' is consumed. */
static enum gm_status take_events(struct reader *r, struct gm_error *err)
{
    struct gm_json_token t;
    r->way = GM_WAY_NONE; /* what comes first has no comma before it */
    r->level = 0;
    r->depth = r->json.depth;
    for (int slot;;) {
        GM_TRY(next_value(r, &slot, &t, err));
        if (slot == END_OF_LIST)
            return GM_OK;
        GM_TRY(slot == END_OF_EVENT ? end_event(r, err) : take_value(r, slot, &t, err));
        if (slot == END_OF_EVENT && r->ways != NULL)
            r->way = GM_WAY_ROOT;
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
    if (status == GM_OK && gm_intern_add(&r.places, "", 0) == GM_INTERN_NONE)
        status = gm_no_memory(err);
    if (status == GM_OK && !out->by_tokens && (r.ways = gm_ways_new()) == NULL)
        status = gm_no_memory(err);
    if (status == GM_OK)
        status = take_document(&r, err);
    gm_json_scan_free(&r.json);
    free(r.ways);
    gm_intern_free(&r.places);
    gm_intern_free(&r.threads);
    free(r.text.v);
    return status;
}
