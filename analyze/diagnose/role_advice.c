/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/diagnose/rules.h"

#include <string.h>

enum {
    LEAST = 20,         /* a saving below a 20th of the peak is no advice ... */
    LEAST_BY_ROLE = 10, /* ... and below a 10th what lasts is the better one, if it holds most */
    LEAST_GRAPH = 16,   /* blocks: a graph has several for each layer */
    LEAST_ROLE = 4      /* a role that holds less than a quarter does not make the peak */
};

static const struct gm_role_advice table[] = {
    {"Parameter", "parameters are", "shard, offload or quantize them",
     "a smaller type, sharding or offloading lowers them",
     "They are parameters: a smaller type, sharding or offloading lowers them.", true, 0},
    {"Optimizer state", "optimizer state is", "shard, offload or quantize it",
     "sharding, offloading, a smaller type or an optimizer that keeps less lowers it",
     "It is optimizer state: sharding, offloading or an optimizer that keeps less lowers it.", true, 0},
    {"Gradient", "gradients are", "shard them, or step inside backward",
     "sharding lowers them, or an optimizer step inside the backward pass, which frees each at once",
     "They are gradients: sharding lowers them, or an optimizer step inside the backward pass.", true, 0},
    {"Activation", "activations are", "checkpointing, or a smaller batch",
     "checkpointing recomputes them instead of keeping them; a smaller batch or sequence makes fewer",
     "They are activations: checkpointing recomputes them; a smaller batch or sequence makes fewer.", false, 0},
    {"Temporary", "temporaries are", "in-place or fused operations",
     "in-place or fused operations, or smaller chunks, need less", NULL, false, 0},
    {"Workspace", "workspaces are", "a smaller CUBLAS_WORKSPACE_CONFIG",
     "for those of cuBLAS CUBLAS_WORKSPACE_CONFIG says how large", NULL, true, 0},
    {"KV cache", "the KV cache is", "shorter contexts, or quantize it",
     "shorter contexts, fewer sequences at once or a smaller type lower it", NULL, false, 0},
    {"Communication buffer", "communication buffers are", "smaller buckets", "smaller buckets lower them", NULL, false,
     0},
    {"Input", "inputs are", "smaller batches, less prefetching", "smaller batches or less prefetching lower them", NULL,
     false, 0},
};

static const struct gm_role_advice *find_role(const char *role)
{
    for (size_t i = 0; role != NULL && i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].role, role) == 0)
            return &table[i];
    return NULL;
}

/* What a run without a backward pass, or one that keeps gradients through the forward pass, can do first. */
static void fit_to_run(struct gm_role_advice *advice, const struct gm_view *view)
{
    const bool has_backward = gm_steps_has_phase(&view->timeline->steps, GM_PHASE_BACKWARD, GM_REPORT_NONE);
    const bool is_forward = gm_view_phase(view, view->peak->event) == GM_PHASE_FORWARD;
    const struct gm_peak_detail *peak = &view->timeline->peak;
    if (strcmp(advice->role, "Activation") == 0 && !has_backward &&
        gm_slice_named(peak->roles, peak->role_count, "Activation").blocks < LEAST_GRAPH) {
        advice->in_short = "fewer at a time, del what is done with";
        advice->in_full = "they are few, so no graph keeps them: smaller chunks, or del of what is done with";
        advice->of_site = "They are tensors of the forward pass that no graph keeps: make them in smaller chunks, and "
                          "del what is done with.";
    } else if (strcmp(advice->role, "Activation") == 0 && !has_backward) {
        advice->in_short = view->device->trace.ooms == 0 ? "inference_mode(), or checkpointing"
                                                         : "smaller batches, checkpointing; if nothing is trained, "
                                                           "inference_mode()";
        advice->in_full = "the trace has no backward pass: if none follows, torch.inference_mode() keeps none of them; "
                          "else checkpointing recomputes them, and a smaller batch or sequence makes fewer";
        advice->of_site = "They are activations, and the trace has no backward pass: if none follows, "
                          "torch.inference_mode() keeps none of them; else checkpointing recomputes them.";
    } else if (strcmp(advice->role, "Gradient") == 0 && (is_forward || !has_backward)) {
        if (is_forward) {
            advice->in_short = "zero_grad() before the forward pass";
            advice->in_full = "they are of an earlier backward pass; zero_grad(set_to_none=True) before the forward "
                              "pass frees them, unless they are accumulated";
        }
        advice->of_site = "Most of it are gradients of an earlier backward pass, kept through a forward pass: "
                          "optimizer.zero_grad(set_to_none=True) before it frees them, unless they are accumulated.";
    }
}

bool gm_advice_of(struct gm_role_advice *advice, const char *role, const struct gm_view *view, bool has_trace)
{
    const struct gm_role_advice *found = find_role(role);
    if (found == NULL)
        return false;
    *advice = *found;
    if (has_trace)
        fit_to_run(advice, view);
    return true;
}

bool gm_advice_role(struct gm_role_advice *advice, const struct gm_view *view)
{
    const struct gm_peak_detail *detail = &view->timeline->peak;
    const struct gm_slice *most = NULL;
    for (size_t i = 0; i < detail->role_count; i++)
        if (most == NULL || detail->roles[i].bytes > most->bytes)
            most = &detail->roles[i];
    if (most == NULL || most->bytes == 0 || most->bytes < view->peak->requested / LEAST_ROLE ||
        !gm_advice_of(advice, most->name, view, true))
        return false;
    advice->bytes = most->bytes;
    return true;
}

const struct gm_group_row *gm_advice_site(const struct gm_view *view)
{
    const struct gm_peak_detail *detail = &view->timeline->peak;
    const struct gm_group_row *best = NULL;
    uint64_t peak = view->peak->requested;
    for (size_t i = 0; i < detail->site_count; i++) {
        const struct gm_group_row *row = &detail->sites[i];
        const struct gm_role_advice *role = find_role(row->role);
        if (row->peak_without == GM_REPORT_NONE || !gm_site_has_stack(row->label) || (role != NULL && role->is_lasting))
            continue;
        if (best == NULL || row->peak_without < best->peak_without)
            best = row;
    }
    if (best == NULL || best->peak_without >= peak)
        return NULL;
    struct gm_role_advice role;
    bool is_lasting = gm_advice_role(&role, view) && role.is_lasting;
    return peak - best->peak_without >= peak / (is_lasting ? LEAST_BY_ROLE : LEAST) ? best : NULL;
}
