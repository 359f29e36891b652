# SPDX-License-Identifier: Apache-2.0
# needs: transformers
# gmdry: --data ones
"""generate() that samples: sort, cumulative sum, multinomial."""
import torch
from transformers import LlamaConfig, LlamaForCausalLM

model = LlamaForCausalLM(LlamaConfig(vocab_size=512, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
                                     num_attention_heads=4, max_position_embeddings=256)).cuda().eval()
ids = torch.randint(3, 512, (2, 8), device="cuda")
model.generate(ids, max_new_tokens=16, do_sample=True, top_k=20, top_p=0.9, pad_token_id=2, eos_token_id=None)
