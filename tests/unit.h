/* SPDX-License-Identifier: Apache-2.0
 *
 * cmocka, and what it wants to be included before it.
 */
#ifndef GM_TESTS_UNIT_H
#define GM_TESTS_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
