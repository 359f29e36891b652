/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/fleet/retained.h"

#include "analyze/base/hash.h"
#include "analyze/base/new_file.h"
#include "analyze/base/order.h"
#include "analyze/base/vec.h"
#include "analyze/fleet/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLE = 4096, SAMPLES = 16, MOST = 64 << 20 };

/* Reads up to `size` bytes at `offset`. */
static size_t read_at(int fd, void *out, size_t size, uint64_t offset)
{
    size_t got = 0;
    while (got < size) {
        const ssize_t n = pread(fd, (char *)out + got, size - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return gm_record_sum(&value, sizeof value, sum);
}

bool gm_retained_key(char key[GM_RETAINED_KEY], const struct gm_found_file *file, uint64_t salt)
{
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    GM_FREED unsigned char *sample = malloc(SAMPLE);
    uint64_t sums[2] = {mix(GM_RECORD_SUM_START, salt), mix(~GM_RECORD_SUM_START, salt)};
    const bool ok = fd >= 0 && sample != NULL && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (ok) {
        const uint64_t size = (uint64_t)st.st_size, gap = size > SAMPLE ? (size - SAMPLE) / (SAMPLES - 1) : 0;
        for (int i = 0; i < SAMPLES && (i == 0 || gap > 0); i++) {
            const size_t n = read_at(fd, sample, SAMPLE, gap * (uint64_t)i);
            sums[0] = gm_siphash_1_3((struct gm_hash_key){sums[0], 0}, sample, n);
        }
        sums[1] = mix(sums[1], sums[0]);
        for (int i = 0; i < 2; i++)
            sums[i] = mix(mix(mix(sums[i], size), (uint64_t)st.st_mtim.tv_sec), (uint64_t)st.st_mtim.tv_nsec);
        snprintf(key, GM_RETAINED_KEY, "%016llx%016llx", (unsigned long long)sums[0], (unsigned long long)sums[1]);
    }
    if (fd >= 0)
        close(fd);
    return ok;
}

/* NULL: no memory. */
static char *path_of(const char *results, const char *key)
{
    char *path;
    if (asprintf(&path, "%s/%s%s%s", results, GM_RETAINED_FOLDER, key[0] == '\0' ? "" : "/", key) < 0)
        return NULL;
    return path;
}

static int compare_keys(const void *left, const void *right)
{
    return strcmp(left, right);
}

enum gm_status gm_retained_list(struct gm_retained_keys *keys, const char *results, struct gm_error *err)
{
    GM_FREED char *folder = path_of(results, "");
    DIR *directory = folder == NULL ? NULL : opendir(folder);
    bool ok = folder != NULL;
    if (directory == NULL) /* nothing is kept, or nothing of it can be read */
        return ok ? GM_OK : gm_no_memory(err);
    for (struct dirent *entry; ok && (entry = readdir(directory)) != NULL;) {
        if (strlen(entry->d_name) != GM_RETAINED_KEY - 1)
            continue;
        ok = gm_grow(&keys->v, &keys->capacity, keys->n + 1, sizeof *keys->v);
        if (ok)
            memcpy(keys->v[keys->n++], entry->d_name, GM_RETAINED_KEY);
    }
    closedir(directory);
    GM_SORT(keys->v, keys->n, compare_keys);
    return ok ? GM_OK : gm_no_memory(err);
}

bool gm_retained_has(const struct gm_retained_keys *keys, const char *key)
{
    return keys->n > 0 && bsearch(key, keys->v, keys->n, sizeof *keys->v, compare_keys) != NULL;
}

void gm_retained_keys_free(struct gm_retained_keys *keys)
{
    free(keys->v);
    *keys = (struct gm_retained_keys){0};
}

bool gm_retained_load(struct gm_text *record, const char *results, const char *key)
{
    GM_FREED char *path = path_of(results, key);
    const int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;
    enum gm_status status;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= MOST;
    GM_FREED char *bytes = ok ? malloc((size_t)st.st_size) : NULL;
    ok = bytes != NULL && read_at(fd, bytes, (size_t)st.st_size, 0) == (size_t)st.st_size &&
         gm_record_check(bytes, (size_t)st.st_size, &status) && status == GM_OK;
    if (ok)
        gm_text_add_bytes(record, bytes, (size_t)st.st_size);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Makes the directory and its parents. */
static void make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
}

void gm_retained_save(const char *results, const char *key, const struct gm_text *record)
{
    GM_FREED char *folder = path_of(results, ""), *path = path_of(results, key);
    struct gm_new_file file;
    if (folder != NULL && path != NULL && !record->failed) {
        make_directories(folder);
        enum gm_status status = gm_new_file_open_next(&file, path, NULL);
        GM_THEN(status, gm_new_file_write(&file, record->data, record->length, NULL));
        (void)gm_new_file_close(&file, status, NULL);
    }
}

void gm_retained_forget(const char *results, const char *key)
{
    GM_FREED char *path = path_of(results, key);
    if (path != NULL)
        unlink(path);
}

void gm_retained_finish(const char *results)
{
    GM_FREED char *folder = path_of(results, "");
    if (folder != NULL) {
        gm_new_file_clean(folder);
        rmdir(folder); /* fails as long as anything of another run is in it */
    }
}
