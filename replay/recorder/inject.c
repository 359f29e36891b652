/* SPDX-License-Identifier: Apache-2.0
 *
 * libgmrecord.so: CUDA loads it into a program when CUDA_INJECTION64_PATH names it, and calls InitializeInjection. From
 * then on memory calls are recorded; when the program ends, by exit or a signal that would kill it, the trace is
 * written. A failure here is said on stderr and leaves the program alone.
 */
#include "replay/recorder/demangle.h"
#include "replay/recorder/glue.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEFAULT_EVENTS = 1000000 };

int InitializeInjection(void) __attribute__((visibility("default")));

static struct gm_recorder *recorder;
static pid_t owner; /* a forked child has all this, too, and must not write */
static atomic_flag is_started = ATOMIC_FLAG_INIT;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static bool is_written;
static int wake[2] = {-1, -1}; /* from the signal handler to the thread that writes */

static void say(const char *text)
{
    fprintf(stderr, "gmrecord: %s\n", text);
}

/* ---- names of code ---------------------------------------------------------------------------------------------- */

/* Programs differ in where they are loaded, so code without a name has its offset. */
static void resolve(uint64_t address, char name[256], char file[256])
{
    Dl_info info;
    void *at = (void *)(uintptr_t)address;
    if (dladdr(at, &info) == 0)
        return;
    if (info.dli_fname != NULL)
        snprintf(file, 256, "%s", info.dli_fname);
    if (info.dli_sname != NULL) {
        char shown[GM_NAME_SHOWN];
        gm_demangle(shown, info.dli_sname);
        snprintf(name, 256, "%.255s", shown);
    } else {
        snprintf(name, 256, "+0x%" PRIxPTR, (uintptr_t)at - (uintptr_t)info.dli_fbase);
    }
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static void write_trace(void)
{
    struct gm_snapshot snapshot;
    struct gm_error err;
    GM_FREED struct gm_text path = {0};
    const char *pattern = getenv("GM_RECORD_OUT");
    gm_record_path(&path, pattern != NULL && pattern[0] != '\0' ? pattern : "gmrecord_%p.gmtrace");
    enum gm_status status = gm_recorder_finish(recorder, &snapshot, &err);
    size_t events = status == GM_OK ? snapshot.events.count : 0;
    size_t marks = status == GM_OK ? snapshot.annotation_count : 0;
    if (path.failed)
        status = gm_no_memory(&err);
    if (status == GM_OK && events + marks > 0)
        status = gm_record_write(&snapshot, path.data, &err);
    if (status != GM_OK)
        fprintf(stderr, "gmrecord: nothing was written: %s\n", err.message);
    else if (events + marks == 0)
        say("the program did not use CUDA memory: nothing was written");
    else
        fprintf(stderr, "gmrecord: %zu events, %zu marks: %s\n", events, marks, path.data);
    for (size_t i = 0; status == GM_OK && i < snapshot.warning_count; i++)
        say(snapshot.warnings[i]);
    gm_snapshot_free(&snapshot);
}

static void finish(void)
{
    if (getpid() != owner)
        return;
    pthread_mutex_lock(&writing); /* exit and a signal may meet: the second one waits */
    if (!is_written) {
        gm_cupti_stop();
        write_trace();
        is_written = true;
    }
    pthread_mutex_unlock(&writing);
}

/* ---- signals ---------------------------------------------------------------------------------------------------- */

static const int fatal[] = {SIGTERM, SIGINT, SIGHUP};

/* Writing a file takes memory and locks, which a handler may not; so it wakes a thread and returns. */
static void on_signal(int signal_number)
{
    int before = errno;
    unsigned char byte = (unsigned char)signal_number;
    if (getpid() != owner || write(wake[1], &byte, 1) != 1) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
    }
    errno = before;
}

static void *wait_for_signal(void *argument)
{
    unsigned char byte = 0;
    ssize_t n;
    do
        n = read(wake[0], &byte, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1) {
        finish();
        signal(byte, SIG_DFL);
        kill(owner, byte);
    }
    return argument;
}

/* Only where the program has no plans of its own. */
static void catch_signals(void)
{
    pthread_t thread;
    sigset_t all, before;
    if (pipe2(wake, O_CLOEXEC) != 0)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool ok = pthread_create(&thread, NULL, wait_for_signal, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!ok)
        return;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) {
        struct sigaction known, ours = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&ours.sa_mask);
        if (sigaction(fatal[i], NULL, &known) == 0 && (known.sa_flags & SA_SIGINFO) == 0 && known.sa_handler == SIG_DFL)
            sigaction(fatal[i], &ours, NULL);
    }
}

/* ---- the beginning ---------------------------------------------------------------------------------------------- */

/* The number in an environment variable, from `low` to `high`; `otherwise` if it is not set or none. */
static size_t setting(const char *name, size_t low, size_t high, size_t otherwise)
{
    const char *text = getenv(name);
    if (text == NULL || text[0] == '\0')
        return otherwise;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno == 0 && *end == '\0' && text[0] != '-' && value >= low && value <= high)
        return (size_t)value;
    fprintf(stderr, "gmrecord: %s must be a number from %zu to %zu; %zu is taken\n", name, low, high, otherwise);
    return otherwise;
}

/* Always 1: CUDA goes on without us. */
int InitializeInjection(void)
{
    if (atomic_flag_test_and_set(&is_started))
        return 1;
    owner = getpid();
    struct gm_recorder_options options = {
        .max_events = setting("GM_RECORD_MAX_EVENTS", 1, (1u << 28) - 2, DEFAULT_EVENTS), .resolve = resolve};
    struct gm_error err;
    recorder = gm_recorder_new(&options);
    if (recorder == NULL) {
        say("out of memory: nothing is recorded");
        return 1;
    }
    unsigned depth = (unsigned)setting("GM_RECORD_BACKTRACE", 0, GM_RECORD_NATIVE, 0);
    if (gm_cupti_start(recorder, depth, setting("GM_RECORD_KERNELS", 0, 1, 1) == 1, &err) != GM_OK) {
        fprintf(stderr, "gmrecord: nothing is recorded: %s\n", err.message);
        return 1;
    }
    atexit(finish);
    catch_signals();
    return 1;
}
