/* SPDX-License-Identifier: Apache-2.0
 *
 * A short summary, of which gmfleet makes its records, says what a whole one says, as far as it goes.
 */
#include "analyze/base/text.h"
#include "analyze/compare/summary_make.h"
#include "analyze/formats/load.h"
#include "analyze/state/categories.h"
#include "tests/unit.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *or_dash(const char *text)
{
    return text == NULL ? "-" : text;
}

static void tell_slices(struct gm_text *out, const struct gm_slices *slices)
{
    gm_text_add(out, slices->v == NULL ? "none\n" : "some\n");
    for (size_t i = 0; i < slices->n; i++)
        gm_text_printf(out, "%s %" PRIx32 " %" PRIu64 " %" PRIu64 "\n", slices->v[i].name, slices->v[i].color,
                       slices->v[i].bytes, slices->v[i].blocks);
}

static void tell_device(struct gm_text *out, const struct gm_summary_device *d)
{
    gm_text_printf(out, "device %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s %s %s\n", d->device, d->events,
                   d->ooms, d->totals.reserved, d->is_reconstructed, or_dash(d->peak_site), or_dash(d->peak_phase),
                   or_dash(d->peak_range));
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        gm_text_printf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", d->peaks[i].bytes, d->peaks[i].event,
                       d->peaks[i].time_us);
}

/* All that a record has of it. */
static void tell(struct gm_text *out, const struct gm_snapshot *snapshot, const struct gm_category_rules *rules,
                 bool is_short)
{
    const struct gm_summary_options options = {.rules = rules, .device = -1, .is_short = is_short};
    struct gm_summary s;
    assert_int_equal(gm_summary_make(&s, snapshot, NULL, &options, NULL), GM_OK);
    gm_text_printf(out, "%" PRIu64 " %" PRIu64 " %d %d %zu %" PRIu64 " %" PRIu64 "\n", s.disk_bytes, s.events,
                   s.has_trace, s.lacks_end, s.warning_count, s.totals.allocated, s.totals.inactive);
    for (size_t i = 0; i < s.device_count; i++)
        tell_device(out, &s.devices[i]);
    for (int i = 0; i < GM_LEVEL_COUNT; i++)
        gm_text_printf(out, "%" PRIu64 "\n", s.peaks[i]);
    tell_slices(out, &s.categories);
    tell_slices(out, &s.categories_at_peak);
    for (size_t i = 0; i < s.site_count; i++)
        gm_text_printf(out, "%s %s %s %" PRIx32 " %" PRIu64 " %" PRIu64 "\n", s.sites[i].site, or_dash(s.sites[i].via),
                       s.sites[i].category, s.sites[i].color, s.sites[i].end.bytes, s.sites[i].peak.bytes);
    assert_true(is_short ? s.fact_count == 0 && s.frame_count == 0 : s.fact_count > 0);
    gm_summary_free(&s);
}

TEST(a_short_summary_says_the_same)
{
    struct gm_category_rules *rules;
    DIR *folder = opendir(GM_DATA);
    size_t count = 0;
    assert_non_null(folder);
    assert_int_equal(gm_category_rules_default(&rules, NULL), GM_OK);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const struct gm_load_options load = {.salvage = false};
        struct gm_snapshot snapshot;
        struct gm_text whole = {0}, part = {0};
        char path[1024];
        if (strstr(entry->d_name, ".gmtrace") == NULL || count == 60)
            continue;
        snprintf(path, sizeof path, "%s/%s", GM_DATA, entry->d_name);
        assert_int_equal(gm_snapshot_load(&snapshot, path, &load, NULL), GM_OK);
        tell(&whole, &snapshot, rules, false);
        tell(&part, &snapshot, rules, true);
        assert_string_equal(whole.data, part.data);
        gm_text_free(&whole);
        gm_text_free(&part);
        gm_snapshot_free(&snapshot);
        count++;
    }
    closedir(folder);
    assert_true(count > 10);
    gm_category_rules_free(rules);
}
