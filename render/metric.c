/* SPDX-License-Identifier: Apache-2.0 */
#include "render/metric.h"

#include "analyze/base/utf8.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define SITE_GAP "  " /* between function and path in a site */

double gm_text_pixels(enum gm_text_size size)
{
    static const double pixels[GM_TEXT_SIZES] = {20, 13.5, 12.5, 11};
    return pixels[size];
}

struct gm_origin gm_text_origin(const struct gm_text_item *text, double width)
{
    const double half_capital = 0.365; /* of the em */
    const double shift = text->anchor == GM_ANCHOR_START ? 0 : text->anchor == GM_ANCHOR_MIDDLE ? width / 2 : width;
    return (struct gm_origin){round(text->x * GM_DISPLAY_SCALE - shift),
                              round((text->y + half_capital * gm_text_pixels(text->size)) * GM_DISPLAY_SCALE)};
}

/* Advance widths of U+0020 to U+007E in hundredths of an em, measured from DejaVu Sans and rounded up. */
static const unsigned char advances[95] = {
    32,  41, 46, 84, 64, 96, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, /*   ! " # $ % & ' ( ) * + , - . / */
    64,  64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, /* 0-9 : ; < = > ? */
    100, 69, 69, 70, 78, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, /* @ A-O */
    61,  79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, /* P-Z [ \ ] ^ _ */
    50,  62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, /* ` a-o */
    64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,     /* p-z { | } ~ */
};

/* Other scripts by classes: no table can know the font that will draw them. */
static unsigned advance(uint32_t code)
{
    if (code >= 0x20 && code < 0x7f)
        return advances[code - 0x20];
    if (code == 0xb7) /* middle dot, in our own texts */
        return 38;
    if (code < 0x1100)
        return 95;
    return code < 0x2e80 ? 112 : 130; /* symbols; then CJK, emoji and the like */
}

/* What a text is measured for. */
struct font {
    double unit; /* a hundredth of an em, with one percent of safety */
    bool is_bold;
};

static struct font font_of(enum gm_text_size size, enum gm_weight weight)
{
    return (struct font){gm_text_pixels(size) * 1.01 / 100, weight == GM_BOLD};
}

/* Length of the character at s[0..n), n > 0; ill-formed bytes (there should be none) count one by one. */
static size_t next(const char *s, size_t n, const struct font *font, double *width)
{
    uint32_t code = 0xfffd;
    size_t length = gm_utf8_decode(s, n, &code);
    unsigned w = advance(code);
    *width = font->unit * (font->is_bold ? 1.1 * w + 7 : w);
    return length > 0 ? length : 1;
}

static double width_of(const char *s, size_t n, const struct font *font)
{
    double sum = 0;
    for (size_t i = 0; i < n;) {
        double w;
        i += next(s + i, n - i, font, &w);
        sum += w;
    }
    return sum;
}

double gm_text_width(const char *text, enum gm_text_size size, enum gm_weight weight)
{
    const struct font font = font_of(size, weight);
    return width_of(text, strlen(text), &font);
}

/* How many bytes of s[0..n) fit into `width`. */
static size_t fitting(const char *s, size_t n, double width, const struct font *font)
{
    double sum = 0;
    for (size_t i = 0; i < n;) {
        double w;
        size_t length = next(s + i, n - i, font, &w);
        sum += w;
        if (sum > width)
            return i;
        i += length;
    }
    return n;
}

/* The first byte of the longest tail of s[0..n) that fits into `width`. */
static size_t fitting_tail(const char *s, size_t n, double width, const struct font *font)
{
    const size_t longest = 4; /* of a character */
    double sum = 0;
    while (n > 0) {
        size_t start = n - 1;
        while (start > 0 && n - start < longest && ((unsigned char)s[start] & 0xc0) == 0x80)
            start--;
        double w;
        if (next(s + start, n - start, font, &w) != n - start)
            start = n - 1; /* ill-formed */
        sum += w;
        if (sum > width)
            return n;
        n = start;
    }
    return 0;
}

/* Every character has some width, so these look at no more of a giant text than could be shown. */
static bool fits(const char *s, size_t n, double width, const struct font *font)
{
    return fitting(s, n, width, font) == n;
}

/* s[0..n) as a string of its own, cut to `width`. */
static const char *shorten(struct gm_display *display, const char *s, size_t n, double width, const struct font *font)
{
    size_t keep = fitting(s, n, width, font);
    if (keep == n)
        return gm_display_printf(display, "%.*s", (int)n, s);
    keep = fitting(s, keep, width - width_of(ELLIPSIS, 3, font), font);
    while (keep > 0 && s[keep - 1] == ' ')
        keep--;
    return gm_display_printf(display, "%.*s" ELLIPSIS, (int)keep, s);
}

const char *gm_shorten_end(struct gm_display *display, const char *text, double width, enum gm_text_size size,
                           enum gm_weight weight)
{
    const struct font font = font_of(size, weight);
    size_t n = strlen(text);
    return fits(text, n, width, &font) ? text : shorten(display, text, n, width, &font);
}

/* "a/b/c.py:1" to ".../c.py:1" with as many directories as fit, or the tail of the name if not even that fits. */
static const char *shorten_path(struct gm_display *display, const char *path, double width, const struct font *font)
{
    size_t n = strlen(path);
    if (fits(path, n, width, font))
        return path;
    double room = width - width_of(ELLIPSIS, 3, font);
    const char *tail = path + fitting_tail(path, n, room, font);
    const char *slash = strpbrk(tail, "/\\");
    return gm_display_printf(display, ELLIPSIS "%s", slash != NULL ? slash : tail);
}

/* The last gap of s[0..n) between a function and a path; NULL if there is none. */
static const char *last_gap(const char *s, size_t n)
{
    const char *space = memrchr(s, ' ', n);
    while (space != NULL && space > s && space[-1] != ' ')
        space = memrchr(s, ' ', (size_t)(space - s));
    return space != NULL && space > s ? space - 1 : NULL;
}

const char *gm_shorten_site(struct gm_display *display, const char *site, double width, enum gm_text_size size,
                            enum gm_weight weight)
{
    const struct font measure = font_of(size, weight), *font = &measure;
    size_t n = strlen(site);
    if (fits(site, n, width, font))
        return site;
    const char *gap = last_gap(site, n);
    if (gap == NULL)
        return strchr(site, '/') != NULL ? shorten_path(display, site, width, font)
                                         : shorten(display, site, n, width, font);
    const size_t function_length = (size_t)(gap - site);
    const double space = width_of(SITE_GAP, strlen(SITE_GAP), font), half = 0.5 * width;
    /* the path gets what the function leaves, but half of the room at least */
    double room = half;
    if (fits(site, function_length, half, font))
        room = fmax(half, width - space - width_of(site, function_length, font));
    const char *path = shorten_path(display, gap + strlen(SITE_GAP), room, font);
    const char *function =
        shorten(display, site, function_length, width - space - gm_text_width(path, size, weight), font);
    return gm_display_printf(display, "%s" SITE_GAP "%s", function, path);
}
