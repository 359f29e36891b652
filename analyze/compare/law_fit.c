/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a function of a number: least squares, and whether the result deserves to be called a law.
 */
#include "analyze/compare/comparison_parts.h"

#include <math.h>

enum { CATEGORIES = 12, TERMS = 3 };

/* ---- one law ----------------------------------------------------------------------------------------------------- */

/* Solves the normal equations for the chosen powers of x, by Gaussian elimination with pivots. false: singular. */
static bool least_squares(const double *n, double scale, const uint64_t *bytes, size_t count, const int *powers,
                          int terms, double out[TERMS])
{
    double m[TERMS][TERMS + 1] = {{0}};
    for (size_t i = 0; i < count; i++) {
        double p[TERMS];
        for (int t = 0; t < terms; t++)
            p[t] = pow(n[i] / scale, powers[t]); /* scaled: well-conditioned */
        for (int r = 0; r < terms; r++) {
            for (int k = 0; k < terms; k++)
                m[r][k] += p[r] * p[k];
            m[r][terms] += p[r] * (double)bytes[i];
        }
    }
    for (int k = 0; k < terms; k++) {
        int best = k;
        for (int r = k + 1; r < terms; r++)
            if (fabs(m[r][k]) > fabs(m[best][k]))
                best = r;
        if (fabs(m[best][k]) < 1e-9)
            return false;
        for (int j = 0; j <= terms && best != k; j++) {
            double swap = m[k][j];
            m[k][j] = m[best][j];
            m[best][j] = swap;
        }
        for (int r = 0; r < terms; r++) {
            double factor = r == k ? 0 : m[r][k] / m[k][k];
            for (int j = k; j <= terms && factor != 0; j++)
                m[r][j] -= factor * m[k][j];
        }
    }
    for (int t = 0; t < terms; t++)
        out[t] = m[t][terms] / m[t][t];
    return true;
}

struct attempt {
    double c[TERMS]; /* of 1, n, n^2 */
    double error;    /* percent of the spread */
};

static struct attempt attempt_law(const double *n, const uint64_t *bytes, size_t count, const int *powers, int terms,
                                  double spread)
{
    struct attempt a = {.error = INFINITY};
    double scale = 0, solved[TERMS] = {0};
    for (size_t i = 0; i < count; i++)
        scale = fmax(scale, n[i]);
    if (scale <= 0 || !least_squares(n, scale, bytes, count, powers, terms, solved))
        return a;
    for (int t = 0; t < terms; t++)
        a.c[powers[t]] = solved[t] / pow(scale, powers[t]);
    double worst = 0;
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(a.c[0] + a.c[1] * n[i] + a.c[2] * n[i] * n[i] - (double)bytes[i]));
    a.error = 100 * worst / spread;
    return a;
}

static void claim(struct gm_law_fit *fit, enum gm_law law, const struct attempt *a)
{
    fit->law = law;
    fit->c0 = a->c[0];
    fit->c1 = a->c[1];
    fit->c2 = a->c[2];
    fit->error_percent = a->error;
}

static size_t count_distinct(const double *n, size_t count)
{
    size_t distinct = count > 0;
    for (size_t i = 1; i < count; i++)
        distinct += n[i] != n[i - 1];
    return distinct;
}

static void refuse(struct gm_law_fit *fit, const char *why)
{
    fit->law = GM_LAW_NONE;
    fit->why_not = why;
}

/* Whether no value depends on the number; if so it is claimed. */
static bool claim_constant(struct gm_law_fit *fit, size_t count, double *spread)
{
    double low = INFINITY, high = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        low = fmin(low, (double)fit->bytes[i]);
        high = fmax(high, (double)fit->bytes[i]);
        sum += (double)fit->bytes[i];
    }
    const double mean = sum / (double)count;
    *spread = high - low;
    if (*spread > mean * GM_FIT_FLAT / 100)
        return false;
    const struct attempt flat = {{mean, 0, 0}, mean > 0 ? 100 * fmax(high - mean, mean - low) / mean : 0};
    claim(fit, GM_LAW_CONSTANT, &flat);
    return true;
}

/* Both terms: with a constant if there is a number to spare, else without one. */
static struct attempt attempt_both(const double *n, const uint64_t *bytes, size_t count, size_t distinct, double spread)
{
    static const int bare[] = {1, 2}, full[] = {0, 1, 2};
    if (distinct > 3)
        return attempt_law(n, bytes, count, full, 3, spread);
    struct attempt a = attempt_law(n, bytes, count, bare, 2, spread);
    if (a.c[1] < 0 || a.c[2] < 0 || a.error > GM_FIT_BARE) /* no memory grows that way, or there is a constant */
        a.error = INFINITY;
    return a;
}

void gm_fit_law(struct gm_law_fit *fit, const double *n, size_t count)
{
    static const int linear[] = {0, 1}, quadratic[] = {0, 2};
    const size_t distinct = count_distinct(n, count);
    double spread = 0;
    if (distinct < 3) {
        refuse(fit, "fewer than three different numbers");
        return;
    }
    if (claim_constant(fit, count, &spread))
        return;
    const struct attempt a = attempt_law(n, fit->bytes, count, linear, 2, spread);
    const struct attempt b = attempt_law(n, fit->bytes, count, quadratic, 2, spread);
    const struct attempt d = attempt_both(n, fit->bytes, count, distinct, spread);
    /* both terms, if that is another matter altogether */
    if (d.error <= GM_FIT_MOST && 10 * d.error < fmin(a.error, b.error) && fmin(a.error, b.error) > 0.1) {
        claim(fit, GM_LAW_FULL, &d);
    } else if (a.error <= GM_FIT_MOST && a.error <= b.error) {
        claim(fit, GM_LAW_LINEAR, &a);
    } else if (b.error <= GM_FIT_MOST) {
        claim(fit, GM_LAW_QUADRATIC, &b);
    } else if (d.error <= GM_FIT_MOST) {
        claim(fit, GM_LAW_FULL, &d);
    } else {
        const double best = fmin(a.error, b.error);
        refuse(fit, distinct > 3 ? "neither a line nor a parabola fits"
                                 : "neither a line nor a square fits, and both together take four runs");
        fit->error_percent = fmin(best, d.error);
        fit->closest = isinf(fit->error_percent) ? GM_LAW_NONE
                       : d.error < best          ? GM_LAW_FULL
                       : a.error <= b.error      ? GM_LAW_LINEAR
                                                 : GM_LAW_QUADRATIC;
    }
}

/* ---- what is looked at ------------------------------------------------------------------------------------------- */

static bool add_fit(struct gm_comparison *c, struct gm_series *series, struct gm_law_fit *fits, const char *what,
                    uint32_t color, const uint64_t *bytes)
{
    struct gm_law_fit *fit = &fits[series->fit_count++];
    const uint64_t *own = gm_arena_array(&c->arena, bytes, series->count, sizeof *bytes);
    if (own == NULL || what == NULL)
        return false;
    *fit = (struct gm_law_fit){.what = what, .color = color, .bytes = own};
    gm_fit_law(fit, series->n, series->count);
    return true;
}

static bool add_levels(struct gm_comparison *c, struct gm_series *series, struct gm_law_fit *fits, uint64_t *bytes,
                       bool has_peaks)
{
    static const enum gm_level levels[] = {GM_LEVEL_RESERVED, GM_LEVEL_ALLOCATED, GM_LEVEL_REQUESTED};
    for (int k = 0; k < 3; k++) {
        bool is_known = true;
        for (size_t i = 0; i < series->count; i++) {
            bytes[i] = gm_summary_level(c->runs[series->runs[i]], levels[k], has_peaks);
            is_known = is_known && bytes[i] != GM_REPORT_NONE;
        }
        const char *what = gm_arena_printf(&c->arena, "%s%s", has_peaks ? "peak " : "", gm_level_name(levels[k]));
        if (is_known && !add_fit(c, series, fits, what, 0, bytes))
            return false;
    }
    return true;
}

/* The categories that hold most anywhere, each once. */
static bool add_categories(struct gm_comparison *c, struct gm_series *series, struct gm_law_fit *fits, uint64_t *bytes,
                           bool at_peak)
{
    struct gm_slice taken[CATEGORIES];
    for (size_t n = 0; n < CATEGORIES; n++) {
        const struct gm_slice *best = gm_diff_next_category(c, series->runs, series->count, at_peak, taken, n);
        if (best == NULL)
            return true;
        taken[n] = *best;
        for (size_t i = 0; i < series->count; i++)
            bytes[i] = gm_summary_category_bytes(c->runs[series->runs[i]], at_peak, best->name);
        if (!add_fit(c, series, fits,
                     gm_arena_printf(&c->arena, "%s: %s", at_peak ? "at the peak" : "at the end", best->name),
                     best->color, bytes))
            return false;
    }
    return true;
}

/* Three runs cannot tell a constant and both terms from one level. But each category may have a law of fewer terms, and
 * the sum of them all is one of the levels, from which the others hardly differ. */
static void add_up(const struct gm_series *series, struct gm_law_fit *fits)
{
    struct attempt sum = {.error = 0};
    for (size_t k = series->level_count; k < series->fit_count; k++) {
        if (fits[k].law == GM_LAW_NONE)
            return;
        sum.c[0] += fits[k].c0;
        sum.c[1] += fits[k].c1;
        sum.c[2] += fits[k].c2;
    }
    for (size_t k = 0; k < series->level_count; k++) {
        double low = INFINITY, high = 0, worst = 0;
        if (fits[k].law != GM_LAW_NONE || fits[k].closest == GM_LAW_NONE)
            continue;
        for (size_t i = 0; i < series->count; i++) {
            const double n = series->n[i], bytes = (double)fits[k].bytes[i];
            low = fmin(low, bytes);
            high = fmax(high, bytes);
            worst = fmax(worst, fabs(sum.c[0] + sum.c[1] * n + sum.c[2] * n * n - bytes));
        }
        sum.error = 100 * worst / (high - low);
        if (!(sum.error <= GM_FIT_MOST))
            continue;
        claim(&fits[k], GM_LAW_FULL, &sum);
        fits[k].is_sum = true;
        fits[k].why_not = NULL;
        fits[k].closest = GM_LAW_NONE;
    }
}

bool gm_series_fit(struct gm_comparison *c, struct gm_series *series)
{
    struct gm_law_fit *fits = gm_arena_calloc(&c->arena, 3 + CATEGORIES, sizeof *fits);
    uint64_t *bytes = gm_arena_calloc(&c->arena, series->count, sizeof *bytes);
    bool has_peaks = true;
    if (fits == NULL || bytes == NULL)
        return false;
    for (size_t i = 0; i < series->count; i++)
        has_peaks = has_peaks && c->runs[series->runs[i]]->has_trace;
    series->fits = fits;
    if (!add_levels(c, series, fits, bytes, has_peaks))
        return false;
    series->level_count = series->fit_count;
    if (!add_categories(c, series, fits, bytes, has_peaks))
        return false;
    add_up(series, fits);
    return true;
}
