/* SPDX-License-Identifier: Apache-2.0
 *
 * COMMAND, with the stand-in around it: the environment says all. Keys that end a program go to it, as it is in our
 * process group; signals that are sent to us alone are handed on, so that what it did until then is told.
 */
#include "analyze/cli/operands.h"
#include "replay/dry/cli/gmdry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

static void hand_on(int signal)
{
    if (child > 0)
        kill(child, signal);
}

uint64_t gm_dry_total(const struct gm_dry_options *options, const struct gm_gpu *gpu)
{
    return options->memory > 0 ? options->memory : gpu->total;
}

uint64_t gm_dry_usable(const struct gm_dry_options *options, const struct gm_gpu *gpu)
{
    const uint64_t total = gm_dry_total(options, gpu);
    return total > GM_GPU_CONTEXT ? total - GM_GPU_CONTEXT : 0;
}

static void put_before(const char *variable, const char *value, char separator)
{
    GM_FREED struct gm_text text = {0};
    const char *old = getenv(variable);
    gm_text_add(&text, value);
    if (old != NULL && *old != '\0')
        gm_text_printf(&text, "%c%s", separator, old);
    if (!text.failed)
        setenv(variable, text.data, 1);
}

/* The card's title up to its size, as CUDA would print it. */
static void set_card(const struct gm_dry_options *options, const struct gm_gpu *gpu)
{
    struct gm_text text = {0};
    gm_text_printf(&text, "%d.%d,%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",NVIDIA %.*s", gpu->chip.major, gpu->chip.minor,
                   gpu->chip.sms, gpu->chip.l2, gm_dry_total(options, gpu),
                   gm_dry_total(options, gpu) - gm_dry_usable(options, gpu), (int)strcspn(gpu->title, ",:"),
                   gpu->title);
    if (!text.failed)
        setenv("GMDRY_CARD", text.data, 1);
    gm_text_free(&text);
    char clocks[64];
    snprintf(clocks, sizeof clocks, "%d,%d,%d", gpu->chip.bus_bits, gpu->chip.memory_megahertz, gpu->chip.megahertz);
    setenv("GMDRY_CLOCKS", clocks, 1);
}

static void set_number(const char *variable, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    setenv(variable, text, 1);
}

/* What compilers keep for other runs would be wrong on a card: helpers that are linked with the stand-in, images of
 * its NVRTC, choices by its clock. So they have the run's folder, which is removed; one is named as by itself, since
 * that tells whose code is in it. */
static void set_caches(const struct gm_dry_folder *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/torchinductor_gmdry", folder->path);
    setenv("TORCHINDUCTOR_CACHE_DIR", path, 1);
    snprintf(path, sizeof path, "%s/triton", folder->path);
    setenv("TRITON_CACHE_DIR", path, 1);
    setenv("USE_PYTORCH_KERNEL_CACHE", "0", 1);
}

/* One rank of a job, as torchrun would tell it. Watchdogs of the others have nothing to watch. */
static void set_rank(const struct gm_dry_options *options)
{
    const int64_t rank = options->rank < 0 ? 0 : options->rank;
    if (options->world_size == 0)
        return;
    set_number("GMDRY_WORLD_SIZE", options->world_size);
    set_number("WORLD_SIZE", options->world_size);
    set_number("RANK", rank);
    set_number("LOCAL_RANK", rank % options->devices);
    set_number("LOCAL_WORLD_SIZE", options->devices < options->world_size ? options->devices : options->world_size);
    set_number("GROUP_RANK", rank / options->devices);
    set_number("GROUP_WORLD_SIZE", (options->world_size + options->devices - 1) / options->devices);
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("MASTER_PORT", "29500", 1);
    setenv("TORCH_NCCL_ENABLE_MONITORING", "0", 0);
    setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", 0);
}

static void set_environment(const struct gm_dry_folder *folder, const struct gm_dry_options *options,
                            const struct gm_gpu *gpu)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/lib", folder->path);
    put_before("LD_LIBRARY_PATH", path, ':');
    /* Paths end at blanks and colons there: then one of our links has to do. */
    snprintf(path, sizeof path, "%s/lib/libcuda.so.1", folder->path);
    put_before("LD_PRELOAD", strpbrk(folder->library, " :") != NULL ? path : folder->library, ':');
    snprintf(path, sizeof path, "%s/log", folder->path);
    setenv("GMDRY_LOG", path, 1);
    setenv("GMDRY_FOLDER", folder->path, 1);
    setenv("GMDRY_LIBRARY", folder->library, 1);
    setenv("GMDRY_STACKS", gm_dry_stack_names[options->stacks], 1);
    setenv("GMDRY_DATA", gm_dry_data_names[options->data], 1);
    if (options->events == GM_DRY_EVENTS_SYNC)
        setenv("GMDRY_EVENTS", "sync", 1);
    else
        set_number("GMDRY_EVENTS", options->events);
    set_number("GMDRY_DEVICES", options->devices);
    set_number("GMDRY_STEPS", options->steps);
    set_card(options, gpu);
    set_rank(options);
    set_caches(folder);
}

static void hide_output(const struct gm_dry_folder *folder)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/output", folder->path);
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (file < 0)
        return;
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    close(file);
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

enum { SIGNALS = 4 };
static const int signals[SIGNALS] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP}; /* the first two: keys */

/* What the terminal sends reaches the command by itself. */
static void watch_signals(struct sigaction old[SIGNALS])
{
    const struct sigaction pass = {.sa_handler = hand_on, .sa_flags = SA_RESTART}, ignore = {.sa_handler = SIG_IGN};
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], i < 2 ? &ignore : &pass, &old[i]);
}

static void leave_signals(const struct sigaction old[SIGNALS])
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction(signals[i], &old[i], NULL);
}

/* If we are killed, it is asked to end: its libraries go with us. */
static void become(char **command, const struct gm_dry_folder *folder, const struct gm_dry_options *options,
                   const struct gm_gpu *gpu, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    signal(SIGPIPE, SIG_DFL); /* ours is ignored */
    set_environment(folder, options, gpu);
    if (options->hides_output)
        hide_output(folder);
    else if (gm_path_is_standard(options->usual.json))
        dup2(STDERR_FILENO, STDOUT_FILENO); /* which is for the JSON alone */
    execvp(command[0], command);
    fprintf(stderr, "gmdry: %s: %s\n", command[0], strerror(errno));
    _exit(127);
}

enum gm_status gm_dry_run(int *exit_code, char **command, const struct gm_dry_folder *folder,
                          const struct gm_dry_options *options, const struct gm_gpu *gpu, struct gm_error *err)
{
    struct sigaction old[SIGNALS];
    sigset_t all, before;
    int status = 0;
    const pid_t self = getpid();
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before); /* until it is known whom to hand them on to */
    watch_signals(old);
    const pid_t made = child = fork();
    if (made == 0)
        leave_signals(old);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (made == 0)
        become(command, folder, options, gpu, self);
    while (made > 0 && waitpid(made, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    leave_signals(old);
    if (made < 0)
        return gm_fail(err, GM_E_INTERNAL, GM_NO_OFFSET, "no process can be made: %s", strerror(errno));
    *exit_code = code_of(status);
    return GM_OK;
}
