/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN can tell engines and their workspaces for a device that is not there: from a description of it, for compiling
 * ahead of time. So where the program has loaded NVIDIA's own cuDNN, which the preloaded stand-in hides from it, that
 * one is asked: by gmdry-cudnn, a process that has none of us in it. It is started at the first question and ends when
 * this process does. What it said is kept: programs ask the same again.
 */
#include "analyze/base/freed.h"
#include "replay/dry/dnn.h"
#include "replay/dry/private.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
int cudaDeviceGetAttribute(int *value, int number, int device);

/* ---- the device, as cuDNN has it told ---------------------------------------------------------------------------- */

static int attribute(int number)
{
    int value = 0;
    cudaDeviceGetAttribute(&value, number, 0);
    return value;
}

static void describe_device(char *text, size_t room)
{
    /* By the numbers of cudaDeviceAttr. */
    static const struct {
        const char *key;
        int number;
    } rows[] = {
        {"regsPerBlock", 12},
        {"multiProcessorCount", 16},
        {"warpSize", 10},
        {"smClockRateKHz", 13},
        {"memClockRateKHz", 36},
        {"l2CacheSize", 38},
        {"maxRegistersPerSM", 82},
        {"maxSharedMemoryPerBlock", 8},
        {"maxSharedMemoryPerBlockOptin", 97},
        {"maxCtasPerSM", 106},
        {"reservedSharedMemoryPerBlock", 111},
        {"maxThreadsPerBlock", 1},
        {"maxThreadsPerSM", 39},
        {"supportCoopLaunch", 95},
        {"pciDeviceId", 34},
    };
    const struct dry_card *card = dry_card();
    int n = snprintf(
        text, room,
        "{\"deviceVer\": %d, \"driverVer\": 13020, \"cudaDeviceId\": 0, \"isTccDriver\": 0, \"smCountOrigin\": 0, "
        "\"oversizedSharedMemoryPerBlock\": 0, \"totalGlobalMem\": %llu, \"deviceName\": \"%s\", "
        "\"maxGridSize\": [%d, %d, %d], \"maxBlockSize\": [%d, %d, %d]",
        card->major * 100 + card->minor * 10, (unsigned long long)card->total, card->name, attribute(5), attribute(6),
        attribute(7), attribute(2), attribute(3), attribute(4));
    for (size_t i = 0; i < sizeof rows / sizeof *rows && n > 0 && (size_t)n < room; i++)
        n += snprintf(text + n, room - (size_t)n, ", \"%s\": %d", rows[i].key, attribute(rows[i].number));
    if (n > 0 && (size_t)n < room)
        snprintf(text + n, room - (size_t)n, "}");
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

struct found {
    char own[PATH_MAX], cudnn[PATH_MAX], folders[4 * PATH_MAX]; /* of NVIDIA's libraries, for LD_LIBRARY_PATH */
};

static void note_folder(struct found *found, const char *path, const char *slash)
{
    const size_t n = strlen(found->folders);
    snprintf(found->folders + n, sizeof found->folders - n, "%s%.*s", n > 0 ? ":" : "", (int)(slash - path), path);
}

/* What the program has loaded under the library's name and is not us. */
static int look_at(struct dl_phdr_info *info, size_t size, void *data)
{
    struct found *found = data;
    char path[PATH_MAX];
    const char *slash = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
    if (slash == NULL || realpath(info->dlpi_name, path) == NULL || strcmp(path, found->own) == 0)
        return 0;
    if (strcmp(slash, "/libcudnn.so.9") == 0) {
        snprintf(found->cudnn, sizeof found->cudnn, "%s", info->dlpi_name);
        note_folder(found, info->dlpi_name, slash);
    } else if (strncmp(slash, "/libcublasLt.so.", 16) == 0 || strncmp(slash, "/libnvrtc.so.", 13) == 0) {
        note_folder(found, info->dlpi_name, slash);
    }
    return 0;
}

static bool find(struct found *found)
{
    Dl_info info;
    if (dladdr((void *)(uintptr_t)find, &info) == 0 || realpath(info.dli_fname, found->own) == NULL)
        return false;
    dl_iterate_phdr(look_at, found);
    return found->cudnn[0] != '\0';
}

/* Kernels that are compiled at run time want a driver to be there; they find ours, alone in a folder. */
static void add_driver(struct found *found)
{
    const char *folder = getenv("GMDRY_FOLDER");
    char path[PATH_MAX];
    if (folder == NULL || snprintf(path, sizeof path, "%s/driver/libcuda.so.1", folder) >= (int)sizeof path)
        return;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    const bool is_there = mkdir(path, 0700) == 0 || errno == EEXIST;
    *slash = '/';
    if (is_there && (symlink(found->own, path) == 0 || errno == EEXIST))
        note_folder(found, path, slash);
}

/* Ours without what would bring us into it, or let it say something in our name. */
static char **environment_of(const struct found *found, char *path, size_t room)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        count++;
    char **made = calloc(count + 2, sizeof *made);
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], "LD_", 3) != 0 && strncmp(environ[i], "CUDNN_", 6) != 0 &&
            strncmp(environ[i], "GMDRY_", 6) != 0)
            made[kept++] = environ[i];
    snprintf(path, room, "LD_LIBRARY_PATH=%s", found->folders);
    made[kept] = path;
    return made;
}

/* Our end of a socket to it; -1: there is none. It detaches itself, so what is waited for is gone at once. */
static int start(void)
{
    struct found found = {.own = ""};
    char program[PATH_MAX + 16], device[2048], path[sizeof found.folders + 32];
    int ends[2], status = 0;
    pid_t pid;
    if (!find(&found))
        return -1;
    add_driver(&found);
    snprintf(program, sizeof program, "%.*s/gmdry-cudnn", (int)(strrchr(found.own, '/') - found.own), found.own);
    describe_device(device, sizeof device);
    char *arguments[] = {program, found.cudnn, device, NULL}, **environment = environment_of(&found, path, sizeof path);
    if (environment == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        free(environment);
        return -1;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawn(&pid, program, &actions, NULL, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    close(ends[1]);
    while (failed == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    const struct timeval patience = {.tv_sec = 120}; /* it may have to compile */
    if (failed == 0 && status == 0 && setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

/* ---- questions and answers --------------------------------------------------------------------------------------- */

struct text {
    char *data;
    size_t used, room;
    bool has_failed;
};

static void add(struct text *text, const void *data, size_t bytes)
{
    if (text->used + bytes > text->room) {
        const size_t room = 2 * (text->used + bytes) + 4096;
        char *larger = realloc(text->data, room);
        text->has_failed |= larger == NULL;
        if (larger != NULL) {
            text->data = larger;
            text->room = room;
        }
    }
    if (!text->has_failed && bytes > 0) {
        memcpy(text->data + text->used, data, bytes);
        text->used += bytes;
    }
}

/* Handles and pointers are this process's. */
static bool is_sent(const struct dnn_value *value)
{
    return value->type != DNN_TYPE_HANDLE && value->type != DNN_TYPE_POINTER;
}

static void add_content(struct text *text, const struct dnn_content *content)
{
    int32_t head[2] = {(int32_t)content->kind, 0};
    for (const struct dnn_value *value = content->values; value != NULL; value = value->next)
        head[1] += is_sent(value);
    add(text, head, sizeof head);
    for (const struct dnn_value *value = content->values; value != NULL; value = value->next) {
        const size_t width = dnn_width_of(value->type);
        const struct dnn_field field = {value->name, value->type, (int32_t)width, 0, value->count};
        if (!is_sent(value))
            continue;
        add(text, &field, sizeof field);
        for (int64_t i = 0; value->type == DNN_TYPE_DESCRIPTOR && i < value->count; i++)
            add_content(text, value->contents[i]);
        if (value->type != DNN_TYPE_DESCRIPTOR)
            add(text, value->data, (size_t)value->count * width);
    }
}

struct answer {
    struct text question;
    int count;
    struct dnn_engine *engines;
    struct answer *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct answer *answers;
static int connection = -1;
static pid_t owner; /* who started the process: a forked child starts its own; 0: nobody yet */

static const struct answer *find_answer(const struct text *question)
{
    const struct answer *answer = answers;
    while (answer != NULL && (answer->question.used != question->used ||
                              memcmp(answer->question.data, question->data, question->used) != 0))
        answer = answer->next;
    return answer;
}

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* A child that is forked while another thread asks shall be able to ask, too. */
static void watch_forks(void)
{
    pthread_atfork(lock, unlock, unlock);
}

static int ask_process(struct dnn_engine *engines, const struct text *question)
{
    const uint32_t bytes = (uint32_t)question->used;
    int32_t count = -1;
    if (owner != getpid()) {
        if (connection >= 0)
            close(connection);
        connection = start();
        owner = getpid();
    }
    if (connection < 0)
        return -1;
    if (dnn_send(connection, &bytes, sizeof bytes) && dnn_send(connection, question->data, bytes) &&
        dnn_receive(connection, &count, sizeof count) && count <= DNN_ENGINES &&
        (count <= 0 || dnn_receive(connection, engines, (size_t)count * sizeof *engines)))
        return count;
    close(connection); /* it is gone */
    connection = -1;
    return -1;
}

/* Takes the question. */
static void keep(struct text *question, const struct dnn_engine *engines, int count)
{
    struct answer *answer = calloc(1, sizeof *answer);
    struct dnn_engine *copy = calloc((size_t)(count > 0 ? count : 1), sizeof *copy);
    if (answer == NULL || copy == NULL) {
        GM_FREE_ALL(answer, copy, question->data);
        return;
    }
    if (count > 0)
        memcpy(copy, engines, (size_t)count * sizeof *copy);
    *answer = (struct answer){*question, count, copy, answers};
    answers = answer;
}

int dnn_ask(struct dnn_engine *engines, const struct dnn_content *graph, int mode)
{
    struct text question = {0};
    const int32_t number = mode;
    add(&question, &number, sizeof number);
    add_content(&question, graph);
    if (question.has_failed) {
        free(question.data);
        return -1;
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    lock();
    const struct answer *known = find_answer(&question);
    int count = known != NULL ? known->count : ask_process(engines, &question);
    if (known != NULL && count > 0)
        memcpy(engines, known->engines, (size_t)count * sizeof *engines);
    if (known == NULL)
        keep(&question, engines, count);
    else
        free(question.data);
    unlock();
    return count;
}
