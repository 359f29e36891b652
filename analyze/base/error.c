/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/base/error.h"

#include "analyze/base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void gm_error_set(struct gm_error *err, enum gm_status status, uint64_t offset, const char *format, ...)
{
    if (err == NULL)
        return;
    char raw[sizeof err->message];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    if (n < 0)
        raw[0] = '\0';
    err->status = status;
    err->offset = offset;
    err->salvage = GM_SALVAGE_NONE;
    gm_utf8_clean_line(err->message, sizeof err->message, raw, strlen(raw));
}

char *gm_error_place(char out[GM_ERROR_PLACE], const struct gm_error *err)
{
    static const char *const hints[] = {"", "; --salvage reads what is whole of it",
                                        "; nothing of it is whole, so --salvage does not help"};
    char place[40] = "";
    if (err->offset != GM_NO_OFFSET)
        snprintf(place, sizeof place, " (at byte %" PRIu64 ")", err->offset);
    snprintf(out, GM_ERROR_PLACE, "%s%s", place, hints[err->salvage]);
    return out;
}

static const struct {
    int exit_code;
    const char *text;
} statuses[] = {
#define X(name, exit_code, text) [GM_##name] = {exit_code, text},
    GM_STATUS_MAP(X)
#undef X
};

int gm_status_exit_code(enum gm_status status)
{
    return (size_t)status < sizeof statuses / sizeof *statuses ? statuses[status].exit_code : 5;
}

const char *gm_status_text(enum gm_status status)
{
    return (size_t)status < sizeof statuses / sizeof *statuses ? statuses[status].text : "unknown status";
}
