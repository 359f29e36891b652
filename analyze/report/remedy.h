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
 *   there from m on, before  {.allocation = a, .bytes = GM_REMEDY_AS_RECORDED, .gone = GM_REMEDY_NEVER, .again = m}
 *     (its own request comes all the same, and the block of before goes then)
 *   made at m, before        {.allocation = a, .bytes = GM_REMEDY_AS_RECORDED, .gone = m, .again = m}
 *   empty_cache() at m       {.allocation = GM_REMEDY_NEVER, .gone = m}
 *
 * An allocation may have several rows: it is away where one of them says so, and its size is what all of them leave of
 * it (half of a half is a quarter). A moment at or after the recorded free changes nothing.
 */
#pragma once

#include "analyze/base/arithmetic.h"

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
    uint64_t requested;          /* less requested at the peak, alone, of `before`, where the replay of that has nearly
                                  * as much reserved as before, because what is left does not fit together as well: then
                                  * the rest is not known. Else 0 */
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

/* Of one device: changes of its allocations, other settings of the allocator (on all devices), one stream, or several
 * of these. */
struct gm_remedy {
    int64_t device;
    const struct gm_remedy_change *changes;
    size_t count;
    const char *site;     /* a call site, all allocations of which are dropped: the program makes changes of it; NULL */
    const char *settings; /* as in PYTORCH_ALLOC_CONF; NULL: as recorded */
    uint64_t settings_save; /* where they would do instead of the changes, and one is left that was replayed; else 0 */
    bool of_mistake;        /* those make up for a mistake that was found, and are not just better ones */
    bool on_one_stream;     /* all that the device does is done on one stream */
    bool is_guess;          /* a call site that is worth a look, which nothing else accuses */
    bool is_of_holes;       /* it spares no bytes but holes: whether that saves any, only a replay tells */
    bool is_of_end;         /* it is about what is reserved at the end: after empty_cache(), unless it is one itself; */
    uint64_t stays;         /* bytes of it that are there all the same, elsewhere; what saves less is in vain */
    bool has_price;         /* it costs time or accuracy: a choice, not a mistake that is mended */
    bool grows;             /* what it mends takes more the longer the program runs, however little it is yet */
    bool is_asked;          /* replays were made since: if not of it, nobody knows what it saves */
    bool is_usual;          /* what it mends is as most programs are written, */
    bool is_little;         /* and it has little of the peak */
    struct gm_remedy_saving saving;
};

/* Parts of the peak: settings cost nothing, but are easily set in vain. */
enum { GM_MUCH_OF_SETTING = 10, GM_LEAST_OF_SETTING = 20 };

/* Of the peak: what saves less is no mistake worth a word; nor is what an empty cache may save by chance. */
enum { GM_LEAST_OF_REMEDY = 100, GM_LEAST_OF_CACHE = 10, GM_LEAST_REMEDY_MIB = 8 };

/* Of what is reserved to the end: a cache that nothing uses any more is no harm but to others who share the card. */
enum { GM_LEAST_OF_LEFT = 4 };

/* Whether it gives memory back to the driver, and changes no allocation. */
static inline bool gm_remedy_is_of_cache(const struct gm_remedy *r)
{
    return r->count > 0 && r->changes != NULL && r->changes[0].allocation == GM_REMEDY_NEVER;
}

/* Less than that part of what was there is nothing to speak of. */
static inline bool gm_remedy_is_little(uint64_t saved, uint64_t before, uint64_t part)
{
    return saved < before / part || saved < (uint64_t)GM_LEAST_REMEDY_MIB << 20;
}

/* Whether it was replayed, and saves more of what is reserved at the end than at the peak; of a cache, for which the
 * peak has use, too: at the end only. */
static inline bool gm_remedy_tells_end(const struct gm_remedy *r)
{
    return r->is_of_end && r->saving.at_end != UINT64_MAX && r->saving.at_end > r->saving.alone &&
           (!gm_remedy_is_of_cache(r) || gm_remedy_is_little(r->saving.alone, r->saving.before, GM_LEAST_OF_CACHE));
}

/* Whether a replay has shown that it saves nothing to speak of. */
static inline bool gm_remedy_is_in_vain(const struct gm_remedy *r)
{
    const bool is_of_cache = gm_remedy_is_of_cache(r);
    if ((gm_remedy_tells_end(r) ? r->saving.at_end : r->saving.alone) < r->stays)
        return true;
    if (gm_remedy_tells_end(r))
        return gm_remedy_is_little(r->saving.at_end, r->saving.end_before,
                                   is_of_cache ? GM_LEAST_OF_LEFT : GM_LEAST_OF_REMEDY);
    return gm_remedy_is_little(r->saving.alone, r->saving.before, is_of_cache ? GM_LEAST_OF_CACHE : GM_LEAST_OF_REMEDY);
}

/* Of the peak: what has a price and saves that much is told although nothing is wrong; and a mistake that costs less
 * than that is not why the peak is what it is. Of what most programs do, more has to be worth a warning. */
enum { GM_LARGE_CHOICE = 5, GM_MINOR_MISTAKE = 20, GM_USUAL_MISTAKE = 10 };

static inline bool gm_remedy_is_minor(const struct gm_remedy *r)
{
    const uint64_t at_end = r->is_of_end && r->saving.at_end != UINT64_MAX ? r->saving.at_end : 0;
    const uint64_t saves = r->saving.requested > 0 ? r->saving.requested : r->saving.alone;
    return !r->has_price && !r->grows && r->settings == NULL && saves != UINT64_MAX &&
           gm_max(saves, at_end) < r->saving.before / (r->is_little ? GM_USUAL_MISTAKE : GM_MINOR_MISTAKE) &&
           (at_end == 0 || at_end < r->saving.end_before / 2 /* most of what others have to wait for */);
}

/* Where one stands that was replayed alone: mistakes; what has a price, minor mistakes, and settings that save much,
 * which make up for no mistake that was found, and are no substitute for mending one; settings that save little; a
 * guess, which is not advised beside any of these; what is not worth it, which nothing that is told stands on top of.
 * At one place those with more weight are above the others; equals as they were given. */
enum gm_remedy_place {
    GM_STANDS_MISTAKE,
    GM_STANDS_CHOICE,
    GM_STANDS_LITTLE,
    GM_STANDS_GUESS,
    GM_STANDS_NOWHERE,
};
static inline enum gm_remedy_place gm_remedy_place(const struct gm_remedy *r)
{
    if (r->settings != NULL && !r->of_mistake)
        return r->saving.alone >= r->saving.before / GM_MUCH_OF_SETTING    ? GM_STANDS_CHOICE
               : r->saving.alone >= r->saving.before / GM_LEAST_OF_SETTING ? GM_STANDS_LITTLE
                                                                           : GM_STANDS_NOWHERE;
    return r->is_guess                             ? GM_STANDS_GUESS
           : gm_remedy_is_in_vain(r)               ? GM_STANDS_NOWHERE
           : r->has_price || gm_remedy_is_minor(r) ? GM_STANDS_CHOICE
                                                   : GM_STANDS_MISTAKE;
}

/* What it saves alone; half of it if it has a price, as what is taken from the driver again has; of a cache that only
 * others on the card have to wait for, even less; of what grows twice as much, as it will be when the program has run
 * as long again. */
static inline uint64_t gm_remedy_weight(const struct gm_remedy *r)
{
    const bool is_of_cache = gm_remedy_is_of_cache(r);
    if (gm_remedy_tells_end(r))
        return is_of_cache ? r->saving.at_end / GM_LEAST_OF_LEFT : r->saving.at_end;
    if (r->has_price || is_of_cache)
        return r->saving.alone / 2;
    return r->grows ? gm_sat_add(r->saving.alone, r->saving.alone) : r->saving.alone;
}
