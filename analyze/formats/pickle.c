/* SPDX-License-Identifier: Apache-2.0
 *
 * The pickle virtual machine, less everything that could execute code.
 *
 * A pickle is a program for a stack machine with a memo (facts: Python's pickletools documentation). This is its inner
 * loop: one switch over the opcode, values of 16 bytes on a flat stack, a memo of 4-byte references. An opcode with its
 * fixed-size arguments is at most MAX_FIXED bytes, so the loop checks once per opcode that so many bytes are in the
 * window and then reads without checks. Near the end of the input, where fewer are left, gm_op_is_complete looks before
 * each opcode is run; so a truncated file never runs half an opcode.
 *
 * Whatever touches containers is the assembler's; FRAME is a no-op, since frames only help writers.
 */
#include "analyze/formats/decoders.h"

#include "analyze/base/freed.h"
#include "analyze/formats/assemble_value.h"
#include "analyze/formats/pickle_ops.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIXED = 1 + 1 + 255 }; /* opcode, one-byte length, 255 bytes */

struct machine {
    struct gm_source *source;
    struct gm_assembler *a;
    int *protocol;
    struct GM_VEC(unsigned char) scratch; /* a string that crosses windows */
};

/* ---- reading arguments ------------------------------------------------------------------------------------------ */

static inline uint32_t load_u16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t load_u32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, 4); /* every machine that CUDA runs on is little-endian */
    return v;
}

static inline uint64_t load_u64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* A two's complement little-endian integer of n bytes. */
static struct gm_read_value long_value(const unsigned char *p, size_t n)
{
    if (n == 0)
        return (struct gm_read_value){.ref = GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE)};
    bool is_negative = (p[n - 1] & 0x80) != 0;
    unsigned char fill = is_negative ? 0xff : 0;
    uint64_t bits = is_negative ? UINT64_MAX : 0;
    memcpy(&bits, p, n < 8 ? n : 8);
    bool fits = true;
    for (size_t i = 8; i < n; i++)
        fits = fits && p[i] == fill;
    if (is_negative)
        fits = fits && bits >> 63 == 1;
    enum gm_number type = !fits ? GM_NUMBER_TOO_LARGE : is_negative ? GM_NUMBER_NEGATIVE : GM_NUMBER_POSITIVE;
    return (struct gm_read_value){.bits = bits, .ref = GM_REF(GM_KIND_NUMBER, type)};
}

static struct gm_read_value real_value(double real)
{
    struct gm_read_value v = {.ref = GM_REF(GM_KIND_NUMBER, GM_NUMBER_REAL)};
    memcpy(&v.bits, &real, sizeof real);
    return v;
}

static struct gm_read_value big_endian_real(const unsigned char *p)
{
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | p[i];
    double real;
    memcpy(&real, &bits, sizeof real);
    return real_value(real);
}

/* ---- slow paths ------------------------------------------------------------------------------------------------- */

static enum gm_status truncated(const struct machine *d, struct gm_error *err)
{
    return gm_fail(err, GM_E_TRUNCATED, gm_source_offset(d->source), "the pickle ends before its STOP");
}

/* Moves the next n bytes of the window to the scratch buffer. */
static bool add_scratch(struct machine *d, size_t n)
{
    if (!GM_VEC_ROOM(&d->scratch, n + 1) || d->scratch.v == NULL)
        return false;
    memcpy(d->scratch.v + d->scratch.n, d->source->p, n);
    d->scratch.n += n;
    d->source->p += n;
    return true;
}

/* Makes the next `length` bytes contiguous: in the window if they fit, else collected in scratch, which grows only with
 * bytes that are really there. Consumes them. */
static enum gm_status take_bytes(struct machine *d, uint64_t length, const unsigned char **bytes, struct gm_error *err)
{
    struct gm_source *s = d->source;
    d->scratch.n = 0;
    if (length > (uint64_t)(s->end - s->p) && length <= s->window_size / 2) {
        GM_TRY(gm_source_more(s, (size_t)length, err));
    }
    if (length <= (uint64_t)(s->end - s->p)) {
        *bytes = s->p;
        s->p += length;
        return GM_OK;
    }
    while (length > 0) {
        if (s->p == s->end) {
            GM_TRY(gm_source_more(s, 1, err));
            if (s->p == s->end)
                return truncated(d, err);
        }
        size_t here = (size_t)(s->end - s->p);
        size_t n = length < here ? (size_t)length : here;
        if (!add_scratch(d, n))
            return gm_no_memory(err);
        length -= n;
    }
    *bytes = d->scratch.v;
    return GM_OK;
}

/* The text up to the next newline, which is consumed but not counted. */
static enum gm_status take_line(struct machine *d, const unsigned char **line, size_t *length, struct gm_error *err)
{
    struct gm_source *s = d->source;
    d->scratch.n = 0;
    for (;;) {
        size_t here = (size_t)(s->end - s->p);
        const unsigned char *newline = here > 0 ? memchr(s->p, '\n', here) : NULL;
        size_t n = newline != NULL ? (size_t)(newline - s->p) : here;
        if (newline != NULL && d->scratch.n == 0) {
            *line = s->p;
            *length = n;
            s->p = newline + 1;
            return GM_OK;
        }
        if (!add_scratch(d, n))
            return gm_no_memory(err);
        if (newline != NULL) {
            s->p++;
            *line = d->scratch.v;
            *length = d->scratch.n;
            return GM_OK;
        }
        GM_TRY(gm_source_more(s, 1, err));
        if (s->p == s->end)
            return truncated(d, err);
    }
}

static enum gm_status push(struct machine *d, struct gm_read_value v, struct gm_error *err)
{
    enum gm_status status = gm_assembler_room(d->a, gm_source_offset(d->source), err);
    if (status == GM_OK)
        d->a->stack.v[d->a->stack.n++] = v;
    return status;
}

static enum gm_status push_string(struct machine *d, const void *bytes, size_t length, struct gm_error *err)
{
    return gm_assembler_string(d->a, bytes, length, gm_source_offset(d->source), err);
}

static enum gm_status memo_set(struct machine *d, uint64_t slot, uint64_t at, struct gm_error *err)
{
    struct gm_assembler *a = d->a;
    if (a->stack.n == 0 || (a->marks.n > 0 && a->marks.v[a->marks.n - 1] == a->stack.n))
        return gm_fail(err, GM_E_CORRUPT, at, "nothing to memoise");
    /* Every writer numbers its memo upwards, and an object with its PUT takes more than one byte. */
    if (slot > at || slot >= UINT32_MAX)
        return gm_fail(err, GM_E_LIMIT, at, "memo index %llu in the first %llu bytes", (unsigned long long)slot,
                       (unsigned long long)at);
    size_t old = a->memo.n;
    if (slot >= old) {
        if (!GM_VEC_ROOM(&a->memo, slot + 1 - old))
            return gm_no_memory(err);
        memset(a->memo.v + old, 0xff, (size_t)(slot + 1 - old) * sizeof *a->memo.v); /* GM_NO_REF: never set */
        a->memo.n = (size_t)slot + 1;
    } else {
        a->known.lists.n = a->known.of_stack.n = a->known.bytes.n = a->known.last = 0;
    }
    struct gm_read_value *top = &a->stack.v[a->stack.n - 1];
    uint32_t ref = gm_assembler_ref(a, top);
    if (GM_REF_KIND(top->ref) == GM_KIND_OPEN) {
        if (top->slot != 0)
            return gm_fail(err, GM_E_CORRUPT, at, "a container under construction is memoised twice");
        top->slot = (uint32_t)slot + 1;
        ref = GM_REF(GM_KIND_OPEN, a->stack.n - 1);
    }
    if (ref == GM_NO_REF)
        return gm_no_memory(err);
    a->memo.v[slot] = ref;
    return GM_OK;
}

/* A container that is fetched must be complete by now, even if its parent has not consumed it yet: it is sealed. Should
 * it be extended later, it contained itself, and that fails then. */
static enum gm_status memo_get(struct machine *d, uint64_t slot, uint64_t at, struct gm_error *err)
{
    struct gm_assembler *a = d->a;
    if (slot >= a->memo.n || a->memo.v[slot] == GM_NO_REF)
        return gm_fail(err, GM_E_CORRUPT, at, "memo index %llu was never set", (unsigned long long)slot);
    uint32_t index = GM_REF_INDEX(a->memo.v[slot]);
    if (GM_REF_KIND(a->memo.v[slot]) == GM_KIND_OPEN) {
        if (index >= a->stack.n || a->stack.v[index].slot != slot + 1) /* it was popped */
            return gm_fail(err, GM_E_CORRUPT, at, "memo index %llu was never completed", (unsigned long long)slot);
        for (size_t i = a->marks.n; i > 0 && a->marks.v[i - 1] > index; i--)
            if (a->marks.v[i - 1] == index + 1)
                return gm_fail(err, GM_E_CORRUPT, at, "an object contains itself (memo index %llu)",
                               (unsigned long long)slot);
        GM_TRY(gm_assembler_seal(a, &a->stack.v[index], at, err));
    }
    return push(d, gm_assembler_value(a, a->memo.v[slot]), err);
}

/* The stack height at the last mark, which is removed. */
static enum gm_status pop_mark(struct machine *d, uint64_t at, size_t *height, struct gm_error *err)
{
    struct gm_assembler *a = d->a;
    if (a->marks.n == 0)
        return gm_fail(err, GM_E_CORRUPT, at, "an opcode needs a MARK, but there is none");
    *height = a->marks.v[--a->marks.n];
    return GM_OK;
}

/* How many values lie above the last mark. */
static size_t above_mark(const struct gm_assembler *a)
{
    return a->stack.n - (a->marks.n > 0 ? a->marks.v[a->marks.n - 1] : 0);
}

static enum gm_status need(const struct machine *d, size_t count, uint64_t at, struct gm_error *err)
{
    return above_mark(d->a) >= count ? GM_OK : gm_fail(err, GM_E_CORRUPT, at, "stack underflow");
}

static enum gm_status push_mark(struct machine *d, uint64_t at, struct gm_error *err)
{
    if (d->a->marks.n >= GM_MAX_DEPTH)
        return gm_fail(err, GM_E_LIMIT, at, "nested deeper than %d levels", GM_MAX_DEPTH);
    return GM_VEC_PUSH(&d->a->marks, (uint32_t)d->a->stack.n) ? GM_OK : gm_no_memory(err);
}

/* LIST and DICT of protocol 0: a container of everything above the mark, still open for more. */
static enum gm_status collect(struct machine *d, enum gm_open type, uint64_t at, struct gm_error *err)
{
    struct gm_assembler *a = d->a;
    size_t from = 0;
    enum gm_status status = pop_mark(d, at, &from, err);
    GM_THEN(status, push(d, (struct gm_read_value){0}, err));
    if (status != GM_OK)
        return status;
    struct gm_read_value *v = a->stack.v + from;
    memmove(v + 1, v, (a->stack.n - 1 - from) * sizeof *v);
    *v = (struct gm_read_value){.ref = GM_REF(GM_KIND_OPEN, type)};
    return type == GM_OPEN_LIST ? gm_assembler_append(a, from + 1, at, err)
                                : gm_assembler_put(a, from + 1, false, at, err);
}

/* ---- everything but the hot opcodes ----------------------------------------------------------------------------- */

static enum gm_status run_text(struct machine *d, unsigned op, uint64_t at, struct gm_error *err)
{
    const unsigned char *line = NULL;
    size_t length = 0;
    enum gm_status status = take_line(d, &line, &length, err);
    if (status != GM_OK)
        return status;
    uint64_t number = 0;
    struct gm_read_value v;
    switch (op) {
    case GM_OP_GET:
    case GM_OP_PUT:
        if (!gm_pickle_text_index(line, length, &number))
            return gm_fail(err, GM_E_CORRUPT, at, "a memo index is no number");
        return op == GM_OP_GET ? memo_get(d, number, at, err) : memo_set(d, number, at, err);
    case GM_OP_INT:
    case GM_OP_LONG:
        if (!gm_pickle_text_integer(line, length, op == GM_OP_INT, &v))
            return gm_fail(err, GM_E_CORRUPT, at, "%s is no integer", gm_op_name(op));
        return push(d, v, err);
    case GM_OP_FLOAT: {
        double real;
        if (!gm_pickle_text_real(line, length, &real))
            return gm_fail(err, GM_E_CORRUPT, at, "FLOAT is no number");
        return push(d, real_value(real), err);
    }
    default: { /* STRING, UNICODE: decoding never makes them longer than 3 bytes for 1 */
        GM_FREED unsigned char *text = malloc(length * 3 + 1);
        size_t n = 0;
        if (text == NULL)
            return gm_no_memory(err);
        bool ok = op == GM_OP_UNICODE ? gm_pickle_text_unicode(line, length, text, &n)
                                      : gm_pickle_text_string(line, length, text, &n);
        return ok ? push_string(d, text, n, err)
                  : gm_fail(err, GM_E_CORRUPT, at, "%s is not quoted or escaped properly", gm_op_name(op));
    }
    }
}

/* Strings and bytes with a length of 1, 4 or 8 bytes in front. */
static enum gm_status run_counted(struct machine *d, unsigned op, uint64_t at, struct gm_error *err)
{
    unsigned width = gm_op_length_width(op);
    const unsigned char *p = d->source->p;
    uint64_t length = width == 1 ? p[0] : width == 4 ? load_u32(p) : load_u64(p);
    d->source->p += width;
    if ((op == GM_OP_LONG4 || op == GM_OP_BINSTRING) && length > INT32_MAX)
        return gm_fail(err, GM_E_CORRUPT, at, "%s has a negative length", gm_op_name(op));
    if (length > INT64_MAX)
        return gm_fail(err, GM_E_CORRUPT, at, "%s claims %llu bytes", gm_op_name(op), (unsigned long long)length);
    const unsigned char *bytes = NULL;
    GM_TRY(take_bytes(d, length, &bytes, err));
    if (op == GM_OP_LONG4)
        return push(d, long_value(bytes, (size_t)length), err);
    return push_string(d, bytes, (size_t)length, err);
}

static enum gm_status run_tuple(struct machine *d, size_t count, uint64_t at, struct gm_error *err)
{
    enum gm_status status = need(d, count, at, err);
    return status != GM_OK ? status : gm_assembler_tuple(d->a, d->a->stack.n - count, at, err);
}

static enum gm_status run_pop(struct machine *d, uint64_t at, struct gm_error *err)
{
    struct gm_assembler *a = d->a;
    if (above_mark(a) == 0) { /* POP may also take a mark away */
        size_t height;
        return pop_mark(d, at, &height, err);
    }
    gm_assembler_cut(a, a->stack.n - 1);
    return GM_OK;
}

static enum gm_status run_dup(struct machine *d, uint64_t at, struct gm_error *err)
{
    GM_TRY(need(d, 1, at, err));
    struct gm_read_value top = d->a->stack.v[d->a->stack.n - 1];
    if (GM_REF_KIND(top.ref) == GM_KIND_OPEN)
        return gm_fail(err, GM_E_CORRUPT, at, "DUP of a container under construction");
    return push(d, top, err);
}

/* Runs one opcode whose fixed arguments are in the window; d->source->p is after the opcode. */
static enum gm_status run_rare(struct machine *d, unsigned op, uint64_t at, struct gm_error *err)
{
    struct gm_assembler *a = d->a;
    const unsigned char *p = d->source->p;
    size_t from = 0;
    enum gm_status status;
    switch (op) {
    case GM_OP_PROTO:
        if (p[0] > 5)
            return gm_fail(err, GM_E_CORRUPT, at, "pickle protocol %u is not known (0 to 5 are)", (unsigned)p[0]);
        if (*d->protocol < (int)p[0])
            *d->protocol = (int)p[0];
        d->source->p += 1;
        return GM_OK;
    case GM_OP_FRAME:
        d->source->p += 8;
        return GM_OK;
    case GM_OP_MARK:
        return push_mark(d, at, err);
    case GM_OP_POP:
        return run_pop(d, at, err);
    case GM_OP_POP_MARK:
        status = pop_mark(d, at, &from, err);
        if (status == GM_OK)
            gm_assembler_cut(a, from);
        return status;
    case GM_OP_DUP:
        return run_dup(d, at, err);
    case GM_OP_GET:
    case GM_OP_PUT:
    case GM_OP_INT:
    case GM_OP_LONG:
    case GM_OP_FLOAT:
    case GM_OP_STRING:
    case GM_OP_UNICODE:
        return run_text(d, op, at, err);
    case GM_OP_BINSTRING:
    case GM_OP_SHORT_BINSTRING:
    case GM_OP_BINBYTES:
    case GM_OP_SHORT_BINBYTES:
    case GM_OP_BINBYTES8:
    case GM_OP_BYTEARRAY8:
    case GM_OP_BINUNICODE:
    case GM_OP_SHORT_BINUNICODE:
    case GM_OP_BINUNICODE8:
    case GM_OP_LONG4:
        return run_counted(d, op, at, err);
    case GM_OP_NONE:
        return gm_assembler_null(a, at, err);
    case GM_OP_NEWTRUE:
    case GM_OP_NEWFALSE:
        return gm_assembler_bool(a, op == GM_OP_NEWTRUE, at, err);
    case GM_OP_BINFLOAT:
        d->source->p += 8;
        return push(d, big_endian_real(p), err);
    case GM_OP_EMPTY_LIST:
    case GM_OP_EMPTY_SET:
        return push(d, (struct gm_read_value){.ref = GM_REF(GM_KIND_OPEN, GM_OPEN_LIST)}, err);
    case GM_OP_EMPTY_DICT:
        return push(d, (struct gm_read_value){.ref = GM_REF(GM_KIND_OPEN, GM_OPEN_DICT)}, err);
    case GM_OP_EMPTY_TUPLE:
        return gm_assembler_tuple(a, a->stack.n, at, err);
    case GM_OP_TUPLE1:
        return run_tuple(d, 1, at, err);
    case GM_OP_TUPLE2:
        return run_tuple(d, 2, at, err);
    case GM_OP_TUPLE3:
        return run_tuple(d, 3, at, err);
    case GM_OP_TUPLE:
    case GM_OP_FROZENSET:
        status = pop_mark(d, at, &from, err);
        return status != GM_OK ? status : gm_assembler_tuple(a, from, at, err);
    case GM_OP_LIST:
        return collect(d, GM_OPEN_LIST, at, err);
    case GM_OP_DICT:
        return collect(d, GM_OPEN_DICT, at, err);
    case GM_OP_APPEND:
        status = need(d, 2, at, err);
        return status != GM_OK ? status : gm_assembler_append(a, a->stack.n - 1, at, err);
    case GM_OP_SETITEM:
        status = need(d, 3, at, err);
        return status != GM_OK ? status : gm_assembler_put(a, a->stack.n - 2, false, at, err);
    case GM_OP_APPENDS:
    case GM_OP_ADDITEMS:
    case GM_OP_SETITEMS:
        GM_TRY(pop_mark(d, at, &from, err));
        if (above_mark(a) - (a->stack.n - from) == 0)
            return gm_fail(err, GM_E_CORRUPT, at, "%s without a container", gm_op_name(op));
        return op == GM_OP_SETITEMS ? gm_assembler_put(a, from, true, at, err) : gm_assembler_append(a, from, at, err);
    case GM_OP_BINGET:
        d->source->p += 1;
        return memo_get(d, p[0], at, err);
    case GM_OP_LONG_BINGET:
        d->source->p += 4;
        return memo_get(d, load_u32(p), at, err);
    case GM_OP_BINPUT:
        d->source->p += 1;
        return memo_set(d, p[0], at, err);
    case GM_OP_LONG_BINPUT:
        d->source->p += 4;
        return memo_set(d, load_u32(p), at, err);
    case GM_OP_MEMOIZE:
        return memo_set(d, a->memo.n, at, err);
    case GM_OP_BININT1:
        d->source->p += 1;
        return gm_assembler_integer(a, p[0], false, at, err);
    case GM_OP_BININT2:
        d->source->p += 2;
        return gm_assembler_integer(a, load_u16(p), false, at, err);
    case GM_OP_BININT:
        d->source->p += 4;
        return push(d, long_value(p, 4), err);
    case GM_OP_LONG1:
        d->source->p += 1 + p[0];
        return push(d, long_value(p + 1, p[0]), err);
    default:
        if (gm_op_is_refused(op))
            return gm_fail(err, GM_E_REFUSED, at, "refused %s: it would run code, and no snapshot needs it",
                           gm_op_name(op));
        return gm_fail(err, GM_E_CORRUPT, at, "byte 0x%02x is no pickle opcode", op);
    }
}

/* ---- the hot loop ----------------------------------------------------------------------------------------------- */

/* References whose stack value is just the reference; the others (numbers, containers still open, slots never set) take
 * the slow path. */
static inline bool is_direct(uint32_t ref)
{
    enum gm_kind kind = GM_REF_KIND(ref);
    return kind != GM_KIND_SMALL && kind != GM_KIND_BOXED && kind != GM_KIND_OPEN;
}

/* Runs opcodes while MAX_FIXED bytes are in the window, the stack has room and nothing unusual happens. Handles the
 * opcodes that make up 99 % of a snapshot; returns with source->p at the first opcode that it leaves to run_rare. */
static enum gm_status run_hot(struct machine *d, struct gm_error *err)
{
    struct gm_source *s = d->source;
    struct gm_assembler *a = d->a;
    const unsigned char *p = s->p;
    const unsigned char *const stop = s->end - MAX_FIXED;
    struct gm_read_value *sp = a->stack.v + a->stack.n;
    const struct gm_read_value *limit = a->stack.v + a->stack.capacity;
    enum gm_status status = GM_OK;
#define OFFSET() (s->end_offset - (uint64_t)(s->end - p))
#define SYNC() (a->stack.n = (size_t)(sp - a->stack.v))
#define RELOAD() (sp = a->stack.v + a->stack.n, limit = a->stack.v + a->stack.capacity)
#define NUMBER(v)                                                                                                      \
    do {                                                                                                               \
        sp->bits = (v);                                                                                                \
        sp->ref = GM_REF(GM_KIND_NUMBER, GM_NUMBER_POSITIVE);                                                          \
        sp++;                                                                                                          \
    } while (0)
    while (p <= stop && sp < limit) {
        switch (p[0]) {
        case GM_OP_BINGET: /* keys and shared values; they come in runs, which the branch predictor likes as a loop */
            do {
                if (p[1] >= a->memo.n || !is_direct(a->memo.v[p[1]]))
                    goto out;
                sp->ref = a->memo.v[p[1]];
                sp++;
                p += 2;
            } while (p[0] == GM_OP_BINGET && p <= stop && sp < limit);
            continue;
        case GM_OP_LONG_BINGET: /* the frames of a stack */
            do {
                uint32_t slot = load_u32(p + 1);
                if (slot >= a->memo.n || !is_direct(a->memo.v[slot]))
                    goto out;
                sp->ref = a->memo.v[slot];
                sp++;
                p += 5;
            } while (p[0] == GM_OP_LONG_BINGET && p <= stop && sp < limit);
            continue;
        case GM_OP_MEMOIZE: {
            if (a->memo.n == a->memo.capacity || sp == a->stack.v ||
                (a->marks.n > 0 && a->marks.v[a->marks.n - 1] == (size_t)(sp - a->stack.v)))
                goto out;
            struct gm_read_value *top = sp - 1;
            enum gm_kind kind = GM_REF_KIND(top->ref);
            if (kind == GM_KIND_NUMBER)
                goto out;
            uint32_t ref = top->ref;
            if (kind == GM_KIND_OPEN) {
                if (top->slot != 0)
                    goto out;
                top->slot = (uint32_t)a->memo.n + 1;
                ref = GM_REF(GM_KIND_OPEN, sp - 1 - a->stack.v);
            }
            a->memo.v[a->memo.n++] = ref;
            p++;
            continue;
        }
        case GM_OP_BININT1:
            NUMBER(p[1]);
            p += 2;
            continue;
        case GM_OP_BININT2:
            NUMBER(load_u16(p + 1));
            p += 3;
            continue;
        case GM_OP_BININT:
            if ((p[4] & 0x80) != 0)
                goto out;
            NUMBER(load_u32(p + 1));
            p += 5;
            continue;
        case GM_OP_LONG1: {
            unsigned n = p[1];
            if (n == 0 || n > 8 || (p[1 + n] & 0x80) != 0)
                goto out;
            NUMBER(load_u64(p + 2) & UINT64_MAX >> (64 - 8 * n));
            p += 2 + n;
            continue;
        }
        case GM_OP_SHORT_BINUNICODE: {
            struct gm_string_id id = gm_intern_string(a->m, p + 2, p[1]);
            if (id.v == 0)
                goto out;
            sp->ref = GM_REF(GM_KIND_STRING, id.v);
            sp++;
            p += 2 + p[1];
            continue;
        }
        case GM_OP_EMPTY_DICT: {
            uint32_t row;
            const unsigned char *end = gm_pickle_row(a, p, stop, (size_t)(limit - sp), &row);
            *sp = (struct gm_read_value){.ref = end != NULL ? row : GM_REF(GM_KIND_OPEN, GM_OPEN_DICT)};
            sp++;
            p = end != NULL ? end : p + 1;
            continue;
        }
        case GM_OP_EMPTY_LIST:
            sp->bits = 0;
            sp->ref = GM_REF(GM_KIND_OPEN, GM_OPEN_LIST);
            sp->slot = 0;
            sp++;
            p++;
            continue;
        case GM_OP_NEWTRUE:
        case GM_OP_NEWFALSE:
            sp->ref = GM_REF(GM_KIND_CONSTANT, p[0] == GM_OP_NEWTRUE ? GM_CONSTANT_TRUE : GM_CONSTANT_FALSE);
            sp++;
            p++;
            continue;
        case GM_OP_MARK:
            if (a->marks.n >= GM_MAX_DEPTH || a->marks.n == a->marks.capacity)
                goto out;
            a->marks.v[a->marks.n++] = (uint32_t)(sp - a->stack.v);
            p++;
            continue;
        case GM_OP_SETITEMS:
        case GM_OP_APPENDS: {
            if (a->marks.n == 0)
                goto out;
            size_t from = a->marks.v[a->marks.n - 1];
            if (from == 0 || (a->marks.n > 1 && a->marks.v[a->marks.n - 2] >= from))
                goto out; /* no container between this mark and the one before */
            a->marks.n--;
            SYNC();
            status = p[0] == GM_OP_SETITEMS ? gm_assembler_put(a, from, true, OFFSET(), err)
                                            : gm_assembler_append(a, from, OFFSET(), err);
            if (status != GM_OK)
                goto out;
            RELOAD();
            p++;
            continue;
        }
        case GM_OP_TUPLE2:
            if (sp - a->stack.v < 2 || (a->marks.n > 0 && (size_t)(sp - a->stack.v) - a->marks.v[a->marks.n - 1] < 2))
                goto out;
            SYNC();
            status = gm_assembler_tuple(a, a->stack.n - 2, OFFSET(), err);
            if (status != GM_OK)
                goto out;
            RELOAD();
            p++;
            continue;
        default:
            goto out;
        }
    }
out:
    SYNC();
    s->p = p;
    return status;
#undef OFFSET
#undef SYNC
#undef RELOAD
#undef NUMBER
}

/* Runs one opcode with all checks. *stopped is set at STOP. */
static enum gm_status run_one(struct machine *d, bool *stopped, struct gm_error *err)
{
    struct gm_source *s = d->source;
    if (s->end - s->p < MAX_FIXED && !s->at_end) {
        GM_TRY(gm_source_more(s, MAX_FIXED, err));
    }
    if (!gm_op_is_complete(s->p, (size_t)(s->end - s->p)))
        return truncated(d, err);
    uint64_t at = gm_source_offset(s);
    unsigned op = *s->p++;
    if (op != GM_OP_STOP)
        return run_rare(d, op, at, err);
    if (d->a->stack.n != 1 || d->a->marks.n != 0)
        return gm_fail(err, GM_E_CORRUPT, at, "STOP with %zu values and %zu marks on the stack", d->a->stack.n,
                       d->a->marks.n);
    *stopped = true;
    return GM_OK;
}

enum gm_status gm_pickle_decode(struct gm_source *source, struct gm_decoded *out, struct gm_error *err)
{
    struct machine d = {.source = source, .a = out->values, .protocol = &out->pickle_protocol};
    enum gm_status status = GM_OK;
    bool stopped = false;
    out->pickle_protocol = 0;
    while (status == GM_OK && !stopped) {
        if (source->end - source->p > MAX_FIXED)
            status = run_hot(&d, err);
        GM_THEN(status, run_one(&d, &stopped, err));
    }
    free(d.scratch.v);
    return status;
}
