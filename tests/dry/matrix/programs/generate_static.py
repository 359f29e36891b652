# SPDX-License-Identifier: Apache-2.0
# needs: transformers
"""generate() with a cache of fixed size; not compiled."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, max_position_embeddings=256)).cuda().eval()
ids = torch.randint(3, 512, (2, 8), device="cuda")
out = model.generate(ids, max_new_tokens=32, do_sample=False, pad_token_id=2, eos_token_id=None,
                     cache_implementation="static", disable_compile=True)
assert out.shape == (2, 40)
