/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct unit_file *files, **last = &files, *running;
static void (*end_of_each)(void);

void unit_add(struct unit_file *file, const char *name, CMUnitTestFunction test)
{
    if (file->count == 0) {
        *last = file;
        last = &file->next;
    }
    if (file->count < UNIT_MOST)
        file->tests[file->count] = (struct CMUnitTest){.name = name, .test_func = test};
    file->count++;
}

void unit_end_with(void (*end)(void))
{
    end_of_each = end;
}

unsigned unit_sampled(void)
{
    const char *sample = getenv("GM_SAMPLE");
    const unsigned every = sample != NULL ? (unsigned)strtoul(sample, NULL, 10) / 3 : 1;
    return every > 1 ? every : 1;
}

static int after_each(void **state)
{
    const int failed = running->after_each == NULL ? 0 : running->after_each(state);
    if (end_of_each != NULL)
        end_of_each();
    return failed;
}

/* "test_roles" of "/.../test_roles.c" */
static const char *name_of(const struct unit_file *file, char *to, size_t size)
{
    const char *slash = strrchr(file->path, '/');
    snprintf(to, size, "%s", slash != NULL ? slash + 1 : file->path);
    *strchr(to, '.') = '\0';
    return to;
}

static int run(struct unit_file *file, const char *name)
{
    if (file->count > UNIT_MOST) {
        fprintf(stderr, "%s has more than %d tests\n", name, UNIT_MOST);
        return 1;
    }
    for (size_t i = 0; i < file->count; i++) {
        file->tests[i].setup_func = file->before_each;
        file->tests[i].teardown_func = after_each;
    }
    running = file;
    return _cmocka_run_group_tests(name, file->tests, file->count, file->before_all, file->after_all);
}

int main(int argc, char **argv)
{
    int failed = 0, found = 0;
    char name[100];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    for (struct unit_file *file = files; file != NULL; file = file->next)
        if (argc < 2 || strcmp(argv[1], name_of(file, name, sizeof name)) == 0) {
            failed += run(file, name_of(file, name, sizeof name)) != 0;
            found++;
        }
    if (found == 0)
        fprintf(stderr, "%s: there are no tests %s\n", argv[0], argc > 1 ? argv[1] : "");
    return failed > 0 || found == 0;
}
