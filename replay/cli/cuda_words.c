/* SPDX-License-Identifier: Apache-2.0
 *
 * What a replay on a GPU adds to the text, the JSON and the CSV: the GPU, cudaMemGetInfo beside our own figures, the
 * pool, and the kernels by category.
 */
#include "analyze/state/categories.h"
#include "replay/cli/cuda_backend.h"
#include "replay/compute/compute_run.h"

#include <inttypes.h>
#include <string.h>

static const char *const mode_names[] = {"none", "touch", "full"};

const struct gm_compute_memory *gm_replay_gpu_part(const struct gm_replay_device *device, size_t part)
{
    return device->gpu == NULL || !device->gpu->parts[part].is_known ? NULL : &device->gpu->parts[part];
}

static uint64_t others(const struct gm_compute_memory *m)
{
    uint64_t known = m->ours + m->scratch;
    return m->used > known ? m->used - known : 0;
}

static uint64_t us_of(double seconds)
{
    return (uint64_t)(seconds * 1e6 + 0.5);
}

/* Bytes per second; GM_REPORT_NONE without time. */
static uint64_t rate(const struct gm_compute_sums *s)
{
    return s->seconds > 0 ? (uint64_t)((double)s->bytes / s->seconds) : GM_REPORT_NONE;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

void gm_replay_gpu_head_words(struct gm_doc *doc, const struct gm_replay_run *run)
{
    const struct gm_compute_result *g = run->device_count > 0 ? run->devices[0].gpu : NULL;
    if (g == NULL)
        return;
    gm_text_printf(doc->out, "GPU: %s, %s, compute capability %d.%d, CUDA %d.%d, driver for %d.%d\n", g->info.name,
                   gm_doc_bytes(doc, g->info.total_bytes), g->info.compute_major, g->info.compute_minor,
                   g->info.runtime / 1000, g->info.runtime % 1000 / 10, g->info.driver / 1000,
                   g->info.driver % 1000 / 10);
    if (run->options->backend == GM_REPLAY_CUDA_ASYNC)
        gm_text_add(doc->out, "allocator: backend:cudaMallocAsync, a memory pool of the driver's\n");
}

static void add_memory(struct gm_doc *doc, const char *label, const struct gm_compute_memory *m)
{
    if (m->is_known)
        gm_text_printf(doc->out, "    %-22s %12s %12s %12s %12s\n", label, gm_doc_bytes(doc, m->used),
                       gm_doc_bytes(doc, m->ours), gm_doc_bytes(doc, m->scratch), gm_doc_bytes(doc, others(m)));
}

static void add_sums(struct gm_doc *doc, const char *name, const struct gm_compute_sums *s)
{
    if (s->launches > 0)
        gm_text_printf(doc->out, "    %-26s %10s %12s %12s %12s%s %10s\n", name, gm_doc_count(doc, s->launches),
                       gm_doc_bytes(doc, s->bytes), gm_doc_duration(doc, us_of(s->seconds)), gm_doc_bytes(doc, rate(s)),
                       s->seconds > 0 ? "/s" : "  ", gm_doc_count(doc, s->mismatches));
}

static void add_mismatches(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_compute_found *f = &run->devices[index].gpu->found;
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    if (f->mismatches == 0)
        return;
    gm_text_printf(doc->out, "  MEMORY WAS CHANGED: %s block%s not what %s filled with\n",
                   gm_doc_count(doc, f->mismatches), f->mismatches == 1 ? " is" : "s are",
                   f->mismatches == 1 ? "it was" : "they were");
    for (size_t i = 0; i < f->named; i++) {
        const struct gm_compute_mismatch *m = &f->mismatch[i];
        const char *site = gm_names_site(&run->names, (struct gm_stack_id){h->stack[m->allocation]});
        gm_text_add(doc->out, "    ");
        if (m->event == GM_COMPUTE_AT_END)
            gm_text_add(doc->out, m->is_at_end ? "at the end" : "before the first event");
        else
            gm_text_printf(doc->out, "event %s", gm_doc_count(doc, m->event));
        gm_text_printf(doc->out, ": block 0x%" PRIx64 ", %s, of %s: %s of its words differ, the first one at byte %s\n",
                       m->address, gm_doc_bytes(doc, m->bytes), site == NULL ? "?" : site, gm_doc_count(doc, m->words),
                       gm_doc_count(doc, m->first));
    }
    if (f->named < f->mismatches)
        gm_text_add(doc->out, "    ...\n");
}

static void add_kernels(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_compute_found *f = &run->devices[index].gpu->found;
    if (run->options->compute == GM_COMPUTE_NONE)
        return;
    const char *const columns[2] = {"by category", "by kernel"};
    for (int by = 0; by < 2; by++) {
        gm_text_printf(doc->out, "  %-28s %10s %12s %12s %14s %10s\n", columns[by], "launches", "bytes", "GPU time",
                       "bandwidth", "mismatches");
        size_t n = by == 0 ? gm_category_count(run->rules) : GM_KERNEL_COUNT;
        for (size_t i = 0; i < n; i++)
            add_sums(doc, by == 0 ? gm_category_name(run->rules, (uint32_t)i) : gm_kernels[i].name,
                     by == 0 ? &f->classes[i] : &f->kernels[i]);
    }
    add_mismatches(doc, run, index);
}

void gm_replay_gpu_words(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_compute_result *g = run->devices[index].gpu;
    if (g == NULL)
        return;
    if (run->options->backend == GM_REPLAY_CUDA_ASYNC)
        gm_text_printf(
            doc->out,
            "  pool         high-water marks: reserved %s, used %s; the caching allocator's model, without a "
            "limit: reserved %s\n",
            gm_doc_bytes(doc, g->pool.reserved_high), gm_doc_bytes(doc, g->pool.used_high),
            gm_doc_bytes(doc, g->model_reserved));
    gm_text_printf(doc->out, "  %-24s %12s %12s %12s %12s\n", "cudaMemGetInfo", "used", "replay", "scratch", "others");
    add_memory(doc, "before", &g->at_start);
    add_memory(doc, "at the reserved peak", &g->at_peak);
    add_memory(doc, "after the last event", &g->at_end);
    add_kernels(doc, run, index);
    if (run->options->pace)
        gm_text_printf(doc->out, "  paced        %s\n",
                       gm_doc_duration(doc, us_of(run->devices[index].whatif.seconds)));
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void memory_json(struct gm_doc *doc, const char *key, const struct gm_compute_memory *m)
{
    if (!m->is_known) {
        gm_json_null(&doc->json, key);
        return;
    }
    gm_json_open_flat(&doc->json, key, '{');
    gm_json_number(&doc->json, "used_bytes", m->used);
    gm_json_number(&doc->json, "replay_bytes", m->ours);
    gm_json_number(&doc->json, "scratch_bytes", m->scratch);
    gm_json_number(&doc->json, "others_bytes", others(m));
    gm_json_close(&doc->json, '}');
}

static void sums_json(struct gm_doc *doc, const char *name, const struct gm_compute_sums *s)
{
    if (s->launches == 0)
        return;
    gm_json_open_flat(&doc->json, NULL, '{');
    gm_json_string(&doc->json, "name", name);
    gm_json_number(&doc->json, "launches", s->launches);
    gm_json_number(&doc->json, "bytes", s->bytes);
    gm_json_number(&doc->json, "flops", s->flops);
    gm_json_number(&doc->json, "gpu_time_us", us_of(s->seconds));
    gm_json_number(&doc->json, "bytes_per_second", rate(s));
    gm_json_number(&doc->json, "verified", s->verified);
    gm_json_number(&doc->json, "mismatches", s->mismatches);
    gm_json_close(&doc->json, '}');
}

static void mismatches_json(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_compute_found *f = &run->devices[index].gpu->found;
    const struct gm_history *h = &run->kept.v[run->device_of[index]].history;
    gm_json_number(&doc->json, "mismatches", f->mismatches);
    gm_json_open(&doc->json, "first_mismatches", '[');
    for (size_t i = 0; i < f->named; i++) {
        const struct gm_compute_mismatch *m = &f->mismatch[i];
        gm_json_open_flat(&doc->json, NULL, '{');
        gm_json_number(&doc->json, "event", m->event == GM_COMPUTE_AT_END ? GM_REPORT_NONE : m->event);
        gm_json_bool(&doc->json, "is_at_end", m->is_at_end);
        gm_json_string(&doc->json, "site", gm_names_site(&run->names, (struct gm_stack_id){h->stack[m->allocation]}));
        gm_json_number(&doc->json, "address", m->address);
        gm_json_number(&doc->json, "bytes", m->bytes);
        gm_json_number(&doc->json, "wrong_words", m->words);
        gm_json_number(&doc->json, "first_offset", m->first);
        gm_json_close(&doc->json, '}');
    }
    gm_json_close(&doc->json, ']');
}

static void kernels_json(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_compute_found *f = &run->devices[index].gpu->found;
    gm_json_open(&doc->json, "categories", '[');
    for (size_t i = 0; i < gm_category_count(run->rules); i++)
        sums_json(doc, gm_category_name(run->rules, (uint32_t)i), &f->classes[i]);
    gm_json_close(&doc->json, ']');
    gm_json_open(&doc->json, "kernels", '[');
    for (size_t i = 0; i < GM_KERNEL_COUNT; i++)
        sums_json(doc, gm_kernels[i].name, &f->kernels[i]);
    gm_json_close(&doc->json, ']');
    mismatches_json(doc, run, index);
}

void gm_replay_gpu_json(struct gm_doc *doc, struct gm_replay_run *run, size_t index)
{
    const struct gm_compute_result *g = run->devices[index].gpu;
    if (g == NULL)
        return;
    gm_json_open(&doc->json, "gpu", '{');
    gm_json_string(&doc->json, "name", g->info.name);
    gm_json_signed(&doc->json, "compute_major", g->info.compute_major);
    gm_json_signed(&doc->json, "compute_minor", g->info.compute_minor);
    gm_json_signed(&doc->json, "runtime_version", g->info.runtime);
    gm_json_signed(&doc->json, "driver_version", g->info.driver);
    gm_json_number(&doc->json, "total_bytes", g->info.total_bytes);
    gm_json_string(&doc->json, "compute", mode_names[run->options->compute]);
    gm_json_bool(&doc->json, "is_paced", run->options->pace);
    gm_json_number(&doc->json, "duration_us", us_of(run->devices[index].whatif.seconds));
    memory_json(doc, "memory_before", &g->at_start);
    memory_json(doc, "memory_at_peak", &g->at_peak);
    memory_json(doc, "memory_after", &g->at_end);
    if (run->options->backend == GM_REPLAY_CUDA_ASYNC) {
        gm_json_open_flat(&doc->json, "pool", '{');
        gm_json_number(&doc->json, "reserved_high_bytes", g->pool.reserved_high);
        gm_json_number(&doc->json, "used_high_bytes", g->pool.used_high);
        gm_json_number(&doc->json, "reserved_bytes", g->pool.reserved);
        gm_json_number(&doc->json, "used_bytes", g->pool.used);
        gm_json_number(&doc->json, "caching_allocator_reserved_bytes", g->model_reserved);
        gm_json_close(&doc->json, '}');
    } else {
        gm_json_null(&doc->json, "pool");
    }
    kernels_json(doc, run, index);
    gm_json_close(&doc->json, '}');
}
