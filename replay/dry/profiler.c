/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI: profilers, which have nothing to tell.
 */
#include "replay/dry/private.h"

static const char *words(int status)
{
    return status == 0 ? "success" : "not supported (by gmdry's stand-in)";
}

API(int, cuptiGetVersion, uint32_t *version)
{
    *version = 26;
    return 0;
}

API(int, cuptiGetResultString, int status, const char **text)
{
    *text = words(status);
    return 0;
}

API(int, cuptiActivityGetNextRecord, void *buffer, size_t bytes, void **record)
{
    return 12; /* there are no more */
}

API(int, cuptiActivityGetNumDroppedRecords, void *context, uint32_t stream, size_t *count)
{
    *count = 0;
    return 0;
}

API(int, cuptiGetCallbackName, int domain, uint32_t id, const char **name)
{
    *name = "";
    return 0;
}
