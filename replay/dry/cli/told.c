/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads what the stand-in and the hook wrote: lines of a word and its values. What is not understood is passed over: a
 * killed process may have written half a line.
 */
#include "replay/dry/account.h"
#include "replay/dry/cli/gmdry.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = PATH_MAX + 64 };

/* Adds a copy unless it is there. */
static bool add_name(struct gm_dry_names *list, const char *name)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->v[i], name) == 0)
            return true;
    char *copy = GM_VEC_ROOM(list, 1) ? strdup(name) : NULL;
    return copy != NULL && GM_VEC_PUSH(list, copy);
}

/* "kernel COUNT NAME"; of several processes the sum. */
static bool add_kernel(struct gm_dry_told *told, const char *line)
{
    char *name = NULL;
    const uint64_t launches = strtoull(line, &name, 10);
    size_t i = 0;
    name += *name == ' ';
    while (i < told->kernels.n && strcmp(told->kernels.v[i].name, name) != 0)
        i++;
    if (i == told->kernels.n) {
        char *copy = GM_VEC_ROOM(&told->kernels, 1) ? strdup(name) : NULL;
        if (copy == NULL || !GM_VEC_PUSH(&told->kernels, (struct gm_dry_kernel){.name = copy}))
            return false;
    }
    told->kernels.v[i].launches += launches;
    return true;
}

static int by_launches(const void *a, const void *b)
{
    const struct gm_dry_kernel *p = a, *q = b;
    return p->launches != q->launches ? (p->launches < q->launches) - (p->launches > q->launches)
                                      : strcmp(p->name, q->name);
}

/* "crash SIGNAL IS_DEVICE_ADDRESS FUNCTION LIBRARY"; the first is told. */
static void read_crash(struct gm_dry_told *told, const char *line)
{
    char function[96], library[32] = "";
    int number = 0, is_device = 0;
    if (told->crash[0] != '\0' || sscanf(line, "%d %d %95s %31[^\n]", &number, &is_device, function, library) < 3)
        return;
    const char *name = sigabbrev_np(number);
    const int n = snprintf(told->crash, sizeof told->crash, "SIG%s%s", name == NULL ? "?" : name,
                           is_device ? ", at an address of device memory" : "");
    if (strcmp(function, "-") != 0)
        snprintf(told->crash + n, sizeof told->crash - (size_t)n, "; the last function of the stand-in: %s of %s",
                 function, library);
}

static void read_torch(struct gm_dry_told *told, const char *word)
{
    static const char *const words[] = {"", "wanted", "cpu", "cuda"}; /* enum gm_dry_torch */
    for (int i = GM_DRY_TORCH_CUDA; i > (int)told->torch; i--)
        if (strcmp(words[i], word) == 0)
            told->torch = (enum gm_dry_torch)i;
}

static bool is_same(const struct gm_dry_read *a, const struct gm_dry_read *b)
{
    return a->is_size == b->is_size && strcmp(a->site, b->site) == 0 && strcmp(a->called, b->called) == 0;
}

static void free_site(struct gm_dry_read *site)
{
    GM_FREE_ALL(site->called, site->inner, site->site);
}

/* Takes what it owns. */
static bool add_site(struct gm_dry_told *told, struct gm_dry_read *site)
{
    for (size_t i = 0; i < told->sites.n; i++)
        if (is_same(&told->sites.v[i], site)) {
            told->sites.v[i].count += site->count;
            free_site(site);
            return true;
        }
    const bool ok = GM_VEC_PUSH(&told->sites, *site);
    if (!ok)
        free_site(site);
    return ok;
}

/* "size 3 index nonzero train.py:41"; "-" is no name. */
static bool read_site(struct gm_dry_told *told, const char *text)
{
    char kind[8], called[64], inner[64];
    struct gm_dry_read site;
    int at = 0;
    if (sscanf(text, "%7s %" SCNu64 " %63s %63s %n", kind, &site.count, called, inner, &at) != 4 || at == 0)
        return true;
    site.is_size = strcmp(kind, "size") == 0;
    site.called = strdup(strcmp(called, "-") == 0 ? "" : called);
    site.inner = strdup(strcmp(inner, "-") == 0 ? "" : inner);
    site.site = strdup(text + at);
    if (site.called != NULL && site.inner != NULL && site.site != NULL)
        return add_site(told, &site);
    free_site(&site);
    return false;
}

static bool read_log_line(struct gm_dry_told *told, const char *line)
{
    char name[128];
    uint64_t n[3];
    if (sscanf(line, "unknown %127s", name) == 1)
        return add_name(&told->unknown, name);
    if (sscanf(line, "estimated %127s", name) == 1)
        return add_name(&told->estimated, name);
    if (strncmp(line, "crash ", 6) == 0)
        read_crash(told, line + 6);
    if (strncmp(line, "kernel ", 7) == 0)
        return add_kernel(told, line + 7);
    if (strncmp(line, "torch ", 6) == 0)
        read_torch(told, line + 6);
    if (strncmp(line, "read ", 5) == 0)
        return read_site(told, line + 5);
    if (strcmp(line, "reads") == 0)
        told->reads = true;
    if (sscanf(line, "counts %" SCNu64 " %" SCNu64 " %" SCNu64, &n[0], &n[1], &n[2]) == 3) {
        told->launches += n[0];
        told->copies_to_host += n[1];
        told->bytes_to_host += n[2];
    }
    return true;
}

static void read_device(struct gm_dry_told *told, unsigned device, const uint64_t n[4])
{
    struct gm_dry_device *d = &told->devices[device];
    struct gm_dry_process *p = &told->processes.v[told->processes.n];
    if (n[1] == 0 && n[2] == 0)
        return; /* not used by this process */
    if (n[1] >= p->reserved) {
        p->allocated = n[0];
        p->reserved = n[1];
    }
    p->is_user = true;
    d->peak_allocated = n[0] > d->peak_allocated ? n[0] : d->peak_allocated;
    d->peak_reserved = n[1] > d->peak_reserved ? n[1] : d->peak_reserved;
    d->ooms += n[2];
    d->retries += n[3];
    d->processes++;
    if (told->device_count < device + 1)
        told->device_count = device + 1;
}

static bool read_process_line(struct gm_dry_told *told, const char *line)
{
    struct gm_dry_process *p = &told->processes.v[told->processes.n];
    uint64_t n[4];
    unsigned device = 0;
    if (strncmp(line, "snapshot ", 9) == 0)
        return p->snapshot == NULL && (p->snapshot = strdup(line + 9)) != NULL;
    if (sscanf(line, "device %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &device, &n[0], &n[1], &n[2], &n[3]) ==
            5 &&
        device < GM_DRY_DEVICES)
        read_device(told, device, n);
    else if (sscanf(line, "wanted %u %" SCNu64, &device, &n[0]) == 2)
        p->wanted = n[0];
    else if (sscanf(line, "steps %" SCNu64, &n[0]) == 1)
        p->steps = n[0];
    else if (strcmp(line, "since program") == 0)
        p->is_late = true;
    else if (strcmp(line, "until program") == 0)
        p->is_short = true;
    else if (strcmp(line, "untraced") == 0)
        p->is_untraced = true;
    else
        sscanf(line, "rank %d", &p->rank);
    return true;
}

/* false: no memory. A file that is not there has no lines. */
static bool read_lines(struct gm_dry_told *told, const char *path, bool (*read)(struct gm_dry_told *, const char *))
{
    char line[LINE];
    bool ok = true;
    FILE *file = fopen(path, "re");
    while (ok && file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        ok = read(told, line);
    }
    if (file != NULL)
        fclose(file);
    return ok;
}

static bool read_process(struct gm_dry_told *told, const char *path)
{
    if (!GM_VEC_ROOM(&told->processes, 1))
        return false;
    const struct gm_dry_process *p = &told->processes.v[told->processes.n];
    told->processes.v[told->processes.n] = (struct gm_dry_process){.rank = -1};
    const bool ok = read_lines(told, path, read_process_line);
    if (p->snapshot == NULL && !p->is_untraced)
        told->silent_count++;
    else if (p->is_user) {
        told->processes.n++;
        told->traced_count += !p->is_untraced;
    } else
        free(p->snapshot); /* it only opened the devices, as workers of compilers do: there is nothing in it */
    return ok;
}

static int by_rank(const void *a, const void *b)
{
    const struct gm_dry_process *p = a, *q = b;
    if (p->is_untraced != q->is_untraced)
        return p->is_untraced - q->is_untraced;
    if (p->rank != q->rank || p->is_untraced)
        return (p->rank > q->rank) - (p->rank < q->rank);
    return strcmp(p->snapshot, q->snapshot);
}

/* What the processes took of the devices together. */
static void read_account(struct gm_dry_told *told, const char *path)
{
    struct dry_account account = {0};
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fread(account.peak, sizeof account.peak, 1, file) == 1)
        for (size_t i = 0; i < DRY_DEVICES; i++)
            told->devices[i].used = account.peak[i];
    fclose(file);
}

enum gm_status gm_dry_told_read(struct gm_dry_told *told, const struct gm_dry_folder *folder, struct gm_error *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/log", folder->path);
    bool ok = read_lines(told, path, read_log_line);
    snprintf(path, sizeof path, "%s/processes", folder->path);
    DIR *processes = opendir(path);
    for (struct dirent *entry; ok && processes != NULL && (entry = readdir(processes)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/processes/%.32s/told", folder->path, entry->d_name);
        ok = read_process(told, path);
    }
    if (processes != NULL)
        closedir(processes);
    snprintf(path, sizeof path, "%s/" DRY_ACCOUNT, folder->path);
    read_account(told, path);
    if (told->processes.n > 1)
        qsort(told->processes.v, told->processes.n, sizeof *told->processes.v, by_rank);
    if (told->kernels.n > 1)
        qsort(told->kernels.v, told->kernels.n, sizeof *told->kernels.v, by_launches);
    return ok ? GM_OK : gm_no_memory(err);
}

static void free_names(struct gm_dry_names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->v[i]);
    free(list->v);
}

void gm_dry_told_free(struct gm_dry_told *told)
{
    for (size_t i = 0; i < told->processes.n; i++)
        free(told->processes.v[i].snapshot);
    free(told->processes.v);
    for (size_t i = 0; i < told->kernels.n; i++)
        free(told->kernels.v[i].name);
    free(told->kernels.v);
    for (size_t i = 0; i < told->sites.n; i++)
        free_site(&told->sites.v[i]);
    free(told->sites.v);
    free_names(&told->unknown);
    free_names(&told->estimated);
}
