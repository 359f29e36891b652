/* SPDX-License-Identifier: Apache-2.0
 *
 * What mending a mistake would do to the allocations of a run, as plain data, and what a replay says that it saves.
 * Whoever finds a mistake says which allocations it concerns; replay/trials replays them (gm_remedies_replay); a
 * program brings the two together.
 *
 * Moments and allocations are those of the device's history (analyze/timeline/history/history.h): moment m is the state
 * after m events of the device. Examples, for an allocation that asked for R bytes:
 *
 *   never made, dropped      {.allocation = a, .bytes = 0, .gone = GM_REMEDY_NEVER, .again = GM_REMEDY_NEVER}
 *   half as large            {.allocation = a, .bytes = R / 2, .gone = GM_REMEDY_NEVER, .again = GM_REMEDY_NEVER}
 *   freed at moment m        {.allocation = a, .bytes = GM_REMEDY_AS_RECORDED, .gone = m, .again = GM_REMEDY_NEVER}
 *   away from m to n         {.allocation = a, .bytes = GM_REMEDY_AS_RECORDED, .gone = m, .again = n}
 *   made only at n           {.allocation = a, .bytes = GM_REMEDY_AS_RECORDED, .gone = 0, .again = n}
 *   empty_cache() at m       {.allocation = GM_REMEDY_NEVER, .gone = m}
 *
 * An allocation may have several rows: it is away where one of them says so, and its size is what all of them leave of
 * it (half of a half is a quarter). A moment at or after the recorded free changes nothing.
 */
#ifndef GM_REPORT_REMEDY_H
#define GM_REPORT_REMEDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GM_REMEDY_NEVER UINT32_MAX
#define GM_REMEDY_AS_RECORDED UINT64_MAX

struct gm_remedy_change {
    uint32_t allocation;
    uint32_t gone, again; /* moments: given up, and asked for again */
    uint64_t bytes;       /* that are requested instead */
};

/* The result of gm_remedies_replay. Bytes of the device's peak of reserved memory, as replayed from an empty allocator
 * with unlimited memory; GM_REPORT_NONE (report.h), in all of them: not known. */
struct gm_remedy_saving {
    uint64_t alone;              /* less than without any remedy; 0 if it is not less */
    uint64_t on_top;             /* less than with the remedies above it, too */
    uint64_t peak;               /* with this one and those */
    uint64_t before;             /* without any; of settings and of what is given back to the driver: or as recorded, if
                                  * that is less */
    uint64_t recorded;           /* what the recording did with, if that is less than its replay; else UINT64_MAX */
    uint64_t at_end, end_before; /* of what is reserved when the trace ends: less, alone; and without any */
    size_t rank;                 /* 0: it stands first (gm_remedy_place) */
    const char *card; /* the smallest card of the table that has as much as all devices need with this one and those;
                       * NULL: none has, or it is not known, because the recording ended out of memory */
    uint64_t card_usable; /* bytes of it */
};

#define GM_REMEDY_NOT_REPLAYED                                                                                         \
    ((struct gm_remedy_saving){.alone = UINT64_MAX,                                                                    \
                               .on_top = UINT64_MAX,                                                                   \
                               .peak = UINT64_MAX,                                                                     \
                               .before = UINT64_MAX,                                                                   \
                               .recorded = UINT64_MAX,                                                                 \
                               .at_end = UINT64_MAX,                                                                   \
                               .end_before = UINT64_MAX,                                                               \
                               .rank = SIZE_MAX})

/* Of one device: changes of its allocations, or other settings of the allocator (on all devices), or both. */
struct gm_remedy {
    int64_t device;
    const struct gm_remedy_change *changes;
    size_t count;
    const char *site;     /* a call site, all allocations of which are dropped: the program makes changes of it; NULL */
    const char *settings; /* as in PYTORCH_ALLOC_CONF; NULL: as recorded */
    bool is_guess;        /* a call site that is worth a look, which nothing else accuses */
    bool is_of_end;       /* it is about what is reserved at the end, after empty_cache(); */
    uint64_t stays;       /* bytes of it that are there all the same, elsewhere */
    bool has_price;       /* it costs time or accuracy: a choice, not a mistake that is mended */
    struct gm_remedy_saving saving;
};

/* Parts of the peak: settings cost nothing, but are easily set in vain. */
enum { GM_MUCH_OF_SETTING = 10, GM_LEAST_OF_SETTING = 20 };

/* Of the peak: what saves less is no mistake worth a word; nor is what an empty cache may save by chance. */
enum { GM_LEAST_OF_REMEDY = 100, GM_LEAST_OF_CACHE = 20, GM_LEAST_REMEDY_MIB = 8 };

/* Whether it was replayed, and saves more of what is reserved at the end than at the peak. */
static inline bool gm_remedy_tells_end(const struct gm_remedy *r)
{
    return r->is_of_end && r->saving.at_end != UINT64_MAX && r->saving.at_end > r->saving.alone;
}

/* Whether it gives memory back to the driver, and changes no allocation. */
static inline bool gm_remedy_is_of_cache(const struct gm_remedy *r)
{
    return r->count > 0 && r->changes != NULL && r->changes[0].allocation == GM_REMEDY_NEVER;
}

/* Whether a replay has shown that it saves nothing to speak of. */
static inline bool gm_remedy_is_in_vain(const struct gm_remedy *r)
{
    if (gm_remedy_tells_end(r))
        return r->saving.at_end < r->saving.end_before / GM_LEAST_OF_REMEDY ||
               r->saving.at_end < (uint64_t)GM_LEAST_REMEDY_MIB << 20;
    return r->saving.alone < r->saving.before / (gm_remedy_is_of_cache(r) ? GM_LEAST_OF_CACHE : GM_LEAST_OF_REMEDY) ||
           r->saving.alone < (uint64_t)GM_LEAST_REMEDY_MIB << 20;
}

/* Of the peak: what has a price and saves that much is told although nothing is wrong. */
enum { GM_LARGE_CHOICE = 5 };

/* Where one stands that was replayed alone: mistakes, and settings that save much (0), what has a price (1), settings
 * that save little (2), a guess, which is not advised beside any of these (3), what is not worth it (4), which nothing
 * that is told stands on top of. What costs nothing comes first, however little more than nothing it saves: nobody has
 * to weigh it, and the headline names the choice that saves more beside it. At one place those with more weight are
 * above the others; equals as they were given. */
static inline int gm_remedy_place(const struct gm_remedy *r)
{
    if (r->settings != NULL)
        return r->saving.alone >= r->saving.before / GM_MUCH_OF_SETTING    ? 0
               : r->saving.alone >= r->saving.before / GM_LEAST_OF_SETTING ? 2
                                                                           : 4;
    return r->is_guess ? 3 : gm_remedy_is_in_vain(r) ? 4 : r->has_price;
}

/* What it saves alone; half of it for a setting, which only makes up for what a mistake does. */
static inline uint64_t gm_remedy_weight(const struct gm_remedy *r)
{
    return r->settings != NULL ? r->saving.alone / 2 : gm_remedy_tells_end(r) ? r->saving.at_end : r->saving.alone;
}

#endif
