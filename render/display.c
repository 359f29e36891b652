/* SPDX-License-Identifier: Apache-2.0 */
#include "render/display.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TEXT = 1000 };

void gm_display_free(struct gm_display *display)
{
    free(display->items.v);
    gm_arena_free(&display->arena);
    *display = (struct gm_display){0};
}

static void push(struct gm_display *display, struct gm_item item)
{
    if (!display->failed && !GM_VEC_PUSH(&display->items, item))
        display->failed = true;
}

void gm_display_rect(struct gm_display *display, double x, double y, double w, double h, struct gm_fill fill,
                     enum gm_rect_role role)
{
    push(display, (struct gm_item){.kind = GM_ITEM_RECT, .rect = {x, y, w, h, fill, role}});
}

void gm_display_line(struct gm_display *display, double x1, double y1, double x2, double y2, uint32_t color,
                     bool is_dashed)
{
    push(display, (struct gm_item){.kind = GM_ITEM_LINE, .line = {x1, y1, x2, y2, color, is_dashed}});
}

uint16_t *gm_display_rows(struct gm_display *display, size_t n)
{
    uint16_t *rows = gm_arena_calloc(&display->arena, n > 0 ? n : 1, sizeof *rows);
    display->failed |= rows == NULL;
    return rows;
}

void gm_display_area(struct gm_display *display, const struct gm_area_item *area)
{
    push(display, (struct gm_item){.kind = GM_ITEM_AREA, .area = *area});
}

void gm_display_text(struct gm_display *display, const struct gm_text_item *text)
{
    if (text->text == NULL || text->text[0] == '\0')
        return;
    struct gm_item item = {.kind = GM_ITEM_TEXT, .text = *text};
    size_t length = strnlen(text->text, LONGEST_TEXT + 1);
    if (length <= LONGEST_TEXT) {
        item.text.text = gm_arena_copy(&display->arena, text->text, length);
    } else {
        length = LONGEST_TEXT;
        while (length > 0 && ((unsigned char)text->text[length] & 0xc0) == 0x80) /* not inside of a character */
            length--;
        item.text.text = gm_arena_printf(&display->arena, "%.*s\xe2\x80\xa6", (int)length, text->text);
    }
    if (item.text.text == NULL)
        display->failed = true;
    else
        push(display, item);
}

const char *gm_display_printf(struct gm_display *display, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = gm_arena_vprintf(&display->arena, format, args);
    va_end(args);
    display->failed |= text == NULL;
    return text == NULL ? "" : text;
}
