/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/allocator/conf.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/ascii.h"
#include "analyze/base/closest.h"
#include "analyze/base/size.h"

#include <locale.h>
#include <math.h>
#include <string.h>

struct gm_conf gm_conf_default(void)
{
    return (struct gm_conf){.rules = gm_rules_default(),
                            .max_non_split_rounding = 20 * GM_MIB,
                            .memory_fraction = 1,
                            .backend = GM_BACKEND_NATIVE};
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

enum { TOKEN = 64, TOKENS = 256, MOST_LARGE_MIB = 1 << 20 };

/* A word, or one of , : [ ] */
struct token {
    char text[TOKEN];
    size_t offset;
};
struct parser {
    struct token tokens[TOKENS];
    size_t count, at;
    struct gm_conf conf;         /* what has been read so far */
    struct gm_text *unknown;     /* names; may be NULL */
    bool is_typed;               /* by someone who may have misspelt it: no PyTorch has accepted it so far */
    uint64_t large_mib, ignored; /* the place of what changes nothing: a number, or a bool */
    struct gm_error *err;
};

static bool is_mark(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

static enum gm_status split(struct parser *p, const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (gm_is_blank(text[i]))
            continue;
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            return gm_fail(p->err, GM_E_USAGE, i, "allocator settings: a control character");
        bool is_new = is_mark(text[i]) || n == 0;
        if (is_new && p->count == TOKENS)
            return gm_fail(p->err, GM_E_USAGE, i, "allocator settings: more than %d words", TOKENS);
        if (is_new)
            p->tokens[p->count++] = (struct token){.offset = i};
        struct token *t = &p->tokens[p->count - 1];
        if (n + 1 == TOKEN)
            return gm_fail(p->err, GM_E_USAGE, t->offset, "allocator settings: a word of more than %d characters",
                           TOKEN - 1);
        t->text[is_mark(text[i]) ? 0 : n] = text[i];
        n = is_mark(text[i]) ? 0 : n + 1;
    }
    return GM_OK;
}

static const struct token *peek(const struct parser *p)
{
    static const struct token end = {.text = ""};
    return p->at < p->count ? &p->tokens[p->at] : &end;
}

static bool is(const struct token *t, const char *text)
{
    return strcmp(t->text, text) == 0;
}

static enum gm_status complain(const struct parser *p, const char *key, const char *what)
{
    const struct token *t = peek(p);
    const uint64_t offset = p->at < p->count ? t->offset : GM_NO_OFFSET;
    return gm_fail(p->err, GM_E_USAGE, offset, "allocator settings: %s: %s%s%s%s", key, what,
                   t->text[0] != '\0' ? ", found '" : "", t->text, t->text[0] != '\0' ? "'" : "");
}

/* The value that was read last is not one. */
static enum gm_status reject(struct parser *p, const char *key, const char *what)
{
    p->at--;
    return complain(p, key, what);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Reads what a key says into its place, which is of the type that `place` is turned into. */
typedef enum gm_status read_value(struct parser *p, const char *key, void *place);

static enum gm_status read_integer(struct parser *p, const char *key, uint64_t *value)
{
    const char *s = peek(p)->text;
    s += *s == '+';
    if (*s < '0' || *s > '9')
        return complain(p, key, "expects a whole number");
    *value = 0;
    for (; *s >= '0' && *s <= '9'; s++) {
        if (*value > (UINT64_MAX - 9) / 10)
            return complain(p, key, "the number is too large");
        *value = *value * 10 + (uint64_t)(*s - '0');
    }
    p->at++;
    return GM_OK;
}

static enum gm_status read_real(struct parser *p, const char *key, double *value)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0); /* a point is a point everywhere */
    if (plain == (locale_t)0)
        return gm_no_memory(p->err);
    char *end;
    *value = strtod_l(peek(p)->text, &end, plain) + 0.0; /* -0 is 0 */
    freelocale(plain);
    if (end == peek(p)->text || !isfinite(*value))
        return complain(p, key, "expects a number");
    p->at++;
    return GM_OK;
}

static enum gm_status read_bool(struct parser *p, const char *key, void *place)
{
    if (!is(peek(p), "True") && !is(peek(p), "False"))
        return complain(p, key, "expects True or False");
    *(bool *)place = is(peek(p), "True");
    p->at++;
    return GM_OK;
}

static bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

static enum gm_status read_divisions(struct parser *p, const char *key, uint32_t *divisions)
{
    uint64_t n = 0;
    GM_TRY(read_integer(p, key, &n));
    if ((n != 0 && !is_power_of_two(n)) || n > 1 << 20)
        return reject(p, key, "the number of divisions is not a power of two");
    *divisions = (uint32_t)n;
    return GM_OK;
}

static enum gm_status read_colon(struct parser *p, const char *key, const char *what)
{
    if (!is(peek(p), ":"))
        return complain(p, key, what);
    p->at++;
    return GM_OK;
}

/* After an entry of a list. */
static enum gm_status end_entry(struct parser *p, const char *key)
{
    if (!is(peek(p), ",") && !is(peek(p), "]"))
        return complain(p, key, "expects ',' or ']'");
    p->at += is(peek(p), ",");
    return GM_OK;
}

/* [256:1,512:2,>:4]: the first size also rules the smaller ones, '>' what is above the last size before it. */
static enum gm_status read_divisions_list(struct parser *p, const char *key, uint32_t slots[GM_ROUNDUP_SLOTS])
{
    unsigned above = 1;   /* the slot after the last named one; without any the first slot stays as it was */
    bool is_first = true; /* no size was named yet */
    memset(slots, 0, GM_ROUNDUP_SLOTS * sizeof *slots);
    while (!is(peek(p), "]")) {
        uint32_t divisions = 0;
        uint64_t mib = 0;
        const bool is_rest = is(peek(p), ">");
        if (is_rest)
            p->at++;
        else
            GM_TRY(read_integer(p, key, &mib));
        if (!is_rest && !is_power_of_two(mib))
            return reject(p, key, "an interval's size is not a power of two");
        GM_TRY(read_colon(p, key, "expects ':' between an interval and its divisions"));
        GM_TRY(read_divisions(p, key, &divisions));
        unsigned slot = 0;
        while (!is_rest && slot + 1 < GM_ROUNDUP_SLOTS && UINT64_C(1) << slot < mib)
            slot++;
        unsigned from = is_rest ? above : is_first ? 0 : slot, to = is_rest ? GM_ROUNDUP_SLOTS : slot + 1;
        for (unsigned i = from; i < to; i++)
            slots[i] = divisions;
        above = is_rest ? above : slot + 1; /* '>' names no size: a later entry goes on as if it were not there */
        is_first = is_first && is_rest;
        GM_TRY(end_entry(p, key));
    }
    p->at++;
    return GM_OK;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static uint64_t bytes_of(uint64_t mib)
{
    return gm_min(mib, UINT64_MAX / GM_MIB) * GM_MIB;
}

static enum gm_status read_mib_at_least_large(struct parser *p, const char *key, void *place)
{
    uint64_t mib = 0, *bytes = place;
    GM_TRY(read_integer(p, key, &mib));
    if (mib < p->large_mib)
        return reject(p, key,
                      "must not be smaller than the large segment size (20 MiB unless large_segment_size_mb says "
                      "otherwise)");
    *bytes = bytes_of(mib);
    return GM_OK;
}

static enum gm_status read_positive_mib(struct parser *p, const char *key, void *place)
{
    uint64_t mib = 0, *bytes = place;
    GM_TRY(read_integer(p, key, &mib));
    if (mib == 0)
        return reject(p, key, "must be more than 0");
    *bytes = bytes_of(mib);
    return GM_OK;
}

static enum gm_status read_large_segment(struct parser *p, const char *key, void *place)
{
    uint64_t mib = 0, *bytes = place;
    GM_TRY(read_integer(p, key, &mib));
    if (mib <= 10 || mib > MOST_LARGE_MIB)
        return reject(p, key, mib <= 10 ? "must be more than 10 MiB" : "is larger than any device");
    *bytes = mib * GM_MIB;
    return GM_OK;
}

static enum gm_status read_roundup(struct parser *p, const char *key, void *place)
{
    uint32_t *slots = place, divisions = 0;
    if (is(peek(p), "[")) {
        p->at++;
        return read_divisions_list(p, key, slots);
    }
    enum gm_status status = read_divisions(p, key, &divisions);
    for (int i = 0; status == GM_OK && i < GM_ROUNDUP_SLOTS; i++)
        slots[i] = divisions;
    return status;
}

static enum gm_status read_threshold(struct parser *p, const char *key, void *place)
{
    double *share = place;
    GM_TRY(read_real(p, key, share));
    return *share > 0 && *share < 1 ? GM_OK : reject(p, key, "must be more than 0 and less than 1");
}

static enum gm_status read_fraction(struct parser *p, const char *key, void *place)
{
    double *share = place;
    GM_TRY(read_real(p, key, share));
    return *share >= 0 && *share <= 1 ? GM_OK : reject(p, key, "must be from 0 to 1");
}

static enum gm_status read_backend(struct parser *p, const char *key, void *place)
{
    if (!is(peek(p), "native") && !is(peek(p), "cudaMallocAsync"))
        return complain(p, key, "expects native or cudaMallocAsync");
    *(enum gm_backend *)place = is(peek(p), "native") ? GM_BACKEND_NATIVE : GM_BACKEND_ASYNC;
    p->at++;
    return GM_OK;
}

static enum gm_status read_threads(struct parser *p, const char *key, void *place)
{
    uint64_t *n = place;
    GM_TRY(read_integer(p, key, n));
    return is_power_of_two(*n) && *n <= 128 ? GM_OK : reject(p, key, "must be a power of two, at most 128");
}

static enum gm_status read_any(struct parser *p, const char *key, void *place)
{
    (void)place;
    if (p->at == p->count || is_mark(peek(p)->text[0]))
        return complain(p, key, "expects a value");
    p->at++;
    return GM_OK;
}

/* A fraction of the device, or a number of GiB with a G behind it; PyTorch ignores what is neither. */
static enum gm_status read_reserve(struct parser *p, const char *key, void *place)
{
    const char *text = peek(p)->text, last = text[0] == '\0' ? '\0' : text[strlen(text) - 1];
    struct gm_error ignored;
    struct gm_error *err = p->err;
    size_t at = p->at;
    double value = 0;
    p->err = &ignored;
    enum gm_status status = read_real(p, key, &value);
    p->err = err;
    p->at = at;
    if (status == GM_E_NOMEM)
        return gm_fail(err, status, GM_NO_OFFSET, "out of memory");
    p->conf.reserve_bytes = 0;
    p->conf.reserve_fraction = 0;
    if (status == GM_OK && value > 0 && (last == 'G' || last == 'g'))
        p->conf.reserve_bytes = value < 1 << 30 ? (uint64_t)(value * (double)GM_GIB) : 0;
    else if (status == GM_OK && value > 0)
        p->conf.reserve_fraction = value;
    return read_any(p, key, place);
}

/* [name:value,...]: PyTorch lets bad values pass. */
static enum gm_status read_any_list(struct parser *p, const char *key, void *place)
{
    if (!is(peek(p), "["))
        return complain(p, key, "expects a list");
    p->at++;
    while (!is(peek(p), "]")) {
        GM_TRY(read_any(p, key, place));
        GM_TRY(read_colon(p, key, "expects ':' between a name and its value"));
        GM_TRY(read_any(p, key, place));
        GM_TRY(end_entry(p, key));
    }
    p->at++;
    return GM_OK;
}

static const struct {
    const char *key;
    read_value *read;
    size_t place;
} keys[] = {
#define AT(field) offsetof(struct parser, field)
    {"max_split_size_mb", read_mib_at_least_large, AT(conf.rules.max_split)},
    {"max_non_split_rounding_mb", read_mib_at_least_large, AT(conf.max_non_split_rounding)},
    {"large_segment_size_mb", read_large_segment, AT(conf.rules.large_segment)},
    {"roundup_power2_divisions", read_roundup, AT(conf.rules.roundup)},
    {"garbage_collection_threshold", read_threshold, AT(conf.gc_threshold)},
    {"per_process_memory_fraction", read_fraction, AT(conf.memory_fraction)},
    {"expandable_segments", read_bool, AT(conf.expandable_segments)},
    {"backend", read_backend, AT(conf.backend)},
    {"release_lock_on_cudamalloc", read_bool, AT(conf.releases_lock)},
    {"release_lock_on_hipmalloc", read_bool, AT(conf.releases_lock)},
    /* On 2.12 to 2.15 the failing request retries as without it. */
    {"throw_on_cudamalloc_oom", read_bool, AT(conf.rejects)},
    {"graph_capture_record_stream_reuse", read_bool, AT(ignored)},
    {"pinned_use_cuda_host_register", read_bool, AT(ignored)},
    {"pinned_use_hip_host_register", read_bool, AT(ignored)},
    {"pinned_use_background_threads", read_bool, AT(ignored)},
    {"pinned_free_catch_all", read_bool, AT(ignored)},
    {"pinned_num_register_threads", read_threads, AT(ignored)},
    {"pinned_reserve_segment_size_mb", read_positive_mib, AT(ignored)},
    {"pinned_max_cached_size_mb", read_any, AT(ignored)},
    {"pinned_max_round_threshold_mb", read_any, AT(ignored)},
    {"expandable_segments_reserve", read_reserve, AT(ignored)},
    {"expandable_segments_reserve_by_class", read_any_list, AT(ignored)}, /* of streams that a program has tagged */
    {"roundup_bypass_threshold_mb", read_positive_mib, AT(conf.rules.roundup_bypass)}, /* 1.13 and 2.0 */
#undef AT
};

void gm_conf_words(struct gm_text *out)
{
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (keys[k].read == read_bool)
            gm_text_printf(out, "%s:True\n%s:False\n", keys[k].key, keys[k].key);
        else if (keys[k].read == read_backend)
            gm_text_printf(out, "%s:native\n%s:cudaMallocAsync\n", keys[k].key, keys[k].key);
        else
            gm_text_printf(out, "%s:\n", keys[k].key);
    }
}

/* Up to the next comma that is in no list. */
static enum gm_status skip_value(struct parser *p)
{
    for (bool in_list = false; p->at < p->count && (in_list || !is(peek(p), ",")); p->at++)
        in_list = is(peek(p), "[") || (in_list && !is(peek(p), "]"));
    return GM_OK;
}

static void add_unknown(const struct parser *p, const char *name)
{
    struct gm_closest closest = gm_closest_to(name, strlen(name));
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        gm_closest_offer(&closest, keys[k].key);
    if (p->unknown != NULL)
        gm_text_printf(p->unknown, "%s%s", p->unknown->length > 0 ? ", " : "", name);
    if (p->unknown != NULL && p->is_typed && closest.name != NULL)
        gm_text_printf(p->unknown, " (did you mean '%s'?)", closest.name);
}

static enum gm_status read_pair(struct parser *p)
{
    const struct token *name = peek(p);
    size_t k = 0, n = sizeof keys / sizeof *keys;
    while (k < n && !is(name, keys[k].key))
        k++;
    p->at++;
    if (is_mark(name->text[0]) || !is(peek(p), ":"))
        return complain(p, name->text, "expects ':' and a value");
    p->at++;
    if (k < n)
        return keys[k].read(p, keys[k].key, (char *)p + keys[k].place);
    add_unknown(p, name->text);
    return skip_value(p);
}

/* A pair, and the comma after it. */
static enum gm_status read_pair_and_comma(struct parser *p)
{
    enum gm_status status = read_pair(p);
    if (status == GM_OK && p->at < p->count && !is(peek(p), ","))
        status = complain(p, "after a value", "expects ','");
    p->at += status == GM_OK; /* one at the end is let pass */
    return status;
}

/* large_segment_size_mb bounds other keys wherever it stands, so it is read first; the last one counts. */
static enum gm_status read_large_first(struct parser *p)
{
    enum gm_status status = GM_OK;
    for (p->at = 0; p->at < p->count && status == GM_OK;) {
        if (is(peek(p), "large_segment_size_mb"))
            status = read_pair(p);
        else
            p->at++;
    }
    p->large_mib = p->conf.rules.large_segment / GM_MIB;
    p->conf.max_non_split_rounding = p->conf.rules.large_segment;
    p->at = 0;
    return status;
}

static enum gm_status begin(struct parser *p, const struct gm_conf *conf, const char *text, size_t length)
{
    p->conf = *conf;
    p->conf.rules.max_split = UINT64_MAX;
    p->conf.gc_threshold = 0;
    memset(p->conf.rules.roundup, 0, sizeof p->conf.rules.roundup);
    return split(p, text, length);
}

enum gm_status gm_conf_parse(struct gm_conf *conf, const char *text, size_t length, struct gm_text *unknown,
                             struct gm_error *err)
{
    struct parser p = {.err = err, .unknown = unknown, .is_typed = true};
    enum gm_status status = begin(&p, conf, text, length);
    GM_THEN(status, read_large_first(&p));
    while (status == GM_OK && p.at < p.count)
        status = read_pair_and_comma(&p);
    if (status == GM_OK)
        *conf = p.conf;
    return status;
}

static void say(struct gm_text *odd, const char *what)
{
    if (odd != NULL && odd->length > 0)
        gm_text_add(odd, "; ");
    if (odd != NULL)
        gm_text_add(odd, what);
}

void gm_conf_read(struct gm_conf *conf, const char *text, size_t length, struct gm_text *odd)
{
    struct gm_error err;
    GM_FREED struct gm_text unknown = {0};
    struct parser p = {.err = &err, .unknown = &unknown};
    enum gm_status status = begin(&p, conf, text, length);
    if (status != GM_OK) {
        say(odd, err.message);
    } else {
        read_large_first(&p); /* what is wrong with it is said below */
        while (p.at < p.count) {
            const struct gm_conf before = p.conf;
            if (read_pair_and_comma(&p) == GM_OK)
                continue;
            p.conf = before;
            say(odd, err.message);
            skip_value(&p);
            p.at++;
        }
        *conf = p.conf;
    }
    if (unknown.length > 0)
        say(odd, "options that are not known here: ");
    if (unknown.length > 0 && odd != NULL)
        gm_text_add(odd, unknown.data);
}
