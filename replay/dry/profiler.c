/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI: profilers, which have nothing to tell.
 */
#include "replay/dry/private.h"

API_SETS(cuptiGetVersion, *version, 26, uint32_t *version)
API_SETS(cuptiGetResultString, *text, dry_words(status), int status, const char **text)

API(int, cuptiActivityGetNextRecord, void *buffer, size_t bytes, void **record)
{
    return 12; /* there are no more */
}

API_SETS(cuptiActivityGetNumDroppedRecords, *count, 0, void *context, uint32_t stream, size_t *count)
API_SETS(cuptiGetCallbackName, *name, "", int domain, uint32_t id, const char **name)
