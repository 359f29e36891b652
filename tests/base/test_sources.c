/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of a checkout for paths of a snapshot: the longest common end, and never a file outside of the folder.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/base/sources.h"
#include "tests/unit.h"

static char root[] = "/tmp/gm_sources_XXXXXX";
static struct gm_sources *sources;
static struct gm_arena arena;

static const char *below(const char *path)
{
    static char whole[512];
    (void)snprintf(whole, sizeof whole, "%s/%s", root, path);
    return whole;
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(below(path), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
    assert_int_equal(fclose(f), 0);
}

static int make(void **state)
{
    (void)state;
    struct gm_error err;
    assert_non_null(mkdtemp(root));
    static const char *const folders[] = {"checkout",   "checkout/model", "checkout/a",
                                          "checkout/b", "checkout/.git",  "outside"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_int_equal(mkdir(below(folders[i]), 0700), 0);
    write_file("checkout/model/gpt.py", "class GPT:\r\n    \tx = layer(x)\x1b[31m\r\nlast");
    write_file("checkout/train.py", "one\ntwo\n");
    write_file("checkout/a/utils.py", "of a\n");
    write_file("checkout/b/utils.py", "of b\n");
    write_file("checkout/.git/config.py", "hidden\n");
    write_file("checkout/empty.py", "");
    write_file("outside/secret.py", "secret\n");
    char target[512];
    (void)snprintf(target, sizeof target, "%s", below("outside/secret.py"));
    assert_int_equal(symlink(target, below("checkout/secret.py")), 0);
    (void)snprintf(target, sizeof target, "%s", below("outside"));
    assert_int_equal(symlink(target, below("checkout/linked")), 0);
    assert_int_equal(mkfifo(below("checkout/pipe.py"), 0600), 0);
    assert_int_equal(gm_sources_open(&sources, below("checkout"), &err), GM_OK);
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    gm_sources_free(sources);
    gm_arena_free(&arena);
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command); /* NOLINT(cert-env33-c): of our own making */
}

static void check(const char *path, uint64_t line, const char *text, const char *note)
{
    const char *got, *why;
    assert_int_equal(gm_sources_line(sources, &arena, path, line, &got, &why, NULL), GM_OK);
    if (text == NULL)
        assert_null(got);
    else
        assert_string_equal(got, text);
    if (note == NULL)
        assert_null(why);
    else
        assert_non_null(strstr(why, note));
}

TEST(longest_end)
{
    (void)state;
    check("/home/u/project/model/gpt.py", 1, "class GPT:", NULL);
    check("/home/u/project/model/gpt.py", 2, "x = layer(x)\\x1b[31m", NULL);
    check("C:\\u\\model\\gpt.py", 3, "last", NULL);
    check("/elsewhere/gpt.py", 3, "last", NULL);
    check("/x/a/utils.py", 1, "of a", NULL);
    check("/x/b/utils.py", 1, "of b", NULL);
    check("/x/c/utils.py", 1, NULL, "several");
    check("utils.py", 1, NULL, "several");
    check("train.py", 2, "two", NULL);
    check("/x/my_train.py", 2, NULL, NULL);
    check("/x/nothing.py", 1, NULL, NULL);
    check("", 1, NULL, NULL);
    /* another package's file is none of the program's */
    check("/venv/lib/python3.11/site-packages/torch/train.py", 1, NULL, NULL);
    check("/venv/lib/python3.11/site-packages/model/gpt.py", 1, "class GPT:", NULL);
}

TEST(another_version)
{
    (void)state;
    check("train.py", 3, NULL, "has 2 lines");
    check("train.py", 0, NULL, "has 2 lines");
    check("train.py", UINT64_MAX - 1, NULL, "has 2 lines");
    check("empty.py", 1, NULL, "cannot be read");
}

TEST(nothing_outside)
{
    (void)state;
    char path[512];
    check("/x/secret.py", 1, NULL, NULL);
    check("linked/secret.py", 1, NULL, NULL);
    check("../outside/secret.py", 1, NULL, NULL);
    check("/../../outside/secret.py", 1, NULL, NULL);
    (void)snprintf(path, sizeof path, "%s", below("outside/secret.py"));
    check(path, 1, NULL, NULL);
    check("/x/pipe.py", 1, NULL, NULL);
    check("config.py", 1, NULL, NULL);
    check("/etc/passwd", 1, NULL, NULL);
}

/* A file that was a file when it was listed, and is a link now. */
TEST(link_since)
{
    (void)state;
    struct gm_sources *own;
    const char *text, *note;
    char target[512];
    write_file("checkout/model/late.py", "late\n");
    assert_int_equal(gm_sources_open(&own, below("checkout"), NULL), GM_OK);
    assert_int_equal(unlink(below("checkout/model/late.py")), 0);
    (void)snprintf(target, sizeof target, "%s", below("outside/secret.py"));
    assert_int_equal(symlink(target, below("checkout/model/late.py")), 0);
    assert_int_equal(gm_sources_line(own, &arena, "model/late.py", 1, &text, &note, NULL), GM_OK);
    assert_null(text);
    assert_non_null(note);
    gm_sources_free(own);
}

TEST(no_folder)
{
    (void)state;
    struct gm_sources *none;
    struct gm_error err;
    assert_int_equal(gm_sources_open(&none, below("nowhere"), &err), GM_E_READ);
    assert_null(none);
    assert_int_equal(gm_sources_open(&none, below("checkout/train.py"), &err), GM_E_READ);
}

AROUND_ALL(make, unmake)
