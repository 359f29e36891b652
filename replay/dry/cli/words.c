/* SPDX-License-Identifier: Apache-2.0
 *
 * The line on top, and --json: gmdry.run/1.
 */
#include "analyze/base/order.h"
#include "analyze/base/size.h"
#include "analyze/document/document.h"
#include "analyze/report/report.h"
#include "replay/dry/cli/gmdry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIGHT_PERCENT = 10 /* as gmreplay's */, SITES_SHOWN = 8 };

const struct gm_dry_device *gm_dry_largest(const struct gm_dry_told *told)
{
    const struct gm_dry_device *most = &told->devices[0];
    for (size_t i = 1; i < told->device_count; i++)
        if (told->devices[i].peak_reserved > most->peak_reserved)
            most = &told->devices[i];
    return most;
}

const struct gm_gpu *gm_dry_card_with(uint64_t peak)
{
    for (size_t i = 0; i < gm_gpu_count(); i++)
        if (gm_gpu_is_of_cuda(gm_gpu_at(i)) && gm_gpu_usable(gm_gpu_at(i)) >= peak)
            return gm_gpu_at(i);
    return NULL;
}

/* If it is not known better, by what the run reserved; with less memory the allocator would have given back more. */
static const struct gm_gpu *smallest_card(const struct gm_dry_result *result)
{
    return result->replayed.is_known ? result->replayed.card
                                     : gm_dry_card_with(gm_dry_largest(result->told)->peak_reserved);
}

static void add_smallest(struct gm_text *out, const struct gm_dry_result *result)
{
    const struct gm_dry_replayed *replayed = &result->replayed;
    const struct gm_gpu *card = smallest_card(result);
    const uint64_t needed = replayed->is_known ? replayed->memory : gm_dry_largest(result->told)->peak_reserved;
    if (card == NULL) {
        gm_text_add(out, "; no card of the table has so much");
        return;
    }
    const uint64_t usable = gm_gpu_usable(card);
    gm_text_printf(out, "; smallest card: %s%s", card->name,
                   needed > usable - usable / 100 * TIGHT_PERCENT ? " (tight)" : "");
    if (replayed->is_known && replayed->retries > 0)
        gm_text_printf(out, ", with %" PRIu64 " %s", replayed->retries, replayed->retries == 1 ? "retry" : "retries");
}

static const struct gm_dry_process *out_of_memory(const struct gm_dry_told *told)
{
    for (size_t i = 0; i < told->processes.n; i++)
        if (told->processes.v[i].wanted > 0)
            return &told->processes.v[i];
    return NULL;
}

static size_t count_sites(const struct gm_dry_told *told, bool is_size)
{
    size_t n = 0;
    for (size_t i = 0; i < told->sites.n; i++)
        n += told->sites.v[i].is_size == is_size;
    return n;
}

static const char *name_of(const struct gm_dry_read *site)
{
    return site->called[0] == '\0' ? "copy" : site->called;
}

enum exactness { EXACT, ESTIMATED, DEPENDS, MAY_DEPEND };

/* It is known to be exact only if nothing came from the device that the program could have looked at, no size was made
 * up, and no function is missing; it is known not to be if one of the latter. */
static enum exactness exactness_of(const struct gm_dry_told *told)
{
    if (count_sites(told, true) > 0)
        return DEPENDS;
    if (told->unknown.n + told->estimated.n > 0)
        return ESTIMATED;
    return told->reads || told->processes.n == 0 ? MAY_DEPEND : EXACT;
}

static const char *places(size_t n)
{
    return n == 1 ? "place" : "places";
}

static void add_exactness(struct gm_text *out, const struct gm_dry_told *told)
{
    const size_t sizes = count_sites(told, true), values = count_sites(told, false);
    const enum exactness exactness = exactness_of(told);
    if (exactness == EXACT)
        gm_text_add(out, "; exact");
    if (told->unknown.n + told->estimated.n > 0)
        gm_text_add(out, "; partly estimated");
    if (exactness == DEPENDS)
        gm_text_printf(out, "; depends on data at %zu %s", sizes, places(sizes));
    else if (values > 0)
        gm_text_printf(out, "; may depend on data at %zu %s", values, places(values));
    else if (told->reads)
        gm_text_add(out, "; may depend on data");
}

static void add_site(struct gm_text *out, const struct gm_dry_read *site)
{
    gm_text_printf(out, "  %s%s%s%s at %s", name_of(site), site->inner[0] == '\0' ? "" : " (", site->inner,
                   site->inner[0] == '\0' ? "" : ")", site->site);
    if (site->count > 1)
        gm_text_printf(out, ", %" PRIu64 " times", site->count);
    gm_text_add_char(out, '\n');
}

static void add_kind(struct gm_text *out, const struct gm_dry_result *result, bool is_size)
{
    const struct gm_dry_told *told = result->told;
    const size_t count = count_sites(told, is_size);
    size_t shown = 0;
    if (count > 0)
        gm_text_printf(out,
                       is_size ? "Sizes that depend on data (taken as with --data %s):\n"
                               : "Values that the program read (--data %s), which may decide sizes:\n",
                       gm_dry_data_names[result->options->data]);
    for (size_t i = 0; i < told->sites.n && shown < SITES_SHOWN; i++)
        if (told->sites.v[i].is_size == is_size) {
            add_site(out, &told->sites.v[i]);
            shown++;
        }
    if (count > shown)
        gm_text_printf(out, "  and at %zu more (--json lists them)\n", count - shown);
}

void gm_dry_sites(struct gm_text *out, const struct gm_dry_result *result)
{
    add_kind(out, result, true);
    add_kind(out, result, false);
}

static const struct gm_dry_process *needs(const struct gm_dry_told *told, bool is_least)
{
    const struct gm_dry_process *found = &told->processes.v[0];
    for (size_t i = 1; i < told->processes.n; i++)
        if (is_least ? told->processes.v[i].reserved < found->reserved
                     : told->processes.v[i].reserved > found->reserved)
            found = &told->processes.v[i];
    return found;
}

/* The rank that is meant, if there is one. */
static void add_rank(struct gm_text *out, const struct gm_dry_result *result)
{
    const int rank = needs(result->told, false)->rank;
    if (result->options->world_size > 0)
        gm_text_printf(out, "rank %" PRId64 " of %" PRId64 " ", result->options->rank < 0 ? 0 : result->options->rank,
                       result->options->world_size);
    else if (result->told->processes.n > 1 && rank >= 0)
        gm_text_printf(out, "rank %d ", rank);
}

/* Ranks that need a twentieth less, as in gmfleet's page. */
static void add_uneven(struct gm_text *out, const struct gm_dry_told *told)
{
    char size[GM_SIZE_TEXT];
    const struct gm_dry_process *most = needs(told, false), *least = needs(told, true);
    if (most->rank >= 0 && least->rank >= 0 && least->reserved < most->reserved - most->reserved / 20)
        gm_text_printf(out, "; uneven: rank %d needs %s", least->rank, gm_size_format(size, least->reserved));
}

/* Of the device that needs most: less what other processes, contexts and NCCL's buffers take. */
static uint64_t left_of(const struct gm_dry_result *result, const struct gm_dry_device *device)
{
    const uint64_t total = gm_dry_total(result->options, result->gpu), used = device->used;
    const uint64_t usable = gm_dry_usable(result->options, result->gpu);
    return used > 0 && used <= total ? total - used : usable - device->peak_reserved;
}

enum { PLACE = 2 * GM_SIZE_TEXT };

/* What it fits in, or does not: the card, or the memory in place of the card's. */
static const char *place_of(char place[PLACE], const struct gm_dry_result *result)
{
    char size[GM_SIZE_TEXT];
    if (result->options->memory == 0)
        snprintf(place, PLACE, "on %s", result->gpu->name);
    else
        snprintf(place, PLACE, "in %s", gm_size_format(size, result->options->memory));
    return place;
}

void gm_dry_line(struct gm_text *out, const struct gm_dry_result *result)
{
    char reserved[GM_SIZE_TEXT], allocated[GM_SIZE_TEXT], other[GM_SIZE_TEXT], more[GM_SIZE_TEXT], place[PLACE];
    const struct gm_dry_told *told = result->told;
    const struct gm_dry_device *most = gm_dry_largest(told);
    const uint64_t usable = gm_dry_usable(result->options, result->gpu), limit = result->options->limit;
    if (told->processes.n == 0) {
        gm_text_add(out, "no process of the command used the GPU through PyTorch: nothing was recorded\n");
        return;
    }
    gm_size_format(reserved, most->peak_reserved);
    gm_size_format(allocated, most->peak_allocated);
    if (result->verdict == GM_DRY_OOM) {
        const struct gm_dry_process *process = out_of_memory(told);
        gm_text_printf(out, "does not fit %s: out of memory at %s reserved (peak %s allocated) of %s, %s more wanted\n",
                       place_of(place, result), reserved, allocated, gm_size_format(other, usable),
                       process == NULL ? "some" : gm_size_format(more, process->wanted));
        return;
    }
    add_rank(out, result);
    gm_text_printf(out, "needs %s reserved %s (peak %s allocated): ", reserved, place_of(place, result), allocated);
    if (result->verdict == GM_DRY_FAIL)
        gm_text_printf(out, "%s over the limit", gm_size_format(other, most->peak_reserved - limit));
    else if (result->verdict == GM_DRY_NONE)
        gm_text_printf(out, "the command failed with exit code %d, so it may need more%s", result->exit_code,
                       told->sites.n == 0 || told->crash[0] != '\0' ? ""
                       : result->options->data == GM_DRY_ONES       ? " (what it read is made up: --data random may do)"
                                                                    : " (what it read is made up: --data ones may do)");
    else
        gm_text_printf(out, "fits with %s left", gm_size_format(other, left_of(result, most)));
    add_smallest(out, result);
    add_uneven(out, told);
    if (result->verdict != GM_DRY_NONE)
        add_exactness(out, told);
    gm_text_add(out, "\n");
}

/* ---- --find ------------------------------------------------------------------------------------------------------ */

static const char *value_of(char text[GM_DRY_VALUE], const struct gm_dry_find *find, const struct gm_dry_try *try)
{
    gm_dry_range_value(find->range, try->index, text);
    return text;
}

GM_ORDERING(by_index, struct gm_dry_try, GM_UP(index));

static void add_tries(struct gm_text *out, const struct gm_dry_find *find)
{
    char value[GM_DRY_VALUE], reserved[GM_SIZE_TEXT], allocated[GM_SIZE_TEXT];
    GM_FREED struct gm_dry_try *sorted = calloc(find->tries.n, sizeof *sorted);
    if (sorted == NULL)
        return;
    memcpy(sorted, find->tries.v, find->tries.n * sizeof *sorted);
    qsort(sorted, find->tries.n, sizeof *sorted, by_index);
    gm_text_printf(out, "  %12s %12s %12s %8s\n", find->range->name, "reserved", "allocated", "seconds");
    for (size_t i = 0; i < find->tries.n; i++)
        gm_text_printf(out, "  %12s %12s %12s %8.1f  %s\n", value_of(value, find, &sorted[i]),
                       gm_size_format(reserved, sorted[i].reserved), gm_size_format(allocated, sorted[i].allocated),
                       sorted[i].seconds, sorted[i].fits ? "fits" : "does not fit");
}

void gm_dry_found(struct gm_text *out, const struct gm_dry_result *result)
{
    const struct gm_dry_find *find = result->find;
    const struct gm_dry_try *fits = gm_dry_find_largest(find), *fails = gm_dry_find_failing(find);
    const char *name = find->range->name;
    char value[GM_DRY_VALUE], other[GM_DRY_VALUE], place[PLACE];
    if (fits == NULL)
        gm_text_printf(out, "no %s fits %s: not even %s\n", name, place_of(place, result),
                       value_of(value, find, fails));
    else if (fails == NULL)
        gm_text_printf(out, "every %s fits %s: %s does\n", name, place_of(place, result), value_of(value, find, fits));
    else
        gm_text_printf(out, "the largest %s that fits %s is %s: %s does not\n", name, place_of(place, result),
                       value_of(value, find, fits), value_of(other, find, fails));
    if (result->options->usual.quiet)
        return;
    add_tries(out, find);
    gm_text_printf(out, "  (taken for granted: with a smaller %s it needs no more)\n", name);
    if (fits != NULL)
        gm_text_printf(out, "With %s=%s:\n", name, value_of(value, find, fits));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_devices(struct gm_doc *doc, const struct gm_dry_result *result)
{
#define KEY(unit, key, field) GM_KEY(unit, key, struct gm_dry_device, field)
    static const struct gm_column columns[] = {
        KEY(GM_BYTES, "peak_allocated_bytes", peak_allocated),
        KEY(GM_BYTES, "peak_reserved_bytes", peak_reserved),
        KEY(GM_COUNT, "num_ooms", ooms),
        KEY(GM_COUNT, "num_alloc_retries", retries),
        KEY(GM_COUNT, "processes", processes),
        KEY(GM_BYTES, "peak_used_bytes", used),
    };
#undef KEY
    const uint64_t total = gm_dry_total(result->options, result->gpu);
    gm_json_open(&doc->json, "devices", '[');
    for (size_t i = 0; i < result->told->device_count; i++) {
        if (result->told->devices[i].processes == 0)
            continue;
        gm_json_open(&doc->json, NULL, '{');
        gm_json_number(&doc->json, "device", i);
        GM_FIELDS(doc, columns, &result->told->devices[i], NULL);
        gm_json_number(&doc->json, "context_bytes", total - gm_dry_usable(result->options, result->gpu));
        gm_json_number(&doc->json, "total_bytes", total);
        gm_json_close(&doc->json, '}');
    }
    gm_json_close(&doc->json, ']');
}

static void add_exact(struct gm_doc *doc, const struct gm_dry_told *told)
{
    const enum exactness exactness = exactness_of(told);
    if (exactness == MAY_DEPEND)
        gm_json_null(&doc->json, "exact");
    else
        gm_json_bool(&doc->json, "exact", exactness == EXACT);
}

static void put_site(const struct gm_cell_of *c)
{
    const struct gm_dry_read *site = c->row;
    gm_json_string(&c->doc->json, "operator", name_of(site));
    if (site->inner[0] != '\0')
        gm_json_string(&c->doc->json, "through", site->inner);
    gm_json_string(&c->doc->json, "site", site->site);
    gm_json_number(&c->doc->json, "count", site->count);
    gm_json_string(&c->doc->json, "decides", site->is_size ? "size" : "unknown");
}

static void put_value(struct gm_doc *doc, const char *key, const struct gm_dry_find *find, const struct gm_dry_try *try)
{
    if (try == NULL)
        gm_json_null(&doc->json, key);
    else
        gm_json_decimal(&doc->json, key, try->value, find->range->decimals);
}

static void put_try(const struct gm_cell_of *c)
{
    const struct gm_dry_try *try = c->row;
    put_value(c->doc, "value", c->of, try);
    gm_json_bool(&c->doc->json, "fits", try->fits);
    gm_json_number(&c->doc->json, "peak_allocated_bytes", try->allocated);
    gm_json_number(&c->doc->json, "peak_reserved_bytes", try->reserved);
    gm_json_decimal(&c->doc->json, "seconds", try->seconds, 1);
}

static void put_find(struct gm_doc *doc, const struct gm_dry_find *find)
{
    if (find == NULL)
        return;
    gm_doc_open(doc, "find", NULL);
    gm_json_string(&doc->json, "name", find->range->name);
    put_value(doc, "largest_that_fits", find, gm_dry_find_largest(find));
    put_value(doc, "smallest_that_does_not", find, gm_dry_find_failing(find));
    gm_doc_nested(doc, "tried", put_try, GM_NESTED_ROWS(find->tries.v, find->tries.n), find);
    gm_doc_close(doc);
}

static void put_needs(struct gm_doc *doc, const struct gm_dry_result *result)
{
    const struct gm_gpu *card = smallest_card(result);
    gm_json_string(&doc->json, "smallest_card", card == NULL ? NULL : card->name);
    gm_json_number(&doc->json, "smallest_memory_bytes",
                   result->replayed.is_known ? result->replayed.memory : GM_REPORT_NONE);
}

static void put_processes(struct gm_doc *doc, const struct gm_dry_told *told)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_ID, "rank", struct gm_dry_process, rank),
        GM_KEY(GM_BYTES, "peak_allocated_bytes", struct gm_dry_process, allocated),
        GM_KEY(GM_BYTES, "peak_reserved_bytes", struct gm_dry_process, reserved),
        GM_KEY(GM_COUNT, "steps", struct gm_dry_process, steps),
    };
    GM_TABLE(doc, columns, told->processes.v, told->processes.n, .key = "processes");
}

static void put_kernels(struct gm_doc *doc, const struct gm_dry_told *told)
{
    static const struct gm_column columns[] = {
        GM_KEY(GM_NAME, "name", struct gm_dry_kernel, name),
        GM_KEY(GM_COUNT, "launches", struct gm_dry_kernel, launches),
    };
    GM_TABLE(doc, columns, told->kernels.v, told->kernels.n, .key = "kernels");
}

void gm_dry_json(struct gm_text *out, const struct gm_dry_result *result)
{
    static const char *const verdicts[] = {NULL, "FITS", "OOM", "FAIL"};
    const struct gm_dry_told *told = result->told;
    size_t words = 0;
    struct gm_doc doc;
    while (result->command[words] != NULL)
        words++;
    gm_doc_begin(&doc, GM_JSON, out);
    gm_json_string(&doc.json, "schema", "gmdry.run/1");
    gm_json_string(&doc.json, "gpu", result->gpu->name);
    GM_LIST(&doc, "command", GM_TEXT, result->command, words);
    gm_json_number(&doc.json, "exit_code", (uint64_t)result->exit_code);
    add_devices(&doc, result);
    put_processes(&doc, told);
    add_exact(&doc, told);
    gm_doc_nested(&doc, "data_dependent", put_site, GM_NESTED_ROWS(told->sites.v, told->sites.n), NULL);
    gm_json_string(&doc.json, "data", gm_dry_data_names[result->options->data]);
    GM_LIST(&doc, "estimated", GM_TEXT, told->estimated.v, told->estimated.n);
    GM_LIST(&doc, "unknown_functions", GM_TEXT, told->unknown.v, told->unknown.n);
    gm_json_number(&doc.json, "launches", told->launches);
    if (told->crash[0] != '\0')
        gm_json_string(&doc.json, "crash", told->crash);
    put_kernels(&doc, told);
    gm_json_number(&doc.json, "copies_to_host", told->copies_to_host);
    put_find(&doc, result->find);
    gm_dry_sweep_json(&doc, result);
    if (told->processes.n > 0 && result->verdict != GM_DRY_OOM)
        put_needs(&doc, result);
    gm_json_string(&doc.json, "verdict", verdicts[result->verdict]);
    gm_doc_end(&doc);
}
