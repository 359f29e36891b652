/* SPDX-License-Identifier: Apache-2.0
 *
 * Ways between the processes of a run: files in its folder, each with one writer. At its head stands how many turns
 * were said and where the words end; what is known of a turn follows as a record, of the others there is none. So a way
 * that never says anything known is one page, however long the run.
 *
 *     head | turn bytes data ... | turn bytes data ... |
 */
#include "replay/dry/private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_SECONDS = 600, LARGEST_WAY = 256 << 20 };

struct head {
    atomic_uint_fast64_t turns, end; /* the end of the last record: bytes behind the head */
    atomic_int pid;                  /* of the writer; 0: it has not come yet */
    char unused[8];                  /* the last byte makes the file as long as it is to be */
};

struct record {
    uint64_t turn, bytes;
};

struct dry_way {
    struct head *head;
    int file;
    bool is_lost;
    struct record last; /* that was read, and where the one behind it begins */
    uint64_t next;
};

struct dry_way *dry_way_open(const char *name, bool is_ours)
{
    const char *folder = getenv("GMDRY_FOLDER");
    char path[DRY_PATH];
    if (folder == NULL || snprintf(path, sizeof path, "%s/ways", folder) >= (int)sizeof path - 128)
        return NULL;
    mkdir(path, 0700);
    snprintf(path + strlen(path), 128, "/%.120s", name);
    struct dry_way *way = calloc(1, sizeof *way);
    const int file = way == NULL ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const size_t size = sizeof *way->head;
    void *head = MAP_FAILED;
    if (file >= 0 && pwrite(file, "", 1, (off_t)size - 1) == 1) /* what the other one has written stays */
        head = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (head == MAP_FAILED) {
        if (file >= 0)
            close(file);
        free(way);
        return NULL;
    }
    way->file = file;
    way->head = head;
    if (is_ours)
        atomic_store(&way->head->pid, getpid());
    return way;
}

uint64_t dry_say(struct dry_way *way, const void *data, uint64_t bytes)
{
    if (way == NULL)
        return 0;
    const uint64_t turn = atomic_load(&way->head->turns) + 1, end = atomic_load(&way->head->end);
    const struct record record = {turn, bytes};
    const off_t at = (off_t)(sizeof *way->head + end);
    if (data != NULL && bytes > 0 && end + bytes < LARGEST_WAY &&
        pwrite(way->file, &record, sizeof record, at) == (ssize_t)sizeof record &&
        pwrite(way->file, data, bytes, at + (off_t)sizeof record) == (ssize_t)bytes)
        atomic_store(&way->head->end, end + sizeof record + bytes);
    atomic_store(&way->head->turns, turn);
    return turn;
}

static bool has_gone(const struct head *head)
{
    const int pid = atomic_load(&head->pid);
    return pid != 0 && pid != getpid() && kill(pid, 0) != 0 && errno == ESRCH;
}

bool dry_await(struct dry_way *way, uint64_t turn)
{
    const struct timespec moment = {.tv_nsec = 200000};
    const time_t begun = time(NULL);
    while (way != NULL && !way->is_lost && atomic_load(&way->head->turns) < turn) {
        const bool gone = has_gone(way->head); /* before the last look: it may have said it and gone */
        if (atomic_load(&way->head->turns) < turn && (gone || time(NULL) - begun > PATIENCE_SECONDS)) {
            way->is_lost = true;
            fprintf(stderr, "gmdry: another rank has not come to a collective%s: its part is made up\n",
                    gone ? " and has ended" : " for ten minutes");
            return false;
        }
        nanosleep(&moment, NULL);
    }
    return way != NULL && atomic_load(&way->head->turns) >= turn;
}

char *dry_said(struct dry_way *way, uint64_t turn, uint64_t *bytes)
{
    if (way == NULL)
        return NULL;
    const uint64_t end = atomic_load(&way->head->end);
    const off_t first = (off_t)sizeof *way->head;
    struct record r = way->last;
    uint64_t at = way->next;
    if (r.turn > turn) { /* back to the beginning */
        r = (struct record){0};
        at = 0;
    }
    while (r.turn < turn && at < end) {
        if (pread(way->file, &r, sizeof r, first + (off_t)at) != (ssize_t)sizeof r)
            return NULL;
        at += sizeof r + r.bytes;
    }
    way->last = r;
    way->next = at;
    char *data = r.turn == turn && r.bytes > 0 && at <= end ? malloc(r.bytes) : NULL;
    if (data == NULL)
        return NULL;
    *bytes = r.bytes;
    if (pread(way->file, data, r.bytes, first + (off_t)(at - r.bytes)) == (ssize_t)r.bytes)
        return data;
    free(data);
    return NULL;
}
