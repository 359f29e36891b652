/* SPDX-License-Identifier: Apache-2.0
 *
 * The painter, opened: a program is linked with this in place of paint.c, letters.c and png.c.
 */
#include "analyze/base/beside.h"
#include "render/paint_module.h"

#include <pthread.h>

/* Once it is open it stays so. */
static const struct gm_paint_module *module;
static struct gm_error failure;

static void open_module(void)
{
    const void *found;
    if (gm_open_beside(&found, GM_PAINT_FILE, GM_PAINT_SYMBOL,
                       "what draws charts cannot be opened (or ask for no charts)", &failure) == GM_OK)
        module = found;
}

enum gm_status gm_painter_new(struct gm_painter **painter, struct gm_error *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    *painter = NULL;
    pthread_once(&once, open_module);
    if (module != NULL)
        return module->painter_new(painter, err);
    if (err != NULL)
        *err = failure;
    return failure.status;
}

void gm_painter_free(struct gm_painter *painter)
{
    if (painter != NULL)
        module->painter_free(painter);
}

struct gm_canvas *gm_painter_take(struct gm_painter *painter)
{
    return module->take(painter);
}

void gm_painter_give_back(struct gm_painter *painter, struct gm_canvas *canvas)
{
    module->give_back(painter, canvas);
}

enum gm_status gm_paint(struct gm_pixels *pixels, struct gm_painter *painter, struct gm_canvas *canvas,
                        const struct gm_display *display, struct gm_error *err)
{
    return module->paint(pixels, painter, canvas, display, err);
}

enum gm_status gm_png_compress(struct gm_png *png, struct gm_png_scratch *scratch, const struct gm_palette *palette,
                               const struct gm_pixels *pixels, struct gm_error *err)
{
    return module->png_compress(png, scratch, palette, pixels, err);
}
