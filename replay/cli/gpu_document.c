/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replay on a GPU has to tell besides: cudaMemGetInfo beside our own figures, the pool, and the kernels by
 * category.
 */
#include "analyze/state/categories.h"
#include "replay/cli/gmreplay.h"

#include <inttypes.h>

const struct gm_compute_memory *gm_replay_gpu_part(const struct gm_replay_device *device, size_t part)
{
    return device->gpu == NULL || !device->gpu->parts[part].is_known ? NULL : &device->gpu->parts[part];
}

static uint64_t us_of(double seconds)
{
    return (uint64_t)(seconds * 1e6 + 0.5);
}

/* ---- cudaMemGetInfo ---------------------------------------------------------------------------------------------- */

struct memory_row {
    const char *when, *key;
    struct gm_compute_memory m;
    uint64_t others;
};

static void say_memory(struct gm_doc *doc, const struct gm_compute_result *g)
{
    static const struct gm_column columns[] = {
        GM_FIELD(GM_TEXT, GM_READ, NULL, "cudaMemGetInfo", struct memory_row, when),
        GM_FIELD(GM_BYTES, GM_ALL, "used_bytes", "Used", struct memory_row, m.used),
        GM_FIELD(GM_BYTES, GM_ALL, "replay_bytes", "Replay", struct memory_row, m.ours),
        GM_FIELD(GM_BYTES, GM_ALL, "scratch_bytes", "Scratch", struct memory_row, m.scratch),
        GM_FIELD(GM_BYTES, GM_ALL, "others_bytes", "Others", struct memory_row, others),
    };
    struct memory_row rows[] = {{"before", "memory_before", g->at_start, 0},
                                {"at the reserved peak", "memory_at_peak", g->at_peak, 0},
                                {"after the last event", "memory_after", g->at_end, 0}};
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint64_t known = rows[i].m.ours + rows[i].m.scratch;
        rows[i].others = rows[i].m.used > known ? rows[i].m.used - known : 0;
        GM_OBJECT(doc, rows[i].key, columns, rows[i].m.is_known ? &rows[i] : NULL, NULL);
        if (rows[i].m.is_known)
            rows[n++] = rows[i];
    }
    GM_TABLE(doc, columns, rows, n, .in = GM_READ);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

struct sums_row {
    const char *name;
    struct gm_compute_sums s;
};

GM_CELL(u, time_of, struct sums_row, row, us_of(row->s.seconds));

/* Bytes per second. */
GM_CELL(u, rate_of, struct sums_row, row,
        row->s.seconds > 0 ? (uint64_t)((double)row->s.bytes / row->s.seconds) : GM_REPORT_NONE);

static const struct gm_column sums_columns[] = {
    GM_FIELD(GM_TEXT, GM_ALL, "name", NULL, struct sums_row, name),
    GM_FIELD(GM_COUNT, GM_ALL, "launches", "Launches", struct sums_row, s.launches),
    GM_FIELD(GM_BYTES, GM_ALL, "bytes", "Bytes", struct sums_row, s.bytes),
    GM_KEY(GM_COUNT, "flops", struct sums_row, s.flops),
    GM_GET(GM_DURATION, GM_ALL, "gpu_time_us", "GPU time", time_of),
    GM_GET(GM_BYTES, GM_ALL, "bytes_per_second", "A second", rate_of),
    GM_KEY(GM_COUNT, "verified", struct sums_row, s.verified),
    GM_FIELD(GM_COUNT, GM_ALL, "mismatches", "Mismatches", struct sums_row, s.mismatches),
};

static void say_sums(struct gm_doc *doc, const struct gm_replay_device *d, bool is_kernel)
{
    const size_t count = is_kernel ? GM_KERNEL_COUNT : gm_category_count(d->run->rules);
    const struct gm_compute_sums *sums = is_kernel ? d->gpu->found.kernels : d->gpu->found.classes;
    struct sums_row *rows = gm_doc_rows(doc, count, sizeof *rows);
    size_t n = 0;
    for (size_t i = 0; rows != NULL && i < count; i++)
        if (sums[i].launches > 0)
            rows[n++] = (struct sums_row){is_kernel ? gm_kernels[i].name : gm_category_name(d->run->rules, (uint32_t)i),
                                          sums[i]};
    GM_TABLE(doc, sums_columns, rows, n, .key = is_kernel ? "kernels" : "categories",
             .title = is_kernel ? "By kernel" : "By category");
}

/* ---- memory that was changed ------------------------------------------------------------------------------------- */

GM_CELL(u, event_of, struct gm_compute_mismatch, m, m->event == GM_COMPUTE_AT_END ? GM_REPORT_NONE : m->event);

GM_CELL(s, let_go_by, struct gm_compute_mismatch, m,
        m->event != GM_COMPUTE_AT_END ? gm_doc_printf(c->doc, "event %s", gm_doc_count(c->doc, m->event))
        : m->is_at_end                ? "at the end"
                                      : "before the first event");

static const char *site_of_allocation(const struct gm_replay_device *d, uint32_t a)
{
    return gm_names_site(&d->run->names, (struct gm_stack_id){gm_stack_of(&d->kept->history, a)});
}

GM_CELL(s, site_of, struct gm_compute_mismatch, m, site_of_allocation(c->of, m->allocation));

GM_CELL(s, block_of, struct gm_compute_mismatch, m,
        gm_doc_printf(c->doc, "block 0x%" PRIx64 ", %s: %s of its words differ, the first one at byte %s", m->address,
                      gm_doc_bytes(c->doc, m->bytes), gm_doc_count(c->doc, m->words), gm_doc_count(c->doc, m->first)));

static void say_mismatches(struct gm_doc *doc, const struct gm_replay_device *d)
{
    static const struct gm_column columns[] = {
        GM_GET(GM_COUNT, GM_JSON, "event", NULL, event_of),
        GM_GET(GM_TEXT, GM_READ, NULL, "Found", let_go_by),
        GM_KEY(GM_BOOL, "is_at_end", struct gm_compute_mismatch, is_at_end),
        GM_GET(GM_SITE, GM_ALL, "site", "Made by", site_of),
        GM_GET(GM_TEXT, GM_READ | GM_UNDER, NULL, "", block_of),
        GM_KEY(GM_COUNT, "address", struct gm_compute_mismatch, address),
        GM_KEY(GM_BYTES, "bytes", struct gm_compute_mismatch, bytes),
        GM_KEY(GM_COUNT, "wrong_words", struct gm_compute_mismatch, words),
        GM_KEY(GM_COUNT, "first_offset", struct gm_compute_mismatch, first),
    };
    const struct gm_compute_found *f = &d->gpu->found;
    if (f->mismatches > 0)
        gm_doc_tell(doc, "MEMORY WAS CHANGED: %s not what %s filled with%s",
                    gm_doc_some(doc, f->mismatches, "block is", "blocks are"),
                    f->mismatches == 1 ? "it was" : "they were", f->named < f->mismatches ? "; the first ones:" : "");
    GM_TABLE(doc, columns, f->mismatch, f->named, .key = "first_mismatches", .of = d);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

void gm_replay_say_gpu(struct gm_doc *doc, const struct gm_replay_device *d)
{
    struct gpu {
        const char *compute;
        bool is_paced;
        uint64_t duration, shown_duration;
    };
#define INFO(unit, key, field) GM_KEY(unit, key, struct gm_compute_result, field)
    static const struct gm_column columns[] = {
        GM_CHARS(GM_JSON, "name", NULL, struct gm_compute_result, info.name),
        INFO(GM_SIGNED, "compute_major", info.compute_major),
        INFO(GM_SIGNED, "compute_minor", info.compute_minor),
        INFO(GM_SIGNED, "runtime_version", info.runtime),
        INFO(GM_SIGNED, "driver_version", info.driver),
        INFO(GM_BYTES, "total_bytes", info.total_bytes),
        INFO(GM_COUNT, "mismatches", found.mismatches),
    };
#undef INFO
    static const struct gm_column run_columns[] = {
        GM_KEY(GM_TEXT, "compute", struct gpu, compute),
        GM_KEY(GM_BOOL, "is_paced", struct gpu, is_paced),
        GM_FIELD(GM_DURATION, GM_JSON, "duration_us", NULL, struct gpu, duration),
        GM_FIELD(GM_DURATION, GM_READ | GM_BLANK, NULL, "Paced", struct gpu, shown_duration),
    };
    static const struct gm_column pool_columns[] = {
        GM_FIELD(GM_BYTES, GM_ALL, "reserved_high_bytes", "Pool reserved", struct gm_compute_result,
                 pool.reserved_high),
        GM_FIELD(GM_BYTES, GM_ALL, "used_high_bytes", "Pool used", struct gm_compute_result, pool.used_high),
        GM_KEY(GM_BYTES, "reserved_bytes", struct gm_compute_result, pool.reserved),
        GM_KEY(GM_BYTES, "used_bytes", struct gm_compute_result, pool.used),
        GM_FIELD(GM_BYTES, GM_ALL, "caching_allocator_reserved_bytes", "Model reserved", struct gm_compute_result,
                 model_reserved),
    };
    const struct gm_compute_result *g = d->gpu;
    const struct gm_replay_options *o = d->run->options;
    const bool is_async = o->backend == GM_REPLAY_CUDA_ASYNC;
    const uint64_t duration = us_of(d->whatif.seconds);
    if (g == NULL)
        return;
    const struct gpu told = {.compute = gm_replay_compute_names[o->compute],
                             .is_paced = o->pace,
                             .duration = duration,
                             .shown_duration = o->pace ? duration : GM_REPORT_NONE};
    gm_doc_open(doc, "gpu", NULL);
    GM_FIELDS(doc, columns, g, NULL);
    GM_FIELDS(doc, run_columns, &told, NULL);
    GM_OBJECT(doc, "pool", pool_columns, is_async ? g : NULL, NULL);
    if (is_async && gm_doc_is(doc, GM_READ)) {
        gm_doc_tell(doc, "High-water marks of the pool, and the caching allocator's model without a limit:");
        GM_FIELDS(doc, pool_columns, g, NULL);
    }
    say_memory(doc, g);
    say_sums(doc, d, false);
    say_sums(doc, d, true);
    say_mismatches(doc, d);
    gm_doc_close(doc);
}
