/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/base/text.h"

/* Appends data[0..length) as base64 (RFC 4648), padded, without line breaks. */
void gm_base64_add(struct gm_text *out, const void *data, size_t length);
