/* SPDX-License-Identifier: Apache-2.0
 *
 * The typesetter, opened: gmpaint.so is linked with this in place of fonts.c.
 */
#include "analyze/base/beside.h"
#include "render/typeset.h"

/* Set by gm_typesetter_new, of which painters' threads have opened and read the same. */
static _Atomic(const struct gm_typeset_module *) module;

enum gm_status gm_typesetter_new(struct gm_typesetter **typesetter, struct gm_error *err)
{
    const void *found;
    *typesetter = NULL;
    GM_TRY(gm_open_beside(&found, GM_TYPESET_FILE, GM_TYPESET_SYMBOL,
                          "what draws texts with other than the usual letters cannot be opened (or ask for no charts)",
                          err));
    module = found;
    return module->make(typesetter, err);
}

void gm_typesetter_free(struct gm_typesetter *typesetter)
{
    if (typesetter != NULL)
        module->free(typesetter);
}

enum gm_status gm_typeset(struct gm_typesetter *typesetter, const struct gm_pixels *to, struct gm_palette *palette,
                          const struct gm_text_item *text, struct gm_error *err)
{
    return module->typeset(typesetter, to, palette, text, err);
}
