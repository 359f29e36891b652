/* SPDX-License-Identifier: Apache-2.0
 *
 * The painter, opened: a program is linked with this in place of fonts.c, paint.c and png.c.
 */
#include "analyze/base/beside.h"
#include "render/paint_module.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* Once it is open it stays so: some of its libraries cannot be unloaded. */
static const struct gm_paint_module *module;
static struct gm_error failure;

/* From where the programs are, and from where a distribution has libgm: lib/TRIPLET. */
static const char *const places[] = {GM_PRIVATE_PARTS GM_PAINT_FILE, "../gmanalyze/" GM_PAINT_FILE};

static void open_module(void)
{
    char path[PATH_MAX];
    const bool is_there = gm_find_beside(path, places[0]) || gm_find_beside(path, places[1]);
    void *library = is_there ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct gm_paint_module *found = library == NULL ? NULL : dlsym(library, GM_PAINT_SYMBOL);
    if (found != NULL && strcmp(found->version, GM_VERSION) == 0) {
        module = found;
        return;
    }
    const char *reason = !is_there       ? "there is no " GM_PRIVATE_PARTS GM_PAINT_FILE " beside the program"
                         : found != NULL ? "it is of another version"
                                         : dlerror();
    gm_error_set(&failure, GM_E_MISSING, GM_NO_OFFSET, "what draws charts cannot be opened (or ask for no charts): %s",
                 reason != NULL ? reason : GM_PAINT_FILE);
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
