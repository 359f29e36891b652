/* SPDX-License-Identifier: Apache-2.0 */
#include "render/typeset.h"

extern const struct gm_typeset_module gm_typeset_module;
const struct gm_typeset_module gm_typeset_module = {GM_VERSION, gm_typesetter_new, gm_typesetter_free, gm_typeset};
