# SPDX-License-Identifier: Apache-2.0
# trace: none
# peak: 12582912
"""An allocator of the program's own: straight from cudaMalloc."""
import os
import subprocess
import tempfile
import torch

SOURCE = """
#include <stddef.h>
int cudaMalloc(void **pointer, size_t bytes);
int cudaFree(void *pointer);
void *take(ptrdiff_t bytes, int device, void *stream) { void *p = NULL; return cudaMalloc(&p, bytes) == 0 ? p : NULL; }
void give(void *p, ptrdiff_t bytes, int device, void *stream) { cudaFree(p); }
"""
with tempfile.TemporaryDirectory() as folder:
    library = os.path.join(folder, "own.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SOURCE, text=True, check=True)
    torch.cuda.memory.change_current_allocator(torch.cuda.memory.CUDAPluggableAllocator(library, "take", "give"))
    x = torch.zeros(1 << 20, device="cuda")
    y = torch.zeros(1 << 21, device="cuda")
    del x
    z = torch.zeros(1 << 20, device="cuda")
