/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cli/job_parts.h"

#include "analyze/base/size.h"

#include <inttypes.h>

static enum gm_status check_reserved(const struct gm_analyze_context *context, const struct gm_device_report *device,
                                     const char *path, struct gm_text *messages)
{
    uint64_t limit = context->options.fail_above;
    bool has_peak = device->trace.peak_reserved != GM_REPORT_NONE;
    uint64_t reserved = has_peak ? device->trace.peak_reserved : device->totals.reserved;
    if (reserved <= limit)
        return GM_OK;
    char is[GM_SIZE_TEXT], may[GM_SIZE_TEXT];
    gm_message_add(messages, &context->terminal, GM_MESSAGE_ERROR, path,
                   "check failed: %s on device %lld is %s (%" PRIu64 " bytes), above the limit of %s (%" PRIu64
                   " bytes)",
                   has_peak ? "peak reserved" : "reserved", (long long)device->device, gm_size_format(is, reserved),
                   reserved, gm_size_format(may, limit), limit);
    return GM_E_CHECK;
}

/* Without a trace there is no peak: the total counts. */
static enum gm_status check_total(const struct gm_analyze_context *context, const struct gm_report *report,
                                  const char *path, struct gm_text *messages)
{
    uint64_t limit = context->options.fail_above, reserved = report->totals.reserved;
    if (reserved <= limit)
        return GM_OK;
    char is[GM_SIZE_TEXT], may[GM_SIZE_TEXT];
    gm_message_add(messages, &context->terminal, GM_MESSAGE_ERROR, path,
                   "check failed: %s (%" PRIu64 " bytes) is reserved, above the limit of %s (%" PRIu64 " bytes)",
                   gm_size_format(is, reserved), reserved, gm_size_format(may, limit), limit);
    return GM_E_CHECK;
}

static enum gm_status check_efficiency(const struct gm_analyze_context *context, const struct gm_report *report,
                                       const char *path, struct gm_text *messages)
{
    double limit = context->options.fail_below_efficiency;
    double efficiency = gm_totals_efficiency(&report->totals);
    if (efficiency < 0 || efficiency >= limit) /* below 0: nothing is reserved, so nothing is wasted */
        return GM_OK;
    gm_message_add(messages, &context->terminal, GM_MESSAGE_ERROR, path,
                   "check failed: efficiency is %.4f %%, below the limit of %.4f %%", efficiency, limit);
    return GM_E_CHECK;
}

/* The most severe stand first. */
static enum gm_status check_findings(const struct gm_analyze_context *context, const struct gm_report *report,
                                     const char *path, struct gm_text *messages)
{
    const struct gm_diagnosis *diagnosis = &report->diagnosis;
    const int limit = context->options.fail_on;
    size_t n = 0;
    while (limit >= 0 && n < diagnosis->finding_count && (int)diagnosis->findings[n].severity >= limit)
        n++;
    if (n == 0)
        return GM_OK;
    gm_message_add(messages, &context->terminal, GM_MESSAGE_ERROR, path,
                   "check failed: %zu finding%s of severity %s or more, the first is %s: %s", n, n == 1 ? "" : "s",
                   gm_severity_name((enum gm_severity)limit), diagnosis->findings[0].id, diagnosis->findings[0].title);
    return GM_E_CHECK;
}

enum gm_status gm_checks_run(const struct gm_analyze_context *context, const struct gm_report *report, const char *path,
                             struct gm_text *messages)
{
    enum gm_status status = GM_OK;
    bool has_trace = false;
    for (size_t i = 0; i < report->device_count; i++)
        has_trace = has_trace || report->devices[i].trace.events > 0;
    for (size_t i = 0; has_trace && i < report->device_count; i++)
        if (check_reserved(context, &report->devices[i], path, messages) != GM_OK)
            status = GM_E_CHECK;
    if (!has_trace && check_total(context, report, path, messages) != GM_OK)
        status = GM_E_CHECK;
    if (check_efficiency(context, report, path, messages) != GM_OK)
        status = GM_E_CHECK;
    if (check_findings(context, report, path, messages) != GM_OK)
        status = GM_E_CHECK;
    return status;
}
