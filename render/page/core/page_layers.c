/* SPDX-License-Identifier: Apache-2.0
 *
 * What lives, split into layers (enum gm_page_split). A layer is a class that any allocation has; those
 * with least bytes, beyond the first GM_PAGE_MOST_LAYERS - 1, are one. What is steady comes first, as in the PNG: what
 * goes up once, or hardly moves; then by bytes.
 */
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "render/page/core/opened.h"
#include "render/page/core/page_levels.h"

#include <stdlib.h>

/* Okabe and Ito's, which the colour-blind tell apart, for what has no colour of its own. */
static const uint32_t palette[] = {0x0072B2, 0xE69F00, 0x009E73, 0xCC79A7, 0x56B4E9, 0xD55E00, 0xF0E442, 0x999999};
enum { PALETTE = sizeof palette / sizeof *palette };

/* From small to large, dark to light: what has an order (viridis). */
static const uint8_t ramp[][3] = {{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
enum { RAMP = sizeof ramp / sizeof *ramp, SMALLEST = 9 /* 512 B, the least that is handed out */, LARGEST = 36 };

const char *const gm_page_split_names[] = {"role", "category", "component", "module", "sizes", "pool", "stream"};

struct class
{
    uint32_t number;
    uint64_t bytes; /* at the highest moment */
    bool is_there;
};

static uint32_t class_count(const struct gm_opened *o, const struct gm_page_device *d, uint32_t split)
{
    switch (split) {
    case GM_PAGE_BY_ROLE:
        return (uint32_t)GM_ROLE_COUNT;
    case GM_PAGE_BY_CATEGORY:
        return gm_category_count(o->rules);
    case GM_PAGE_BY_COMPONENT:
        return gm_category_count(o->rules) + 1; /* the last one: none */
    case GM_PAGE_BY_MODULE:
        return d->modules.count;
    case GM_PAGE_BY_SIZES:
        return 64;
    case GM_PAGE_BY_POOL:
        return (uint32_t)d->h->pool_count;
    default:
        return o->snapshot.stream_count + (o->snapshot.stream_count == 0);
    }
}

static uint32_t class_of(const struct gm_opened *o, const struct gm_page_device *d, uint32_t split, size_t a)
{
    const uint32_t category = d->kept->category[a];
    uint32_t power = 0;
    switch (split) {
    case GM_PAGE_BY_ROLE:
        return d->kept->role[a];
    case GM_PAGE_BY_CATEGORY:
        return category;
    case GM_PAGE_BY_COMPONENT:
        return o->is_component[category] ? category : gm_category_count(o->rules);
    case GM_PAGE_BY_MODULE:
        return d->modules.of[a];
    case GM_PAGE_BY_SIZES:
        for (uint64_t bytes = gm_block_bytes(d->h, a); bytes > 1; bytes >>= 1)
            power++;
        return power;
    case GM_PAGE_BY_POOL:
        return gm_pool_number(d->h, a);
    default:
        return gm_history_stream(d->h, a).v;
    }
}

static const char *class_name(struct gm_opened *o, const struct gm_page_device *d, uint32_t split, uint32_t number)
{
    char from[GM_SIZE_TEXT], to[GM_SIZE_TEXT];
    switch (split) {
    case GM_PAGE_BY_ROLE:
        return gm_role_name(number);
    case GM_PAGE_BY_COMPONENT:
        if (number == gm_category_count(o->rules))
            return "in no component's code";
        /* fall through */
    case GM_PAGE_BY_CATEGORY:
        return gm_clean_copy(&o->arena, gm_category_name(o->rules, number));
    case GM_PAGE_BY_MODULE:
        return d->modules.name[number];
    case GM_PAGE_BY_SIZES:
        gm_size_format(from, number == 0 ? 0 : UINT64_C(1) << number);
        return gm_arena_printf(&o->arena, "%s to %s", from, gm_size_format(to, UINT64_C(2) << number));
    case GM_PAGE_BY_POOL:
        return gm_history_pool_name(&o->arena, &d->h->pools[number]);
    default:
        return gm_arena_printf(&o->arena, "stream %lld", number == 0 ? 0LL : (long long)o->snapshot.streams[number]);
    }
}

static uint32_t ramp_color(uint32_t power)
{
    const uint32_t at = (power < SMALLEST ? 0 : power > LARGEST ? LARGEST - SMALLEST : power - SMALLEST) * (RAMP - 1);
    const uint32_t i = at / (LARGEST - SMALLEST), rest = at % (LARGEST - SMALLEST);
    uint32_t color = 0;
    for (int c = 0; c < 3; c++)
        color = color << 8 |
                (rest == 0 ? ramp[i][c]
                           : (ramp[i][c] * (LARGEST - SMALLEST - rest) + ramp[i + 1][c] * rest) / (LARGEST - SMALLEST));
    return color;
}

static uint32_t class_color(const struct gm_opened *o, uint32_t split, uint32_t number)
{
    switch (split) {
    case GM_PAGE_BY_ROLE:
        return gm_role_color(number);
    case GM_PAGE_BY_CATEGORY:
        return gm_category_color(o->rules, number);
    case GM_PAGE_BY_COMPONENT: /* where there is none, as what has no category */
        return gm_category_color(o->rules, number - (number == gm_category_count(o->rules)));
    case GM_PAGE_BY_SIZES:
        return ramp_color(number);
    default:
        return palette[number % PALETTE];
    }
}

GM_ORDERING(most_first, struct class, GM_DOWN(is_there) || GM_DOWN(bytes) || GM_UP(number));

/* The classes that there are, and their layers. NULL: no memory. */
static struct class *rank(const struct gm_opened *o, const struct gm_page_device *d, uint32_t split, uint32_t n,
                          uint32_t *count)
{
    const uint32_t top = gm_page_highest(d, 0, gm_page_moments(d) - 1);
    struct class *classes = calloc((size_t)n + 1, sizeof *classes);
    for (uint32_t i = 0; classes != NULL && i < n; i++)
        classes[i].number = i;
    for (size_t a = 0; classes != NULL && a < d->h->allocation_count; a++) {
        struct class *class = &classes[class_of(o, d, split, a)];
        class->is_there = true;
        if (split == GM_PAGE_BY_SIZES)
            class->bytes = class->number + 1; /* they have an order of their own */
        else
            class->bytes += gm_history_is_active(d->h, a, top) ? gm_block_bytes(d->h, a) : 0;
    }
    if (classes == NULL)
        return NULL;
    qsort(classes, n, sizeof *classes, most_first);
    *count = 0;
    while (*count < n && classes[*count].is_there)
        ++*count;
    return classes;
}

/* A stack or two of names and colours, and the layer of every allocation. */
static bool fill(struct gm_opened *o, struct gm_page_device *d, uint32_t split, struct gm_page_layers *layers,
                 const struct class *classes, uint32_t there, uint8_t *layer_of)
{
    const uint32_t shown = there <= GM_PAGE_MOST_LAYERS ? there : GM_PAGE_MOST_LAYERS;
    bool ok = true;
    for (uint32_t i = 0; i < there; i++) {
        const uint32_t layer = i < shown ? i : shown - 1;
        const bool is_rest = there > shown && i >= shown - 1;
        layer_of[classes[i].number] = (uint8_t)layer;
        layers->name[layer] = is_rest ? "all others" : class_name(o, d, split, classes[i].number);
        layers->color[layer] = is_rest ? palette[PALETTE - 1] : class_color(o, split, classes[i].number);
        ok = ok && layers->name[layer] != NULL;
    }
    for (size_t a = 0; a < d->h->allocation_count; a++)
        layers->of[a] = layer_of[class_of(o, d, split, a)];
    layers->count = shown;
    return ok;
}

struct place {
    uint32_t layer;
    uint64_t most;
    bool is_restless;
};

GM_ORDERING(by_place, struct place, GM_UP(is_restless) || GM_DOWN(most) || GM_UP(layer));

/* Puts the layers into the order in which they are drawn. */
static void order(const struct gm_page_device *d, struct gm_page_layers *layers)
{
    struct place places[GM_PAGE_MOST_LAYERS];
    uint8_t place_of[GM_PAGE_MOST_LAYERS];
    const char *name[GM_PAGE_MOST_LAYERS];
    uint32_t color[GM_PAGE_MOST_LAYERS];
    for (uint32_t i = 0; i < layers->count; i++) {
        const struct gm_page_range range = gm_page_layer_range(d, layers, i);
        places[i] = (struct place){i, range.most, range.change > 1.5 * (double)range.most};
        name[i] = layers->name[i];
        color[i] = layers->color[i];
    }
    GM_SORT(places, layers->count, by_place);
    for (uint32_t i = 0; i < layers->count; i++) {
        place_of[places[i].layer] = (uint8_t)i;
        layers->name[i] = name[places[i].layer];
        layers->color[i] = color[places[i].layer];
    }
    for (size_t a = 0; a < d->h->allocation_count; a++)
        layers->of[a] = place_of[layers->of[a]];
}

static bool make(struct gm_opened *o, struct gm_page_device *d, uint32_t split, struct gm_page_layers *layers)
{
    uint32_t there = 0;
    if (split == GM_PAGE_BY_MODULE && !gm_kept_modules(&d->modules, d->kept, &o->names, &o->arena))
        return false;
    const uint32_t n = class_count(o, d, split);
    struct class *classes = rank(o, d, split, n, &there);
    uint8_t *layer_of = calloc((size_t)n + 1, 1);
    layers->name = gm_arena_calloc(&o->arena, GM_PAGE_MOST_LAYERS, sizeof *layers->name);
    layers->color = gm_arena_calloc(&o->arena, GM_PAGE_MOST_LAYERS, sizeof *layers->color);
    layers->of = gm_arena_calloc(&o->arena, d->h->allocation_count + 1, sizeof *layers->of);
    const bool ok = classes != NULL && layer_of != NULL && layers->name != NULL && layers->color != NULL &&
                    layers->of != NULL && fill(o, d, split, layers, classes, there, layer_of);
    GM_FREE_ALL(classes, layer_of);
    if (!ok || !gm_page_keep_layers(o, d, layers))
        return false;
    if (split == GM_PAGE_BY_SIZES)
        return true;
    order(d, layers);
    return gm_page_keep_layers(o, d, layers);
}

const struct gm_page_layers *gm_opened_layers(struct gm_opened *o, struct gm_page_device *d, uint32_t split)
{
    if (split >= GM_PAGE_SPLITS) {
        gm_answer_refuse("no such split");
        return NULL;
    }
    struct gm_page_layers *layers = &d->layers[split];
    if (layers->is_made)
        return layers;
    layers->is_made = make(o, d, split, layers);
    if (!layers->is_made)
        gm_answer_no_memory();
    return layers->is_made ? layers : NULL;
}

const char *gm_opened_layer_of(struct gm_opened *o, struct gm_page_device *d, uint32_t split, size_t a)
{
    if (split == GM_PAGE_BY_MODULE && d->modules.of == NULL && gm_opened_layers(o, d, split) == NULL)
        return NULL;
    return class_name(o, d, split, class_of(o, d, split, a));
}

void gm_answer_layers(const struct gm_page_layers *layers)
{
    struct gm_answer_list names = {0};
    uint32_t *color = gm_answer_add("color", GM_PAGE_U32, layers->count);
    for (uint32_t i = 0; i < layers->count; i++) {
        gm_answer_put(&names, layers->name[i]);
        if (color != NULL)
            color[i] = layers->color[i];
    }
    gm_answer_strings("name", &names);
}

const struct gm_page_result *gm_page_layers(uint32_t handle, uint32_t device, uint32_t split)
{
    struct gm_opened *o;
    struct gm_page_device *d = gm_opened_device(handle, device, &o);
    const struct gm_page_layers *layers = d == NULL ? NULL : gm_opened_layers(o, d, split);
    if (layers == NULL)
        return NULL;
    gm_answer_layers(layers);
    return gm_answer_end();
}
