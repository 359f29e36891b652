/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/checks.h"

#include "analyze/base/size.h"

#include <inttypes.h>

struct checks {
    const struct gm_analyze_options *options;
    const struct gm_report *report;
    const struct gm_checks_told *told;
    enum gm_status status;
};

/* Takes `why` over. */
static void fail(struct checks *c, const char *option, struct gm_text *why)
{
    if (c->told->messages != NULL)
        gm_message_add(c->told->messages, c->told->terminal, GM_MESSAGE_ERROR, c->told->path, "check failed: %s",
                       why->failed ? "" : why->data);
    const struct gm_notice notice = {.level = GM_NOTICE_ERROR,
                                     .is_failure = true,
                                     .rule = option,
                                     .title = "check failed",
                                     .text = why->failed ? NULL : why->data,
                                     .subject = c->told->path};
    if (c->told->notices != NULL)
        gm_notices_add(c->told->notices, &notice, NULL);
    gm_text_free(why);
    c->status = GM_E_CHECK;
}

/* Of one device, or of all (NULL): without a trace there is no peak, and the total counts. */
static void check_reserved(struct checks *c, const struct gm_device_report *device)
{
    const uint64_t limit = c->options->fail_above;
    const bool has_peak = device != NULL && device->trace.peak_reserved != GM_REPORT_NONE;
    const uint64_t reserved = device == NULL ? c->report->totals.reserved
                              : has_peak     ? device->trace.peak_reserved
                                             : device->totals.reserved;
    char is[GM_SIZE_TEXT], may[GM_SIZE_TEXT];
    struct gm_text why = {0};
    if (reserved <= limit)
        return;
    gm_size_format(is, reserved);
    if (device == NULL)
        gm_text_printf(&why, "%s (%" PRIu64 " bytes) is reserved", is, reserved);
    else
        gm_text_printf(&why, "%s on device %lld is %s (%" PRIu64 " bytes)", has_peak ? "peak reserved" : "reserved",
                       (long long)device->device, is, reserved);
    gm_text_printf(&why, ", above the limit of %s (%" PRIu64 " bytes)", gm_size_format(may, limit), limit);
    fail(c, "fail-above", &why);
}

static void check_efficiency(struct checks *c)
{
    const double limit = c->options->fail_below_efficiency;
    const double efficiency = gm_totals_efficiency(&c->report->totals);
    struct gm_text why = {0};
    if (efficiency < 0 || efficiency >= limit) /* below 0: nothing is reserved, so nothing is wasted */
        return;
    gm_text_printf(&why, "efficiency is %.4f %%, below the limit of %.4f %%", efficiency, limit);
    fail(c, "fail-below-efficiency", &why);
}

/* The most severe stand first. */
static void check_findings(struct checks *c)
{
    const struct gm_diagnosis *diagnosis = &c->report->diagnosis;
    const int limit = c->options->fail_on;
    struct gm_text why = {0};
    size_t n = 0;
    while (limit >= 0 && n < diagnosis->finding_count && (int)diagnosis->findings[n].severity >= limit)
        n++;
    if (n == 0)
        return;
    gm_text_printf(&why, "%zu finding%s of severity %s or more, the first is %s: %s", n, n == 1 ? "" : "s",
                   gm_severity_name((enum gm_severity)limit), diagnosis->findings[0].id, diagnosis->findings[0].title);
    fail(c, "fail-on", &why);
}

/* A check that was asked for and added nothing since there were `before` notices has passed. */
static void pass(struct checks *c, const char *option, bool is_wanted, size_t *before)
{
    const struct gm_notice notice = {.rule = option, .title = "check passed", .subject = c->told->path};
    if (c->told->notices == NULL)
        return;
    if (is_wanted && c->told->notices->all.n == *before)
        gm_notices_add(c->told->notices, &notice, NULL);
    *before = c->told->notices->all.n;
}

enum gm_status gm_checks_run(const struct gm_analyze_options *options, const struct gm_report *report,
                             const struct gm_checks_told *told)
{
    struct checks c = {options, report, told, GM_OK};
    size_t before = told->notices == NULL ? 0 : told->notices->all.n;
    bool has_trace = false;
    for (size_t i = 0; i < report->device_count; i++)
        has_trace = has_trace || report->devices[i].trace.events > 0;
    for (size_t i = 0; has_trace && i < report->device_count; i++)
        check_reserved(&c, &report->devices[i]);
    if (!has_trace)
        check_reserved(&c, NULL);
    pass(&c, "fail-above", options->fail_above != UINT64_MAX, &before);
    check_efficiency(&c);
    pass(&c, "fail-below-efficiency", options->fail_below_efficiency >= 0, &before);
    check_findings(&c);
    pass(&c, "fail-on", options->fail_on >= 0, &before);
    return c.status;
}
