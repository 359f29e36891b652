/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures: read back by libpng, small enough, the same every time and from every thread, nothing at the edges,
 * colours exact, and texts no wider than the layout believed.
 */
#include "render/charts.h"
#include "render/fonts.h"
#include "render/metric.h"
#include "render/paint.h"
#include "render/theme.h"
#include "tests/render/samples.h"
#include "tests/unit.h"

#include <malloc.h>
#include <math.h>
#include <png.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    MOST_BYTES = 180 * 1000,
    MOST_BYTES_IF_LONG = 400 * 1000 /* taller than two screens */,
    TALL = 2400,
    MARGIN = 20
};

static int setup(void **state)
{
    struct gm_error err;
    struct gm_painter *painter;
    if (gm_painter_new(&painter, &err) != GM_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    *state = painter;
    return 0;
}

static int teardown(void **state)
{
    gm_painter_free(*state);
    return 0;
}

struct picture {
    unsigned width, height;
    uint32_t *pixels; /* 0xRRGGBB */
};

static struct picture read_back(const struct gm_png *png)
{
    assert_true(png->length > 33);
    assert_int_equal(png->data[24], 8); /* bits */
    assert_int_equal(png->data[25], 3); /* a palette */
    png_image image = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&image, png->data, png->length))
        fail_msg("libpng: %s", image.message);
    image.format = PNG_FORMAT_RGB;
    GM_FREED uint8_t *rgb = malloc(PNG_IMAGE_SIZE(image));
    struct picture p = {image.width, image.height, malloc(sizeof *p.pixels * image.width * image.height)};
    assert_true(rgb != NULL && p.pixels != NULL);
    if (!png_image_finish_read(&image, NULL, rgb, 0, NULL) || image.warning_or_error)
        fail_msg("libpng: %s", image.message);
    for (size_t i = 0; i < (size_t)p.width * p.height; i++)
        p.pixels[i] = (uint32_t)rgb[3 * i] << 16 | (uint32_t)rgb[3 * i + 1] << 8 | rgb[3 * i + 2];
    return p;
}

static void check_margins(const struct picture *p)
{
    for (unsigned y = 0; y < p->height; y++)
        for (unsigned x = 0; x < p->width; x++)
            if ((x < MARGIN || y < MARGIN || x >= p->width - MARGIN || y >= p->height - MARGIN) &&
                p->pixels[y * p->width + x] != GM_PAPER)
                fail_msg("something is painted at %u, %u of %u x %u", x, y, p->width, p->height);
}

/* The middle of every solid bar that nothing lies on has the very colour that the layout asked for. */
static void check_colors(const struct picture *p, const struct gm_display *d)
{
    size_t seen = 0;
    for (size_t i = 0; i < d->items.n; i++) {
        const struct gm_rect_item *r = &d->items.v[i].rect;
        if (d->items.v[i].kind != GM_ITEM_RECT || r->role == GM_RECT_PLAIN || r->fill.hatch != GM_HATCH_NONE ||
            r->w < 4)
            continue;
        unsigned x = (unsigned)((r->x + r->w) * GM_DISPLAY_SCALE) - 4, y = (unsigned)(r->y * GM_DISPLAY_SCALE) + 3;
        assert_int_equal(p->pixels[y * p->width + x], r->fill.color);
        seen++;
    }
    print_message("%zu bars have their colours\n", seen);
}

TEST(pictures)
{
    struct gm_painter *painter = *state;
    for (int s = 0; s < SAMPLE_COUNT; s++) {
        struct gm_report report;
        sample_make(&report, (enum sample)s);
        for (int c = s % (int)unit_sampled(); c < GM_CHART_COUNT; c += (int)unit_sampled()) {
            struct gm_png png, again;
            struct gm_error err;
            assert_int_equal(gm_chart_draw(&png, painter, &report, (enum gm_chart)c, &err), GM_OK);
            struct picture p = read_back(&png);
            assert_true(png.length < (p.height < TALL ? MOST_BYTES : MOST_BYTES_IF_LONG));
            assert_int_equal(p.width, 1800);
            check_margins(&p);
            struct gm_display d = {0};
            gm_chart_layout(&d, &report, (enum gm_chart)c);
            assert_int_equal(p.height, (unsigned)ceil(d.height * GM_DISPLAY_SCALE));
            check_colors(&p, &d);
            gm_display_free(&d);
            assert_int_equal(gm_chart_draw(&again, painter, &report, (enum gm_chart)c, &err), GM_OK);
            assert_int_equal(png.length, again.length);
            assert_memory_equal(png.data, again.data, png.length);
            free(p.pixels);
            free(png.data);
            free(again.data);
        }
        gm_report_free(&report);
    }
}

/* Areas are painted column by column: from the first row to before the last one, with their own colour. */
TEST(areas)
{
    enum { N = 3 };
    static const uint16_t top[N] = {100, 60, 90}, bottom[N] = {120, 120, 90};
    GM_FREED_BY(gm_display_free) struct gm_display d = {.height = 100};
    gm_display_area(&d, &(struct gm_area_item){200, N, top, bottom, {0x336699, 0, GM_HATCH_NONE}, false});
    const struct gm_fill hatch = {GM_PAPER, 0xcc0000, GM_HATCH_DIAGONAL};
    gm_display_area(&d, &(struct gm_area_item){201, 1, top, bottom, hatch, true});
    gm_display_area(&d, &(struct gm_area_item){1799, N, top, bottom, {0x336699, 0, GM_HATCH_NONE}, false});
    struct gm_canvas *canvas = gm_painter_take(*state);
    struct gm_pixels p;
    assert_non_null(canvas);
    assert_int_equal(gm_paint(&p, *state, canvas, &d, NULL), GM_OK);
    assert_int_equal(p.width, 1800); /* the third area leaves the picture: only its first column is there */
    size_t painted[1800] = {0}, red = 0;
    for (size_t y = 0; y < p.height; y++)
        for (size_t x = 0; x < p.width; x++) {
            const uint32_t color = canvas->palette.colors[gm_pixels_row(&p, y)[x]];
            painted[x] += color != GM_PAPER;
            red += color == 0xcc0000;
        }
    assert_true(painted[199] == 0 && painted[200] == 20 && painted[201] == 60 && painted[202] == 0);
    assert_true(painted[1799] == 20);
    assert_true(red == 6 || red == 7); /* 4 of 12 rows of the twenty in its only column, over what was there */
    assert_true(gm_pixels_row(&p, 99)[200] == 0 && gm_pixels_row(&p, 100)[200] != 0); /* 0: paper */
    assert_true(gm_pixels_row(&p, 119)[200] != 0 && gm_pixels_row(&p, 120)[200] == 0);
    gm_painter_give_back(*state, canvas);
}

/* A picture of a text alone, by the atlas or by pango and cairo. */
static struct gm_pixels draw_alone(struct gm_painter *painter, struct gm_canvas *canvas,
                                   struct gm_typesetter *typesetter, const struct gm_text_item *text)
{
    struct gm_pixels p;
    assert_int_equal(gm_paint(&p, painter, canvas, &(struct gm_display){.height = 60}, NULL), GM_OK);
    gm_palette_enter(&canvas->palette, text->color);
    if (typesetter == NULL)
        assert_true(gm_letters_put(canvas, &p, text));
    else
        assert_int_equal(gm_typeset(typesetter, &p, &canvas->palette, text, NULL), GM_OK);
    return p;
}

static uint32_t color_at(const struct gm_canvas *canvas, const struct gm_pixels *p, size_t x, size_t y)
{
    return canvas->palette.colors[gm_pixels_row(p, y)[x]];
}

/* What the atlas has looks as pango and cairo draw it: the same letters at the same places, but for pixels that two
 * letters share. */
static void check_alike(struct gm_painter *painter, struct gm_typesetter *typesetter, const struct gm_text_item *text)
{
    struct gm_canvas *ours = gm_painter_take(painter), *theirs = gm_painter_take(painter);
    assert_true(ours != NULL && theirs != NULL);
    const struct gm_pixels p = draw_alone(painter, ours, NULL, text);
    const struct gm_pixels q = draw_alone(painter, theirs, typesetter, text);
    size_t inked = 0, others = 0;
    for (size_t y = 0; y < p.height; y++)
        for (size_t x = 0; x < p.width; x++) {
            const uint32_t color = color_at(ours, &p, x, y);
            inked += color != GM_PAPER;
            others += color != color_at(theirs, &q, x, y);
        }
    assert_true(inked > 500);
    if (others > inked / 100)
        fail_msg("\"%s\": %zu of %zu pixels are others", text->text, others, inked);
    gm_painter_give_back(painter, ours);
    gm_painter_give_back(painter, theirs);
}

TEST(letters)
{
    static const char *const texts[] = {
        "torchtitan/models/llama3/model/attention.py", "AVATAR LTd. To Wave. Yes, office: fluffy",
        "36.05 GiB \xc2\xb7 99.0% efficient 2 KiB\xc2\xb2 \xe2\x80\xa6",
        " !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMN", "OPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"};
    struct gm_typesetter *typesetter;
    assert_int_equal(gm_typesetter_new(&typesetter, NULL), GM_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int style = 0; style < GM_TEXT_SIZES * GM_WEIGHTS * 3; style++) {
            const enum gm_anchor anchor = (enum gm_anchor)(style % 3);
            const struct gm_text_item text = {.text = texts[i],
                                              .x = 10 + 440 * (style % 3),
                                              .y = 30,
                                              .max_width = GM_DISPLAY_WIDTH,
                                              .color = 0x234567,
                                              .size = (enum gm_text_size)(style / 3 / GM_WEIGHTS),
                                              .weight = (enum gm_weight)(style / 3 % GM_WEIGHTS),
                                              .anchor = anchor};
            check_alike(*state, typesetter, &text);
        }
    gm_typesetter_free(typesetter);
}

/* What is too long stays within its box and fills that, but for the width of a letter. */
TEST(ellipsised)
{
    const double widest = 14; /* of the letters below */
    struct gm_canvas *canvas = gm_painter_take(*state);
    assert_non_null(canvas);
    for (int ellipsis = GM_ELLIPSIS_END; ellipsis <= GM_ELLIPSIS_START; ellipsis++)
        for (double room = 1; room < 300; room += 1.3) {
            const struct gm_text_item text = {.text = "torchtitan/models/llama3/model/attention.py:188 forward_pass",
                                              .x = 100,
                                              .y = 30,
                                              .max_width = room,
                                              .color = 0x234567,
                                              .size = GM_TEXT_BODY,
                                              .ellipsis = (enum gm_ellipsis)ellipsis};
            const struct gm_pixels p = draw_alone(*state, canvas, NULL, &text);
            size_t first = p.width, end = 0;
            for (size_t y = 0; y < p.height; y++)
                for (size_t x = 0; x < p.width; x++)
                    if (color_at(canvas, &p, x, y) != GM_PAPER) {
                        first = x < first ? x : first;
                        end = x + 1 > end ? x + 1 : end;
                    }
            if (end == 0 && room < widest)
                continue; /* nothing has room beside the ellipsis */
            assert_true((double)first >= text.x * GM_DISPLAY_SCALE);
            assert_true((double)end <= (text.x + room) * GM_DISPLAY_SCALE);
            assert_true((double)(end - first) >= (room - widest) * GM_DISPLAY_SCALE);
        }
    gm_painter_give_back(*state, canvas);
}

/* Others are left to pango: nothing is put. */
TEST(other_letters)
{
    GM_FREED_BY(gm_display_free) struct gm_display d = {.height = 60};
    const struct gm_text_item text = {
        .text = "\xd0\xbf\xd1\x80\xd1\x8f\xd0\xbc\xd0\xbe\xd0\xb9 \xf3\xb0\x80\x80 \xd7\xa9\xd7\x9c a",
        .x = 40,
        .y = 30,
        .max_width = 800,
        .color = 0x234567};
    struct gm_canvas *canvas = gm_painter_take(*state);
    struct gm_pixels p;
    assert_non_null(canvas);
    assert_int_equal(gm_paint(&p, *state, canvas, &d, NULL), GM_OK);
    assert_false(gm_letters_put(canvas, &p, &text));
    gm_display_text(&d, &text);
    assert_int_equal(gm_paint(&p, *state, canvas, &d, NULL), GM_OK);
    size_t inked = 0;
    for (size_t y = 0; y < p.height; y++)
        for (size_t x = 0; x < p.width; x++)
            inked += gm_pixels_row(&p, y)[x] != 0;
    assert_true(inked > 500);
    gm_painter_give_back(*state, canvas);
}

struct job {
    struct gm_painter *painter;
    const struct gm_report *report;
    int first; /* the chart to begin with, so that threads draw different ones at the same time */
    struct gm_png png[GM_CHART_COUNT];
    enum gm_status status;
};

static void *draw_all(void *arg)
{
    struct job *job = arg;
    for (int i = 0; i < GM_CHART_COUNT; i++) {
        int c = (job->first + i) % GM_CHART_COUNT;
        enum gm_status status = gm_chart_draw(&job->png[c], job->painter, job->report, (enum gm_chart)c, NULL);
        if (status != GM_OK)
            job->status = status;
    }
    return NULL;
}

TEST(threads)
{
    enum { THREADS = 4, ROUNDS = 3 };
    static const enum sample samples[] = {SAMPLE_EIGHT, SAMPLE_HOSTILE};
    for (size_t s = 0; s < 2; s++) {
        struct gm_report report;
        sample_make(&report, samples[s]);
        struct job alone = {.painter = *state, .report = &report};
        draw_all(&alone);
        assert_int_equal(alone.status, GM_OK);
        for (int round = 0; round < ROUNDS; round++) {
            struct job jobs[THREADS] = {{0}};
            pthread_t threads[THREADS];
            for (int i = 0; i < THREADS; i++) {
                jobs[i] = (struct job){.painter = *state, .report = &report, .first = i};
                assert_int_equal(pthread_create(&threads[i], NULL, draw_all, &jobs[i]), 0);
            }
            for (int i = 0; i < THREADS; i++) {
                pthread_join(threads[i], NULL);
                assert_int_equal(jobs[i].status, GM_OK);
                for (int c = 0; c < GM_CHART_COUNT; c++) {
                    assert_int_equal(jobs[i].png[c].length, alone.png[c].length);
                    assert_memory_equal(jobs[i].png[c].data, alone.png[c].data, alone.png[c].length);
                    free(jobs[i].png[c].data);
                }
            }
        }
        for (int c = 0; c < GM_CHART_COUNT; c++)
            free(alone.png[c].data);
        gm_report_free(&report);
    }
}

TEST(two_painters)
{
    struct gm_painter *other;
    assert_int_equal(gm_painter_new(&other, NULL), GM_OK);
    struct gm_report report;
    sample_make(&report, SAMPLE_HOSTILE);
    struct gm_png a, b;
    assert_int_equal(gm_chart_draw(&a, *state, &report, GM_CHART_TOP_CONSUMERS, NULL), GM_OK);
    assert_int_equal(gm_chart_draw(&b, other, &report, GM_CHART_TOP_CONSUMERS, NULL), GM_OK);
    assert_int_equal(a.length, b.length);
    assert_memory_equal(a.data, b.data, a.length);
    free(a.data);
    free(b.data);
    gm_report_free(&report);
    gm_painter_free(other);
}

/* How wide it is drawn if nothing limits it, in logical units. */
static double drawn_width(struct gm_typesetter *typesetter, const struct gm_text_item *text)
{
    PangoRectangle extents;
    PangoLayout *layout = gm_typesetter_layout(typesetter, text->text, text->size, text->weight);
    pango_layout_set_width(layout, -1);
    pango_layout_set_text(layout, text->text, -1);
    pango_layout_get_extents(layout, NULL, &extents);
    return (double)extents.width / PANGO_SCALE / GM_DISPLAY_SCALE;
}

/* Real widths must not exceed the estimate, or texts would be ellipsised although the layout left enough room. */
TEST(estimates)
{
    static const char *const texts[] = {
        "Memory overview",
        "Top consumers",
        "Category breakdown",
        "Size distribution",
        "Memory efficiency",
        "12.50 GiB",
        "1014.2 MiB",
        "99.9%",
        "4,611,686",
        "Optimizer step",
        "cuBLAS/cuDNN workspace",
        "forward  torchtitan/models/llama3/model/attention.py:188",
        "_init_group  torch/optim/adamw.py:160",
        "at::native::empty_cuda(c10::ArrayRef<long>, ...)  aten/src/ATen/native/cuda/EmptyTensor.cpp:84",
        "36.05 GiB reserved  \xc2\xb7  35.69 GiB allocated  \xc2\xb7  365.5 MiB cached  \xc2\xb7  99.0% efficient",
        "The 30 largest blocks, by where they were made",
        "excellent",
        "torch.cuda.empty_cache() would return 1 GiB",
        "iiiiiiiiiijjjjjjjjjjllllllllll",
        "WWWWWWWWWWMMMMMMMMMM@@@@@@@@@@",
        "!\"#$%&'()*+,-./:;<=>?[\\]^_`{|}~",
        "\xd0\xbf\xd1\x80\xd1\x8f\xd0\xbc\xd0\xbe\xd0\xb9",
        "\xc3\x9c\x62\x65r Gr\xc3\xb6\xc3\x9f\x65 \xe2\x80\xa6",
    };
    struct gm_typesetter *typesetter;
    double widest = 0;
    assert_int_equal(gm_typesetter_new(&typesetter, NULL), GM_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int size = 0; size < GM_TEXT_SIZES; size++)
            for (int weight = 0; weight < GM_WEIGHTS; weight++) {
                const struct gm_text_item item = {
                    .text = texts[i], .size = (enum gm_text_size)size, .weight = (enum gm_weight)weight};
                double real = drawn_width(typesetter, &item);
                double estimate = gm_text_width(item.text, item.size, item.weight);
                assert_true(real > 0);
                widest = fmax(widest, real / estimate);
                if (real > estimate)
                    fail_msg("\"%s\" is %.1f wide, estimated %.1f (size %d, weight %d)", texts[i], real, estimate, size,
                             weight);
            }
    gm_typesetter_free(typesetter);
    print_message("widest: %.3f of the estimate\n", widest);
}

TEST(no_such_chart)
{
    struct gm_report report = {.run_name = "r"};
    struct gm_png png;
    struct gm_error err;
    assert_int_equal(gm_chart_draw(&png, *state, &report, (enum gm_chart)GM_CHARTS, &err), GM_E_INTERNAL);
    assert_null(png.data);
}

/* More colours than a palette has: the exact ones stay exact, the others become near ones. */
TEST(palette_overflow)
{
    enum { W = 512, H = 128 };
    GM_FREED uint8_t *rows = calloc(H, W + 1);
    GM_FREED struct gm_palette *palette = malloc(sizeof *palette);
    assert_true(rows != NULL && palette != NULL);
    const struct gm_pixels pixels = {rows, W, H};
    uint32_t exact[200];
    gm_palette_clear(palette);
    for (unsigned i = 0; i < 200; i++) {
        exact[i] = (i * 1237U & 0x1fU) << 19 | (i * 331U & 0x3fU) << 10 | (i & 0x1fU) << 3;
        gm_palette_enter(palette, exact[i]);
    }
    for (unsigned i = 0; i < W * H; i++)
        gm_pixels_row(&pixels, i / W)[i % W] = gm_palette_index(palette, (uint16_t)i); /* every value there is */
    assert_int_equal(palette->n, 256);
    GM_FREED_BY(gm_png_scratch_free) struct gm_png_scratch scratch = {0};
    struct gm_png png;
    assert_int_equal(gm_png_compress(&png, &scratch, palette, &pixels, NULL), GM_OK);
    struct picture p = read_back(&png);
    for (unsigned i = 0; i < 200; i++) {
        unsigned pixel = exact[i] >> 19 << 11 | (exact[i] >> 10 & 0x3f) << 5 | (exact[i] >> 3 & 0x1f);
        assert_int_equal(p.pixels[pixel], exact[i]);
    }
    free(p.pixels);
    free(png.data);
}

/* Whatever was in the memory that the compressor got, and wherever that lies: four bytes before each 32 KiB's fifth,
 * met again, are of those that a wrong hash of the first bytes would hide, one row of them in 8,192 places. */
TEST(bytes_depend_on_the_picture_alone)
{
    enum { W = 32767, H = 255, PLACES = 200 };
    GM_FREED struct gm_palette *palette = malloc(sizeof *palette);
    GM_FREED uint8_t *rows = calloc(H, W + 1);
    assert_true(palette != NULL && rows != NULL);
    gm_palette_clear(palette);
    for (uint32_t i = 0; i < GM_COLORS; i++)
        gm_palette_enter(palette, i * 0x010101);
    const struct gm_pixels pixels = {rows, W, H};
    for (size_t y = 0; y < H; y++) {
        uint8_t *row = gm_pixels_row(&pixels, y);
        row[4] = row[1004] = (uint8_t)(y + 1);
        row[1000] = 1;
        row[W - 100] = 2;
    }
    struct gm_png_scratch scratch[PLACES] = {{0}};
    struct gm_png first = {0};
    for (int i = 0; i < PLACES; i++) {
        struct gm_png png;
        if (i > 0) { /* as that is large */
            scratch[i] = (struct gm_png_scratch){NULL, scratch[i - 1].packed, scratch[i - 1].packed_capacity};
            scratch[i - 1].packed = NULL;
        }
        mallopt(M_PERTURB, i % 2 == 0 ? 0x01 : 0xA5); /* what fresh memory is filled with */
        assert_int_equal(gm_png_compress(&png, &scratch[i], palette, &pixels, NULL), GM_OK);
        if (i == 0) {
            first = png;
            continue;
        }
        assert_int_equal(png.length, first.length);
        assert_memory_equal(png.data, first.data, first.length);
        free(png.data);
    }
    mallopt(M_PERTURB, 0);
    for (int i = 0; i < PLACES; i++)
        gm_png_scratch_free(&scratch[i]);
    free(first.data);
}

AROUND_ALL(setup, teardown)
