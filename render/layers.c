/* SPDX-License-Identifier: Apache-2.0 */
#include "render/timeline_plot.h"

#include "analyze/base/arithmetic.h"
#include "analyze/base/order.h"
#include "render/fold.h"
#include "render/metric.h"
#include "render/theme.h"

#include <stdlib.h>
#include <string.h>

/* A role or category over all devices. */
struct entry {
    const char *name;
    uint32_t color;
    double most;   /* bytes in its highest column, summed over the devices */
    double change; /* how much it goes up and down from column to column, summed likewise */
};

static void measure(const struct gm_curve *curve, size_t layer, struct entry *entry)
{
    double most = 0, before = 0;
    for (size_t i = 0; i < curve->column_count; i++) {
        double bytes = (double)curve->layer_bytes[i * curve->layer_count + layer];
        most = bytes > most ? bytes : most;
        if (i > 0)
            entry->change += bytes > before ? bytes - before : before - bytes;
        before = bytes;
    }
    entry->most += most;
}

/* What goes up once, or hardly moves, is steady. */
static int is_restless(const struct entry *entry)
{
    const double once = 1.5; /* up and never quite down again */
    return entry->change > once * entry->most;
}

GM_ORDERING(by_size, struct entry, GM_DOWN(most) || GM_BY(strcmp(a->name, b->name)));

GM_ORDERING(by_place, struct entry, GM_BY(is_restless(a) - is_restless(b)) || GM_BY(by_size(a, b)));

/* Every layer of any device once; returns how many. */
static size_t collect(struct entry *entries, const struct gm_traced_devices *devices)
{
    size_t n = 0;
    for (size_t d = 0; d < devices->n; d++) {
        const struct gm_curve *curve = &devices->v[d].timeline->curve;
        for (size_t layer = 0; layer < curve->layer_count; layer++) {
            const char *name = gm_name(curve->layers[layer].name);
            size_t k = 0;
            while (k < n && strcmp(entries[k].name, name) != 0)
                k++;
            if (k == n)
                entries[n++] = (struct entry){name, curve->layers[layer].color, 0, 0};
            measure(curve, layer, &entries[k]);
        }
    }
    return n;
}

static const char *names_of(struct gm_display *display, const struct entry *entries, size_t n)
{
    const double room = GM_PAGE_INNER - 160;
    const char *names = entries[0].name;
    for (size_t i = 1; i < n; i++) {
        const char *more = gm_display_printf(display, "%s, %s", names, entries[i].name);
        if (gm_text_width(more, GM_TEXT_SMALL, GM_REGULAR) > room)
            return gm_display_printf(display, "%s ...", names);
        names = more;
    }
    return names;
}

struct gm_layers gm_layers_of(struct gm_display *display, const struct gm_traced_devices *devices)
{
    struct gm_layers layers = {.n = 0};
    size_t most = 0;
    for (size_t d = 0; d < devices->n; d++)
        most += devices->v[d].timeline->curve.layer_count;
    struct entry *entries = gm_arena_calloc(&display->arena, most + 1, sizeof *entries);
    if (entries == NULL) {
        display->failed = true;
        return layers;
    }
    size_t n = collect(entries, devices);
    qsort(entries, n, sizeof *entries, by_size);
    while (n > 0 && !(entries[n - 1].most > 0))
        n--;
    size_t named = n <= GM_LAYERS ? n : GM_LAYERS_NAMED;
    layers.folded = n - named;
    if (layers.folded > 0)
        layers.folded_names = names_of(display, entries + named, layers.folded);
    qsort(entries, named, sizeof *entries, by_place);
    for (; layers.n < named; layers.n++)
        layers.parts[layers.n] = (struct gm_piece){entries[layers.n].name, 0, gm_solid(entries[layers.n].color)};
    if (layers.folded > 0)
        layers.parts[layers.n++] =
            (struct gm_piece){gm_display_printf(display, "Other (%zu)", layers.folded), 0, gm_folded_fill};
    return layers;
}

const unsigned char *gm_layers_slots(struct gm_display *display, const struct gm_layers *layers,
                                     const struct gm_curve *curve)
{
    unsigned char *slots = gm_arena_calloc(&display->arena, curve->layer_count + 1, 1);
    if (slots == NULL) {
        display->failed = true;
        return NULL;
    }
    const size_t named = layers->n - (layers->folded > 0);
    for (size_t i = 0; i < curve->layer_count; i++) {
        size_t k = 0;
        while (k < named && strcmp(layers->parts[k].name, gm_name(curve->layers[i].name)) != 0)
            k++;
        /* the layer of the rest; if there is none, this one has no bytes and any layer will do */
        slots[i] = (unsigned char)(k < layers->n || k == 0 ? k : layers->n - 1);
    }
    return slots;
}

void gm_layers_sum(const struct gm_layers *layers, const unsigned char *slots, const struct gm_curve *curve,
                   size_t column, uint64_t out[GM_LAYERS])
{
    memset(out, 0, layers->n * sizeof *out);
    const uint64_t *bytes = curve->layer_bytes + column * curve->layer_count;
    for (size_t i = 0; i < curve->layer_count; i++)
        out[slots[i]] = gm_sat_add(out[slots[i]], bytes[i]);
}
