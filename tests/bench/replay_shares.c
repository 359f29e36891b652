/* SPDX-License-Identifier: Apache-2.0
 *
 * What share of the replay's time goes where, in a build with GM_PROFILE. The model stores what it is doing in one
 * variable, and a timer of processor time looks at it some hundred times a second: no clock is read on the way, so the
 * shares are not those of the measuring.
 *
 * usage: replay_shares what-if|verify SAMPLES FILE
 */
#include "analyze/allocator/recorded_settings.h"
#include "analyze/formats/load.h"
#include "analyze/timeline/history/history.h"
#include "replay/model/allocator_private.h"
#include "replay/verify/verify.h"
#include "replay/whatif/whatif.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum { MOST_ROUNDS = 10000 };

static volatile sig_atomic_t is_counting;
static volatile long samples[GM_DOINGS];

static void sample(int signal)
{
    (void)signal;
    if (is_counting)
        samples[gm_profile_doing]++;
}

static bool start_timer(void)
{
    struct sigaction action = {.sa_handler = sample, .sa_flags = SA_RESTART};
    const struct timeval tick = {.tv_usec = 1000};
    const struct itimerval every = {tick, tick};
    return sigaction(SIGPROF, &action, NULL) == 0 && setitimer(ITIMER_PROF, &every, NULL) == 0;
}

/* Once through the trace. */
static bool replay(struct gm_history *h, const struct gm_conf *conf, bool verifies, struct gm_error *err)
{
    const struct gm_whatif_options options = {.conf = *conf, .capacity = UINT64_MAX, .from_layout = true};
    GM_FREED struct gm_whatif_result *whatif = malloc(sizeof *whatif);
    GM_FREED struct gm_verify_result *verify = malloc(sizeof *verify);
    enum gm_status status = GM_E_NOMEM;
    gm_profile_doing = GM_DOING_OUTSIDE;
    is_counting = 1;
    if (whatif == NULL || verify == NULL)
        gm_fail(err, GM_E_NOMEM, GM_NO_OFFSET, "out of memory");
    else
        status = verifies ? gm_verify(verify, h, conf, err) : gm_whatif(whatif, h, &options, err);
    is_counting = 0;
    return status == GM_OK;
}

static long sample_count(void)
{
    long total = 0;
    for (int i = 0; i < GM_DOINGS; i++)
        total += samples[i];
    return total;
}

static void print(uint64_t events)
{
    static const char *const names[] = {"outside", "search", "split_merge", "bookkeeping", "device"};
    long total = sample_count();
    printf("events %llu samples %ld", (unsigned long long)events, total);
    for (int i = 0; i < GM_DOINGS; i++)
        printf(" %s %.1f", names[i], total == 0 ? 0 : 100.0 * (double)samples[i] / (double)total);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct gm_snapshot s;
    struct gm_error err = {0};
    if (argc != 4 || (strcmp(argv[1], "what-if") != 0 && strcmp(argv[1], "verify") != 0))
        return 2;
    long enough = strtol(argv[2], NULL, 10);
    uint64_t events = 0;
    if (gm_snapshot_load(&s, argv[3], NULL, &err) != GM_OK) {
        fprintf(stderr, "%s: %s\n", argv[3], err.message);
        return 3;
    }
    const struct gm_conf conf = gm_settings_recorded(&s, NULL); /* of odd settings, what is understood */
    bool ok = start_timer();
    for (size_t d = 0; ok && d < s.trace_count; d++) {
        struct gm_history h;
        if (s.traces[d].count == 0)
            continue;
        ok = gm_history_build(&h, &s, d, NULL, &err) == GM_OK;
        for (int round = 0; ok && round < MOST_ROUNDS && (round == 0 || sample_count() < enough); round++) {
            ok = replay(&h, &conf, argv[1][0] == 'v', &err);
            events += h.count;
        }
        if (ok)
            gm_history_free(&h);
    }
    if (ok)
        print(events);
    else
        fprintf(stderr, "%s: %s\n", argv[3], err.message);
    gm_snapshot_free(&s);
    return ok ? 0 : 5;
}
