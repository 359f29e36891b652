/* SPDX-License-Identifier: Apache-2.0
 *
 * Which line of the user's Python program is running, asked from C++ code below it. Python's own functions are found in
 * the process if it has them; no Python code runs here, so that nothing that the program can see changes.
 */
#include "replay/dry/private.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of Python 3.9 and later; the ones that may be missing are asked for below. */
static struct {
    int (*is_initialized)(void);
    int (*is_finalizing)(void), (*is_finalizing_before_3_13)(void); /* one of them, or none */
    int (*ensure)(void);                                            /* PyGILState_Ensure */
    void (*release)(int);
    void *(*current)(void); /* PyEval_GetFrame: borrowed, NULL if this thread runs no Python */
    void *(*back)(void *);  /* new */
    void *(*code)(void *);  /* new */
    int (*line)(void *);    /* PyFrame_GetLineNumber */
    void *(*attribute)(void *, const char *);
    const char *(*utf8)(void *);
    void (*increase)(void *), (*decrease)(void *), (*clear_error)(void);
    void *(*interpreter)(void), *(*first_thread)(void *), *(*next_thread)(void *), *(*thread_frame)(void *);
    bool is_there;
} python;

static void find_python(void)
{
    dry_find_function("Py_IsFinalizing", &python.is_finalizing);
    dry_find_function("_Py_IsFinalizing", &python.is_finalizing_before_3_13);
    python.is_there =
        dry_find_function("Py_IsInitialized", &python.is_initialized) &&
        dry_find_function("PyGILState_Ensure", &python.ensure) &&
        dry_find_function("PyGILState_Release", &python.release) &&
        dry_find_function("PyEval_GetFrame", &python.current) && dry_find_function("PyFrame_GetBack", &python.back) &&
        dry_find_function("PyFrame_GetCode", &python.code) &&
        dry_find_function("PyFrame_GetLineNumber", &python.line) &&
        dry_find_function("PyObject_GetAttrString", &python.attribute) &&
        dry_find_function("PyUnicode_AsUTF8", &python.utf8) && dry_find_function("Py_IncRef", &python.increase) &&
        dry_find_function("Py_DecRef", &python.decrease) && dry_find_function("PyErr_Clear", &python.clear_error) &&
        dry_find_function("PyInterpreterState_Main", &python.interpreter) &&
        dry_find_function("PyInterpreterState_ThreadHead", &python.first_thread) &&
        dry_find_function("PyThreadState_Next", &python.next_thread) &&
        dry_find_function("PyThreadState_GetFrame", &python.thread_frame);
}

static bool is_running(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_python);
    return python.is_there && python.is_initialized() != 0 &&
           (python.is_finalizing == NULL || python.is_finalizing() == 0) &&
           (python.is_finalizing_before_3_13 == NULL || python.is_finalizing_before_3_13() == 0);
}

/* A new reference. Threads of autograd run no Python: then what the oldest thread that does waits in, the main one. */
static void *innermost(void)
{
    void *frame = python.current();
    if (frame != NULL) {
        python.increase(frame);
        return frame;
    }
    for (void *thread = python.first_thread(python.interpreter()); thread != NULL;
         thread = python.next_thread(thread)) {
        void *its = python.thread_frame(thread);
        if (its != NULL && frame != NULL)
            python.decrease(frame);
        frame = its != NULL ? its : frame;
    }
    return frame;
}

static void read_frame(struct dry_line *line, void *frame)
{
    void *code = python.code(frame);
    void *name = code == NULL ? NULL : python.attribute(code, "co_filename");
    const char *text = name == NULL ? NULL : python.utf8(name);
    if (text == NULL)
        python.clear_error();
    /* Of a long path the end tells more. */
    const size_t length = text == NULL ? 0 : strlen(text), most = sizeof line->file - 1;
    snprintf(line->file, sizeof line->file, "%s", text == NULL ? "" : text + (length > most ? length - most : 0));
    line->line = python.line(frame);
    if (name != NULL)
        python.decrease(name);
    if (code != NULL)
        python.decrease(code);
}

static bool is_package(const char *file)
{
    return strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL;
}

static bool is_torch(const char *file)
{
    return strstr(file, "-packages/torch/") != NULL;
}

static bool is_standard_library(const char *file)
{
    return strncmp(file, "<frozen", 7) == 0 || (strstr(file, "/lib/python3") != NULL && !is_package(file));
}

/* As the user names it: from the working folder, or from where packages are. */
static void shorten(char file[DRY_FILE])
{
    char folder[DRY_FILE];
    const char *package = strstr(file, "-packages/");
    const size_t n = getcwd(folder, sizeof folder) == NULL ? 0 : strlen(folder);
    const char *from = n > 1 && strncmp(file, folder, n) == 0 && file[n] == '/' ? file + n + 1
                       : package != NULL                                        ? package + strlen("-packages/")
                                                                                : file;
    memmove(file, from, strlen(from) + 1);
}

bool dry_python_line(struct dry_line *user, char inner[DRY_FILE])
{
    struct dry_line line;
    user->file[0] = inner[0] = '\0';
    if (!is_running())
        return false;
    const int held = python.ensure();
    void *frame = innermost();
    bool is_found = false;
    while (frame != NULL) {
        read_frame(&line, frame);
        if (inner[0] == '\0')
            memcpy(inner, line.file, DRY_FILE);
        is_found = line.file[0] != '\0' && !is_torch(line.file) && !is_standard_library(line.file);
        if (is_found || user->file[0] == '\0')
            *user = line;
        void *outer = is_found ? NULL : python.back(frame);
        python.decrease(frame);
        frame = outer;
    }
    python.release(held);
    if (user->file[0] != '\0')
        shorten(user->file);
    return user->file[0] != '\0';
}
