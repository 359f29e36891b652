/* SPDX-License-Identifier: Apache-2.0
 *
 * Sites: one short label for where a block was made, "forward  model/attention.py:88". Taken is the innermost frame
 * that is not PyTorch's own, Python's machinery or C++; if there is none, the frame that tells most.
 */
#include "analyze/base/ascii.h"
#include "analyze/base/text.h"
#include "analyze/report/frame_kind.h"
#include "analyze/state/shown_names.h"

#include <string.h>

enum { NAME_SHOWN = 60, PATH_SHOWN = 60 };

static bool contains(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool is_python(const char *file)
{
    return gm_ends_with(file, strlen(file), ".py") || gm_ends_with(file, strlen(file), ".ipynb") ||
           contains(file, "ipykernel") || strncmp(file, "<ipython", 8) == 0 || strcmp(file, "<stdin>") == 0;
}

/* What is asked about every frame of every stack is worked out once for each string: bits beside those of
 * analyze/report/frame_kind.h. Of a name the lowest three are how much it tells when no user frame is there. */
enum {
    ASKED = 0x80,
    FILE_PYTHON = 0x10,
    FILE_LIBRARY = 0x20,
    NAME_NOISE = 0x40,
    NAME_MACHINERY = 0x20,
    NAME_WEIGHT = 7
};

/* "/usr/lib/python3.11/copy.py", "python3.11/copy.py", "C:/Python311/Lib/copy.py", and no package that was installed
 * beside it. */
static bool is_of_standard_library(const char *file)
{
    static const char folder[] = "python3.";
    static const char *const of_windows[] = {"/Lib/", "conda3/lib/", NULL};
    const char *at = strstr(file, folder);
    if (file[0] != '\0' && file[1] == ':')
        return gm_has_any(file, of_windows) && !contains(file, "-packages/");
    if (at == NULL ||
        (at > file && (at < file + 4 || (strncmp(at - 4, "lib/", 4) != 0 && strncmp(at - 4, "b64/", 4) != 0))))
        return false;
    at += strlen(folder);
    at += strspn(at, "0123456789");
    return *at == '/' && strstr(at, "-packages/") == NULL;
}

static bool is_library(const char *path)
{
    static const char *const libraries[] = {"packages/torch/",
                                            "/torch/nn/",
                                            "/torch/_",
                                            "/torch/utils/",
                                            "/torch/autograd/",
                                            "/torch/optim/",
                                            "/torch/distributed/",
                                            "/torch/cuda/",
                                            "/torch/functional.py",
                                            "packages/triton/",
                                            "packages/einops/",
                                            "/contextlib.py",
                                            "/functools.py",
                                            "/threading.py",
                                            "/runpy.py",
                                            "/importlib/",
                                            "/multiprocessing/",
                                            "/concurrent/futures/",
                                            "/accelerate/utils/operations.py",
                                            "/accelerate/hooks.py",
                                            "/transformers/utils/generic.py",
                                            NULL};
    char file[GM_NAME_MOST + 1];
    return gm_has_any(gm_path_with_slashes(file, sizeof file, path), libraries) || gm_frame_is_compiled(file) ||
           is_of_standard_library(file);
}

static bool is_machinery(const char *name)
{
    static const char *const names[] = {"wrapper", "wrapped",    "wrapped_func",       "decorate_context",
                                        "inner",   "_call_impl", "_wrapped_call_impl", NULL};
    return gm_is_one_of(name, names);
}

enum { TELLS_NOTHING, TELLS_LITTLE, TELLS_OPERATOR, TELLS_PYTHON, TELLS_COMMUNICATION, TELLS_BACKWARD };

static unsigned weight_of(const char *name)
{
    static const char *const noise[] = {"unwind::",
                                        "CapturedTraceback",
                                        "gather_with_cpp",
                                        "CUDACachingAllocator",
                                        "wrap_kernel_functor",
                                        "PyEval",
                                        "PyObject",
                                        "PyFunction",
                                        "vectorcall",
                                        "StorageImpl",
                                        "detail::empty",
                                        "TensorIterator",
                                        "_start",
                                        "clone",
                                        "start_thread",
                                        "_call_impl",
                                        "redispatch",
                                        "empty_strided",
                                        NULL};
    if (gm_has_any(name, noise) || name[0] == '\0' || strcmp(name, "??") == 0)
        return TELLS_NOTHING;
    if (contains(name, "Backward") || contains(name, "AccumulateGrad"))
        return TELLS_BACKWARD;
    if (contains(name, "nccl") || contains(name, "c10d::"))
        return TELLS_COMMUNICATION;
    return contains(name, "at::_ops::") || contains(name, "at::native::") ? TELLS_OPERATOR : TELLS_LITTLE;
}

static unsigned file_bits(struct gm_names *names, struct gm_string_id id)
{
    struct gm_string_kind *kind = &names->kind[id.v];
    const char *file = kind->file == 0 ? gm_names_string(names, id) : NULL;
    if (file != NULL)
        kind->file = (uint8_t)(ASKED | gm_file_kind(file) | (is_python(file) ? (unsigned)FILE_PYTHON : 0u) |
                               (is_library(file) ? (unsigned)FILE_LIBRARY : 0u));
    return kind->file;
}

static unsigned name_bits(struct gm_names *names, struct gm_string_id id)
{
    struct gm_string_kind *kind = &names->kind[id.v];
    const char *name = kind->name == 0 ? gm_names_string(names, id) : NULL;
    if (name != NULL)
        kind->name = (uint8_t)(ASKED | weight_of(name) | (is_machinery(name) ? (unsigned)NAME_MACHINERY : 0u) |
                               (gm_name_is_noise(name) ? (unsigned)NAME_NOISE : 0u));
    return kind->name;
}

unsigned gm_names_file_kind(struct gm_names *names, struct gm_string_id file)
{
    return file_bits(names, file) & (GM_FILE_IS_PYTHON | GM_FILE_IS_TORCH | GM_FILE_IS_NOISE | GM_FILE_IS_INSTALLED);
}

bool gm_names_is_own(struct gm_names *names, struct gm_string_id file)
{
    return (file_bits(names, file) & (FILE_PYTHON | FILE_LIBRARY | GM_FILE_IS_INSTALLED)) == FILE_PYTHON;
}

bool gm_names_is_noise(struct gm_names *names, struct gm_string_id name)
{
    return (name_bits(names, name) & NAME_NOISE) != 0;
}

/* How much a frame tells when no user frame is there. */
static unsigned weight(struct gm_names *names, struct gm_string_id name, struct gm_string_id file)
{
    unsigned tells = name_bits(names, name) & NAME_WEIGHT;
    bool is_plain = tells == TELLS_LITTLE || tells == TELLS_OPERATOR;
    return is_plain && (file_bits(names, file) & FILE_PYTHON) != 0 ? (unsigned)TELLS_PYTHON : tells;
}

static bool is_machine(struct gm_names *names, struct gm_frame_id frame)
{
    return (name_bits(names, names->snapshot->frames.name[frame.v]) & NAME_MACHINERY) != 0;
}

static bool is_named(struct gm_names *names, struct gm_frame_id frame, const char *name)
{
    const char *its = gm_names_string(names, names->snapshot->frames.name[frame.v]);
    return its != NULL && strcmp(its, name) == 0;
}

/* Whether frame i is what a library put around a module's forward: the module's call has it called, and it calls a
 * forward without another call of a module, whatever decorators are between them. */
static bool is_around_forward(struct gm_names *names, const struct gm_frame_id *ids, size_t count, size_t i)
{
    size_t in = i, out = i + 1;
    while (in > 0 && is_machine(names, ids[in - 1]) && !is_named(names, ids[in - 1], "_call_impl"))
        in--;
    while (out < count && is_machine(names, ids[out]) && !is_named(names, ids[out], "_call_impl"))
        out++;
    return in > 0 && is_named(names, ids[in - 1], "forward") && out < count && is_named(names, ids[out], "_call_impl");
}

/* Whether no code of Python is called from frame i, but what gives the cache back: it makes what there is, whatever its
 * name. */
static bool is_innermost(struct gm_names *names, const struct gm_frame_id *ids, size_t i)
{
    while (i > 0 && ((file_bits(names, names->snapshot->frames.filename[ids[i - 1].v]) & FILE_PYTHON) == 0 ||
                     is_named(names, ids[i - 1], "empty_cache")))
        i--;
    return i == 0;
}

bool gm_names_is_told(struct gm_names *names, const struct gm_frame_id *ids, size_t count, size_t i)
{
    const unsigned file = file_bits(names, names->snapshot->frames.filename[ids[i].v]);
    return (file & FILE_PYTHON) != 0 && (file & FILE_LIBRARY) == 0 &&
           (!is_machine(names, ids[i]) || is_innermost(names, ids, i)) &&
           ((file & GM_FILE_IS_INSTALLED) == 0 || !is_around_forward(names, ids, count, i));
}

/* The index of the frame that is shown. */
static size_t choose(struct gm_names *names, const struct gm_frame_id *ids, size_t count)
{
    const struct gm_frames *frames = &names->snapshot->frames;
    for (size_t i = 0; i < count; i++)
        if (gm_names_is_told(names, ids, count, i))
            return i;
    size_t best = 0;
    unsigned best_weight = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned w = weight(names, frames->name[ids[i].v], frames->filename[ids[i].v]);
        if (w > best_weight) {
            best = i;
            best_weight = w;
        }
    }
    return best;
}

/* A C++ symbol without return type, template arguments and parameters, its last two parts: "BmmBackward0::apply". */
static void short_symbol(char *out, size_t size, const char *name)
{
    static const char anonymous[] = "(anonymous namespace)";
    size_t n = 0, start = 0, parts[2] = {0, 0};
    int depth = 0;
    for (const char *s = name; *s != '\0' && n + 1 < size; s++) {
        if (*s == '(' && strncmp(s, anonymous, sizeof anonymous - 1) == 0) {
            s += sizeof anonymous - 2;
            continue;
        }
        if (*s == '(' && depth == 0)
            break;
        depth += *s == '<';
        if (depth == 0)
            out[n++] = *s;
        depth -= *s == '>' && depth > 0;
    }
    out[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (out[i] == ' ')
            start = i + 1;
    parts[0] = parts[1] = start;
    for (size_t i = start; i + 1 < n; i++)
        if (out[i] == ':' && out[i + 1] == ':') {
            parts[0] = parts[1];
            parts[1] = ++i + 1;
        }
    if (parts[0] < n)
        memmove(out, out + parts[0], n - parts[0] + 1);
}

int gm_names_shown(const char *name)
{
    size_t n = strlen(name);
    if (n <= NAME_SHOWN)
        return (int)n;
    for (n = NAME_SHOWN; n > 0 && ((unsigned char)name[n] & 0xC0) == 0x80;)
        n--;
    return (int)n;
}

const char *gm_names_path_tail(const char *path)
{
    size_t n = strlen(path), from = (size_t)(gm_path_last(path, 2) - path);
    if (n - from > PATH_SHOWN)
        for (from = n - PATH_SHOWN; ((unsigned char)path[from] & 0xC0) == 0x80;)
            from++;
    return path + from;
}

/* Of a file of an installed package the package's name, which does not stand in the tail: else a library's file reads
 * like one of the user's own. Returns its length. */
static int package_before(const char **package, const char *path, const char *tail)
{
    const char *at = gm_file_package(path);
    *package = at;
    return at == NULL || at >= tail ? 0 : (int)strcspn(at, "/\\");
}

const char *gm_names_label(struct gm_arena *arena, const struct gm_frame_row *frame)
{
    if (!is_python(frame->filename) && contains(frame->name, "::")) {
        char symbol[512];
        short_symbol(symbol, sizeof symbol, frame->name);
        if (symbol[0] != '\0')
            return gm_arena_printf(arena, "%.*s", gm_names_shown(symbol), symbol);
    }
    const char *tail = gm_names_path_tail(frame->filename);
    const char *name = frame->name[0] != '\0' ? frame->name : "unknown function";
    if (tail[0] == '\0' || strcmp(tail, "??") == 0)
        return gm_arena_printf(arena, "%.*s", gm_names_shown(name), name);
    const char *package;
    const int length = package_before(&package, frame->filename, tail);
    const char *gap = length == 0 || length > PATH_SHOWN ? "" : package + length + 1 == tail ? "/" : "/.../";
    struct gm_text text = {0};
    const size_t shown = (size_t)gm_names_shown(name);
    gm_text_add_bytes(&text, name, shown);
    gm_text_add(&text, "  ");
    gm_text_add_bytes(&text, gap[0] == '\0' ? "" : package, gap[0] == '\0' ? 0 : (size_t)length);
    gm_text_add(&text, gap);
    gm_text_add(&text, tail);
    for (size_t i = shown; i < text.length; i++) /* a Windows path; the function's name stays as it is */
        if (text.data[i] == '\\')
            text.data[i] = '/';
    if (frame->line != GM_REPORT_NONE) {
        gm_text_add_char(&text, ':');
        gm_text_add_number(&text, frame->line);
    }
    return gm_text_take(&text, arena);
}

/* Both memos of one stack. */
static bool make(struct gm_names *names, struct gm_stack_id stack)
{
    size_t count;
    const struct gm_frame_row *frames = gm_names_frames(names, stack, &count);
    if (frames == NULL)
        return false;
    const struct gm_frame_id *ids = gm_stack_frames(names->snapshot, stack, &count);
    names->telling[stack.v] = count == 0 ? NULL : &frames[choose(names, ids, count)];
    names->site[stack.v] = count == 0 ? "no stack recorded" : gm_names_label(names->arena, names->telling[stack.v]);
    return names->site[stack.v] != NULL;
}

const char *gm_names_site(struct gm_names *names, struct gm_stack_id stack)
{
    return names->site[stack.v] != NULL || make(names, stack) ? names->site[stack.v] : NULL;
}

const struct gm_frame_row *gm_names_telling_frame(struct gm_names *names, struct gm_stack_id stack)
{
    return names->site[stack.v] != NULL || make(names, stack) ? names->telling[stack.v] : NULL;
}
