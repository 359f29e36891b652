/* SPDX-License-Identifier: Apache-2.0
 *
 * The shape that an operator's numbers give what it makes, where those of its tensors do not: sizes (aten::empty),
 * dimensions that go (aten::sum), windows that go over an image (convolutions, pooling), a count (aten::topk). Numbers
 * stand in a trace as text, "[[24, 48], 6, , False]", at the places of the operator's schema.
 */
#include "analyze/timeline/join/join_work.h"

#include "analyze/base/ascii.h"

#include <string.h>

enum { VALUES_MOST = 16, NONE = VALUES_MOST /* a place that nothing stands at */ };
#define MOST_INTEGER (INT64_C(1) << 48)
#define MOST_SIDE (INT64_C(1) << 31) /* of an image or a window */

struct value {
    const char *text;
    size_t length;
};
struct values {
    struct value v[VALUES_MOST + 1]; /* the last is empty */
    size_t n;
};
struct integers {
    int64_t v[GM_JOIN_DIMS];
    size_t n;
};

static void read_values(struct values *out, const char *s, size_t n)
{
    size_t depth = 0, begin = 1;
    *out = (struct values){.n = 0};
    for (size_t i = 0; i < n && out->n < VALUES_MOST; i++) {
        const bool closes = s[i] == ']' && depth > 0;
        if ((s[i] == ',' || closes) && depth == 1) {
            out->v[out->n++] = (struct value){s + begin, i - begin};
            begin = i + 1 < n && s[i + 1] == ' ' ? i + 2 : i + 1;
        }
        depth += s[i] == '[';
        depth -= closes;
    }
}

/* "24" or "[24, -1]"; none of anything else, and of what is too large. */
static struct integers integers_of(const struct values *values, size_t place)
{
    const struct value *value = &values->v[place];
    struct integers out = {.n = 0};
    int64_t sign = 1;
    bool is_number = false;
    for (size_t i = 0; i < value->length; i++) {
        const char c = value->text[i];
        if (!gm_is_digit(c) && strchr("[], -", c) == NULL)
            return (struct integers){.n = 0};
        if (gm_is_digit(c) && !is_number && out.n == GM_JOIN_DIMS)
            return (struct integers){.n = 0};
        if (gm_is_digit(c)) {
            out.n += !is_number;
            int64_t *last = &out.v[out.n - 1];
            *last = *last * 10 + sign * (c - '0');
            if (*last > MOST_INTEGER || *last < -MOST_INTEGER)
                return (struct integers){.n = 0};
        } else {
            sign = c == '-' ? -1 : 1;
        }
        is_number = gm_is_digit(c);
    }
    return out;
}

/* The one integer there, or `otherwise`. */
static int64_t integer_of(const struct values *values, size_t place, int64_t otherwise)
{
    const struct integers all = integers_of(values, place);
    return all.n == 1 ? all.v[0] : otherwise;
}

static bool is_true(const struct values *values, size_t place)
{
    return gm_is_text(values->v[place].text, values->v[place].length, "True");
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

/* What is known of an operator. */
struct call {
    const struct gm_join_shape *inputs;
    size_t input_count;
    struct values values;
    const uint8_t *places; /* of its rule */
    struct gm_join_made *made;
};

static bool take_sizes(struct gm_join_shape *out, const struct integers *sizes)
{
    out->n = sizes->n;
    for (size_t i = 0; i < sizes->n; i++) {
        if (sizes->v[i] < 0)
            return false;
        out->dims[i] = (uint64_t)sizes->v[i];
    }
    return sizes->n > 0;
}

/* Sizes, as they are. */
static bool by_sizes(struct call *c)
{
    const struct integers sizes = integers_of(&c->values, c->places[0]);
    return take_sizes(&c->made->shape, &sizes);
}

/* Sizes and strides: from the first number to the last there may be more, or fewer, than the sizes say. */
static bool by_strides(struct call *c)
{
    const struct integers strides = integers_of(&c->values, c->places[1]);
    uint64_t extent = 1;
    if (!by_sizes(c) || strides.n != c->made->shape.n)
        return false;
    for (size_t i = 0; i < strides.n; i++) {
        if (strides.v[i] < 0 || c->made->shape.dims[i] == 0)
            return true;
        extent = gm_known_add(extent, gm_known_mul(c->made->shape.dims[i] - 1, (uint64_t)strides.v[i]));
    }
    c->made->extent = extent;
    return true;
}

/* Dimensions of the first input that go, or have 1 left; none are all. */
static bool by_gone(struct call *c)
{
    const struct integers gone = integers_of(&c->values, c->places[0]);
    const bool keeps = is_true(&c->values, c->places[1]);
    const struct gm_join_shape *in = &c->inputs[0];
    const int64_t n = c->input_count == 0 ? 0 : (int64_t)in->n;
    bool goes[GM_JOIN_DIMS] = {false};
    for (size_t i = 0; i < gone.n; i++) {
        const int64_t at = gone.v[i] < 0 ? gone.v[i] + n : gone.v[i];
        if (at < 0 || at >= n)
            return false;
        goes[at] = true;
    }
    for (int64_t i = 0; i < n && gone.n > 0; i++)
        if (keeps || !goes[i])
            c->made->shape.dims[c->made->shape.n++] = goes[i] ? 1 : in->dims[i];
    return c->made->shape.n > 0;
}

/* So many of a dimension, the last if none is told. */
static bool by_count(struct call *c)
{
    const int64_t count = integer_of(&c->values, c->places[0], -1), n = (int64_t)c->inputs[0].n;
    const int64_t told = integer_of(&c->values, c->places[1], -1), at = told < 0 ? told + n : told;
    if (c->input_count == 0 || count < 0 || at < 0 || at >= n)
        return false;
    c->made->shape = c->inputs[0];
    c->made->shape.dims[at] = (uint64_t)count;
    return true;
}

/* The last dimensions of the first input are of other sizes. */
static bool by_last(struct call *c)
{
    const struct integers sizes = integers_of(&c->values, c->places[0]);
    struct gm_join_shape last = {.n = 0}, *out = &c->made->shape;
    if (c->input_count == 0 || sizes.n >= c->inputs[0].n || !take_sizes(&last, &sizes))
        return false;
    *out = c->inputs[0];
    memcpy(out->dims + out->n - last.n, last.dims, last.n * sizeof *last.dims);
    return true;
}

/* Of a list with a number for each dimension, or one for all. */
static int64_t pick(const struct integers *list, size_t i, int64_t otherwise)
{
    return list->n == 0 ? otherwise : i < list->n ? list->v[i] : list->v[list->n - 1];
}

/* How often a window of that width fits, or, transposed, how wide what so many windows cover is; -1: none. */
struct window {
    int64_t side, width, stride, padding, dilation, more; /* more: rounds up, or is put at the end */
};
static int64_t slide(const struct window *w, bool is_transposed)
{
    const int64_t all[] = {w->side, w->width, w->stride, w->padding, w->dilation, w->more};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] < 0 || all[i] > MOST_SIDE)
            return -1;
    if (w->side == 0 || w->width == 0 || w->stride == 0)
        return -1;
    const gm_i128 reach = (gm_i128)w->dilation * (w->width - 1) + 1, around = 2 * (gm_i128)w->padding;
    const gm_i128 room = w->side + around - reach + w->more;
    const gm_i128 out = is_transposed ? (gm_i128)(w->side - 1) * w->stride - around + reach + w->more
                        : room < 0    ? -1
                                      : room / w->stride + 1;
    return out < 0 ? -1 : gm_clamp_signed(out);
}

/* Places: of the window (NONE: the second input's last dimensions), its stride, padding, dilation; of "transposed",
 * what is added then, groups; of "ceil_mode". */
enum { WIDTH, STRIDE, PADDING, DILATION, TRANSPOSED, ADDED, GROUPS, CEIL };
static bool by_window(struct call *c)
{
    const uint8_t *at = c->places;
    const bool has_filter = at[WIDTH] == NONE;
    const struct gm_join_shape *image = &c->inputs[0], *filter = &c->inputs[has_filter];
    const struct integers widths = integers_of(&c->values, at[WIDTH]), strides = integers_of(&c->values, at[STRIDE]),
                          paddings = integers_of(&c->values, at[PADDING]),
                          dilations = integers_of(&c->values, at[DILATION]), added = integers_of(&c->values, at[ADDED]);
    const bool is_transposed = is_true(&c->values, at[TRANSPOSED]), rounds_up = is_true(&c->values, at[CEIL]);
    struct gm_join_shape *out = &c->made->shape;
    const size_t sides = has_filter ? filter->n - 2 : widths.n;
    if (c->input_count <= has_filter || (has_filter && (filter->n < 3 || filter->n != image->n)) || sides == 0 ||
        image->n <= sides)
        return false;
    *out = *image;
    if (has_filter)
        out->dims[1] = is_transposed ? gm_known_mul(filter->dims[1], (uint64_t)integer_of(&c->values, at[GROUPS], 1))
                                     : filter->dims[0];
    for (size_t i = 0; i < sides; i++) {
        const uint64_t side = image->dims[image->n - sides + i], width = has_filter ? filter->dims[2 + i] : 0;
        struct window w = {.side = side > MOST_SIDE ? -1 : (int64_t)side, .padding = pick(&paddings, i, 0)};
        w.width = !has_filter ? pick(&widths, i, -1) : width > MOST_SIDE ? -1 : (int64_t)width;
        w.stride = pick(&strides, i, w.width);
        w.dilation = pick(&dilations, i, 1);
        w.more = rounds_up ? w.stride - 1 : is_transposed ? pick(&added, i, 0) : 0;
        const int64_t made = slide(&w, is_transposed);
        if (made < 0)
            return false;
        out->dims[out->n - sides + i] = (uint64_t)made;
    }
    return true;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

/* By PyTorch's schemas; what a call of another does inside is of these. `type`: the place of what numbers are made. */
static const struct {
    const char *names[10]; /* of aten:: */
    bool (*rule)(struct call *c);
    uint8_t type, places[8];
} operators[] = {
    {{"empty"}, by_sizes, 1, {0}},
    {{"resize_"}, by_sizes, NONE, {1}},
    {{"empty_strided"}, by_strides, 2, {0, 1}},
    {{"sum", "mean", "prod"}, by_gone, 3, {1, 2}},
    {{"amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "logsumexp"}, by_gone, NONE, {1, 2}},
    {{"var", "std"}, by_gone, NONE, {1, 3}},
    {{"norm"}, by_gone, NONE, {2, 3}},
    {{"linalg_vector_norm"}, by_gone, 4, {2, 3}},
    {{"topk"}, by_count, NONE, {1, 2}},
    {{"multinomial"}, by_count, NONE, {1, NONE}},
    {{"upsample_nearest1d", "upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d", "_adaptive_avg_pool2d",
      "adaptive_max_pool2d"},
     by_last,
     NONE,
     {1}},
    {{"convolution"}, by_window, NONE, {NONE, 3, 4, 5, 6, 7, 8, NONE}},
    {{"avg_pool2d", "avg_pool3d"}, by_window, NONE, {1, 2, 3, NONE, NONE, NONE, NONE, 4}},
    {{"max_pool2d_with_indices", "max_pool3d_with_indices"}, by_window, NONE, {1, 2, 3, 4, NONE, NONE, NONE, 5}},
};

bool gm_join_by_values(const struct gm_join_operator *op, struct gm_join_made *made)
{
    *made = (struct gm_join_made){.type = -1};
    struct call call = {.inputs = op->inputs, .input_count = op->input_count, .made = made};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!gm_join_is_aten(op->name, op->name_length, operators[i].names))
            continue;
        read_values(&call.values, op->values, op->values_length);
        call.places = operators[i].places;
        made->type = (int)integer_of(&call.values, operators[i].type, -1);
        made->is_free = op->input_count == 0;
        return operators[i].rule(&call);
    }
    return false;
}
