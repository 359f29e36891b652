/* SPDX-License-Identifier: Apache-2.0
 *
 * The way into Python: an audit hook, which Python calls before each import, whatever its options are (-I, -E, -S) and
 * whoever has started it. Python is not linked: its functions are looked up, and without them there is none.
 */
#include "replay/dry/private.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct object; /* PyObject */

static int (*run_text)(const char *text);
static struct object *(*item_of)(struct object *tuple, ptrdiff_t index);
static const char *(*text_of)(struct object *string);
static void (*clear_error)(void);

/* It takes the file that gmdry has written, and leaves no name behind in the program's. */
static const char run_hook[] = "(lambda file: (exec(file.read(), {'__name__': 'gmdry'}), file.close()))"
                               "(open(__import__('os').environ['GMDRY_FOLDER'] + '/hook.py'))";

/* Event `import` has the module's name first. */
static int see(const char *event, struct object *arguments, void *data)
{
    static atomic_flag is_wanted = ATOMIC_FLAG_INIT, is_run = ATOMIC_FLAG_INIT;
    if (strcmp(event, "import") != 0)
        return 0;
    struct object *first = item_of(arguments, 0);
    const char *name = first == NULL ? NULL : text_of(first);
    if (name == NULL)
        clear_error();
    else if (strcmp(name, "torch") == 0 && !atomic_flag_test_and_set(&is_wanted))
        dry_tell("torch wanted\n");
    else if (strcmp(name, "torch.cuda.memory") == 0 && !atomic_flag_test_and_set(&is_run))
        run_text(run_hook);
    return 0;
}

bool dry_find_function(const char *name, void *function)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

void dry_watch_python(void)
{
    static atomic_flag is_done = ATOMIC_FLAG_INIT;
    int (*add_hook)(int (*)(const char *, struct object *, void *), void *);
    if (getenv("GMDRY_FOLDER") == NULL || !dry_find_function("PySys_AddAuditHook", &add_hook) ||
        !dry_find_function("PyRun_SimpleString", &run_text) || !dry_find_function("PyTuple_GetItem", &item_of) ||
        !dry_find_function("PyUnicode_AsUTF8", &text_of) || !dry_find_function("PyErr_Clear", &clear_error))
        return;
    if (!atomic_flag_test_and_set(&is_done))
        add_hook(see, NULL);
}

/* It may be called before Python has begun. */
__attribute__((constructor)) static void start(void)
{
    dry_watch_python();
}
