/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of libraries: where a library's code makes what a mistake is about, no line of the program can be written
 * otherwise, but an option of that library mends it.
 */
#include "analyze/diagnose/lives.h"
#include "analyze/diagnose/rules.h"
#include "analyze/report/frame_kind.h"

#include <string.h>

/* Of one finding those of narrower places first: a trainer, then models. */
static const struct gm_library_option options[] = {
    {"activations-dominate", "transformers/trainer", "gradient_checkpointing=True",
     "Pass TrainingArguments(gradient_checkpointing=True)",
     "- args = TrainingArguments(output)\n"
     "+ args = TrainingArguments(output, gradient_checkpointing=True)"},
    {"activations-dominate", "transformers/models/", "gradient checkpointing",
     "Call model.gradient_checkpointing_enable() before training", "+ model.gradient_checkpointing_enable()"},
    {"activations-dominate", "diffusers/models/", "gradient checkpointing",
     "Call model.enable_gradient_checkpointing() before training", "+ model.enable_gradient_checkpointing()"},
    {"activations-dominate", "timm/models/", "set_grad_checkpointing()",
     "Call model.set_grad_checkpointing(True) before training", "+ model.set_grad_checkpointing(True)"},
    {"unfused-attention", "transformers/", "attn_implementation=\"sdpa\"",
     "Load the model with attn_implementation=\"sdpa\", and do not ask for output_attentions=True, which needs the "
     "scores",
     "- model = AutoModel.from_pretrained(name, attn_implementation=\"eager\")\n"
     "+ model = AutoModel.from_pretrained(name, attn_implementation=\"sdpa\")"},
    {"unfused-attention", "diffusers/", "AttnProcessor2_0()",
     "Call model.set_attn_processor(AttnProcessor2_0()), which is what models have by default",
     "- unet.set_attn_processor(AttnProcessor())\n"
     "+ unet.set_attn_processor(AttnProcessor2_0())"},
    {"unfused-attention", "timm/", "timm.layers.set_fused_attn()",
     "Call timm.layers.set_fused_attn(True), of timm 0.9 or newer, before the model is built, without "
     "TIMM_FUSED_ATTN=0 in the environment",
     "+ timm.layers.set_fused_attn(True)\n"
     "  model = timm.create_model(name)"},
    {"unfused-attention", "torch/nn/modules/activation", "need_weights=False",
     "Pass need_weights=False where the nn.MultiheadAttention is called: it makes all scores to give weights back",
     "- out = self.attention(q, k, v)[0]\n"
     "+ out = self.attention(q, k, v, need_weights=False)[0]"},
    {"unfused-elementwise", "transformers/", "torch.compile(model)",
     "Call torch.compile(model), or configure activation_function=\"gelu_pytorch_tanh\", which is fused; "
     "use_liger_kernel=True fuses norms",
     "+ model = torch.compile(model)"},
    {"vocabulary-copies", "transformers/", "use_liger_kernel=True",
     "Pass use_liger_kernel=True, whose loss works in chunks, or logits_to_keep=n where only the last positions count",
     "- args = TrainingArguments(output)\n"
     "+ args = TrainingArguments(output, use_liger_kernel=True)"},
    {"optimizer-state-dominates", "transformers/trainer", "optim=\"adafactor\"",
     "Pass TrainingArguments(optim=\"adafactor\"), or optim=\"adamw_bnb_8bit\", which keeps a quarter",
     "- args = TrainingArguments(output)\n"
     "+ args = TrainingArguments(output, optim=\"adafactor\")"},
    {"foreach-transients", "transformers/trainer", "optim=\"adamw_torch_fused\"",
     "Pass TrainingArguments(optim=\"adamw_torch_fused\")",
     "- args = TrainingArguments(output, optim=\"adamw_torch\")\n"
     "+ args = TrainingArguments(output, optim=\"adamw_torch_fused\")"},
    {"kv-cache-by-cat", "transformers/trainer", "eval_accumulation_steps=1",
     "Pass TrainingArguments(eval_accumulation_steps=1): what grows are the outputs of an evaluation",
     "- args = TrainingArguments(output)\n"
     "+ args = TrainingArguments(output, eval_accumulation_steps=1)"},
    {"kv-cache-by-cat", "transformers/", "cache_implementation=...",
     "Pass cache_implementation=\"static\" to generate(), which allocates the cache once",
     "- model.generate(**inputs)\n"
     "+ model.generate(**inputs, cache_implementation=\"static\")"},
    {"kv-cache-dominates", "transformers/", "cache_implementation=...",
     "Pass cache_implementation=\"quantized\" to generate(), or \"offloaded\"",
     "- model.generate(**inputs)\n"
     "+ model.generate(**inputs, cache_implementation=\"quantized\")"},
    {"tensors-in-a-list", "transformers/trainer", "eval_accumulation_steps=1",
     "Pass TrainingArguments(eval_accumulation_steps=1), or preprocess_logits_for_metrics to the Trainer, which keeps "
     "less of each",
     "- args = TrainingArguments(output)\n"
     "+ args = TrainingArguments(output, eval_accumulation_steps=1)"},
    {"empty-cache-in-loop", "transformers/trainer", "no torch_empty_cache_steps",
     "Leave torch_empty_cache_steps out of TrainingArguments",
     "- args = TrainingArguments(output, torch_empty_cache_steps=1)\n"
     "+ args = TrainingArguments(output)"},
    {"hooks-keep-features", "transformers/", "no output_hidden_states=True",
     "Leave output_hidden_states=True out, or keep only what is needed of them",
     "- out = model(**batch, output_hidden_states=True)\n"
     "+ out = model(**batch)"},
    {"second-copy-of-weights", "trl/", "precompute_ref_log_probs",
     "Pass precompute_ref_log_probs=True, or train an adapter (peft), whose base is the reference",
     "- args = DPOConfig(output)\n"
     "+ args = DPOConfig(output, precompute_ref_log_probs=True)"},
    {"second-copy-of-weights", "diffusers/training_utils", "ema.to(\"cpu\") between steps",
     "Keep the EMAModel on the host, and move it to the device for its step() only",
     "  ema_model.to(device)\n"
     "  ema_model.step(model.parameters())\n"
     "+ ema_model.to(\"cpu\")"},
    {"autocast-weight-casts", "transformers/", "dtype=torch.bfloat16", "Load the model with dtype=torch.bfloat16",
     "- model = AutoModel.from_pretrained(name)\n"
     "+ model = AutoModel.from_pretrained(name, dtype=torch.bfloat16)"},
    {"gradients-through-forward", "lightning/", "zero_grad() before the batch",
     "Override on_train_batch_start of the LightningModule and call self.zero_grad(set_to_none=True) in it: Lightning "
     "does so only after the forward pass",
     "+ def on_train_batch_start(self, batch, batch_idx):\n"
     "+     self.zero_grad(set_to_none=True)  # not where they are accumulated"},
    {"flat-gradient-buckets", "lightning/", "gradients as bucket views",
     "Pass Trainer(strategy=DDPStrategy(gradient_as_bucket_view=True))",
     "- trainer = Trainer(strategy=\"ddp\")\n"
     "+ trainer = Trainer(strategy=DDPStrategy(gradient_as_bucket_view=True))"},
    {"flat-gradient-buckets", "accelerate/", "gradients as bucket views",
     "Pass DistributedDataParallelKwargs(gradient_as_bucket_view=True) to the Accelerator",
     "- accelerator = Accelerator()\n"
     "+ views = DistributedDataParallelKwargs(gradient_as_bucket_view=True)\n"
     "+ accelerator = Accelerator(kwargs_handlers=[views])"},
};

const struct gm_library_option *gm_library_option_at(size_t i)
{
    return i < sizeof options / sizeof *options ? &options[i] : NULL;
}

/* A package has the same options under its old name, and paths may be those of Windows. */
static bool is_in(const char *package, const char *in)
{
    static const char old[] = "pytorch_"; /* of lightning */
    package += strncmp(package, old, sizeof old - 1) == 0 ? sizeof old - 1 : 0;
    for (; *in != '\0' && (*package == *in || (*package == '\\' && *in == '/')); package++)
        in++;
    return *in == '\0';
}

/* Whether a frame of that stack is of such a place. */
static bool is_met(struct gm_lives *l, uint32_t stack, const char *in)
{
    size_t n;
    const struct gm_frame_row *frames = gm_names_frames(&l->names, (struct gm_stack_id){stack}, &n);
    for (size_t i = 0; frames != NULL && i < n; i++) {
        const char *package = gm_file_package(frames[i].filename);
        if (package != NULL && is_in(package, in))
            return true;
    }
    return false;
}

/* Whether a site's line is of the package that a place begins with. */
static bool is_line_of(const char *site, const char *in)
{
    const size_t n = strcspn(in, "/"), end = gm_site_innermost(site);
    bool is = false;
    for (size_t i = 0; i + n < end && !is; i++)
        is = (i == 0 || strchr("/\\ ", site[i - 1]) != NULL) && strncmp(site + i, in, n) == 0 &&
             strchr("/\\", site[i + n]) != NULL;
    return is;
}

const struct gm_library_option *gm_library_option_for(struct gm_lives *l, const char *id, uint32_t stack,
                                                      const char *line)
{
    const struct gm_library_option *option;
    for (size_t i = 0; (option = gm_library_option_at(i)) != NULL; i++)
        if (strcmp(option->id, id) == 0 && (line == NULL || is_line_of(line, option->in)) &&
            is_met(l, stack, option->in))
            return option;
    return NULL;
}
