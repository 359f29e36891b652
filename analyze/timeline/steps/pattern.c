/* SPDX-License-Identifier: Apache-2.0
 *
 * How the run behaves from step to step, from the requested bytes at the ends and at the peaks of whole steps: it warms
 * up, grows, spikes or stays. Noise is measured where the run should be steady, by medians, which a few odd steps do
 * not move. docs/steps.md has the limits.
 */
#include "analyze/timeline/peaks/groups.h"
#include "analyze/timeline/steps/step_work.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/bisect.h"
#include "analyze/base/order.h"
#include "analyze/base/size.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what stays ------------------------------------------------------------------------------------------------- */

/* What stays: by stack, the allocations of a step that are still live when two more steps have ended, less those of the
 * same kind that were freed meanwhile. What a run replaces (a moving average, a ring of batches) comes out as nothing.
 */

/* The span of an event, or SIZE_MAX. */
static size_t span_of(const struct gm_step_work *w, uint32_t event)
{
    size_t low = 0;
    GM_BISECT(low, w->spans.n, i, w->spans.v[i].last < event);
    return low < w->spans.n && w->spans.v[low].first <= event ? low : SIZE_MAX;
}

enum { MOST_ROWS = 20 };

/* What each stack has more, or less. */
struct changes {
    int64_t *bytes, *blocks; /* [gm_stack_id] */
};

static bool start_changes(struct changes *c, const struct gm_step_work *w)
{
    size_t stacks = (size_t)w->pass->snapshot->stacks.count + 2;
    *c = (struct changes){calloc(stacks, sizeof *c->bytes), calloc(stacks, sizeof *c->blocks)};
    return c->bytes != NULL && c->blocks != NULL;
}

/* An allocation more (sign 1), or less (-1), of its stack. */
static void add_change(struct changes *c, const struct gm_history *h, size_t a, int sign)
{
    const uint32_t s = gm_stack_of(h, a);
    c->bytes[s] = gm_signed_add(c->bytes[s], sign * (int64_t)gm_min(gm_requested(h, a), INT64_MAX));
    c->blocks[s] = gm_signed_add(c->blocks[s], sign);
}

/* What there is more, most first, by call site. Frees the changes. */
static bool tell_changes(struct changes *c, struct gm_trace_pass *pass, const struct gm_group_row **rows, size_t *count)
{
    GM_FREED_BY(gm_site_sums_free) struct gm_site_sums sites = {0};
    bool ok = gm_site_sums_start(&sites, pass) && c->bytes != NULL && c->blocks != NULL;
    for (uint32_t s = 0; ok && s < pass->snapshot->stacks.count; s++) {
        if (c->bytes[s] <= 0)
            continue;
        const bool is_more = c->blocks[s] > 0;
        sites.of_stack[s][0] = (uint64_t)c->bytes[s];
        sites.of_stack[s][is_more ? 1 : 2] = is_more ? (uint64_t)c->blocks[s] : 0 - (uint64_t)c->blocks[s];
    }
    ok = ok && gm_site_sums_add_up(&sites);
    for (size_t i = 0; i < sites.rows.n; i++)
        sites.rows.v[i].v[1] = gm_sat_sub(sites.rows.v[i].v[1], sites.rows.v[i].v[2]);
    GM_FREE_ALL(c->bytes, c->blocks);
    return ok && gm_site_rows(&sites, MOST_ROWS, rows, count);
}

/* Of the spans [first, last]. */
static bool find_survivors(struct gm_step_work *w, size_t first, size_t last)
{
    const struct gm_history *h = &w->pass->history;
    size_t at = 0;
    struct gm_steps *out = &w->pass->out->steps;
    struct changes changes;
    if (last < first + 2)
        return true;
    const bool ok = start_changes(&changes, w);
    for (size_t a = 0; ok && a < h->allocation_count; a++) {
        size_t made = SIZE_MAX;
        if (h->freed[a] == 0 || gm_is_hidden(w->pass, a))
            continue;
        if (h->born[a] > 0) { /* these are in order */
            uint32_t event = h->born[a] - 1;
            while (at < w->spans.n && w->spans.v[at].last < event)
                at++;
            if (at == w->spans.n)
                continue;
            if (w->spans.v[at].first <= event)
                made = at;
            if (at + 2 > last || (h->freed[a] != GM_NEVER && h->freed[a] <= w->spans.v[at + 2].last + 1))
                continue;
        }
        if (made != SIZE_MAX && made >= first)
            add_change(&changes, h, a, 1);
        size_t gone = h->freed[a] == GM_NEVER ? SIZE_MAX : span_of(w, h->freed[a] - 1);
        if (gone != SIZE_MAX && gone >= first + 2 && gone <= last)
            add_change(&changes, h, a, -1);
    }
    return tell_changes(&changes, w->pass, &out->survivors, &out->survivor_count);
}

/* The call site that holds most bytes more at moment `after` than at `before`; NULL if none does. */
static bool find_gained(struct gm_step_work *w, uint32_t before, uint32_t after, const struct gm_group_row **row)
{
    const struct gm_history *h = &w->pass->history;
    struct changes changes;
    size_t count;
    bool ok = start_changes(&changes, w);
    for (size_t a = 0; ok && a < h->allocation_count; a++) {
        int gained = (int)gm_history_is_active(h, a, after) - (int)gm_history_is_active(h, a, before);
        if (gained != 0 && !gm_is_hidden(w->pass, a))
            add_change(&changes, h, a, gained);
    }
    ok = tell_changes(&changes, w->pass, row, &count);
    if (ok && count == 0)
        *row = NULL;
    return ok;
}

enum { FEWEST = 3, FEWEST_FOR_TREND = 4, COLUMNS = 5 };

struct series {
    struct gm_step_work *w;
    size_t *span;          /* [n] whole steps */
    double *end, *peak;    /* [n] requested bytes */
    double *gain, *height; /* [n] end and peak over the end of the step before */
    double *scratch;
    size_t n, warm_up;
    double median_peak, slope;
};

static double median(struct series *s, const double *v, size_t n)
{
    memmove(s->scratch, v, n * sizeof *v);
    qsort(s->scratch, n, sizeof *v, gm_by_real);
    return n % 2 == 1 ? s->scratch[n / 2] : (s->scratch[n / 2 - 1] + s->scratch[n / 2]) / 2;
}

/* A standard deviation by the median of distances from the median `m`. */
static double spread(struct series *s, const double *v, size_t n, double m)
{
    for (size_t i = 0; i < n; i++)
        s->scratch[i] = fabs(v[i] - m);
    return 1.4826 * median(s, s->scratch, n);
}

/* Both arrays have room for one more than there are spans. */
static void collect(struct series *s, size_t *span, double *columns)
{
    struct gm_step_work *w = s->w;
    size_t n = w->spans.n + 1;
    s->span = span;
    s->end = columns;
    s->peak = columns + n;
    s->gain = columns + 2 * n;
    s->height = columns + 3 * n;
    s->scratch = columns + 4 * n;
    for (size_t i = 0; i < w->spans.n; i++) {
        double before = i == 0 ? (double)gm_clamp(w->level_before) : (double)w->span_end[i - 1];
        if (w->spans.v[i].fraction < 1)
            continue;
        s->span[s->n] = i;
        s->end[s->n] = (double)w->span_end[i];
        s->peak[s->n] = (double)w->span_peak[i];
        s->gain[s->n] = s->end[s->n] - before;
        s->height[s->n] = s->peak[s->n] - before;
        s->n++;
    }
}

static unsigned long long number_of(const struct series *s, size_t i)
{
    return s->w->spans.v[s->span[i]].number;
}

/* Leading steps whose gain or height is unlike that of the run's second half. */
static void find_warm_up(struct series *s)
{
    size_t half = s->n / 2, m = s->n - half;
    double gain = median(s, s->gain + half, m), height = median(s, s->height + half, m);
    double least = 0.005 * s->median_peak;
    double gain_limit = fmax(6 * spread(s, s->gain + half, m, gain), least);
    double height_limit = fmax(6 * spread(s, s->height + half, m, height), least);
    while (s->warm_up < half &&
           (fabs(s->gain[s->warm_up] - gain) > gain_limit || fabs(s->height[s->warm_up] - height) > height_limit))
        s->warm_up++;
}

static double mean(const double *v, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    return n == 0 ? 0 : sum / (double)n;
}

/* The range of v[0..n). */
static void range_of(const double *v, size_t n, double *low, double *high)
{
    *low = *high = v[0];
    for (size_t i = 1; i < n; i++) {
        *low = v[i] < *low ? v[i] : *low;
        *high = v[i] > *high ? v[i] : *high;
    }
}

/* For a trend over very few steps: each gains about as much as the others, and a lot. */
static bool grows_evenly(const struct series *s)
{
    double low, high;
    range_of(s->gain + s->warm_up, s->n - s->warm_up, &low, &high);
    return low >= 0.9 * high && low >= 0.01 * s->median_peak;
}

/* Whether one step gives back half of all that steps differ by: what grows is of one answer, or of one epoch. */
static bool falls_back(const double *end, size_t n)
{
    double low, high, fall = 0;
    range_of(end, n, &low, &high);
    for (size_t i = 1; i < n; i++)
        fall = fmax(fall, end[i - 1] - end[i]);
    return fall >= (high - low) / 2;
}

/* Least squares over the ends of the steady steps. Growth: four times its own standard error, a thousandth of the peak
 * in all, and it goes on: each third of the run is above the one before, by similar amounts. */
static bool find_growth(struct series *s)
{
    const double *end = s->end + s->warm_up;
    size_t m = s->n - s->warm_up, third = m / 3;
    if (m < 2)
        return false;
    double middle = (double)(m - 1) / 2, average = mean(end, m), xy = 0, xx = 0, errors = 0;
    for (size_t i = 0; i < m; i++) {
        xy += ((double)i - middle) * (end[i] - average);
        xx += ((double)i - middle) * ((double)i - middle);
    }
    s->slope = xy / xx;
    if (m < FEWEST_FOR_TREND)
        return grows_evenly(s);
    for (size_t i = 0; i < m; i++) {
        double e = end[i] - average - s->slope * ((double)i - middle);
        errors += e * e;
    }
    double error = sqrt(errors / (double)(m - 2) / xx);
    double low = mean(end, third), between = mean(end + third, m - 2 * third), high = mean(end + m - third, third);
    return s->slope >= 1 && s->slope >= 4 * error && s->slope * (double)(m - 1) >= s->median_peak / 1000 &&
           between - low > 0.25 * (high - between) && high - between > 0.25 * (between - low) && !falls_back(end, m);
}

/* The steady step whose peak stands out most; s->n if none stands out, or too many do. */
static size_t find_spike(struct series *s)
{
    const double *peak = s->peak + s->warm_up;
    size_t m = s->n - s->warm_up, highest = 0, out = 0;
    if (m < FEWEST_FOR_TREND)
        return s->n;
    double usual = median(s, peak, m), limit = fmax(8 * spread(s, peak, m, usual), 0.1 * usual);
    for (size_t i = 0; i < m; i++) {
        highest = peak[i] > peak[highest] ? i : highest;
        out += peak[i] - usual > limit;
    }
    return out > 0 && out * 10 <= (m < 10 ? 10 : m) ? s->warm_up + highest : s->n;
}

static uint64_t bytes_of(double v)
{
    return v <= 0 ? 0 : v >= 1.8e19 ? GM_REPORT_NONE - 1 : (uint64_t)(v + 0.5);
}

static const char *told(char out[GM_SIZE_TEXT], double bytes)
{
    return gm_size_format(out, bytes_of(bytes));
}

static bool tell_growth(struct series *s)
{
    struct gm_step_work *w = s->w;
    struct gm_steps *out = &w->pass->out->steps;
    struct gm_arena *arena = &w->pass->report->arena;
    char rate[GM_SIZE_TEXT], size[GM_SIZE_TEXT];
    size_t first = s->span[s->warm_up], last = s->span[s->n - 1];
    const struct gm_group_row *site = out->survivors;
    const char *who = "", *when = "";
    if (out->survivor_count == 0 && !find_gained(w, w->spans.v[first].last + 1, w->spans.v[last].last + 1, &site))
        return false;
    const double growth = s->slope * (double)(s->n - s->warm_up - 1);
    if (site != NULL && (double)site->bytes >= growth / 10) { /* else what stays is made anew all the time */
        out->grown_at = site->label;
        who = gm_arena_printf(arena, "; %s of what stays, %s, was allocated at %s",
                              (double)site->bytes >= growth / 2 ? "most" : "the largest part",
                              gm_size_format(size, site->bytes), site->label);
    }
    if (w->capacity != GM_REPORT_NONE) {
        uint64_t used = 0;
        for (size_t i = first; i < w->spans.n; i++)
            used = w->span_active[i] > used ? w->span_active[i] : used;
        double left = used >= w->capacity ? 0 : (double)(w->capacity - used) / s->slope;
        out->steps_to_oom = bytes_of(floor(left));
        when = gm_arena_printf(arena, "; %llu more steps fit into %s", (unsigned long long)out->steps_to_oom,
                               gm_size_format(size, w->capacity));
    }
    out->pattern_detail =
        who == NULL || when == NULL
            ? NULL
            : gm_arena_printf(arena, "Requested bytes at the ends of steps grow by %s a step (steps %llu to %llu)%s%s.",
                              told(rate, s->slope), number_of(s, s->warm_up), number_of(s, s->n - 1), who, when);
    out->pattern = GM_PATTERN_GROWTH;
    return out->pattern_detail != NULL;
}

/* The row of a span; NULL if it is not shown. */
static const struct gm_step_row *row_of(const struct series *s, size_t i)
{
    const struct gm_steps *steps = &s->w->pass->out->steps;
    for (size_t r = 0; r < steps->row_count; r++)
        if (steps->rows[r].first_event == s->w->spans.v[s->span[i]].first)
            return &steps->rows[r];
    return NULL;
}

static bool tell_spike(struct series *s, size_t spike)
{
    struct gm_step_work *w = s->w;
    struct gm_steps *out = &w->pass->out->steps;
    struct gm_arena *arena = &w->pass->report->arena;
    double usual = median(s, s->peak + s->warm_up, s->n - s->warm_up), nearest = INFINITY;
    const struct gm_step_row *high = row_of(s, spike), *typical = NULL;
    const struct gm_group_row *site = NULL;
    char peak[GM_SIZE_TEXT], above[GM_SIZE_TEXT], size[GM_SIZE_TEXT];
    const char *who = "";
    for (size_t r = 0; r < out->row_count; r++) {
        double distance = fabs((double)out->rows[r].peak.requested - usual);
        if (!out->rows[r].is_partial && distance < nearest) {
            nearest = distance;
            typical = &out->rows[r];
        }
    }
    if (high != NULL && typical != NULL &&
        !find_gained(w, (uint32_t)typical->peak_event + 1, (uint32_t)high->peak_event + 1, &site))
        return false;
    if (site != NULL)
        who = gm_arena_printf(arena, "; the largest part of that, %s, comes from %s", gm_size_format(size, site->bytes),
                              site->label);
    out->pattern = GM_PATTERN_SPIKE;
    out->pattern_detail =
        who == NULL
            ? NULL
            : gm_arena_printf(arena, "Step %llu peaks at %s, %s above the median of %zu steps%s.", number_of(s, spike),
                              told(peak, s->peak[spike]), told(above, s->peak[spike] - usual), s->n - s->warm_up, who);
    return out->pattern_detail != NULL;
}

static bool tell_steady(struct series *s)
{
    struct gm_steps *out = &s->w->pass->out->steps;
    struct gm_arena *arena = &s->w->pass->report->arena;
    char low[GM_SIZE_TEXT], high[GM_SIZE_TEXT], first[GM_SIZE_TEXT], slope[GM_SIZE_TEXT];
    double lowest, highest;
    size_t m = s->n - s->warm_up;
    range_of(s->peak + s->warm_up, m, &lowest, &highest);
    double change = s->slope > 9e18 ? 9e18 : s->slope < -9e18 ? -9e18 : s->slope;
    gm_size_format_delta(slope, (int64_t)llround(change));
    out->pattern = s->warm_up > 0 ? GM_PATTERN_WARM_UP : GM_PATTERN_STABLE;
    told(low, lowest);
    told(high, highest);
    const bool is_level = strcmp(low, high) == 0;
    const char *between = is_level ? "at " : "between ", *and = is_level ? "" : " and ";
    if (is_level)
        high[0] = '\0';
    if (s->warm_up == 0) {
        out->pattern_detail =
            gm_arena_printf(arena, "%zu steps peak %s%s%s%s, and requested bytes at their ends change by %s a step.", m,
                            between, low, and, high, slope);
        return out->pattern_detail != NULL;
    }
    double kept = 0;
    for (size_t i = 0; i < s->warm_up; i++)
        kept += s->gain[i];
    kept = kept > 9e18 ? 9e18 : kept < -9e18 ? -9e18 : kept;
    char gained[GM_SIZE_TEXT];
    gm_size_format_delta(gained, (int64_t)llround(kept));
    const char *who = s->warm_up == 1 ? "The first step differs" : "The first steps differ";
    out->pattern_detail =
        gm_arena_printf(arena,
                        "%s (step %llu peaks at %s; %s at the end of step %llu), then %zu steps peak %s%s%s%s and "
                        "change by %s a step.",
                        who, number_of(s, 0), told(first, s->peak[0]), gained, number_of(s, s->warm_up - 1), m, between,
                        low, and, high, slope);
    return out->pattern_detail != NULL;
}

static bool decide(struct series *s)
{
    struct gm_steps *out = &s->w->pass->out->steps;
    s->median_peak = median(s, s->peak, s->n);
    find_warm_up(s);
    bool grows = find_growth(s);
    size_t spike = find_spike(s);
    out->slope = s->slope;
    out->warm_up = s->warm_up;
    if (!find_survivors(s->w, s->span[s->warm_up], s->span[s->n - 1]))
        return false;
    if (grows)
        return tell_growth(s);
    return spike < s->n ? tell_spike(s, spike) : tell_steady(s);
}

bool gm_step_pattern(struct gm_step_work *w)
{
    struct series s = {.w = w};
    w->pass->out->steps.capacity = w->capacity;
    if (w->spans.n == 0)
        return true;
    GM_FREED size_t *span = malloc((w->spans.n + 1) * sizeof *span);
    GM_FREED double *columns = malloc(COLUMNS * (w->spans.n + 1) * sizeof *columns);
    if (span == NULL || columns == NULL)
        return false;
    collect(&s, span, columns);
    return s.n < FEWEST || decide(&s);
}
