/* SPDX-License-Identifier: Apache-2.0
 *
 * What of each card's memory is taken, by all processes that gmdry runs: a table in its folder (GMDRY_FOLDER), a row
 * for each process that uses a device; without a folder a table of this process alone. A process has a context on each
 * device that it uses. The rows of processes that have ended count no longer. A change holds the file's lock, which
 * ends with its holder; the caller holds the process's lock.
 */
#include "replay/dry/account.h"

#include "replay/dry/private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static struct dry_account *account;
static struct dry_row *row; /* ours */
static int file = -1;
static uint64_t estimated[DRY_DEVICES]; /* bytes of this process whose size is a rule's */
static uint64_t most[DRY_DEVICES],
    refused[DRY_DEVICES]; /* of this process: with the context; that did not fit, the last */

static struct dry_account *map(int flags)
{
    void *got = mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, flags, file, 0);
    return got == MAP_FAILED ? NULL : got;
}

static bool open_account(void)
{
    const char *folder = getenv("GMDRY_FOLDER");
    char path[DRY_PATH];
    if (account != NULL)
        return true;
    if (folder != NULL && snprintf(path, sizeof path, "%s/" DRY_ACCOUNT, folder) < (int)sizeof path)
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0 && ftruncate(file, sizeof *account) == 0)
        account = map(MAP_SHARED);
    if (account == NULL)
        account = map(MAP_PRIVATE | MAP_ANONYMOUS);
    return account != NULL;
}

static void lock(bool is_taken)
{
    while (file >= 0 && flock(file, is_taken ? LOCK_EX : LOCK_UN) != 0 && errno == EINTR)
        ;
}

static bool has_ended(const struct dry_row *r)
{
    return r->pid != getpid() && kill(r->pid, 0) != 0 && errno == ESRCH;
}

/* Ours, or a new one in the place of a process that has ended. NULL: more processes than the table has rows. */
static struct dry_row *own_row(void)
{
    const int pid = getpid();
    if (row != NULL && row->pid == pid)
        return row;
    row = NULL;
    for (size_t i = 0; row == NULL && i < DRY_ROWS; i++)
        if (account->rows[i].pid == 0 || has_ended(&account->rows[i]))
            row = &account->rows[i];
    if (row != NULL)
        *row = (struct dry_row){.pid = pid};
    memset(most, 0, sizeof most);
    memset(refused, 0, sizeof refused);
    return row;
}

static uint64_t sum(int at)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < DRY_ROWS && account->rows[i].pid != 0; i++)
        bytes += account->rows[i].used[at];
    return bytes;
}

static void forget_ended(void)
{
    for (size_t i = 0; i < DRY_ROWS && account->rows[i].pid != 0; i++)
        if (has_ended(&account->rows[i]))
            for (size_t k = 0; k < DRY_DEVICES; k++)
                account->rows[i].used[k] = 0;
}

static bool take(int at, uint64_t bytes)
{
    const uint64_t total = dry_card()->total;
    if (sum(at) + bytes > total)
        forget_ended();
    const uint64_t others = sum(at);
    if (others > total || bytes > total - others)
        return false;
    row->used[at] += bytes;
    if (row->used[at] > most[at])
        most[at] = row->used[at];
    if (others + bytes > account->peak[at])
        account->peak[at] = others + bytes;
    return true;
}

/* The context comes with the first use. */
static bool enter(int at)
{
    return own_row() != NULL && (row->used[at] > 0 || dry_card()->context == 0 || take(at, dry_card()->context));
}

/* What is left depends on an estimate, and somebody has seen it. */
static void say_estimated(int device)
{
    static bool is_said;
    if (estimated[device] > 0 && !is_said)
        dry_tell("estimated ncclCommInitRank\n");
    is_said = is_said || estimated[device] > 0;
}

bool dry_charge(int device, uint64_t bytes)
{
    const int at = dry_physical(device);
    if (!open_account())
        return false;
    lock(true);
    const bool fits = enter(at) && take(at, bytes);
    lock(false);
    if (!fits) {
        refused[at] = bytes;
        say_estimated(device);
    }
    return fits;
}

/* What the hook cannot ask an allocator that is not PyTorch's: the most that this process took of a device. */
API(uint64_t, gmdryTaken, int device)
{
    const uint64_t bytes = most[dry_physical(device)], context = dry_card()->context;
    return bytes > context ? bytes - context : 0;
}

/* ... and what it was last refused, for want of room; 0: nothing. */
API_IS(uint64_t, gmdryRefused, refused[dry_physical(device)], int device)

bool dry_charge_estimate(int device, uint64_t bytes)
{
    estimated[device] += bytes;
    if (dry_charge(device, bytes))
        return true;
    estimated[device] -= bytes;
    return false;
}

void dry_discharge_estimate(int device, uint64_t bytes)
{
    dry_discharge(device, bytes);
    estimated[device] -= bytes;
}

void dry_discharge(int device, uint64_t bytes)
{
    lock(true);
    if (own_row() != NULL) {
        const int at = dry_physical(device);
        row->used[at] -= bytes < row->used[at] ? bytes : row->used[at];
    }
    lock(false);
}

uint64_t dry_free_bytes(int device)
{
    const int at = dry_physical(device);
    if (!open_account())
        return 0;
    lock(true);
    say_estimated(device);
    enter(at);
    forget_ended();
    const uint64_t used = sum(at);
    lock(false);
    return used < dry_card()->total ? dry_card()->total - used : 0;
}

/* What this process has is free again. A forked child has nothing. */
__attribute__((destructor)) static void leave(void)
{
    if (row == NULL || row->pid != getpid())
        return;
    for (size_t i = 0; i < DRY_DEVICES; i++)
        row->used[i] = 0;
}
