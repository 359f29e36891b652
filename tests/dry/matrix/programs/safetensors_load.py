# SPDX-License-Identifier: Apache-2.0
# needs: safetensors
"""A file of safetensors, read onto the device."""
import os
import tempfile
import torch
from safetensors.torch import load_file, save_file

with tempfile.TemporaryDirectory() as folder:
    save_file({f"layer{i}": torch.randn(256, 256) for i in range(4)}, os.path.join(folder, "model.safetensors"))
    weights = load_file(os.path.join(folder, "model.safetensors"), device="cuda")
assert all(weight.is_cuda for weight in weights.values())
