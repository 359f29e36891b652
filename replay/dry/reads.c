/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads of what is made up: which operator made them, from the C++ functions on the stack, and which line of the
 * program called it. Each pair is told once on stderr and in the log, and counted.
 *
 * PyTorch exports a function for each operator, at::_ops::NAME_OVERLOAD::call, and others by which some kernels are
 * known. The outermost operator is the one that the program called; the inner ones tell what the number is for.
 */
#include "replay/dry/private.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 96, CHAINS = 1024, SITES = 256, SAID = 12 };

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* What it is that an operator reads. */
static const struct {
    const char *name;
    enum dry_reading reading;
} operators[] = {
    {"nonzero", DRY_READS_COUNT},
    {"repeat_interleave", DRY_READS_SUM},
    {"unique_dim", DRY_READS_DISTINCT},
    {"unique_consecutive", DRY_READS_DISTINCT},
    {"_unique", DRY_READS_DISTINCT},
    {"_unique2", DRY_READS_DISTINCT},
    {"unique_dim_consecutive", DRY_READS_DISTINCT},
    {"_coalesce", DRY_READS_DISTINCT},
    {"bincount", DRY_READS_MOST},
    {"one_hot", DRY_READS_MOST},
    {"allclose", DRY_READS_CHECK},
    {"_is_all_true", DRY_READS_CHECK},
    {"linalg_eig", DRY_READS_CHECK}, /* is all finite? */
    {"_linalg_check_errors", DRY_READS_TROUBLE},
    {"multinomial", DRY_READS_BOTH}, /* up to 2.5: are these probabilities? is their sum 0? */
};

/* "repeat_interleave_self_Tensor": overloads' names begin with a capital but for these. */
static void cut_overload(char *name)
{
    for (char *at = name; *at != '\0'; at++)
        if (at[0] == '_' && at[1] >= 'A' && at[1] <= 'Z') {
            *at = '\0';
            break;
        }
    if (strncmp(name, "to_dtype", 8) == 0 || strcmp(name, "to_device") == 0 || strcmp(name, "to_other") == 0)
        name[2] = '\0';
    static const char *const ends[] = {"_self", "_out"};
    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(name), m = strlen(ends[i]);
        if (n > m && strcmp(name + n - m, ends[i]) == 0)
            name[n - m] = '\0';
    }
}

/* "_ZN2at4_ops7nonzero4callERKNS_6TensorE". */
static bool read_operator(char name[DRY_OPERATOR], const char *symbol)
{
    static const char before[] = "_ZN2at4_ops";
    if (symbol == NULL || strncmp(symbol, before, sizeof before - 1) != 0)
        return false;
    char *from = NULL;
    const unsigned long length = strtoul(symbol + sizeof before - 1, &from, 10);
    if (length == 0 || length > strlen(from))
        return false;
    snprintf(name, DRY_OPERATOR, "%.*s", (int)(length < DRY_OPERATOR ? length : DRY_OPERATOR - 1), from);
    cut_overload(name);
    return true;
}

static enum dry_reading reading_of(const char *name)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].name, name) == 0)
            return operators[i].reading;
    return DRY_READS_VALUE;
}

/* A stack of C++ functions between Python and the copy, by its addresses: looking up names takes a millisecond each. */
struct chain {
    uint64_t key;                                   /* 0: free */
    char called[DRY_OPERATOR], inner[DRY_OPERATOR]; /* "": none; what it read by, if that is another one */
    enum dry_reading reading;
};
static struct chain chains[CHAINS];

static void read_chain(struct chain *chain, void *const *stack, size_t depth)
{
    Dl_info info;
    char name[DRY_OPERATOR];
    for (size_t i = 0; i < depth; i++) {
        if (dladdr(stack[i], &info) == 0)
            continue;
        if (strstr(info.dli_fname, "/libpython") != NULL ||
            (info.dli_sname != NULL && strncmp(info.dli_sname, "_PyEval", 7) == 0))
            break;
        if (!read_operator(name, info.dli_sname))
            continue;
        if (chain->reading == DRY_READS_VALUE && (chain->reading = reading_of(name)) != DRY_READS_VALUE)
            memcpy(chain->inner, name, sizeof name);
        memcpy(chain->called, name, sizeof name);
    }
    if (strcmp(chain->inner, chain->called) == 0)
        chain->inner[0] = '\0';
}

static uint64_t key_of(void *const *stack, size_t depth)
{
    uint64_t key = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < depth; i++)
        key = (key ^ (uint64_t)(uintptr_t)stack[i]) * UINT64_C(1099511628211);
    return key == 0 ? 1 : key;
}

/* Not under the lock: looking up names takes the loader's. */
static struct chain chain_of(void *const *stack, size_t depth)
{
    struct chain chain = {.key = key_of(stack, depth)};
    size_t at = chain.key % CHAINS;
    dry_lock();
    const struct chain known = chains[at];
    dry_unlock();
    if (known.key == chain.key)
        return known;
    read_chain(&chain, stack, depth);
    dry_lock();
    chains[at] = chain; /* the last one that has this place */
    dry_unlock();
    return chain;
}

/* ---- sites ------------------------------------------------------------------------------------------------------- */

struct site {
    struct chain chain;
    struct dry_line line;
    uint64_t count, told; /* reads; of them in the log */
    uint64_t typed;       /* bytes of the last one whose type was asked for: as many again have the same */
    enum dry_type type;
};
static struct site sites[SITES]; /* the last one is for all that have no room */
static size_t site_count;
static unsigned said[2]; /* values, sizes */

static bool is_size(enum dry_reading reading)
{
    return reading >= DRY_READS_COUNT;
}

/* "train.py:41"; without a line, what there is instead. */
enum { WHERE = DRY_FILE + 16 };
static const char *where(char text[WHERE], const struct dry_line *line)
{
    if (line->line > 0)
        snprintf(text, WHERE, "%s:%d", line->file, line->line);
    else
        snprintf(text, WHERE, "%s", line->file);
    return text;
}

static void write_site(struct site *site)
{
    char text[WHERE];
    const uint64_t more = site->count - site->told;
    site->told = site->count;
    if (more > 0)
        dry_tell("read %s %" PRIu64 " %s %s %s\n", is_size(site->chain.reading) ? "size" : "value", more,
                 site->chain.called[0] == '\0' ? "-" : site->chain.called,
                 site->chain.inner[0] == '\0' ? "-" : site->chain.inner, where(text, &site->line));
}

static void say(const struct site *site, unsigned before)
{
    char text[WHERE];
    const struct chain *chain = &site->chain;
    const bool size = is_size(chain->reading);
    if (before == SAID)
        fprintf(stderr, "gmdry: more places read made-up %s: the list at the end has them\n",
                size ? "sizes" : "values");
    if (before >= SAID)
        return;
    fprintf(stderr, "gmdry: %s%s%s%s at %s: %s (--data %s)\n",
            chain->called[0] == '\0' ? "a copy to the host" : chain->called, chain->inner[0] == '\0' ? "" : " (",
            chain->inner, chain->inner[0] == '\0' ? "" : ")", where(text, &site->line),
            size ? "a size depends on data, which is made up" : "the program reads a value, which is made up",
            dry_data_name());
}

/* The site's place, new or not; under the lock. */
static struct site *place_of(const struct chain *chain, const struct dry_line *line, bool *is_new)
{
    size_t i = 0;
    while (i < site_count &&
           (sites[i].line.line != line->line || strcmp(sites[i].chain.called, chain->called) != 0 ||
            is_size(sites[i].chain.reading) != is_size(chain->reading) || strcmp(sites[i].line.file, line->file) != 0))
        i++;
    *is_new = i == site_count;
    if (i == SITES)
        i = SITES - 1;
    if (*is_new && site_count < SITES) {
        sites[i] = (struct site){.chain = *chain, .line = *line};
        if (++site_count == SITES) {
            sites[i].chain = (struct chain){.reading = chain->reading};
            snprintf(sites[i].line.file, sizeof sites[i].line.file, "elsewhere");
            sites[i].line.line = 0;
        }
    }
    *is_new = *is_new && i < SITES - 1;
    return &sites[i];
}

/* Checks that torch's own Python makes, by its files: what they read if all is well, whatever --data says. */
static enum dry_reading check_of(enum dry_reading reading, const char *inner, uint64_t bytes)
{
    static const char *const truths[] = {"/torch/distributions/", "/torch/testing/"};
    static const char *const troubles[] = {"/torch/nn/utils/",
                                           "/torch/amp/grad_scaler.py"}; /* is anything not finite? */
    if (reading != DRY_READS_VALUE)
        return reading;
    for (size_t i = 0; i < 2; i++) {
        if (bytes == 1 && strstr(inner, truths[i]) != NULL)
            return DRY_READS_CHECK;
        if (bytes <= 8 && strstr(inner, troubles[i]) != NULL)
            return DRY_READS_TROUBLE;
    }
    return reading;
}

/* Asking takes milliseconds: Python looks at all that it has. */
static enum dry_type type_of(struct site *site, const void *from, uint64_t bytes)
{
    dry_lock();
    const bool is_known = site->typed == bytes;
    enum dry_type type = site->type;
    dry_unlock();
    if (is_known)
        return type;
    type = dry_type_at(from);
    dry_lock();
    site->type = type;
    site->typed = bytes;
    dry_unlock();
    return type;
}

enum dry_reading dry_read(const void *from, uint64_t bytes, enum dry_type *type)
{
    static _Thread_local bool is_second;
    void *stack[DEPTH];
    struct dry_line line;
    char inner[DRY_FILE];
    bool is_new;
    *type = DRY_TYPE_UNKNOWN;
    const int depth = backtrace(stack, DEPTH);
    struct chain chain = chain_of(stack, depth > 0 ? (size_t)depth : 0);
    if (!dry_python_line(&line, inner))
        line = (struct dry_line){.file = "no line of Python"};
    dry_count_to_host(bytes);
    if (bytes == 1 && chain.reading == DRY_READS_SUM)
        return DRY_READS_CHECK; /* none of them is negative: at a place that has a line already */
    if (chain.reading == DRY_READS_BOTH)
        chain.reading = (is_second = !is_second) ? DRY_READS_CHECK : DRY_READS_TROUBLE;
    chain.reading = check_of(chain.reading, inner, bytes);
    dry_lock();
    struct site *site = place_of(&chain, &line, &is_new), copy = *site;
    site->count++;
    const unsigned before = said[is_size(chain.reading)];
    if (is_new) {
        said[is_size(chain.reading)]++;
        copy.count = 1;
        site->told = 1;
    }
    dry_unlock();
    if (is_new) {
        write_site(&copy);
        say(&copy, before);
    }
    if (chain.reading == DRY_READS_VALUE && from != NULL && dry_data() != DRY_ZEROS)
        *type = type_of(site, from, bytes);
    return chain.reading;
}

/* A child has its own. */
void dry_reads_forget(void)
{
    site_count = 0;
    said[0] = said[1] = 0;
}

void dry_reads_end(void)
{
    for (size_t i = 0; i < site_count; i++)
        write_site(&sites[i]);
}
