/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/ahead.h"
#include "analyze/diagnose/diagnose.h"

#include <stdlib.h>
#include <string.h>

enum { WORTH_A_THREAD = 10000 /* events: they take longer than a thread takes to start */ };
enum state { UNASKED, IN_QUESTION, SOMETHING, NOTHING };

/* What a rule said, when so many allocations had been taken. */
struct answer {
    enum state state;
    size_t takes;
};

struct gm_ahead {
    struct gm_lives *lives; /* of who asks in turn */
    const struct gm_kept_device *kept;
    const struct gm_snapshot *snapshot;
    struct gm_report *whole;
    struct gm_report report; /* the same, with an arena of its own */
    struct gm_case c;
    struct gm_lives own;
    bool asks_of_others; /* the rule that was asked last */
    pthread_t thread;
    pthread_mutex_t lock; /* of all below, lives->taken and lives->takes */
    pthread_cond_t changed;
    bool has_thread, is_started, has_failed, is_over;
    size_t turn; /* 1 + the last rule whose turn it was */
    struct answer answers[];
};

static size_t count_rules(void)
{
    size_t n = 0;
    while (gm_rule_at(n) != NULL)
        n++;
    return n;
}

/* The last one that is worth asking; SIZE_MAX: none. */
static size_t next(const struct gm_ahead *ahead)
{
    for (size_t i = count_rules(); i > ahead->turn; i--) {
        const struct gm_rule *rule = gm_rule_at(i - 1);
        const struct answer *answer = &ahead->answers[i - 1];
        if (rule->find_in_lives != NULL && !rule->is_last && !rule->is_in_turn &&
            (answer->state == UNASKED || answer->takes != ahead->lives->takes))
            return i - 1;
    }
    return SIZE_MAX;
}

static enum state ask(struct gm_ahead *ahead, size_t i)
{
    struct gm_finding found[2];
    struct gm_case *c = &ahead->c;
    const size_t takes = ahead->own.takes;
    c->findings = found;
    c->room = 2;
    c->n = 0;
    c->failed = ahead->asks_of_others = false;
    c->asked = gm_rule_at(i)->id;
    gm_rule_at(i)->find_in_lives(c, gm_rule_at(i));
    return c->n == 0 && !c->failed && !ahead->asks_of_others && ahead->own.takes == takes ? NOTHING : SOMETHING;
}

static void ask_all(struct gm_ahead *ahead)
{
    while (!ahead->is_over) {
        const size_t i = next(ahead);
        if (i == SIZE_MAX) {
            pthread_cond_wait(&ahead->changed, &ahead->lock);
            continue;
        }
        if (ahead->own.takes != ahead->lives->takes)
            gm_lives_take_as(&ahead->own, ahead->lives);
        const size_t takes = ahead->own.takes;
        ahead->answers[i] = (struct answer){IN_QUESTION, takes};
        pthread_mutex_unlock(&ahead->lock);
        const enum state state = ask(ahead, i);
        pthread_mutex_lock(&ahead->lock);
        ahead->answers[i].state = state;
        if (ahead->own.takes != takes)
            ahead->own.takes = SIZE_MAX; /* what it took itself counts for nothing */
        pthread_cond_broadcast(&ahead->changed);
    }
}

static bool start(struct gm_ahead *ahead, struct gm_report *report)
{
    const struct gm_case *c = &ahead->c;
    return gm_lives_start(ahead->lives, report, ahead->snapshot, ahead->kept, c->view.peak, &c->view.timeline->steps,
                          c->has_oom);
}

static void *run(void *argument)
{
    struct gm_ahead *ahead = argument;
    const bool is_there =
        start(ahead, &ahead->report) && gm_lives_twin(&ahead->own, ahead->lives, &ahead->whole->arena);
    ahead->own.failed = &ahead->c.failed;
    pthread_mutex_lock(&ahead->lock);
    ahead->has_failed = !is_there;
    ahead->is_started = true;
    ahead->lives->lock = &ahead->lock;
    pthread_cond_broadcast(&ahead->changed);
    if (is_there)
        ask_all(ahead);
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

struct gm_ahead *gm_ahead_start(const struct gm_case *c, struct gm_lives *l, const struct gm_snapshot *snapshot,
                                const struct gm_kept_device *kept, bool has_thread)
{
    struct gm_ahead *ahead = calloc(1, sizeof *ahead + count_rules() * sizeof *ahead->answers);
    if (ahead == NULL)
        return NULL;
    ahead->lives = l;
    ahead->snapshot = snapshot;
    ahead->kept = kept;
    ahead->whole = c->report;
    ahead->report = *c->report;
    ahead->report.arena = (struct gm_arena){0};
    ahead->c = *c;
    ahead->c.report = &ahead->report;
    ahead->c.lives = &ahead->own;
    ahead->c.asks_of_others = &ahead->asks_of_others;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    ahead->has_thread =
        has_thread && kept->history.count >= WORTH_A_THREAD && pthread_create(&ahead->thread, NULL, run, ahead) == 0;
    if (!ahead->has_thread)
        ahead->has_failed = !start(ahead, ahead->whole);
    return ahead;
}

bool gm_ahead_wait(struct gm_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    while (ahead->has_thread && !ahead->is_started)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    pthread_mutex_unlock(&ahead->lock);
    return !ahead->has_failed;
}

bool gm_ahead_finds_nothing(struct gm_ahead *ahead, size_t i)
{
    if (ahead == NULL || !ahead->has_thread)
        return false;
    const struct answer *answer = &ahead->answers[i];
    pthread_mutex_lock(&ahead->lock);
    ahead->turn = i + 1;
    while (answer->state == IN_QUESTION && answer->takes == ahead->lives->takes)
        pthread_cond_wait(&ahead->changed, &ahead->lock);
    const bool finds_nothing = answer->state == NOTHING && answer->takes == ahead->lives->takes;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    return finds_nothing;
}

void gm_ahead_free(struct gm_ahead *ahead)
{
    if (ahead == NULL)
        return;
    pthread_mutex_lock(&ahead->lock);
    ahead->is_over = true;
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->lock);
    if (ahead->has_thread)
        pthread_join(ahead->thread, NULL);
    gm_lives_free_twin(&ahead->own);
    gm_arena_free(&ahead->report.arena);
    pthread_mutex_destroy(&ahead->lock);
    pthread_cond_destroy(&ahead->changed);
    free(ahead);
}
