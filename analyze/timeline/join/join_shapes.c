/* SPDX-License-Identifier: Apache-2.0
 *
 * Which shape gives a size. A trace has the shapes of an operator's inputs, not of what it makes: looked at are those
 * of the inputs, of all of them broadcast, of the first without its last or first dimension, and of products and
 * look-ups, which end in another input's dimension; before these what its numbers say (join_values.c). A formula is
 * told only if it gives exactly the bytes that were requested.
 */
#include "analyze/timeline/join/join_work.h"

#include "analyze/base/ascii.h"
#include "analyze/base/text.h"

#include <inttypes.h>
#include <string.h>

enum { INPUTS_MOST = 16, DIMS_MOST = GM_JOIN_DIMS, LEVELS_MOST = 16 };

struct inputs {
    struct gm_join_shape shapes[INPUTS_MOST];
    size_t n;
};

/* Numbers by PyTorch's names and numbers of them. */
struct element {
    const char *type, *shown;
    uint64_t bytes;
    int number; /* c10::ScalarType */
};
static const struct element elements[] = {
    {"float", "fp32", 4, 6},
    {"c10::BFloat16", "bf16", 2, 15},
    {"c10::Half", "fp16", 2, 5},
    {"long int", "int64", 8, 4},
    {"long", "int64", 8, 4},
    {"double", "fp64", 8, 7},
    {"int", "int32", 4, 3},
    {"bool", "bool", 1, 11},
    {"unsigned char", "uint8", 1, 0},
    {"signed char", "int8", 1, 1},
    {"short", "int16", 2, 2},
    {"short int", "int16", 2, 2},
    {"c10::complex<float>", "complex64", 8, 9},
    {"c10::complex<double>", "complex128", 16, 10},
    {"c10::Float8_e4m3fn", "fp8", 1, 24},
    {"c10::Float8_e5m2", "fp8", 1, 23},
    {NULL, "2 B", 2, -1}, /* where types are not told: what is converted to, lists */
    {NULL, "4 B", 4, -1},
    {NULL, "8 B", 8, -1},
    {NULL, "1 B", 1, -1}};
enum { ELEMENTS = sizeof elements / sizeof *elements };

/* "[[2, 3], [], [[4], [5]]]": the innermost lists of numbers; what has no dimension, or too many, is left out. */
static void read_shapes(struct inputs *in, const char *s, size_t n)
{
    struct gm_join_shape shape = {.n = 0};
    bool is_number = false, is_fit = false;
    for (size_t i = 0; i < n && in->n < INPUTS_MOST; i++) {
        if (s[i] == '[') {
            shape = (struct gm_join_shape){.n = 0};
            is_fit = true;
        } else if (gm_is_digit(s[i]) && is_fit) {
            if (!is_number && shape.n == DIMS_MOST) {
                is_fit = false;
                continue;
            }
            if (!is_number)
                shape.dims[shape.n++] = 0;
            shape.dims[shape.n - 1] = gm_known_add(gm_known_mul(shape.dims[shape.n - 1], 10), (uint64_t)(s[i] - '0'));
        } else if (s[i] == ']') {
            if (is_fit && shape.n > 0)
                in->shapes[in->n++] = shape;
            is_fit = false;
        } else if (s[i] != ',' && s[i] != ' ') {
            is_fit = false;
        }
        is_number = gm_is_digit(s[i]);
    }
}

/* "[float, long int, , Scalar]" */
static bool has_type(const char *s, size_t n, const char *type)
{
    const size_t length = strlen(type);
    for (size_t i = 0; i + length <= n; i++) {
        const bool begins = i == 0 || s[i - 1] == '[' || (s[i - 1] == ' ' && i > 1 && s[i - 2] == ',');
        const bool ends = i + length == n || s[i + length] == ',' || s[i + length] == ']';
        if (begins && ends && memcmp(s + i, type, length) == 0)
            return true;
    }
    return false;
}

/* ---- formulas ---------------------------------------------------------------------------------------------------- */

static uint64_t count_of(const struct gm_join_shape *shape)
{
    uint64_t count = 1;
    for (size_t i = 0; i < shape->n; i++)
        count = gm_known_mul(count, shape->dims[i]);
    return count;
}

static const struct element *element_of(uint64_t count, uint64_t bytes, const bool has[ELEMENTS])
{
    for (size_t e = 0; e < ELEMENTS && count > 0; e++)
        if (has[e] && gm_known_mul(count, elements[e].bytes) == bytes)
            return &elements[e];
    return NULL;
}

/* All shapes broadcast together; false: they cannot be, or it is one of them. */
static bool broadcast(const struct inputs *in, struct gm_join_shape *out)
{
    *out = in->shapes[0];
    for (size_t k = 1; k < in->n; k++) {
        const struct gm_join_shape *other = &in->shapes[k];
        const size_t n = other->n > out->n ? other->n : out->n;
        struct gm_join_shape sum = {.n = n};
        for (size_t i = 0; i < n; i++) {
            const uint64_t a = i < n - out->n ? 1 : out->dims[i - (n - out->n)];
            const uint64_t b = i < n - other->n ? 1 : other->dims[i - (n - other->n)];
            if (a != b && a != 1 && b != 1)
                return false;
            sum.dims[i] = a == 1 ? b : a;
        }
        *out = sum;
    }
    return true;
}

/* What operators that end in another input's dimension make of inputs `left` and `right` (from 0, of tensors). */
struct product {
    const char *names[5]; /* of aten:: */
    uint8_t left, right;
    bool keeps_last; /* `left` as a whole and a dimension more: a look-up */
    bool is_of_rows; /* the other's first dimension, not its last */
};
static const struct product products[] = {{{"mm", "bmm", "matmul", "_scaled_mm"}, 0, 1, false, false},
                                          {{"linear"}, 0, 1, false, true},
                                          {{"addmm", "baddbmm", "_addmm_activation"}, 1, 2, false, false},
                                          {{"embedding"}, 1, 0, true, false}};

static bool multiply(const struct product *product, const struct inputs *in, struct gm_join_shape *out)
{
    if (product->left >= in->n || product->right >= in->n)
        return false;
    const struct gm_join_shape *left = &in->shapes[product->left], *right = &in->shapes[product->right];
    *out = *left;
    if (product->keeps_last && out->n == DIMS_MOST)
        return false;
    out->n += product->keeps_last;
    out->dims[out->n - 1] = right->dims[product->is_of_rows ? 0 : right->n - 1];
    return true;
}

/* What is known of one operator. */
struct candidate {
    const struct gm_join *join;
    struct inputs in;
    bool has[ELEMENTS];
    struct gm_join_shape shape;
    bool has_gaps; /* strides make of it more, or fewer, than so many */
    const struct element *element;
};

static bool try_shape(struct candidate *c, const struct gm_join_shape *shape, uint64_t bytes)
{
    c->shape = *shape;
    c->element = element_of(count_of(shape), bytes, c->has);
    return c->element != NULL;
}

/* What numbers tell; of that type, if they tell it, or of any where no tensor tells it: of fp32, mostly. */
static bool try_values(struct candidate *c, const struct gm_join_operator *op, uint64_t bytes)
{
    struct gm_join_made made;
    bool has[ELEMENTS];
    if (!gm_join_by_values(op, &made))
        return false;
    for (size_t e = 0; e < ELEMENTS; e++)
        has[e] = made.type >= 0 ? elements[e].number == made.type
                                : c->has[e] || (made.is_free && (e == 0 || elements[e].type == NULL));
    c->shape = made.shape;
    c->has_gaps = made.extent > 0 && made.extent != count_of(&made.shape);
    c->element = element_of(c->has_gaps ? made.extent : count_of(&made.shape), bytes, has);
    return c->element != NULL;
}

/* What is left of the first input when its last or its first dimension is gone: sums, means, statistics of rows. */
static bool try_reductions(struct candidate *c, const struct gm_join_shape *from, uint64_t bytes)
{
    struct gm_join_shape shape = *from;
    if (from->n < 2)
        return false;
    shape.n--;
    if (try_shape(c, &shape, bytes))
        return true;
    memmove(shape.dims, from->dims + 1, shape.n * sizeof *shape.dims);
    return try_shape(c, &shape, bytes);
}

/* All inputs one after the other in one dimension, in which alone they may differ. */
static bool try_joined(struct candidate *c, uint64_t bytes)
{
    for (size_t axis = 0; axis < c->in.shapes[0].n; axis++) {
        struct gm_join_shape sum = c->in.shapes[0];
        bool is_possible = c->in.n < INPUTS_MOST; /* else there may be more */
        for (size_t k = 1; is_possible && k < c->in.n; k++) {
            const struct gm_join_shape *other = &c->in.shapes[k];
            is_possible = other->n == sum.n;
            for (size_t i = 0; is_possible && i < sum.n; i++)
                is_possible = i == axis || other->dims[i] == sum.dims[i];
            sum.dims[axis] = gm_known_add(sum.dims[axis], is_possible ? other->dims[axis] : 0);
        }
        if (is_possible && try_shape(c, &sum, bytes))
            return true;
    }
    return false;
}

/* What an operator makes beside, or instead of, numbers of its inputs' type, as it is shown; "": nothing. */
static const char *other_type(const char *name, size_t length)
{
    static const struct {
        const char *shown, *names[16]; /* of aten:: */
    } others[] = {
        {"int64",
         {"topk", "sort", "argsort", "argmax", "argmin", "max", "min", "multinomial", "max_pool2d_with_indices",
          "max_pool3d_with_indices", "adaptive_max_pool2d"}},
        {"bool",
         {"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isfinite", "logical_not", "any", "all", "native_dropout"}},
        {"fp32", {"native_layer_norm", "_flash_attention_forward", "_efficient_attention_forward"}}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (gm_join_is_aten(name, length, others[i].names))
            return others[i].shown;
    return "";
}

static bool try_operator(struct candidate *c, uint32_t span, uint64_t bytes)
{
    const struct gm_profile *p = c->join->p;
    const struct gm_profile_detail *d = gm_profile_detail_of(p, &p->spans.v[span]);
    size_t n, types, value_bytes, length;
    const char *values = gm_profile_string(p, d->values, &value_bytes);
    const char *s = gm_profile_string(p, d->shapes, &n), *t = gm_profile_string(p, d->types, &types);
    const char *name = gm_profile_string(p, p->spans.v[span].name, &length);
    struct gm_join_shape made;
    c->in.n = 0;
    read_shapes(&c->in, s, n);
    const bool is_untold = gm_is_text(name, length, "aten::_to_copy") || has_type(t, types, "TensorList");
    const char *other = other_type(name, length);
    for (size_t e = 0; e < ELEMENTS; e++)
        c->has[e] = elements[e].type == NULL
                        ? is_untold
                        : has_type(t, types, elements[e].type) || strcmp(other, elements[e].shown) == 0;
    const struct gm_join_operator op = {.name = name,
                                        .values = values,
                                        .name_length = length,
                                        .values_length = value_bytes,
                                        .inputs = c->in.shapes,
                                        .input_count = c->in.n};
    if (try_values(c, &op, bytes))
        return true;
    c->has_gaps = false;
    for (size_t k = 0; k < sizeof products / sizeof *products; k++)
        if (gm_join_is_aten(name, length, products[k].names) && multiply(&products[k], &c->in, &made) &&
            try_shape(c, &made, bytes))
            return true;
    for (size_t k = 0; k < c->in.n; k++)
        if (try_shape(c, &c->in.shapes[k], bytes))
            return true;
    if (c->in.n > 1 && gm_is_text(name, length, "aten::cat") && try_joined(c, bytes))
        return true;
    if (c->in.n > 0 && try_reductions(c, &c->in.shapes[0], bytes))
        return true;
    return c->in.n > 1 && broadcast(&c->in, &made) && try_shape(c, &made, bytes);
}

bool gm_join_explain(const struct gm_join *join, uint32_t span, uint64_t bytes, const char **formula)
{
    const struct gm_profile_span *spans = join->p->spans.v;
    struct candidate c = {.join = join};
    *formula = NULL;
    for (int k = 0; k < LEVELS_MOST && span != GM_PROFILE_NONE && join->operation[span] != GM_PROFILE_NONE; k++) {
        if (spans[span].kind == GM_SPAN_OPERATOR && try_operator(&c, span, bytes))
            break;
        span = spans[span].parent;
    }
    if (c.element == NULL)
        return true;
    struct gm_text text = {0};
    for (size_t i = 0; i < c.shape.n; i++)
        gm_text_printf(&text, "%" PRIu64 " x ", c.shape.dims[i]);
    gm_text_printf(&text, "%s%s", c.element->shown, c.has_gaps ? ", strided" : "");
    *formula = gm_text_take(&text, join->arena);
    return *formula != NULL;
}
