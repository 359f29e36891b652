/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads a snapshot, writes it as a .gmtrace, loads that and compares. Prints events, the bytes of both files and the
 * seconds that loading, writing and loading again took.
 *
 * usage: gmtrace_convert FILE [OUT [PLAIN]]      OUT, PLAIN: where to leave the .gmtrace, and it without compression
 */
#include "analyze/formats/gmtrace_write.h"
#include "analyze/formats/load.h"
#include "tests/formats/model_check.h"
#include "tests/gmtrace/same.h"
#include "tests/gmtrace/seal.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int check(const char *path, const struct gm_snapshot *first, const struct gm_text *file, double seconds[3])
{
    struct gm_snapshot second;
    struct gm_error err = {0};
    double start = now();
    if (gm_snapshot_load_bytes(&second, file->data, file->length, path, NULL, &err) != GM_OK) {
        fprintf(stderr, "%s: what was written cannot be read: %s\n", path, err.message);
        return 1;
    }
    seconds[2] = now() - start;
    const char *wrong = gm_model_check(&second);
    wrong = wrong != NULL ? wrong : gm_snapshot_difference(first, &second);
    if (wrong != NULL)
        fprintf(stderr, "%s: not the same after a round trip: %s\n", path, wrong);
    else
        printf("%zu %" PRIu64 " %zu %.4f %.4f %.4f\n", first->events.count, first->source.disk_bytes, file->length,
               seconds[0], seconds[1], seconds[2]);
    gm_snapshot_free(&second);
    return wrong != NULL;
}

static int write_file(const char *path, const struct gm_text *file)
{
    FILE *f = fopen(path, "wb");
    if (f == NULL || fwrite(file->data, 1, file->length, f) != file->length) {
        perror(path);
        return 1;
    }
    return fclose(f) != 0;
}

int main(int argc, char **argv)
{
    struct gm_snapshot first;
    struct gm_error err = {0};
    struct gm_text file = {0};
    double seconds[3], start = now();
    if (argc < 2)
        return 2;
    if (gm_snapshot_load(&first, argv[1], NULL, &err) != GM_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
        return 3;
    }
    seconds[0] = now() - start;
    start = now();
    int failed = gm_write_gmtrace(&first, &file, &err) != GM_OK;
    seconds[1] = now() - start;
    if (failed)
        fprintf(stderr, "%s: %s\n", argv[1], err.message);
    if (!failed && argc > 2)
        failed = write_file(argv[2], &file);
    if (!failed && argc > 3) {
        struct gm_text plain = {0};
        failed = !gm_plain((const unsigned char *)file.data, file.length, &plain) || write_file(argv[3], &plain);
        gm_text_free(&plain);
    }
    if (!failed)
        failed = check(argv[1], &first, &file, seconds);
    gm_text_free(&file);
    gm_snapshot_free(&first);
    return failed;
}
