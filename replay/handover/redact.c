/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/handover/redact.h"

#include "analyze/base/ascii.h"
#include "analyze/base/text.h"
#include "analyze/snapshot/words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a string is used as; several at once. The first that holds decides what it becomes. */
enum use {
    USE_SETTING = 1,
    USE_PUBLIC_NAME = 2, /* the name of a frame of a public package */
    USE_FILE = 4,
    USE_NAME = 8,
    USE_OTHER = 16
};

struct work {
    const struct gm_snapshot *s;
    const struct gm_redact_options *options;
    struct gm_redacted *out;
    uint8_t *use; /* [strings.count] */
    struct gm_text text;
};

/* ---- what may stay ----------------------------------------------------------------------------------------------- */

static bool is_format_word(const char *text, size_t n)
{
    for (int word = 0; word < GM_WORD_COUNT; word++)
        if (gm_is_text(text, n, gm_word_text((enum gm_word)word)))
            return true;
    return false;
}

/* Names that say nothing of a program, and much of what it does. */
static bool is_usual_name(const char *text, size_t n)
{
    static const char *const names[] = {"forward",    "backward",           "step",     "main",       "train",
                                        "??",         "<module>",           "<lambda>", "<listcomp>", "<genexpr>",
                                        "<dictcomp>", "<setcomp>",          "wrapper",  "_call_impl", "inner",
                                        "zero_grad",  "_wrapped_call_impl", NULL};
    const bool is_dunder = n > 4 && gm_begins_with(text, n, "__") && memcmp(text + n - 2, "__", 2) == 0;
    for (size_t i = 2; is_dunder && i + 2 < n; i++)
        if (!gm_is_lower(text[i]) && text[i] != '_')
            return gm_is_one_of_texts(text, n, names);
    return is_dunder || gm_is_one_of_texts(text, n, names);
}

/* C++ frames of PyTorch, of CUDA and of Python itself, by the namespace that they begin with. */
static bool is_public_symbol(const char *text, size_t n)
{
    static const char *const begin[] = {"at::",   "c10::",    "torch::", "std::", "_PyEval", "_PyObject", "_PyFunction",
                                        "PyEval", "PyObject", "THP",     "cuda",  "cublas",  "cudnn",     "nccl"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (gm_begins_with(text, n, begin[i]) && memchr(text, '/', n) == NULL)
            return true;
    return false;
}

/* Profiler steps and what PyTorch itself calls its ranges. */
static bool is_public_note(const char *text, size_t n)
{
    static const char *const begin[] = {"ProfilerStep#", "Optimizer.step#", "Optimizer.zero_grad#"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++) {
        const size_t at = strlen(begin[i]);
        if (!gm_begins_with(text, n, begin[i]))
            continue;
        size_t k = at;
        while (k < n && (i == 0 ? gm_is_digit(text[k]) : gm_is_letter(text[k])))
            k++;
        return k == n && k > at && n - at <= 10;
    }
    return false;
}

/* The part of a path from a public package's name on; NULL: it lies in none. */
static const char *public_part(const struct work *w, const char *path, size_t n)
{
    static const char *const homes[] = {"/site-packages/", "/dist-packages/"};
    const char *from = NULL;
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i + strlen(homes[h]) < n; i++)
            if (memcmp(path + i, homes[h], strlen(homes[h])) == 0)
                from = path + i + strlen(homes[h]);
    if (from == NULL)
        return NULL;
    const size_t rest = (size_t)(path + n - from);
    for (size_t i = 0; i <= w->options->package_count; i++) {
        const char *package = i == 0 ? "torch" : w->options->packages[i - 1];
        if (gm_begins_with(from, rest, package) && rest > strlen(package) && from[strlen(package)] == '/')
            return from;
    }
    return NULL;
}

static bool is_no_file(const char *text, size_t n)
{
    static const char *const names[] = {"", "??", "<string>", "<stdin>", "<frozen runpy>", NULL};
    return gm_is_one_of_texts(text, n, names);
}

/* ---- uses -------------------------------------------------------------------------------------------------------- */

static void use_rare(struct work *w, const struct gm_rare_column *column)
{
    w->use[column->all] |= USE_OTHER;
    for (size_t i = 0; column->v != NULL && i < w->s->events.count; i++)
        w->use[column->v[i]] |= USE_OTHER;
}

static void use_value(struct work *w, const struct gm_loose *value, enum use use)
{
    if (value->type == GM_LOOSE_STRING)
        w->use[value->bits] |= (uint8_t)use;
}

/* All texts of allocator_settings, keys too. Real ones are two levels deep. */
static void use_settings(struct work *w, const struct gm_loose *value, int depth)
{
    enum { MOST_DEPTH = 8 };
    use_value(w, value, USE_SETTING);
    if ((value->type != GM_LOOSE_LIST && value->type != GM_LOOSE_DICT) || depth == MOST_DEPTH)
        return;
    for (size_t i = 0; i < value->count && value->bits + i < w->s->loose_count; i++)
        use_settings(w, &w->s->loose[value->bits + i], depth + 1);
}

static void use_frames(struct work *w)
{
    const struct gm_frames *f = &w->s->frames;
    for (uint32_t i = 1; i < f->count; i++) {
        size_t n;
        const char *path = gm_string(w->s, f->filename[i], &n);
        w->use[f->name[i].v] |= public_part(w, path, n) != NULL ? USE_PUBLIC_NAME : USE_NAME;
        w->use[f->filename[i].v] |= USE_FILE;
    }
}

static void find_uses(struct work *w)
{
    const struct gm_snapshot *s = w->s;
    use_frames(w);
    use_rare(w, &s->events.compile_context);
    use_rare(w, &s->events.user_metadata);
    use_rare(w, &s->events.action_name);
    use_rare(w, &s->events.category);
    for (size_t i = 0; i < s->annotation_count; i++)
        w->use[s->annotations[i].name.v] |= USE_OTHER;
    for (size_t i = 0; i < s->setting_count; i++)
        w->use[s->settings[i].string.v] |= USE_SETTING;
    use_settings(w, &s->settings_tree, 0);
    for (size_t i = 0; i < s->loose_count; i++)
        use_value(w, &s->loose[i], USE_OTHER);
    for (int kind = 0; kind < GM_ROW_KIND_COUNT; kind++)
        for (size_t i = 0; i < s->extras[kind].count; i++) {
            w->use[s->extras[kind].v[i].key] |= USE_OTHER;
            use_value(w, &s->extras[kind].v[i].value, USE_OTHER);
        }
    for (int kind = 0; kind < GM_ORDER_COUNT; kind++)
        for (size_t i = 0; i < s->key_orders[kind].count; i++)
            w->use[s->key_orders[kind].keys[i]] |= USE_OTHER;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void put_hash(struct work *w, const char *kind, const char *text, size_t n, int digits)
{
    const uint64_t hash = gm_siphash_2_4(w->options->salt, text, n);
    gm_text_printf(&w->text, "%s_%0*" PRIx64, kind, digits, hash >> (64 - 4 * digits));
}

/* What kind of source it is stays, for who reads a report. */
static void put_suffix(struct work *w, const char *name, size_t n)
{
    static const char *const suffixes[] = {".py", ".pyx", ".cpp", ".cc", ".cu", ".cuh", ".h", ".hpp", ".so"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const size_t length = strlen(suffixes[i]);
        if (n > length && memcmp(name + n - length, suffixes[i], length) == 0)
            gm_text_add(&w->text, suffixes[i]);
    }
}

/* Folder by folder, so that files of one folder still share it. */
static void put_path(struct work *w, const char *path, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        if (path[i] != '/')
            continue;
        if (i > from)
            put_hash(w, "d", path, i, 8);
        gm_text_add_char(&w->text, '/');
        from = i + 1;
    }
    put_hash(w, "m", path, n, 10);
    put_suffix(w, path, n);
}

/* The text that string `id` becomes, at the end of w->text; whether it is another one. */
static bool put_text(struct work *w, uint32_t id)
{
    struct gm_redacted *out = w->out;
    size_t n;
    const char *text = gm_string(w->s, (struct gm_string_id){id}, &n), *from;
    const uint8_t use = w->use[id];
    if (use == 0)
        return true; /* nothing refers to it: it becomes nothing */
    if (n == 0 || is_format_word(text, n)) {
        out->words++;
    } else if ((use & USE_FILE) && (from = public_part(w, text, n)) != NULL) {
        out->public_files++;
        gm_text_add(&w->text, "/site-packages/");
        gm_text_add_bytes(&w->text, from, (size_t)(text + n - from));
        return false;
    } else if (use & USE_FILE && !is_no_file(text, n)) {
        out->files++;
        put_path(w, text, n);
        return true;
    } else if (use & USE_SETTING) {
        out->settings++;
    } else if ((use & USE_PUBLIC_NAME) || (use & USE_FILE) || is_public_note(text, n) ||
               ((use & USE_NAME) && (is_usual_name(text, n) || is_public_symbol(text, n)))) {
        out->public_names++;
    } else {
        out->names += (use & USE_NAME) != 0;
        out->others += (use & USE_NAME) == 0;
        put_hash(w, use & USE_NAME ? "f" : "t", text, n, 10);
        return true;
    }
    gm_text_add_bytes(&w->text, text, n);
    return false;
}

static bool put_texts(struct work *w)
{
    struct gm_redacted *out = w->out;
    const uint32_t count = w->s->strings.count;
    for (uint32_t id = 0; id < count; id++) {
        const size_t words = out->words;
        out->start[id] = w->text.length;
        const bool is_hashed = put_text(w, id);
        if (w->text.failed)
            return false;
        const char *made = w->text.data == NULL ? "" : w->text.data + out->start[id];
        if (gm_intern_add(&out->texts, made, w->text.length - out->start[id]) == GM_INTERN_NONE)
            return false;
        if (!is_hashed && out->words == words)
            out->kept[out->kept_count++] = id;
    }
    out->start[count] = w->text.length;
    gm_text_add(&w->text, ""); /* there is a byte, whatever they are */
    return !w->text.failed;
}

enum gm_status gm_redact(struct gm_redacted *out, const struct gm_snapshot *snapshot,
                         const struct gm_redact_options *options, struct gm_error *err)
{
    const size_t count = snapshot->strings.count;
    struct work w = {.s = snapshot, .options = options, .out = out, .use = calloc(count + 1, 1)};
    *out = (struct gm_redacted){.snapshot = *snapshot};
    if (snapshot->profile != NULL) {
        free(w.use);
        return gm_fail(err, GM_E_FORMAT, GM_NO_OFFSET,
                       "a trace of torch.profiler is no snapshot, and cannot be redacted");
    }
    out->start = calloc(count + 1, sizeof *out->start);
    out->kept = calloc(count + 1, sizeof *out->kept);
    bool ok = w.use != NULL && out->start != NULL && out->kept != NULL;
    if (ok) {
        find_uses(&w);
        ok = put_texts(&w);
    }
    free(w.use);
    out->bytes = w.text.data;
    out->snapshot.strings.start = out->start;
    out->snapshot.strings.bytes = out->bytes;
    out->snapshot.source.path = "-";
    out->snapshot.warning_count = 0;
    return ok ? GM_OK : gm_no_memory(err);
}

void gm_redacted_free(struct gm_redacted *redacted)
{
    gm_intern_free(&redacted->texts);
    GM_FREE_ALL(redacted->kept, redacted->start, redacted->bytes);
    *redacted = (struct gm_redacted){.words = 0};
}

enum gm_status gm_redact_check(const struct gm_redacted *redacted, const struct gm_snapshot *written,
                               struct gm_error *err)
{
    for (uint32_t id = 1; id < written->strings.count; id++) {
        size_t n;
        const char *text = gm_string(written, (struct gm_string_id){id}, &n);
        if (n > 0 && !is_format_word(text, n) && gm_intern_find(&redacted->texts, text, n) == GM_INTERN_NONE)
            return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "a text of %zu bytes is left that was not chosen", n);
    }
    return GM_OK;
}
