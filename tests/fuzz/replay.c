/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over the files of a corpus, in builds without libFuzzer.
 *
 * usage: replay_TARGET FILE|DIRECTORY...
 */
#include "tests/fuzz/fuzz.h"

#include "analyze/base/freed.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static size_t count;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (f == NULL || stat(path, &st) != 0) {
        perror(path);
        exit(1);
    }
    size_t n = (size_t)st.st_size;
    GM_FREED uint8_t *data = malloc(n > 0 ? n : 1); /* of its very size, for the sanitizer */
    if (data == NULL || fread(data, 1, n, f) != n) {
        perror(path);
        exit(1);
    }
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    count++;
}

static void replay(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL) {
        replay_file(path);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            replay_file(name);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%zu inputs\n", count);
    return count > 0 ? 0 : 1;
}
