# SPDX-License-Identifier: Apache-2.0
# class: healthy
# libs: transformers peft
"""LoRA on doctors' notes: bf16 base without gradients, adapters, checkpointing, only the last positions' logits."""
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import LlamaConfig, LlamaForSequenceClassification


def base():
    config = LlamaConfig(vocab_size=16000, hidden_size=1536, intermediate_size=4096, num_hidden_layers=12,
                         num_attention_heads=12, num_key_value_heads=4, num_labels=7, pad_token_id=0, use_cache=False)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = LlamaForSequenceClassification(config)
    torch.set_default_dtype(torch.float32)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def adapted():
    lora = LoraConfig(task_type=TaskType.SEQ_CLS, r=8, lora_alpha=16, lora_dropout=0.0,
                      target_modules=["q_proj", "k_proj", "v_proj", "o_proj"])
    model = get_peft_model(base(), lora)
    model.enable_input_require_grads()
    return model.train()


def notes(batches, size=4, words=512):
    generator = torch.Generator().manual_seed(17)
    for _ in range(batches):
        rows = torch.randint(1, 16000, (size, words), generator=generator)
        yield rows.cuda(), torch.randint(0, 7, (size,), generator=generator).cuda()


def main():
    model = adapted()
    model.print_trainable_parameters()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=True)
    for number, (rows, kinds) in enumerate(notes(8)):
        loss = model(input_ids=rows, labels=kinds).loss
        loss.backward()
        if number % 2 == 1:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        del loss


if __name__ == "__main__":
    main()
