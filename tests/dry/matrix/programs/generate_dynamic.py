# SPDX-License-Identifier: Apache-2.0
# needs: transformers
"""generate() with the cache that grows."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, max_position_embeddings=256)).cuda().eval()
ids = torch.randint(3, 512, (2, 8), device="cuda")
assert model.generate(ids, max_new_tokens=32, do_sample=False, pad_token_id=2, eos_token_id=None).shape == (2, 40)
