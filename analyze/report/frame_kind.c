/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of frames.
 */
#include "analyze/report/frame_kind.h"
#include "analyze/base/ascii.h"

#include <string.h>

bool gm_frame_is_python(const char *filename)
{
    static const char *const made_up[] = {"ipykernel", "<ipython", "<stdin>", "<string>", "<frozen ", NULL};
    return gm_ends_with(filename, strlen(filename), ".py") || gm_ends_with(filename, strlen(filename), ".ipynb") ||
           gm_has_any(filename, made_up);
}

bool gm_frame_is_compiled(const char *filename)
{
    enum { HASH_LEAST = 40, FOLDER = 2 };
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";
    const char *base = gm_path_base(filename);
    return strstr(filename, "torchinductor_") != NULL ||
           (base - filename > FOLDER && base[0] == 'c' && strncmp(base - FOLDER - 1, base + 1, FOLDER) == 0 &&
            strspn(base, alphabet) >= HASH_LEAST && strcmp(base + strspn(base, alphabet), ".py") == 0);
}

static bool frame_is_torch(const char *filename)
{
    static const char *const folders[] = {"/torch/", "\\torch\\", NULL};
    return gm_has_any(filename, folders) || gm_frame_is_compiled(filename);
}

static bool file_is_noise(const char *filename)
{
    static const char *const files[] = {"core/boxing",
                                        "/Register",
                                        "/Redispatch",
                                        "pythonrun.c",
                                        "Modules/main.c",
                                        "Objects/call.c",
                                        "Objects/methodobject.c",
                                        "pycore_ceval.h",
                                        "ceval.c",
                                        "cpython/abstract.h",
                                        NULL};
    return gm_has_any(filename, files);
}

const char *gm_file_package(const char *filename)
{
    static const char folder[] = "-packages"; /* site-packages, dist-packages */
    static const char *const names[] = {"accelerate",   "bitsandbytes",
                                        "deepspeed",    "diffusers",
                                        "flash_attn",   "lightning",
                                        "open_clip",    "peft",
                                        "torchvision",  "pytorch_lightning",
                                        "safetensors",  "sentence_transformers",
                                        "timm",         "torch_geometric",
                                        "torchmetrics", "transformers",
                                        "trl",          "vllm",
                                        "xformers",     NULL};
    /* Of the repository of such a package what is not it: its name is that of the folder, too. */
    static const char *const beside[] = {"benchmarks", "examples", "research_projects", "scripts", "src",
                                         "tests",      NULL};
    const char *found = NULL;
    for (const char *s = strstr(filename, folder); s != NULL; s = strstr(s + 1, folder))
        if (s[sizeof folder - 1] == '/' || s[sizeof folder - 1] == '\\')
            found = s + sizeof folder;
    for (const char *s = filename; found == NULL && *s != '\0';) {
        const size_t n = strcspn(s, "/\\");
        const char *next = s + n + (s[n] != '\0');
        if (s[n] != '\0' && gm_is_one_of_texts(s, n, names) && !gm_is_one_of_texts(next, strcspn(next, "/\\"), beside))
            found = s;
        s = next;
    }
    return found;
}

unsigned gm_file_kind(const char *filename)
{
    return (gm_frame_is_python(filename) ? GM_FILE_IS_PYTHON : 0u) |
           (frame_is_torch(filename) ? GM_FILE_IS_TORCH : 0u) | (file_is_noise(filename) ? GM_FILE_IS_NOISE : 0u) |
           (gm_file_package(filename) != NULL ? GM_FILE_IS_INSTALLED : 0u);
}

const char *gm_path_last(const char *path, int parts)
{
    const char *s = path + strlen(path);
    for (int seen = 0; s > path; s--)
        if ((s[-1] == '/' || s[-1] == '\\') && ++seen == parts)
            break;
    return s;
}

const char *gm_path_base(const char *path)
{
    return gm_path_last(path, 1);
}

size_t gm_name_length(const char *name)
{
    static const char anonymous[] = "(anonymous namespace)", call[] = "operator()";
    if (strstr(name, "::") == NULL)
        return strlen(name);
    for (size_t i = 0, depth = 0; name[i] != '\0';) {
        if (strncmp(name + i, anonymous, sizeof anonymous - 1) == 0) {
            i += sizeof anonymous - 1;
        } else if (strncmp(name + i, call, sizeof call - 1) == 0) {
            i += sizeof call - 1;
        } else if (name[i] == '(' && i > 0 && depth == 0) { /* not the one of "f<void (int)>" */
            return i;
        } else {
            depth += name[i] == '<';
            depth -= name[i] == '>' && depth > 0;
            i++;
        }
    }
    return strlen(name);
}

const char *gm_path_with_slashes(char *out, size_t n, const char *path)
{
    size_t i = 0;
    for (; path[i] != '\0' && i + 1 < n; i++)
        out[i] = path[i] == '\\' ? '/' : path[i];
    out[i] = '\0';
    return out;
}

bool gm_name_is_noise(const char *name)
{
    static const char *const names[] = {
        "unwind::unwind", "CapturedTraceback", "gather_with_cpp", "PyEval_", "PyObject_", "PyFunction_", NULL};
    /* the interpreter without its file names, and how threads and programs begin */
    static const char *const begins[] = {"_start",
                                         "__libc_start_",
                                         "__libc_init_first",
                                         "Py_",
                                         "_Py",
                                         "PyRun_",
                                         "pymain_",
                                         "pyrun_",
                                         "run_mod",
                                         "run_eval_code_obj",
                                         "cfunction_",
                                         "method_vectorcall",
                                         "slot_tp_",
                                         "vectorcall_",
                                         "object_vacall",
                                         "builtin_exec",
                                         "partial_call",
                                         "partial_vectorcall",
                                         NULL};
    return gm_begins_with_any(name, begins) || gm_has_any(name, names);
}

bool gm_frame_is_noise(const char *name, const char *filename)
{
    return !gm_frame_is_python(filename) && (gm_name_is_noise(name) || file_is_noise(filename));
}

/* Frames of Python that say nothing: how modules are called and programs begin. */
static bool is_machinery(const char *name, const char *file)
{
    static const char *const names[] = {"_call_impl", "_bootstrap", NULL};
    static const char *const files[] = {"<frozen", "runpy.py", NULL};
    return gm_has_any(name, names) || gm_has_any(file, files);
}

enum gm_frame_worth gm_frame_worth(const char *name, const char *file)
{
    static const char *const native_noise[] = {
        "c10::",           "CachingAllocator",   "at::detail::",   "at::native::empty",
        "at::_ops::empty", "at::empty",          "at::(anonymous", "std::",
        "wrapper_",        "at::TensorIterator", "at::TensorBase", NULL};
    static const char *const libraries[] = {"/lib/python", "/torch/", "\\torch\\", NULL};
    name = name != NULL ? name : "";
    file = file != NULL ? file : "";
    if (gm_frame_is_noise(name, file) || is_machinery(name, file) || (name[0] == '\0' && file[0] == '\0'))
        return GM_WORTH_NOISE;
    if (!gm_frame_is_python(file) && file[0] != '<') /* "<eval_with_key>.7": code made by torch.fx */
        return strcmp(name, "??") == 0 || name[0] == '\0' || gm_begins_with_any(name, native_noise) ? GM_WORTH_NOISE
                                                                                                    : GM_WORTH_NATIVE;
    return gm_has_any(file, libraries) || gm_file_package(file) != NULL ? GM_WORTH_LIBRARY : GM_WORTH_OWN;
}

enum gm_frame_worth gm_flame_worth(const char *name, const char *file)
{
    const bool is_word = name != NULL && name[0] == '(' && (file == NULL || file[0] == '\0');
    return is_word ? GM_WORTH_OWN : gm_frame_worth(name, file);
}
