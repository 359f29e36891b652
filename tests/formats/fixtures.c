/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/formats/fixtures.h"
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void add_bytes(struct bytes *b, const void *data, size_t n)
{
    add_many(b, data, n, 1);
}

void add_many(struct bytes *b, const void *data, size_t n, size_t times)
{
    if (n * times == 0)
        return;
    b->p = realloc(b->p, b->n + n * times);
    for (size_t i = 0; i < times; i++, b->n += n)
        memcpy(b->p + b->n, data, n);
}

struct bytes read_fixture(const char *name)
{
    char path[4096], part[65536];
    snprintf(path, sizeof path, "%s/%s", GM_FIXTURES, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        fail_msg("no %s: run make_fixtures.py first (ctest does)", path);
    struct bytes b = {0};
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        add_bytes(&b, part, n);
    fclose(f);
    return b;
}
