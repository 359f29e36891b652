/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of frames.
 */
#include "analyze/report/frame_kind.h"
#include "analyze/base/ascii.h"

#include <stddef.h>
#include <string.h>

bool gm_frame_is_python(const char *filename)
{
    static const char *const made_up[] = {"ipykernel", "<ipython", "<stdin>", "<string>", "<frozen ", NULL};
    return gm_ends_with(filename, strlen(filename), ".py") || gm_ends_with(filename, strlen(filename), ".ipynb") ||
           gm_has_any(filename, made_up);
}

static bool frame_is_torch(const char *filename)
{
    static const char *const folders[] = {"/torch/", "\\torch\\", "/torchinductor_", NULL};
    return gm_has_any(filename, folders);
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

unsigned gm_file_kind(const char *filename)
{
    return (gm_frame_is_python(filename) ? GM_FILE_IS_PYTHON : 0u) |
           (frame_is_torch(filename) ? GM_FILE_IS_TORCH : 0u) | (file_is_noise(filename) ? GM_FILE_IS_NOISE : 0u);
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
    for (size_t i = 0; begins[i] != NULL; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return gm_has_any(name, names);
}

bool gm_frame_is_noise(const char *name, const char *filename)
{
    return !gm_frame_is_python(filename) && (gm_name_is_noise(name) || file_is_noise(filename));
}
