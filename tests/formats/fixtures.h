/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that make_fixtures.py wrote into GM_FIXTURES, and growing inputs for attacks.
 */
#pragma once

#include "tests/formats/sources.h"

/* Reads GM_FIXTURES/name; fails the test if it is not there. Free .p. */
struct bytes read_fixture(const char *name);

/* Appends to *b. */
void add_bytes(struct bytes *b, const void *data, size_t n);
void add_many(struct bytes *b, const void *data, size_t n, size_t times);
